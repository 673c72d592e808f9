/** Design §3: all outputs name the user in the same way, by every endpoint, response type and kind of token. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const types = ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token', 'token'] as const;
const kinds = ['public', 'pairwise'].flatMap((subject) => ['reference', 'jwt'].map((token) => [subject, token] as const));
let endpoints: Endpoints;
let bob: { readonly agent: Agent; readonly oid: string; readonly tid: string };
let alice: typeof bob & { readonly parent: string };
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  for (const [subject, token] of kinds)
    await service.idp.directory.clients.create({
      id: `${subject}-${token}`,
      name: 'All flows',
      secret: `${subject}-${token}-secret`,
      metadata: {
        redirect_uris: [redirectUri],
        response_types: [...types],
        grant_types: ['authorization_code', 'implicit', 'refresh_token'],
        subject_type: subject,
      },
      allowedScopes: ['openid', 'orders.read'],
      accessTokenType: token as 'jwt',
    });
  const accountOf = async (userName: string) => {
    const { person, tenant } = (await service.idp.directory.accounts.candidates(userName))[0] ?? {};
    return { oid: person?.user.id ?? '', tid: tenant?.id ?? '', parent: person?.user.parentUserId ?? '' };
  };
  const agentOf = async (userName: string, password: string) => (await obtainTokens(service.issuer, { userName, password })).agent;
  bob = { ...(await accountOf('bob@globex.test')), agent: await agentOf('bob@globex.test', 'bob') };
  alice = { ...(await accountOf('alice@globex.test')), agent: await agentOf('alice@globex.test', 'alice') };
});

const pkce = createPkce();

/** Returns the claims of each output that identify the user. */
async function said(client: string, agent: Agent): Promise<Json[]> {
  const found: Json[] = [];
  const note = (claims: Json) => found.push({ sub: claims.sub, oid: claims.oid, tid: claims.tid });
  const noteTokens = async ({ id_token: idToken, access_token: token }: Record<string, string>) => {
    if (idToken) note(decodeJwt(idToken));
    if (!token) return;
    if (client.endsWith('jwt')) note(decodeJwt(token));
    for (const caller of [client, 'orders']) note((await endpoints.introspect(token, caller)).json);
    note((await endpoints.userinfo(token)).json);
  };
  for (const type of types) {
    const scope = 'openid orders.read offline_access';
    const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
    const url = authorizeUrl(service.issuer, { client_id: client, response_type: type, scope, nonce: 'n', ...challenge });
    const members = membersOf(await agent.follow(await agent.get(url)));
    await noteTokens(members);
    if (!members.code) continue;
    const fields = { grant_type: 'authorization_code', code: members.code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
    const { json } = await endpoints.token(fields, client);
    await noteTokens(json);
    await noteTokens((await endpoints.refresh(json.refresh_token, client)).json);
  }
  return found;
}

/** Number of outputs: two for each of 4 codes, one for each of 4 implicit access tokens, and one for each of 4 implicit ID tokens. */
const outputs = (client: string) => (4 * 2 + 4) * (client.endsWith('jwt') ? 4 : 3) + 4 * 2 + 4;

describe.each(kinds)('design §3: sub, oid and tid for a %s client with %s tokens', (subject, token) => {
  const client = `${subject}-${token}`;

  test('of a user by itself: one sub, no oid', async () => {
    const found = await said(client, bob.agent);
    const sub = subject === 'public' ? bob.oid : found[0].sub;
    expect(found).toEqual(Array(outputs(client)).fill({ sub, oid: undefined, tid: bob.tid }));
    expect(sub === bob.oid).toBe(subject === 'public');
  });

  test('of a linked user: the sub of its parent, and an oid of its own', async () => {
    const found = await said(client, alice.agent);
    const [{ sub, oid }] = found;
    expect(found).toEqual(Array(outputs(client)).fill({ sub, oid, tid: alice.tid }));
    if (subject === 'public') expect([sub, oid]).toEqual([alice.parent, alice.oid]);
    else expect(new Set([sub, oid, alice.parent, alice.oid]).size).toBe(4);
  });
});

test('4.1 tokens carry in their header the kid of a published key', async () => {
  const { keys } = (await (await fetch(`${service.issuer}/.well-known/openid-configuration/jwks`)).json()) as Json;
  const agent = new Agent();
  const request = { client_id: 'public-jwt', response_type: 'id_token token', nonce: 'n' };
  const { id_token: idToken = '', access_token: accessToken = '' } = membersOf(await signIn(agent, authorizeUrl(service.issuer, request)));
  const signed = membersOf(await agent.get(authorizeUrl(service.issuer, { ...request, response_mode: 'jwt' })));
  for (const jwt of [idToken, accessToken, signed.response ?? '']) {
    const { kid, alg } = decodeProtectedHeader(jwt);
    expect(keys).toContainEqual(expect.objectContaining({ kid, alg, use: 'sig' }));
  }
});
