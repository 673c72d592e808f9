/** Security table M3: a policy that no method here can meet signs nobody in, in any way. After it is cleared, sign-ins continue. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { fromEverywhere } from '../support/client/addresses.js';
import { Agent, authorizeUrl, createPkce, obtainTokens, postForm, signIn } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { type CodeInHand, introspect, obtainCode, redeem, userinfo } from '../support/client/steps.js';
import { formTypes, plainType } from '../support/requests/both-doors.js';
import { startIdp } from '../support/service/idp.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { forgettable } from '../support/stores/told-changes.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

type Policy = { methods?: readonly string[]; requireMfa?: boolean };

/** Policies that older rows may have, or that may be written today. */
const policies: readonly (readonly [string, Policy])[] = [
  ['a method that does not exist', { methods: ['passkey'] }],
  ['no method at all', { methods: [] }],
  ['such a method and a second factor', { methods: ['eid'], requireMfa: true }],
];

const { directory: rows, forget } = forgettable(memoryDirectory());
const tenantId = '00000000-0000-7000-8000-0000000000ac';
let key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
const setPolicy = async (signIn: Policy | undefined) => {
  await rows.collection<{ id: string; version: number }>('tenants').update(tenantId, (row) => ({ ...row, signIn }));
  // This write skips the services, as an earlier version did, so the caches must be notified.
  await forget(() => idp.idp.directory.tenants.update(tenantId, { name: 'Forgotten' }));
};

const idp = useIdp(async () => {
  const [acme, globex] = testSeed.tenants;
  const tenants = [{ ...acme, id: tenantId }, globex];
  const trusted = await generateKeyPair('ES256');
  key = trusted.privateKey;
  const jwks = { keys: [{ ...(await exportJWK(trusted.publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }] };
  const metadata = { redirect_uris: [redirectUri], jwks };
  const clients = [
    ...testSeed.clients,
    { id: 'trusted', name: 'Trusted', secret: 'trusted-secret', metadata, allowedScopes: ['openid'], trustedLoginHint: true },
  ];
  return {
    directory: rows,
    trustProxy: fromEverywhere(),
    seed: { ...testSeed, tenants, clients } as unknown as typeof testSeed,
  };
});

afterEach(async () => {
  await setPolicy(undefined);
  idp.logged.length = 0;
});

const pkce = createPkce();
const url = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(idp.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const hint = async () => {
  const [alice] = await idp.idp.directory.accounts.candidates('alice@acme.test');
  const now = epochSeconds();
  const claims = { iss: 'trusted', aud: idp.issuer, jti: randomUUID(), iat: now, exp: now + 60, oid: alice?.person.user.id };
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'own', typ: 'login-hint+jwt' }).sign(key);
};
const refreshBy = (type: string, token: string) =>
  postForm(
    `${idp.issuer}/connect/token`,
    { grant_type: 'refresh_token', refresh_token: token },
    { 'content-type': type, ...credentialsOf('web') },
  );
const redeemBy = (type: string, { code, verifier }: CodeInHand) =>
  postForm(
    `${idp.issuer}/connect/token`,
    { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
    { 'content-type': type, ...credentialsOf('web') },
  );

describe.each(policies)('M3: a policy of %s', (_, policy) => {
  test('signs nobody in on the pages, with the right password; those of other tenants go on', async () => {
    await setPolicy(policy);
    const answer = await signIn(new Agent(), url());
    expect({ status: answer.status, location: answer.location }).toEqual({ status: 400, location: undefined });
    expect(membersOf(await signIn(new Agent(), url(), 'bob@globex.test', 'bob'))).toHaveProperty('code');
  });

  test('ends single sign-on for as long as it stands', async () => {
    const { agent } = await obtainTokens(idp.issuer);
    await setPolicy(policy);
    expect(isSignInPage(await agent.follow(await agent.get(url())))).toBe(true);
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    await setPolicy(undefined);
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
  });

  test('is not passed by a login hint token', async () => {
    const token = await hint();
    await setPolicy(policy);
    const answer = await new Agent().get(url({ client_id: 'trusted', login_hint_token: token, prompt: 'none' }));
    expect(membersOf(answer)).toMatchObject({ error: 'login_required' });
  });

  test('is not passed by a switch from a linked account, whose own sign-in rests on the parent in that tenant', async () => {
    const { agent } = await obtainTokens(idp.issuer, { userName: 'alice@globex.test' });
    await setPolicy(policy);
    expect(membersOf(await agent.get(url({ prompt: 'none', acr_values: `tenant:${tenantId}` })))).not.toHaveProperty('code');
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    const page = await agent.follow(await agent.get(url({ prompt: 'select_account' })));
    expect(page.body.replaceAll('<wbr>', '')).not.toContain('alice@acme.test');
    await setPolicy(undefined);
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
  });

  test.each(formTypes)('refuses a refresh and ends no family (%s)', async (type) => {
    const first = (await redeem(idp.issuer, await obtainCode(idp.issuer, new Agent(), 'web', { scope: 'openid offline_access' }))).json;
    await setPolicy(policy);
    for (let round = 0; round < 2; round += 1)
      expect(await refreshBy(type, first.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect((await introspect(idp.issuer, first.access_token)).json).toEqual({ active: false });
    expect((await userinfo(idp.issuer, first.access_token)).status).toBe(401);
    await setPolicy(undefined);
    const next = await refreshBy(type, first.refresh_token);
    expect(next).toMatchObject({ status: 200, json: { refresh_token: expect.any(String) } });
    expect((await introspect(idp.issuer, first.access_token)).json).toMatchObject({ active: true });
  });

  test.each(formTypes)('redeems no code of before (%s)', async (type) => {
    const code = await obtainCode(idp.issuer, new Agent());
    await setPolicy(policy);
    expect(await redeemBy(type, code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('is told with its reason, once, and by health() until it is cleared', async () => {
    await setPolicy(policy);
    for (let round = 0; round < 3; round += 1) await signIn(new Agent(), url());
    const told = idp.logged.filter(([, message]) => String(message).includes('policy'));
    expect(told).toEqual([[{ tid: tenantId, reason: expect.stringMatching(/^signIn\.methods: /) }, expect.any(String)]]);
    const problem = { code: 'policy_unmet', collection: 'tenants', id: tenantId };
    expect(await idp.idp.health()).toMatchObject({ status: 'up', problems: [problem] });
    await setPolicy(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await idp.idp.health()).toMatchObject({ status: 'up', problems: [] });
  });

  test('lets nobody create an account', async () => {
    await setPolicy({ ...policy, selfRegistration: true } as Policy);
    const answer = await new Agent().get(url({ prompt: 'create', acr_values: `tenant:${tenantId}` }));
    expect(membersOf(answer)).toMatchObject({ error: 'access_denied' });
  });
});

test('M3: such tenants are named at start', async () => {
  const directory = memoryDirectory();
  const [acme, globex] = testSeed.tenants;
  const seed = { ...testSeed, tenants: [{ ...acme, id: tenantId }, globex] } as unknown as typeof testSeed;
  await (await startIdp({ directory, seed })).close();
  await directory
    .collection<{ id: string; version: number }>('tenants')
    .update(tenantId, (row) => ({ ...row, signIn: { methods: ['eid'] } }));
  const other = await startIdp({ directory });
  try {
    expect(other.logged.filter(([, message]) => String(message).includes('policy'))).toEqual([
      [{ tenants: [{ tid: tenantId, reason: expect.stringContaining('methods') }] }, expect.any(String)],
    ]);
    expect((await other.idp.health()).problems).toHaveLength(1);
  } finally {
    await other.close();
  }
});

test('M3: a sign-in that is voided ends its family, under whatever policy', async () => {
  const first = (await redeem(idp.issuer, await obtainCode(idp.issuer, new Agent(), 'web', { scope: 'openid offline_access' }))).json;
  await setPolicy({ methods: [] });
  const { users } = idp.idp.tenant(tenantId);
  await users.signOutEverywhere((await users.findByUserName('alice@acme.test'))?.user.id ?? '');
  await setPolicy(undefined);
  expect(await refreshBy(plainType, first.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
});
