/**
 * T3-EMAIL-TENANT: the claim `email_verified` follows from a proof, or from an administrator of all tenants. Tests each operation that
 * takes `emailVerified`, for each kind of caller. The list is compared with the operations of the service, so that no new one is forgotten.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type AdminAnswer,
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../support/administration/admin.js';
import { type Json, obtainTokens } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({
  seed: {
    ...adminSeed,
    tenants: adminSeed.tenants.map((tenant) =>
      tenant.name === 'Acme'
        ? {
            ...tenant,
            groups: [...(tenant.groups ?? []), { name: 'All scopes', permissions: adminScopes }],
            persons: [
              ...(tenant.persons ?? []),
              {
                givenName: 'Paula',
                familyName: 'P',
                user: { userName: 'paula@acme.test', devPassword: 'paula', groups: ['All scopes'] },
              },
            ],
          }
        : tenant,
    ),
    clients: [...adminSeed.clients, adminClient('of-each', ['Acme', 'Globex'])],
  },
  limits: { adminRequestsPerMinute: 10_000 },
});

const callerNames = ['acme', 'of-each', 'person', 'root'] as const;
type CallerName = (typeof callerNames)[number];
const callers = new Map<CallerName, AdminClient>();
let root: AdminClient;
let at: string;
beforeAll(async () => {
  for (const name of ['acme', 'of-each', 'root'] as const)
    callers.set(name, administer(service.issuer, await adminToken(service.issuer, name)));
  const { tokens } = await obtainTokens(service.issuer, {
    ...{ client: 'console', secret: 'console-secret', userName: 'paula@acme.test', password: 'paula' },
    scope: `openid ${adminScopes.join(' ')}`,
  });
  callers.set('person', administer(service.issuer, tokens.access_token));
  root = callers.get('root') as AdminClient;
  at = `/tenants/${(await tenantIds(root)).Acme}`;
});

let count = 0;
function named() {
  count += 1;
  const email = `owner-${count}@elsewhere.test`;
  return { email, person: { givenName: 'O', familyName: 'O', email }, user: { userName: email } };
}
/** Creates a person with a user whose address is verified or not. */
async function made(emailVerified: boolean): Promise<Json> {
  const { person, user } = named();
  return (await root.post(`${at}/persons`, { ...person, user: { ...user, emailVerified } })).json;
}

/** Operations that make `emailVerified` true. */
const doors: Readonly<Record<string, (ask: AdminClient) => Promise<AdminAnswer>>> = {
  async 'POST /tenants/{tid}/persons'(ask) {
    const { person, user } = named();
    const body = { ...person, user: { ...user, emailVerified: true } };
    const invited = await ask.post(`${at}/persons`, { ...body, invitation: { send: false } });
    // Creates a second person, because an invitation changes how the person is created.
    const other = named();
    const alone = await ask.post(`${at}/persons`, { ...other.person, user: { ...other.user, emailVerified: true } });
    expect([invited.status, invited.json.code]).toEqual([alone.status, alone.json.code]);
    return alone;
  },
  async 'POST /tenants/{tid}/persons/{id}/user'(ask) {
    const { person, user } = named();
    const { json } = await root.post(`${at}/persons`, person);
    return ask.post(`${at}/persons/${json.id}/user`, { ...user, emailVerified: true });
  },
  async 'PATCH /tenants/{tid}/users/{id}'(ask) {
    const { user } = await made(false);
    return ask.patch(`${at}/users/${user.id}`, { emailVerified: true });
  },
};

test('every operation that takes `emailVerified` is tried, and documents the refusal', async () => {
  const { operations, document } = await documented(service.issuer);
  const resolved = (schema: Json): string =>
    JSON.stringify(schema).replace(/"#\/components\/schemas\/(\w+)"/g, (_, name) => resolved(document.components.schemas[name]));
  const taking = operations.filter(({ operation }) => operation.requestBody && resolved(operation.requestBody).includes('"emailVerified"'));
  expect(taking.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(Object.keys(doors).toSorted());
  for (const { operation } of taking) expect(JSON.stringify(operation.responses['403'])).toContain('email_unproven');
});

describe.each(callerNames)('T3-EMAIL-TENANT: by %s', (name) => {
  const ask = () => callers.get(name) as AdminClient;

  test.each(Object.entries(doors))('%s makes an address verified for an administrator of all tenants alone', async (_, door) => {
    const { status, json } = await door(ask());
    if (name === 'root') return expect([status < 300, (json.user ?? json).emailVerified]).toEqual([true, true]);
    expect([status, json.code]).toEqual([403, 'email_unproven']);
    expect(json.detail ?? json.title).toMatch(/all tenants.+Leave `emailVerified` out/);
  });

  test('a write that repeats true passes, with other members or alone, and everybody may make it false', async () => {
    const { user } = await made(true);
    const path = `${at}/users/${user.id}`;
    expect((await ask().patch(path, { emailVerified: true })).json.emailVerified).toBe(true);
    expect((await ask().patch(path, { emailVerified: true, externalIdentities: [] })).status).toBe(200);
    expect((await ask().patch(path, { emailVerified: false })).json.emailVerified).toBe(false);
    expect((await ask().patch(path, { emailVerified: false })).status).toBe(200);
    expect((await ask().patch(path, { emailVerified: true })).status).toBe(name === 'root' ? 200 : 403);
  });

  test('a changed address is a new one, and is not verified by the value of the former', async () => {
    const { id, user } = await made(true);
    const changed = await ask().patch(`${at}/persons/${id}`, { email: `changed-${count}@elsewhere.test` });
    expect([changed.status, changed.json.user.emailVerified]).toEqual([200, false]);
    const again = await ask().patch(`${at}/users/${user.id}`, { userName: changed.json.email, emailVerified: true });
    expect(again.status).toBe(name === 'root' ? 200 : 403);
  });
});

test('a caller that may not become a user may make the address of the user unverified, because that opens no account', async () => {
  const { person, user } = named();
  await root.post('/permissions', { id: 'idp.vault:read', name: 'Vault' });
  const { json: group } = await root.post(`${at}/groups`, { name: 'Vault', permissionIds: ['idp.vault:read'] });
  const ofVault = { ...user, emailVerified: true, groups: { ids: [group.id] } };
  const { json } = await root.post(`${at}/persons`, { ...person, user: ofVault });
  const acme = callers.get('acme') as AdminClient;
  const path = `${at}/users/${json.user.id}`;
  expect((await acme.patch(path, { userName: 'mine' })).json.code).toBe('grant_exceeds_own');
  expect((await acme.patch(path, { emailVerified: false })).json.emailVerified).toBe(false);
});

test('the host in process and the seed say that an address is verified', async () => {
  const { person, user } = named();
  const { users, persons } = service.idp.tenant(at.slice('/tenants/'.length));
  const created = await persons.create({ ...person, user: { ...user, emailVerified: true } });
  expect(created.user?.emailVerified).toBe(true);
  const other = await made(false);
  expect((await users.update(other.user.id, { emailVerified: true })).user.emailVerified).toBe(true);
  // The seed created Alice.
  expect((await users.findByUserName('alice@acme.test'))?.user.emailVerified).toBe(true);
});
