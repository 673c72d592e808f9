/** Stored signing keys of the instance. All signing keys are in one row, so that each change is atomic. */
import {
  defineCollection,
  defineErrors,
  type ExtensionRow,
  IdpError,
  oneOf,
  type Static,
  strict,
  Type,
} from '../../../lib/extension-door.js';
import { CACHE_SECONDS } from './metadata.js';

const MOST_KEYS = 10;

const StoredKey = Type.Object(
  {
    id: Type.String({ minLength: 1 }),
    state: oneOf(['active', 'next', 'retiring']),
    /** DER in base64. */
    certificate: Type.String({ minLength: 1 }),
    /** Private key as PKCS #8 in PEM, encrypted. */
    sealed: Type.String({ minLength: 1 }),
    createdAt: Type.String(),
    activatedAt: Type.Optional(Type.String()),
    retiredAt: Type.Optional(Type.String()),
  },
  strict,
);
export type StoredKey = Static<typeof StoredKey>;

const KeyRing = Type.Object({ keys: Type.Array(StoredKey, { minItems: 1, maxItems: MOST_KEYS }) }, strict);
export type KeyRing = ExtensionRow<Static<typeof KeyRing>>;

export const keyRings = defineCollection({ name: 'saml.keys', row: KeyRing, events: true, cached: true });

export const keyErrors = defineErrors({
  saml_next_key_exists: { status: 409, description: 'There is already a next SAML signing key. Activate or remove that key first.' },
  saml_key_active: { status: 409, description: 'The SAML signing key is active, so it cannot be removed. Activate another key first.' },
  saml_key_limit: { status: 409, description: 'There are already ten SAML signing keys. Remove a retiring key first.' },
});

type Keys = Pick<KeyRing, 'keys'>;

/** Returns a signing key. @throws IdpError `not_found` */
export function keyOf({ keys }: Keys, id: string): StoredKey {
  const key = keys.find((each) => each.id === id);
  if (key === undefined) throw new IdpError('not_found');
  return key;
}

/** Returns the active signing key. */
export function activeOf({ keys }: Keys): StoredKey {
  const active = keys.find(({ state }) => state === 'active');
  if (active === undefined) throw new IdpError('record_unreadable', { record: 'saml.keys' });
  return active;
}

/** Adds the next signing key. @throws IdpError `saml_next_key_exists`, `saml_key_limit` */
export function withNext<Row extends Keys>(row: Row, next: StoredKey): Row {
  if (row.keys.some(({ state }) => state === 'next')) throw keyErrors('saml_next_key_exists');
  if (row.keys.length >= MOST_KEYS) throw keyErrors('saml_key_limit');
  return { ...row, keys: [...row.keys, next] };
}

/**
 * Activates a signing key.
 * @param isUrgent whether the signing key may sign before every cache of the metadata has expired, so that some service providers do not know it yet
 * @throws IdpError `not_found`, `key_not_announced`
 */
export function withActive<Row extends Keys>(row: Row, id: string, now: Date, isUrgent: boolean): Row {
  const chosen = keyOf(row, id);
  if (chosen.state === 'active') return row;
  const from = Date.parse(chosen.createdAt) + CACHE_SECONDS * 1000;
  if (chosen.state === 'next' && !isUrgent && now.getTime() < from)
    throw new IdpError('key_not_announced', { from: new Date(from).toISOString() });
  const changedAt = now.toISOString();
  const keys = row.keys.map((key): StoredKey => {
    if (key.id === id) return withoutRetirement({ ...key, state: 'active', activatedAt: changedAt });
    return key.state === 'active' ? { ...key, state: 'retiring', retiredAt: changedAt } : key;
  });
  return { ...row, keys };
}

const withoutRetirement = ({ retiredAt: _, ...key }: StoredKey): StoredKey => key;

/** Removes a signing key. @throws IdpError `not_found`, `saml_key_active` */
export function withoutKey<Row extends Keys>(row: Row, id: string): Row {
  if (keyOf(row, id).state === 'active') throw keyErrors('saml_key_active');
  return { ...row, keys: row.keys.filter((key) => key.id !== id) };
}
