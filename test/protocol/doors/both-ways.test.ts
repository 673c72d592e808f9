/**
 * Generated requests to the endpoints with two ways of answering: directly and by oidc-provider. For every request, callers get the same
 * answer from both ways, and both ways write the same. The oracle is oidc-provider by itself over the same records. Each difference from
 * the oracle has a reason in one table. `PLAIN_SEED=<number>` repeats a run. Without it, `npm test` has one seed for all runs, and `PROVE`
 * draws another seed each time.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { present } from '../../../lib/present.js';
import type { Person } from '../../../lib/store/records/records.js';
import { Agent, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { responseOf } from '../../support/client/steps.js';
import { compareWithBare, differences, isSilent, seen, silentParts, toldRequest } from '../../support/requests/bare-differences.js';
import { createPlainGrammar, type Party, type PlainMaterial } from '../../support/requests/plain-grammar.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { type Outcome, startTwins, type Twins, withoutChance } from '../../support/service/twins.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

const REQUESTS = process.env.PROVE ? 100_000 : 2_000;
/** Maximum number of requests, if fewer requests have not shown each difference of the table. */
const MOST_REQUESTS = Math.max(20_000, REQUESTS);
/** Seed of the run. The seed of `npm test` shows each difference within its requests. */
const SEED = Number(process.env.PLAIN_SEED ?? (process.env.PROVE ? randomInt(2 ** 31) : 255_534_383));

const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] };
const identity = ['openid', 'profile', 'email', 'org', 'roles', 'perms'];
const more = [
  { id: 'es256', metadata: { ...code, id_token_signed_response_alg: 'ES256' }, allowedScopes: identity, idTokenClaims: 'scopes' },
  { id: 'posts', metadata: { ...code, token_endpoint_auth_method: 'client_secret_post' }, allowedScopes: [...identity, 'orders.read'] },
  {
    id: 'brief',
    metadata: { ...code, grant_types: [...code.grant_types, 'client_credentials'] },
    allowedScopes: ['openid', 'orders.read'],
    lifetimes: { accessToken: 120, idToken: 60, refreshTokenIdle: 100, refreshTokenAbsolute: 200, refreshTokenGrace: 0 },
  },
  { id: 'sees-all', metadata: code, allowedScopes: identity, introspects: 'all' },
  { id: 'narrow', metadata: code, allowedScopes: [...identity, 'orders.read'] },
  {
    id: 'escaped',
    metadata: { ...code, grant_types: [...code.grant_types, 'client_credentials'] },
    allowedScopes: ['openid', 'orders.read'],
  },
  { id: 'off', metadata: code, allowedScopes: identity },
  { id: 'pairwise-too', metadata: { ...code, subject_type: 'pairwise' }, allowedScopes: identity },
  { id: 'origins', metadata: code, allowedScopes: identity, corsOrigins: ['https://elsewhere.example'] },
].map((client) => ({ name: client.id, secret: secretOf(client.id) as string, ...client }));

let twins: Twins;
let material: PlainMaterial;
let asserting: AssertingClient;

function secretOf(id: string): string | undefined {
  if (id === 'spa' || id === 'asserting') return undefined;
  if (id === 'escaped') return 'needs %20 +=&:/ escapes';
  return id === 'third-party' ? 'third-secret' : `${id}-secret`;
}

beforeAll(async () => {
  passTime(0);
  asserting = await createAssertingClient();
  const asserts = {
    ...asserting.seed,
    metadata: { ...asserting.seed.metadata, grant_types: [...code.grant_types, 'client_credentials'] },
    allowedScopes: [...identity, 'orders.read'],
  };
  const registered = [...testSeed.clients, ...more, asserts];
  const clientIds = [...registered, ...testSeed.apiResources].map(({ id }) => id);
  const secrets = new Map(clientIds.flatMap((id) => (secretOf(id) === undefined ? [] : [[id, secretOf(id) as string]])));
  twins = await startTwins({ ...testSeed, clients: registered } as unknown as typeof testSeed, secrets);
  const { issuer, idp } = twins;
  const agents = new Map<string, Agent>();
  const post = async (path: string, fields: Record<string, string>, client: string) => {
    const secret = secretOf(client);
    if (client === 'asserting') return postForm(issuer + path, { ...fields, ...(await asserting.sign(issuer)) });
    return secret === undefined
      ? postForm(issuer + path, { ...fields, client_id: client })
      : postForm(issuer + path, fields, { authorization: basic(client, secret) });
  };
  const codeFor = async (client: string, scopes: readonly string[], user: string): Promise<{ code: string; verifier: string }> => {
    const agent = agents.get(user) ?? new Agent();
    agents.set(user, agent);
    const { verifier, challenge } = createPkce();
    const scope = [...scopes, 'offline_access'].join(' ');
    const url = authorizeUrl(issuer, {
      client_id: client,
      scope,
      nonce: scopes.includes('openid') ? 'n' : undefined,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    const page = await agent.follow(await agent.get(url));
    const isConsent = (each: typeof page) => !each.location && each.body.includes('name="decision"');
    let answer = page.location || isConsent(page) ? page : await signIn(agent, url, user, user.slice(0, user.indexOf('@')));
    if (isConsent(answer)) answer = await agent.follow(await agent.submit(answer, { decision: 'allow' }));
    const value = responseOf(answer).get('code');
    if (!value) throw new Error(`no code for ${client}: ${answer.location ?? answer.body.slice(-600)}`);
    return { code: value, verifier };
  };
  const redeem = async (client: string, scopes: readonly string[], user = 'alice@acme.test'): Promise<Json> => {
    const inHand = await codeFor(client, scopes, user);
    const fields = { grant_type: 'authorization_code', code: inHand.code, code_verifier: inHand.verifier, redirect_uri: redirectUri };
    const { json } = await post('/connect/token', fields, client);
    if (!json.access_token) throw new Error(JSON.stringify(json));
    return { ...json, spent: inHand };
  };
  const refresh = async (client: string, token: string): Promise<Json> =>
    (await post('/connect/token', { grant_type: 'refresh_token', refresh_token: token }, client)).json;

  const offline = new Set(['web', 'spa', 'jwt', 'third-party', 'asserting', ...more.map(({ id }) => id)]);
  const clients = registered.filter(({ metadata }) => 'redirect_uris' in metadata && metadata.redirect_uris.length > 0);
  const scopesOf = (client: { allowedScopes: readonly string[] }) =>
    client.allowedScopes.filter((scope) => scope !== 'address' && scope !== 'phone');
  const held = new Map<string, { codes: Party['codes'][number][]; refreshTokens: string[]; tokens: string[] }>();
  const holdings = (id: string) => {
    const holding = held.get(id) ?? { codes: [], refreshTokens: [], tokens: [] };
    held.set(id, holding);
    return holding;
  };
  const keep = (id: string, { access_token, refresh_token, id_token, spent }: Json): void => {
    const { codes, refreshTokens, tokens } = holdings(id);
    if (spent) codes.push(spent);
    if (refresh_token) refreshTokens.push(refresh_token);
    tokens.push(...[access_token, refresh_token, id_token].filter(Boolean));
  };

  // Creates tokens that have expired, and families in each of their states.
  for (const client of clients) keep(client.id, await redeem(client.id, scopesOf(client)));
  passTime(3700);
  for (const client of clients.filter(({ id }) => offline.has(id))) {
    const first = await redeem(client.id, scopesOf(client));
    keep(client.id, first);
    if (first.refresh_token) keep(client.id, await refresh(client.id, first.refresh_token));
  }
  passTime(15);
  for (const client of clients) {
    const scopes = scopesOf(client);
    holdings(client.id).codes.push(
      await codeFor(client.id, scopes, 'alice@acme.test'),
      await codeFor(client.id, ['openid'], 'alice@acme.test'),
    );
    if (client.id === 'web') holdings('web').codes.push(await codeFor('web', ['orders.read'], 'alice@acme.test'));
    const [first, revoked] = [await redeem(client.id, scopes), await redeem(client.id, scopes)];
    keep(client.id, first);
    keep(client.id, revoked);
    await post('/connect/revocation', { token: revoked.access_token }, client.id);
    if (!first.refresh_token) continue;
    const second = await refresh(client.id, first.refresh_token);
    keep(client.id, second);
    const third = await refresh(client.id, (await refresh(client.id, (await redeem(client.id, scopes)).refresh_token)).refresh_token);
    keep(client.id, third);
  }
  // The directory stops users, while the artifacts still let these users continue.
  const persons = twins.directory.collection<Person>('persons');
  const bob = await redeem('web', ['openid', 'profile'], 'bob@globex.test');
  const carol = await redeem('narrow', ['openid', 'profile'], 'carol@acme.test');
  keep('web', bob);
  keep('narrow', carol);
  holdings('web').codes.push(await codeFor('web', ['openid'], 'bob@globex.test'));
  for (const email of ['bob@globex.test', 'carol@acme.test']) {
    const [row] = (await persons.find({})).filter(({ user }) => user?.userName === email);
    if (!row?.user) throw new Error(`no ${email}`);
    const user = email.startsWith('bob')
      ? { ...row.user, status: 'disabled' as const }
      : { ...row.user, notBefore: new Date(Date.now() + 1000) };
    await persons.put({ ...row, user } as Person);
  }
  for (const id of ['service', 'brief', 'asserting'])
    keep(id, (await post('/connect/token', { grant_type: 'client_credentials' }, id)).json);
  await idp.directory.clients.update('off', { status: 'disabled' });
  await idp.directory.clients.update('narrow', {
    allowedScopes: ['openid'],
    allowedTenants: [(await idp.directory.tenants.find({ limit: 10 })).find(({ name }) => name === 'Globex')!.id],
  });
  await sleep(2500);

  const party = await openid.discovery(new URL(issuer), 'web', undefined, openid.ClientSecretBasic('web-secret'), {
    execute: [openid.allowInsecureRequests],
  });
  const proofs: string[] = [];
  const proof = openid.getDPoPHandle(party, await openid.randomDPoPKeyPair('ES256', { extractable: true }));
  party[openid.customFetch] = async (url, options) => {
    const headers = new Headers(options.headers as never);
    if (headers.has('dpop')) proofs.push(headers.get('dpop') as string);
    return fetch(url, options as never);
  };
  for (let count = 0; count < 3; count += 1) await openid.refreshTokenGrant(party, 'none', undefined, { DPoP: proof }).catch(() => {});

  const api = [...registered, ...testSeed.apiResources].map((caller) => caller.id);
  const sign = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => asserting.sign(issuer, claims, header);
  const now = Math.floor(Date.now() / 1000);
  const rightAssertions = await Promise.all([sign(), sign({ nbf: now - 60 }), sign({ iat: undefined }), sign({}, { typ: 'JWT' })]);
  const faultyAssertions = await Promise.all([
    ...[{ aud: [issuer] }, { aud: `${issuer}/connect/token` }, { aud: 'https://elsewhere.example' }, { aud: undefined }].map((each) =>
      sign(each),
    ),
    ...[{ iss: 'web' }, { sub: 'web' }, { sub: 7 }, { sub: '' }, { iss: undefined }, { jti: undefined }, { jti: 7 }].map((each) =>
      sign(each),
    ),
    ...[{ exp: now - 60 }, { exp: now + 900 }, { exp: undefined }, { exp: `${now}` }, { iat: now + 90 }, { nbf: now + 90 }].map((each) =>
      sign(each),
    ),
    ...[{ typ: 'at+jwt' }, { kid: 'other' }, { crit: ['b64'], b64: true }].map((each) => sign({}, each)),
    (await createAssertingClient()).sign(issuer),
  ]);
  material = {
    redirectUri,
    proofs,
    assertions: [await asserting.sign(issuer), await asserting.sign(`${issuer}/connect/token`)],
    origins: [new URL(redirectUri).origin, new URL(redirectUri).origin, 'https://elsewhere.example'],
    paths: {
      token: '/connect/token',
      introspect: '/connect/introspect',
      revoke: '/connect/revocation',
      userinfo: '/connect/userinfo',
      par: '/connect/par',
    },
    parties: [...api, 'nobody'].map((id) => {
      const client = registered.find((each) => each.id === id);
      const secret = secretOf(id);
      const holding = holdings(id);
      const assertions = id === 'asserting' ? { right: rightAssertions, faulty: faultyAssertions } : undefined;
      return { id, ...present({ secret, assertions }), scopes: client?.allowedScopes ?? ['orders.read'], ...holding };
    }),
  };
});
afterAll(async () => {
  backToPresent();
  await twins?.close();
});

/** Returns the parts in which two outcomes differ, with both values. */
const differencesOf = <T extends object>(one: T, two: T): readonly unknown[] =>
  (Object.keys(one) as (keyof T)[])
    .filter((part) => !isDeepStrictEqual(one[part], two[part]))
    .map((part) => ({ [part]: [one[part], two[part]] }));

test(`${REQUESTS} requests are answered the same by both ways, and by oidc-provider itself but for what was decided`, async () => {
  const next = createPlainGrammar(SEED, material);
  const random = createPlainGrammar(SEED + 1, material);
  let succeeded = 0;
  const found: unknown[] = [];
  const unused = new Set(differences);
  const isToGoOn = (count: number): boolean => count < REQUESTS || (unused.size > 0 && count < MOST_REQUESTS);
  for (let count = 0; isToGoOn(count) && found.length < 10; count += 1) {
    const plain = next();
    // Every ninth request is sent as a browser sends it, so errors are pages.
    const request = count % 9 === 4 ? { ...plain, headers: { ...plain.headers, accept: 'text/html' } } : plain;
    const hits = random().body.length % 23 === 0 ? 1000 : 1;
    const form = new URLSearchParams(request.body);
    const { direct, other, bare } = await twins.compare(request, hits);
    const { mounted, through } = await twins.doors(request, hits);
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const isChance = (id: string) => !twins.known.has(id) && !(isRefresh && /^RefreshToken\{|^[\w-]{11}r[\w-]{32}$/.test(id));
    // Other lines are written once for many requests.
    const seenOf = ({ lines, ...outcome }: Outcome) => ({
      ...withoutChance(outcome, isChance),
      lines: lines.filter((line) => String((line as readonly unknown[]).at(-1)).startsWith('request ')),
    });
    if (direct.status < 400) succeeded += 1;
    const differing = [
      ...differencesOf(seenOf(direct), seenOf(mounted)),
      ...differencesOf(seenOf(direct), seenOf(through)),
      ...differencesOf({ ...seenOf(direct), lines: [] }, { ...seenOf(other), lines: [] }),
    ];
    if (count % 9 === 0) {
      const failing = await twins.doors(request, 1, count % 2 === 0 ? 'read' : 'commit');
      for (const each of [failing.mounted, failing.through]) differing.push(...differencesOf(seenOf(failing.direct), seenOf(each)));
    }
    let told = { request, direct, bare };
    if (isSilent(request, seen(direct)) || isSilent(request, seen(bare))) {
      const again = toldRequest(request);
      told = { request: again, ...(await twins.compare(again, hits)) };
      differing.push(...differencesOf(silentParts(seen(direct)), silentParts(seen(told.direct))));
    }
    const { rest, rows } = compareWithBare(seen(told.direct), seen(told.bare), { ...told.bare, request: told.request, form });
    for (const row of rows) unused.delete(row);
    if (differing.length + rest.length > 0) found.push({ seed: SEED, count, request, hits, differing, rest });
  }
  if (found.length > 0) process.stderr.write(`${JSON.stringify(found, null, 1)}\n`);
  expect(found).toEqual([]);
  expect([...unused].map(({ what }) => what)).toEqual([]);
  // Otherwise the test compares only refusals.
  expect(succeeded).toBeGreaterThan(REQUESTS / 5);
  expect(twins.logged).toEqual([]);
});
