/** Removal of a tenant over HTTP, with its effects on users, tokens and administrators of the tenant; and the export of a person. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens, signIn } from '../support/client/agent.js';
import { isActive, refresh, userinfo } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const service = useIdp({ seed: adminSeed });
let root: AdminClient;
let acme: AdminClient;
let tid: Readonly<Record<string, string>>;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  acme = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  tid = await tenantIds(root);
});

describe('the export of a person', () => {
  const alice = async () => {
    const { json } = await root(`/tenants/${tid.Acme}/users?userName=alice@acme.test`);
    return `/tenants/${tid.Acme}/persons/${json.items[0].personId}`;
  };

  test('has what is kept in the directory, sign-ins and grants, and neither secrets nor the national id', async () => {
    const at = await alice();
    await root.patch(at, { nationalId: '01019012345' });
    await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    const { status, json, text } = await root(`${at}/export`);
    expect([status, json.tenant, json.person.givenName, json.person.hasNationalId, json.user.userName]).toEqual([
      200,
      { id: tid.Acme, name: 'Acme' },
      'Alice',
      true,
      'alice@acme.test',
    ]);
    expect(json.groups.map(({ name }: Json) => name)).toEqual(['Sales']);
    expect(json.password).toEqual({ changedAt: expect.any(String) });
    expect(json.others.sessions.length).toBeGreaterThan(0);
    expect(json.others.grants).toEqual(expect.arrayContaining([expect.objectContaining({ clientId: 'web' })]));
    expect(text).not.toMatch(/01019012345|passwordHash|scrypt|nationalIdHash/);
  });

  test('needs its own scope', async () => {
    const reader = administer(service.issuer, await adminToken(service.issuer, 'root', 'idp.persons:read'));
    expect((await reader(`${await alice()}/export`)).json.code).toBe('insufficient_scope');
  });
});

describe('DELETE /tenants/{tid}', () => {
  test('is for who administers all tenants, and heeds If-Match', async () => {
    expect((await acme.remove(`/tenants/${tid.Acme}`)).json.code).toBe('all_tenants_required');
    const stale = await root(`/tenants/${tid.Globex}`, { method: 'DELETE', headers: { 'if-match': '"stale"' } });
    expect(stale.json.code).toBe('precondition_failed');
    expect((await root('/tenants/01890a5d-ac96-774b-bcce-b302099a8057', { method: 'DELETE' })).status).toBe(404);
    expect((await root(`/tenants/${tid.Globex}`)).status).toBe(200);
  });

  test('ends the tenant at once for people, tokens and administrators, and nothing of another; TenantRemoved tells who did it', async () => {
    const bob = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob', scope: 'openid offline_access' });
    const carol = await obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol', scope: 'openid offline_access' });
    const globex = administer(service.issuer, await adminToken(service.issuer, 'globex'));
    const at = `/tenants/${tid.Globex}`;
    const removed = await root.remove(at);
    expect([removed.status, removed.text]).toEqual([204, '']);

    for (const path of [at, `${at}/persons`, `${at}/users`, `${at}/groups`, `${at}/events`])
      for (const client of [root, globex]) expect([path, (await client(path)).status]).toEqual([path, 404]);
    expect((await root.remove(at)).status).toBe(404);
    expect((await globex('/tenants')).json.items).toEqual([]);
    expect((await root('/tenants')).json.items.map(({ name }: Json) => name)).not.toContain('Globex');

    expect(await isActive(service.issuer, bob.tokens.access_token)).toBe(false);
    expect((await userinfo(service.issuer, bob.tokens.access_token)).status).toBe(401);
    expect(await refresh(service.issuer, bob.tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    const silent = await bob.agent.follow(await bob.agent.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'none' })));
    expect(silent.location).toContain('login_required');
    const again = await signIn(new Agent(), authorizeUrl(service.issuer, pkce), 'bob@globex.test', 'bob');
    expect(again.location).toBeUndefined();
    expect((await userinfo(service.issuer, carol.tokens.access_token)).status).toBe(200);
    expect((await refresh(service.issuer, carol.tokens.refresh_token)).status).toBe(200);

    const told = async () => (await root('/events?type=TenantRemoved')).json.items as Json[];
    const [event] = await until(told, ({ length }) => length > 0);
    expect(event).toMatchObject({ subject: tid.Globex, actor: 'client:root', requestid: removed.headers.get('x-request-id') });
    expect((await root.post('/tenants', { id: tid.Globex, name: 'Globex anew' })).status).toBe(201);
    expect((await root(`${at}/persons`)).json.items).toEqual([]);
    // The client was allowed to administer the removed tenant, and not a new tenant with its id.
    expect((await globex(at)).status).toBe(404);
  });
});
