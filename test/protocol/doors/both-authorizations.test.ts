/**
 * Generated authorization requests to the endpoint with its two ways of answering. For every request, browsers get the same answer from
 * both ways, and both ways write, count and log the same. `PLAIN_SEED=<number>` repeats a run, and `PLAIN_REQUESTS=<number>` changes its
 * length.
 */
import { createHmac, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Extension } from 'tenant-idp';
import { keyOf } from '../../../lib/oidc/artifacts/ids.js';
import type { Person } from '../../../lib/store/records/records.js';
import { cookieHeader } from '../../../lib/testing/cookies.js';
import { Agent, authorizeUrl, basic, createPkce, postForm, signIn } from '../../support/client/agent.js';
import { responseOf } from '../../support/client/steps.js';
import { type AuthorizationMaterial, createAuthorizationGrammar } from '../../support/requests/authorization-grammar.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { type Outcome, startTwins, type Twins, withoutChance } from '../../support/service/twins.js';
import { tellChange } from '../../support/stores/told-changes.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

const REQUESTS = Number(process.env.PLAIN_REQUESTS ?? (process.env.PROVE ? 100_000 : 600));
const SEED = Number(process.env.PLAIN_SEED ?? (process.env.PROVE ? randomInt(2 ** 31) : 610_423_915));

const NEWEST = 'the newest of the keys that sign cookies';
const OLDER = 'an older one of the keys that sign cookies';

const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] };
const identity = ['openid', 'profile', 'email'];
const withQuery = `${redirectUri}?a=b&utm_source=own`;
const more = [
  { id: 'pushes', metadata: { ...code, require_pushed_authorization_requests: true } },
  { id: 'signs', metadata: { ...code, require_signed_request_object: true, jwks: { keys: [] } } },
  { id: 'aged', metadata: { ...code, default_max_age: 1000 } },
  { id: 'timed', metadata: { ...code, require_auth_time: true } },
  { id: 'levelled', metadata: { ...code, default_acr_values: ['mfa'] } },
  { id: 'query', metadata: { ...code, redirect_uris: [withQuery, redirectUri] } },
  {
    id: 'implicit',
    metadata: { ...code, response_types: ['code', 'id_token', 'code id_token'], grant_types: [...code.grant_types, 'implicit'] },
  },
  { id: 'native', metadata: { ...code, application_type: 'native', token_endpoint_auth_method: 'none' }, secret: undefined },
  { id: 'plain', metadata: code, allowPlainPkce: true },
  { id: 'required', metadata: code, requirePkce: true },
  { id: 'free', metadata: code, requirePkce: false },
  { id: 'globex', metadata: code, allowedTenants: ['Globex'] },
  { id: 'narrowed', metadata: code },
  { id: 'off', metadata: code },
  { id: 'bound', metadata: { ...code, dpop_bound_access_tokens: true } },
  {
    id: 'app',
    metadata: { ...code, redirect_uris: ['com.example.app:/cb'], application_type: 'native', token_endpoint_auth_method: 'none' },
    secret: undefined,
  },
  { id: 'brief', metadata: code, lifetimes: { refreshTokenAbsolute: 50 } },
].map((client) => ({ name: client.id, secret: `${client.id}-secret`, allowedScopes: [...identity, 'orders.read'], ...client }));

const person = (name: string) => ({
  givenName: name,
  familyName: 'X',
  email: `${name}@more.test`,
  user: { userName: `${name}@more.test`, devPassword: name },
});
const seed = {
  ...testSeed,
  tenants: [
    ...testSeed.tenants,
    { name: 'Initech', persons: ['dave', 'erin'].map(person) },
    { name: 'Umbrella', persons: ['frank'].map(person) },
    { name: 'Hooli', persons: ['grace'].map(person) },
  ],
  clients: [...testSeed.clients, ...more],
} as unknown as typeof testSeed;

const answeredHere = { authorization: 0, pushed_authorization_request: 0 };
const watched = (endpoint: keyof typeof answeredHere) => [
  endpoint,
  () => async (ctx: object, next: () => Promise<unknown>) => {
    await next();
    // The router of oidc-provider defines `ctx.oidc` by a getter.
    if ('value' in (Object.getOwnPropertyDescriptor(ctx, 'oidc') ?? {})) answeredHere[endpoint] += 1;
  },
];
/** Sees which way answers, and decides the requirement by `state`. A log line for each check shows a requirement that is checked twice. */
const looking: Extension = {
  name: 'looking',
  requirements: ({ service: { logger } }) => [
    {
      name: 'looking',
      error: 'interaction_required',
      silent: 'pass',
      check(_account, _signedIn, { client, parameters: { state } }) {
        logger.info({ client: client.id, state }, 'a requirement is asked');
        if (state === 'broken') throw new Error('the requirement is broken');
        return state === 'open' || state === 'refused' ? state : 'met';
      },
      show: (ctx) => void ctx.throw(418),
    },
  ],
  around: Object.fromEntries((Object.keys(answeredHere) as (keyof typeof answeredHere)[]).map(watched)),
};

let twins: Twins;
let material: AuthorizationMaterial;
const words = new Set<string>();

const { challenge } = createPkce();
const clients = [...testSeed.clients, ...more].filter(({ metadata }) => 'redirect_uris' in metadata);
const uris: Readonly<Record<string, string>> = { query: withQuery, app: 'com.example.app:/cb' };
const uriOf = (id: string) => uris[id] ?? redirectUri;
const scopesOf = ({ allowedScopes }: { allowedScopes: readonly string[] }) =>
  allowedScopes.filter((scope) => [...identity, 'orders.read'].includes(scope));

const urlFor = (id: string, scopes: readonly string[], others: Record<string, string> = {}) =>
  authorizeUrl(twins.issuer, {
    client_id: id,
    redirect_uri: uriOf(id),
    scope: scopes.join(' '),
    nonce: 'n',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...others,
  });

/** Returns a browser in which the user signed in to the clients. */
async function browserOf(userName: string, of: readonly { id: string; allowedScopes: readonly string[] }[] = clients): Promise<Agent> {
  const agent = new Agent();
  for (const client of of) {
    const url = urlFor(client.id, scopesOf(client));
    const page = await agent.follow(await agent.get(url));
    const isAsked = page.body.includes('name="identifier"');
    const answer = isAsked ? await signIn(agent, url, userName, userName.slice(0, userName.indexOf('@'))) : page;
    if (answer.body.includes('name="decision"')) await agent.follow(await agent.submit(answer, { decision: 'allow' }));
  }
  return agent;
}

const cookieOf = (agent: Agent): string => cookieHeader(agent.cookies, `${twins.issuer}/connect/authorize`) ?? '';
const valueIn = (cookie: string, name: string): string => new RegExp(`(?:^|; )${name}=([^;]*)`).exec(cookie)?.[1] ?? '';
const sessionIn = (cookie: string): string => valueIn(cookie, 'idp.session');
const signedBy = (key: string, cookie: string): string =>
  cookie.replace(
    /idp\.session\.sig=[^;]*/,
    `idp.session.sig=${createHmac('sha1', key)
      .update(`idp.session=${sessionIn(cookie)}`)
      .digest('base64url')}`,
  );

/** Changes that give the records of sessions other members. */
const edits: Readonly<Record<string, (record: Record<string, unknown>) => void>> = {
  impersonating: (record) => Object.assign(record, { act: { oid: 'x', sub: 'x', tid: 'x' }, impersonation: 'x' }),
  'set aside': (record) => Object.assign(record, { actsAs: 'x' }),
  'with another aside': (record) => Object.assign(record, { aside: { uid: 'x'.repeat(22), browser: 'x' } }),
  over: (record) => Object.assign(record, { endsAt: 1 }),
  'ending later': (record) => Object.assign(record, { endsAt: Math.floor(Date.now() / 1000) + 5000 }),
  held: (record) => Object.assign(record, { heldTo: 'x' }),
  'not offline': (record) => Object.assign(record, { offline: false }),
  'by a provider': (record) => Object.assign(record, { idp: 'x' }),
  'by a method': (record) => Object.assign(record, { method: 'x' }),
  'by a means': (record) => Object.assign(record, { used: 'x' }),
  'of another owner': (record) => Object.assign(record, { owner: 'x' }),
  transient: (record) => Object.assign(record, { transient: true }),
  old: (record) => Object.assign(record, { loginTs: Number(record.loginTs) - 5000 }),
  ancient: (record) => Object.assign(record, { loginTs: 1 }),
  'without proof': (record) => Object.assign(record, { amr: [] }),
  'with a factor': (record) => Object.assign(record, { amr: ['pwd', 'mfa'] }),
  'of nobody': (record) => Object.assign(record, { accountId: 'x' }),
  'signed out': (record) => {
    for (const name of ['accountId', 'loginTs', 'authorizations', 'grants']) delete record[name];
  },
  damaged: (record) => Object.assign(record, { loginTs: 'x' }),
  'without authorizations': (record) => {
    delete record.authorizations;
  },
};

async function pushed(): Promise<AuthorizationMaterial['pushed']> {
  const found: { clientId: string; uri: string }[] = [];
  for (const { id } of clients.filter((each) => 'secret' in each && each.secret !== undefined))
    for (const others of [
      {},
      { prompt: 'none' },
      { scope: 'openid offline_access', ui_locales: 'nb' },
      { response_mode: 'form_post' },
      { max_age: '1' },
      { utm_source: 'letter' },
    ]) {
      const { searchParams } = new URL(urlFor(id, ['openid', 'profile'], others as Record<string, string>));
      const { secret } = clients.find((each) => each.id === id) as { secret: string };
      const { json } = await postForm(`${twins.issuer}/connect/par`, Object.fromEntries(searchParams), {
        authorization: basic(id, secret),
      });
      if (json.request_uri) found.push({ clientId: id, uri: json.request_uri });
    }
  return found;
}

/** Returns browsers with sign-ins in every state, and references that have expired. */
async function madeBrowsers(): Promise<{ browsers: [string, string][]; alices: Agent; expired: AuthorizationMaterial['pushed'] }> {
  const alices = await browserOf('alice@acme.test');
  const [web, jwt] = clients as [(typeof clients)[number], (typeof clients)[number]];
  const named = async (what: string, agent: Promise<Agent>): Promise<[string, string]> => [what, cookieOf(await agent)];
  const old = await named('idle', browserOf('alice@acme.test'));
  const expired = (await pushed()).slice(0, 3);
  passTime(3000);
  const live = cookieOf(await browserOf('alice@acme.test'));
  const browsers: [string, string][] = [
    ['live', live],
    ['older', cookieOf(alices)],
    old,
    await named('bob', browserOf('bob@globex.test')),
    await named('carol', browserOf('carol@acme.test', [web])),
    await named('disabled', browserOf('dave@more.test')),
    await named('cut off', browserOf('erin@more.test')),
    await named('suspended', browserOf('frank@more.test')),
    await named('without a factor', browserOf('grace@more.test')),
    ['none', ''],
    ['forged', signedBy('no key', live)],
    ['by an older key', signedBy(OLDER, live)],
    ['unsigned', live.replace(/; idp\.session\.sig=[^;]*/, '')],
    ['of another session', live.replace(sessionIn(live), sessionIn(cookieOf(alices)))],
    ['another secret', signedBy(NEWEST, live.replace(sessionIn(live), `${sessionIn(live).slice(0, -1)}A`))],
    ['malformed', signedBy(NEWEST, live.replace(sessionIn(live), 'x'))],
    ['twice', `${live}; ${live}`],
    ['without state', live.replace(/idp\.browser-state=[^;]*/, 'a=b')],
    ['of another state', live.replace(/idp\.browser-state=[^;]*/, 'idp.browser-state=x')],
    ['without a browser', live.replace(/idp\.browser=[^;]*/, 'a=b')],
    ['impersonating hint', `${live}; idp.impersonation=1`],
  ];
  const out = await browserOf('alice@acme.test', [web]);
  const before = cookieOf(out);
  await out.submit(await out.get(`${twins.issuer}/connect/endsession`), { logout: 'yes' });
  browsers.push(['signed out before', before], ['signed out', cookieOf(out)]);
  for (const [what, change] of Object.entries(edits)) {
    const cookie = cookieOf(
      await browserOf('alice@acme.test', [web, jwt, ...clients.filter(({ id }) => id === 'timed' || id === 'pairwise')]),
    );
    const edited = keyOf('Session', sessionIn(cookie).slice(0, 22));
    await twins.edit('Session', (record, key) => {
      if (key === edited) change(record);
    });
    browsers.push([what, cookie]);
  }
  return { browsers, alices, expired };
}

async function useUp(used: AuthorizationMaterial['pushed'][number], alices: Agent): Promise<void> {
  const browser = new Agent();
  for (const cookie of alices.cookies) browser.cookies.set(...cookie);
  const answer = await browser.get(
    authorizeUrl(twins.issuer, {
      client_id: used.clientId,
      request_uri: used.uri,
      redirect_uri: undefined,
      response_type: undefined,
      scope: undefined,
    }),
  );
  expect(responseOf(answer).get('code')).toBeTruthy();
}

/** Stops accounts and clients in the directory, while sign-ins and grants still allow them. */
async function changeDirectory(): Promise<void> {
  const { directory } = twins.idp;
  const persons = twins.directory.collection<Person>('persons');
  for (const row of await persons.find({})) {
    const { user } = row;
    if (user?.userName === 'dave@more.test') await persons.put({ ...row, user: { ...user, status: 'disabled' } } as Person);
    if (user?.userName === 'erin@more.test')
      await persons.put({ ...row, user: { ...user, notBefore: new Date(Date.now() + 1000) } } as Person);
  }
  await tellChange(twins.directory, 'persons');
  const tenants = await directory.tenants.find({ limit: 10 });
  const idOf = (wanted: string) => tenants.find(({ name }) => name === wanted)?.id ?? '';
  await directory.tenants.disable(idOf('Umbrella'));
  await directory.tenants.update(idOf('Hooli'), { signIn: { requireMfa: true } });
  await directory.clients.update('globex', { allowedTenants: [idOf('Globex')] });
  await directory.clients.update('narrowed', { allowedScopes: ['openid'] });
  await directory.clients.update('off', { status: 'disabled' });
  await sleep(2500);
}

beforeAll(async () => {
  passTime(0);
  twins = await startTwins(seed, new Map(), {
    cookies: { keys: [NEWEST, OLDER] },
    extensions: [looking],
  });
  const { browsers, alices, expired } = await madeBrowsers();
  const references = await pushed();
  await useUp(references[0] as (typeof references)[number], alices);
  await changeDirectory();
  material = {
    clients: clients.map((client) => ({
      id: client.id,
      scopes: scopesOf(client),
      redirectUri: uriOf(client.id),
      secret: (client as { secret?: string }).secret,
    })),
    browsers,
    pushed: [...references, ...expired],
    jwts: ['x', 'a.b.c'],
    challenge,
  };
  for (const [, cookie] of browsers) for (const word of cookie.match(/[\w-]{22,}/g) ?? []) words.add(word);
  for (const { uri } of material.pushed) words.add(uri.slice(-44));
  words.add(challenge);
});
afterAll(async () => {
  backToPresent();
  await twins?.close();
});

/** Masks the random parts of an outcome: words that are new, and sealed texts. */
function comparable(outcome: Outcome): unknown {
  const masked = (text: string): string =>
    text
      .replace(/v1\.[\w-]+\.(?:[\w.-]|<\w+>)+/g, '<sealed>')
      .replace(/[\w-]{22,}/g, (word) => (words.has(word) || twins.known.has(word) ? word : `<${word.length}>`));
  const { headers, body, writes, status } = withoutChance(outcome, (id) => !twins.known.has(id));
  const { 'set-cookie': cookies = [], location, ...others } = outcome.headers;
  return {
    status,
    headers: Array.isArray(headers) ? headers : others,
    location: location === undefined ? undefined : masked(location),
    cookies: cookies.map((cookie) => (cookie.startsWith('idp.browser-state') ? cookie : masked(cookie))),
    body: masked(body),
    writes: JSON.parse(masked(JSON.stringify(writes))),
    lines: JSON.parse(masked(JSON.stringify(outcome.lines))),
  };
}

test(`${REQUESTS} authorization requests are answered the same by both ways`, async () => {
  const next = createAuthorizationGrammar(SEED, material);
  // The twin that made the sign-ins has set their cookies, and the other has not.
  for (const [, cookie] of material.browsers) {
    const request = { method: 'GET', path: urlFor('web', ['openid']).slice(twins.issuer.length), headers: { cookie }, body: '' };
    await twins.both(request);
  }
  const found: unknown[] = [];
  Object.assign(answeredHere, { authorization: 0, pushed_authorization_request: 0 });
  for (let count = 0; count < REQUESTS && found.length < 5; count += 1) {
    const { request, fault, browser } = next();
    const { direct, other } = await twins.both(request, fault);
    const [one, two] = [comparable(direct), comparable(other)] as [Record<string, unknown>, Record<string, unknown>];
    const parts = Object.keys(one).filter((part) => !isDeepStrictEqual(one[part], two[part]));
    if (parts.length > 0)
      found.push({
        seed: SEED,
        count,
        browser,
        fault,
        request,
        ...Object.fromEntries(parts.map((part) => [part, [one[part], two[part]]])),
      });
  }
  if (found.length > 0) process.stderr.write(`${JSON.stringify(found, null, 1)}\n`);
  expect(found).toEqual([]);
  // Otherwise the test compares one way with itself.
  expect(answeredHere.authorization).toBeGreaterThan(REQUESTS / 10);
  expect(answeredHere.pushed_authorization_request).toBeGreaterThan(REQUESTS / 50);
  expect(answeredHere.authorization).toBeLessThan(REQUESTS / 2);
});
