/** A service with rows for each list of the admin API. */
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import { saml } from 'tenant-idp/extensions/saml';
import { deadLetters } from '../../../extensions/events/records.js';
import { factors } from '../../../extensions/factors/records.js';
import { impersonations } from '../../../extensions/impersonation/records.js';
import { obtainTokens } from '../client/agent.js';
import { type IdpInUse, useIdp } from '../service/use-idp.js';
import { forgettable } from '../stores/told-changes.js';
import { type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken, tenantIds } from './admin.js';
import { makeRecords, type TenantRecords } from './admin-matrix.js';

export type StoredRow = { readonly id: string; readonly version: number } & Readonly<Record<string, unknown>>;

const extensions = ['saml-service-providers', 'saml-signing-keys'];
const scopes = [...adminScopes, ...extensions.flatMap((name) => [`idp.${name}:read`, `idp.${name}:write`])];

export interface ListedRecords extends TenantRecords {
  /** Ids of records of the instance, by the first part of their path. */
  readonly ofInstance: Readonly<Record<string, string>>;
}

export interface ListedWorld extends IdpInUse {
  readonly directory: ReturnType<typeof memoryDirectory>;
  /** Collections of the directory, by name. */
  readonly collections: readonly string[];
  /** Collections of the directory, with their indexes. */
  readonly specs: Parameters<ReturnType<typeof memoryDirectory>['open']>[0];
  /** Makes caches forget the row that the update would change. The update writes nothing. */
  forget(update: () => Promise<unknown>): Promise<void>;
  /** Returns a client that administers all tenants. */
  root(): Promise<AdminClient>;
  /** Makes at least two records of each kind. Returns records of Acme: Alice, who is signed in, and others. */
  fill(): Promise<ListedRecords>;
}

/** Starts the service for the tests of a file. */
export function useListedWorld(): ListedWorld {
  const { directory: memory, forget } = forgettable(memoryDirectory());
  const collections: string[] = [];
  const opened: ListedWorld['specs'][number][] = [];
  const directory = {
    ...memory,
    open(specs: Parameters<typeof memory.open>[0]) {
      opened.push(...specs);
      collections.push(...specs.map(({ name }) => name));
      return memory.open(specs);
    },
  };
  let context: ExtensionContext | undefined;
  const keeps: Extension = {
    name: 'keeps-rows',
    start(given) {
      context = given;
    },
  };
  const service = useIdp({
    directory,
    extensions: [saml(), keeps],
    limits: { adminRequestsPerMinute: 1_000_000 },
    seed: { ...adminSeed, clients: [...adminSeed.clients.filter(({ id }) => id !== 'root'), adminClient('root', ['*'], scopes)] } as never,
  });
  let client: Promise<AdminClient> | undefined;
  const root = () => {
    client ??= adminToken(service.issuer, 'root', scopes.join(' ')).then((token) => administer(service.issuer, token));
    return client;
  };

  /** Inserts an event whose delivery to a webhook the service gave up. */
  async function insertLetter(tid: string, webhookId: string): Promise<void> {
    const at = new Date().toISOString();
    const event = { specversion: '1.0', id: 'e', source: 's', type: 'TenantUpdated', time: at, subject: 't', data: {} };
    const numbered = { ...event, sequence: '0000000000000001' };
    await context?.records.collection(deadLetters, tid).insert({ webhookId, event: numbered, attempts: 3, problem: 'no answer', at });
  }

  /** Inserts rows that no request of the admin API creates. */
  async function insertRows(
    tid: string,
    { user, person, webhook }: TenantRecords,
    other: StoredRow,
  ): Promise<{ readonly impersonation: string }> {
    if (!context) throw new Error('The service has not started.');
    const now = new Date();
    await insertLetter(tid, webhook);
    const passkey = { credentialId: person, publicKey: 'key', counter: 0, transports: [] };
    const factor = {
      userId: user,
      personId: person,
      kind: 'passkey',
      slot: `passkey ${person}`,
      createdAt: now.toISOString(),
      passkey,
    } as const;
    await context.records.collection(factors, tid).insert(factor);
    const { id } = await context.records.collection(impersonations, tid).insert({
      targetOid: user,
      targetPersonId: person,
      operator: { oid: (other.user as StoredRow).id, sub: (other.user as StoredRow).id, tid: String(other.tid) },
      operatorPersonId: other.id,
      reason: 'ticket',
      clientId: 'web',
      startedAt: now,
      endsAt: new Date(now.getTime() + 1_800_000),
    });
    return { impersonation: id };
  }

  async function fill(): Promise<ListedRecords> {
    const admin = await root();
    const { Acme: tid = '', Globex: elsewhere = '' } = await tenantIds(admin);
    const created = async (path: string, body: object): Promise<string> => {
      const { status, json, text } = await admin.post(path, body);
      if (status !== 201) throw new Error(`${path}: ${text}`);
      return json.id as string;
    };
    const metadata = (name: string) => ({
      entityId: `https://${name}.test`,
      assertionConsumerServices: [{ url: `https://${name}.test/acs` }],
    });
    const webhooks = await created('/webhooks', { url: 'http://127.0.0.1:9/of-instance', types: ['TenantUpdated'] });
    const connections = await created('/connections', {
      name: 'C',
      issuer: 'https://login.example.com',
      clientId: 'us',
      clientSecret: 'theirs',
    });
    const instance = await created('/saml-service-providers', metadata('instance'));
    const serviceProvider = await created(`/tenants/${tid}/saml-service-providers`, metadata('tenant'));
    const made = await makeRecords(admin, tid);
    await obtainTokens(service.issuer, { userName: 'alice@acme.test', password: 'alice' });
    const [alice] = (await admin(`/tenants/${tid}/users?userName=alice@acme.test`)).json.items;
    const records = { ...made, serviceProvider, user: String(alice.id), person: String(alice.personId) };
    await admin.post(`/tenants/${tid}/users/${records.user}/groups`, { ids: [records.group] });
    await admin.patch(`/tenants/${tid}/persons/${records.person}`, { subsidiaryId: records.subsidiary });
    const [other] = await memory.collection<StoredRow>('persons').find({ byTenant: [elsewhere] });
    const more = await insertRows(tid, records, other as StoredRow);
    await insertRows(tid, await makeRecords(admin, tid), other as StoredRow);
    await insertLetter('*', webhooks);
    const ofInstance = {
      ...{ webhooks, connections, 'saml-service-providers': instance },
      ...{ permissions: 'orders.view', clients: 'web', 'api-resources': 'orders' },
    };
    return { ...records, ...more, ofInstance };
  }

  return Object.defineProperties(
    service,
    Object.getOwnPropertyDescriptors({ directory: memory, collections, specs: opened, forget, root, fill }),
  ) as ListedWorld;
}
