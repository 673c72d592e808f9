/** A write for each operation of the admin API that changes records, and the records that each write needs. */
import { type Json, obtainTokens } from '../client/agent.js';
import type { IdpInUse } from '../service/use-idp.js';
import type { AdminClient } from './admin.js';
import type { KeptImpersonations } from './impersonations.js';

export interface Write {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
export type MakeWrite = () => Promise<Write> | Write;

export interface WritesOf {
  readonly service: IdpInUse;
  readonly root: AdminClient;
  /** The tenant that the writes change. */
  readonly tid: string;
  /** Another tenant. */
  readonly globex: string;
  readonly impersonations: KeptImpersonations;
}
let parts: WritesOf | undefined;
const of = (): WritesOf => {
  if (!parts) throw new Error('writesOf() comes first.');
  return parts;
};

/** Returns writes by operation, such as `POST /tenants`. Each call creates the records that its write needs, in the service of the test. */
export function writesOf(given: WritesOf): ReadonlyMap<string, MakeWrite> {
  parts = given;
  return writes;
}

/** Returns the path of a write. */
export const pathOf = (operation: string, { params = {} }: Write): string =>
  operation.replace(/^\w+ /, '').replace(/\{(\w+)\}/g, (_, parameter: string) => params[parameter] ?? of().tid);

let count = 0;
const unique = (): string => {
  count += 1;
  return `written-${count}`;
};
const made = async (path: string, body: object): Promise<Json> => (await of().root.post(path, body)).json;
const at = () => `/tenants/${of().tid}`;

const person = (more: object = {}) => made(`${at()}/persons`, { givenName: 'A', familyName: 'B', email: `${unique()}@acme.test`, ...more });
const withUser = (tenant = of().tid) =>
  made(`/tenants/${tenant}/persons`, { givenName: 'A', familyName: 'B', user: { userName: unique() } });
const user = async (tenant?: string) => (await withUser(tenant)).user.id as string;
async function activeUser(): Promise<string> {
  const userName = `${unique()}@acme.test`;
  const input = { givenName: 'A', familyName: 'B', email: userName, user: { userName, status: 'active' as const } };
  return (await of().service.idp.tenant(of().tid).persons.create(input)).user?.id ?? '';
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
  await obtainTokens(of().service.issuer);
  const [{ id }] = (await of().root(`${at()}/users?userName=alice@acme.test`)).json.items;
  return { id, sessionId: (await of().root(`${at()}/users/${id}/sessions`)).json.items[0].id };
}

const one = (id: () => Promise<string>, body?: unknown) => async (): Promise<Write> => ({ params: { id: await id() }, body });
const ofTenantAndInstance = (path: string, writes: Readonly<Record<string, (path: string) => MakeWrite>>) =>
  ['/tenants/{tid}', ''].flatMap((place): (readonly [string, MakeWrite])[] =>
    Object.entries(writes).map(([name, make]) => {
      const [method, rest = ''] = name.split(' ');
      return [`${method} ${place}${path}${rest}`, () => make(place.replace('{tid}', of().tid) + path)()];
    }),
  );
const idAt = (body: object) => (path: string) => async () => (await made(path, body)).id as string;
const tenant = async (): Promise<Write> => ({ params: { tid: (await made('/tenants', { name: unique() })).id } });

const writes = new Map<string, MakeWrite>([
  ['POST /tenants', () => ({ body: { name: unique() } })],
  ['PATCH /tenants/{tid}', () => ({ body: { locale: 'sv' } })],
  ['DELETE /tenants/{tid}', tenant],
  ['POST /tenants/{tid}/disable', tenant],
  [
    'POST /tenants/{tid}/enable',
    async () => {
      const write = await tenant();
      await of().root.post(`/tenants/${write.params?.tid}/disable`);
      return write;
    },
  ],
  ...['subsidiaries', 'groups'].flatMap((name): [string, MakeWrite][] => [
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
      await of().root.post(`${at()}/users/${id}/disable`);
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
      await of().root.post(`${at()}/users/${id}/groups`, { ids });
      return { params: { id }, body: { ids } };
    },
  ],
  ['POST /tenants/{tid}/users/{id}/link/{parentId}', async () => ({ params: { id: await user(), parentId: await user(of().globex) } })],
  [
    'DELETE /tenants/{tid}/users/{id}/link/{parentId}',
    async () => {
      const params = { id: await user(), parentId: await user(of().globex) };
      await of().root.post(`${at()}/users/${params.id}/link/${params.parentId}`);
      return { params };
    },
  ],
  ['DELETE /tenants/{tid}/users/{id}/sessions', async () => ({ params: await signedIn() })],
  ['DELETE /tenants/{tid}/users/{id}/sessions/{sessionId}', async () => ({ params: await signedIn() })],
  [
    'DELETE /tenants/{tid}/users/{id}/consents/{clientId}',
    async () => {
      const params = { id: await user(), clientId: 'third-party' };
      await of().service.idp.directory.consents.allow(params.id, params.clientId, ['openid']);
      return { params };
    },
  ],
  ['POST /tenants/{tid}/invitations', async () => ({ body: { userId: await user(), send: false } })],
  // This read counts as a write, because a reader of the invitation link can accept the invitation.
  ['GET /tenants/{tid}/invitations/{id}/link', one(invitation)],
  ['POST /tenants/{tid}/invitations/{id}/resend', one(invitation)],
  ['POST /tenants/{tid}/invitations/{id}/revoke', one(invitation)],
  ['DELETE /tenants/{tid}/invitations/{id}', one(invitation)],
  ['POST /tenants/{tid}/impersonations/{id}/end', one(async () => (await of().impersonations.insert(of().tid)).id)],
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
