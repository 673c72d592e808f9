/** Client secrets and signing keys by which a connection authenticates at its provider. Secrets and signing keys are stored encrypted. */
import { createHash, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { ExtensionContext } from '../../../lib/extension-door.js';
import type { Connection, StoredKey } from '../records.js';

type Alg = StoredKey['alg'];

/** A public key, in the form in which a provider registers it. */
export interface PublicJwk {
  readonly kid: string;
  readonly alg: Alg;
  readonly use: 'sig';
  readonly [member: string]: unknown;
}

export interface ConnectionSecrets {
  seal(id: string, secret: string): string;
  /** @throws IdpError `undecipherable` */
  secretOf(connection: Pick<Connection, 'id' | 'secret'>): string | undefined;
  newKey(id: string, alg: Alg): Promise<StoredKey>;
  /** Returns the private key that signs assertions. @throws IdpError `undecipherable` */
  signingKey(connection: Pick<Connection, 'id' | 'keys'>): Promise<{ readonly key: CryptoKey; readonly kid: string } | undefined>;
}

const generate = promisify(generateKeyPair) as unknown as (
  type: string,
  options: object,
) => Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }>;

const kinds = {
  RS256: { type: 'rsa', options: { modulusLength: 2048 }, algorithm: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } },
  ES256: { type: 'ec', options: { namedCurve: 'P-256' }, algorithm: { name: 'ECDSA', namedCurve: 'P-256' } },
} as const;

/** Number of published signing keys: the newest and the previous signing key, because a provider may have cached the key set. */
const KEPT_KEYS = 2;

export const withKey = (keys: readonly StoredKey[], key: StoredKey): StoredKey[] => [key, ...keys].slice(0, KEPT_KEYS);

export const publicKeys = ({ keys }: Pick<Connection, 'keys'>): readonly PublicJwk[] => keys.map(({ x }) => JSON.parse(x) as PublicJwk);

export function createConnectionSecrets({ keys: { seal: sealOf } }: Pick<ExtensionContext, 'keys'>): ConnectionSecrets {
  const secrets = sealOf('connections client secret');
  const keys = sealOf('connections key');
  return {
    seal: (id, secret) => secrets.seal(id, secret),
    secretOf: ({ id, secret }) => (secret === undefined ? undefined : secrets.open(id, secret)),
    async newKey(id, alg) {
      const { type, options } = kinds[alg];
      const { privateKey, publicKey } = await generate(type, options);
      const jwk = publicKey.export({ format: 'jwk' });
      const kid = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url').slice(0, 22);
      const publicJwk: PublicJwk = { ...jwk, kid, alg, use: 'sig' };
      return { kid, alg, x: JSON.stringify(publicJwk), sealed: keys.seal(id, JSON.stringify(privateKey.export({ format: 'jwk' }))) };
    },
    async signingKey({ id, keys: [newest] }) {
      if (newest === undefined) return undefined;
      const jwk = JSON.parse(keys.open(id, newest.sealed)) as JsonWebKey;
      const { algorithm } = kinds[newest.alg];
      return { kid: newest.kid, key: await crypto.subtle.importKey('jwk', jwk as never, algorithm, false, ['sign']) };
    },
  };
}
