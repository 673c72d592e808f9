/** RFC 9449, for clients that use it: a token that is bound to a key is of no use without the key, through both doors. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { Agent, authorizeUrl, createPkce, type Json, postForm, signIn } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { formTypes } from '../../support/requests/both-doors.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
let agent: Agent;
const bound = {
  id: 'bound',
  name: 'Always with a proof',
  secret: 'bound-secret',
  metadata: {
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    dpop_bound_access_tokens: true,
  },
  allowedScopes: ['openid', 'profile', 'offline_access', 'orders.read'],
};
const seed = { ...testSeed, clients: [...testSeed.clients, bound] };
const service = useIdp({ seed });
const other = useIdp({ seed, configure: () => {} });
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
  agent = new Agent();
});

const pkce = createPkce();
const post = (path: string, fields: Record<string, string>, client: string, type: string) =>
  postForm(`${service.issuer}/connect/${path}`, fields, { ...credentialsOf(client), 'content-type': type });

async function codeUrl(client: string, issuer = service.issuer): Promise<URL> {
  const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
  const scope = 'openid profile offline_access orders.read';
  const { location = '' } = await signIn(agent, authorizeUrl(issuer, { client_id: client, scope, ...challenge }));
  return new URL(location);
}

/** Returns tokens that are bound to a new key. */
async function boundTokens(client: string, issuer = service.issuer) {
  const party = await discover(issuer, { client });
  const proof = openid.getDPoPHandle(party, await openid.randomDPoPKeyPair('ES256', { extractable: true }));
  const tokens = await openid.authorizationCodeGrant(party, await codeUrl(client, issuer), { pkceCodeVerifier: pkce.verifier }, undefined, {
    DPoP: proof,
  });
  return { party, proof, tokens };
}

describe('RFC 9449: a token that is bound to a key', () => {
  test.each(['web', 'jwt'])('of %s says which at introspection, and in itself', async (client) => {
    const { proof, tokens } = await boundTokens(client);
    expect(tokens.token_type).toBe('dpop');
    const jkt = await proof.calculateThumbprint();
    for (const caller of [client, 'orders'])
      for (const type of formTypes)
        expect((await post('introspect', { token: tokens.access_token }, caller, type)).json).toMatchObject({
          active: true,
          token_type: 'DPoP',
          cnf: { jkt },
        });
    if (client === 'jwt') expect(decodeJwt(tokens.access_token)).toMatchObject({ cnf: { jkt } });
  });

  test.each(['web', 'jwt'])('of %s opens userinfo with a proof, and not as a bearer token', async (client) => {
    const { party, proof, tokens } = await boundTokens(client);
    expect(await openid.fetchUserInfo(party, tokens.access_token, openid.skipSubjectCheck, { DPoP: proof })).toMatchObject({
      name: 'Alice Adams',
    });
    for (const query of ['', '?unusual=yes']) {
      const headers = { authorization: `Bearer ${tokens.access_token}` };
      const { status } = await fetch(`${service.issuer}/connect/userinfo${query}`, { headers });
      expect({ query, status }).toEqual({ query, status: 401 });
    }
  });

  test('a token that is bound to none says nothing of it', async () => {
    const { access_token: token } = await endpoints.clientCredentials();
    for (const type of formTypes) {
      const { json } = await post('introspect', { token }, 'orders', type);
      expect(json).toMatchObject({ active: true, token_type: 'Bearer' });
      expect(json).not.toHaveProperty('cnf');
    }
  });
});

describe('RFC 9449 §5.2: a client with dpop_bound_access_tokens', () => {
  const refused = { status: 400, json: { error: 'invalid_grant' } };

  test.each(formTypes)('gets no token without a proof: %s', async (type) => {
    expect(await post('token', { grant_type: 'client_credentials' }, 'bound', type)).toMatchObject(refused);
    const code = (await codeUrl('bound')).searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
    expect(await post('token', fields, 'bound', type)).toMatchObject(refused);
    const { tokens } = await boundTokens('bound');
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
    expect(await post('token', refresh, 'bound', type)).toMatchObject(refused);
  });

  test('gets them with one', async () => {
    const { party, proof, tokens } = await boundTokens('bound');
    const refreshed: Json = await openid.refreshTokenGrant(party, tokens.refresh_token ?? '', undefined, { DPoP: proof });
    expect(refreshed).toMatchObject({ token_type: 'dpop', access_token: expect.any(String) });
    expect(await openid.clientCredentialsGrant(party, undefined, { DPoP: proof })).toMatchObject({ token_type: 'dpop' });
  });

  test.each([
    ['here', service],
    ['by oidc-provider', other],
  ])('two refreshes at once, each with a proof, get the same successor, answered %s', async (_door, { issuer }) => {
    const { party, proof, tokens } = await boundTokens('bound', issuer);
    const refresh = () => openid.refreshTokenGrant(party, tokens.refresh_token ?? '', undefined, { DPoP: proof });
    const answers = await Promise.all([refresh(), refresh(), refresh()]);
    expect(new Set(answers.map(({ refresh_token: next }) => next)).size).toBe(1);
  });
});
