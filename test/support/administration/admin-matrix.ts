/** Requests each operation of the admin API with each id of another tenant, and compares the answer with that for an unknown id. */

import { present } from '../../../lib/present.js';
import type { Json } from '../client/agent.js';
import { drawing, sample } from '../requests/schema-samples.js';
import { type AdminClient, documented } from './admin.js';

const ABSENT = '01890a5d-ac96-774b-bcce-b302099a8057';

/** A record of each kind in one tenant: values for parameters of paths and members of bodies. */
export interface TenantRecords {
  readonly tid: string;
  readonly user: string;
  readonly person: string;
  readonly group: string;
  readonly subsidiary: string;
  readonly invitation: string;
  readonly webhook: string;
  readonly connection: string;
  readonly session?: string;
  /** A client that has a consent of the user. Clients belong to no tenant, so the clients of two tenants have to differ. */
  readonly client?: string;
  readonly impersonation?: string;
  readonly serviceProvider?: string;
}

/** Creates the records. */
export async function makeRecords(root: AdminClient, tid: string): Promise<TenantRecords> {
  const at = `/tenants/${tid}`;
  const unique = Math.random().toString(36).slice(2);
  const subsidiary = (await root.post(`${at}/subsidiaries`, { name: unique })).json.id;
  const group = (await root.post(`${at}/groups`, { name: unique })).json.id;
  const { id: person, user } = (await root.post(`${at}/persons`, { givenName: 'M', familyName: unique, user: { userName: unique } })).json;
  const invitation = (await root.post(`${at}/invitations`, { userId: user.id, send: false })).json.id;
  // Nothing is sent to this webhook.
  const webhook = (await root.post(`${at}/webhooks`, { url: 'http://127.0.0.1:9/hooks', types: ['TenantUpdated'] })).json.id;
  const provider = { name: unique, issuer: 'https://login.example.com', clientId: 'us', clientSecret: 'theirs' };
  const connection = (await root.post(`${at}/connections`, provider)).json.id;
  return { tid, user: user.id, person, group, subsidiary, invitation, webhook, connection };
}

/** Returns the record that the parameter of a path names. */
export const meant = (path: string, parameter: string, records: TenantRecords): string | undefined => {
  if (parameter === 'tid') return records.tid;
  const [, collection = ''] = path.split(`/{${parameter}}`)[0]?.match(/\/([a-z-]+)$/) ?? [];
  return {
    users: records.user,
    persons: records.person,
    groups: records.group,
    subsidiaries: records.subsidiary,
    invitations: records.invitation,
    webhooks: records.webhook,
    connections: records.connection,
    sessions: records.session,
    consents: records.client,
    impersonations: records.impersonation,
    'saml-service-providers': records.serviceProvider,
    link: records.user,
  }[collection];
};

/** Members of bodies, and filters of lists, that name records of the tenant. */
const references: readonly (readonly [member: string, kind: keyof TenantRecords])[] = [
  ['subsidiaryId', 'subsidiary'],
  ['userId', 'user'],
  ['personId', 'person'],
  ['operatorId', 'user'],
];

export interface Leak {
  readonly operation: string;
  readonly field: string;
  readonly foreign: string;
  readonly absent: string;
}

export interface MatrixOptions {
  readonly issuer: string;
  /** Client of the requests, which administers only `own`. */
  readonly client: AdminClient;
  readonly own: TenantRecords;
  readonly foreign: TenantRecords;
  /** Parameters that are no secret to the client. A foreign value is not tried, because it would change what the other parameters name. */
  readonly known?: readonly string[];
  /** Operations to try. @default all */
  readonly isTried?: (path: string) => boolean;
}

/** Returns the answers that differ, the number of compared answers, and parameters of paths without a record. */
export async function leaksOf({
  issuer,
  client,
  own,
  foreign,
  known = [],
  isTried = () => true,
}: MatrixOptions): Promise<{ readonly leaks: readonly Leak[]; readonly compared: number; readonly untried: ReadonlySet<string> }> {
  const { operations, document } = await documented(issuer);
  const leaks: Leak[] = [];
  const untried = new Set<string>();
  let compared = 0;
  for (const { method, path, operation } of operations) {
    if (!path.startsWith('/tenants/{tid}') || !isTried(path)) continue;
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const schema = (Object.values(operation.requestBody?.content ?? {}) as Json[])[0]?.schema;
    const draw = drawing(path.length);
    const body = schema && (sample(schema, { document, draw, fullness: method === 'PATCH' ? 0.2 : 0 }) as Json);
    if (body && 'ids' in (schema.properties ?? {})) body.ids = [];
    const ask = async (ids: Readonly<Record<string, string | undefined>>, sent: unknown = body, query = ''): Promise<string> => {
      const url = path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? meant(path, name, own) ?? ABSENT);
      const { status, text } = await client(url + query, { method, ...present({ body: sent }) });
      const named = Object.values(ids).flatMap((id) => id ?? []);
      return `${status} ${named.reduce((all, id) => all.replaceAll(id, 'ID'), text)}`;
    };
    const compare = async (field: string, ofForeign: Promise<string>, ofAbsent: Promise<string>): Promise<void> => {
      const [first, second] = [await ofForeign, await ofAbsent];
      compared += 1;
      if (first !== second) leaks.push({ operation: `${method} ${path}`, field, foreign: first, absent: second });
    };
    for (const parameter of parameters.filter((name) => !known.includes(name))) {
      if (meant(path, parameter, foreign) === undefined) untried.add(parameter);
      const others = parameter === 'tid' ? Object.fromEntries(parameters.map((name) => [name, meant(path, name, foreign)])) : {};
      await compare(
        parameter,
        ask({ ...others, [parameter]: meant(path, parameter, foreign) ?? foreign.user }),
        ask({ ...others, [parameter]: ABSENT }),
      );
    }
    const members = Object.keys(schema?.properties ?? {});
    for (const [member, kind] of references.filter(([name]) => members.includes(name))) {
      const [id = ''] = [foreign[kind]];
      await compare(member, ask({ [member]: id }, { ...body, [member]: id }), ask({ [member]: ABSENT }, { ...body, [member]: ABSENT }));
    }
    const filters = (operation.parameters as Json[]).filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    for (const [filter, kind] of references.filter(([name]) => filters.includes(name))) {
      const [id = ''] = [foreign[kind]];
      await compare(`?${filter}`, ask({ [filter]: id }, body, `?${filter}=${id}`), ask({ [filter]: ABSENT }, body, `?${filter}=${ABSENT}`));
    }
    if (members.includes('ids'))
      await compare('ids', ask({ group: foreign.group }, { ids: [foreign.group] }), ask({ group: ABSENT }, { ids: [ABSENT] }));
    if (members.includes('user')) {
      const user = (groupId: string) => ({ ...body, user: { userName: `u${compared}`, groups: { ids: [groupId] } } });
      await compare('user.groups.ids', ask({ group: foreign.group }, user(foreign.group)), ask({ group: ABSENT }, user(ABSENT)));
    }
  }
  return { leaks, compared, untried };
}
