/** Log lines of clients that did not authenticate: id and reason, at each endpoint that authenticates clients. The answer has neither. */
import { inspect } from 'node:util';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { Agent, authorizeUrl, basic, postForm } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { cibaClient, withClients } from '../../support/client/ciba/call-centre.js';
import { formTypes } from '../../support/requests/both-doors.js';
import { useIdp } from '../../support/service/use-idp.js';

const directory = memoryDirectory();
let asserting: AssertingClient;
const service = useIdp(async () => {
  asserting = await createAssertingClient();
  const off = { ...cibaClient('off'), status: 'disabled' };
  return { directory, seed: withClients(asserting.seed, cibaClient('late'), cibaClient('desk'), cibaClient('odd'), off), trustProxy: true };
});

beforeAll(async () => {
  await directory
    .collection<{ readonly id: string; readonly version: number; readonly secrets: readonly object[] }>('clients')
    .update('late', (row) => ({ ...row, secrets: row.secrets.map((secret) => ({ ...secret, expiresAt: new Date(0) })) }));
  await directory
    .collection<{ readonly id: string; readonly version: number; readonly metadata: object }>('clients')
    .update('odd', (row) => ({ ...row, metadata: { ...row.metadata, token_endpoint_auth_method: 'tls_client_auth' } }));
  await service.idp.directory.apiResources.update('invoices', { status: 'disabled' });
});

beforeEach(() => {
  service.lines.length = 0;
});

const lines = (): readonly Readonly<Record<string, unknown>>[] =>
  service.lines.filter(({ message }) => message === 'request refused').map(({ level, fields }) => ({ level, ...fields }));

/** Endpoints that authenticate clients, with a form that each takes. The token endpoint has two doors. */
const endpoints: readonly (readonly [name: string, path: string, fields: Record<string, string>, type: string])[] = [
  ...formTypes.map((type) => [`token (${type})`, 'token', { grant_type: 'client_credentials' }, type] as const),
  ['introspection', 'introspect', { token: 'x' }, formTypes[0]],
  ['revocation', 'revocation', { token: 'x' }, formTypes[0]],
  ['PAR', 'par', { response_type: 'code', scope: 'openid' }, formTypes[0]],
  ['CIBA', 'ciba', { scope: 'openid', login_hint: 'alice@acme.test' }, formTypes[0]],
  ['scope introspection', 'scope/introspect', { sub: 'x' }, formTypes[0]],
];

interface Case {
  readonly client: string;
  readonly secret?: string;
  readonly fields?: () => Promise<Record<string, string>>;
  readonly reason: RegExp;
  /** Reason at the endpoint that accepts only secrets. */
  readonly ofSecret?: RegExp;
}

const shownStart = 'x7Qz… (43 characters)';
const secretAsId = 'x7Qzcanary-4b9JmYvT2Ls8Kd0WqEr5Ui1Oa3PfGhH6';
const cases: Readonly<Record<string, Case>> = {
  unknown: { client: 'nobody', secret: 'canary-secret', reason: /^the client is unknown$/ },
  'a secret in the place of the id': { client: secretAsId, secret: 'x', reason: /^the client is unknown$/ },
  disabled: { client: 'off', secret: 'off-secret', reason: /^the client is disabled$/ },
  'a disabled API resource': { client: 'invoices', secret: 'invoices-secret', reason: /^the API resource is disabled$/ },
  'a wrong secret': { client: 'desk', secret: 'canary-secret', reason: /^the secret is wrong$/ },
  'a wrong secret of an API resource': { client: 'orders', secret: 'canary-secret', reason: /^the secret is wrong$/ },
  'an expired secret': { client: 'late', secret: 'late-secret', reason: /^the secret has expired$/ },
  'a secret of a client that signs': {
    client: 'asserting',
    secret: 'canary-secret',
    reason: /^token_endpoint_auth_method of the client is private_key_jwt, and the request has a secret$/,
    ofSecret: /^the client authenticates by private_key_jwt, not by a secret$/,
  },
  'a secret of a public client': {
    client: 'spa',
    secret: 'canary-secret',
    reason: /^token_endpoint_auth_method of the client is none, and the request has a secret$/,
    ofSecret: /^the client authenticates by none, not by a secret$/,
  },
  'no secret': {
    client: 'desk',
    reason: /^token_endpoint_auth_method of the client is client_secret_basic, and the request has no credentials$/,
    ofSecret: /^no secret was sent$/,
  },
  'an assertion of a client with a secret': {
    client: 'desk',
    fields: () => asserting.sign(service.issuer, { iss: 'desk', sub: 'desk' }),
    reason: /^token_endpoint_auth_method of the client is client_secret_basic, and the request has a client assertion$/,
  },
  'an expired assertion': {
    client: 'asserting',
    fields: () => asserting.sign(service.issuer, { iat: 1000, exp: 1060 }),
    reason: /expired|exp/,
  },
  'an assertion for somebody else': {
    client: 'asserting',
    fields: () => asserting.sign('https://elsewhere.test'),
    reason: /audience/,
  },
};

let addresses = 0;

describe.each(endpoints)('%s', (_, path, form, type) => {
  const isOfSecrets = path === 'scope/introspect';
  const ask = async ({ client, secret, fields }: Case) => {
    addresses += 1;
    const headers = {
      'content-type': type,
      'x-forwarded-for': `198.51.100.${addresses % 250}`,
      ...(secret === undefined ? {} : { authorization: basic(client, secret) }),
    };
    const more = fields ? await fields() : secret === undefined ? { client_id: client } : {};
    return postForm(`${service.issuer}/connect/${path}`, { ...form, ...more }, headers);
  };

  test.each(Object.entries(cases).filter(([, { fields }]) => !(isOfSecrets && fields)))(
    'one line names the client and the reason, and the answer names neither: %s',
    async (_name, given) => {
      const unknown = await ask({ ...given, client: 'another', reason: /./ });
      service.lines.length = 0;
      const { status, json } = await ask(given);
      expect({ status, error: json.error }).toEqual({ status: 401, error: 'invalid_client' });
      if (!given.fields) expect(json).toEqual(unknown.json);
      expect(lines()).toEqual([
        expect.objectContaining({
          level: 'info',
          error: 'invalid_client',
          client: given.client === secretAsId ? shownStart : given.client,
          reason: expect.stringMatching((isOfSecrets && given.ofSecret) || given.reason),
        }),
      ]);
      expect(inspect(service.lines, { depth: 9 })).not.toMatch(/canary|-secret/);
    },
  );

  if (!isOfSecrets)
    test('a record that a setting of the service refuses', async () => {
      const { json } = await ask({ client: 'odd', secret: 'odd-secret', reason: /./ });
      expect(lines()).toEqual([
        expect.objectContaining({ error: json.error, client: 'odd', reason: expect.stringMatching(/token_endpoint_auth_method/) }),
      ]);
    });

  test('past the limit of wrong secrets, each request has one line as well', async () => {
    const send = (address: string) =>
      postForm(`${service.issuer}/connect/${path}`, form, {
        'content-type': type,
        'x-forwarded-for': address,
        authorization: basic('desk', 'wrong'),
      });
    addresses += 1;
    const address = `203.0.113.${addresses % 250}`;
    for (let attempt = 0; attempt < 22; attempt += 1) await send(address);
    expect(lines().map(({ error }) => error)).toEqual([...Array(20).fill('invalid_client'), 'too_many_requests', 'too_many_requests']);
    for (const line of lines()) expect(line).toMatchObject({ client: 'desk', reason: 'the secret is wrong' });
  });
});

describe('a client that only names itself', () => {
  test.each([
    ['nobody', 'the client is unknown', 'nobody'],
    ['off', 'the client is disabled', 'off'],
    [secretAsId, 'the client is unknown', shownStart],
    [`a\nb${'c'.repeat(9)}\u202e`, 'the client is unknown', 'a?bccccccccc?'],
    ['0197f2c4-5b1e-7d3a-9c44-2f6a8b1d0e57', 'the client is unknown', '0197… (36 characters)'],
  ])('at the authorization endpoint and at sign-out: %j', async (client_id, reason, client) => {
    for (const url of [
      authorizeUrl(service.issuer, { client_id }),
      `${service.issuer}/connect/endsession?${new URLSearchParams({ client_id })}`,
    ]) {
      service.lines.length = 0;
      const page = await new Agent().get(url);
      expect(page.status).toBe(400);
      expect(lines()).toEqual([expect.objectContaining({ level: 'info', error: 'invalid_client', client, reason })]);
      expect(page.body).not.toContain(reason);
    }
  });
});
