/** Tokens and credentials as people copy them: with the scheme of the header, white space around, or in other case. */
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { basic, postForm } from '../../support/client/agent.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const seed = {
  ...testSeed,
  clients: [
    ...testSeed.clients,
    ...(['reference', 'jwt'] as const).map((accessTokenType) => ({
      id: accessTokenType,
      name: accessTokenType,
      secret: 'own-secret',
      accessTokenType,
      corsOrigins: ['https://rp.test'],
      metadata: { grant_types: ['client_credentials'] },
    })),
  ],
};
const copies: readonly (readonly [name: string, copy: (token: string) => string])[] = [
  ['Bearer …', (token) => `Bearer ${token}`],
  ['bearer  …', (token) => `bearer  ${token}`],
  ['a line break at the end', (token) => `${token}\r\n`],
  ['a blank before it', (token) => ` ${token}`],
];

/**
 * Tests with the handlers of the service, and with the handlers of oidc-provider. A form with a foreign origin takes the provider's door.
 */
describe.each([
  ['', {}],
  [', with oidc-provider’s own handlers', { configure: (configuration: object) => configuration }],
])('a copied token%s', (_, options) => {
  const service = useIdp({ ...options, seed });
  const callers = [
    ['Basic', (id: string) => ({ form: {}, headers: { authorization: basic(id, 'own-secret') } })],
    ['the form', (id: string) => ({ form: { client_id: id, client_secret: 'own-secret' }, headers: {} })],
    [
      'the form, from a page',
      (id: string) => ({ form: { client_id: id, client_secret: 'own-secret' }, headers: { origin: 'https://rp.test' } }),
    ],
  ] as const;

  test.each(
    callers.flatMap(([by, caller]) =>
      ['reference', 'jwt'].flatMap((id) => copies.map(([name, copy]) => [name, id, by, caller, copy] as const)),
    ),
  )('%s is understood: %s token, client by %s', async (_name, id, _by, caller, copy) => {
    const { form, headers } = caller(id);
    const call = (path: string, fields: Record<string, string>) =>
      postForm(`${service.issuer}/connect/${path}`, { ...form, ...fields }, headers);
    const { access_token: token } = (await call('token', { grant_type: 'client_credentials' })).json as { access_token: string };
    expect((await call('introspect', { token: copy(token) })).json).toMatchObject({ active: true, client_id: id });
    expect((await call('revocation', { token: copy(token) })).status).toBe(200);
    expect((await call('introspect', { token })).json).toEqual({ active: false });
  });
});

describe('an Authorization header', () => {
  const service = useIdp({ seed });
  /** Sends the header as it is, because `fetch` corrects it. */
  const raw = (path: string, authorization: string, body = ''): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.issuer);
      let answer = '';
      const socket = connect(Number(port), hostname, () =>
        socket.end(
          `${body === '' ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\nAuthorization: ${authorization}\r\n${body === '' ? '' : `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n`}\r\n${body}`,
        ),
      );
      socket.on('data', (data) => {
        answer += String(data);
      });
      socket.on('error', reject).on('close', () => resolve(answer));
    });
  const credentials = Buffer.from('reference:own-secret').toString('base64');

  test.each(['Basic  ', 'basic ', 'BASIC \t', ' Basic '])('with the scheme “%s” authenticates the client', async (scheme) => {
    const answer = await raw('/connect/token', `${scheme}${credentials} `, 'grant_type=client_credentials');
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*access_token/);
  });

  test('with a wrong secret and two spaces is refused because of the secret', async () => {
    const wrong = Buffer.from('reference:wrong').toString('base64');
    expect(await raw('/connect/token', `Basic  ${wrong}`, 'grant_type=client_credentials')).toMatch(
      /^HTTP\/1\.1 401 [\s\S]*invalid_client/,
    );
  });

  test.each(['bearer ', 'BEARER  ', 'Bearer \t'])('with the scheme “%s” has an access token', async (scheme) => {
    const { json } = await postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'client_credentials' },
      { authorization: `Basic ${credentials}` },
    );
    const answer = await raw('/connect/userinfo', `${scheme}${(json as { access_token: string }).access_token}`);
    // The token is read, but a token of a client itself has no userinfo.
    expect(answer).toMatch(/^HTTP\/1\.1 (?:401|403) [\s\S]*(?:invalid_token|insufficient_scope)/);
  });
});
