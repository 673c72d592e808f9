/**
 * Nearly valid requests, over every route that the service registers: none causes an internal error or ends the process, and the service
 * answers afterwards as before. `FUZZ_SEED=<number>` repeats a run. Without it, `npm test` has one seed for all runs, and `PROVE` draws
 * another each time.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, basic, createPkce, formOf, obtainTokens, postForm } from '../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../support/client/assertions.js';
import { type RawAnswer, rawRequest } from '../support/client/raw-request.js';
import { createSigningClient, type SigningClient } from '../support/client/request-objects.js';
import { authorizationOf, obtainCode } from '../support/client/steps.js';
import type { FromFuzzed } from '../support/requests/fuzzed.js';
import { createGrammar, type FuzzRequest, type Material, type Route } from '../support/requests/request-grammar.js';
import { postLogoutRedirectUri, redirectUri, testSeed } from '../support/service/seed.js';
import { LIMIT_MS } from '../support/time/in-time.js';

const REQUESTS = process.env.PROVE ? 50_000 : 2_000;
const SEED = Number(process.env.FUZZ_SEED ?? (process.env.PROVE ? randomInt(2 ** 31) : 446_068_997));
/** Number of requests with the same material. The material is renewed then, because codes are spent and sign-ins end. */
const RENEWED_AFTER = 500;
const AT_ONCE = 8;

let service: ChildProcess;
let issuer: string;
let routes: readonly Route[];
let asserting: AssertingClient;
let signing: SigningClient;
let end: string | undefined;
let complaints = '';

const said = <Member extends string>(member: Member) =>
  new Promise<Extract<FromFuzzed, Record<Member, unknown>>>((resolve, reject) => {
    service.on('message', (message: FromFuzzed) => {
      if (member in message) resolve(message as Extract<FromFuzzed, Record<Member, unknown>>);
    });
    service.once('exit', () => reject(new Error(`the service ended: ${complaints}`)));
  });

beforeAll(async () => {
  asserting = await createAssertingClient();
  signing = await createSigningClient('signing', { metadata: { request_uris: ['https://127.0.0.1/request.jwt'] } });
  const seed = { ...testSeed, clients: [...testSeed.clients, asserting.seed, signing.record, everyFlow] };
  service = fork(new URL('../support/requests/fuzzed.js', import.meta.url), [JSON.stringify(seed)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  service.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  service.once('exit', (code, signal) => {
    end = `exit ${code ?? signal}: ${complaints}`;
  });
  ({ issuer, routes } = await said('issuer'));
});
afterAll(() => void service.kill());

/** Client that is registered for every response type. */
const everyFlow = {
  id: 'all',
  name: 'All flows',
  secret: 'all-secret',
  metadata: {
    redirect_uris: [redirectUri],
    response_types: ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'token'],
  },
  allowedScopes: ['openid', 'profile', 'orders.read'],
};

const cookiesOf = ({ cookies }: Agent): string => [...cookies].map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; ');

/** Returns everything that makes a request valid at this moment. */
async function material(): Promise<Material> {
  const alice = new Agent();
  const { tokens } = await obtainTokens(issuer, { agent: alice, scope: 'openid profile email offline_access orders.read' });
  const jwt = await obtainTokens(issuer, { agent: alice, client: 'jwt', secret: 'jwt-secret', scope: 'openid orders.read' });
  const codes = await Promise.all([obtainCode(issuer, alice), obtainCode(issuer, alice, 'spa'), obtainCode(issuer, alice, 'jwt')]);
  const pkce = createPkce();
  const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid' };
  const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
  const pushed = await postForm(`${issuer}/connect/par`, { ...request, ...challenge }, authorizationOf('web'));
  const signingIn = new Agent();
  const page = await signingIn.follow(await signingIn.get(authorizeUrl(issuer, challenge)));
  const logout = await alice.get(`${issuer}/connect/endsession`);
  const assertion = await asserting.sign(issuer);
  const signed = await signing.sign(issuer, { ...challenge, cart: '1' });
  const pushable = await signing.sign(issuer, {
    ...challenge,
    code_challenge_method: 'plain',
    claims: { id_token: { acr: null } },
    max_age: 10,
  });
  const { sub, tid } = (await (
    await fetch(`${issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
  ).json()) as Record<string, string>;
  const jwts = [tokens.id_token, jwt.tokens.access_token, assertion.client_assertion as string];
  const clients = [...testSeed.clients.map(({ id }) => id), 'asserting', 'signing', 'signing', 'all', 'all', 'orders'];
  return {
    values: {
      ...Object.fromEntries(
        Object.entries({ ...assertion, ...challenge, ...formOf(page).fields, ...formOf(logout).fields }).map(([name, value]) => [
          name,
          [value],
        ]),
      ),
      client_id: clients,
      client_secret: clients.map((id) => `${id}-secret`),
      response_type: ['code', 'code', 'id_token', 'token', 'code id_token', 'id_token token', 'none'],
      response_mode: ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'form_post.jwt', 'web_message'],
      redirect_uri: [redirectUri],
      post_logout_redirect_uri: [postLogoutRedirectUri],
      scope: ['openid', 'openid profile email offline_access', 'orders.read', 'openid nonsense', 'invoices.read', 'perms'],
      code_challenge: [pkce.challenge, pkce.verifier],
      code_challenge_method: ['S256', 'S256', 'plain'],
      code_verifier: codes.map(({ verifier }) => verifier),
      code: codes.map(({ code }) => code),
      grant_type: ['authorization_code', 'refresh_token', 'client_credentials', 'urn:openid:params:grant-type:ciba', 'implicit'],
      refresh_token: [tokens.refresh_token],
      token: [tokens.access_token, tokens.refresh_token, ...jwts],
      access_token: [tokens.access_token],
      token_type_hint: ['access_token', 'refresh_token', 'x'],
      request_uri: [pushed.json.request_uri, 'https://127.0.0.1/request.jwt'],
      request: [signed, signed, pushable, ...jwts],
      id_token_hint: jwts,
      login_hint_token: jwts,
      claims: ['{"id_token":{"acr":null}}', '{', '[]', '{"userinfo":{"__proto__":{"essential":true}}}'],
      prompt: ['none', 'login', 'consent', 'select_account', 'create', 'none login'],
      max_age: ['0', '1', '3600', '-1'],
      acr_values: [`tenant:${tid}`, 'mfa', 'impersonate:x', 'idp:local', 'tenant:x tenant:y', ':::'],
      ui_locales: ['nb en', 'xx'],
      login_hint: ['alice@acme.test', sub ?? ''],
      identifier: ['bob@globex.test', 'nobody'],
      password: ['wrong', 'bob'],
      locale: ['nb', 'xx'],
      sub: [sub ?? ''],
      oid: [sub ?? ''],
      tid: [tid ?? ''],
      uid: [new URL(page.url).pathname.split('/').pop() ?? '', 'A'.repeat(21)],
      logout: ['yes', 'no'],
      state: ['s'],
      nonce: ['n'],
    },
    authorization: [
      ...clients.map((id) => basic(id, `${id}-secret`)),
      basic('web', 'wrong'),
      `Bearer ${tokens.access_token}`,
      `Bearer ${jwt.tokens.access_token}`,
      `Bearer ${tokens.id_token}`,
      'Basic !!!',
      'Basic Og==',
      'Digest x',
    ],
    cookies: [
      cookiesOf(alice),
      cookiesOf(signingIn),
      `${cookiesOf(signingIn)}; ${cookiesOf(alice)}`,
      'idp.session=x; idp.session.sig=x',
      '=',
    ],
  };
}

const written = ({ lines, body }: FuzzRequest, outcome: string): string => `${outcome}\n${lines.join('\n')}\n\n${body.slice(0, 4000)}`;

/** Whether a page can be framed, except the page that is made for frames. A redirect is no page. @see threat F9 */
const mayBeFramed = ({ lines: [line = ''] }: FuzzRequest, { status, head }: RawAnswer): boolean =>
  !(status >= 300 && status < 400) &&
  /^content-type: *text\/html/im.test(head) &&
  !(/^x-frame-options: *DENY\r?$/im.test(head) && /^content-security-policy:.*frame-ancestors 'none'\r?$/im.test(head)) &&
  !/^(GET|HEAD) [^ ?]*\/connect\/checksession/i.test(line);

/** Returns what is wrong with the answer, or undefined for a valid answer. */
async function accident(request: FuzzRequest): Promise<string | undefined> {
  const silence = new Promise<undefined>((resolve) => setTimeout(resolve, LIMIT_MS, undefined).unref());
  const answer = await Promise.race([rawRequest(issuer, request.lines, request.body).catch(String), silence]);
  if (answer === undefined) return written(request, 'no answer');
  if (typeof answer === 'string') return written(request, answer);
  if (answer.status < 200 || answer.status >= 500) return written(request, `${answer.status} ${answer.body}`);
  return mayBeFramed(request, answer) ? written(request, `a page that may be framed: ${answer.head}`) : undefined;
}

test(`${REQUESTS} requests over every route, none of which is an accident: FUZZ_SEED=${SEED}`, async () => {
  expect(routes.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/connect/authorize', '/connect/token', '/.well-known/openid-configuration', '/idp/interaction/:uid']),
  );
  const next = createGrammar(routes, SEED);
  const accidents: string[] = [];
  for (let sent = 0; sent < REQUESTS && accidents.length === 0; sent += RENEWED_AFTER) {
    const valid = await material();
    const requests = Array.from({ length: RENEWED_AFTER }, () => next(valid)).values();
    const sender = async () => {
      for (const request of requests) accidents.push(...[await accident(request)].filter((each) => each !== undefined));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
  }
  expect(accidents).toEqual([]);
  expect(end).toBeUndefined();

  // The service serves as before, and logged no problem.
  const { tokens } = await obtainTokens(issuer, { userName: 'carol@acme.test', password: 'carol', scope: 'openid offline_access' });
  expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
  service.send('logged?');
  const { logged } = await said('logged');
  expect(logged.filter((line) => !/development defaults|X-Forwarded-For|'requests arrive/.test(line))).toEqual([]);
});
