/**
 * Requests that no client sends: each gets the answer of the standards, none causes an internal error, and none gets unauthorized access.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type Agent, type Answer, basic, createPkce, type Json, obtainTokens, postForm } from '../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../support/client/assertions.js';
import { membersOf } from '../support/client/authorization-response.js';
import { type Endpoints, endpointsOf } from '../support/client/endpoints.js';
import { createSigningClient, type SigningClient } from '../support/client/request-objects.js';
import { formTypes } from '../support/requests/both-doors.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

let endpoints: Endpoints;
let alice: Agent;
let asserting: AssertingClient;
let signing: SigningClient;
const service = useIdp(async () => {
  asserting = await createAssertingClient();
  signing = await createSigningClient('signing');
  return { seed: { ...testSeed, clients: [...testSeed.clients, asserting.seed] } };
});
beforeAll(async () => {
  await service.idp.directory.clients.create(signing.record);
  endpoints = endpointsOf(service.issuer);
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const pkce = createPkce();
const usual = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  code_challenge: pkce.challenge,
  code_challenge_method: 'S256',
};

/** Returns the error for the client or the user, `code`, or `sign-in`. */
function outcomeOf(answer: Answer): string {
  if (answer.location === undefined) return /<code>(\w+)<\/code>/.exec(answer.body)?.[1] ?? 'sign-in';
  const { error, code } = membersOf(answer);
  return error ?? (code ? 'code' : 'nothing');
}

describe('the authorization endpoint', () => {
  const outcome = async (query: string) => outcomeOf(await alice.follow(await alice.get(`${service.issuer}/connect/authorize?${query}`)));
  const more = (parameters: Record<string, string>, ...without: string[]) => {
    const query = new URLSearchParams({ ...usual, ...parameters });
    for (const name of without) query.delete(name);
    return String(query);
  };

  test.each<[string, string, string]>([
    ['no response_type', more({}, 'response_type'), 'invalid_request'],
    ['no client_id', more({}, 'client_id'), 'invalid_request'],
    ['no redirect_uri', more({}, 'redirect_uri'), 'invalid_request'],
    ['no scope', more({}, 'scope'), 'invalid_request'],
    ['two response types in one', more({ response_type: 'code  id_token', nonce: 'n' }), 'unsupported_response_type'],
    ['a scope that is a space', more({ scope: ' ' }), 'invalid_scope'],
    ['two spaces between scopes', more({ scope: 'openid  profile' }), 'invalid_scope'],
    ['a scope with NUL', more({ scope: 'openid\0' }), 'invalid_scope'],
    ['a scope twice', more({ scope: 'openid openid' }), 'code'],
    ['client_id twice', `${more({})}&client_id=spa`, 'invalid_request'],
    ['redirect_uri twice, the same', `${more({})}&redirect_uri=${encodeURIComponent(redirectUri)}`, 'invalid_request'],
    ['acr_values twice', `${more({ acr_values: 'a' })}&acr_values=b`, 'invalid_request'],
    ['brackets', `${more({})}&scope[]=nonsense&client_id[$ne]=spa&prompt[0]=none`, 'code'],
    ['names of prototypes', `${more({})}&__proto__=1&constructor=2&prototype=3&hasOwnProperty=4`, 'code'],
    ['escapes that are none', `${more({})}&cart=%zz`, 'invalid_request'],
    ['escapes that are no UTF-8', `${more({})}&cart=%fe`, 'invalid_request'],
    ['a name that is empty', `${more({})}&=2`, 'code'],
    ['a prompt that is a space', more({ prompt: ' ' }), 'invalid_request'],
    ['no prompt, but not only', more({ prompt: 'none consent' }), 'invalid_request'],
    ['an age of zero, silently', more({ prompt: 'none', max_age: '0' }), 'login_required'],
    ['an age without end', more({ max_age: '9'.repeat(30) }), 'invalid_request'],
    ['a response mode of a draft', more({ response_mode: 'web_message' }), 'unsupported_response_mode'],
    ['registration', more({ registration: '{}' }), 'registration_not_supported'],
    ['a hint that is no JWT', more({ id_token_hint: 'x.y.z' }), 'invalid_request'],
    ['both names of a sign-on token', more({ login_hint_token: 'x', sso_token: 'y' }), 'invalid_request'],
    ['an API resource', more({ client_id: 'orders' }), 'invalid_redirect_uri'],
    ['a client without redirect URIs', more({ client_id: 'service' }), 'invalid_redirect_uri'],
    ['a reference to nothing', 'client_id=web&request_uri=urn:ietf:params:oauth:request_uri:', 'invalid_request_uri'],
    ['two references', 'client_id=web&request_uri=urn:x&request_uri=urn:y', 'invalid_request'],
  ])('%s', async (_, query, expected) => {
    expect(await outcome(query)).toBe(expected);
  });
});

describe('a request object whose members are no strings', () => {
  test.each<[Record<string, unknown>, string]>([
    [{ scope: ['openid'] }, 'invalid_request'],
    [{ redirect_uri: [redirectUri] }, 'invalid_request'],
    [{ response_type: {} }, 'invalid_request_object'],
    [{ client_id: 5 }, 'invalid_request_object'],
    [{ iss: ['signing'] }, 'invalid_request_object'],
    [{ acr_values: ['tenant:x'] }, 'invalid_request'],
    [{ prompt: ['none'] }, 'invalid_request'],
    [{ max_age: -1 }, 'invalid_request'],
    [{ max_age: 100 }, 'code'],
    [{ code_challenge: 5 }, 'invalid_request'],
    [{ id_token_hint: {} }, 'invalid_request'],
    [{ request_uri: '' }, 'invalid_request_object'],
    [{ exp: 1e300 }, 'invalid_request_object'],
    [{ nbf: -1 }, 'invalid_request_object'],
    [{ nonce: { a: 1 }, login_hint: { a: 1 }, eid_user_visible_data: { a: 1 } }, 'code'],
    [{ cart: '\ud800' }, 'invalid_request_object'],
  ])('%j', async (members, expected) => {
    const { client_id: _, ...parameters } = usual;
    const request = await signing.sign(service.issuer, { ...parameters, ...members });
    const query = new URLSearchParams({ client_id: 'signing', redirect_uri: redirectUri, response_type: 'code', request });
    expect(outcomeOf(await alice.follow(await alice.get(`${service.issuer}/connect/authorize?${query}`)))).toBe(expected);
  });
});

describe.each(formTypes)('the token endpoint, %s', (type) => {
  const post = (fields: Record<string, string>, headers: Record<string, string>) =>
    postForm(`${service.issuer}/connect/token`, fields, { ...headers, 'content-type': type });
  const web = { authorization: basic('web', 'web-secret') };
  const raw = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

  test.each<[string, Record<string, string>, Record<string, string>, [number, string]]>([
    ['a grant type of prototypes', { grant_type: '__proto__' }, web, [400, 'unsupported_grant_type']],
    ['a grant type in capitals', { grant_type: 'Authorization_Code' }, web, [400, 'unsupported_grant_type']],
    ['a grant type of another endpoint', { grant_type: 'implicit' }, web, [400, 'unsupported_grant_type']],
    ['a code with NUL', { code: 'a\0b' }, web, [400, 'invalid_grant']],
    ['a code of 20 KB', { code: 'x'.repeat(20_000) }, web, [400, 'invalid_grant']],
    ['the id of another client', { client_id: 'spa' }, web, [400, 'invalid_request']],
    ['Basic without a colon', {}, raw('web'), [400, 'invalid_request']],
    ['Basic with an escape that is none', {}, raw('web:%zz'), [400, 'invalid_request']],
    ['Basic without a secret', {}, raw('web:'), [400, 'invalid_request']],
    ['Basic that is not base64', {}, { authorization: 'Basic ***' }, [400, 'invalid_request']],
    ['a bearer token', {}, { authorization: 'Bearer x' }, [400, 'invalid_request']],
    ['a public client with a secret', { client_id: 'spa', client_secret: 'x' }, {}, [401, 'invalid_client']],
    ['a confidential client without', { client_id: 'web' }, {}, [401, 'invalid_client']],
    ['an empty secret', { client_id: 'web', client_secret: '' }, {}, [401, 'invalid_client']],
    ['a client of prototypes', { client_id: '__proto__', client_secret: 'x' }, {}, [401, 'invalid_client']],
    ['an API resource', {}, { authorization: basic('orders', 'orders-secret') }, [400, 'unauthorized_client']],
  ])('%s', async (_, fields, headers, expected) => {
    const { code } = await obtainTokens(service.issuer, { agent: alice });
    const given = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier, ...fields };
    const { status, json } = await post(given, headers);
    expect([status, json.error]).toEqual(expected);
  });
});

describe('a client assertion with odd members', () => {
  test.each<Record<string, unknown>>([
    { exp: 1e15 },
    { exp: -1 },
    { iat: 'x' },
    { nbf: 'x' },
    { iat: null },
    { jti: '' },
    { jti: true },
    { jti: ['a'] },
    { jti: { a: 1 } },
    { sub: 'web' },
    { sub: ['asserting'] },
    { iss: ['asserting'] },
    { aud: {} },
    { aud: null },
    { aud: '' },
  ])('%j', async (claims) => {
    const fields = { grant_type: 'client_credentials', ...(await asserting.sign(service.issuer, claims)) };
    expect(await postForm(`${service.issuer}/connect/token`, fields)).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  });

  test.each(['a.b.c', 'x', '..', '{}.{}.x', `${btoa('null')}.${btoa('null')}.`, `${btoa('{"alg":"ES256"}')}.${btoa('[]')}.x`])(
    'that is none: %s',
    async (assertion) => {
      const { client_assertion_type: type = '' } = await asserting.sign(service.issuer);
      const fields = { grant_type: 'client_credentials', client_assertion_type: type, client_assertion: assertion };
      const { status, json } = await postForm(`${service.issuer}/connect/token`, fields);
      expect([status, json.error]).toEqual([400, 'invalid_request']);
    },
  );
});

describe('E2: introspection and revocation of what is no token of the caller', () => {
  test.each([
    ['introspect', 200, '{"active":false}'],
    ['revocation', 200, ''],
  ])('%s answers the same bytes and headers, whatever it is', async (path, status, text) => {
    const offline = { scope: 'openid offline_access orders.read' };
    const tokensOf = async (client: string): Promise<Json> =>
      (await obtainTokens(service.issuer, { client, secret: `${client}-secret`, ...offline })).tokens;
    const [revoked, signed, foreign] = [await tokensOf('web'), await tokensOf('jwt'), await tokensOf('jwt')];
    await endpoints.revoke(revoked.access_token);
    await endpoints.revoke(signed.access_token, 'jwt');
    const { code: spent, tokens: own } = await obtainTokens(service.issuer, { agent: alice });
    const dead: [string, string][] = [
      ...['a'.repeat(44), 'x', ' ', 'a.b.c', '..', '\0', 'jwt~', 'jwt~x', '😀', 'x'.repeat(5000), 'x.'.repeat(2000), spent, own.id_token],
      ...[revoked.access_token, revoked.refresh_token, foreign.access_token, foreign.refresh_token],
      ...[decodeJwt(foreign.access_token).jti ?? '', (await endpoints.clientCredentials()).access_token],
    ].map((token) => ['web', token]);
    dead.push(
      ['jwt', signed.access_token],
      ['jwt', signed.refresh_token],
      ['orders', own.access_token],
      ['invoices', foreign.access_token],
    );
    const seen = new Set<string>();
    for (const [caller, token] of dead)
      for (const type of formTypes) {
        const headers = { authorization: basic(caller, `${caller}-secret`), 'content-type': type };
        const answer = await postForm(`${service.issuer}/connect/${path}`, { token }, headers);
        expect({ token, status: answer.status, text: answer.text }).toEqual({ token, status, text });
        seen.add(JSON.stringify([...answer.headers].filter(([name]) => name !== 'date')));
      }
    expect(seen.size).toBe(1);
    expect((await endpoints.introspect(foreign.access_token, 'jwt')).json).toMatchObject({ active: true });
  });
});

describe('a connection that ends early', () => {
  const headers = (path: string, length: number) =>
    [
      `POST ${path} HTTP/1.1`,
      `Host: ${new URL(service.issuer).host}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Authorization: ${basic('service', 'service-secret')}`,
      `Content-Length: ${length}`,
      '\r\n',
    ].join('\r\n');

  /** Returns the text that the service sent before the connection closed. */
  async function send(bytes: string, close: (socket: Socket) => void): Promise<string> {
    const { hostname, port } = new URL(service.issuer);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const closed = once(socket, 'close');
    let answered = '';
    socket.setEncoding('utf8').on('data', (data: string) => {
      answered += data;
    });
    socket.write(bytes);
    await new Promise((resolve) => setTimeout(resolve, 100));
    close(socket);
    await closed;
    return answered;
  }

  test.each(['token', 'introspect', 'revocation', 'par', 'authorize'])('connect/%s: nothing is answered, and others are', async (name) => {
    for (const part of ['', 'grant_type=client_cred'])
      for (const close of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.end()])
        expect(await send(headers(`/connect/${name}`, 100) + part, close)).not.toContain('HTTP/1.1 200');
    expect(await endpoints.clientCredentials()).toMatchObject({ token_type: 'Bearer' });
  });

  test('two requests at once get two answers; what is longer than it says gets none', async () => {
    const body = 'grant_type=client_credentials';
    const one = headers('/connect/token', body.length) + body;
    const two = await send(one + one, (socket) => socket.end());
    expect(two.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(new Set(two.match(/"access_token":"[^"]+"/g)).size).toBe(2);
    expect(await send(headers('/connect/token', 10) + body, (socket) => socket.end())).not.toContain('access_token');
  });
});

test('none of it is in the log', () => expectQuietLog(service, ['web-secret']));
