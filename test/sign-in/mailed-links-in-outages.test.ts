/** A store that fails while a user registers or resets a password: nothing is half done, a retry works, and the mails arrive. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AttemptLimitName } from '../../lib/contract/attempt-limits.js';
import type { Row } from '../../lib/store/directory-store.js';
import { storesThatFailOnce, type Way } from '../admin/retries/stores-that-fail-once.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, formOf, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, linkIn, mailTo, NEW_PASSWORD, passwordPage, pkce, pressForgotten } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const { artifacts, directory, plan: planned, host, rows } = storesThatFailOnce();
const captured = captureMail();
const service = useIdp({
  artifacts,
  directory,
  host: (idp) => host(idp.callback()),
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
});
let acme = '';
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});
let passed = 0;
/** Moves the clock, which stands still between two calls. */
function later(seconds: number): void {
  passed += seconds;
  passTime(passed);
}
// The clock returns only after the last test. Otherwise records of one test would be due in the future of the next test.
afterAll(backToPresent);

interface PersonRow extends Row {
  readonly email?: string;
  readonly user?: { readonly passwordReset?: { readonly usedAt?: Date } };
}
const personsWith = async (address: string): Promise<readonly PersonRow[]> =>
  (await rows.collection<PersonRow>('persons').find({})).filter(({ email }) => email === address);
const signsIn = async (name: string, password: string): Promise<boolean> =>
  (await signIn(new Agent(), authorizeUrl(service.issuer, pkce), name, password)).location?.includes('code=') ?? false;
const mailsTo = (address: string, kind: string) => captured.mails.filter((mail) => mail.to === address && mail.kind === kind);

type Send = (headers?: Readonly<Record<string, string>>) => Promise<Answer>;
/** The visit of one user to a door. */
interface Visit {
  /** Posts the same form each time. */
  readonly send: Send;
  readonly isDone: (answer: Answer) => boolean;
  /** Checks the state after the outage, before the user retries. */
  readonly holds?: (answer: Answer) => Promise<void>;
  /** Retries. Undefined means: with the same form. */
  readonly again?: () => Promise<void>;
  readonly address: string;
  /** Kind of the mail that the user gets. */
  readonly kind: string;
  /** Checks the state after the mails arrived. */
  readonly end: () => Promise<void>;
}
const posting = (agent: Agent, page: Answer, typed: Record<string, string> = {}): Send => {
  const { action, fields } = formOf(page);
  return (headers) => agent.post(action, { ...fields, ...typed }, headers);
};

let count = 0;
const fresh = (): string => {
  count += 1;
  return `person-${count}@outage.test`;
};
async function withPassword(): Promise<string> {
  const email = fresh();
  const user = { userName: email, status: 'active' as const };
  const made = await service.idp.tenant(acme).persons.create({ givenName: 'F', familyName: 'F', email, user });
  await service.idp.directory.credentials.seedPassword(made.user?.id ?? '', 'old');
  return email;
}
/** Sets the password by the last reset link that was mailed. */
async function reset(address: string): Promise<void> {
  const agent = new Agent();
  const page = await agent.get(linkIn(mailsTo(address, 'password-reset').at(-1) ?? { text: '' }));
  const done = await agent.follow(await agent.submit(page, { password: NEW_PASSWORD }));
  expect(titleOf(done)).toBe('Your password is changed');
  expect([await signsIn(address, 'old'), await signsIn(address, NEW_PASSWORD)]).toEqual([false, true]);
}

const doors: Readonly<Record<string, () => Promise<Visit>>> = {
  async registration() {
    const [address, agent] = [fresh(), new Agent()];
    const asked = authorizeUrl(service.issuer, { ...pkce, prompt: 'create', acr_values: `tenant:${acme}` });
    const page = await agent.follow(await agent.get(asked));
    return {
      send: posting(agent, page, { givenName: 'N', familyName: 'N', email: address, password: NEW_PASSWORD }),
      isDone: (answer) => titleOf(answer) === 'Check your e-mail to go on',
      holds: async () => expect(await personsWith(address)).toEqual([]),
      address,
      kind: 'registration',
      async end() {
        // A link of an attempt without an answer is valid too.
        for (const link of new Set(mailsTo(address, 'registration').map(linkIn))) {
          await agent.follow(await agent.submit(await agent.get(link), {}));
          expect(await personsWith(address)).toHaveLength(1);
        }
        expect(await signsIn(address, NEW_PASSWORD)).toBe(true);
      },
    };
  },
  async 'forgotten password'() {
    const [address, agent] = [await withPassword(), new Agent()];
    const page = await pressForgotten(agent, await passwordPage(service.issuer, agent, address));
    return {
      send: posting(agent, page),
      isDone: (answer) => titleOf(answer) === 'Check your e-mail',
      address,
      kind: 'password-reset',
      end: () => reset(address),
    };
  },
  async 'reset link'() {
    const [address, agent] = [await withPassword(), new Agent()];
    await forget(service.issuer, address);
    const page = await agent.get(linkIn(await mailTo(captured, address, 'password-reset')));
    const send = posting(agent, page, { password: NEW_PASSWORD });
    const isSpent = async () => (await personsWith(address))[0]?.user?.passwordReset?.usedAt !== undefined;
    return {
      send,
      isDone: ({ status }) => status === 303,
      async holds(answer) {
        const spent = await isSpent();
        if (answer.status === 303) expect(spent).toBe(true);
        // If the link is spent, the password may be set a moment later.
        if (!spent) expect([await signsIn(address, 'old'), await signsIn(address, NEW_PASSWORD)]).toEqual([true, false]);
      },
      async again() {
        const spent = await isSpent();
        const title = titleOf(await agent.follow(await send()));
        expect(['Your password is changed', ...(spent ? ['This link was used'] : [])]).toContain(title);
      },
      address,
      kind: 'account-changed',
      async end() {
        expect([await isSpent(), await signsIn(address, 'old'), await signsIn(address, NEW_PASSWORD)]).toEqual([true, false, true]);
      },
    };
  },
};

/** Returns whether no delivery is waiting, and no row has events to dispatch. */
async function isQuiet(): Promise<boolean> {
  const waiting = await rows.collection('deliveries').find({ byState: ['waiting'] });
  return waiting.length === 0 && (await rows.collection('persons').find({ byOutbox: ['yes'] })).length === 0;
}
const isSettled = async ({ address, kind }: Visit): Promise<boolean> => mailsTo(address, kind).length > 0 && (await isQuiet());
const laterUntil = (isMeant: () => boolean | Promise<boolean>): Promise<boolean> =>
  until(async () => {
    const found = await isMeant();
    if (!found) later(5);
    return found;
  });

const ways: readonly Way[] = ['before', 'after', 'from'];

test.each(Object.keys(doors))('a store that fails once leaves nothing half done, and the mails arrive: %s', async (name) => {
  const door = doors[name] as () => Promise<Visit>;
  const wrong: unknown[] = [];
  const visits: { readonly visit: Visit; readonly about: readonly unknown[] }[] = [];
  const checked = async (about: readonly unknown[], check: () => Promise<void>): Promise<void> => {
    await check().catch((error: Error) => wrong.push([...about, error.message]));
  };

  async function attempt(call: number, way: Way): Promise<void> {
    const visit = await door();
    const { plan, headers } = planned({ call, way });
    const answer = await visit.send(headers);
    // The store stays unavailable until it refused the call, which may follow the answer.
    if (way === 'from' && visit.isDone(answer)) await laterUntil(async () => plan.calls.length >= call || (await isSettled(visit)));
    plan.isOver = true;
    const about = [call, way, plan.calls.at(call - 1), answer.status];
    visits.push({ visit, about });
    await checked(about, async () => {
      expect(visit.isDone(answer) || answer.status === 503).toBe(true);
      await visit.holds?.(answer);
      if (visit.isDone(answer)) return;
      // An attempt that could not give back the turn of its form keeps the turn for 20 seconds.
      later(21);
      if (visit.again) await visit.again();
      else expect(visit.isDone(await visit.send())).toBe(true);
    });
  }

  // In this visit no call fails, and the plan also records the calls after the answer.
  const first = await door();
  const { plan, headers } = planned({ call: 1000, way: 'from' });
  const answer = await first.send(headers);
  expect([answer.status, first.isDone(answer)]).toEqual([answer.status, true]);
  const inRequest = plan.calls.length;
  await laterUntil(() => isSettled(first));
  plan.isOver = true;
  const calls = [...plan.calls];
  visits.push({ visit: first, about: ['no failure'] });
  for (const [index] of calls.entries()) {
    if (index >= inRequest) await attempt(index + 1, 'from');
    else for (const way of process.env.PROVE ? ways : [ways[index % 3] as Way]) await attempt(index + 1, way);
  }
  await laterUntil(isQuiet);
  for (const { visit, about } of visits)
    await checked([...about, 'later'], async () => {
      expect(mailsTo(visit.address, visit.kind).length).toBeGreaterThan(0);
      await visit.end();
    });
  expect([calls.length, inRequest, wrong]).toEqual([calls.length, inRequest, []]);
});

/** Returns a visit that posts the form of an expired link for a new link. */
async function expiredLink(): Promise<Visit> {
  const [address, agent] = [await withPassword(), new Agent()];
  await forget(service.issuer, address);
  const link = linkIn(await mailTo(captured, address, 'password-reset'));
  later(3_700);
  return {
    send: posting(agent, await agent.get(link)),
    isDone: ({ status }) => status < 400,
    address,
    kind: 'password-reset',
    end: () => reset(address),
  };
}

/** Doors whose attempts are counted. */
const countedDoors = {
  registration: doors.registration as () => Promise<Visit>,
  'forgotten password': doors['forgotten password'] as () => Promise<Visit>,
  'expired reset link': expiredLink,
};

/** Limits of the service's table: a door above, another test, or the reason why an outage costs no attempt. */
const coverage: Readonly<Record<AttemptLimitName, keyof typeof countedDoors | `test: ${string}` | `reason: ${string}`>> = {
  signInsWithName: 'registration',
  signInsFromAddress: 'registration',
  signInsToAccount: 'test: secrets-in-outages',
  signInsInBrowser: 'test: secrets-in-outages',
  linksWithName: 'forgotten password',
  linksFromAddress: 'forgotten password',
  linksOfUser: 'expired reset link',
  accountMails: 'reason: a mail that the host did not take is given back, and no store is called after the count',
  anybodysMails: 'reason: as `accountMails`',
  frequentMails: 'reason: as `accountMails`',
  newBrowserMails: 'reason: a mail that was not sent is given back',
  endedAccessMails: 'reason: a mail that was not sent is given back',
  registrationMails: 'reason: only the first attempt of a delivery counts',
  invitationForms: 'reason: `registration` counts by the same attempt, which gives back all its limits',
  invitationAccounts: 'reason: an account that was not created is given back, whatever the error',
  codesInSignIn: 'test: secrets-in-outages',
  codesOfAccount: 'test: secrets-in-outages',
  codesOfAccountInDay: 'test: secrets-in-outages',
  recoveryCodesOfAccount: 'reason: `codesOfAccount` counts by the same attempt',
  secretsOfClient: 'reason: only a secret that was compared counts',
  signaturesOfProvider: 'reason: no store is called after the count',
  signaturesFromAddress: 'reason: no store is called after the count',
  ownForms: 'reason: a limit of work counts each form',
  profileChanges: 'reason: a change that fails is given back',
  downloadsOfAccount: 'reason: a download that fails is given back',
  adminRequests: 'reason: a limit of work counts each request',
  authenticationRequests: 'reason: a limit of work counts each request',
};

test.each(Object.keys(countedDoors))('attempts that an outage fails after they were counted do not count: %s', async (name) => {
  const door = countedDoors[name as keyof typeof countedDoors];
  expect(Object.values(coverage)).toContain(name);
  const clean = await door();
  const { plan: all, headers } = planned();
  expect(clean.isDone(await clean.send(headers))).toBe(true);
  // The call is found by its name, because caches may have the rows that the first request read. The mail, which may begin before the
  // answer, counts too.
  const counted = all.calls.indexOf('artifacts.hit');
  const call = String(all.calls.slice(counted).find((made) => /\.(commit|insert|put|update)$/.test(made)));
  const nth = all.calls.slice(0, all.calls.indexOf(call, counted) + 1).filter((made) => made === call).length;
  const visit = await door();
  for (let failed = 0; failed < 12; failed += 1) {
    const answer = await visit.send(planned({ call: nth, name: call, way: 'before' }).headers);
    expect([failed, answer.status]).toEqual([failed, 503]);
  }
  const mailed = mailsTo(visit.address, visit.kind).length;
  expect(visit.isDone(await visit.send())).toBe(true);
  await laterUntil(() => mailsTo(visit.address, visit.kind).length > mailed);
  await visit.end();
});
