/** Issue 15: actions that an impersonator cannot do. G8: no offline_access, no refresh token, no link, password, consent or invitation. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { attributionOf, type Extension } from 'tenant-idp/extension';
import { captureMail, invite, invitingSeed, PASSWORD, personalTenant } from '../support/administration/invitations.js';
import { recordedEvents } from '../support/administration/recorded-events.js';
import { Agent, type Answer, signIn } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/impersonation.js';
import { impersonationIn } from '../support/sign-in/impersonation-session.js';
import { forget, linkIn, mailTo, NEW_PASSWORD } from '../support/sign-in/passwords.js';
import { terms } from '../support/sign-in/requirements.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const store = memoryDirectory();
const accepted = new Set<string>();

/** Pages of an extension on which the signed-in user changes something: one for impersonators too, one in person alone. */
const changing: Extension = {
  name: 'changing',
  routes(router, { directory, impersonation: { inPerson }, http: { requestId }, signIn }) {
    for (const path of ['/changing', '/changing/in-person'])
      router.postWithoutCsrf(path, path === '/changing' ? (_ctx, next) => next() : inPerson, async (ctx) => {
        const here = await signIn.current(ctx);
        if (!here) return ctx.throw(401);
        const { tenant, person } = here.account;
        const { persons } = directory.as(attributionOf(here, requestId(ctx))).forTenant(tenant.id);
        await persons.update(person.id, { phoneNumber: '+4790000077' });
        ctx.body = 'changed';
      });
  },
};

const service = useIdp({
  directory: store,
  seed: invitingSeed as never,
  mail: captured.mail,
  personalTenant,
  extensions: [terms(accepted), actAs({ lasts: 600_000 }), changing],
});
const { act, ask, silently, redeem, known, url } = impersonationIn(service);
const at = (path: string): string => `${service.issuer}${path}`;
const errorOf = (answer: Answer): string | undefined => membersOf(answer).error;
/** Returns the accounts that a chooser offers. */
const choicesOf = ({ body }: Answer): readonly string[] => [...body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, oid = '']) => oid);
const isImpersonationPage = ({ status, body }: Answer): boolean => status === 403 && body.includes('Not while you act as somebody else');

let agent: Agent;
const people = {} as Record<'alice' | 'bob' | 'carol' | 'linked', Awaited<ReturnType<typeof known>>>;
beforeAll(async () => {
  const names = { alice: 'alice@acme.test', bob: 'bob@globex.test', carol: 'carol@acme.test', linked: 'alice@globex.test' };
  for (const [name, userName] of Object.entries(names)) {
    people[name as 'alice'] = await known(userName);
    accepted.add(people[name as 'alice'].oid);
  }
  ({ agent } = await act());
});

describe('issue 15: no link, password, factor or account page', () => {
  const pages = {
    '/idp/account/applications': 'GET POST',
    '/idp/account/applications/x': 'GET',
    '/idp/account/data': 'GET POST',
    '/idp/account/password': 'GET POST',
    '/idp/account/profile': 'GET POST',
    '/idp/account/sessions': 'GET POST',
    '/idp/account/sign-ins': 'GET',
    '/idp/factors': 'GET POST',
    '/idp/factors/app': 'GET POST',
    '/idp/factors/passkey': 'POST',
    '/idp/identities': 'GET POST',
    '/idp/linked-accounts': 'GET POST',
    '/idp/linked-accounts/link': 'GET',
    '/idp/linked-accounts/confirm?link=x': 'GET POST',
    '/idp/linked-accounts/unlink?unlink=x': 'GET POST',
    '/idp/email': 'GET POST',
    '/idp/email/x': 'GET POST',
    '/idp/password/x': 'GET POST',
    '/idp/register/x': 'GET POST',
    '/idp/invitations/x': 'GET POST',
    '/idp/invitations/create?invitation=x': 'GET POST',
    '/idp/invitations/confirm?invitation=x': 'GET POST',
    '/idp/interaction/x/forgotten': 'GET POST',
    '/idp/interaction/x/create': 'GET POST',
    '/idp/interaction/x/connection/link': 'GET POST',
  };
  test.each(Object.entries(pages))('%s says so, by %s', async (path, methods) => {
    const ask = { GET: (by: Agent) => by.get(at(path)), POST: (by: Agent) => by.post(at(path), {}) };
    for (const method of methods.split(' ') as (keyof typeof ask)[]) {
      expect(isImpersonationPage(await ask[method](agent))).toBe(true);
      expect(isImpersonationPage(await ask[method](new Agent()))).toBe(false);
    }
  });

  test('forms of these pages that were opened before the acting began change nothing', async () => {
    const browser = new Agent();
    await signIn(browser, url(), 'alice@acme.test', 'alice');
    const factors = await browser.get(at('/idp/factors'));
    const email = await browser.get(at('/idp/email'));
    expect([factors.status, email.status]).toEqual([200, 200]);
    await act({}, browser);
    expect(isImpersonationPage(await browser.submit(factors, { add: 'app' }))).toBe(true);
    expect(isImpersonationPage(await browser.submit(email, { email: 'new@acme.test' }))).toBe(true);
  });

  test('a link that resets a password does nothing in that browser, and is as good as before in another', async () => {
    await forget(service.issuer, 'carol@acme.test', new Agent());
    const link = linkIn(await mailTo(captured, 'carol@acme.test', 'password-reset'));
    const opened = await new Agent().get(link);
    expect(isImpersonationPage(await agent.get(link))).toBe(true);
    expect(isImpersonationPage(await agent.submit(opened, { password: NEW_PASSWORD }))).toBe(true);
    const other = new Agent();
    expect((await other.follow(await other.submit(await other.get(link), { password: NEW_PASSWORD }))).status).toBe(200);
  });

  test('an extension keeps to it by `inPerson`', async () => {
    expect(isImpersonationPage(await agent.post(at('/changing/in-person'), {}))).toBe(true);
    const honest = new Agent();
    await signIn(honest, url());
    expect((await honest.post(at('/changing/in-person'), {})).body).toBe('changed');
    expect((await new Agent().post(at('/changing/in-person'), {})).status).toBe(401);
  });
});

describe('issue 15: no consent, invitation or requirement in the name of the user', () => {
  test('an invitation is not accepted, and waits', async () => {
    const { url: link } = await invite(service.idp);
    const opened = await new Agent().get(link);
    expect(opened.status).toBe(200);
    expect(isImpersonationPage(await agent.get(link))).toBe(true);
    expect(isImpersonationPage(await agent.submit(opened, { password: PASSWORD }))).toBe(true);
    const other = new Agent();
    const page = await other.get(link);
    expect((await other.follow(await other.submit(page, { password: PASSWORD }))).status).toBeLessThan(400);
  });

  test('consent is refused, with and without a page', async () => {
    for (const prompt of ['none', 'consent']) expect(errorOf(await ask(agent, { client_id: 'third-party', prompt }))).toBe('access_denied');
    const { consents } = service.idp.directory;
    expect(await consents.get(people.bob.oid, 'third-party')).toBeUndefined();
  });

  test('a requirement that is open for the user is refused, and not met by who acts', async () => {
    accepted.delete(people.bob.oid);
    try {
      expect(errorOf(await ask(agent))).toBe('access_denied');
      expect(errorOf(await silently(agent))).toBe('access_denied');
      expect(accepted.has(people.bob.oid)).toBe(false);
    } finally {
      accepted.add(people.bob.oid);
    }
    expect(membersOf(await silently(agent))).toHaveProperty('code');
  });

  test('a second factor of the user is neither set up nor proven', async () => {
    expect(errorOf(await ask(agent, { acr_values: 'mfa' }))).toBe('access_denied');
    expect(errorOf(await silently(agent, { acr_values: 'mfa' }))).toBe('access_denied');
  });

  test('no account is created: prompt=create', async () => {
    for (const prompt of ['create', 'create login', 'create consent'])
      expect(errorOf(await ask(agent, { prompt, acr_values: `tenant:${people.bob.tid}` }))).toBe('access_denied');
  });
});

describe('issue 15: no change to the linked accounts or organisations of the user', () => {
  let carol: Agent;
  beforeAll(async () => {
    // Carol impersonates Alice at Acme. Alice has another account at Globex.
    carol = new Agent();
    await signIn(carol, url(), 'carol@acme.test', NEW_PASSWORD);
    await act({}, carol, 'alice@acme.test');
    expect(membersOf(await silently(carol))).toHaveProperty('code');
  });

  test('`tenant:` of another account is a sign-in', async () => {
    const there = { acr_values: `tenant:${people.linked.tid}` };
    expect(errorOf(await silently(carol, there))).toBe('login_required');
    expect(isSignInPage(await ask(carol, there))).toBe(true);
  });

  test('the chooser offers none of them, and takes none', async () => {
    const page = await ask(carol, { prompt: 'select_account' });
    expect(choicesOf(page)).toContain(people.alice.oid);
    expect(choicesOf(page)).not.toContain(people.linked.oid);
    await carol.submit(page, { choice: people.linked.oid });
    const { json } = await redeem(await silently(carol));
    expect(decodeJwt(json.id_token)).toMatchObject({
      tid: people.alice.tid,
      act: { oid: people.carol.oid },
    });
  });

  test('the user is no remembered account of the browser, not even when chosen', async () => {
    const browser = new Agent();
    await act({}, browser);
    const page = await ask(browser, { prompt: 'select_account' });
    expect(membersOf(await browser.follow(await browser.submit(page, { choice: people.bob.oid })))).toHaveProperty('code');
    await browser.post(at('/idp/end-acting'), {});
    const after = await ask(browser, { prompt: 'select_account' });
    expect(choicesOf(after)).toContain(people.alice.oid);
    expect(choicesOf(after)).not.toContain(people.bob.oid);
  });

  test('a login_hint_token of the user, or of an account linked to them, is a hint and no sign-in', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }] };
    const metadata = { redirect_uris: [redirectUri], jwks };
    const { clients } = service.idp.directory;
    await clients.create({
      id: 'trusted',
      name: 'Trusted',
      secret: 'trusted-secret',
      metadata,
      allowedScopes: ['openid'],
      trustedLoginHint: true,
    });
    const now = epochSeconds();
    const hintOf = (claims: Record<string, string>) =>
      new SignJWT({ iss: 'trusted', aud: service.issuer, jti: crypto.randomUUID(), iat: now, exp: now + 60, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: 'own', typ: 'login-hint+jwt' })
        .sign(privateKey);
    for (const { oid } of [people.alice, people.linked]) {
      const asked = { client_id: 'trusted', scope: 'openid', login_hint_token: await hintOf({ oid }) };
      const { json } = await redeem(await silently(carol, asked), 'trusted');
      expect(decodeJwt(json.id_token)).toMatchObject({
        tid: people.alice.tid,
        act: { oid: people.carol.oid },
      });
    }
    const past = { client_id: 'trusted', scope: 'openid', max_age: '0', login_hint_token: await hintOf({ oid: people.alice.oid }) };
    expect(errorOf(await silently(carol, past))).toBe('login_required');
  });
});

describe('G8: nothing outlives it', () => {
  test.each(['offline_access openid', 'openid profile offline_access', 'openid offline_access offline_access'])(
    'no refresh token is to be had by the scope %s, nor by asking for consent',
    async (scope) => {
      const { json } = await redeem(await silently(agent, { scope }));
      expect(json.scope).not.toContain('offline_access');
      expect(json).toHaveProperty('access_token');
      expect(json).not.toHaveProperty('refresh_token');
      expect(errorOf(await ask(agent, { scope, prompt: 'consent', client_id: 'third-party' }))).toBe('access_denied');
    },
  );
});

describe('G8: no refresh token where a host wants one for everybody', () => {
  const other = useIdp({
    extensions: [actAs({ lasts: 600_000 })],
    configure: (configuration) => ({ ...configuration, issueRefreshToken: async () => true }),
  });
  const there = impersonationIn(other);

  test('who acts gets none', async () => {
    const { agent: browser, response } = await there.act();
    expect((await there.redeem(response)).json).not.toHaveProperty('refresh_token');
    await browser.post(`${other.issuer}/idp/end-acting`, {});
    expect((await there.redeem(await there.silently(browser))).json).toHaveProperty('refresh_token');
  });
});

test('every event raised in the session carries the user as actor, and who acts as `act`', async () => {
  expect((await agent.post(at('/changing'), {})).body).toBe('changed');
  const last = async () => (await recordedEvents(store, 'PersonUpdated')).at(-1);
  // Events of the earlier sign-in may be dispatched first.
  const raised = await until(last, (event) => event?.actor === `user:${people.bob.oid}`);
  expect(raised).toMatchObject({ actor: `user:${people.bob.oid}`, act: `user:${people.alice.oid}`, requestId: expect.any(String) });
});
