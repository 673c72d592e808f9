/**
 * Y5: secrets and metadata of a client that an administrator of clients wrote before the client got a privilege. The client does not get
 * tokens with the privilege until an administrator who holds the privilege confirms the client.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { isAdminScope } from 'tenant-idp/extension';
import { type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken } from '../../support/administration/admin.js';
import { useIdp } from '../../support/service/use-idp.js';

const own = ['idp.clients:read', 'idp.clients:write'];
const GRANTED = 'idp.tenants:read';
const service = useIdp({
  seed: { ...adminSeed, clients: [...adminSeed.clients, adminClient('clerk', ['*'], own)] } as never,
  limits: { adminRequestsPerMinute: 100_000 },
});
/** Client that administers all tenants, with only the scopes of clients. */
let clerk: AdminClient;
let root: AdminClient;
beforeAll(async () => {
  clerk = administer(service.issuer, await adminToken(service.issuer, 'clerk', own.join(' ')));
  root = administer(service.issuer, await adminToken(service.issuer, 'root', adminScopes.join(' ')));
});
const clients = () => service.idp.directory.clients;
let count = 0;
const metadata = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
const newId = () => `vouched-${++count}`;
/** Returns the answer of the token endpoint to a client that requests the scope. */
async function asked(id: string, secret: string, scope = GRANTED) {
  const answer = await fetch(`${service.issuer}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  });
  const { error, error_description: reason } = (await answer.json()) as Record<string, string>;
  return { status: answer.status, error, reason };
}
const unconfirmed = { status: 400, error: 'invalid_scope', reason: expect.stringContaining('must confirm this client') };

/** Writes of the clerk before the grant. Each returns a secret that the clerk knows. */
const writes: Readonly<Record<string, () => Promise<{ readonly id: string; readonly secret: string }>>> = {
  async 'a client of their own'() {
    const id = newId();
    const { json } = await clerk.post('/clients', { id, name: 'Own', metadata });
    return { id, secret: String(json.secret) };
  },
  async 'another secret'() {
    const id = newId();
    await clients().create({ id, name: 'Ours', metadata, secret: 'secret of the host, which is long' });
    const { json } = await clerk.post(`/clients/${id}/secrets`);
    return { id, secret: String(json.secret) };
  },
  ...Object.fromEntries(
    Object.entries({
      redirect_uris: ['https://evil.test/callback'],
      grant_types: ['client_credentials', 'refresh_token'],
      jwks_uri: 'https://evil.test/jwks',
      token_endpoint_auth_method: 'client_secret_post',
      initiate_login_uri: 'https://evil.test/login',
    }).map(([name, value]) => [
      `the member ${name}`,
      async () => {
        const id = newId();
        const secret = 'secret of the host, which is long';
        await clients().create({ id, name: 'Ours', metadata, secret });
        expect(await clerk.patch(`/clients/${id}`, { metadata: { [name]: value } })).toMatchObject({ status: 200 });
        await clients().update(id, { metadata: { ...metadata, [name]: value, token_endpoint_auth_method: 'client_secret_basic' } });
        return { id, secret };
      },
    ]),
  ),
};

describe.each(Object.keys(writes))('Y5: after a client administrator wrote %s', (name) => {
  const write = () => (writes[name] as (typeof writes)[string])();

  test('host code gives scopes that do not count, until an administrator who holds them confirms what was shown', async () => {
    const { id, secret } = await write();
    await clients().update(id, { adminTenants: ['*'], allowedScopes: [GRANTED] });
    expect(await asked(id, secret)).toMatchObject(unconfirmed);
    const confirm = () => root.patch(`/clients/${id}`, { confirm: true });
    const refused = await confirm();
    expect(refused).toMatchObject({ status: 409, json: { code: 'means_unconfirmed', total: 1 } });
    expect(refused.json.means).toMatchObject([{ kind: 'client', id, members: expect.arrayContaining(['secrets']) }]);
    expect(JSON.stringify(refused.json)).not.toContain('sha256');
    expect((await clerk.patch(`/clients/${id}`, { confirm: true })).status).toBe(403);
    expect(await asked(id, secret)).toMatchObject(unconfirmed);
    expect((await confirm()).status).toBe(200);
    expect(await asked(id, secret)).toMatchObject({ status: 200 });
  });

  test.each(['allowedScopes', 'trustedLoginHint'])('a grant of %s in the admin API asks for a confirmation', async (member) => {
    const { id } = await write();
    const grant = { [member]: member === 'allowedScopes' ? [GRANTED] : true };
    const written = async () => {
      const { allowedScopes, trustedLoginHint, vouchedBy, updatedAt } = await clients().require(id);
      return { allowedScopes, trustedLoginHint, vouchedBy, updatedAt };
    };
    const before = await written();
    expect(await root.patch(`/clients/${id}`, grant)).toMatchObject({ status: 409, json: { code: 'means_unconfirmed' } });
    expect(await written()).toEqual(before);
    expect((await clerk.patch(`/clients/${id}`, grant)).status).toBe(403);
    expect(await root.patch(`/clients/${id}`, { ...grant, confirm: true })).toMatchObject({ status: 200, json: grant });
  });
});

test('a confirmation covers only what was shown', async () => {
  const { id } = await (writes['a client of their own'] as (typeof writes)[string])();
  const grant = (more: object = {}) => root.patch(`/clients/${id}`, { allowedScopes: [GRANTED], ...more });
  expect((await grant()).status).toBe(409);
  const { secret } = (await clerk.post(`/clients/${id}/secrets`)).json as { secret: string };
  expect((await grant({ confirm: true })).status).toBe(409);
  expect((await grant({ confirm: true })).status).toBe(200);
  expect(await asked(id, secret)).toMatchObject({ status: 200 });
});

test('clients without privileges ask for nothing, and those of an administrator who holds the scopes work at once', async () => {
  const { id } = await (writes['a client of their own'] as (typeof writes)[string])();
  expect((await clerk.patch(`/clients/${id}`, { name: 'Other', adminTenants: ['*'], introspects: 'all' })).status).toBe(200);
  expect((await root.patch(`/clients/${id}`, { name: 'Ours', confirm: true })).status).toBe(200);
  const made = newId();
  const { json } = await root.post('/clients', { id: made, name: 'Root', metadata, allowedScopes: adminScopes.filter(isAdminScope) });
  expect(await asked(made, String(json.secret))).toMatchObject({ status: 200 });
  const later = newId();
  await root.post('/clients', { id: later, name: 'Root', metadata });
  expect((await root.patch(`/clients/${later}`, { allowedScopes: [GRANTED] })).status).toBe(200);
});
