/**
 * PG-MAILPENDING, T-INV-SETPASSWORD: actions that a sign-in began end when that sign-in is revoked. Each action × each way to revoke. A
 * sign-out ends a change of address, and no approval.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { captureMail, invite, tenantNamed } from '../../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, titleOf } from '../../support/client/agent.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { cibaClient, createAsking, redeem } from '../../support/sign-in/ciba.js';
import { codeOf, copied } from '../../support/sign-in/factors.js';
import { linkIn, mailTo } from '../../support/sign-in/passwords.js';
import { until } from '../../support/time/until.js';

const captured = captureMail();
const asking = createAsking(() => service.idp);
/** The subjects are of the tenant of personal accounts. */
const personalTenant = '0197a000-0000-7000-8000-00000000a002';
const tenants = testSeed.tenants.map((each) => (each.name === 'Globex' ? { ...each, id: personalTenant } : each));
const service = useIdp({
  personalTenant,
  extensions: [asking.extension],
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
  seed: { ...testSeed, tenants: [...tenants, { name: 'Initech' }], clients: [...testSeed.clients, cibaClient('desk')] } as never,
});
const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const tids: Record<string, string> = {};
beforeAll(async () => {
  for (const name of ['Acme', 'Globex', 'Initech']) tids[name] = await tenantNamed(service.idp, name);
});

/** An account, and the owner of its credentials: the parent account, or the account itself. */
interface Subject {
  readonly tid: string;
  readonly oid: string;
  readonly userName: string;
  readonly owner: { readonly tid: string; readonly oid: string };
  /** A user name that a user of another tenant also has, with the same password. */
  readonly shared: string;
}

let count = 0;
async function account(tenant: string, userName: string) {
  const tid = tids[tenant] as string;
  const made = await service.idp.tenant(tid).persons.create({
    givenName: 'P',
    familyName: 'P',
    email: userName,
    user: { userName, emailVerified: true, status: 'active' },
  });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { tid, oid };
}
/** Waits until the cut-off of the tenant is past. A cut-off is up to a second ahead, and ends sign-ins that begin before it. */
const untilCutoffIsPast = () =>
  until(async () => ((await service.idp.directory.tenants.get(personalTenant))?.notBefore?.getTime() ?? 0) <= Date.now());
async function own(): Promise<Subject> {
  await untilCutoffIsPast();
  count += 1;
  const userName = `own-${count}@globex.test`;
  const owner = await account('Globex', userName);
  await account('Acme', userName);
  return { ...owner, userName, owner, shared: userName };
}
async function child(): Promise<Subject> {
  await untilCutoffIsPast();
  count += 1;
  const userName = `child-${count}@globex.test`;
  const owner = await account('Acme', `parent-${count}@acme.test`);
  const made = await account('Globex', userName);
  await service.idp.tenant(made.tid).linking.link(made.oid, { tid: owner.tid, userId: owner.oid });
  await account('Initech', userName);
  return { ...made, userName, owner, shared: userName };
}

const isPasswordPage = ({ body }: Answer): boolean => body.includes('name="password"') && !body.includes('name="identifier" type="text"');

/** Signs in on a page that asks for it, in the organisation of the account. */
async function through(agent: Agent, page: Answer, { tid, userName }: Pick<Subject, 'tid' | 'userName'>): Promise<Answer> {
  const second = isPasswordPage(page) ? page : await agent.submit(page, { identifier: userName });
  const third = await agent.follow(await agent.submit(second, { password: 'old' }));
  return titleOf(third) === 'Choose an organisation' ? choose(agent, third, tid) : third;
}
async function choose(agent: Agent, page: Answer, tid: string): Promise<Answer> {
  const choices = [...page.body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, value = '']) => value);
  for (const choice of choices) {
    const found = await service.idp.directory.accounts.findByOid(choice.split('.')[0] as string);
    if (found?.tenant.id === tid) return agent.follow(await agent.submit(page, { choice }));
  }
  throw new Error(`no choice of ${tid}`);
}
const ownPage = async (agent: Agent, path: string, subject: Subject): Promise<Answer> => {
  const page = await agent.follow(await agent.get(service.issuer + path));
  return page.url.includes('/interaction/') ? through(agent, page, subject) : page;
};
const accountOf = async (oid: string) => service.idp.directory.accounts.findByOid(oid);

/** Begins an action in a browser. The returned function finishes the action, and tells whether the action took effect. */
type Begin = (agent: Agent, subject: Subject) => Promise<() => Promise<boolean>>;

/** Actions that wait for another page, device or mail, and are bound to the sign-in that began them. */
const begun: Readonly<Record<string, Begin>> = {
  async 'a change of address'(agent, subject) {
    count += 1;
    const next = `next-${count}@mail.test`;
    await agent.submit(await ownPage(agent, '/idp/email', subject), { email: next });
    const page = await agent.get(linkIn(await mailTo(captured, next, 'email-proof')));
    return async () => {
      await agent.follow(await agent.submit(page, {}));
      return (await accountOf(subject.oid))?.person.email === next;
    };
  },

  async 'a link of accounts'(agent, subject) {
    count += 1;
    const userName = `other-${count}@link.test`;
    const other = { ...(await account('Initech', userName)), userName };
    const list = await ownPage(agent, '/idp/linked-accounts', subject);
    const signIn = await agent.follow(await agent.submit(list, { step: 'link' }));
    const confirm = await through(agent, signIn, other);
    expect(titleOf(confirm)).toBe('Link these accounts?');
    return async () => {
      const parent = /name="parent" value="([^"]+)"/.exec(confirm.body)?.[1] ?? '';
      await agent.follow(await agent.submit(confirm, { parent }));
      return (await accountOf(other.oid))?.person.user.parentUserId !== undefined;
    };
  },

  async 'an invitation with `link`'(agent, subject) {
    const invited = await invite(service.idp, { tenant: 'Initech', link: true });
    const signIn = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'sign-in' }));
    const confirm = await through(agent, signIn, subject);
    expect(titleOf(confirm)).toBe('Link these accounts?');
    return async () => {
      await agent.follow(await agent.submit(confirm, { step: 'link' }));
      // A reload of the page does not renew the sign-in.
      const again = await agent.follow(await agent.get(formOf(confirm).action));
      if (titleOf(again) === 'Link these accounts?') await agent.follow(await agent.submit(again, { step: 'link' }));
      return (await accountOf(invited.person.user.id))?.person.user.parentUserId !== undefined;
    };
  },

  async 'an approval of CIBA'(agent, subject) {
    const { request, authReqId } = await startFor(subject);
    const page = await ownPage(agent, `/idp/ciba/requests/${request.id}`, subject);
    await agent.submit(page, { decision: 'approve' });
    expect((await asking.requests.read(request.id))?.state).toBe('approved');
    return async () => (await redeem(service.issuer, authReqId)).status === 200;
  },

  async 'a choice of organisation'(agent, { tid, shared }) {
    const first = await agent.follow(await agent.get(authorizeUrl(service.issuer, pkce)));
    const page = await agent.submit(await agent.submit(first, { identifier: shared }), { password: 'old' });
    expect(titleOf(page)).toBe('Choose an organisation');
    return async () => (await choose(agent, page, tid)).location?.includes('code=') ?? false;
  },
};

async function startFor({ oid, tid }: Subject) {
  const started = await asking.requests.start(
    { oid, tid, clientId: 'desk', scopes: ['openid'], messageFormat: 'plaintext', initiator: 'user' },
    { lifetimeSeconds: 300 },
  );
  if (!started) throw new Error('one too many');
  return started;
}

/** Actions that stay in the same browser, and end with its session. */
const ofSession: Readonly<Record<string, Begin>> = {
  async 'an authenticator app that is set up'(agent, subject) {
    await ownPage(agent, '/idp/factors', subject);
    const page = await agent.get(`${service.issuer}/idp/factors/app`);
    const [secret = ''] = copied(page);
    return async () => titleOf(await agent.follow(await agent.submit(page, { code: codeOf(secret) }))) === 'Save your recovery codes';
  },
};

interface Revocation {
  readonly of: () => Promise<Subject>;
  readonly revoke: (subject: Subject) => Promise<unknown>;
  /** Whether sessions continue, so that only actions outside of a session end. */
  readonly keepsSessions?: true;
}

const reset = async ({ owner }: Subject): Promise<void> => {
  const { passwordResets } = service.idp.directory;
  const due = await passwordResets.begin(owner.oid, { requestId: 'of a test' });
  const ref = passwordResets.read((typeof due === 'object' ? due.url : '').split('/').at(-1) as string);
  if (!ref) throw new Error('no link');
  await passwordResets.accept(ref, 'a new password that is long');
};
const setPassword = ({ owner }: Subject) => service.idp.tenant(owner.tid).credentials.setPassword(owner.oid, 'a new password that is long');

/** Removes an identity. T-IDENTITY */
const removeIdentity = async ({ owner }: Subject): Promise<void> => {
  const identity = { idp: 'elsewhere', subject: owner.oid };
  const { users } = service.idp.tenant(owner.tid);
  await users.addIdentity(owner.oid, identity);
  await users.removeIdentity(owner.oid, identity);
};

const revocations: Readonly<Record<string, Revocation>> = {
  'a reset of the password': { of: own, revoke: reset },
  'a password that the host sets': { of: own, revoke: setPassword, keepsSessions: true },
  'sign-out everywhere': { of: own, revoke: ({ tid, oid }) => service.idp.tenant(tid).users.signOutEverywhere(oid) },
  'removal of an identity': { of: own, revoke: removeIdentity },
  'removal of an identity of the parent': { of: child, revoke: removeIdentity },
  'the first factor, which another session adds': {
    of: own,
    revoke: ({ tid, oid }) => service.idp.tenant(tid).users.signOutOthers(oid, { session: 'another', cause: 'the first factor' }),
  },
  'disabling, and enabling again': {
    of: own,
    async revoke({ tid, oid }) {
      await service.idp.tenant(tid).users.disable(oid);
      await service.idp.tenant(tid).users.enable(oid);
    },
  },
  'disabling of the tenant, and enabling again': {
    of: child,
    async revoke({ tid }) {
      await service.idp.directory.tenants.disable(tid);
      await service.idp.directory.tenants.enable(tid);
    },
  },
  unlinking: { of: child, revoke: ({ tid, oid, owner }) => service.idp.tenant(tid).linking.unlink(oid, owner.oid) },
  'a reset of the parent’s password': { of: child, revoke: reset },
  'sign-out everywhere of the parent': {
    of: child,
    revoke: ({ owner }) => service.idp.tenant(owner.tid).users.signOutEverywhere(owner.oid),
  },
  'disabling of the parent, and enabling again': {
    of: child,
    async revoke({ owner }) {
      await service.idp.tenant(owner.tid).users.disable(owner.oid);
      await service.idp.tenant(owner.tid).users.enable(owner.oid);
    },
  },
  'a password that the host sets for the parent': { of: child, revoke: setPassword, keepsSessions: true },
};

describe.each(Object.entries({ ...begun, ...ofSession }))('PG-MAILPENDING, T-INV-SETPASSWORD: %s', (name, begin) => {
  test.each([
    ['own', own],
    ['child', child],
  ] as const)('goes on where nothing is revoked, %s', async (_, of) => {
    const finish = await begin(new Agent(), await of());
    expect(await finish()).toBe(true);
  });

  const isOfSession = name in ofSession;
  test.each(Object.entries(revocations).filter(([, { keepsSessions }]) => !(isOfSession && keepsSessions)))(
    'ends with %s',
    async (_, { of, revoke }) => {
      const subject = await of();
      const finish = await begin(new Agent(), subject);
      await revoke(subject);
      expect(await finish()).toBe(false);
    },
  );
});

test('PG-MAILPENDING: a sign-out ends a change of address that was asked for in the sign-in, and no approval', async () => {
  for (const [name, goesOn] of [
    ['a change of address', false],
    ['an approval of CIBA', true],
  ] as const) {
    const agent = new Agent();
    const finish = await (begun[name] as Begin)(agent, await own());
    const page = await agent.follow(await agent.get(`${service.issuer}/connect/endsession`));
    await agent.follow(await agent.post(formOf(page).action, { ...formOf(page).fields, logout: 'yes' }));
    expect([name, (await agent.follow(await agent.get(`${service.issuer}/idp/account`))).url.includes('/interaction/')]).toEqual([
      name,
      true,
    ]);
    expect([name, await finish()]).toEqual([name, goesOn]);
  }
});
