/**
 * Vouchers of the writers of a connection. The voucher of its settings counts for the users that it creates. The voucher of an entry of its mapping counts
 * for the group that the entry gives, together with that of the settings, because the settings decide who signs in.
 */
import { isDeepStrictEqual } from 'node:util';
import { type ExtensionContext, type GroupSource, type Voucher, weaker } from '../../lib/extension-door.js';
import type { ConnectionBook } from './book.js';
import { type Connection, type ConnectionFields, connections } from './records.js';

interface Entry {
  readonly value: string;
  readonly groupId: string;
}
type Vouched = Pick<ConnectionFields, 'vouchedBy' | 'groupVouchers'>;
type Settings = Pick<ConnectionFields, 'mapping'>;

/** Members that sign nobody in, whatever their value. Secret and key have operations of their own: they only authenticate the service to the provider. */
const harmless: ReadonlySet<string> = new Set(['name', 'hasButton', 'endSession', 'domains', 'clientAuth', 'keyAlgorithm']);

/** Whether a change can decide who signs in. Every member can, except those that are known to be harmless. Disabling cannot. */
export const decidesWhoSignsIn = (patch: object): boolean =>
  Object.entries(patch).some(([name, value]) => !(harmless.has(name) || (name === 'status' && value === 'disabled')));

const ofEntry = ({ groupVouchers = [] }: Vouched, { value, groupId }: Entry): Voucher | undefined =>
  groupVouchers.find((one) => one.value === value && one.groupId === groupId)?.vouchedBy;

const entry = ({ value, groupId }: Entry, vouchedBy: Voucher | undefined) => ({ value, groupId, ...(vouchedBy && { vouchedBy }) });

/** Returns the settings. Of the mapping, only the address is a setting, because links that reset a password go there. */
const settingsOf = ({ mapping, ...settings }: Settings) => ({ ...settings, email: mapping.email });

/** Returns the vouchers of a new or changed connection. Unchanged entries and settings keep their vouchers. */
export function vouchersOf(next: Settings, vouchedBy: Voucher, before?: Connection): Vouched {
  const { mapping } = next;
  const former: Readonly<Record<string, unknown>> = before ? settingsOf(before) : {};
  const changed = Object.entries(settingsOf(next)).filter(([name, value]) => !isDeepStrictEqual(former[name], value));
  const isChanged = decidesWhoSignsIn(Object.fromEntries(changed));
  const ofSettings = before === undefined ? vouchedBy : isChanged ? weaker(before.vouchedBy, vouchedBy) : before.vouchedBy;
  const kept = before?.mapping.groups?.claim === mapping.groups?.claim ? (before?.mapping.groups?.values ?? []) : [];
  const groupVouchers = mapping.groups?.values.map((one) => {
    const isKept = kept.some(({ value, groupId }) => value === one.value && groupId === one.groupId);
    return entry(one, before && isKept ? ofEntry(before, one) : vouchedBy);
  });
  return { ...(ofSettings && { vouchedBy: ofSettings }), ...(groupVouchers && { groupVouchers }) };
}

/** Returns the vouchers after somebody vouches for the settings, and for the entries that give the group. */
const confirmedVouchers = (row: Connection, groupId: string, vouchedBy: Voucher): Vouched => ({
  vouchedBy,
  groupVouchers: (row.mapping.groups?.values ?? []).map((one) => entry(one, one.groupId === groupId ? vouchedBy : ofEntry(row, one))),
});

/** Returns the voucher of an entry of the mapping, limited by that of the settings. */
export const voucherOf = (connection: Connection, one: Entry): Voucher | undefined =>
  weaker(ofEntry(connection, one), connection.vouchedBy);

/** Connections as means that put users into groups. Those of the instance are written by operators alone. */
export function createGroupSource({ collection }: ExtensionContext, book: ConnectionBook): GroupSource {
  return {
    async of({ id: groupId, tid }) {
      const all = await collection(connections, tid).list();
      return all.flatMap((connection) =>
        (connection.mapping.groups?.values ?? [])
          .filter((one) => one.groupId === groupId)
          .map((one) => ({
            ...{ kind: 'connection', tid, id: connection.id, vouchedBy: voucherOf(connection, one) },
            revision: connection.updatedAt,
          })),
      );
    },
    async confirm({ id: groupId, tid }, { id = '', revision }, vouchedBy, by) {
      // The first entry that is confirmed confirms all entries of the same revision.
      const isAsListed = (row: Connection): boolean => row.updatedAt === revision;
      const next = (row: Connection): Connection =>
        isAsListed(row) ? { ...row, ...confirmedVouchers(row, groupId, vouchedBy), updatedAt: new Date().toISOString() } : row;
      const event = { type: 'ConnectionUpdated', data: { AggregateId: id }, by } as const;
      await collection(connections, tid).update(id, next, (row) => (isAsListed(row) ? [event] : []));
      book.forget(id);
    },
  };
}
