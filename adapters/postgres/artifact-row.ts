import { present } from '../../lib/present.js';
import type { Artifact, ArtifactKey } from '../../lib/store/artifact-store.js';
import { originalText, storableText } from '../sql/storable-text.js';
import { CHURN, type Table } from './tables.js';

/** Table of the records, and of the tombstones of removed records. A tombstone has no content. */
export const artifactTable: Table = {
  name: 'artifacts',
  columns: `key text collate "C" primary key, value text collate "C" not null, version integer not null, expires_at bigint not null,
    consumed_at bigint, account text collate "C", link_names text[] collate "C", link_keys text[] collate "C", is_removed boolean not null`,
  storage: CHURN,
  indexes: {
    expiry: '(expires_at)',
    // Only the beginning of an account is indexed, because an account may be longer than an index entry.
    account: '(left(account, 64)) where account is not null',
  },
};

/** Expression for the server's time, in milliseconds since the epoch. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** Condition for a live record `a`. */
export const IS_LIVE = `a.expires_at > ${NOW} and not a.is_removed`;

/** Columns of a record `a`, as texts. */
export const COLUMNS =
  'a.key, a.value, a.version::text, a.expires_at::text, a.consumed_at::text, a.account, to_json(a.link_names)::text as names, to_json(a.link_keys)::text as keys';

/** Row of an answer to a statement that selects {@link COLUMNS}. */
export interface ArtifactRow {
  readonly key: ArtifactKey;
  readonly value: string;
  readonly version: string;
  readonly expires_at: string;
  readonly consumed_at: string | null;
  readonly account: string | null;
  readonly names: string | null;
  readonly keys: string | null;
}

export function artifactOf({ key, value, version, expires_at, consumed_at, account, names, keys }: ArtifactRow): Artifact {
  return {
    key,
    value: originalText(value),
    version: Number(version),
    expiresAt: Number(expires_at),
    ...present({
      consumedAt: consumed_at === null ? undefined : Number(consumed_at),
      account: account === null ? undefined : originalText(account),
      links: names === null || keys === null ? undefined : linksOf(JSON.parse(names) as string[], JSON.parse(keys) as ArtifactKey[]),
    }),
  };
}

/** Returns the links by name. `Object.fromEntries` defines own members, so that a link named `__proto__` is kept. */
const linksOf = (names: readonly string[], keys: readonly ArtifactKey[]): Record<string, ArtifactKey> =>
  Object.fromEntries(names.map((name, index) => [originalText(name), keys[index] as ArtifactKey]));

/** Returns storable texts as the text of one array. A parameter that has arrays of different lengths is sent as an array of such texts. */
export const arrayText = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${storableText(text).replaceAll(/["\\]/g, '\\$&')}"`).join()}}`;
