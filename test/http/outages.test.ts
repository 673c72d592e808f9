/**
 * Design §4: every endpoint while a store is away, and the same browsers and tokens once it is back. A store that refuses and one that never
 * answers; what reads, what writes, or all of it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Health } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { Agent, type Answer, authorizeUrl, formOf, type Json, obtainTokens, postForm } from '../support/agent.js';
import { createAssertingClient } from '../support/assertions.js';
import { type Down, failingStores } from '../support/failing-stores.js';
import { startIdp } from '../support/idp.js';
import { IN_TIME } from '../support/in-time.js';
import { postLogoutRedirectUri, redirectUri, testSeed } from '../support/seed.js';
import { authorizationOf, introspect, isActive, obtainCode, redeem, refresh, responseOf, revoke, userinfo } from '../support/steps.js';
import { testTogether } from '../support/test-together.js';
import { useIdp } from '../support/use-idp.js';

jest.setTimeout(60_000);

const { artifacts, directory, down, recover } = failingStores();
const alice = new Agent();
let asserting: Awaited<ReturnType<typeof createAssertingClient>>;
const service = useIdp(async () => {
  asserting = await createAssertingClient();
  const seed = { ...testSeed, clients: [...testSeed.clients, asserting.seed] };
  return { artifacts, directory, seed, lifetimes: { refreshTokenGrace: 60 } };
});
beforeAll(async () => {
  for (const client of ['web', 'jwt', 'spa', 'pairwise']) await obtainCode(service.issuer, alice, client);
});
afterEach(recover);

/** What an endpoint says to an outage, in the form its callers understand; or `ok`, as it does not need what is away. */
type Saying = 'json' | 'page' | 'redirect' | 'form' | 'ok';
interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location?: string | undefined;
}
/** A request before, during and after. */
interface Case {
  /** In what the outages do: artifacts read, written, both; the directory; everything. */
  readonly says: readonly [Saying, Saying, Saying, Saying, Saying];
  prepare(): Promise<{
    during(): Promise<Reply>;
    /** Goes on with the same browser and tokens; rejects or throws when it cannot. */
    after(): Promise<void>;
  }>;
}

const outages = ['reads', 'writes', 'artifacts', 'directory', 'everything'] as const;
const switchOff = (outage: (typeof outages)[number]): void => {
  const flags: readonly (keyof Down)[] = outage === 'everything' ? ['artifacts', 'directory'] : [outage];
  for (const flag of flags) down[flag] = true;
};

const ofPage = ({ status, headers, body, location }: Answer): Reply => ({ status, headers, text: body, location });
const request = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', state: 'st', ...parameters });
const tabOf = (agent: Agent): Agent => {
  const tab = new Agent();
  for (const [key, cookie] of agent.cookies) tab.cookies.set(key, cookie);
  return tab;
};
const expectCode = (answer: Answer) => expect(responseOf(answer).get('code')).not.toBeNull();
const expectSignedIn = async (agent: Agent) => expectCode(await agent.get(request({ prompt: 'none' })));
const offline = async (client = 'web', agent = tabOf(alice)) =>
  (await redeem(service.issuer, await obtainCode(service.issuer, agent, client, { scope: 'openid offline_access' }))).json;
const pushedFields = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 'st',
  code_challenge: 'c'.repeat(43),
  code_challenge_method: 'S256',
};
const push = (issuer = service.issuer) => postForm(`${issuer}/connect/par`, pushedFields, authorizationOf('web'));
const urlOfPushed = ({ json: { request_uri: uri } }: { json: Json }, issuer = service.issuer) =>
  `${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: uri })}`;

/** An authorization request of a browser that is signed in, which gets its code afterwards. */
const authorize = (says: Case['says'], url: () => string | Promise<string>, after = expectSignedIn): Case => ({
  says,
  async prepare() {
    const [agent, target] = [tabOf(alice), await url()];
    return { during: async () => ofPage(await agent.get(target)), after: () => after(agent) };
  },
});
/** A request to an OAuth endpoint, which is answered as `right` afterwards. */
const call = <T>(
  says: Case['says'],
  make: () => Promise<T>,
  during: (made: T) => Promise<Reply & { json: Json }>,
  right: (answer: { status: number; text: string; json: Json }) => void,
): Case => ({
  says,
  async prepare() {
    const made = await make();
    return { during: () => during(made), after: async () => right(await during(made)) };
  },
});
const is200 = ({ status }: { status: number }) => expect(status).toBe(200);
const json = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
};
const bearer = (token: string) => json(`${service.issuer}/connect/userinfo`, { authorization: `Bearer ${token}` });
/** A step on the sign-in pages, which is taken again afterwards and leads to the client. */
const step = (
  says: Case['says'],
  come: () => Promise<{ agent: Agent; during: () => Promise<Answer> }>,
  goOn: (agent: Agent, answer: Answer) => Promise<Answer> = (agent, answer) => agent.follow(answer),
): Case => ({
  says,
  async prepare() {
    const { agent, during } = await come();
    return {
      during: async () => ofPage(await during()),
      after: async () => expectCode(await goOn(agent, await during())),
    };
  },
});
const atIdentifier = async (parameters = {}) => {
  const agent = new Agent();
  return { agent, page: await agent.follow(await agent.get(request(parameters))) };
};
const atPassword = async (parameters = {}) => {
  const { agent, page } = await atIdentifier(parameters);
  return { agent, page: await agent.submit(page, { identifier: 'carol@acme.test' }) };
};
const passwordOf = { password: 'carol' };
const atConsent = async () => {
  const { agent, page } = await atPassword({ client_id: 'third-party', prompt: 'consent' });
  return { agent, page: await agent.follow(await agent.submit(page, passwordOf)) };
};
/** Carol in a browser of her own, with a token that her sign-out will end. */
const carol = async () => obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol' });
const signOut = (tokens: Json) =>
  `${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: postLogoutRedirectUri })}`;

const cases: Record<string, Case> = {
  'authorize, signed in': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () => request()),
  'authorize, prompt=none': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () => request({ prompt: 'none' })),
  'authorize, form_post': authorize(['form', 'form', 'form', 'form', 'form'], () => request({ response_mode: 'form_post' })),
  'authorize, a pairwise client': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () =>
    request({ client_id: 'pairwise' }),
  ),
  'authorize, pushed': authorize(['page', 'redirect', 'page', 'redirect', 'page'], async () => urlOfPushed(await push()), expectSignedIn),
  'authorize, sign in again': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () => request({ prompt: 'login' })),
  'authorize, a client that nobody asked for lately': authorize(['page', 'ok', 'page', 'page', 'page'], () =>
    request({ client_id: `never-seen-${randomUUID()}` }),
  ),
  'authorize, not signed in': step(
    ['ok', 'redirect', 'redirect', 'ok', 'redirect'],
    async () => {
      const agent = new Agent();
      return { agent, during: () => agent.get(request()) };
    },
    async (agent, answer) => {
      const password = await agent.submit(await agent.follow(answer), { identifier: 'carol@acme.test' });
      return agent.follow(await agent.submit(password, passwordOf));
    },
  ),
  'authorize, prompt=none, not signed in': {
    says: ['ok', 'ok', 'ok', 'ok', 'ok'],
    async prepare() {
      const during = () => new Agent().get(request({ prompt: 'none' }));
      const loginRequired = async () => expect(responseOf(await during()).get('error')).toBe('login_required');
      return { during: async () => ofPage(await during()), after: loginRequired };
    },
  },
  'resume after the password': step(['page', 'redirect', 'page', 'redirect', 'page'], async () => {
    const { agent, page } = await atPassword();
    const { location = '' } = await agent.submit(page, passwordOf);
    return { agent, during: () => agent.get(location) };
  }),
  'resume of a sign-in over another’s session': step(['page', 'redirect', 'page', 'redirect', 'page'], async () => {
    const agent = tabOf((await carol()).agent);
    const page = await agent.submit(await agent.follow(await agent.get(request({ prompt: 'login' }))), { identifier: 'carol@acme.test' });
    const { location = '' } = await agent.submit(page, passwordOf);
    return { agent, during: () => agent.get(location) };
  }),
  'resume that leads to consent': step(
    ['page', 'redirect', 'page', 'redirect', 'page'],
    async () => {
      const { agent, page } = await atPassword({ client_id: 'third-party', prompt: 'consent' });
      const { location = '' } = await agent.submit(page, passwordOf);
      return { agent, during: () => agent.get(location) };
    },
    async (agent, answer) => agent.follow(await agent.submit(await agent.follow(answer), { decision: 'allow' })),
  ),
  'the identifier page': step(
    ['page', 'ok', 'page', 'ok', 'page'],
    async () => {
      const { agent, page } = await atIdentifier();
      return { agent, during: () => agent.get(page.url) };
    },
    async (agent, answer) => {
      const password = await agent.submit(answer, { identifier: 'carol@acme.test' });
      return agent.follow(await agent.submit(password, passwordOf));
    },
  ),
  'the identifier, sent': step(
    ['page', 'ok', 'page', 'ok', 'page'],
    async () => {
      const { agent, page } = await atIdentifier();
      return { agent, during: () => agent.submit(page, { identifier: 'carol@acme.test' }) };
    },
    async (agent, answer) => agent.follow(await agent.submit(answer, passwordOf)),
  ),
  'the password, sent': step(['page', 'page', 'page', 'page', 'page'], async () => {
    const { agent, page } = await atPassword();
    return { agent, during: () => agent.submit(page, passwordOf) };
  }),
  'the consent page': step(
    ['page', 'ok', 'page', 'page', 'page'],
    async () => {
      const { agent, page } = await atConsent();
      return { agent, during: () => agent.get(page.url) };
    },
    async (agent, answer) => agent.follow(await agent.submit(answer, { decision: 'allow' })),
  ),
  'consent, given': step(['page', 'page', 'page', 'page', 'page'], async () => {
    const { agent, page } = await atConsent();
    return { agent, during: () => agent.submit(page, { decision: 'allow' }) };
  }),
  'starting again': step(
    ['ok', 'page', 'page', 'ok', 'page'],
    async () => {
      const { agent, page } = await atIdentifier();
      return { agent, during: () => agent.get(`${page.url}/restart`) };
    },
    async (agent, answer) => {
      const password = await agent.submit(await agent.follow(answer), { identifier: 'carol@acme.test' });
      return agent.follow(await agent.submit(password, passwordOf));
    },
  ),

  PAR: call(
    ['ok', 'json', 'json', 'ok', 'json'],
    async () => {},
    () => push(),
    ({ status }) => expect(status).toBe(201),
  ),
  'PAR, by assertion': call(
    ['json', 'json', 'json', 'ok', 'json'],
    async () => {},
    async () =>
      postForm(`${service.issuer}/connect/par`, { ...pushedFields, client_id: 'asserting', ...(await asserting.sign(service.issuer)) }),
    ({ status }) => expect(status).toBe(201),
  ),
  'token, a code': call(
    ['json', 'json', 'json', 'json', 'json'],
    () => obtainCode(service.issuer, tabOf(alice), 'web', { scope: 'openid offline_access' }),
    (code) => redeem(service.issuer, code),
    is200,
  ),
  'token, a code of a public client': call(
    ['json', 'json', 'json', 'json', 'json'],
    () => obtainCode(service.issuer, tabOf(alice), 'spa'),
    (code) => redeem(service.issuer, code),
    is200,
  ),
  'token, a refresh token': call(
    ['json', 'json', 'json', 'json', 'json'],
    () => offline(),
    ({ refresh_token: token }) => refresh(service.issuer, token),
    is200,
  ),
  'token, a refresh token for JWTs': call(
    ['json', 'json', 'json', 'json', 'json'],
    () => offline('jwt'),
    ({ refresh_token: token }) => refresh(service.issuer, token, 'jwt'),
    is200,
  ),
  'token, a refresh token just replaced': call(
    ['json', 'json', 'json', 'json', 'json'],
    async () => {
      const tokens = await offline();
      return { tokens, successor: (await refresh(service.issuer, tokens.refresh_token)).json.refresh_token };
    },
    ({ tokens }) => refresh(service.issuer, tokens.refresh_token),
    is200,
  ),
  'token, client credentials': call(
    ['ok', 'json', 'json', 'ok', 'json'],
    async () => {},
    () => postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service')),
    is200,
  ),
  'token, client credentials by assertion': call(
    ['json', 'json', 'json', 'ok', 'json'],
    async () => {},
    async () =>
      postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials', ...(await asserting.sign(service.issuer)) }),
    is200,
  ),
  'token, a client that nobody asked for lately': call(
    // It is counted as a wrong secret.
    ['ok', 'json', 'json', 'json', 'json'],
    async () => `never-seen-${randomUUID()}`,
    (client) => postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf(client)),
    ({ json: body }) => expect(body.error).toBe('invalid_client'),
  ),
  introspection: call(
    ['json', 'ok', 'json', 'json', 'json'],
    () => offline(),
    ({ access_token: token }) => introspect(service.issuer, token),
    ({ json: body }) => expect(body.active).toBe(true),
  ),
  'introspection of a refresh token': call(
    ['json', 'ok', 'json', 'json', 'json'],
    () => offline(),
    ({ refresh_token: token }) => introspect(service.issuer, token),
    ({ json: body }) => expect(body.active).toBe(true),
  ),
  'introspection of a JWT': call(
    ['json', 'ok', 'json', 'json', 'json'],
    () => offline('jwt'),
    ({ access_token: token }) => introspect(service.issuer, token, 'jwt'),
    ({ json: body }) => expect(body.active).toBe(true),
  ),
  'introspection by an API resource': call(
    ['json', 'ok', 'json', 'ok', 'json'],
    async () => (await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'))).json,
    ({ access_token: token }) => introspect(service.issuer, token, 'orders'),
    ({ json: body }) => expect(body.active).toBe(true),
  ),
  'introspection, answered as a JWT': call(
    ['json', 'ok', 'json', 'json', 'json'],
    () => offline(),
    ({ access_token: token }) =>
      postForm(
        `${service.issuer}/connect/introspect`,
        { token },
        { ...authorizationOf('web'), accept: 'application/token-introspection+jwt' },
      ),
    ({ status, text }) => expect([status, text.split('.').length]).toEqual([200, 3]),
  ),
  'scope introspection': call(
    ['ok', 'ok', 'ok', 'json', 'json'],
    async () => (await userinfo(service.issuer, (await offline()).access_token)).json,
    ({ sub, tid }) => json(`${service.issuer}/connect/scope/introspect?${new URLSearchParams({ sub, tid })}`, authorizationOf('orders')),
    is200,
  ),
  revocation: {
    says: ['json', 'json', 'json', 'ok', 'json'],
    async prepare() {
      // A grant of its own, as it ends.
      const tokens = await offline('web', new Agent());
      return {
        during: () => revoke(service.issuer, tokens.refresh_token),
        async after() {
          is200(await revoke(service.issuer, tokens.refresh_token));
          expect(await isActive(service.issuer, tokens.access_token)).toBe(false);
        },
      };
    },
  },
  userinfo: call(['json', 'ok', 'json', 'json', 'json'], offline, ({ access_token: token }) => bearer(token), is200),
  'end session': {
    says: ['page', 'page', 'page', 'ok', 'page'],
    async prepare() {
      const { agent, tokens } = await carol();
      const during = () => agent.get(signOut(tokens));
      return {
        during: async () => ofPage(await during()),
        async after() {
          expect((await agent.follow(await during())).location).toBe(postLogoutRedirectUri);
          expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
        },
      };
    },
  },
  'end session, asking': {
    says: ['page', 'page', 'page', 'ok', 'page'],
    async prepare() {
      const { agent, tokens } = await carol();
      return {
        during: async () => ofPage(await agent.get(`${service.issuer}/connect/endsession`)),
        async after() {
          await expectSignedIn(agent);
          await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
          expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
        },
      };
    },
  },
  'end session, confirmed': {
    says: ['page', 'page', 'page', 'ok', 'page'],
    async prepare() {
      const { agent, tokens } = await carol();
      const { action, fields } = formOf(await agent.get(`${service.issuer}/connect/endsession`));
      const during = () => agent.post(action, { ...fields, logout: 'yes' });
      return {
        during: async () => ofPage(await during()),
        async after() {
          await agent.follow(await during());
          expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
          expect(responseOf(await agent.get(request({ prompt: 'none' }))).get('error')).toBe('login_required');
        },
      };
    },
  },
  'end session of one application': {
    says: ['page', 'page', 'page', 'ok', 'page'],
    async prepare() {
      const { agent, tokens } = await carol();
      const { action, fields } = formOf(await agent.get(`${service.issuer}/connect/endsession?client_id=web`));
      const during = () => agent.post(action, fields);
      return {
        during: async () => ofPage(await during()),
        async after() {
          await agent.follow(await during());
          expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
          await expectSignedIn(agent);
        },
      };
    },
  },
  'signed out': step(
    ['ok', 'ok', 'ok', 'ok', 'ok'],
    async () => {
      const agent = tabOf(alice);
      return { agent, during: () => agent.get(`${service.issuer}/connect/endsession/success`) };
    },
    (agent) => agent.get(request({ prompt: 'none' })),
  ),
  discovery: call(
    ['ok', 'ok', 'ok', 'ok', 'ok'],
    async () => {},
    () => json(`${service.issuer}/.well-known/openid-configuration`),
    is200,
  ),
  jwks: call(
    ['ok', 'ok', 'ok', 'ok', 'ok'],
    async () => {},
    () => json(`${service.issuer}/.well-known/openid-configuration/jwks`),
    is200,
  ),
};

/** Codes that blame the caller, or answers that sign somebody out. */
const wrong = /invalid_grant|invalid_token|invalid_request_uri|"active":\s*false|login_required/;

function sayingOf(name: string, { status, headers, text, location }: Reply): string {
  const error = location === undefined ? null : new URL(location).searchParams.get('error');
  const other = `${status} ${location ?? ''} ${text.replace(/<style[\s\S]*?<\/style>/g, '').slice(0, 300)}`;
  if (status === 503) {
    if (!/^\d+$/.test(headers.get('retry-after') ?? '') || headers.has('www-authenticate')) return `headers: ${other}`;
    if (text.startsWith('<!doctype html>')) return 'page';
    return (JSON.parse(text) as Json).error === 'temporarily_unavailable' && Object.keys(JSON.parse(text)).length === 2 ? 'json' : other;
  }
  if (error === 'temporarily_unavailable') {
    const { searchParams, origin, pathname } = new URL(location as string);
    const isWhole = origin + pathname === redirectUri && searchParams.get('state') === 'st' && searchParams.get('iss') === service.issuer;
    return isWhole && status === 303 ? 'redirect' : other;
  }
  if (status === 200 && text.includes('value="temporarily_unavailable"')) {
    const { action, fields } = formOf({ body: text, url: service.issuer });
    return action === redirectUri && fields.state === 'st' ? 'form' : other;
  }
  const isNobody = /nobody|not signed in/.test(name) && !wrong.test(text.replace(/login_required/, ''));
  return (status < 400 && error === null && !wrong.test(text)) || isNobody ? 'ok' : other;
}

/** What was asked for lately is kept for a minute: that minute begins now. */
async function keepAtHand(): Promise<void> {
  const { clients, apiResources, tenants } = service.idp.directory;
  await clients.update('web', { name: `Web ${randomUUID()}` });
  await apiResources.update('orders', { name: `Orders ${randomUUID()}` });
  const [acme] = await tenants.find();
  await tenants.update(acme?.id ?? '', { organisationNumber: randomUUID().slice(0, 9) });
  for (const { id } of [...testSeed.clients, asserting.seed]) await clients.get(id);
  for (const { id } of testSeed.apiResources) await apiResources.get(id);
  await expectSignedIn(tabOf(alice));
}

/** A write of less than a second ago still counts. */
async function healthOnceDown(): Promise<Health> {
  const health = await service.idp.health();
  if (health.status === 'down') return health;
  await pause(1000);
  return service.idp.health();
}

describe.each(['that refuses', 'that hangs'] as const)('design §4: a store %s', (how) => {
  const few = how === 'that refuses' ? (['reads', 'writes', 'directory'] as const) : (['everything'] as const);
  test.each(process.env.PROVE ? outages : few)('%s: 503 or the client is told, in time, and nothing is lost', async (outage) => {
    const column = outages.indexOf(outage);
    // A few at once: the passwords of all may take longer than anybody is let wait, and one after the other longer than caches keep.
    const prepared: (Awaited<ReturnType<Case['prepare']>> & { readonly name: string })[] = [];
    const all = Object.entries(cases);
    while (all.length > 0)
      prepared.push(...(await Promise.all(all.splice(0, 8).map(async ([name, { prepare }]) => ({ name, ...(await prepare()) })))));
    await keepAtHand();
    down.hang = how === 'that hangs';
    switchOff(outage);
    const replies = await Promise.all(
      prepared.map(async ({ name, during }) => {
        const since = performance.now();
        const reply = await during();
        return { name, reply, milliseconds: performance.now() - since };
      }),
    );
    const health = await healthOnceDown();
    recover();

    const expected = Object.entries(cases).map(([name, { says }]) => [name, says[column]]);
    expect(replies.map(({ name, reply }) => [name, sayingOf(name, reply)])).toEqual(expected);
    expect(replies.filter(({ milliseconds }) => milliseconds > IN_TIME).map(({ name, milliseconds }) => [name, milliseconds])).toEqual([]);
    for (const { name, reply } of replies) {
      if (sayingOf(name, reply) !== 'ok') expect({ name, cookies: reply.headers.getSetCookie() }).toEqual({ name, cookies: [] });
      expect(reply.text).not.toMatch(/ECONNREFUSED|hunter2|10\.1\.2\.3|TimeoutError/);
    }
    expect(health.status).toBe('down');

    const lost: unknown[] = [];
    for (const { name, after } of prepared) await after().catch((error: unknown) => lost.push([name, String(error)]));
    expect(lost).toEqual([]);
  });
});

describe('design §4: while a store hangs', () => {
  test('one request after the other is answered in time, soon the next ones, and at once again when it is back', async () => {
    const tokens = await offline();
    down.hang = true;
    switchOff('everything');
    const took: number[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const since = performance.now();
      expect((await introspect(service.issuer, tokens.access_token)).status).toBe(503);
      took.push(performance.now() - since);
    }
    expect(Math.max(...took)).toBeLessThan(IN_TIME);
    expect(Math.max(...took.slice(1))).toBeLessThan(took[0] as number);
    recover();
    expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
  });

  test('health answers in time, and says which', async () => {
    for (const [flag, health] of [
      ['artifacts', { status: 'down', artifacts: 'down', directory: 'up', problems: [] }],
      ['directory', { status: 'down', artifacts: 'up', directory: 'down', problems: [] }],
    ] as const) {
      Object.assign(down, { hang: true, [flag]: true });
      const since = performance.now();
      expect(await service.idp.health()).toEqual(health);
      expect(performance.now() - since).toBeLessThan(IN_TIME);
      recover();
      expect(await service.idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up', problems: [] });
    }
  });
});

testTogether('design §4: an outage is one line in the log when it begins, with its cause, and one when it ends', async () => {
  // One that met no outage yet: soon after one, the next lasts until the store was calm for longer.
  const { artifacts, directory, down, recover } = failingStores();
  const own = await startIdp({ artifacts, directory });
  for (let outage = 0; outage < 2; outage += 1) {
    down.artifacts = true;
    down.directory = true;
    for (let request = 0; request < 5; request += 1) {
      await introspect(own.issuer, 'token');
      await new Agent().get(request % 2 ? `${own.issuer}/connect/authorize?client_id=unheard-of` : authorizeUrl(own.issuer, {}));
    }
    // What runs by itself meets the outage as well.
    await pause(2500);
    recover();
    for (const deadline = Date.now() + 20_000; own.logged.length < 4 && Date.now() < deadline; ) await pause(100);
    const told = own.logged.map(([{ store, err }, message]) => [message, store, (err as Error | undefined)?.message]);
    expect(told.sort()).toEqual([
      ['store is away', 'artifacts (failing)', expect.stringContaining('ECONNREFUSED')],
      ['store is away', 'directory (failing)', expect.stringContaining('ECONNREFUSED')],
      ['store is back', 'artifacts (failing)', undefined],
      ['store is back', 'directory (failing)', undefined],
    ]);
    own.logged.length = 0;
  }
  await own.close();
});

test('design §4: scopes that cannot be read fail requests that ask for some, and no others', async () => {
  const [agent, { access_token: token }] = [tabOf(alice), await offline()];
  await service.idp.directory.apiResources.update('invoices', { name: 'All invoices' });
  down.directory = true;
  expect(sayingOf('authorize', ofPage(await agent.get(request())))).toBe('redirect');
  expect(sayingOf('discovery', await json(`${service.issuer}/.well-known/openid-configuration`))).toBe('json');
  expect(sayingOf('introspection', await introspect(service.issuer, token))).toBe('json');
  const clientCredentials = { grant_type: 'client_credentials', scope: 'orders.read' };
  expect(sayingOf('token', await postForm(`${service.issuer}/connect/token`, clientCredentials, authorizationOf('service')))).toBe('json');
  expect((await json(`${service.issuer}/.well-known/openid-configuration/jwks`)).status).toBe(200);
  recover();
  await expectSignedIn(agent);
  expect((await json(`${service.issuer}/.well-known/openid-configuration`)).json.scopes_supported).toContain('orders.read');
});

test('G3: an attempt that an outage cut short does not count', async () => {
  const { agent, page } = await atPassword();
  for (let attempt = 0; attempt < 12; attempt += 1) {
    down.credentials = true;
    expect(sayingOf('password', ofPage(await agent.submit(page, { password: 'carol' })))).toBe('page');
    recover();
  }
  expectCode(await agent.follow(await agent.submit(page, passwordOf)));
});

test('design §4: the store goes away between two slots: the client is told, nothing is disclosed, and another request goes through', async () => {
  const store = memoryArtifacts();
  let isAway = false;
  const between: ArtifactStore = {
    ...store,
    async commit(writes) {
      if (isAway && !writes.some(({ key }) => key.startsWith('PushedAuthorizationRequest'))) throw new Error('gone');
      return store.commit(writes);
    },
  };
  const own = await startIdp({ artifacts: between });
  const agent = new Agent();
  await obtainCode(own.issuer, agent);
  const url = urlOfPushed(await push(own.issuer), own.issuer);
  isAway = true;
  const answer = responseOf(await agent.get(url));
  expect([answer.get('error'), answer.get('state'), answer.get('code')]).toEqual(['temporarily_unavailable', 'st', null]);
  isAway = false;
  expect((await agent.get(url)).body).toContain('invalid_request_uri');
  expectCode(await agent.get(urlOfPushed(await push(own.issuer), own.issuer)));
  await own.close();
});
