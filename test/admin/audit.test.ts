/** Issue 13, deliverable 2: every write is audited, by an event with who made it, by which request, in which tenant. */
import { beforeAll, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import {
  type AdminAnswer,
  type AdminClient,
  administer,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../support/administration/admin.js';
import { keepImpersonations } from '../support/administration/impersonations.js';
import { captureMail } from '../support/administration/invitations.js';
import { type Json, obtainTokens } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const impersonations = keepImpersonations();
const service = useIdp({
  seed: adminSeed,
  mail: captureMail().mail,
  // Signing keys are made, and can be rotated.
  keys: { encryption: ['what the audited service encrypts with'] },
  limits: { adminRequestsPerMinute: 100_000 },
  extensions: [impersonations.extension],
});
let root: AdminClient;
let tid: string;
let globex: string;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  const ids = await tenantIds(root);
  [tid, globex] = [ids.Acme ?? '', ids.Globex ?? ''];
});

/** What changes nothing that is kept, or is tried where there is something to change. */
const elsewhere = [
  ...['POST /tenants/{tid}/webhooks/{id}/test', 'POST /webhooks/{id}/test'],
  ...['POST /tenants/{tid}/webhooks/{id}/replay', 'POST /webhooks/{id}/replay'],
  // `factors/own-page`: nobody has one here.
  ...['DELETE /tenants/{tid}/users/{id}/factors', 'DELETE /tenants/{tid}/users/{id}/factors/{factorId}'],
  // `privileges/generated`: nobody has means to confirm here.
  'POST /tenants/{tid}/users/{id}/means/confirm',
];

let count = 0;
const unique = (): string => {
  count += 1;
  return `audited-${count}`;
};
const made = async (path: string, body: object): Promise<Json> => (await root.post(path, body)).json;
const at = () => `/tenants/${tid}`;

const person = (more: object = {}) => made(`${at()}/persons`, { givenName: 'A', familyName: 'B', email: `${unique()}@acme.test`, ...more });
const withUser = (of = tid) => made(`/tenants/${of}/persons`, { givenName: 'A', familyName: 'B', user: { userName: unique() } });
const user = async (of?: string) => (await withUser(of)).user.id as string;
async function activeUser(): Promise<string> {
  const userName = `${unique()}@acme.test`;
  const input = { givenName: 'A', familyName: 'B', email: userName, user: { userName, status: 'active' as const } };
  return (await service.idp.tenant(tid).persons.create(input)).user?.id ?? '';
}
const group = async () => (await made(`${at()}/groups`, { name: unique() })).id;
const connection = { name: 'Provider', issuer: 'https://login.example.com', clientId: 'us' };
const keyed = { ...connection, clientAuth: 'private_key_jwt' };
const machine = () => ({
  id: unique(),
  name: 'M',
  metadata: { grant_types: ['client_credentials'] },
});
const url = 'https://receiver.example.com/hooks';
async function invitation(): Promise<string> {
  const { user: one } = await person({ user: { userName: unique() } });
  return (await made(`${at()}/invitations`, { userId: one.id, send: true })).id;
}
async function signedIn(): Promise<{ readonly id: string; readonly sessionId: string }> {
  await obtainTokens(service.issuer);
  const [{ id }] = (await root(`${at()}/users?userName=alice@acme.test`)).json.items;
  return { id, sessionId: (await root(`${at()}/users/${id}/sessions`)).json.items[0].id };
}

interface Write {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
type Make = () => Promise<Write> | Write;

const one = (id: () => Promise<string>, body?: unknown) => async (): Promise<Write> => ({ params: { id: await id() }, body });
const ofTenantAndInstance = (path: string, writes: Readonly<Record<string, (path: string) => Make>>) =>
  ['/tenants/{tid}', ''].flatMap((place): (readonly [string, Make])[] =>
    Object.entries(writes).map(([name, make]) => {
      const [method, rest = ''] = name.split(' ');
      return [`${method} ${place}${path}${rest}`, () => make(place.replace('{tid}', tid) + path)()];
    }),
  );
const idAt = (body: object) => (path: string) => async () => (await made(path, body)).id as string;
const tenant = async (): Promise<Write> => ({ params: { tid: (await made('/tenants', { name: unique() })).id } });

const writes = new Map<string, Make>([
  ['POST /tenants', () => ({ body: { name: unique() } })],
  ['PATCH /tenants/{tid}', () => ({ body: { locale: 'sv' } })],
  ['DELETE /tenants/{tid}', tenant],
  ['POST /tenants/{tid}/disable', tenant],
  [
    'POST /tenants/{tid}/enable',
    async () => {
      const write = await tenant();
      await root.post(`/tenants/${write.params?.tid}/disable`);
      return write;
    },
  ],
  ...['subsidiaries', 'groups'].flatMap((name): [string, Make][] => [
    [`POST /tenants/{tid}/${name}`, () => ({ body: { name: unique() } })],
    [`PATCH /tenants/{tid}/${name}/{id}`, () => one(idAt({ name: unique() })(`${at()}/${name}`), { name: unique() })()],
    [`DELETE /tenants/{tid}/${name}/{id}`, () => one(idAt({ name: unique() })(`${at()}/${name}`))()],
  ]),
  ['POST /tenants/{tid}/persons', () => ({ body: { givenName: 'A', familyName: 'B', user: { userName: unique() } } })],
  ['PATCH /tenants/{tid}/persons/{id}', async () => ({ params: { id: (await person()).id }, body: { familyName: 'C' } })],
  ['DELETE /tenants/{tid}/persons/{id}', async () => ({ params: { id: (await person()).id } })],
  ['POST /tenants/{tid}/persons/{id}/user', async () => ({ params: { id: (await person()).id }, body: { userName: unique() } })],
  ['PATCH /tenants/{tid}/users/{id}', one(user, { emailVerified: true })],
  ['DELETE /tenants/{tid}/users/{id}', one(user)],
  ['POST /tenants/{tid}/users/{id}/disable', one(user)],
  [
    'POST /tenants/{tid}/users/{id}/enable',
    async () => {
      const id = await user();
      await root.post(`${at()}/users/${id}/disable`);
      return { params: { id } };
    },
  ],
  ['POST /tenants/{tid}/users/{id}/sign-out', one(user)],
  ['POST /tenants/{tid}/users/{id}/password-reset', one(activeUser)],
  ['PUT /tenants/{tid}/users/{id}/groups', async () => ({ params: { id: await user() }, body: { ids: [await group()] } })],
  ['POST /tenants/{tid}/users/{id}/groups', async () => ({ params: { id: await user() }, body: { ids: [await group()] } })],
  [
    'DELETE /tenants/{tid}/users/{id}/groups',
    async () => {
      const [id, ids] = [await user(), [await group()]];
      await root.post(`${at()}/users/${id}/groups`, { ids });
      return { params: { id }, body: { ids } };
    },
  ],
  ['POST /tenants/{tid}/users/{id}/link/{parentId}', async () => ({ params: { id: await user(), parentId: await user(globex) } })],
  [
    'DELETE /tenants/{tid}/users/{id}/link/{parentId}',
    async () => {
      const params = { id: await user(), parentId: await user(globex) };
      await root.post(`${at()}/users/${params.id}/link/${params.parentId}`);
      return { params };
    },
  ],
  ['DELETE /tenants/{tid}/users/{id}/sessions', async () => ({ params: await signedIn() })],
  ['DELETE /tenants/{tid}/users/{id}/sessions/{sessionId}', async () => ({ params: await signedIn() })],
  ['POST /tenants/{tid}/invitations', async () => ({ body: { userId: await user(), send: false } })],
  // To see the link is to be able to accept.
  ['GET /tenants/{tid}/invitations/{id}/link', one(invitation)],
  ['POST /tenants/{tid}/invitations/{id}/resend', one(invitation)],
  ['POST /tenants/{tid}/invitations/{id}/revoke', one(invitation)],
  ['POST /tenants/{tid}/impersonations/{id}/end', one(async () => (await impersonations.insert(tid)).id)],
  ['POST /permissions', () => ({ body: { id: unique(), name: 'P' } })],
  ['PATCH /permissions/{id}', () => one(idAt({ id: unique(), name: 'P' })('/permissions'), { name: 'Q' })()],
  ['DELETE /permissions/{id}', () => one(idAt({ id: unique(), name: 'P' })('/permissions'))()],
  ['POST /clients', () => ({ body: machine() })],
  ['PATCH /clients/{id}', () => one(idAt(machine())('/clients'), { name: 'N' })()],
  ['DELETE /clients/{id}', () => one(idAt(machine())('/clients'))()],
  ['POST /clients/{id}/secrets', () => one(idAt(machine())('/clients'))()],
  ['POST /api-resources', () => ({ body: { id: unique(), name: 'R', scopes: [] } })],
  ['PATCH /api-resources/{id}', () => one(idAt({ id: unique(), name: 'R', scopes: [] })('/api-resources'), { name: 'S' })()],
  ['DELETE /api-resources/{id}', () => one(idAt({ id: unique(), name: 'R', scopes: [] })('/api-resources'))()],
  ['POST /api-resources/{id}/secrets', () => one(idAt({ id: unique(), name: 'R', scopes: [] })('/api-resources'))()],
  ['POST /keys/rotate', () => ({ body: { now: true } })],
  ...ofTenantAndInstance('/webhooks', {
    POST: () => () => ({ body: { url } }),
    'PATCH /{id}': (path) => one(idAt({ url })(path), { description: 'Changed' }),
    'DELETE /{id}': (path) => one(idAt({ url })(path)),
    'POST /{id}/rotate-secret': (path) => one(idAt({ url })(path)),
  }),
  ...ofTenantAndInstance('/connections', {
    POST: () => () => ({ body: { ...connection, clientSecret: 'theirs' } }),
    'PATCH /{id}': (path) => one(idAt({ ...connection, clientSecret: 'theirs' })(path), { name: 'Changed' }),
    'DELETE /{id}': (path) => one(idAt({ ...connection, clientSecret: 'theirs' })(path)),
    'PUT /{id}/secret': (path) => one(idAt({ ...connection, clientSecret: 'theirs' })(path), { clientSecret: 'other' }),
    'POST /{id}/rotate-key': (path) => one(idAt(keyed)(path)),
  }),
]);

async function feed(): Promise<readonly IdpEvent[]> {
  const found: IdpEvent[] = [];
  for (let after: string | undefined; ; ) {
    const { events, next } = await service.idp.directory.eventFeed.read({ limit: 1000, ...(after === undefined ? {} : { after }) });
    found.push(...events);
    if (events.length < 1000) return found;
    after = next;
  }
}

test('every write raises an event that names who made it, by which request, in which tenant', async () => {
  const { operations } = await documented(service.issuer);
  const all = operations.map(({ method, path }) => `${method} ${path}`);
  const changing = all.filter((name) => !name.startsWith('GET') && !elsewhere.includes(name));
  expect(changing.filter((name) => !writes.has(name))).toEqual([]);
  expect([...writes.keys(), ...elsewhere].filter((name) => !all.includes(name))).toEqual([]);

  const asked: { readonly name: string; readonly tid: string | undefined; readonly answer: AdminAnswer }[] = [];
  for (const [name, make] of writes) {
    const [method = '', path = ''] = name.split(' ');
    const { params = {}, body } = await make();
    const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) => params[parameter] ?? tid);
    const answer = await root(filled, { method, ...(body === undefined ? {} : { body }) });
    expect([name, answer.status, answer.status < 300 ? '' : answer.text]).toEqual([name, answer.status, '']);
    asked.push({ name, tid: path.startsWith('/tenants/{tid}') ? (params.tid ?? tid) : undefined, answer });
  }
  const unheard = async () => {
    const events = await feed();
    return asked
      .filter(({ name, answer, tid: of }) => {
        const requestid = answer.headers.get('x-request-id') ?? 'none';
        const raised = events.filter((event) => event.requestid === requestid && event.actor === 'client:root');
        return !raised.some((event) => name === 'POST /tenants' || event.tid === of);
      })
      .map(({ name }) => name);
  };
  await until(unheard, ({ length }) => length === 0);
});
