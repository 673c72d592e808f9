/** Service specification 4.12: behaviour of the admin API that all resources share. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../support/administration/admin.js';
import { basic, postForm } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const service = useIdp({
  seed: { ...adminSeed, clients: [...adminSeed.clients, adminClient('mixed', ['*'], ['orders.read', ...adminScopes])] },
});
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});

describe('service specification 4.12: the surface', () => {
  test('discovery names the address, which leads to the document', async () => {
    const discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
    expect(discovery.admin_api_endpoint).toBe(root.base);
    const answer = await administer(service.issuer, undefined)('');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${root.base}/openapi.json`]);
    expect((await administer(service.issuer, undefined)('/openapi.json')).json.openapi).toBe('3.1.0');
  });

  test('discovery lists no admin scope, and no request gets one that it does not name', async () => {
    const discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Record<string, string[]>;
    expect(discovery.scopes_supported?.filter((scope) => scope.startsWith('idp.'))).toEqual([]);
    const { json } = await postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'client_credentials' },
      { authorization: basic('mixed', 'mixed-secret') },
    );
    expect(json.scope).toBe('orders.read');
  });

  test('no API resource owns an admin scope, or has the id of the admin API', async () => {
    const { apiResources, clients } = service.idp.directory;
    await expect(apiResources.create({ id: 'mine', name: 'Mine', scopes: ['idp.mine:read'] })).rejects.toMatchObject({
      code: 'invalid_record',
    });
    await expect(apiResources.create({ id: 'idp.admin', name: 'Mine', scopes: [] })).rejects.toMatchObject({ code: 'conflict' });
    await expect(clients.create({ id: 'idp.admin', name: 'Mine' })).rejects.toMatchObject({ code: 'conflict' });
  });

  test('who shows no token is 401, a token without the scope 403', async () => {
    expect((await administer(service.issuer, undefined)('/tenants/x')).status).toBe(401);
    const token = await adminToken(service.issuer, 'root', 'idp.tenants:write');
    expect((await administer(service.issuer, token)('/tenants/x')).json.code).toBe('insufficient_scope');
    const other = await adminToken(service.issuer, 'mixed', 'orders.read');
    expect((await administer(service.issuer, other)('/tenants/x')).json.code).toBe('invalid_token');
  });

  test('an unknown path is 404, a wrong method 405 with Allow', async () => {
    const unknown = await root('/nothing');
    expect([unknown.status, unknown.headers.get('content-type'), unknown.json]).toEqual([
      404,
      'application/problem+json',
      {
        type: 'urn:tenant-idp:error:not_found',
        title: 'There is no such record. Check the id, and the tenant in the path.',
        status: 404,
        code: 'not_found',
      },
    ]);
    const wrong = await root('/tenants/x', { method: 'PUT', body: {} });
    expect([wrong.status, wrong.json.code, wrong.headers.get('allow')?.split(', ').sort()]).toEqual([
      405,
      'method_not_allowed',
      ['DELETE', 'GET', 'HEAD', 'PATCH'].filter((method) => wrong.headers.get('allow')?.includes(method)),
    ]);
  });

  test('a body is JSON of at most 64 KiB with known members', async () => {
    const post = (body: unknown, headers = {}) => root('/tenants', { method: 'POST', body, headers });
    expect((await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415);
    expect((await post('{')).json.code).toBe('invalid_request');
    expect((await post({ name: 'x'.repeat(70_000) })).json.code).toBe('body_too_large');
    const unknown = await post({ name: 'Initech', password: 'secret' });
    expect([unknown.status, unknown.json.code, unknown.json.errors[0].pointer]).toEqual([422, 'invalid_record', '/password']);
  });

  test('a tenant is created, read, and changed by a merge patch', async () => {
    const created = await root('/tenants', { method: 'POST', body: { name: 'Initech', branding: { accentColor: '#112233', radius: 4 } } });
    expect([created.status, created.headers.get('location')]).toEqual([201, `${root.base}/tenants/${created.json.id}`]);
    const path = `/tenants/${created.json.id}`;
    const read = await root(path);
    expect(read.json).toEqual(created.json);
    const etag = read.headers.get('etag') ?? '';
    const changed = await root(path, { method: 'PATCH', body: { branding: { radius: null } }, headers: { 'if-match': etag } });
    expect(changed.json.branding).toEqual({ accentColor: '#112233' });
    expect((await root(path, { method: 'PATCH', body: { name: 'Other' }, headers: { 'if-match': etag } })).status).toBe(412);
  });

  test('the same Idempotency-Key makes one tenant, also at once; another body is refused', async () => {
    const send = (name: string) => root('/tenants', { method: 'POST', body: { name }, headers: { 'idempotency-key': 'k1' } });
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('Once')));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect((await send('Twice')).json.code).toBe('idempotency_conflict');
  });

  test('a key is of one client and one tenant, for 24 hours', async () => {
    const key = { 'idempotency-key': 'of-many' };
    const { Acme, Globex } = await tenantIds(root);
    const groups = `/tenants/${Acme}/groups`;
    const made = await root.post(groups, { name: 'Keyed' }, key);
    const elsewhere = await root.post(`/tenants/${Globex}/groups`, { name: 'Keyed' }, key);
    const another = administer(service.issuer, await adminToken(service.issuer, 'acme'));
    const ofAnother = await another.post(groups, { name: 'Keyed by another' }, key);
    expect([made, elsewhere, ofAnother].map(({ status }) => status)).toEqual([201, 201, 201]);

    const again = async () => administer(service.issuer, await adminToken(service.issuer, 'root')).post(groups, { name: 'Keyed' }, key);
    try {
      passTime(86_000);
      const replayed = await again();
      expect([replayed.status, replayed.text, replayed.headers.get('idempotency-replayed')]).toEqual([201, made.text, 'true']);
      expect(replayed.headers.get('location')).toBe(made.headers.get('location'));
      passTime(86_500);
      const anew = await again();
      expect([anew.json.code, anew.headers.get('idempotency-replayed')]).toEqual(['conflict', null]);
      // A retry of a refused request gets the same refusal.
      const refused = await again();
      expect([refused.text, refused.headers.get('idempotency-replayed')]).toEqual([anew.text, 'true']);
    } finally {
      backToPresent();
    }
  });
});
