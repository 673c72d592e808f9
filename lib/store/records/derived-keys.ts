/** Members that are derived from other members, for look-ups and lists. Each write of a row derives them again, so no service has to. */
import { comparedAddress, comparedText } from '../../text/compared.js';
import { type NamedPerson, shownName } from '../../text/person-name.js';
import type { Row } from '../directory-store.js';
import { isAdminScope } from './admin-scopes.js';
import type { CollectionName } from './collections.js';

/** Version of the derivations, `user.userNameKey` included. Add one with each change, so that all rows are written again. */
export const KEYS_VERSION = 4;

/** The members of a stored row, which may be malformed. */
type Members = Readonly<Record<string, unknown>>;
type Keys = Readonly<Record<string, string | undefined>>;

const keyOf = (value: unknown): string | undefined => (typeof value === 'string' ? comparedText(value) : undefined);
const addressKeyOf = (value: unknown): string | undefined => (typeof value === 'string' ? comparedAddress(value) : undefined);
const named = ({ name }: Members): Keys => ({ nameKey: keyOf(name) });

const derivations = {
  tenants: named,
  subsidiaries: named,
  persons: ({ email, secondEmail, user, ...names }: Members): Keys => ({
    nameKey: keyOf(shownName({ ...names, email, user } as NamedPerson)),
    emailKey: addressKeyOf(email),
    secondEmailKey: addressKeyOf(secondEmail),
    hasUser: user === undefined ? undefined : 'yes',
    isLinked: typeof (user as Members | undefined)?.parentUserId === 'string' ? 'yes' : undefined,
    parentNameKey: (user as Members | undefined)?.isParent === true ? addressKeyOf((user as Members).userName) : undefined,
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

/** Returns the row with its derived members; the same row if the row has them already. */
export function withKeys<R extends Omit<Row, 'version'>>(collection: string, row: R): R {
  const keys = keysOf(collection, row);
  if (keys === undefined || hasKeys(keys, row)) return row;
  const next: Record<string, unknown> = { ...row, ...keys };
  for (const [name, key] of Object.entries(keys)) if (key === undefined) delete next[name];
  return next as R;
}

/**
 * Returns the row with its derived members, including the compared form of the user name. Compared forms are unique, but two stored names can get the
 * same compared form when the comparison changes. So only a write of the name and the completion of derived members derive that form. A write of other
 * members leaves it unchanged.
 */
export function withEveryKey<R extends Omit<Row, 'version'>>(collection: string, row: R): R {
  const keyed = withKeys(collection, row);
  const { user } = keyed as { readonly user?: Members };
  if (collection !== 'persons' || typeof user?.userName !== 'string') return keyed;
  const userNameKey = comparedAddress(user.userName);
  return userNameKey === user.userNameKey ? keyed : { ...keyed, user: { ...user, userNameKey } };
}

/** Returns the name of a derived member that does not match its source; undefined where all match. */
export function staleKey(collection: string, row: object): string | undefined {
  const keys = keysOf(collection, row) ?? {};
  return Object.keys(keys).find((name) => (row as Members)[name] !== keys[name]);
}

const hasKeys = (keys: Keys, row: object): boolean => Object.entries(keys).every(([name, key]) => (row as Members)[name] === key);
