/** Members that are derived from others, for look-ups and lists. Each write of a row makes them anew, so no service has to. */
import { normalForm } from '../../text/normal-form.js';
import type { Row } from '../directory-store.js';
import { isAdminScope } from './admin-scopes.js';
import type { CollectionName } from './collections.js';

/** One more with each change of what is derived: then all rows are due to be written anew. */
export const KEYS_VERSION = 2;

/** A text as it is compared. @see Unicode Standard Annex #15 (NFKC) */
export const comparedText = (text: string): string => normalForm(text, 'NFKC').trim().toLowerCase();

/** The members of a row that may be malformed, as a store has it. */
type Members = Readonly<Record<string, unknown>>;
type Keys = Readonly<Record<string, string | undefined>>;

const keyOf = (value: unknown): string | undefined => (typeof value === 'string' ? comparedText(value) : undefined);
const named = ({ name }: Members): Keys => ({ nameKey: keyOf(name) });

const derivations = {
  tenants: named,
  subsidiaries: named,
  persons: ({ givenName, familyName, email, secondEmail, user }: Members): Keys => ({
    nameKey: keyOf(`${givenName} ${familyName}`),
    emailKey: keyOf(email),
    secondEmailKey: keyOf(secondEmail),
    hasUser: user === undefined ? undefined : 'yes',
    isLinked: typeof (user as Members | undefined)?.parentUserId === 'string' ? 'yes' : undefined,
  }),
  groups: ({ name, permissionIds }: Members): Keys => ({
    nameKey: keyOf(name),
    givesAdminScope: Array.isArray(permissionIds) && permissionIds.some((id) => isAdminScope(String(id))) ? 'yes' : undefined,
  }),
  permissions: named,
  clients: named,
  apiResources: named,
} as const satisfies Partial<Record<CollectionName, (members: Members) => Keys>>;

/** Collections whose rows have derived members. */
export type KeyedCollection = keyof typeof derivations;
export const keyedCollections = Object.keys(derivations) as readonly KeyedCollection[];

export const isKeyedCollection = (collection: string): collection is KeyedCollection => Object.hasOwn(derivations, collection);

const keysOf = (collection: string, row: object): Keys | undefined =>
  isKeyedCollection(collection) ? derivations[collection](row as Members) : undefined;

/** The row with its derived members; the same row where it has them already. */
export function withKeys<R extends Omit<Row, 'version'>>(collection: string, row: R): R {
  const keys = keysOf(collection, row);
  if (keys === undefined || hasKeys(keys, row)) return row;
  const next: Record<string, unknown> = { ...row, ...keys };
  for (const [name, key] of Object.entries(keys)) if (key === undefined) delete next[name];
  return next as R;
}

const hasKeys = (keys: Keys, row: object): boolean => Object.entries(keys).every(([name, key]) => (row as Members)[name] === key);
