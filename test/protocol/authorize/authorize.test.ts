import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import type { IdentityProviderOptions } from 'tenant-idp';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  await service.idp.directory.clients.create({
    id: 'lenient',
    name: 'Without PKCE',
    metadata: { redirect_uris: [redirectUri, `${redirectUri}?own=kept`] },
    allowedScopes: ['openid'],
    requirePkce: false,
  });
  alice = new Agent();
  await signIn(alice, request());
});

afterEach(backToPresent);

const pkce = createPkce();
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
const request = (parameters: Record<string, string | undefined> = {}): string =>
  authorizeUrl(service.issuer, { ...challenge, state: 'of the client', ...parameters });

/** Follows the request to its response. */
const respond = async (parameters: Record<string, string | undefined> = {}, agent = alice): Promise<Answer> =>
  agent.follow(await agent.get(request(parameters)));

const responseTo = async (parameters: Record<string, string | undefined>, agent?: Agent) => membersOf(await respond(parameters, agent));

describe('4.2 code flow', () => {
  test('4.2 a client library signs a user in; the ID token verifies against the published keys', async () => {
    const party = await discover(service.issuer);
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const url = openid.buildAuthorizationUrl(party, {
      redirect_uri: redirectUri,
      scope: 'openid profile',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    const { location = '' } = await signIn(new Agent(), url.href);
    const tokens = await openid.authorizationCodeGrant(party, new URL(location), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    expect(claims).toMatchObject({ iss: service.issuer, aud: 'web', nonce, sid: expect.any(String), amr: ['pwd'], idp: 'local' });
    expect(await openid.fetchUserInfo(party, tokens.access_token, claims?.sub ?? '')).toMatchObject({ name: 'Alice Adams' });
  });

  test('4.2 the response carries code, state, scope, session_state and iss, and nothing else of ours', async () => {
    expect(await responseTo({ scope: 'openid profile' })).toEqual({
      code: expect.any(String),
      state: 'of the client',
      scope: 'openid profile',
      iss: service.issuer,
      session_state: expect.any(String),
    });
  });

  test('4.2 a failure carries error, state, session_state and iss, and no scope', async () => {
    expect(await responseTo({ prompt: 'none' }, new Agent())).toEqual({
      error: 'login_required',
      error_description: expect.any(String),
      state: 'of the client',
      iss: service.issuer,
      session_state: expect.any(String),
    });
  });

  test('4.2 without PKCE a public client is refused; a confidential one gets a code', async () => {
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    expect(await responseTo({ ...without, client_id: 'spa' })).toMatchObject({ error: 'invalid_request', state: 'of the client' });
    expect(await responseTo(without)).toMatchObject({ code: expect.any(String) });
  });

  test('RFC 6749 §4.1.2.1: a response type that the client did not register is unauthorized_client, one that nobody has unsupported', async () => {
    const fragmentOf = async (type: string) => {
      const { location = '' } = await respond({ response_type: type, nonce: 'n' });
      const { search, hash } = new URL(location);
      return Object.fromEntries(new URLSearchParams(hash.slice(1) || search));
    };
    for (const type of ['token', 'id_token', 'code id_token'])
      expect(await fragmentOf(type)).toMatchObject({ error: 'unauthorized_client', state: 'of the client', iss: service.issuer });
    expect(await fragmentOf('code none')).toMatchObject({ error: 'unsupported_response_type' });
    const pushed = { client_id: 'web', response_type: 'id_token', redirect_uri: redirectUri, scope: 'openid', nonce: 'n' };
    const { status, json } = await endpointsOf(service.issuer).par(pushed);
    expect({ status, json }).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  });

  test('design §5: plain PKCE is for clients that may', async () => {
    expect(await responseTo({ code_challenge_method: 'plain' })).toMatchObject({ error: 'invalid_request' });
    expect(await responseTo({ code_challenge_method: undefined })).toMatchObject({ error: 'invalid_request' });
  });

  test('4.2 `request` and `request_uri` of a caller are refused', async () => {
    expect(await responseTo({ request: 'eyJhbGciOiJub25lIn0.e30.' })).toMatchObject({ error: 'invalid_request_object' });
    const { status, location } = await respond({ request_uri: 'https://elsewhere.test/request' });
    expect([status, location && new URL(location).searchParams.get('error')]).toEqual([303, 'invalid_request_uri']);
  });
});

describe('4.2 scope', () => {
  test('4.2 an unknown scope, and one the client may not have, are invalid_scope', async () => {
    expect(await responseTo({ scope: 'openid profile nonsense' })).toMatchObject({ error: 'invalid_scope', state: 'of the client' });
    expect(await responseTo({ scope: 'openid invoices.read' })).toMatchObject({ error: 'invalid_scope', iss: service.issuer });
    expect(await responseTo({ scope: 'openid profile', client_id: 'lenient' })).toMatchObject({ error: 'invalid_scope' });
  });

  test('design §4: an API scope the client may have is granted as soon as there is one', async () => {
    await service.idp.directory.apiResources.create({ id: 'stock', name: 'Stock', scopes: ['stock.read'] });
    const { allowedScopes } = await service.idp.directory.clients.require('lenient');
    await service.idp.directory.clients.update('lenient', { allowedScopes: [...allowedScopes, 'stock.read'] });
    expect(await responseTo({ client_id: 'lenient', scope: 'openid stock.read' })).toMatchObject({ scope: 'openid stock.read' });
  });
});

describe('4.2 prompt', () => {
  test('4.2 none answers with a code while signed in, else with login_required', async () => {
    expect(await responseTo({ prompt: 'none' })).toMatchObject({ code: expect.any(String) });
    expect(await responseTo({ prompt: 'none' }, new Agent())).toMatchObject({ error: 'login_required' });
  });

  test('4.2 login asks a signed-in user again, and the new sign-in is the one that is reported', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    passTime(100);
    expect(isSignInPage(await respond({ prompt: 'login' }, agent))).toBe(true);
    const again = await obtainTokens(service.issuer, { agent, prompt: 'login' });
    const [before, after] = [tokens, again.tokens].map(({ id_token: token }) => Number(decodeJwt(token).auth_time));
    expect(Number(after) - Number(before)).toBeGreaterThanOrEqual(100);
  });

  test('4.2 consent shows the scopes, to users of first-party clients too', async () => {
    const page = await respond({ prompt: 'consent', scope: 'openid email' });
    expect(page).toMatchObject({ status: 200, body: expect.stringContaining('name="decision"') });
    expect(membersOf(await alice.follow(await alice.submit(page, { decision: 'allow' })))).toMatchObject({ code: expect.any(String) });
  });

  test('4.2 none goes with no other prompt; an unknown one is refused', async () => {
    expect(await responseTo({ prompt: 'none login' })).toMatchObject({ error: 'invalid_request' });
    expect(await responseTo({ prompt: 'nonsense' })).toMatchObject({ error: 'invalid_request' });
  });
});

describe('4.2 max_age', () => {
  test('4.2 asks again when the sign-in is older, and not before', async () => {
    const { agent } = await obtainTokens(service.issuer);
    passTime(50);
    expect(membersOf(await respond({ max_age: '60' }, agent))).toMatchObject({ code: expect.any(String) });
    passTime(70);
    expect(isSignInPage(await respond({ max_age: '60' }, agent))).toBe(true);
    expect(await responseTo({ max_age: '60', prompt: 'none' }, agent)).toMatchObject({ error: 'login_required' });
    const { tokens } = await obtainTokens(service.issuer, { agent, max_age: '60' });
    const { auth_time: authTime } = decodeJwt(tokens.id_token);
    expect(Date.now() / 1000 - Number(authTime)).toBeLessThan(60);
  });

  test.each(['-1', 'soon', '1.5'])('4.2 %s is no age', async (age) => {
    expect(await responseTo({ max_age: age })).toMatchObject({ error: 'invalid_request' });
  });
});

describe('4.2 login_hint and ui_locales', () => {
  test('4.2 login_hint is filled in, escaped, and can be left', async () => {
    const hint = '"><b>bob@globex.test';
    const page = await respond({ login_hint: hint }, new Agent());
    expect(formOf(page).fields.identifier).toBe(hint);
    expect(page.body).not.toContain(hint);
  });

  test('4.2 login_hint spares the identifier page', async () => {
    const agent = new Agent();
    const page = await respond({ login_hint: 'bob@globex.test' }, agent);
    expect(membersOf(await agent.follow(await agent.submit(page, { password: 'bob' })))).toMatchObject({ code: expect.any(String) });
  });

  test('4.2 ui_locales chooses the language, the first that there is', async () => {
    expect((await respond({ ui_locales: 'xx nb-NO en' }, new Agent())).body).toMatch(/<html[^>]* lang="nb"/);
    const agent = new Agent({ 'accept-language': 'de' });
    expect((await respond({ ui_locales: 'nb' }, agent)).body).toMatch(/<html[^>]* lang="nb"/);
    expect((await respond({}, agent)).body).toMatch(/<html[^>]* lang="de"/);
  });

  test('4.2 ui_locales holds on the pages that follow', async () => {
    const agent = new Agent();
    const next = await agent.submit(await respond({ ui_locales: 'nb' }, agent), { identifier: 'alice@acme.test' });
    expect(next.body).toMatch(/<html[^>]* lang="nb"/);
  });
});

describe('4.2 response_mode', () => {
  test('4.2 query is the default; fragment and form_post send the same members', async () => {
    const members = {
      code: expect.any(String),
      state: 'of the client',
      scope: 'openid',
      iss: service.issuer,
      session_state: expect.any(String),
    };
    const query = await respond();
    expect([new URL(query.location ?? '').hash, membersOf(query)]).toEqual(['', members]);
    const fragment = await respond({ response_mode: 'fragment' });
    expect([new URL(fragment.location ?? '').search, membersOf(fragment)]).toEqual(['', members]);
    const form = await respond({ response_mode: 'form_post' });
    expect([form.status, membersOf(form)]).toEqual([200, members]);
  });

  test('4.2 the form_post page may be cached by nobody and runs one script only', async () => {
    const { headers } = await respond({ response_mode: 'form_post' });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toMatch(/script-src 'sha256-[^' ]+'(;|$)/);
  });

  test('4.2 a mode that does not exist is refused', async () => {
    const { location, status, body } = await respond({ response_mode: 'nonsense' });
    expect(location ?? `${status} ${body}`).toMatch(/unsupported_response_mode|invalid_request/);
  });

  test('4.2 a redirect URI keeps its own query', async () => {
    const own = `${redirectUri}?own=kept`;
    const { location } = await respond({ client_id: 'lenient', redirect_uri: own, own: 'other' });
    expect(new URL(location ?? '').searchParams.getAll('own')).toEqual(['kept']);
  });
});

describe('4.2 redirect_uri', () => {
  test.each<[string, string | undefined]>([
    ['none', undefined],
    ['another path', `${redirectUri}/`],
    ['another case', redirectUri.replace('callback', 'Callback')],
    ['another port', redirectUri.replace(':9/', ':10/')],
    ['a query', `${redirectUri}?a=b`],
    ['a fragment', `${redirectUri}#a`],
    ['an escape', redirectUri.replace('callback', '%63allback')],
    ['an equal address', redirectUri.replace('127.0.0.1', '127.1')],
    ['another client’s', 'https://elsewhere.test/callback'],
    ['spaces around', ` ${redirectUri} `],
  ])('4.2 %s: only what is registered, to the letter, and nobody is sent elsewhere', async (_, uri) => {
    for (const more of [{}, { scope: 'nonsense' }, { prompt: 'none' }, { response_mode: 'form_post' }]) {
      const { status, location, body } = await respond({ ...more, redirect_uri: uri });
      expect([status, location, body.includes('<form')]).toEqual([400, undefined, false]);
    }
  });

  test('RFC 8252 §7.3: a native client may be at any port of this machine, and nowhere else', async () => {
    const metadata = { redirect_uris: ['http://127.0.0.1/native'], application_type: 'native', token_endpoint_auth_method: 'none' };
    await service.idp.directory.clients.create({ id: 'native', name: 'Native', metadata, allowedScopes: ['openid'] });
    const to = async (uri: string) => (await respond({ client_id: 'native', redirect_uri: uri })).location;
    expect(await to('http://127.0.0.1:61023/native')).toMatch(/^http:\/\/127\.0\.0\.1:61023\/native\?code=/);
    for (const uri of ['http://127.0.0.1:61023/other', 'http://localhost:61023/native', 'http://127.0.0.2:61023/native', 'native:/x'])
      expect(await to(uri)).toBeUndefined();
  });
});

test('4.2 acr_values: `tenant:` is a constraint on the session as well', async () => {
  const { id } = await service.idp.directory.tenants.create({ name: 'Initech' });
  expect(await responseTo({ acr_values: `tenant:${id}`, prompt: 'none' })).toMatchObject({ error: 'login_required' });
  expect(isSignInPage(await respond({ acr_values: `tenant:${id}` }))).toBe(true);
});

test.each(['impersonate:true', 'impersonate', 'impersonate:somebody', 'idp:eid'])(
  '4.2 acr_values: %s, which nothing here can meet, is refused instead of weakened',
  async (acrValues) => {
    expect(await responseTo({ acr_values: acrValues })).toMatchObject({
      error: 'unmet_authentication_requirements',
      state: expect.any(String),
    });
  },
);

const claimsParameter = { claimsParameter: { enabled: true } };
const waysToConfigure: Record<string, Pick<IdentityProviderOptions, 'features' | 'configure'>> = {
  features: { features: claimsParameter },
  configure: { configure: (given) => void Object.assign(given.features ?? {}, claimsParameter) },
};
test.each(Object.keys(waysToConfigure))(
  'OpenID Connect Core §5.5.1: with `claims` turned on by `%s`, no response is about another subject or a lesser acr than it asks for',
  async (way) => {
    const other = await startIdp(waysToConfigure[way]);
    const agent = new Agent();
    expect(membersOf(await signIn(agent, authorizeUrl(other.issuer, challenge)))).toHaveProperty('code');
    // With `configure`, the host may define levels, so only the sign-in finds that it does not reach the level.
    const unmet = way === 'configure' ? 'login_required' : 'unmet_authentication_requirements';
    for (const [asked, error] of [
      [{ sub: { value: 'somebody else' } }, 'login_required'],
      [{ acr: { essential: true, value: 'gold' } }, unmet],
    ] as const) {
      const claims = JSON.stringify({ id_token: asked });
      const answer = await agent.get(authorizeUrl(other.issuer, { ...challenge, prompt: 'none', claims }));
      expect(membersOf(answer)).toMatchObject({ error });
    }
    await other.close();
  },
);
