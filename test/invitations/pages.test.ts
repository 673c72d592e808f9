/** Service specification 4.12, “Events” 2; threats G1, G9, G11: the pages of an invitation in a browser. */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ArtifactStore } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import {
  acceptedIn,
  acceptIn,
  captureMail,
  invite,
  invitingSeed,
  linkIn,
  PASSWORD,
  postRegistrationUri,
} from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const rows = memoryDirectory();
const memory = memoryArtifacts();
/** Whether the store is unavailable after an acceptance was written, when its answer is stored. */
let isOut = false;
const artifacts: ArtifactStore = {
  ...memory,
  async commit(writes) {
    if (isOut && writes.some(({ key }) => key.includes('invitations.accepted'))) throw new Error('connection lost');
    return memory.commit(writes);
  },
};
const service = useIdp({
  artifacts,
  directory: rows,
  seed: invitingSeed as never,
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
});

const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
/** Returns the error of a request with `prompt=none`; undefined if the browser is signed in. */
async function userOf(agent: Agent): Promise<string | undefined> {
  const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, { prompt: 'none', scope: 'openid profile', ...pkce })));
  return new URL(page.location ?? 'http://none').searchParams.get('error') ?? undefined;
}
const statusOf = async (tid: string, id: string) => (await service.idp.tenant(tid).invitations.require(id)).status;

afterEach(backToPresent);

describe('4.12 the link of an invitation', () => {
  test('acceptance sets a password, signs the browser in and shows that the account is ready', async () => {
    const { url, userName, invitation, tid } = await invite(service.idp);
    const agent = new Agent();
    const first = await agent.get(url);
    expect([first.status, titleOf(first)]).toEqual([200, 'Welcome to Acme']);
    expect(first.body).toContain(userName);
    const done = await agent.follow(await agent.submit(first, { password: PASSWORD }));
    expect([done.status, titleOf(done)]).toEqual([200, 'Your account is ready']);
    expect([await userOf(agent), await statusOf(tid, invitation.id)]).toEqual([undefined, 'accepted']);
    const elsewhere = await signIn(new Agent(), authorizeUrl(service.issuer, pkce), userName, PASSWORD);
    expect(elsewhere.location).toContain('code=');
  });

  test('clientId applies that client’s styles and returns the user to its registered URL on completion', async () => {
    const { url } = await invite(service.idp, { clientId: 'portal' });
    const agent = new Agent();
    const first = await agent.get(url);
    expect(first.body).toContain('--accent:#aa3300');
    expect(first.body).toContain('The portal');
    const answer = await agent.follow(await agent.submit(first, { password: PASSWORD }));
    expect(answer.location).toBe(postRegistrationUri);
    expect(await userOf(agent)).toBeUndefined();
  });

  test('G11 nothing in the address or the form says where the browser goes afterwards', async () => {
    const { url } = await invite(service.idp, { clientId: 'portal' });
    const evil = 'https://evil.test/';
    const agent = new Agent();
    const page = await agent.get(`${url}?returnTo=${evil}&postRegistrationUri=${evil}&redirect_uri=${evil}`);
    const answer = await agent.follow(await agent.submit(page, { password: PASSWORD, postRegistrationUri: evil, redirect_uri: evil }));
    expect(answer.location).toBe(postRegistrationUri);
  });

  test('opening never consumes: scanners may GET and HEAD as often as they like', async () => {
    const { url, invitation, tid } = await invite(service.idp);
    for (let times = 0; times < 5; times += 1) {
      expect((await new Agent().get(url)).status).toBe(200);
      expect((await new Agent().request(url, { method: 'HEAD' })).status).toBe(200);
    }
    expect(await statusOf(tid, invitation.id)).toBe('pending');
    expect(titleOf(await acceptedIn(url))).toBe('Your account is ready');
  });

  test('a weak password shows the page again, and the link still works', async () => {
    const { url, userName } = await invite(service.idp);
    const agent = new Agent();
    for (const password of ['', 'short', userName]) {
      const page = await acceptIn(agent, url, { password });
      expect([page.status, titleOf(page), page.body.includes('<title>Error: ')]).toEqual([400, 'Welcome to Acme', true]);
    }
    expect(titleOf(await acceptedIn(url, agent))).toBe('Your account is ready');
  });

  test('an acceptance whose answer was lost in an outage succeeds again in that browser, with its password', async () => {
    const { url } = await invite(service.idp);
    const [agent, other] = [new Agent(), new Agent()];
    const [page, late] = [await agent.get(url), await other.get(url)];
    isOut = true;
    expect((await agent.submit(page, { password: PASSWORD })).status).toBe(503);
    isOut = false;
    await until(async () => (await service.idp.health()).status === 'up');
    expect((await agent.submit(page, { password: `not ${PASSWORD}` })).status).toBe(410);
    expect((await other.submit(late, { password: PASSWORD })).status).toBe(410);
    const done = await agent.follow(await agent.submit(page, { password: PASSWORD }));
    expect([done.status, titleOf(done), await userOf(agent)]).toEqual([200, 'Your account is ready', undefined]);
  });

  test('a form that is sent twice is answered like the first; in another browser the invitation was used', async () => {
    const { url, userName } = await invite(service.idp);
    const agent = new Agent();
    const page = await agent.get(url);
    await agent.submit(page, { password: PASSWORD });
    expect(titleOf(await agent.follow(await agent.submit(page, { password: PASSWORD })))).toBe('Your account is ready');
    const other = await new Agent().get(url);
    expect([other.status, titleOf(other)]).toEqual([410, 'This invitation was used']);
    expect((await signIn(new Agent(), authorizeUrl(service.issuer, pkce), userName, PASSWORD)).location).toContain('code=');
  });

  test('of fifty acceptances at once one succeeds', async () => {
    const { url, userName } = await invite(service.idp);
    const agents = Array.from({ length: 50 }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => agent.get(url)));
    const answers = await Promise.all(
      agents.map((agent, index) => agent.submit(pages[index] as Answer, { password: `password of number ${index}` })),
    );
    const winners = answers.flatMap(({ status }, index) => (status === 303 ? [index] : []));
    expect([winners.length, answers.filter(({ status }) => status === 410).length, answers.filter(({ status }) => status >= 500)]).toEqual([
      1,
      49,
      [],
    ]);
    const url2 = authorizeUrl(service.issuer, pkce);
    expect((await signIn(new Agent(), url2, userName, `password of number ${winners[0]}`)).location).toContain('code=');
  });

  test('is e-mailed: the mail has the link, and the address is verified by it', async () => {
    const { invitation, userName, tid } = await invite(service.idp, { send: true });
    const mail = await captured.to(userName);
    const done = await acceptedIn(linkIn(mail));
    expect(titleOf(done)).toBe('Your account is ready');
    const person = await service.idp.tenant(tid).persons.require(invitation.personId);
    expect(person.user).toMatchObject({ status: 'active', emailVerified: true });
  });
});

describe('H6 a postRegistrationUri', () => {
  test.each([
    ['https://app.test/welcome', true],
    ['http://localhost:3000/welcome', true],
    ['http://127.0.0.1/welcome', true],
    ['http://app.test/welcome', false],
    ['https://user:secret@app.test/', false],
    ['javascript:alert(1)', false],
    ['//app.test/', false],
    ['', false],
  ])('%p: %p', async (postRegistrationUri, isTaken) => {
    const { clients } = service.idp.directory;
    const changed = clients.update('web', { postRegistrationUri }).then(
      () => true,
      (error: { details: { path: string } }) => error.details.path,
    );
    expect(await changed).toBe(isTaken || '/postRegistrationUri');
    await clients.update('web', { postRegistrationUri: null });
  });
});

describe('G9 the right page for each link', () => {
  test.each([
    ['expired', 'This invitation has expired'],
    ['revoked', 'This invitation was withdrawn'],
    ['replaced', 'There is a newer link'],
    ['unavailable', 'This does not work right now'],
    ['erased', 'This link does not work'],
  ])('%s', async (state, title) => {
    const { url, invitation, invitations, tid } = await invite(service.idp, { tenant: 'Globex' });
    const agent = new Agent();
    const page = await agent.get(url);
    if (state === 'expired') passTime(86_500);
    if (state === 'revoked') await invitations.revoke(invitation.id);
    if (state === 'replaced') await invitations.resend(invitation.id);
    if (state === 'unavailable') {
      // This write skips the services, which would refuse it, as an earlier version did.
      await rows.collection<{ id: string; version: number }>('tenants').update(tid, (row) => ({ ...row, signIn: { methods: ['eid'] } }));
      await service.idp.directory.tenants.update(tid, { locale: 'en' });
    }
    if (state === 'erased') await service.idp.tenant(tid).persons.remove(invitation.personId);
    try {
      const status = { unavailable: 503, erased: 404 }[state] ?? 410;
      const answers = [await new Agent().get(url), await agent.submit(page, { password: PASSWORD })];
      expect(answers.map((answer) => [answer.status, titleOf(answer)])).toEqual([
        [status, title],
        [status, title],
      ]);
    } finally {
      await service.idp.directory.tenants.update(tid, { signIn: null });
    }
  });

  test.each(['x', 'AAAAAAAAAAAAAAAAAAAAAA.1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', '%00', '..%2f..', 'a'.repeat(4000)])(
    'unknown: %p',
    async (token) => {
      const answer = await new Agent().get(`${service.issuer}/idp/invitations/${token}`);
      expect([answer.status, titleOf(answer)]).toEqual([404, 'This link does not work']);
    },
  );

  test('G1 other browser: a form of another browser is refused, and leads back', async () => {
    const { url, invitation, tid } = await invite(service.idp);
    const page = await new Agent().get(url);
    const other = new Agent();
    await other.get(url);
    const answer = await other.submit(page, { password: PASSWORD });
    expect([answer.status, titleOf(answer)]).toEqual([403, 'This form cannot be used']);
    expect(answer.body).toContain(`href="${url}"`);
    expect(await statusOf(tid, invitation.id)).toBe('pending');
  });

  test('G1 a form without its token, of another invitation, or from another site changes nothing', async () => {
    const [one, two] = [await invite(service.idp), await invite(service.idp)];
    const agent = new Agent();
    const { action, fields } = formOf(await agent.get(one.url));
    const foreign = formOf(await agent.get(two.url)).fields.csrf ?? '';
    const answers = [
      await agent.post(action, { ...fields, csrf: '', password: PASSWORD }),
      await agent.post(action, { ...fields, csrf: foreign, password: PASSWORD }),
      await agent.post(action, { ...fields, password: PASSWORD }, { 'sec-fetch-site': 'cross-site' }),
      await agent.post(action, { ...fields, password: PASSWORD }, { origin: 'https://evil.test' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(await statusOf(one.tid, one.invitation.id)).toBe('pending');
  });

  test('G10 signed in as somebody else: the page says so, and only then does acceptance sign them out', async () => {
    const { url } = await invite(service.idp);
    const agent = new Agent();
    const early = await agent.get(url);
    await signIn(agent, authorizeUrl(service.issuer, pkce), 'bob@globex.test', 'bob');
    // The page was opened before Bob signed in, so it did not say that he will be signed out.
    const told = await agent.submit(early, { password: PASSWORD });
    expect([told.status, told.body.includes('Bob Brown (bob@globex.test) is signed in')]).toEqual([409, true]);
    const done = await agent.follow(await agent.submit(told, { password: PASSWORD }));
    expect(titleOf(done)).toBe('Your account is ready');
    expect(done.body).toContain('Acme');
    expect(await userOf(agent)).toBeUndefined();
  });

  test('G9 neither the log nor the answers to others have the token', async () => {
    const { url } = await invite(service.idp);
    const token = url.split('/').at(-1) as string;
    const secret = token.split('.').at(-1) as string;
    const agent = new Agent();
    const page = await agent.get(url);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    let current = await agent.submit(page, { password: PASSWORD });
    for (let next = current.location; next?.startsWith(service.issuer); next = current.location) {
      expect(next).not.toContain(secret);
      current = await agent.get(next);
    }
    expect(current.body).not.toContain(secret);
    expect(JSON.stringify(service.lines)).not.toContain(secret);
  });

  test('F1 the session is a new one: a cookie from before the acceptance signs nobody in', async () => {
    const { url } = await invite(service.idp);
    const agent = new Agent();
    await agent.get(authorizeUrl(service.issuer, pkce));
    const planted = new Map(agent.cookies);
    await acceptedIn(url, agent);
    expect(await userOf(agent)).toBeUndefined();
    const thief = new Agent();
    for (const [name, cookie] of planted) thief.cookies.set(name, cookie);
    expect(await userOf(thief)).toBe('login_required');
  });
});

describe('acceptance signs the browser in under the tenant’s requirements', () => {
  test('a user who was linked while invited gets no password, and signs in with that of the parent', async () => {
    const { directory } = service.idp;
    const { url, tid, userName } = await invite(service.idp, { tenant: 'Globex' });
    const [parent] = await directory.accounts.candidates('carol@acme.test');
    if (!parent) throw new Error('no Carol');
    const child = await service.idp.tenant(tid).users.findByUserName(userName);
    // The user was linked while it was invited. The parent signs it in, so the invitation proves nothing that signs in.
    await service.idp.tenant(tid).linking.link(child?.user.id as string, { tid: parent.tenant.id, userId: parent.person.user.id });
    const agent = new Agent();
    const page = await agent.get(url);
    expect(page.body).not.toContain('type="password"');
    const next = await agent.follow(await agent.submit(page, {}));
    expect(next.body).toContain('type="password"');
    expect(await userOf(agent)).toBe('login_required');
    const done = await agent.follow(await agent.submit(next, { password: 'carol' }));
    expect(titleOf(done)).toBe('Your account is ready');
  });
});
