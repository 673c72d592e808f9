/**
 * Vouchers of the writers of a connection. The voucher of the settings counts for users that the connection creates. The voucher of the settings also
 * limits every identity of the connection, because the settings decide who signs in. The voucher of a mapping entry counts for the group that the entry
 * gives, within that limit.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Confirmation, type ExtensionContext, type MeansSource, raised, type Voucher, weaker } from '../../lib/extension-door.js';
import { type ConnectionLookup, isFor } from './lookup.js';
import { type Connection, type ConnectionFields, connections, type Warnings } from './records.js';

/** Kind of the means in the admin API. */
const KIND = 'connection';

interface Entry {
  readonly value: string;
  readonly groupId: string;
}
type Vouched = Pick<ConnectionFields, 'vouchedBy' | 'groupVouchers'>;
type Settings = Pick<ConnectionFields, 'mapping'>;

/**
 * Members that cannot decide who signs in. Secrets and signing keys are not listed, because other operations write them, and they only authenticate the
 * service.
 */
const harmless: ReadonlySet<string> = new Set(['name', 'hasButton', 'endSession', 'domains', 'clientAuth', 'keyAlgorithm']);

/** Returns whether a change can decide who signs in. Every member can decide it, except the harmless members and the status `disabled`. */
export const decidesWhoSignsIn = (patch: object): boolean =>
  Object.entries(patch).some(([name, value]) => !(harmless.has(name) || (name === 'status' && value === 'disabled')));

const ofEntry = ({ groupVouchers = [] }: Vouched, { value, groupId }: Entry): Voucher | undefined =>
  groupVouchers.find((one) => one.value === value && one.groupId === groupId)?.vouchedBy;

const entry = ({ value, groupId }: Entry, vouchedBy: Voucher | undefined) => ({ value, groupId, ...(vouchedBy && { vouchedBy }) });

/** Returns the settings. The only setting in the mapping is the address, because reset links are mailed to it. */
const settingsOf = ({ mapping, ...settings }: Settings) => ({ ...settings, email: mapping.email });

/** Returns the vouchers of a new or changed connection. Unchanged entries and settings keep their vouchers. */
export function vouchersOf(next: Settings, vouchedBy: Voucher, before?: Connection): Vouched {
  const { mapping } = next;
  const formerSettings: Readonly<Record<string, unknown>> = before ? settingsOf(before) : {};
  const changed = Object.entries(settingsOf(next)).filter(([name, value]) => !isDeepStrictEqual(formerSettings[name], value));
  const isChanged = decidesWhoSignsIn(Object.fromEntries(changed));
  const ofSettings = before === undefined ? vouchedBy : isChanged ? weaker(before.vouchedBy, vouchedBy) : before.vouchedBy;
  const formerEntries = before?.mapping.groups?.claim === mapping.groups?.claim ? (before?.mapping.groups?.values ?? []) : [];
  const groupVouchers = mapping.groups?.values.map((one) => {
    const isUnchanged = formerEntries.some(({ value, groupId }) => value === one.value && groupId === one.groupId);
    return entry(one, before && isUnchanged ? ofEntry(before, one) : vouchedBy);
  });
  return { ...(ofSettings && { vouchedBy: ofSettings }), ...(groupVouchers && { groupVouchers }) };
}

/** Returns the vouchers after a confirmation of the settings, and of entries that give the group. Vouchers that cover the privileges stay. */
function confirmedVouchers(row: Connection, { vouchedBy, privileges, group }: Confirmation): Vouched {
  const ofSettings = raised(row.vouchedBy, vouchedBy, privileges);
  const groupVouchers = row.mapping.groups?.values.map((one) => {
    const former = ofEntry(row, one);
    return entry(one, one.groupId === group?.id ? raised(former, vouchedBy, privileges) : former);
  });
  return { ...(ofSettings && { vouchedBy: ofSettings }), ...(groupVouchers && { groupVouchers }) };
}

/** Returns the voucher of a mapping entry, limited by the voucher of the settings. */
export const voucherOf = (connection: Connection, one: Entry): Voucher | undefined =>
  weaker(ofEntry(connection, one), connection.vouchedBy);

/**
 * Returns a warning for each mapping entry whose group the connection gives to nobody until an administrator confirms the group. The admin API answers with
 * warnings instead of an error, because an entry of this kind may be intended.
 */
export async function findUnconfirmedGroups(
  { directory, records: { ofInstance } }: ExtensionContext,
  connection: Connection,
): Promise<Warnings> {
  const { tid, createUsersIn, mapping } = connection;
  const owner = tid === ofInstance ? createUsersIn : tid;
  const values = mapping.groups?.values ?? [];
  if (values.length === 0 || owner === undefined) return [];
  const groups = new Map((await directory.forTenant(owner).groups.find()).map((group) => [group.id, group]));
  return values.flatMap((one, index) => {
    const group = groups.get(one.groupId);
    if (group === undefined || directory.means.give(voucherOf(connection, one), group)) return [];
    const reason =
      'The connection gives this group to nobody, because the group has permissions that a writer of the entry, or of the settings of the connection, did not hold. An administrator who holds them confirms the group: PATCH the group with "confirm": true.';
    return [{ path: `/mapping/groups/values/${index}/groupId`, reason }];
  });
}

/** Returns a hash of the connection without its vouchers, so that a confirmation for one user does not invalidate the listings of other users. */
const revisionOf = ({ vouchedBy: _, groupVouchers: __, updatedAt: ___, version: ____, ...row }: Connection): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(row).sort()))
    .digest('base64url');

const meansOf = (connection: Connection) => ({ kind: KIND, tid: connection.tid, id: connection.id, revision: revisionOf(connection) });

/** Creates the source of connections as means: settings sign users in, and mappings give groups. Only operators write connections of the instance. */
export function createMeansSource(
  { records: { collection, ofInstance }, service: { now } }: ExtensionContext,
  lookup: ConnectionLookup,
): MeansSource {
  return {
    async ofGroup({ id: groupId, tid }) {
      const all = await collection(connections, tid).list();
      return all.flatMap((connection) =>
        (connection.mapping.groups?.values ?? [])
          .filter((one) => one.groupId === groupId)
          .map((one) => ({ ...meansOf(connection), vouchedBy: voucherOf(connection, one) })),
      );
    },
    async ofIdp(idp, tid) {
      const connection = await lookup.get(idp);
      if (!connection || !isFor(connection, ofInstance, tid)) return undefined;
      return { ...meansOf(connection), vouchedBy: connection.vouchedBy };
    },
    async confirm({ kind, tid, id, revision }, confirmation) {
      if (kind !== KIND || id === undefined || !(await collection(connections, tid).get(id))) return;
      const next = (row: Connection): Connection => {
        const confirmed = { ...row, ...confirmedVouchers(row, confirmation) };
        if (revisionOf(row) !== revision || isDeepStrictEqual(confirmed, row)) return row;
        return { ...confirmed, updatedAt: new Date(now()).toISOString() };
      };
      const event = { type: 'ConnectionUpdated', data: { AggregateId: id }, by: confirmation.by } as const;
      await collection(connections, tid).update(id, next, (row) => (next(row) === row ? [] : [event]));
    },
  };
}
