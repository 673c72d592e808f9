/** House §5: “sign this browser in by these rules, then come back to me”, and forms that other sites have browsers post here. */
import { describe, expect, test } from '@jest/globals';
import type { Extension, InternalClient, OutgoingForm, SignInAnswer, SignInAsk } from 'tenant-idp/extension';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json, postForm, signIn } from '../support/client/agent.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const doors = new Map<string, InternalClient>([['doors:main', { name: 'The main door', returnTo: '/doors/back' }]]);
const answers: (SignInAnswer | undefined)[] = [];
const taken: unknown[] = [];

const extension: Extension = {
  name: 'doors',
  clients: () => ({ find: (id) => doors.get(id) }),
  routes(router, { signIn, http: { postedForms }, pages: { sendForm } }) {
    router.get('/doors/send', (ctx) => sendForm(ctx, JSON.parse(String(ctx.query.form))));
    router.get('/doors/enter', (ctx) =>
      signIn.require(ctx, { client: 'doors:main', state: 'a state', ...(ctx.query as Partial<SignInAsk>) }),
    );
    router.get('/doors/back', async (ctx) => {
      answers.push(await signIn.answer(ctx));
      ctx.body = 'back';
    });
    router.get('/doors/elsewhere', async (ctx) => {
      answers.push(await signIn.answer(ctx));
      ctx.body = 'elsewhere';
    });
    router.postWithoutCsrf('/doors/post', (ctx) => postedForms.sendOn(ctx, '/doors/form'));
    router.get('/doors/form', async (ctx) => {
      taken.push(await postedForms.take(ctx));
      ctx.body = 'taken';
    });
    router.get('/doors/form/other', async (ctx) => {
      taken.push(await postedForms.take(ctx));
      ctx.body = 'taken';
    });
  },
};

const service = useIdp({ extensions: [extension], seed: testSeed });
const enter = (agent: Agent, ask: Partial<Record<keyof SignInAsk, string>> = {}): Promise<Answer> =>
  agent.get(`${service.issuer}/doors/enter?${new URLSearchParams(ask)}`);
/** Returns the last answer that the extension got. */
const answered = (): SignInAnswer | undefined => answers.at(-1);
const through = async (
  agent: Agent,
  ask: Partial<Record<keyof SignInAsk, string>> = {},
  userName = 'bob@globex.test',
  password = 'bob',
) => {
  const page = await agent.follow(await enter(agent, ask));
  if (page.body === 'back') return page;
  const next = await agent.submit(page, { identifier: userName });
  return agent.follow(await agent.submit(next, { password }));
};

describe('requireSignIn', () => {
  test('the pages are those of every sign-in, with the name of the application; then the browser comes back', async () => {
    const agent = new Agent();
    const page = await agent.follow(await enter(agent));
    expect(page.body).toContain('The main door');
    expect((await through(agent)).body).toBe('back');
    expect(answered()).toMatchObject({
      client: 'doors:main',
      state: 'a state',
      signedIn: { amr: ['pwd'], idp: 'local', account: { tenant: { name: 'Globex' } } },
    });
  });

  test('who is signed in comes back at once, and is signed in for applications of OpenID Connect as well', async () => {
    const agent = new Agent();
    await through(agent);
    const before = answers.length;
    expect((await agent.follow(await enter(agent, { state: 'again', prompt: 'none' }))).body).toBe('back');
    expect([answers.length, answered()?.state]).toEqual([before + 1, 'again']);
    const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    const { location = '' } = await agent.follow(await agent.get(authorizeUrl(service.issuer, { prompt: 'none', ...pkce })));
    expect(location).toContain(`${redirectUri}?`);
    expect(new URL(location).searchParams.get('code')).toBeTruthy();
  });

  test('errors come back as errors: nobody there, a cancelled sign-in, a level that nobody serves', async () => {
    const agent = new Agent();
    await agent.follow(await enter(agent, { prompt: 'none' }));
    expect(answered()).toMatchObject({ state: 'a state', error: 'login_required' });
    await agent.follow(await enter(agent, { acrValues: 'impersonate' }));
    expect(answered()).toMatchObject({ error: 'unmet_authentication_requirements' });
    const page = await agent.follow(await enter(agent));
    const [, cancel = ''] = /formaction="([^"]*)" formnovalidate>Cancel</.exec(page.body) ?? [];
    await agent.follow(await agent.post(cancel, formOf(page).fields));
    expect(answered()).toMatchObject({ state: 'a state', error: 'access_denied', description: 'The user cancelled the sign-in.' });
  });

  test('prompt=login asks somebody who is signed in again; allowedTenants holds', async () => {
    const agent = new Agent();
    await through(agent);
    expect((await agent.follow(await enter(agent, { prompt: 'login' }))).body).toContain('<form');
    const acme = (await service.idp.directory.tenants.find({ limit: 10 })).find(({ name }) => name === 'Acme');
    doors.set('doors:acme', { name: 'Acme only', returnTo: '/doors/back', allowedTenants: [String(acme?.id)] });
    await agent.follow(await enter(agent, { client: 'doors:acme', prompt: 'none' }));
    expect(answered()).toMatchObject({ client: 'doors:acme', error: expect.stringMatching(/login_required|account_selection_required/) });
  });

  test('an answer is good once, at its own route, and in the browser that signed in', async () => {
    const agent = new Agent();
    await through(agent);
    const lastHop = async (): Promise<string> => {
      const { location = '' } = await agent.get((await enter(agent)).location ?? '');
      return location;
    };
    const url = await lastHop();
    await agent.get(url);
    expect(answered()).toHaveProperty('signedIn');
    await agent.get(url);
    expect(answered()).toBeUndefined();
    await new Agent().get(await lastHop());
    expect(answered()).toMatchObject({ error: 'login_required' });
    await agent.get((await lastHop()).replace('/doors/back', '/doors/elsewhere'));
    expect(answered()).toBeUndefined();
  });

  test('nobody else makes such a request: not by a link, not by pushing one, not as another client', async () => {
    const agent = new Agent();
    await through(agent);
    const count = answers.length;
    const query = {
      client_id: 'doors:main',
      response_type: 'none',
      redirect_uri: `${service.issuer}/doors/back`,
      scope: 'openid',
      state: 'forged',
    };
    await agent.follow(await agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams(query)}`));
    expect(answers.slice(count).filter((each) => each && 'signedIn' in each)).toEqual([]);
    for (const fields of [query, { ...query, client_secret: '' }, { ...query, client_secret: 'x' }])
      expect((await postForm(`${service.issuer}/connect/par`, fields)).status).toBe(401);
    const own = await agent.follow(
      await agent.get(authorizeUrl(service.issuer, { response_type: 'none', redirect_uri: redirectUri, scope: 'openid' })),
    );
    expect(new URL(own.location ?? '').searchParams.get('error')).toBe('unsupported_response_type');
  });

  test('discovery does not list the response type, and no client is registered for it, or has such an id', async () => {
    const { response_types_supported: types } = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
    expect(types).not.toContain('none');
    const client = {
      id: 'none',
      name: 'None',
      metadata: { redirect_uris: [redirectUri], response_types: ['none'] },
      allowedScopes: ['openid'],
    };
    await expect(service.idp.directory.clients.create(client as never)).rejects.toMatchObject({ code: 'invalid_record' });
    const taken = { id: 'doors:other', name: 'Other', metadata: { redirect_uris: [redirectUri] }, allowedScopes: ['openid'] };
    await expect(service.idp.directory.clients.create(taken)).rejects.toMatchObject({ code: 'invalid_record' });
  });

  test('an application that there is not is a mistake of the extension', async () => {
    expect((await enter(new Agent(), { client: 'doors:none' })).status).toBe(500);
    expect((await enter(new Agent(), { client: 'web' })).status).toBe(500);
    service.logged.length = 0;
  });
});

describe('a form that another site posts', () => {
  const post = (fields: Record<string, string>) =>
    fetch(`${service.issuer}/doors/post`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields).toString(),
      headers: formType,
    });
  const formType = { 'content-type': 'application/x-www-form-urlencoded' };

  test('is sent on as a GET whose reference works once, and at its own route', async () => {
    const answer = await post({ SAMLRequest: 'a message', RelayState: 'r' });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([303, 'no-store']);
    const url = String(answer.headers.get('location'));
    expect(url).not.toContain('message');
    await fetch(url.replace('/doors/form', '/doors/form/other'));
    expect(taken.at(-1)).toBeUndefined();
    const second = String((await post({ SAMLRequest: 'a message', RelayState: 'r' })).headers.get('location'));
    await fetch(second);
    expect(taken.at(-1)).toEqual({ SAMLRequest: 'a message', RelayState: 'r' });
    await fetch(second);
    expect(taken.at(-1)).toBeUndefined();
  });

  test('one that is too long is refused', async () => {
    expect((await post({ SAMLRequest: 'x'.repeat(17_000) })).status).toBe(413);
  });
});

describe('a form for another site', () => {
  const send = (form: OutgoingForm) =>
    new Agent().get(`${service.issuer}/doors/send?${new URLSearchParams({ form: JSON.stringify(form) })}`);

  test('is a page that submits itself, escaped, with the name of the application', async () => {
    const page = await send({
      action: 'https://sp.test/acs?a=1&b=2',
      fields: { RelayState: '"><script>', list: ['1', '2'] },
      client: 'doors:main',
    });
    expect([page.status, formOf(page)]).toEqual([
      200,
      { action: 'https://sp.test/acs?a=1&b=2', fields: { RelayState: '"><script>', list: '2' } },
    ]);
    expect(page.body.match(/name="list"/g)).toHaveLength(2);
    expect(page.body).not.toContain('"><script>');
    expect(page.body).toContain('The main door');
    expect(page.headers.get('content-security-policy')).toMatch(/script-src 'sha256-[\w+/=]+'/);
    expect((await send({ action: 'http://sp.test/', fields: {} })).body).not.toContain('The main door');
  });

  test('goes to no other kind of URL', async () => {
    for (const action of ['javascript:alert(1)', 'data:text/html,x', '/relative'])
      expect((await send({ action, fields: {} })).status).toBe(500);
    service.logged.length = 0;
  });
});

test('signing in for such an application leaves the rest as it is', async () => {
  const agent = new Agent();
  await through(agent);
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const { location } = await signIn(agent, authorizeUrl(service.issuer, pkce), 'bob@globex.test', 'bob');
  expect(location).toContain('code=');
});
