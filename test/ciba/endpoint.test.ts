/** Service specification 4.10: the endpoint, its parameters and its answers. @see CIBA Core §7 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { basic, postForm } from '../support/client/agent.js';
import { createAssertingClient } from '../support/client/assertions.js';
import { CIBA_GRANT, callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { backToPresent } from '../support/time/clock.js';

const asserting = await createAssertingClient('signing-desk');
const store = memoryArtifacts();
const written: string[] = [];
const service = useCallCentre({
  lifetimes: { authenticationRequest: 110 },
  artifacts: {
    ...store,
    async commit(writes) {
      written.push(JSON.stringify(writes));
      return store.commit(writes);
    },
  },
  seed: withClients(
    cibaClient('desk'),
    cibaClient('bank', {
      metadata: { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: 'https://bank.example/ping' },
    }),
    cibaClient('hasty', { lifetimes: { authenticationRequest: 60 } }),
    cibaClient('patient', { lifetimes: { authenticationRequest: 300 } }),
    {
      ...asserting.seed,
      metadata: { ...asserting.seed.metadata, grant_types: [CIBA_GRANT], response_types: [], backchannel_token_delivery_mode: 'poll' },
    },
  ),
});
const calls = () => callsTo(service);
const url = () => `${service.issuer}/connect/ciba`;
const alice = { login_hint: 'alice@acme.test' };
afterEach(backToPresent);

describe('4.10 decoupled sign-in', () => {
  test('discovery has backchannel_authentication_endpoint, the grant type, and the delivery modes poll and ping', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({
      backchannel_authentication_endpoint: url(),
      backchannel_token_delivery_modes_supported: ['poll', 'ping'],
      backchannel_user_code_parameter_supported: false,
      backchannel_authentication_request_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'],
    });
    expect(discovery.grant_types_supported).toContain(CIBA_GRANT);
  });

  test('the answer is immediate: auth_req_id, expires_in and interval, which no cache keeps', async () => {
    const { status, json, headers } = await calls().ask(alice);
    expect([status, Object.keys(json).sort()]).toEqual([200, ['auth_req_id', 'expires_in', 'interval']]);
    expect(json).toMatchObject({ expires_in: 110, interval: 5 });
    // CIBA Core §7.3 requires enough entropy and these characters.
    expect(json.auth_req_id).toMatch(/^[A-Za-z0-9._-]{43,}$/);
    expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
  });

  test('the method is listed as GET: with the parameters in the query, for a client that authenticates by header', async () => {
    const query = new URLSearchParams({ scope: 'openid', ...alice });
    const got = await fetch(`${url()}?${query}`, { headers: credentialsOf('desk') });
    expect([got.status, Object.keys((await got.json()) as object).sort()]).toEqual([200, ['auth_req_id', 'expires_in', 'interval']]);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ clientId: 'desk' });
    for (const more of [{}, { client_id: 'desk', client_secret: 'desk-secret' }]) {
      const refused = await fetch(`${url()}?${new URLSearchParams({ scope: 'openid', ...alice, ...more })}`);
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  test('a GET with a secret in the query beside the header is refused', async () => {
    const query = new URLSearchParams({ scope: 'openid', ...alice, client_secret: 'desk-secret' });
    const got = await fetch(`${url()}?${query}`, { headers: credentialsOf('desk') });
    expect(got.status).toBe(400);
  });

  test('client credentials as for the token endpoint: Basic, body, private_key_jwt', async () => {
    const fields = { scope: 'openid', ...alice };
    const inBody = await postForm(url(), { ...fields, client_id: 'desk', client_secret: 'desk-secret' });
    const signed = await postForm(url(), { ...fields, ...(await asserting.sign(service.issuer)) });
    expect([inBody.status, signed.status]).toEqual([200, 200]);
    const wrong = [
      await postForm(url(), fields),
      await postForm(url(), fields, { authorization: basic('desk', 'wrong') }),
      await postForm(url(), { ...fields, ...(await asserting.sign('https://another.example')) }),
      await postForm(url(), { ...fields, ...(await asserting.sign(service.issuer, { aud: url() })) }),
      await postForm(url(), { ...fields, client_id: 'desk' }),
    ];
    expect(wrong.map(({ status, json }) => [status, json.error])).toEqual(wrong.map(() => [401, 'invalid_client']));
  });

  test('a client that is not registered for it is answered unauthorized_client', async () => {
    expect(await calls().ask(alice, 'web')).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  });

  test('form-encoded: any other type is refused', async () => {
    const answer = await fetch(url(), {
      method: 'POST',
      headers: { ...credentialsOf('desk'), 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'openid', ...alice }),
    });
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([400, 'invalid_request']);
  });
});

describe('parameters', () => {
  const refused = async (fields: Record<string, string>, error: string, client?: string) =>
    expect(await calls().ask(fields, client)).toMatchObject({ status: 400, json: { error } });

  test('scope is required and includes openid; unknown scopes are invalid_scope', async () => {
    await refused({ ...alice, scope: 'profile' }, 'invalid_request');
    await refused({ ...alice, scope: '' }, 'invalid_request');
    await refused({ ...alice, scope: 'openid nothing' }, 'invalid_scope');
    await refused({ ...alice, scope: 'openid invoices.read' }, 'invalid_scope');
  });

  test('exactly one of login_hint, login_hint_token, id_token_hint', async () => {
    await refused({}, 'invalid_request');
    await refused({ ...alice, id_token_hint: 'x' }, 'invalid_request');
    await refused({ ...alice, login_hint_token: 'x' }, 'invalid_request');
    await refused({ id_token_hint: 'x', login_hint_token: 'x' }, 'invalid_request');
  });

  test('a parameter that comes twice is invalid_request', async () => {
    const body = new URLSearchParams([
      ['scope', 'openid'],
      ['login_hint', 'alice@acme.test'],
      ['login_hint', 'bob@globex.test'],
    ]);
    const answer = await fetch(url(), { method: 'POST', headers: credentialsOf('desk'), body });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  test('D7: requested_expiry only shortens the lifetime of client or service', async () => {
    const lifetime = async (expiry: string, client?: string) =>
      (await calls().ask({ ...alice, requested_expiry: expiry }, client)).json.expires_in;
    expect(await lifetime('30')).toBe(30);
    expect(await lifetime('1000000000')).toBe(110);
    expect(await lifetime('90', 'hasty')).toBe(60);
    expect(await lifetime('45', 'hasty')).toBe(45);
    expect(await lifetime('301', 'patient')).toBe(300);
  });

  test.each(['0', '-1', '60abc', '1.5', '1e3', ' 60', '٣', '99999999999999999999'])(
    'D7: requested_expiry %j is invalid_request',
    async (expiry) => {
      await refused({ ...alice, requested_expiry: expiry }, 'invalid_request');
    },
  );

  test('binding_message is kept as it came, up to 256 characters', async () => {
    const message = `Kod 1234 – ${'ж'.repeat(244)}🔑`;
    expect([...message]).toHaveLength(256);
    expect((await calls().ask({ ...alice, binding_message: message })).status).toBe(200);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ bindingMessage: message, messageFormat: 'plaintext' });
    await refused({ ...alice, binding_message: `${message}!` }, 'invalid_binding_message');
  });

  test.each(['a\u202Eb', 'a\u2066b', 'a\u200Fb', 'a\u061Cb', 'a\u0000b', 'a\rb', 'a\nb', 'a\tb', 'a\u0085b', 'a\u2028b'])(
    'D10: binding_message %j is invalid_binding_message',
    async (message) => {
      await refused({ ...alice, binding_message: message }, 'invalid_binding_message');
    },
  );

  test('eid_user_visible_data_format describes binding_message: simpleMarkdownV1 may have lines', async () => {
    const format = { eid_user_visible_data_format: 'simpleMarkdownV1' };
    expect((await calls().ask({ ...alice, binding_message: '# Pay\n\n**10**', ...format })).status).toBe(200);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({
      bindingMessage: '# Pay\n\n**10**',
      messageFormat: 'simpleMarkdownV1',
    });
    await refused({ ...alice, binding_message: 'a\r\nb', ...format }, 'invalid_binding_message');
    await refused({ ...alice, eid_user_visible_data_format: 'html' }, 'invalid_request');
  });

  test('eid_call_initiator is user (default) or RP; ui_locales are kept', async () => {
    await calls().ask(alice);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ initiator: 'user' });
    await calls().ask({ ...alice, eid_call_initiator: 'RP', ui_locales: 'nb en' });
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ initiator: 'RP', uiLocales: 'nb en' });
    await refused({ ...alice, eid_call_initiator: 'rp' }, 'invalid_request');
  });

  test('client_notification_token is required of a ping client: a bearer token of at most 1,024 characters', async () => {
    await refused(alice, 'invalid_request', 'bank');
    await refused({ ...alice, client_notification_token: 'a b' }, 'invalid_request', 'bank');
    await refused({ ...alice, client_notification_token: 'a'.repeat(1025) }, 'invalid_request', 'bank');
    expect((await calls().ask({ ...alice, client_notification_token: `${'a'.repeat(1023)}=` }, 'bank')).status).toBe(200);
    expect(await calls().newestOf('alice@acme.test')).toMatchObject({ isPing: true });
    // The token of a client that polls is ignored.
    expect((await calls().ask({ ...alice, client_notification_token: 'a b' })).status).toBe(200);
  });

  test('auth_req_id is not stored, and client_notification_token only sealed', async () => {
    written.length = 0;
    const token = 'what-the-client-knows-its-notifications-by';
    const { json } = await calls().ask({ ...alice, client_notification_token: token }, 'bank');
    const text = written.join('\n');
    expect([text.includes('ciba.requests'), text.includes(token), text.includes(json.auth_req_id)]).toEqual([true, false, false]);
  });

  test('nobody acts as somebody else by it', async () => {
    await refused({ ...alice, acr_values: 'impersonate' }, 'invalid_request');
  });

  test('A11: a sign-in that nothing here can make is not asked for', async () => {
    await refused({ ...alice, acr_values: 'idp:nowhere' }, 'unmet_authentication_requirements');
    await refused({ ...alice, acr_values: 'tenant:' }, 'invalid_request');
    await refused({ ...alice, acr_values: `idp:${'x'.repeat(2100)}` }, 'invalid_request');
  });
});

describe('limits', () => {
  test('D5: requests of one client in a minute are counted, and answered 429 beyond', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 61; count += 1) statuses.push((await calls().ask({ login_hint: 'nobody' })).status);
    expect(statuses).toEqual([...Array(60).fill(400), 429]);
    const { json, headers } = await calls().ask(alice);
    expect([json.error, Number(headers.get('retry-after')) > 0]).toEqual(['too_many_requests', true]);
    expect((await calls().ask(alice, 'hasty')).status).toBe(200);
  });

  test('D4: the sixth of a client for a user in ten minutes is access_denied, and another client still asks', async () => {
    for (let count = 0; count < 5; count += 1) expect((await calls().ask(alice)).status).toBe(200);
    expect(await calls().ask(alice)).toMatchObject({ status: 400, json: { error: 'access_denied' } });
    expect((await calls().ask(alice, 'hasty')).status).toBe(200);
  });

  test('D4: a new request of the same client replaces the pending one, which answers access_denied', async () => {
    const first = await calls().ask(alice);
    const second = await calls().ask(alice);
    expect(await calls().poll(first.json.auth_req_id)).toMatchObject({ status: 400, json: { error: 'access_denied' } });
    expect(await calls().poll(second.json.auth_req_id)).toMatchObject({ status: 400, json: { error: 'authorization_pending' } });
  });
});
