import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, postForm } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { isActive, redeem } from '../../support/client/steps.js';
import { testKeys } from '../../support/service/keys.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

type Claims = Record<string, unknown>;
type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
let key: Key;
const account = {} as Record<'alice' | 'linked' | 'bob', { oid: string; tid: string }>;
const service = useIdp();
beforeAll(async () => {
  const pair = await generateKeyPair('ES256');
  key = pair.privateKey;
  const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }] };
  const metadata = { redirect_uris: [redirectUri], jwks };
  const { clients } = service.idp.directory;
  const settings = { metadata, allowedScopes: ['openid'] };
  await clients.create({ id: 'trusted', name: 'Trusted', secret: 'trusted-secret', ...settings, trustedLoginHint: true });
  await clients.create({ id: 'plain', name: 'Plain', secret: 'plain-secret', ...settings });
  const pairwise = { ...metadata, subject_type: 'pairwise' };
  await clients.create({ id: 'sector', name: 'Sector', secret: 'sector-secret', ...settings, metadata: pairwise, trustedLoginHint: true });
  for (const [name, userName] of Object.entries({ alice: 'alice@acme.test', linked: 'alice@globex.test', bob: 'bob@globex.test' })) {
    const [found] = await service.idp.directory.accounts.candidates(userName);
    if (!found) throw new Error(`no ${userName}`);
    account[name as 'alice'] = { oid: found.person.user.id, tid: found.tenant.id };
  }
});

afterEach(backToPresent);

/** Returns a signed token. The given claims and header members replace the valid ones. */
async function tokenFor(claims: Claims, header: Claims = {}, signer: Key | Uint8Array = key): Promise<string> {
  const now = epochSeconds();
  const all: Claims = { iss: 'trusted', aud: service.issuer, jti: randomUUID(), iat: now, exp: now + 60, ...claims };
  const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'own', typ: 'login-hint+jwt', ...header }).sign(signer);
}

const pkce = createPkce();
const respond = async (token: string, parameters: Record<string, string | undefined> = {}, agent = new Agent()): Promise<Answer> =>
  agent.follow(
    await agent.get(
      authorizeUrl(service.issuer, {
        client_id: 'trusted',
        code_challenge: pkce.challenge,
        code_challenge_method: 'S256',
        login_hint_token: token,
        ...parameters,
      }),
    ),
  );
const responseTo = async (...call: Parameters<typeof respond>) => membersOf(await respond(...call));

const claimsOf = async (answer: Answer, client = 'trusted') => {
  const { json } = await redeem(service.issuer, { client, code: membersOf(answer).code ?? '', verifier: pkce.verifier });
  return decodeJwt(json.id_token);
};
/** Returns the user name that the page has filled in. Undefined means that the page asks for a user name. */
const filledIn = (answer: Answer): string | undefined => formOf(answer).fields.identifier || undefined;

describe('4.2 login_hint_token of a client with trustedLoginHint', () => {
  test.each(['login_hint_token', 'sso_token'])('design §5: as %s it signs in, and says so in amr and idp', async (name) => {
    const agent = new Agent();
    const token = await tokenFor({ oid: account.alice.oid });
    const claims = await claimsOf(await respond(token, { login_hint_token: undefined, [name]: token }, agent));
    expect(claims).toMatchObject({ sub: account.alice.oid, tid: account.alice.tid, amr: ['external'], idp: 'trusted' });
    expect(await responseTo('', { login_hint_token: undefined, prompt: 'none' }, agent)).toHaveProperty('code');
  });

  test('design §5: works without interaction, and through a pushed request', async () => {
    expect(await responseTo(await tokenFor({ sub: account.bob.oid }), { prompt: 'none' })).toHaveProperty('code');
    const parameters = {
      client_id: 'trusted',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: pkce.challenge,
      code_challenge_method: 'S256',
      login_hint_token: await tokenFor({ oid: account.bob.oid }),
    };
    const { json } = await postForm(`${service.issuer}/connect/par`, parameters, credentialsOf('trusted'));
    const agent = new Agent();
    const query = new URLSearchParams({ client_id: 'trusted', request_uri: json.request_uri });
    const answer = await agent.follow(await agent.get(`${service.issuer}/connect/authorize?${query}`));
    expect(await claimsOf(answer)).toMatchObject({ tid: account.bob.tid });
  });

  test('design §5: sub of linked accounts is the one of tid, or of tenant:; else the one it names', async () => {
    const { alice, linked } = account;
    const sub = alice.oid;
    expect(await claimsOf(await respond(await tokenFor({ sub, tid: linked.tid })))).toMatchObject({ sub, ...linked });
    expect(await claimsOf(await respond(await tokenFor({ sub }), { acr_values: `tenant:${linked.tid}` }))).toMatchObject({
      sub,
      ...linked,
    });
    expect(await claimsOf(await respond(await tokenFor({ sub })))).toMatchObject({ sub, ...alice });
    expect(await claimsOf(await respond(await tokenFor({ oid: linked.oid })))).toMatchObject({ sub, ...linked });
  });

  test('design §5: the time of the sign-in is the one it tells, else when it was made', async () => {
    const now = epochSeconds();
    const told = await claimsOf(await respond(await tokenFor({ oid: account.alice.oid, auth_time: now - 1000 })));
    expect(told.auth_time).toBe(now - 1000);
    expect(isSignInPage(await respond(await tokenFor({ oid: account.alice.oid, auth_time: now - 1000 }), { max_age: '60' }))).toBe(true);
    const later = await claimsOf(await respond(await tokenFor({ oid: account.alice.oid, auth_time: now + 1000 })));
    expect(Number(later.auth_time)).toBeLessThanOrEqual(epochSeconds());
  });

  test('design §5: a jti counts once; after that it is a hint', async () => {
    const token = await tokenFor({ oid: account.alice.oid });
    expect(await responseTo(token)).toHaveProperty('code');
    expect(await responseTo(token, { prompt: 'none' })).toMatchObject({ error: 'login_required' });
    expect(filledIn(await respond(token))).toBe('alice@acme.test');
    const same = await Promise.all(Array.from({ length: 20 }, () => tokenFor({ oid: account.alice.oid, jti: 'same' })));
    const answers = await Promise.all(same.map((one) => respond(one)));
    expect(answers.filter(({ location }) => location !== undefined)).toHaveLength(1);
  });

  test('security F: while somebody else is signed in it takes a sign-in, and ends nothing', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    const token = await tokenFor({ oid: account.bob.oid });
    expect(await responseTo(token, { prompt: 'none', acr_values: `tenant:${account.bob.tid}` }, agent)).toHaveProperty('error');
    expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
    expect(await claimsOf(await respond(token, {}, agent))).toMatchObject({ tid: account.alice.tid });
  });

  test('4.2 who has to consent is still asked', async () => {
    const { clients } = service.idp.directory;
    await clients.update('trusted', { requireConsent: true });
    const agent = new Agent();
    const page = await respond(await tokenFor({ oid: account.bob.oid }), {}, agent);
    expect(page.body).toContain('name="decision"');
    expect(await claimsOf(await agent.follow(await agent.submit(page, { decision: 'allow' })))).toMatchObject({ tid: account.bob.tid });
    await clients.update('trusted', { requireConsent: false });
  });

  test('design §3: to a linked account it changes, and ends nothing', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    expect(await claimsOf(await respond(await tokenFor({ oid: account.linked.oid }), {}, agent))).toMatchObject({
      tid: account.linked.tid,
    });
    expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
  });

  test('security F: the session gets a new id with it', async () => {
    const agent = new Agent();
    agent.cookies.set('idp.session /', { value: 'planted', path: '/' });
    await respond(await tokenFor({ oid: account.bob.oid }), {}, agent);
    expect(agent.cookies.get('idp.session /')?.value).toMatch(/^[\w-]{54}$/);
  });

  test.each([
    ['prompt=login', { prompt: 'login' }],
    ['prompt=select_account', { prompt: 'select_account' }],
  ])('4.2 %s wants more than a token', async (_, parameters) => {
    expect(isSignInPage(await respond(await tokenFor({ oid: account.alice.oid }), parameters))).toBe(true);
  });

  test('4.2 tenant: and the tenants of the client bind it', async () => {
    const token = () => tokenFor({ oid: account.alice.oid });
    const elsewhere = { acr_values: `tenant:${account.bob.tid}` };
    expect(await responseTo(await token(), { ...elsewhere, prompt: 'none' })).toMatchObject({ error: 'login_required' });
    expect(filledIn(await respond(await token(), elsewhere))).toBeUndefined();
    expect(await responseTo(await tokenFor({ oid: account.alice.oid, tid: account.bob.tid }), { prompt: 'none' })).toMatchObject({
      error: 'login_required',
    });
    await service.idp.directory.clients.update('trusted', { allowedTenants: [account.bob.tid] });
    expect(await responseTo(await token(), { prompt: 'none' })).toMatchObject({ error: 'login_required' });
    await service.idp.directory.clients.update('trusted', { allowedTenants: null });
  });

  test('design §6: a tenant that requires more is not entered with it', async () => {
    const { tenants } = service.idp.directory;
    await tenants.update(account.alice.tid, { signIn: { methods: ['password'] } });
    expect(filledIn(await respond(await tokenFor({ oid: account.alice.oid })))).toBe('alice@acme.test');
    await tenants.update(account.alice.tid, { signIn: { requireMfa: true } });
    expect((await respond(await tokenFor({ oid: account.alice.oid }))).body).toContain('<h1>Set up a second factor</h1>');
    await tenants.update(account.alice.tid, { signIn: null });
  });

  test('design §3: users that are gone, disabled, or signed out everywhere since are not signed in', async () => {
    const { users } = service.idp.tenant(account.bob.tid);
    expect(filledIn(await respond(await tokenFor({ oid: randomUUID() })))).toBeUndefined();
    await users.disable(account.bob.oid);
    expect(await responseTo(await tokenFor({ oid: account.bob.oid }), { prompt: 'none' })).toMatchObject({ error: 'login_required' });
    await users.enable(account.bob.oid);
    passTime(5);
    const before = epochSeconds() - 60;
    expect(await responseTo(await tokenFor({ oid: account.bob.oid, auth_time: before }), { prompt: 'none' })).toMatchObject({
      error: 'login_required',
    });
    expect(await responseTo(await tokenFor({ oid: account.bob.oid }), { prompt: 'none' })).toHaveProperty('code');
  });

  test('OpenID Connect Core §8.1: a pairwise client names the user as it knows them', async () => {
    const tokens = await obtainTokens(service.issuer, { client: 'sector', secret: 'sector-secret' });
    const { sub, oid } = decodeJwt(tokens.tokens.id_token);
    for (const claims of [{ sub }, { oid }]) {
      const answer = await respond(await tokenFor({ iss: 'sector', ...claims }), { client_id: 'sector' });
      expect(await claimsOf(answer, 'sector')).toMatchObject({ sub });
    }
    const known = await tokenFor({ iss: 'sector', oid: account.alice.oid });
    expect(await responseTo(known, { client_id: 'sector', prompt: 'none' })).toMatchObject({ error: 'login_required' });
  });
});

describe('4.2 login_hint_token of another client', () => {
  test('design §5: fills in the user name, and signs nobody in', async () => {
    const token = () => tokenFor({ iss: 'plain', oid: account.alice.oid });
    expect(await responseTo(await token(), { client_id: 'plain', prompt: 'none' })).toMatchObject({ error: 'login_required' });
    const page = await respond(await token(), { client_id: 'plain' });
    expect(filledIn(page)).toBe('alice@acme.test');
    const agent = new Agent();
    const own = await respond(await token(), { client_id: 'plain' }, agent);
    expect(membersOf(await agent.follow(await agent.submit(own, { password: 'alice' })))).toHaveProperty('code');
  });

  test('4.2 login_hint goes first', async () => {
    const token = await tokenFor({ iss: 'plain', oid: account.alice.oid });
    expect(filledIn(await respond(token, { client_id: 'plain', login_hint: 'bob@globex.test' }))).toBe('bob@globex.test');
  });
});

describe('design §5: signed by the service', () => {
  const byService = async (claims: Claims, header: Claims = {}) => {
    const [, jwk] = testKeys;
    const signer = (await importJWK(jwk ?? {}, 'ES256')) as Key;
    return tokenFor({ iss: service.issuer, ...claims }, { kid: 'test-es256', ...header }, signer);
  };

  test('design §5: it signs in to trusted clients, and is a hint to others', async () => {
    expect(await claimsOf(await respond(await byService({ oid: account.alice.oid })))).toMatchObject({
      idp: service.issuer,
      tid: account.alice.tid,
    });
    expect(filledIn(await respond(await byService({ oid: account.alice.oid }), { client_id: 'plain' }))).toBe('alice@acme.test');
  });

  test('security B: no other JWT of the service will do', async () => {
    const { tokens } = await obtainTokens(service.issuer, { client: 'jwt', secret: 'jwt-secret' });
    for (const token of [tokens.id_token, tokens.access_token, await byService({ oid: account.bob.oid }, { typ: undefined })])
      expect(await responseTo(token)).toMatchObject({ error: 'invalid_request' });
  });
});

describe('design §5: a login_hint_token that is not right is invalid_request', () => {
  const in10Minutes = () => epochSeconds() + 600;
  test.each<[string, () => Claims, Claims]>([
    ['no iss', () => ({ iss: undefined }), {}],
    ['another iss', () => ({ iss: 'plain' }), {}],
    ['the issuer as iss', () => ({ iss: service.issuer }), {}],
    ['no aud', () => ({ aud: undefined }), {}],
    ['another aud', () => ({ aud: `${service.issuer}/` }), {}],
    ['a second aud', () => ({ aud: [service.issuer, 'https://elsewhere.test'] }), {}],
    ['no exp', () => ({ exp: undefined }), {}],
    ['an exp that is past', () => ({ exp: in10Minutes() - 700 }), {}],
    ['an exp in ten minutes', () => ({ exp: in10Minutes() }), {}],
    ['an iat to come', () => ({ iat: in10Minutes(), exp: in10Minutes() + 60 }), {}],
    ['a nbf to come', () => ({ nbf: in10Minutes() }), {}],
    ['no jti', () => ({ jti: undefined }), {}],
    ['an empty jti', () => ({ jti: '' }), {}],
    ['no user', () => ({ oid: undefined }), {}],
    ['a user that is no text', () => ({ oid: { $ne: '' } }), {}],
    ['a tid that is no text', () => ({ tid: 1 }), {}],
    ['another typ', () => ({}), { typ: 'JWT' }],
    ['no typ', () => ({}), { typ: undefined }],
    ['another kid', () => ({}), { kid: 'other' }],
  ])('design §5: %s', async (_, claims, header) => {
    const token = await tokenFor({ oid: account.alice.oid, ...claims() }, header);
    expect(await responseTo(token)).toMatchObject({ error: 'invalid_request' });
    expect(await responseTo('', { login_hint_token: undefined, sso_token: token })).toMatchObject({ error: 'invalid_request' });
  });

  test('design §5: another key, a secret, no signature, no JWT, another client’s', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const right = await tokenFor({ oid: account.alice.oid });
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const wrong = [
      await tokenFor({ oid: account.alice.oid }, {}, privateKey),
      await tokenFor({ oid: account.alice.oid }, { alg: 'HS256' }, new TextEncoder().encode('trusted-secret of 32 bytes at the least')),
      `${encoded({ alg: 'none', typ: 'login-hint+jwt' })}.${right.split('.')[1]}.`,
      await tokenFor({ oid: account.alice.oid }, { kid: '../../own' }),
      await tokenFor({ oid: account.alice.oid }, { jku: 'https://elsewhere.test/jwks', kid: 'theirs' }, privateKey),
      await tokenFor({ oid: account.alice.oid }, { jwk: await exportJWK(publicKey) }, privateKey),
      `${right.slice(0, -4)}AAAA`,
      'nonsense',
      'a.b.c',
      `${right}.`,
    ];
    for (const token of wrong) expect(await responseTo(token)).toMatchObject({ error: 'invalid_request' });
    expect(await responseTo(right, { client_id: 'plain' })).toMatchObject({ error: 'invalid_request' });
    expect(await responseTo(right, { client_id: 'web' })).toMatchObject({ error: 'invalid_request' });
  });

  test('4.3 at the pushed request already', async () => {
    const fields = { client_id: 'trusted', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', login_hint_token: 'x' };
    const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
    expect(await postForm(`${service.issuer}/connect/par`, { ...fields, ...challenge }, credentialsOf('trusted'))).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
  });
});

test('design §5: nothing here was an error of the service', () => expectQuietLog(service));

describe('Y5: a client with trustedLoginHint whose secret a client administrator wrote', () => {
  const PRIVILEGE = 'idp.exports:read';
  let group = '';
  beforeAll(async () => {
    const { tid, oid } = account.alice;
    const { groups, users } = service.idp.tenant(tid);
    await service.idp.directory.permissions.create({ id: PRIVILEGE, name: 'Exports' });
    group = (await groups.create({ name: 'Later privileged' })).id;
    await users.addGroups(oid, { ids: [group] });
    const low = service.idp.directory.as({ actor: 'client:low' }, { by: 'tenant', tids: [], permissionIds: [] });
    await low.clients.rotateSecret('trusted');
  });
  const hint = async (name: keyof typeof account) => respond(await tokenFor({ oid: account[name].oid }));
  const isIn = (answer: Answer) => membersOf(answer).code !== undefined;

  test('signs in users without privileges, and no user who gets one, until an administrator confirms the client', async () => {
    const { groups } = service.idp.tenant(account.alice.tid);
    expect(isIn(await hint('alice'))).toBe(true);
    await groups.update(group, { permissionIds: [PRIVILEGE] });
    expect(isSignInPage(await hint('alice'))).toBe(true);
    // A session of the linked account would also open the parent account.
    expect(isSignInPage(await hint('linked'))).toBe(true);
    // An earlier test ended the sign-ins of Bob, maybe in this second.
    passTime(2);
    expect(isIn(await hint('bob'))).toBe(true);
    expect(JSON.stringify(service.logged)).toContain('a login hint did not sign the user in');
    await service.idp.directory.clients.update('trusted', {}, undefined, true);
    expect(isIn(await hint('alice'))).toBe(true);
    expect(isIn(await hint('linked'))).toBe(true);
  });
});
