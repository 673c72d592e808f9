/**
 * M17: a dangling reference stops no sign-in and no claim. ID tokens, userinfo, introspection and scope introspection lack only the claims
 * of the missing row.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { Agent, authorizeUrl, type Json, obtainTokens, signIn } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { useIdp } from '../../support/service/use-idp.js';
import { forgettable } from '../../support/stores/told-changes.js';
import { askingAt, everyScope } from './asking-for-scopes.js';

type StoredRow = { readonly id: string; readonly version: number } & Readonly<Record<string, unknown>>;

const { directory, forget } = forgettable(memoryDirectory());
const service = useIdp({ directory });
const { ask } = askingAt(service);
const rowsOf = (collection: string) => directory.collection<StoredRow>(collection);
let endpoints: Endpoints;
let tid = '';
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  const [acme] = (await service.idp.directory.tenants.list({ name: 'Acme' })).items;
  tid = String(acme?.id);
});

const password = 'a password of the test';

/** Creates a person in a group with one permission. */
async function somebody() {
  const own = service.idp.directory.forTenant(tid);
  const name = randomUUID();
  const group = await own.groups.create({ name, permissionIds: ['orders.view'] });
  const email = `${name}@acme.test`;
  const { id, user } = await own.persons.create({
    ...{ givenName: 'Dora', familyName: 'Dahl', email, phoneNumber: '+4790000002' },
    user: { userName: email, status: 'active', groups: { ids: [group.id] } },
  });
  if (!user) throw new Error('The person has no user.');
  await own.credentials.setPassword(user.id, password);
  return { person: id, user: user.id, email, group };
}
type Somebody = Awaited<ReturnType<typeof somebody>>;

/** Removes a row, as a restore or another program does, and makes the caches forget the row. */
async function lose(collection: 'groups' | 'permissions' | 'subsidiaries' | 'persons' | 'tenants', id: string): Promise<void> {
  const { tenants, permissions, ...all } = service.idp.directory;
  const { groups, subsidiaries, persons } = all.forTenant(tid);
  await rowsOf(collection).remove(id);
  const patch = { name: 'Forgotten' };
  const forgetting = {
    groups: () => groups.update(id, patch),
    permissions: () => permissions.update(id, patch),
    subsidiaries: () => subsidiaries.update(id, patch),
    persons: () => persons.update(id, { givenName: 'Forgotten' }),
    tenants: () => tenants.update(id, patch),
  };
  await forget(forgetting[collection]);
}
const users = () => service.idp.directory.forTenant(tid).users;

const references: Readonly<Record<string, (who: Somebody) => Promise<unknown>>> = {
  async group({ user }) {
    const { groups } = service.idp.directory.forTenant(tid);
    const lost = await groups.create({ name: randomUUID(), permissionIds: ['orders.approve'] });
    await users().addGroups(user, { ids: [lost.id] });
    await lose('groups', lost.id);
  },
  async permission({ group }) {
    const row = (await rowsOf('groups').get(group.id)) as StoredRow;
    const lost = await service.idp.directory.permissions.create({ id: randomUUID(), name: 'Lost' });
    await service.idp.directory.forTenant(tid).groups.update(group.id, { permissionIds: [...(row.permissionIds as string[]), lost.id] });
    await lose('permissions', lost.id);
  },
  async subsidiary({ person }) {
    const { subsidiaries, persons } = service.idp.directory.forTenant(tid);
    const lost = await subsidiaries.create({ name: 'Lost', organisationNumber: '910000009' });
    await persons.update(person, { subsidiaryId: lost.id });
    await lose('subsidiaries', lost.id);
  },
  async 'child account'({ user }) {
    const [globex] = (await service.idp.directory.tenants.list({ name: 'Globex' })).items;
    const elsewhere = service.idp.directory.forTenant(String(globex?.id));
    const child = await elsewhere.persons.create({ givenName: 'Dora', user: { userName: randomUUID(), status: 'active' } });
    await elsewhere.linking.link(String(child.user?.id), { tid, userId: user });
    await lose('persons', child.id);
  },
  async 'tenant of a client'() {
    const { tenants, clients } = service.idp.directory;
    const lost = await tenants.create({ name: randomUUID() });
    await clients.update('jwt', { allowedTenants: [tid, lost.id] });
    await lose('tenants', lost.id);
  },
};

const ofToken = ['iss', 'aud', 'iat', 'nbf', 'exp', 'jti', 'auth_time', 'amr', 'idp', 'sid'];

/** Signs the person in, and returns the claims of each endpoint. */
async function claimsOf({ email, user }: Somebody, client: string) {
  const { tokens } = await obtainTokens(service.issuer, {
    client,
    secret: `${client}-secret`,
    userName: email,
    password,
    scope: everyScope,
  });
  const userinfo = await endpoints.userinfo(tokens.access_token);
  const introspection = await endpoints.introspect(tokens.access_token, client);
  const scopes = await ask({ sub: user, scope: everyScope }, client);
  return {
    idToken: decodeJwt(tokens.id_token) as Json,
    userinfo: userinfo.json as Json,
    introspection: introspection.json as Json,
    scopes: scopes.json as Json,
  };
}

describe('M17: a person signs in, and the claims have all but what is gone, with a dangling', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ...Object.keys(references).map((name) => [name, [name]] as const),
    ['reference of each kind', Object.keys(references)],
  ];

  test.each(cases)('%s', async (_, kinds) => {
    const who = await somebody();
    for (const kind of kinds) await references[kind]?.(who);
    const { idToken, userinfo, introspection, scopes } = await claimsOf(who, 'jwt');
    const ofAccount = { sub: who.user, tid, ...(kinds.includes('child account') && { oid: who.user }) };
    const ofScopes = {
      ...ofAccount,
      ...{ name: 'Dora Dahl', given_name: 'Dora', family_name: 'Dahl', preferred_username: who.email, picture: 'DD' },
      ...{ email: who.email, email_verified: false, phone_number: '+4790000002', phone_number_verified: false },
      ...{ orgid: tid, orgin: '910000001', company_name: 'Acme', role: [who.group.name], perm: ['orders.view'] },
    };
    const ofIntrospection = {
      ...{ ...ofAccount, active: true, client_id: 'jwt', token_type: 'Bearer' },
      ...{ scope: everyScope, username: who.email },
    };
    const compared = (claims: Json) => Object.fromEntries(Object.entries(claims).filter(([name]) => !ofToken.includes(name)));
    expect(compared(idToken)).toEqual(compared(ofScopes));
    expect(compared(userinfo)).toEqual(compared(ofScopes));
    expect(compared(scopes)).toEqual(compared(ofScopes));
    expect(compared(introspection)).toEqual(ofIntrospection);
  });
});

describe('M17: a linked account whose parent does not exist', () => {
  test('cannot sign in, its tokens do not work, and each endpoint says so', async () => {
    const parent = await somebody();
    const [globex] = (await service.idp.directory.tenants.list({ name: 'Globex' })).items;
    const elsewhere = service.idp.directory.forTenant(String(globex?.id));
    const userName = `${randomUUID()}@globex.test`;
    const child = await elsewhere.persons.create({ givenName: 'Dora', user: { userName, status: 'active' } });
    await elsewhere.linking.link(String(child.user?.id), { tid, userId: parent.user });
    const { agent, tokens } = await obtainTokens(service.issuer, { userName, password, scope: 'openid profile org offline_access' });
    await lose('persons', parent.person);
    const url = authorizeUrl(service.issuer);
    const silent = await agent.get(`${url}&prompt=none`);
    expect(new URL(String(silent.location)).searchParams.get('error')).toBe('login_required');
    expect(await signIn(new Agent(), url, userName, password)).toMatchObject({ status: 400, location: undefined });
    expect((await endpoints.userinfo(tokens.access_token)).status).toBe(401);
    expect((await endpoints.introspect(tokens.access_token)).json).toEqual({ active: false });
    expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    for (const sub of [String(child.user?.id), parent.user]) expect((await ask({ sub, scope: 'org' }, 'web')).status).toBe(404);
  });
});
