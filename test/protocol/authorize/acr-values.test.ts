/** Service specification 4.2: names in `acr_values`. Design §5. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { parseAcrValues, reachedLevel } from '../../../lib/acr-values.js';
import { Agent, type Answer, authorizeUrl, createPkce, obtainTokens, signIn } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { obtainCode, redeem, refresh } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let bob: Agent;
let acme: string;
let globex: string;
const service = useIdp();
beforeAll(async () => {
  const tenants = await service.idp.directory.tenants.find();
  [acme = '', globex = ''] = ['Acme', 'Globex'].map((name) => tenants.find((tenant) => tenant.name === name)?.id);
  ({ agent: bob } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' }));
});

const pkce = createPkce();
const parameters = { code_challenge: pkce.challenge, code_challenge_method: 'S256', state: 's' };
const request = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  ...parameters,
};

/** Ways in which a client sends a request. All ways must give the same outcome. */
const ways: Record<string, (agent: Agent, more: Record<string, string>) => Promise<Answer>> = {
  GET: (agent, more) => agent.get(authorizeUrl(service.issuer, { ...parameters, ...more })),
  POST: (agent, more) => agent.post(`${service.issuer}/connect/authorize`, { ...request, ...more }),
  PAR: async (agent, more) => {
    const { json } = await endpointsOf(service.issuer).par({ ...request, ...more });
    if (json.error) return refusedPush(json.error);
    return agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: json.request_uri })}`);
  },
};
/** Returns the refusal of a pushed request as an answer, because no browser gets the refusal. */
const refusedPush = (error: string): Answer => ({
  url: service.issuer,
  status: 303,
  headers: new Headers(),
  body: '',
  location: `${redirectUri}?error=${error}`,
});
const respond = async (acrValues: string, more: Record<string, string> = {}, agent = bob, way = 'GET'): Promise<Answer> =>
  agent.follow((await ways[way]?.(agent, { acr_values: acrValues, ...more })) as Answer);
const silently = async (acrValues: string, way?: string) => membersOf(await respond(acrValues, { prompt: 'none' }, bob, way));

describe.each(Object.keys(ways))('4.2 acr_values by %s', (way) => {
  test('4.2 tenant: the tenant the user must belong to', async () => {
    expect(await silently(`tenant:${globex}`, way)).toMatchObject({ code: expect.any(String) });
    expect(await silently(`tenant:${acme}`, way)).toMatchObject({ error: 'login_required' });
    expect(isSignInPage(await respond(`tenant:${acme}`, {}, bob, way))).toBe(true);
    expect(await silently(`nonsense tenant:${acme} more:nonsense`, way)).toMatchObject({ error: 'login_required' });
  });

  test.each(['tenant:', 'tenant', 'tenant: tenant:GLOBEX', 'tenant:GLOBEX tenant:ACME', 'tenant:GLOBEX tenant:'])(
    '4.2 %s names no one tenant, and is not read as any',
    async (acrValues) => {
      const named = acrValues.replaceAll('GLOBEX', globex).replaceAll('ACME', acme);
      expect(await silently(named, way)).toMatchObject({ error: 'invalid_request' });
    },
  );

  test.each(['impersonate', 'impersonate:somebody', 'idp:eid', 'idp:local impersonate'])(
    '4.2 %s, which nothing here can meet, is refused instead of weakened',
    async (acrValues) => {
      expect(await silently(acrValues, way)).toMatchObject({ error: 'unmet_authentication_requirements' });
    },
  );

  test.each([
    'mfa',
    'mfa:',
    'mfa:true',
    'mfa:false mfa',
    'mfa mfa:false',
    'idp:local mfa',
    'mfa:true pwd',
    'pwd mfa mfa:',
    'mfa PWD',
    'mfa pwd:',
  ])('4.2 %s asks who has one factor for a second, which without a page is an error', async (acrValues) => {
    expect(await silently(acrValues, way)).toMatchObject({ error: 'interaction_required' });
  });

  test.each([
    'idp:local',
    'idp:',
    'mfa:false',
    'mfa pwd',
    'pwd mfa',
    'pwd idp:local mfa mfa:false',
    'impersonate:false',
    'unknown',
    'unknown:tenant:x',
    'Tenant:x',
    ':',
    'a:b:c',
    'urn:mace:silver',
  ])('4.2 %s asks for nothing', async (acrValues) => {
    expect(await silently(acrValues, way)).toMatchObject({ code: expect.any(String) });
  });
});

test('4.2 tenant: whoever signs in is of the tenant, whatever name is typed', async () => {
  const agent = new Agent();
  const url = authorizeUrl(service.issuer, { ...parameters, acr_values: `tenant:${acme}` });
  const refused = await signIn(agent, url, 'bob@globex.test', 'bob');
  expect([refused.location, refused.status]).toEqual([undefined, 400]);
  const { tokens } = await obtainTokens(service.issuer, { acr_values: `tenant:${acme}` });
  expect(decodeJwt(tokens.id_token)).toMatchObject({ tid: acme });
});

test('4.2 tenant: a request without openid cannot ask for one, and gets nothing', async () => {
  const members = membersOf(await respond(`tenant:${acme}`, { scope: 'orders.read', prompt: 'none' }));
  expect(members).toMatchObject({ error: 'invalid_request' });
});

test('design §5: they are read in one place', () => {
  const nothing = { mfa: false, prefersMfa: false, impersonate: false };
  expect(parseAcrValues(undefined)).toEqual(nothing);
  expect(parseAcrValues('a b:c  :d')).toEqual(nothing);
  expect(parseAcrValues('idp:eid tenant:t mfa impersonate:u')).toEqual({
    ...nothing,
    idp: 'eid',
    tenant: 't',
    mfa: true,
    impersonate: 'u',
  });
  expect(parseAcrValues('idp:a:b idp:c tenant:t tenant:t')).toEqual({ ...nothing, idp: 'a:b', tenant: 't' });
  expect(parseAcrValues('mfa:no impersonate:true')).toEqual({ ...nothing, mfa: true, impersonate: true });
  expect(parseAcrValues('impersonate: impersonate:u')).toEqual({ ...nothing, impersonate: true });
  expect(parseAcrValues('mfa idp:a pwd')).toEqual({ ...nothing, idp: 'a', prefersMfa: true });
  expect(parseAcrValues('pwd mfa pwd')).toEqual(nothing);
  expect(parseAcrValues('mfa pwd mfa:x')).toEqual({ ...nothing, mfa: true });
  expect(parseAcrValues('impersonate:false impersonate:u mfa:false')).toEqual({ ...nothing, impersonate: 'u' });
});

describe('OpenID Connect Core §3.1.2.1: acr is the level that was reached', () => {
  type Parameters = Record<string, string>;
  const tokensOf = async (more: Parameters, agent = new Agent(), client = 'web') =>
    (await redeem(service.issuer, await obtainCode(service.issuer, agent, client, { scope: 'openid offline_access', ...more }))).json;

  test.each(['pwd', 'urn:of:somebody:else pwd', 'tenant:ACME', 'nonsense'])(
    'with acr_values=%s it is in the ID token, refreshed ones too',
    async (asked) => {
      for (const client of ['web', 'jwt']) {
        const tokens = await tokensOf({ acr_values: asked.replace('ACME', acme) }, new Agent(), client);
        expect(decodeJwt(tokens.id_token)).toMatchObject({ acr: 'pwd', amr: ['pwd'] });
        const { json } = await refresh(service.issuer, tokens.refresh_token, client);
        expect(decodeJwt(json.id_token)).toMatchObject({ acr: 'pwd' });
      }
    },
  );

  test('of a single sign-on too; without acr_values it is in none', async () => {
    const agent = new Agent();
    const { id_token } = await tokensOf({}, agent);
    expect(decodeJwt(id_token)).not.toHaveProperty('acr');
    expect(decodeJwt((await tokensOf({ acr_values: 'pwd', prompt: 'none' }, agent)).id_token)).toMatchObject({ acr: 'pwd' });
    const { json } = await endpointsOf(service.issuer).userinfo((await tokensOf({ acr_values: 'pwd' }, agent)).access_token);
    expect(json).not.toHaveProperty('acr');
  });

  test('in an ID token of the authorization endpoint, and of a client with default_acr_values', async () => {
    const metadata = { redirect_uris: ['https://implicit.test/cb'], response_types: ['id_token'], grant_types: ['implicit'] };
    const defaults = { redirect_uris: [redirectUri], default_acr_values: ['pwd'] };
    const { clients } = service.idp.directory;
    await clients.create({ id: 'implicit', name: 'Implicit', secret: 'implicit-secret', metadata, allowedScopes: ['openid'] });
    await clients.create({ id: 'levelled', name: 'Levelled', secret: 'levelled-secret', metadata: defaults, allowedScopes: ['openid'] });
    const implicit = { client_id: 'implicit', redirect_uri: 'https://implicit.test/cb', response_type: 'id_token', nonce: 'n' };
    const { location = '' } = await bob.get(authorizeUrl(service.issuer, { ...implicit, acr_values: 'pwd' }));
    expect(decodeJwt(new URLSearchParams(new URL(location).hash.slice(1)).get('id_token') ?? '')).toMatchObject({ acr: 'pwd' });
    expect(decodeJwt((await tokensOf({ scope: 'openid' }, new Agent(), 'levelled')).id_token)).toMatchObject({ acr: 'pwd' });
  });

  test('a sign-in that somebody else vouched for has none', () => {
    expect([['external'], ['pwd', 'otp'], [], undefined].map((amr) => reachedLevel(amr))).toEqual([undefined, 'pwd', undefined, undefined]);
  });

  test('discovery names the levels, and the claim', async () => {
    const document = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(document).toMatchObject({ acr_values_supported: ['mfa', 'pwd'], claims_supported: expect.arrayContaining(['acr']) });
  });
});
