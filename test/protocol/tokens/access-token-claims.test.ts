import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { defineClaims } from 'tenant-idp';
import { Agent, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../../support/client/agent.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const declared = { scope: 'hr', type: 'string', description: 'Of the HR system', in: ['access_token'] } as const;
const hr = (apiResources: readonly [string, ...string[]], value = () => '17') =>
  defineClaims({ name: 'hr', claims: { cost_center: { ...declared, apiResources, value } }, onError: 'fail' });
let loads = 0;
const staff = defineClaims({
  name: 'staff',
  load: async () => {
    loads += 1;
    return String(loads);
  },
  claims: {
    desk: { ...declared, scope: 'staff', apiResources: ['orders'], value: ({ data }) => data },
    office: { ...declared, scope: 'staff', in: ['id_token'], value: ({ data }) => data },
  },
});
const added = ['hr', 'staff', 'invoices.read'];
const seed = {
  ...testSeed,
  clients: testSeed.clients.map((client) =>
    client.id === 'jwt' || client.id === 'web'
      ? { ...client, ...(client.id === 'jwt' && { idTokenClaims: 'scopes' as const }), allowedScopes: [...client.allowedScopes, ...added] }
      : client,
  ),
};

/** Tests with the handlers of the service, and with the handlers of oidc-provider. */
describe.each([
  ['answered here', {}],
  ['answered by oidc-provider', { onProvider: () => {} }],
])('4.4 claims in access tokens, %s', (_, options) => {
  const service = useIdp({ seed, claims: [hr(['orders']), staff], ...options });
  let agent: Agent;
  beforeAll(() => {
    agent = new Agent();
  });

  async function tokensFor(client: string, scope: string): Promise<Json> {
    const { verifier, challenge } = createPkce();
    const url = authorizeUrl(service.issuer, { client_id: client, scope, code_challenge: challenge, code_challenge_method: 'S256' });
    const answer = await agent.get(url);
    const { location = '' } = answer.location?.startsWith(redirectUri) ? answer : await signIn(agent, url, 'alice@acme.test', 'alice');
    const code = new URL(location).searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    return (await postForm(`${service.issuer}/connect/token`, form, { authorization: basic(client, `${client}-secret`) })).json;
  }
  const introspected = async (token: string, caller: string): Promise<Json> =>
    (await postForm(`${service.issuer}/connect/introspect`, { token }, { authorization: basic(caller, `${caller}-secret`) })).json;

  test('are in a JWT for the API resource that is named, with the scope that grants them', async () => {
    const { access_token: token, id_token: idToken } = await tokensFor('jwt', 'openid hr orders.read');
    expect(decodeJwt(token)).toMatchObject({ aud: ['orders'], cost_center: '17', client_id: 'jwt', tid: expect.any(String) });
    expect(decodeJwt(idToken)).not.toHaveProperty('cost_center');
    expect(await introspected(token, 'orders')).toMatchObject({ active: true, cost_center: '17' });
  });

  test('are in the introspection of an opaque token for it', async () => {
    const { access_token: token } = await tokensFor('web', 'openid hr orders.read');
    expect(await introspected(token, 'orders')).toMatchObject({ active: true, cost_center: '17' });
  });

  test.each([
    ['without the scope', 'openid orders.read'],
    ['for the issuer alone', 'openid hr'],
    ['that another API resource reads as well', 'openid hr orders.read invoices.read'],
  ])('are not in a token %s', async (_case, scope) => {
    const { access_token: token } = await tokensFor('jwt', scope);
    expect(decodeJwt(token)).not.toHaveProperty('cost_center');
    expect(await introspected(token, 'jwt')).not.toHaveProperty('cost_center');
  });

  test('what a plugin loads is loaded once for all tokens of a request', async () => {
    loads = 0;
    const { access_token: token, id_token: idToken } = await tokensFor('jwt', 'openid staff orders.read');
    expect([decodeJwt(token).desk, decodeJwt(idToken).office, loads]).toEqual(['1', '1', 1]);
  });

  test('are not listed for clients', async () => {
    const discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
    expect(discovery.claims_supported).not.toContain('cost_center');
    expect(discovery.scopes_supported).toContain('hr');
  });
});

describe('4.4 claims in access tokens', () => {
  test('for an API resource that does not exist are refused at start', async () => {
    await expect(startIdp({ seed, claims: [hr(['orders', 'invoice']), staff] })).rejects.toMatchObject({
      code: 'invalid_options',
      problems: [{ path: 'claims.hr.cost_center.apiResources[1]', didYouMean: 'invoices' }],
    });
  });
});
