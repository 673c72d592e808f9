/**
 * What the writers of a connection vouch for: of its settings, for the users that it creates; of each entry of its mapping, for the group that it gives. A
 * setting decides who signs in, so a group needs both.
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

/** Members that sign nobody in, whatever their value. The secret and the key are not members, because they only prove the service to the provider. */
const harmless: ReadonlySet<string> = new Set(['name', 'hasButton', 'endSession', 'domains', 'clientAuth', 'keyAlgorithm']);

/** Whether a change can sign users in. Disabling cannot. Every member can, except those that are known to be harmless. */
export const decidesWhoSignsIn = (patch: object): boolean =>
  Object.entries(patch).some(([name, value]) => !(harmless.has(name) || (name === 'status' && value === 'disabled')));

const ofEntry = ({ groupVouchers = [] }: Vouched, { value, groupId }: Entry): Voucher | undefined =>
  groupVouchers.find((one) => one.value === value && one.groupId === groupId)?.vouchedBy;

const entry = ({ value, groupId }: Entry, vouchedBy: Voucher | undefined) => ({ value, groupId, ...(vouchedBy && { vouchedBy }) });

/** The settings. Of the mapping the address alone, because links that reset a password go there. */
const settingsOf = ({ mapping, ...settings }: Settings) => ({ ...settings, email: mapping.email });

/** The vouchers of a new connection, or of one after a change: entries and settings that the change leaves alone keep theirs. */
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

/** The vouchers after somebody vouches for the settings, and for the entries that give the group. */
const confirmedVouchers = (row: Connection, groupId: string, vouchedBy: Voucher): Vouched => ({
  vouchedBy,
  groupVouchers: (row.mapping.groups?.values ?? []).map((one) => entry(one, one.groupId === groupId ? vouchedBy : ofEntry(row, one))),
});

/** What an entry of the mapping is good for. */
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
          .map((one) => ({ kind: 'connection', tid, id: connection.id, vouchedBy: voucherOf(connection, one) })),
      );
    },
    async confirm({ id: groupId, tid }, { id = '' }, vouchedBy, by) {
      const next = (row: Connection) => ({ ...row, ...confirmedVouchers(row, groupId, vouchedBy), updatedAt: new Date().toISOString() });
      await collection(connections, tid).update(id, next, [{ type: 'ConnectionUpdated', data: { AggregateId: id }, by }]);
      book.forget(id);
    },
  };
}
