/** Issue 14, external sign-in: connections as records, of the instance or of a tenant. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce, postForm } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { postLogoutRedirectUri, redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

const entraTenant = '2f3c8c6e-5b1a-4c52-9d3e-6f0a4b8e7d10';
let upstream: UpstreamProvider;
let entra: UpstreamProvider;
const helper = { name: 'Helpers', permissions: ['idp.connections:write'] };
const service = useIdp(async () => {
  // Entra publishes its documents below the tenant. The ID tokens of Entra have `tid` and `oid`, and no `email_verified`.
  [upstream, entra] = await Promise.all([startUpstream(), startUpstream(`/${entraTenant}/v2.0`, { conformIdTokenClaims: false })]);
  return {
    seed: {
      ...adminSeed,
      tenants: adminSeed.tenants.map((tenant) => (tenant.name === 'Globex' ? { ...tenant, groups: [helper] } : tenant)),
      clients: [...adminSeed.clients, adminClient('reader', ['Acme'], ['idp.connections:write', 'idp.connections:read'])],
    } as never,
    limits: { adminRequestsPerMinute: 100_000 },
  };
});
let root: AdminClient;
let acme: AdminClient;
let tid: Readonly<Record<string, string>>;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  acme = administer(service.issuer, await adminToken(service.issuer, 'acme', adminScopes.join(' ')));
  tid = await tenantIds(root);
});
afterAll(() => Promise.all([upstream?.close(), entra?.close()]));

const given = (more: object = {}) => ({
  name: 'Provider',
  issuer: upstream.issuer,
  clientId: 'tenant-idp',
  clientSecret: UPSTREAM_SECRET,
  ...more,
});
const ofAcme = () => `/tenants/${tid.Acme}/connections`;
const pkce = createPkce();
const begin = async (agent: Agent, acr: string, more: Record<string, string> = {}) =>
  agent.follow(
    await agent.get(
      authorizeUrl(service.issuer, { acr_values: acr, code_challenge: pkce.challenge, code_challenge_method: 'S256', ...more }),
    ),
  );
async function tokensBy(id: string, at: UpstreamProvider, agent = new Agent()) {
  const done = await agent.follow(await agent.get(await atUpstream(at, await begin(agent, `idp:${id}`))));
  const fields = { grant_type: 'authorization_code', code: membersOf(done).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('web'))).json;
}

describe('connections in the admin API', () => {
  test('the client secret is sealed and never answered; a tenant’s connection has a generated id', async () => {
    const made = await acme.post(ofAcme(), given());
    expect([made.status, made.json.hasSecret]).toEqual([201, true]);
    expect(made.json).toMatchObject({ preset: 'oidc', redirectUri: `${service.issuer}/idp/connections/${made.json.id}/callback` });
    const one = `${ofAcme()}/${made.json.id}`;
    const answers = [made, await acme(ofAcme()), await acme(one), await acme.patch(one, { name: 'Other' })];
    answers.push(await acme(`${one}/secret`, { method: 'PUT', body: { clientSecret: 'another secret' } }));
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200]);
    for (const { text } of answers) expect(text).not.toContain('secret of tenant-idp');
    expect((await acme.remove(one)).status).toBe(204);
    expect((await acme(one)).status).toBe(404);
  });

  test('H1: a connection of another tenant, and of the instance, does not exist for a tenant’s administrator', async () => {
    const { json } = await root.post(`/tenants/${tid.Globex}/connections`, given({ id: 'of-globex' }));
    expect((await acme(`${ofAcme()}/${json.id}`)).status).toBe(404);
    expect((await acme.patch(`${ofAcme()}/${json.id}`, { name: 'Mine' })).status).toBe(404);
    expect((await acme(`/connections/${json.id}`)).json.code).toBe('all_tenants_required');
    expect((await root(`/connections/${json.id}`)).status).toBe(404);
  });

  test('id and domains are the operator’s to set; a domain is of one connection, until that gives it up', async () => {
    for (const own of [{ id: 'mine' }, { domains: ['acme.test'] }])
      expect((await acme.post(ofAcme(), given(own))).json).toMatchObject({ code: 'operator_required' });
    const first = await root.post(ofAcme(), given({ id: 'first', domains: ['Bücher.example', 'acme.test.'] }));
    expect(first.json.domains).toEqual(['xn--bcher-kva.example', 'acme.test']);
    expect((await acme.patch(`${ofAcme()}/first`, { domains: [] })).json).toMatchObject({ code: 'operator_required' });
    const taken = await root.post('/connections', given({ id: 'second', domains: ['fresh.test', 'ACME.test'] }));
    expect([taken.status, taken.json.errors?.[0]?.pointer]).toEqual([409, '/domains/1']);
    expect((await root('/connections/second')).status).toBe(404);
    await root.patch(`${ofAcme()}/first`, { domains: [] });
    expect((await root.post('/connections', given({ id: 'second', domains: ['fresh.test', 'acme.test'] }))).status).toBe(201);
    await root.remove('/connections/second');
    expect((await root.patch(`${ofAcme()}/first`, { domains: ['acme.test'] })).status).toBe(200);
  });

  test('ids of methods, connections and clients with `trustedLoginHint` share one name space, on both sides', async () => {
    for (const id of ['local', 'password', 'passkey', 'connections'])
      expect([id, (await root.post('/connections', given({ id }))).status]).toEqual([id, 409]);
    await service.idp.directory.clients.update('spa', { trustedLoginHint: true });
    expect((await root.post('/connections', given({ id: 'spa' }))).status).toBe(409);
    await service.idp.directory.clients.update('spa', { trustedLoginHint: false });
    expect((await root.post('/connections', given({ id: 'spa' }))).status).toBe(201);
    await expect(service.idp.directory.clients.update('spa', { trustedLoginHint: true })).rejects.toMatchObject({ code: 'invalid_record' });
    await root.remove('/connections/spa');
    expect((await root.post('/connections', given({ id: 'twice' }))).status).toBe(201);
    expect((await root.post(ofAcme(), given({ id: 'twice' }))).status).toBe(409);
  });

  test('nobody gets more than they hold: who writes a connection could have anybody of the tenant signed in', async () => {
    const reader = administer(service.issuer, await adminToken(service.issuer, 'reader', 'idp.connections:write idp.connections:read'));
    expect((await reader.post(ofAcme(), given())).json).toMatchObject({ code: 'connection_privileged' });
    expect((await reader(ofAcme())).status).toBe(200);
  });

  test.each([
    ['issuer', { issuer: 'http://provider.example' }],
    ['issuer', { issuer: 'https://provider.example?x=1' }],
    ['issuer', { preset: 'google', issuer: 'https://accounts.google.com.evil.example' }],
    ['issuer', { preset: 'entra', issuer: 'https://login.microsoftonline.com/common/v2.0' }],
    ['issuer', { preset: 'entra', issuer: `https://login.microsoftonline.com.evil.example/${entraTenant}/v2.0` }],
    ['subjectClaim', { subjectClaim: 'email' }],
    ['parameters/0/name', { parameters: [{ name: 'redirect_uri', value: 'https://evil.example' }] }],
    ['renamed/0/as', { renamed: [{ name: 'eid_user_visible_data', as: 'state' }] }],
    ['clientSecret', { clientSecret: undefined }],
    ['clientSecret', { clientAuth: 'private_key_jwt' }],
    ['createUsersIn', { createUsersIn: '01990000-0000-7000-8000-000000000000' }],
    ['mapping/groups/values/0/groupId', { mapping: { groups: { claim: 'groups', values: [{ value: 'a', groupId: 'b' }] } } }],
    ['domains/0', { domains: ['not a domain'] }],
    ['domains/0', { domains: ['10.0.0.1'] }],
  ])('is refused at /%s: %j', async (pointer, more) => {
    const { status, json } = await root.post(ofAcme(), given(more));
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, `/${pointer}`]);
  });
});

describe('what a connection proves itself with', () => {
  test('private_key_jwt: a key of its own, whose public part is answered and at jwksUri, and which can be replaced', async () => {
    const { json } = await root.post(
      '/connections',
      given({ id: 'keyed', clientAuth: 'private_key_jwt', keyAlgorithm: 'ES256', clientSecret: undefined }),
    );
    expect(json.publicKeys).toEqual([expect.objectContaining({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })]);
    expect(json.publicKeys[0]).not.toHaveProperty('d');
    upstream.register(service.issuer, ['keyed'], {
      client_secret: undefined,
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: json.publicKeys },
    });
    const { users } = service.idp.tenant(tid.Acme ?? '');
    const carol = (await users.findByUserName('carol@acme.test'))?.user.id ?? '';
    await users.addIdentity(carol, { idp: 'keyed', subject: 'carol' });
    upstream.person = { sub: 'carol' };
    expect(decodeJwt((await tokensBy('keyed', upstream)).id_token)).toMatchObject({ sub: carol, idp: 'keyed' });
    const assertion = upstream.redeemed.at(-1)?.client_assertion ?? '';
    expect(decodeProtectedHeader(assertion)).toMatchObject({ alg: 'ES256', kid: json.publicKeys[0].kid });
    expect(decodeJwt(assertion)).toMatchObject({ iss: 'tenant-idp', sub: 'tenant-idp', aud: upstream.issuer });

    const rotated = await root.post('/connections/keyed/rotate-key');
    const published = (await (await fetch(json.jwksUri)).json()) as { keys: { kid: string }[] };
    expect(published.keys.map(({ kid }) => kid)).toEqual([rotated.json.publicKeys[0].kid, json.publicKeys[0].kid]);
    expect(JSON.stringify(published)).not.toContain('"d"');
  });

  test('RP-initiated logout upstream by option: by client_id, without an ID token, and back to where it was to go', async () => {
    await root.post('/connections', given({ id: 'leaving', endSession: true }));
    upstream.register(service.issuer, ['leaving']);
    const { users } = service.idp.tenant(tid.Acme ?? '');
    const carol = (await users.findByUserName('carol@acme.test'))?.user.id ?? '';
    await users.addIdentity(carol, { idp: 'leaving', subject: 'carol' });
    upstream.person = { sub: 'carol' };
    const agent = new Agent();
    const tokens = await tokensBy('leaving', upstream, agent);
    const query = new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: postLogoutRedirectUri, state: 'bye' });
    const sent = await agent.follow(await agent.get(`${service.issuer}/connect/endsession?${query}`));
    const there = new URL(sent.location ?? '');
    expect(there.origin + there.pathname).toBe(`${upstream.issuer}/session/end`);
    expect(Object.fromEntries(there.searchParams)).toEqual({
      client_id: 'tenant-idp',
      post_logout_redirect_uri: `${service.issuer}/idp/connections/leaving/signed-out`,
      state: expect.any(String),
    });
    const back = `${service.issuer}/idp/connections/leaving/signed-out?state=${there.searchParams.get('state')}`;
    expect((await new Agent().get(back)).location).toBe(`${postLogoutRedirectUri}?state=bye`);
    const again = await new Agent().get(back);
    expect([again.status, again.location]).toEqual([200, undefined]);
    // Users who are signed in never get the page “You are signed out”.
    const signedIn = new Agent();
    await tokensBy('leaving', upstream, signedIn);
    for (const link of [back, back.replace(/\?.*/, '')]) expect((await signedIn.get(link)).location).toBe(`${service.issuer}/idp/account`);
  });
});

describe('presets, tried against doubles shaped like the published discovery', () => {
  test('Microsoft Entra ID: the issuer is of one tenant, `tid` is checked, the subject is `oid`, and addresses stay unverified', async () => {
    const issuer = entra.issuer;
    const { json, status } = await root.post(ofAcme(), given({ id: 'entra', preset: 'entra', issuer, createUsersIn: tid.Acme }));
    expect([status, json.requiredClaims, json.subjectClaim]).toEqual([201, [{ claim: 'tid', value: entraTenant }], 'oid']);
    entra.register(service.issuer, ['entra'], { token_endpoint_auth_method: 'client_secret_post' });
    const oid = '7a0f6a3e-0d3c-4c51-8a54-64a2c9f0d3b1';
    entra.person = {
      sub: 'pairwise',
      oid,
      tid: entraTenant,
      preferred_username: 'erik@acme.example',
      email: 'erik@acme.example',
      name: 'Erik Ek',
    };
    const { sub } = decodeJwt((await tokensBy('entra', entra)).id_token);
    expect(await service.idp.tenant(tid.Acme ?? '').users.require(String(sub))).toMatchObject({
      givenName: 'Erik',
      familyName: 'Ek',
      user: { userName: 'erik@acme.example', emailVerified: false, externalIdentities: [{ idp: 'entra', subject: oid }] },
    });
    entra.person = { ...entra.person, tid: '00000000-1111-2222-3333-444444444444' };
    const agent = new Agent();
    const page = await agent.follow(await agent.get(await atUpstream(entra, await begin(agent, 'idp:entra'))));
    expect([page.status, page.body.includes('You don’t have access to')]).toEqual([400, true]);
  });

  test('Google: its issuer by default, and one Workspace by `hd`', async () => {
    const google = await root.post('/connections', {
      preset: 'google',
      id: 'google',
      name: 'Google',
      clientId: 'x',
      clientSecret: 'y',
      hasButton: false,
    });
    expect([google.status, google.json.issuer]).toEqual([201, 'https://accounts.google.com']);
    const hd = { requiredClaims: [{ claim: 'hd', value: 'acme.test' }], parameters: [{ name: 'hd', value: 'acme.test' }] };
    expect((await root.post(ofAcme(), given({ id: 'workspace', preset: 'google', createUsersIn: tid.Acme, ...hd }))).status).toBe(201);
    upstream.register(service.issuer, ['workspace']);
    const person = { sub: '1098', email: 'gina@acme.test', email_verified: true, given_name: 'Gina', family_name: 'Gran' };
    upstream.person = { ...person, hd: 'acme.test' };
    expect(decodeJwt((await tokensBy('workspace', upstream)).id_token)).toMatchObject({ idp: 'workspace', amr: ['external'] });
    expect(upstream.asked.at(-1)?.get('hd')).toBe('acme.test');
    upstream.person = { ...person, sub: '1099', hd: 'evil.test' };
    const agent = new Agent();
    const page = await agent.follow(await agent.get(await atUpstream(upstream, await begin(agent, 'idp:workspace'))));
    expect([page.status, page.location]).toEqual([400, undefined]);
  });
});
