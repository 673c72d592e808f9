/** Writes of the admin API show in the next userinfo, refresh and scope introspection. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { basic, type Json, obtainTokens, postForm } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({ seed: adminSeed });
let root: AdminClient;
let at: string;
let alice: Json;
let tokens: Json;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  at = `/tenants/${(await tenantIds(root)).Acme}`;
  alice = (await root(`${at}/users?userName=alice@acme.test`)).json.items[0];
  ({ tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access profile email org roles perms' }));
});

async function told(oid = alice.id): Promise<readonly Json[]> {
  const userinfo = (await (
    await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
  ).json()) as Json;
  const fields = { sub: oid, tid: userinfo.tid, scope: 'profile email org roles perms' };
  const introspected = await postForm(`${service.issuer}/connect/scope/introspect`, fields, { authorization: basic('web', 'web-secret') });
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
  const { json } = await postForm(`${service.issuer}/connect/token`, refresh, { authorization: basic('web', 'web-secret') });
  tokens = json;
  const after = (await (
    await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${json.access_token}` } })
  ).json()) as Json;
  expect(decodeJwt(json.id_token).sub).toBe(userinfo.sub);
  return [userinfo, introspected.json, after];
}

describe('claims after each write', () => {
  test('of a person', async () => {
    await root.patch(`${at}/persons/${alice.personId}`, { familyName: 'Abbot', email: 'abbot@acme.test' });
    for (const claims of await told())
      expect(claims).toMatchObject({ family_name: 'Abbot', email: 'abbot@acme.test', email_verified: false });
  });

  test('of a user', async () => {
    await root.patch(`${at}/users/${alice.id}`, { emailVerified: true, userName: 'abbot' });
    // The address is not the user name.
    for (const claims of await told()) expect(claims).toMatchObject({ email_verified: false, preferred_username: 'abbot' });
    await root.patch(`${at}/users/${alice.id}`, { userName: 'Abbot@ACME.test' });
    for (const claims of await told()) expect(claims).toMatchObject({ email_verified: true, preferred_username: 'Abbot@ACME.test' });
  });

  test('of a group, and of who is in it', async () => {
    const { json: group } = await root.post(`${at}/groups`, { name: 'Truth', permissionIds: ['orders.view'] });
    await root(`${at}/users/${alice.id}/groups`, { method: 'PUT', body: { ids: [group.id] } });
    for (const claims of await told()) expect([claims.role, claims.perm]).toEqual([['Truth'], ['orders.view']]);
    await root.patch(`${at}/groups/${group.id}`, { name: 'Facts', permissionIds: ['orders.approve'] });
    for (const claims of await told()) expect([claims.role, claims.perm]).toEqual([['Facts'], ['orders.approve']]);
    await root.remove('/permissions/orders.approve');
    for (const claims of await told()) expect(claims.perm ?? []).toEqual([]);
    await root.remove(`${at}/groups/${group.id}`);
    for (const claims of await told()) expect(claims.role ?? []).toEqual([]);
  });

  test('of a subsidiary and a tenant', async () => {
    const { json: subsidiary } = await root.post(`${at}/subsidiaries`, { name: 'North', organisationNumber: '99' });
    await root.patch(`${at}/persons/${alice.personId}`, { subsidiaryId: subsidiary.id });
    for (const claims of await told()) expect(claims.company_name).toBe('North');
    await root.remove(`${at}/subsidiaries/${subsidiary.id}`);
    await root.patch(at, { name: 'Acme Group' });
    for (const claims of await told()) expect(claims.company_name).toBe('Acme Group');
  });

  test('of a link, and of its end', async () => {
    const own = tokens;
    const globex = `/tenants/${(await tenantIds(root)).Globex}`;
    const [bob] = (await root(`${globex}/users?userName=bob@globex.test`)).json.items;
    const [carol] = (await root(`${at}/users?userName=carol@acme.test`)).json.items;
    const link = `${globex}/users/${bob.id}/link/${carol.id}`;
    const signedIn = async (password: string) =>
      (await obtainTokens(service.issuer, { scope: 'openid offline_access email', userName: 'bob@globex.test', password })).tokens;

    expect((await root.post(link)).status).toBe(200);
    tokens = await signedIn('carol');
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: carol.id, oid: bob.id });
    for (const claims of await told(bob.id)) expect([claims.sub, claims.oid]).toEqual([carol.id, bob.id]);
    const { refresh_token: linked } = tokens;

    expect((await root.remove(link)).status).toBe(200);
    const fields = { grant_type: 'refresh_token', refresh_token: linked };
    const { json } = await postForm(`${service.issuer}/connect/token`, fields, { authorization: basic('web', 'web-secret') });
    expect(json.error).toBe('invalid_grant');
    tokens = await signedIn('bob');
    for (const claims of await told(bob.id)) expect([claims.sub, claims.oid]).toEqual([bob.id, undefined]);
    tokens = own;
  });

  test('a disabled user has none, and no token works', async () => {
    await root.post(`${at}/users/${alice.id}/disable`);
    const { status } = await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const { json } = await postForm(`${service.issuer}/connect/token`, refresh, { authorization: basic('web', 'web-secret') });
    expect([status, json.error]).toEqual([401, 'invalid_grant']);
  });
});
