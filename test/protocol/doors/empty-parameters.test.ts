/** RFC 6749 §3.1: a parameter without a value is absent. Each parameter of each endpoint, through both doors. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { basic, createPkce, obtainTokens } from '../../support/client/agent.js';
import { plainType, unusualType } from '../../support/requests/both-doors.js';
import { postLogoutRedirectUri, redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { cibaClient } from '../../support/sign-in/ciba.js';

const service = useIdp({
  seed: { ...testSeed, clients: [...testSeed.clients, cibaClient('asks')] },
  limits: { authenticationRequestsPerMinute: 10_000 },
});

let accessToken = '';
let idToken = '';
beforeAll(async () => {
  const { tokens } = await obtainTokens(service.issuer);
  accessToken = tokens.access_token;
  idToken = tokens.id_token;
});

const subject = (): string => JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString()).sub;

const requestParameters = `acr_values authorization_details claims client_assertion client_assertion_type code_challenge_method dpop_jkt
  eid_call_initiator eid_user_visible_data eid_user_visible_data_format id_token_hint login_hint login_hint_token max_age nonce prompt
  registration request request_uri resource response_mode sso_token ui_locales`.split(/\s+/);
const ofClients = ['client_assertion', 'client_assertion_type', 'client_id', 'client_secret'];

type Fields = Readonly<Record<string, string>>;
interface Endpoint {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** Returns the fields of a complete request. */
  readonly fields: () => Fields;
  readonly parameters: readonly string[];
  readonly headers?: () => Fields;
  /** Whether both doors answer the endpoint, because clients authenticate there. */
  readonly hasDoors?: true;
}
const { challenge } = createPkce();
const authorize = (): Fields => ({
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 's',
  code_challenge: challenge,
  code_challenge_method: 'S256',
  prompt: 'none',
});
const by = (id: string, secret = `${id}-secret`) => ({ headers: () => ({ authorization: basic(id, secret) }), hasDoors: true }) as const;
const grant = (fields: Fields, id = 'web') =>
  ({
    path: '/connect/token',
    method: 'POST',
    fields: () => fields,
    parameters: [
      ...ofClients,
      'code',
      'code_verifier',
      'redirect_uri',
      'refresh_token',
      'scope',
      'resource',
      'auth_req_id',
      'assertion',
      'audience',
    ],
    ...by(id),
  }) as const;

const endpoints: Readonly<Record<string, Endpoint>> = {
  'GET authorize': { path: '/connect/authorize', method: 'GET', fields: authorize, parameters: requestParameters },
  'POST authorize': { path: '/connect/authorize', method: 'POST', fields: authorize, parameters: requestParameters },
  PAR: {
    path: '/connect/par',
    method: 'POST',
    fields: authorize,
    parameters: [...requestParameters, 'client_assertion', 'client_secret'],
    ...by('web'),
  },
  'client credentials': grant({ grant_type: 'client_credentials', scope: 'orders.read' }, 'service'),
  code: grant({ grant_type: 'authorization_code', code: 'x', redirect_uri: redirectUri, code_verifier: challenge }),
  refresh: grant({ grant_type: 'refresh_token', refresh_token: 'x' }),
  'decoupled grant': grant({ grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: 'x' }, 'asks'),
  introspection: {
    path: '/connect/introspect',
    method: 'POST',
    fields: () => ({ token: accessToken }),
    parameters: [...ofClients, 'token_type_hint'],
    ...by('web'),
  },
  revocation: {
    path: '/connect/revocation',
    method: 'POST',
    fields: () => ({ token: 'unknown' }),
    parameters: [...ofClients, 'token_type_hint'],
    ...by('web'),
  },
  ...Object.fromEntries(
    // The last request also has empty parameters in the query, in addition to the form.
    (
      [
        ['GET', ''],
        ['POST', ''],
        ['POST', '?sub=&scope=&tid=&client_id='],
      ] as const
    ).map(([method, query]): [string, Endpoint] => [
      `${method} scope introspection${query}`,
      {
        path: `/connect/scope/introspect${query}`,
        method,
        fields: () => ({ sub: subject(), scope: 'perms' }),
        parameters: ['tid', 'client_id'],
        headers: () => ({ authorization: basic('orders', 'orders-secret') }),
      },
    ]),
  ),
  'GET userinfo': {
    path: '/connect/userinfo',
    method: 'GET',
    fields: () => ({}),
    parameters: ['access_token', 'scope'],
    headers: () => ({ authorization: `Bearer ${accessToken}` }),
  },
  'POST userinfo': {
    path: '/connect/userinfo',
    method: 'POST',
    fields: () => ({}),
    parameters: ['access_token', 'scope'],
    headers: () => ({ authorization: `Bearer ${accessToken}` }),
  },
  decoupled: {
    path: '/connect/ciba',
    method: 'POST',
    fields: () => ({ scope: 'openid', login_hint: 'nobody@nowhere.test' }),
    parameters: [
      ...[
        ...ofClients,
        'acr_values',
        'login_hint_token',
        'id_token_hint',
        'binding_message',
        'requested_expiry',
        'ui_locales',
        'user_code',
      ],
      ...['client_notification_token', 'eid_user_visible_data_format', 'eid_call_initiator', 'request'],
    ],
    ...by('asks'),
  },
  'GET end session': {
    path: '/connect/endsession',
    method: 'GET',
    fields: () => ({ id_token_hint: idToken, post_logout_redirect_uri: postLogoutRedirectUri, state: 's' }),
    parameters: ['client_id', 'ui_locales', 'logout_hint'],
  },
  'POST end session': {
    path: '/connect/endsession',
    method: 'POST',
    fields: () => ({ id_token_hint: idToken, post_logout_redirect_uri: postLogoutRedirectUri, state: 's' }),
    parameters: ['client_id', 'ui_locales', 'logout_hint'],
  },
};

const varying = /[\w-]{16,}(?:\.[\w-]+)*/g;

async function answer({ path, method, headers }: Endpoint, fields: Fields, contentType: string): Promise<unknown> {
  const text = new URLSearchParams(fields).toString();
  let url = `${service.issuer}${path}${method === 'GET' && text !== '' ? `?${text}` : ''}`;
  let response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...headers?.(), ...(method === 'POST' && { 'content-type': contentType }) },
    ...(method === 'POST' && { body: text }),
  });
  // A form is redirected to the same request by GET, with all its parameters.
  const next = response.headers.get('location') ?? '';
  if (method === 'POST' && next.startsWith(service.issuer)) {
    url = next;
    response = await fetch(url, { redirect: 'manual' });
  }
  const body = (await response.text()).replace(/<style[\s\S]*?<\/style>|<script[\s\S]*?<\/script>|<footer>[\s\S]*<\/footer>/g, '');
  const location = response.headers.get('location') ?? '';
  return [response.status, location.replace(varying, '…'), body.replace(varying, '…').replace(/"(?:iat|exp|expires_in)":\d+/g, '')];
}

test('an empty parameter in the query hides none of the form', async () => {
  const { path, headers } = endpoints['POST scope introspection'] as Endpoint;
  const body = new URLSearchParams({ sub: subject(), scope: 'perms' });
  const asked = await fetch(`${service.issuer}${path}?sub=&scope=&tid=`, { method: 'POST', headers: headers?.() ?? {}, body });
  // The user is found by the `sub` of the form, and shares that `sub` with a linked account.
  expect([asked.status, await asked.json()]).toEqual([400, expect.objectContaining({ error: 'tid_required' })]);
});

describe.each(Object.entries(endpoints))('%s', (_, endpoint) => {
  const types = endpoint.hasDoors ? [plainType, unusualType] : [plainType];
  test.each(types)('each parameter without a value is absent (%s)', async (type) => {
    const fields = endpoint.fields();
    const found: unknown[] = [];
    const expected: unknown[] = [];
    const whole = await answer(endpoint, fields, type);
    for (const name of endpoint.parameters.filter((parameter) => !Object.hasOwn(fields, parameter))) {
      found.push([name, await answer(endpoint, { ...fields, [name]: '' }, type)]);
      expected.push([name, whole]);
    }
    // A parameter that the request has is missing when it is empty.
    for (const name of Object.keys(fields)) {
      const { [name]: _value, ...rest } = fields;
      found.push([name, await answer(endpoint, { ...fields, [name]: '' }, type)]);
      expected.push([name, await answer(endpoint, rest, type)]);
    }
    expect(found).toEqual(expected);
    expect(found.length).toBeGreaterThan(1);
  });
});
