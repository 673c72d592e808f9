/** Issue 15: clients and API resources can refuse impersonated sign-ins, by `impersonation: 'refuse'`. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Extension, GrantedSignIn } from 'tenant-idp/extension';
import { Agent, basic, postForm, signIn } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { introspect, isActive, userinfo } from '../support/client/steps.js';
import type { TestIdpOptions } from '../support/service/idp.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/impersonation.js';
import { impersonationIn } from '../support/sign-in/impersonation-session.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

const slipGrant = 'urn:example:slip';
let slip: GrantedSignIn | undefined;
/** A grant type whose tokens belong to the sign-in in `slip`, an impersonation of Bob. */
const slips: Extension = {
  name: 'slips',
  grantTypes: { [slipGrant]: () => ({ parameters: [], exchange: () => slip ?? { error: 'invalid_grant' } }) },
};

const metadata = { redirect_uris: [redirectUri], grant_types: ['authorization_code', slipGrant] };
const allowedScopes = ['openid', 'profile', 'orders.read', 'invoices.read', 'idp.users:read'];
const seed = {
  ...testSeed,
  clients: [
    ...testSeed.clients,
    { id: 'bank', name: 'Bank', secret: 'bank-secret', metadata, allowedScopes, impersonation: 'refuse' as const },
    { id: 'open', name: 'Open', secret: 'open-secret', metadata, allowedScopes },
    {
      id: 'implicit',
      name: 'Implicit',
      metadata: { redirect_uris: ['https://implicit.test/cb'], response_types: ['id_token'], token_endpoint_auth_method: 'none' },
      allowedScopes: ['openid'],
      impersonation: 'refuse' as const,
    },
  ],
};

describe.each([
  ['tokens minted here', {}],
  ['tokens minted by oidc-provider', { features: { resourceIndicators: { enabled: true } } }],
] as readonly (readonly [string, TestIdpOptions])[])('impersonation refuse, %s', (_, options) => {
  const service = useIdp({ seed, extensions: [actAs({ lasts: 600_000 }), slips], ...options });
  const { act, ask, silently, redeem, url, known } = impersonationIn(service);
  const records = () => service.idp.directory;
  let agent: Agent;
  beforeAll(async () => {
    ({ agent } = await act());
  });
  afterEach(async () => {
    await records().clients.update('open', { impersonation: null });
    await records().apiResources.update('orders', { impersonation: null });
  });

  test('a client that refuses is answered access_denied in a session with `act`, with and without a page', async () => {
    for (const prompt of [undefined, 'none', 'consent', 'select_account', 'login', 'create'])
      expect(membersOf(await ask(agent, { client_id: 'bank', ...(prompt ? { prompt } : {}) }))).toMatchObject({ error: 'access_denied' });
    expect(membersOf(await silently(agent))).toHaveProperty('code');
  });

  test('however it asks: pushed, by POST, for an ID token alone', async () => {
    const parameters = Object.fromEntries(new URL(url({ client_id: 'bank' })).searchParams);
    const pushed = await postForm(`${service.issuer}/connect/par`, parameters, { authorization: basic('bank', 'bank-secret') });
    const byReference = await agent.get(
      `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'bank', request_uri: pushed.json.request_uri })}`,
    );
    expect(membersOf(byReference)).toMatchObject({ error: 'access_denied' });
    expect(membersOf(await agent.follow(await agent.post(`${service.issuer}/connect/authorize`, parameters)))).toMatchObject({
      error: 'access_denied',
    });
    const implicit = { client_id: 'implicit', redirect_uri: 'https://implicit.test/cb', response_type: 'id_token', nonce: 'n' };
    const { location = '' } = await silently(agent, implicit);
    expect(new URLSearchParams(new URL(location).hash.slice(1)).get('error')).toBe('access_denied');
  });

  test('is for who acts alone: the client signs everybody else in', async () => {
    expect(membersOf(await signIn(new Agent(), url({ client_id: 'bank' })))).toHaveProperty('code');
  });

  test('a client that refuses and asks for impersonation itself is refused before anybody is shown a page', async () => {
    for (const acr of ['impersonate', 'impersonate:', 'impersonate:true', 'impersonate:somebody', 'tenant:Acme impersonate'])
      expect(membersOf(await ask(new Agent(), { client_id: 'bank', acr_values: acr }))).toMatchObject({ error: 'access_denied' });
    const pushed = Object.fromEntries(new URL(url({ client_id: 'bank', acr_values: 'impersonate' })).searchParams);
    const answer = await postForm(`${service.issuer}/connect/par`, pushed, { authorization: basic('bank', 'bank-secret') });
    expect(answer.json).toMatchObject({ error: 'access_denied' });
    expect(isSignInPage(await ask(new Agent(), { client_id: 'bank', acr_values: 'impersonate:false' }))).toBe(true);
  });

  test('a client whose policy is changed while the page is shown gets nothing', async () => {
    const browser = new Agent();
    const page = await signIn(browser, url({ client_id: 'open', acr_values: 'impersonate' }));
    await records().clients.update('open', { impersonation: 'refuse' });
    const answer = await browser.follow(await browser.submit(page, { user: 'bob@globex.test' }));
    expect(membersOf(answer)).toMatchObject({ error: 'access_denied' });
  });

  test('a client whose policy is changed meanwhile gets no more tokens, and what it had is void', async () => {
    const { access_token: token } = (await redeem(await silently(agent, { client_id: 'open' }), 'open')).json;
    const code = await silently(agent, { client_id: 'open' });
    expect(await isActive(service.issuer, token, 'open')).toBe(true);
    await records().clients.update('open', { impersonation: 'refuse' });
    expect(await redeem(code, 'open')).toMatchObject({ status: 400, json: { error: 'access_denied' } });
    expect(await isActive(service.issuer, token, 'open')).toBe(false);
    expect((await userinfo(service.issuer, token)).status).toBe(401);
  });

  test('a token of an API resource that refuses is not to be had, by scope', async () => {
    const both = { client_id: 'open', scope: 'openid orders.read invoices.read' };
    const code = await silently(agent, both);
    const { access_token: token } = (await redeem(await silently(agent, both), 'open')).json;
    expect(await isActive(service.issuer, token, 'orders')).toBe(true);
    await records().apiResources.update('orders', { impersonation: 'refuse' });
    expect(membersOf(await silently(agent, both))).toMatchObject({ error: 'access_denied' });
    expect(membersOf(await ask(agent, { ...both, prompt: 'consent' }))).toMatchObject({ error: 'access_denied' });
    expect(await redeem(code, 'open')).toMatchObject({ status: 400, json: { error: 'access_denied' } });
    expect(membersOf(await silently(agent, { client_id: 'open', scope: 'openid invoices.read' }))).toHaveProperty('code');
    expect((await introspect(service.issuer, token, 'orders')).json).toEqual({ active: false });
    expect(membersOf(await ask(new Agent(), { ...both, acr_values: 'impersonate' }))).toMatchObject({ error: 'access_denied' });
  });

  test('nor a token of the admin API', async () => {
    const admin = { client_id: 'open', scope: 'openid idp.users:read' };
    expect(membersOf(await silently(agent, admin))).toMatchObject({ error: 'access_denied' });
    expect(membersOf(await ask(new Agent(), { ...admin, acr_values: 'impersonate' }))).toMatchObject({ error: 'access_denied' });
    expect(membersOf(await signIn(new Agent(), url(admin)))).toHaveProperty('code');
  });

  test('grant types of extensions are refused alike', async () => {
    const [alice, bob] = [await known('alice@acme.test'), await known('bob@globex.test')];
    const authTime = epochSeconds();
    slip = {
      oid: bob.oid,
      amr: ['external'],
      idp: 'slips',
      authTime,
      scopes: ['openid', 'offline_access', 'orders.read'],
      act: alice,
    };
    const exchange = (client: string) =>
      postForm(`${service.issuer}/connect/token`, { grant_type: slipGrant }, { authorization: basic(client, `${client}-secret`) });
    const { json } = await exchange('open');
    expect(json.scope.split(' ')).toEqual(['openid', 'orders.read']);
    expect(json).not.toHaveProperty('refresh_token');
    expect(decodeJwt(json.id_token)).toMatchObject({ amr: ['external', 'imp'], act: alice });
    expect(json.expires_in).toBeLessThanOrEqual(1800);
    expect(await exchange('bank')).toMatchObject({ status: 400, json: { error: 'access_denied' } });
    await records().apiResources.update('orders', { impersonation: 'refuse' });
    expect(await exchange('open')).toMatchObject({ status: 400, json: { error: 'access_denied' } });
  });
});

describe('impersonation refuse, by resource indicator', () => {
  const service = useIdp({
    seed: {
      ...seed,
      apiResources: [...testSeed.apiResources, { id: 'https://pay.test/', name: 'Pay', secret: 'pay-secret-pay', scopes: ['pay'] }],
      clients: [
        { id: 'pays', name: 'Pays', secret: 'pays-secret', metadata: { redirect_uris: [redirectUri] }, allowedScopes: ['openid', 'pay'] },
        ...testSeed.clients,
      ],
    },
    extensions: [actAs({ lasts: 600_000 })],
    features: { resourceIndicators: { enabled: true } },
  });
  const { act, silently, redeem } = impersonationIn(service);

  test('an API resource that refuses is not to be named, at the authorization endpoint or the token endpoint', async () => {
    const { agent } = await act();
    const named = { client_id: 'pays', scope: 'openid pay', resource: 'https://pay.test/' };
    const [code, other] = [await silently(agent, named), await silently(agent, { client_id: 'pays', scope: 'openid' })];
    expect(membersOf(await silently(agent, named))).toHaveProperty('code');
    await service.idp.directory.apiResources.update('https://pay.test/', { impersonation: 'refuse' });
    expect(membersOf(await silently(agent, named))).toMatchObject({ error: 'access_denied' });
    expect(membersOf(await silently(agent, { ...named, scope: 'openid' }))).toMatchObject({ error: 'access_denied' });
    expect((await redeem(code, 'pays')).json).toMatchObject({ error: 'access_denied' });
    expect((await redeem(other, 'pays', { resource: 'https://pay.test/' })).json).toHaveProperty('error');
  });
});

describe('impersonation refuse, of applications that extensions answer themselves', () => {
  const applications = Object.fromEntries(
    ['main', 'open'].map((name) => {
      const application = { name, returnTo: '/doors/return', ...(name === 'open' ? { impersonation: 'allow' as const } : {}) };
      return [`doors:${name}`, application];
    }),
  );
  const doors: Extension = {
    name: 'doors',
    clients: () => ({ find: (id) => applications[id] }),
    routes(router, { signIn }) {
      router.get('/doors/return', async (ctx) => {
        ctx.body = await signIn.answer(ctx);
      });
      router.get('/doors/:id', (ctx) => signIn.require(ctx, { client: `doors:${ctx.params.id}`, state: 's' }));
    },
  };
  const service = useIdp({ seed, extensions: [actAs({ lasts: 600_000 }), doors, slips] });
  const { act, known } = impersonationIn(service);

  test('is the default, which one that means it changes: SAML and pages of a person refuse who acts', async () => {
    const { agent } = await act();
    const answer = async (id: string) => JSON.parse((await agent.follow(await agent.get(`${service.issuer}/doors/${id}`))).body);
    expect(await answer('main')).toMatchObject({ client: 'doors:main', error: 'access_denied' });
    expect(await answer('open')).toMatchObject({ signedIn: { act: await known('alice@acme.test') } });
  });
});

describe('impersonation refuse, when it is written', () => {
  const service = useIdp();

  test('of a client and of an API resource, it is one of two words', async () => {
    const { clients, apiResources } = service.idp.directory;
    expect((await clients.update('web', { impersonation: 'refuse' })).impersonation).toBe('refuse');
    expect((await apiResources.update('orders', { impersonation: 'allow' })).impersonation).toBe('allow');
    const wrong = { impersonation: 'never' as never };
    await expect(clients.update('web', wrong)).rejects.toMatchObject({ code: 'invalid_record' });
    await expect(apiResources.update('orders', wrong)).rejects.toMatchObject({ code: 'invalid_record' });
    await expect(clients.create({ id: 'new', name: 'New', ...wrong })).rejects.toMatchObject({ code: 'invalid_record' });
  });
});
