/** PG-MAILPENDING, T3-MAIL-PROOFBROWSER: links about an e-mail address: their proofs and their ends. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { MailMessage } from 'tenant-idp';
import { administer, adminSeed, adminToken } from '../support/administration/admin.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol } from '../support/sign-in/factors.js';
import { linkIn, mailTo, pkce } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
/** Addresses to which the host cannot send mail, and addresses of all attempts to send. */
const refused = new Set<string>();
const attempts: string[] = [];
const mail = {
  async send(message: MailMessage): Promise<void> {
    attempts.push(message.to);
    if (refused.has(message.to)) throw new Error('no such mailbox');
    await captured.mail.send(message);
  },
};
const service = useIdp({ seed: adminSeed, mail, limits: { signInFailuresPerAddress: 100_000 } });
let acme: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
});
afterEach(backToPresent);

let count = 0;
/** Creates an active user for one test, with the password `old`. */
async function person(more: Record<string, unknown> = {}) {
  count += 1;
  const email = `owner-${count}@acme.test`;
  const user = { userName: email, emailVerified: true, status: 'active' as const, ...more };
  const made = await service.idp.tenant(acme).persons.create({ givenName: 'Ow', familyName: 'Ner', email, user });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { email, oid, personId: made.id, next: `next-${count}@mail.test` };
}
const emailOf = async (oid: string) => (await service.idp.directory.accounts.findByOid(oid))?.person.email;

async function signInPages(agent: Agent, page: Answer, userName: string): Promise<Answer> {
  return agent.follow(await agent.submit(await agent.submit(page, { identifier: userName }), { password: 'old' }));
}
/** Requests another address in a browser. */
async function ask(agent: Agent, email: string, next: string): Promise<void> {
  const page = await agent.follow(await agent.get(`${service.issuer}/idp/email`));
  const form = titleOf(page) === 'E-mail address' ? page : await signInPages(agent, page, email);
  expect((await agent.submit(form, { email: next })).status).toBe(200);
}
const proofTo = async (address: string) => linkIn(await mailTo(captured, address, 'email-proof'));
const stopTo = async (address: string, seen = 0) => linkIn(await mailTo(captured, address, 'email-change', seen));
const press = async (agent: Agent, url: string): Promise<Answer> => agent.follow(await agent.submit(await agent.get(url), {}));

describe('T3-MAIL-PROOFBROWSER a proof counts in the browser that asked, and elsewhere after a sign-in to the account', () => {
  test('in the browser that asked, signed out or not, the button is enough', async () => {
    const { email, oid, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    const sessions = [...agent.cookies.keys()].filter((key) => key.includes('session'));
    expect(sessions.length).toBeGreaterThan(0);
    for (const key of sessions) agent.cookies.delete(key);
    expect(titleOf(await press(agent, await proofTo(next)))).toBe('Your address is confirmed');
    expect(await emailOf(oid)).toBe(next);
  });

  test('a change ends with the sign-in that asked for it, in that browser and in another', async () => {
    const ends: Record<string, (agent: Agent, oid: string) => Promise<unknown>> = {
      'a sign-out': async (agent) =>
        agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' })),
      'an ended session': async (_, oid) => {
        const user = { tid: acme, userId: oid };
        for (const { id } of await service.idp.sessions.list(user)) await service.idp.sessions.end(user, id);
      },
      'another account': async (agent) => {
        const other = await person();
        await signIn(agent, authorizeUrl(service.issuer, { ...pkce, prompt: 'login' }), other.email, 'old');
      },
    };
    for (const [name, end] of Object.entries(ends)) {
      const { email, oid, next } = await person();
      const agent = new Agent();
      await ask(agent, email, next);
      const link = await proofTo(next);
      const page = await agent.get(link);
      await end(agent, oid);
      expect([name, titleOf(await agent.get(link)), titleOf(await new Agent().get(link))]).toEqual([
        name,
        'This change was stopped',
        'This change was stopped',
      ]);
      await agent.submit(page, {});
      expect([name, await emailOf(oid)]).toEqual([name, email]);
    }
  });

  test('a session that expires, and a second sign-in with the same account, end no change', async () => {
    const { email, oid, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    const link = await proofTo(next);
    await signIn(agent, authorizeUrl(service.issuer, { ...pkce, prompt: 'login' }), email, 'old');
    passTime(80_000);
    expect(titleOf(await press(agent, link))).toBe('Your address is confirmed');
    expect(await emailOf(oid)).toBe(next);
  });

  test('in another browser, a sign-in of more than ten minutes is repeated', async () => {
    const { email, oid, next } = await person();
    await ask(new Agent(), email, next);
    const link = await proofTo(next);
    const agent = new Agent();
    await signIn(agent, authorizeUrl(service.issuer, pkce), email, 'old');
    passTime(700);
    const again = await press(agent, link);
    expect([again.url.includes('/interaction/'), await emailOf(oid)]).toEqual([true, email]);
    const back = await agent.follow(await agent.submit(again, { password: 'old' }));
    await agent.follow(await agent.submit(back, {}));
    expect(await emailOf(oid)).toBe(next);
  });

  test('the owner of a mailbox who presses the button of a stranger gives away nothing', async () => {
    const { email, oid, next } = await person();
    await ask(new Agent(), email, next);
    const url = await proofTo(next);
    const victim = new Agent();
    const page = await victim.get(url);
    expect([titleOf(page), page.body.includes(email), page.body.includes('sign in to that account')]).toEqual([
      'Is this your e-mail address?',
      false,
      true,
    ]);
    const answer = await victim.follow(await victim.submit(page, {}));
    expect([answer.url.includes('/interaction/'), await emailOf(oid)]).toEqual([true, email]);
    // A sign-in of another user in that browser does not confirm the address.
    const other = await person();
    const back = await signInPages(victim, answer, other.email);
    expect([back.url, back.body.includes('Another account is signed in here.')]).toEqual([url, true]);
    await victim.submit(back, {});
    expect(await emailOf(oid)).toBe(email);
    expect((await service.idp.directory.accounts.findByOid(oid))?.person.user.emailVerified).toBe(true);
  });

  test('a sign-in without the second factor that is asked of the account is not one to it', async () => {
    const { email, oid, next } = await person();
    const asking = new Agent();
    await enrol(asking, authorizeUrl(service.issuer, { ...pkce, acr_values: 'mfa' }), email, 'old');
    await ask(asking, email, next);
    const url = await proofTo(next);
    await service.idp.directory.tenants.update(acme, { signIn: { requireMfa: true } });
    const elsewhere = new Agent();
    const answer = await signInPages(elsewhere, await press(elsewhere, url), email);
    expect(answer.url).toContain('/interaction/');
    // The user gave the password, and no code.
    await press(elsewhere, url).catch(() => undefined);
    expect(await emailOf(oid)).toBe(email);
    await service.idp.directory.tenants.update(acme, { signIn: null });
  });

  test('a proof that an administrator had sent takes a sign-in as well', async () => {
    const { email, personId, next, oid } = await person();
    const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    await root.patch(`/tenants/${acme}/persons/${personId}`, { email: next });
    const url = await proofTo(next);
    const agent = new Agent();
    expect((await press(agent, url)).url).toContain('/interaction/');
    await signIn(agent, authorizeUrl(service.issuer, pkce), email, 'old');
    expect(titleOf(await press(agent, url))).toBe('Your address is confirmed');
    expect((await service.idp.directory.accounts.findByOid(oid))?.person.user.provenEmail).toBeUndefined();
  });
});

describe('PG-MAILPENDING the former address is told when a change is asked for, and stops it', () => {
  test('opening the link changes nothing; its button does, in any browser and without a sign-in, and says so the second time', async () => {
    const { email, oid, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    const proof = await proofTo(next);
    const stop = await stopTo(email);
    // The notice is mailed before the link, and contains no word of the person who asked.
    const kinds = captured.mails.filter(({ to }) => to === email || to === next).map(({ kind }) => kind);
    expect(kinds).toEqual(['email-change', 'email-proof']);
    for (let times = 0; times < 3; times += 1) expect((await new Agent().get(stop)).status).toBe(200);
    expect(titleOf(await agent.get(proof))).toBe('Is this your e-mail address?');
    const owner = new Agent();
    const page = await owner.get(stop);
    expect([titleOf(page), page.body.includes(next), page.body.includes(email)]).toEqual([
      'Stop the change of your address?',
      false,
      false,
    ]);
    expect(titleOf(await owner.follow(await owner.submit(page, {})))).toBe('The change was stopped');
    for (const again of [await owner.follow(await owner.submit(page, {})), await new Agent().get(stop)])
      expect([again.status, titleOf(again)]).toEqual([200, 'The change was stopped']);
    expect([titleOf(await press(agent, proof).catch(() => agent.get(proof))), await emailOf(oid)]).toEqual([
      'This change was stopped',
      email,
    ]);
  });

  test('a form of another browser, a token of the other link, and a link that is replaced, used or expired stop nothing', async () => {
    const { email, oid, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    const [proof, stop] = [await proofTo(next), await stopTo(email)];
    expect((await new Agent().submit(await new Agent().get(stop), {})).status).toBe(403);
    expect((await new Agent().get(stop.replace('/stop/', '/'))).status).toBe(404);
    expect((await new Agent().get(proof.replace('/email/', '/email/stop/'))).status).toBe(404);
    await ask(agent, email, `other-${next}`);
    const newer = await stopTo(email, 1);
    expect([(await new Agent().get(stop)).status, titleOf(await new Agent().get(stop))]).toEqual([410, 'There is a newer request']);
    expect(titleOf(await press(agent, await proofTo(`other-${next}`)))).toBe('Your address is confirmed');
    expect([(await new Agent().get(newer)).status, titleOf(await new Agent().get(newer))]).toEqual([
      410,
      'The address was changed already',
    ]);
    expect(await emailOf(oid)).toBe(`other-${next}`);
    await ask(agent, `other-${next}`, `third-${next}`);
    const late = await stopTo(`other-${next}`);
    passTime(86_401);
    expect([(await new Agent().get(late)).status, titleOf(await new Agent().get(late))]).toEqual([
      410,
      'There is nothing to stop any more',
    ]);
  });

  test('only a proven former address is notified, whether or not the new one belongs to another account', async () => {
    const unproven = await person({ emailVerified: false });
    await ask(new Agent(), unproven.email, unproven.next);
    await proofTo(unproven.next);
    expect(captured.mails.filter(({ to, kind }) => to === unproven.email && kind === 'email-change')).toEqual([]);
    const [owner, other] = [await person(), await person()];
    await ask(new Agent(), owner.email, other.email);
    await mailTo(captured, other.email, 'email-taken');
    expect(titleOf(await new Agent().get(await stopTo(owner.email)))).toBe('Stop the change of your address?');
  });

  test('PG-MAILPENDING: an address that an administrator changes and says is verified ends what waits', async () => {
    const { email, oid, personId, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    const [page, stop] = [await agent.get(await proofTo(next)), await stopTo(email)];
    await service.idp.tenant(acme).persons.update(personId, { email: `admin-${next}` });
    await service.idp.tenant(acme).users.update(oid, { emailVerified: true });
    await agent.submit(page, {});
    expect(await emailOf(oid)).toBe(`admin-${next}`);
    expect((await new Agent().get(stop)).status).toBe(410);
  });

  test('while the former address takes no mail, the new one gets no link', async () => {
    const { email, next } = await person();
    refused.add(email);
    await ask(new Agent(), email, next);
    await until(() => attempts.includes(email));
    expect(captured.mails.filter(({ to }) => to === next)).toEqual([]);
    refused.delete(email);
    passTime(60);
    await proofTo(next);
    expect(captured.mails.filter(({ to }) => to === email).map(({ kind }) => kind)).toEqual(['email-change']);
  });

  test('a stop and a proof at the same time: one counts, and both answers say which', async () => {
    const { email, oid, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    const [proof, stop] = [await agent.get(await proofTo(next)), await stopTo(email)];
    const owner = new Agent();
    const stopping = await owner.get(stop);
    const answers = await Promise.all([agent.submit(proof, {}), owner.submit(stopping, {})]);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    const isStopped = (await emailOf(oid)) === email;
    expect(titleOf(await owner.get(stop))).toBe(isStopped ? 'The change was stopped' : 'The address was changed already');
  });
});

describe('both exports have the requested address until its link is used, expires or is stopped', () => {
  const addressesIn = async (email: string, personId: string): Promise<readonly (string | undefined)[]> => {
    const agent = new Agent();
    const page = await signInPages(agent, await agent.follow(await agent.get(`${service.issuer}/idp/account/data`)), email);
    const own = JSON.parse((await agent.submit(page, {})).body);
    const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    const { status, json } = await root(`/tenants/${acme}/persons/${personId}/export`);
    expect([status, json.pendingEmail]).toEqual([200, own.pendingEmail]);
    if (own.pendingEmail) expect(Object.keys(own.pendingEmail).sort()).toEqual(['address', 'expiresAt']);
    return [own.pendingEmail?.address, own.person.email];
  };

  test('a request without an end is in both, and a request that another replaced is not', async () => {
    const { email, personId, next } = await person();
    expect(await addressesIn(email, personId)).toEqual([undefined, email]);
    const agent = new Agent();
    await ask(agent, email, `first-${next}`);
    await proofTo(`first-${next}`);
    await ask(agent, email, next);
    const before = Date.now();
    await proofTo(next);
    expect(await addressesIn(email, personId)).toEqual([next, email]);
    const { pendingEmail } = await service.idp.tenant(acme).persons.export(personId);
    expect(Math.abs(Number(pendingEmail?.expiresAt) - before - 86_400_000)).toBeLessThan(60_000);
  });

  test.each<[string, (agent: Agent, email: string, next: string) => Promise<unknown>]>([
    ['expired', async () => passTime(86_401)],
    ['was stopped', async (_, email) => press(new Agent(), await stopTo(email))],
    [
      'ended with its sign-in',
      async (agent) => agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' })),
    ],
  ])('a request that %s is in neither', async (_, end) => {
    const { email, personId, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    await proofTo(next);
    await end(agent, email, next);
    expect(await addressesIn(email, personId)).toEqual([undefined, email]);
  });

  test('a request whose link was used is in neither, and the address is the one of the record', async () => {
    const { email, personId, next } = await person();
    const agent = new Agent();
    await ask(agent, email, next);
    await press(agent, await proofTo(next));
    expect(await addressesIn(next, personId)).toEqual([undefined, next]);
  });
});

test('design §6: nothing here was an error of the service but the mail that the host refused', () => {
  expect(new Set(service.logged.map(([, message]) => message))).toEqual(
    new Set(['the host failed to send a mail, and the service retries', 'a delivery failed, and the service retries']),
  );
});
