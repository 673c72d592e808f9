/**
 * Issue 5, J5: a person with a copy of every store cannot sign in with it. After a run of all flows, each stored string is tried at every
 * endpoint and as every cookie. The service accepts nothing, and nothing changes.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import { withServer } from '../servers/when.js';
import { Agent, type Answer, authorizeUrl, basic, createPkce, type Json, obtainTokens, postForm } from '../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../support/client/assertions.js';
import { send } from '../support/client/send.js';
import {
  authorizationOf,
  introspect,
  isActive,
  obtainCode,
  redeem,
  refresh,
  responseOf,
  revoke,
  userinfo,
} from '../support/client/steps.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { postLogoutRedirectUri, redirectUri, testSeed } from '../support/service/seed.js';
import {
  type DumpedStore,
  dumpedMemoryArtifacts,
  dumpedMemoryDirectory,
  dumpedMongoArtifacts,
  dumpedMongoDirectory,
  dumpedRedisArtifacts,
  stringsOf,
} from '../support/stores/dumps.js';

const COOKIE_KEY = 'the key of the cookies, which is in no store';
/** Client without PKCE, so that only the code itself stands between a stolen code and its tokens. */
const withoutPkce = {
  id: 'no-pkce',
  name: 'Without PKCE',
  secret: 'no-pkce-secret',
  metadata: { redirect_uris: [redirectUri] },
  allowedScopes: ['openid'],
  requirePkce: false,
};

/** Credentials that people and clients hold after the run. All of them must still work after every string was tried. */
interface Live {
  readonly alice: Agent;
  readonly tokens: Json;
  readonly spa: Json;
  readonly jwt: Json;
  readonly ownToken: Json;
  readonly code: string;
  readonly requestUri: string;
  readonly pushedAt: number;
  /** A sign-in at its password page. */
  readonly carol: { readonly agent: Agent; readonly page: Answer };
}

async function runAllFlows({ issuer, idp }: TestIdp, asserting: AssertingClient): Promise<Live> {
  const offline = { scope: 'openid profile email offline_access' };
  const alice = new Agent();
  const granted = async (answering: ReturnType<typeof refresh>): Promise<Json> => {
    const { status, json } = await answering;
    expect({ status, json }).toMatchObject({ status: 200, json: { access_token: expect.any(String) } });
    return json;
  };
  const spent = await granted(redeem(issuer, await obtainCode(issuer, alice, 'web', { ...offline, nonce: 'nonce-of-alice' })));
  const tokens = await granted(refresh(issuer, (await granted(refresh(issuer, spent.refresh_token))).refresh_token));
  const spa = await granted(redeem(issuer, await obtainCode(issuer, alice, 'spa', offline)));
  const jwtOnce = await granted(redeem(issuer, await obtainCode(issuer, alice, 'jwt', offline)));
  const jwt = await granted(refresh(issuer, jwtOnce.refresh_token, 'jwt'));
  await redeem(issuer, await obtainCode(issuer, alice, 'pairwise'));

  // Consent: given completely once, and left at the consent page once.
  for (const isGiven of [true, false]) {
    const agent = new Agent();
    const { challenge } = createPkce();
    const url = authorizeUrl(issuer, {
      client_id: 'third-party',
      prompt: 'consent',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    const password = await agent.submit(await agent.follow(await agent.get(url)), { identifier: 'carol@acme.test' });
    const consent = await agent.follow(await agent.submit(password, { password: 'carol' }));
    if (isGiven) await agent.follow(await agent.submit(consent, { decision: 'allow' }));
  }
  // A logout after confirmation, a revocation, and a family that a replay ended.
  const bob = await obtainTokens(issuer, { userName: 'bob@globex.test', password: 'bob', ...offline });
  await bob.agent.follow(await bob.agent.submit(await bob.agent.get(`${issuer}/connect/endsession`), { logout: 'yes' }));
  await revoke(issuer, (await redeem(issuer, await obtainCode(issuer, new Agent(), 'web', offline))).json.access_token);
  const replayed = (await redeem(issuer, await obtainCode(issuer, new Agent(), 'web', offline))).json;
  await refresh(issuer, (await refresh(issuer, replayed.refresh_token)).json.refresh_token);
  await refresh(issuer, replayed.refresh_token);
  // Clients that authenticate for themselves.
  const ownToken = await granted(postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service')));
  await postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials', ...(await asserting.sign(issuer)) });
  const { secret } = await idp.directory.clients.create({ id: 'made-here', name: 'Made here', allowedScopes: [], metadata: {} });
  expect(secret).toEqual(expect.any(String));
  // A person with a national id, guesses at a password, and pending artifacts: a code, a pushed request, a sign-in.
  const [acme] = await idp.directory.tenants.find();
  await idp.tenant(acme?.id ?? '').persons.create({ givenName: 'Nina', familyName: 'North', nationalId: '01019012345' });
  const guessing = new Agent();
  const guess = await guessing.submit(await guessing.follow(await guessing.get(authorizeUrl(issuer, pkceless()))), {
    identifier: 'carol@acme.test',
  });
  for (let attempt = 0; attempt < 2; attempt += 1) await guessing.submit(guess, { password: 'a guess that is wrong' });
  const carol = new Agent();
  const page = await carol.submit(await carol.follow(await carol.get(authorizeUrl(issuer, pkceless()))), { identifier: 'carol@acme.test' });
  const pushed = await postForm(
    `${issuer}/connect/par`,
    { ...pkceless(), redirect_uri: redirectUri, response_type: 'code', scope: 'openid' },
    authorizationOf('no-pkce'),
  );
  const code = responseOf(await alice.get(authorizeUrl(issuer, pkceless()))).get('code') ?? '';
  expect(code).not.toBe('');
  return {
    alice,
    tokens,
    spa,
    jwt,
    ownToken,
    code,
    requestUri: pushed.json.request_uri,
    pushedAt: Date.now(),
    carol: { agent: carol, page },
  };
}
const pkceless = () => ({ client_id: 'no-pkce', state: 'st' });

/** Signs a cookie as the service does: a copy of the stores is useless even to a person who can sign cookies. */
const signed = (name: string, value: string): string => {
  const signature = createHmac('sha1', COOKIE_KEY).update(`${name}=${value}`).digest('base64url');
  return `${name}=${value}; ${name}.sig=${signature}`;
};
const cookieSafe = (text: string): boolean => /^[\w!#$%&'()*+./:<=>?@[\]^`{|}~-]*$/.test(text);

type Trial = (text: string) => Promise<boolean>;

/**
 * Returns the trials by name. Each trial returns whether the string was useful.
 * @param browser cookie value that distinguishes the browser of a sign-in from others, where it is known.
 */
function trialsOf({ issuer }: TestIdp, browser = ''): Record<string, Trial> {
  const token = (fields: Record<string, string>, headers: Record<string, string>) => postForm(`${issuer}/connect/token`, fields, headers);
  const page = async (url: string, cookie?: string) => {
    const { status, headers } = await send(url, { headers: { accept: 'text/html', ...(cookie ? { cookie } : {}) } });
    return { status, location: headers.get('location') ?? '' };
  };
  const withCookie =
    (name: string, url: (text: string) => string, isIn: (answer: { status: number; location: string }) => boolean): Trial =>
    async (text) =>
      cookieSafe(text) && isIn(await page(url(text), `${signed(name, text)}; idp.browser=${browser}`));
  const hasCode = ({ location }: { location: string }) => /[?&]code=/.test(location);
  const own = (path: string) => (text: string) => `${issuer}${path}${encodeURIComponent(text)}`;
  const parameters = (text: string, more: Record<string, string>) => new URLSearchParams({ ...more, id_token_hint: text });
  return {
    'a code': async (code) =>
      (await token({ grant_type: 'authorization_code', code, redirect_uri: redirectUri }, authorizationOf('no-pkce'))).status === 200,
    'a refresh token': async (text) => (await refresh(issuer, text)).status === 200,
    'a refresh token of a public client': async (text) => (await refresh(issuer, text, 'spa')).status === 200,
    'an access token': async (text) => /^[\w.~+/=-]+$/.test(text) && (await userinfo(issuer, text)).status === 200,
    'introspection, by a client': (text) => isActive(issuer, text),
    'introspection, by an API resource': async (text) => (await introspect(issuer, text, 'orders')).json.active !== false,
    // The answer shows nothing. The last test checks whether revocation had an effect.
    revocation: async (text) => (await revoke(issuer, text)).status !== 200,
    'revocation, by a public client': async (text) =>
      (await postForm(`${issuer}/connect/revocation`, { token: text, client_id: 'spa' })).status !== 200,
    'a request_uri': async (text) =>
      (await page(`${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'no-pkce', request_uri: text })}`)).status !== 400,
    'the end of a request_uri': async (text) => {
      const uri = `urn:ietf:params:oauth:request_uri:${text}`;
      return (await page(`${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'no-pkce', request_uri: uri })}`)).status !== 400;
    },
    'a client secret': async (text) =>
      (await token({ grant_type: 'client_credentials' }, { authorization: basic('service', text) })).status === 200,
    'the secret of an API resource': async (text) =>
      (await postForm(`${issuer}/connect/introspect`, { token: 'x', client_id: 'orders', client_secret: text })).status === 200,
    'a client assertion': async (text) =>
      (
        await token(
          {
            grant_type: 'client_credentials',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: text,
            client_id: 'asserting',
          },
          {},
        )
      ).status === 200,
    'an id_token_hint': async (text) =>
      (await page(`${issuer}/connect/endsession?${parameters(text, { post_logout_redirect_uri: postLogoutRedirectUri })}`)).status !== 400,
    'the name of a sign-in': async (text) => (await page(own('/idp/interaction/')(text))).status === 200,
    'the name of a sign-in, to resume': async (text) => hasCode(await page(own('/connect/authorize/')(text))),
    'the cookie of a session': withCookie('idp.session', () => authorizeUrl(issuer, { ...pkceless(), prompt: 'none' }), hasCode),
    'the cookie of a session, to end it': withCookie(
      'idp.session',
      () => `${issuer}/connect/endsession`,
      ({ status }) => status === 200,
    ),
    'the cookie of a sign-in': withCookie('idp.interaction', own('/idp/interaction/'), ({ status }) => status === 200),
    'the cookie that resumes': withCookie('idp.resume', own('/connect/authorize/'), hasCode),
    'the cookie that starts again': withCookie(
      'idp.restart',
      (text) => `${own('/idp/interaction/')(text)}/restart`,
      ({ status }) => status === 303,
    ),
    'the token of a form': async (text) =>
      (await postForm(`${issuer}/connect/endsession/confirm`, { xsrf: text, logout: 'yes' })).status < 400,
  };
}

/** Runs for 12 items at the same time, as many as a browser has connections. */
async function inTurns<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      for (let item = left.pop(); item !== undefined; item = left.pop()) await run(item);
    }),
  );
}

/** @param oneOf tries one string of so many, unless all must be proven, because every store has the same records. */
function replayAll(artifacts: () => DumpedStore<ArtifactStore>, directory: () => DumpedStore<DirectoryStore>, oneOf: number): void {
  let stores: [DumpedStore<ArtifactStore>, DumpedStore<DirectoryStore>];
  let service: TestIdp;
  let live: Live;
  let secrets: string[];
  let words: string[];
  let before: Set<string>;
  const dump = async () => (await Promise.all(stores.map((each) => each.dump()))).flat();

  beforeAll(async () => {
    const asserting = await createAssertingClient();
    stores = [artifacts(), directory()];
    service = await startIdp({
      artifacts: stores[0].store,
      directory: stores[1].store,
      seed: { ...testSeed, clients: [...testSeed.clients, asserting.seed, withoutPkce] },
      cookies: { keys: [COOKIE_KEY] },
      lifetimes: { code: 600, refreshTokenGrace: 0 },
      limits: { signInFailures: 100, signInFailuresPerAccount: 100 },
    });
    live = await runAllFlows(service, asserting);
    const pieces = await dump();
    before = new Set(pieces.map((piece) => JSON.stringify(piece)));
    const strings = stringsOf(pieces);
    secrets = strings.filter((text) => /^[\w+/=-]{20,200}$/.test(text));
    words = strings.filter((text) => !secrets.includes(text));
  });
  afterAll(async () => {
    await service.close();
    for (const each of stores) await each.end();
  });

  test('there is something to try: each kind of record is there', () => {
    const kinds = [
      'AccessToken',
      'RefreshToken',
      'AuthorizationCode',
      'PushedAuthorizationRequest',
      'Session',
      'Grant',
      'Interaction',
      'ClientCredentials',
    ];
    const all = [...secrets, ...words].join(' ');
    for (const kind of kinds) expect(all).toContain(kind);
    expect(secrets.length).toBeGreaterThan(150);
  });

  test('none of what people and clients hold is in a store', () => {
    const { tokens, spa, jwt, ownToken, code, requestUri, alice, carol } = live;
    const held = [tokens, spa, jwt, ownToken].flatMap((each) => [each.access_token, each.refresh_token, each.id_token]);
    const cookies = [alice, carol.agent].flatMap((agent) =>
      [...agent.cookies].flatMap(([key, { value }]) => (key.includes('session') ? value : [])),
    );
    const all = [...held, ...cookies, code, requestUri.split(':').at(-1), 'web-secret', 'orders-secret'].filter(Boolean) as string[];
    expect(all.length).toBeGreaterThan(12);
    const text = [...before].join('\n');
    expect(all.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test('each string at every endpoint and as every cookie: nothing is accepted', async () => {
    const accepted: unknown[] = [];
    const trials = Object.entries(trialsOf(service));
    const some = [...secrets, ...words.slice(0, 40)].filter((_, index) => index % oneOf === 0);
    const strings = process.env.PROVE ? [...secrets, ...words] : some;
    await inTurns(strings, async (text) => {
      for (const [name, isGood] of trials) if (await isGood(text)) accepted.push([name, text]);
    });
    expect(accepted).toEqual([]);
    if (process.env.PROVE) process.stderr.write(`${strings.length} strings, ${strings.length * trials.length} requests\n`);
  });

  test('nothing changed: all that was kept is as it was, and all that was held works', async () => {
    const after = new Set((await dump()).map((piece) => JSON.stringify(piece)));
    const { issuer } = service;
    // Exceptions: attempt counters, leases of jobs, waiting mails, and, if the run took longer, artifacts that live for a minute.
    const volatile =
      Date.now() - live.pushedAt < 50_000
        ? /Attempts|lease|"job |"events"|"writes"|"probe"|passwords\.notice/
        : /Attempts|lease|"job |"events"|"writes"|"probe"|passwords\.notice|PushedAuth|AuthorizationCode|ReplayDetection/;
    expect([...before].filter((piece) => !after.has(piece) && !volatile.test(piece))).toEqual([]);
    const { tokens, spa, jwt, ownToken, code, requestUri, pushedAt, alice, carol } = live;
    const cookieOf = (agent: Agent, name: string) => [...agent.cookies].find(([key]) => key.startsWith(`${name} `))?.[1].value ?? '';
    const [trials, uid] = [trialsOf(service, cookieOf(carol.agent, 'idp.browser')), cookieOf(carol.agent, 'idp.interaction')];
    // Valid credentials prove that the trials notice success.
    for (const [name, good] of Object.entries({
      'an access token': tokens.access_token,
      'introspection, by a client': tokens.refresh_token,
      'introspection, by an API resource': ownToken.access_token,
      'a refresh token': tokens.refresh_token,
      'a refresh token of a public client': spa.refresh_token,
      // The code and the `request_uri` live for a minute, and trying all strings may take longer.
      ...(Date.now() < pushedAt + 50_000
        ? { 'a code': code, 'a request_uri': requestUri, 'the end of a request_uri': requestUri.split(':').at(-1) as string }
        : {}),
      'a client secret': 'service-secret',
      'the secret of an API resource': 'orders-secret',
      'an id_token_hint': tokens.id_token,
      'the cookie of a session': cookieOf(alice, 'idp.session'),
      'the cookie of a session, to end it': cookieOf(alice, 'idp.session'),
      'the cookie of a sign-in': uid,
    }))
      expect([name, await trials[name]?.(good)]).toEqual([name, true]);
    expect((await userinfo(issuer, spa.access_token)).status).toBe(200);
    expect(await isActive(issuer, jwt.access_token, 'jwt')).toBe(true);
    expect((await refresh(issuer, jwt.refresh_token, 'jwt')).status).toBe(200);
    const signedIn = await carol.agent.follow(await carol.agent.submit(carol.page, { password: 'carol' }));
    expect(responseOf(signedIn).get('code')).not.toBeNull();
  });

  test('as a password: none is', async () => {
    const { accounts, credentials } = service.idp.directory;
    const candidates = await accounts.candidates('alice@acme.test');
    const own = [...secrets, ...words].filter((text) => text.length <= 128);
    const likely = own.filter((text) => /scrypt|\$/.test(text));
    for (const text of process.env.PROVE ? own : [...likely, ...own.slice(0, 10)])
      expect([text, await credentials.checkPassword(candidates, text)]).toEqual([text, []]);
    const agent = new Agent();
    const page = await agent.submit(await agent.follow(await agent.get(authorizeUrl(service.issuer, pkceless()))), {
      identifier: 'alice@acme.test',
    });
    for (const text of likely.slice(0, 5)) expect((await agent.submit(page, { password: text })).status).toBe(400);
  });
}

describe('in memory', () => replayAll(dumpedMemoryArtifacts, dumpedMemoryDirectory, 3));
withServer('REDIS_URL', (url) => describe('in Redis', () => replayAll(() => dumpedRedisArtifacts(url), dumpedMemoryDirectory, 10)));
withServer('MONGODB_URL', (url) =>
  describe('in MongoDB', () =>
    replayAll(
      () => dumpedMongoArtifacts(url),
      () => dumpedMongoDirectory(url),
      10,
    )),
);
