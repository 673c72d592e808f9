/**
 * Signing keys of the service: for signatures, for the key set, and for oidc-provider.
 *
 * `jwt` makes a JWT of the service, and `rotation` replaces keys in time. The keys come from the options, or from `lib/directory/signing-keys`.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { type Client, ExternalSigningKey } from 'oidc-provider';
import { signEs256, verifyEs256 } from './es256.js';

export type SigningAlgorithm = 'RS256' | 'ES256';

export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly publicKey: KeyObject;
  /** Returns the signature over the data, in the form of JWS. @see RFC 7518 §3.3, §3.4 */
  sign(data: Buffer): Buffer | Promise<Buffer>;
  /** Returns whether this key made the signature, in the form of JWS, over the data. */
  verifies(data: Buffer, signature: Uint8Array): boolean;
  /** Signing key in the form of oidc-provider. */
  readonly external: ExternalSigningKey;
}

/** Signing keys in the order of their use. The first key of an algorithm signs, and all keys verify. */
export interface SigningKeys {
  readonly all: readonly SigningKey[];
  /** Returns the signing key of the algorithm, or any signing key if the algorithm has none. */
  signing(alg: SigningAlgorithm): SigningKey;
  readonly algorithms: readonly SigningAlgorithm[];
  byKid(kid: string): SigningKey | undefined;
}

/** Returns the signing key for a client's tokens: the key of the algorithm that the client registered for ID tokens. */
export const signingKeyFor = ({ idTokenSignedResponseAlg: alg }: Client, keys: SigningKeys): SigningKey =>
  keys.signing(alg === 'ES256' ? 'ES256' : 'RS256');

/** @param jwks private keys, RS256 or ES256. */
export function loadSigningKeys(jwks: readonly JWK[]): SigningKeys {
  const all = jwks.map((jwk) => signingKey(createPrivateKey({ key: jwk as never, format: 'jwk' }), jwk.kid));
  const byKid = new Map(all.map((key) => [key.kid, key]));
  return {
    all,
    signing: (alg) => (all.find((key) => key.alg === alg) ?? all[0]) as SigningKey,
    algorithms: [...new Set(all.map(({ alg }) => alg))],
    byKid: (kid) => byKid.get(kid),
  };
}

function signingKey(privateKey: KeyObject, givenKid?: string): SigningKey {
  const alg = privateKey.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256';
  const publicKey = createPublicKey(privateKey);
  const kid = givenKid ?? thumbprint(publicKey.export({ format: 'jwk' }) as JWK);
  const signData: Sign = alg === 'RS256' ? (data) => signRs256(data, privateKey) : (data) => signEs256(data, privateKey);
  return {
    kid,
    alg,
    publicKey,
    sign: signData,
    verifies: (data, signature) =>
      alg === 'RS256' ? verify('sha256', data, publicKey, signature) : verifyEs256(data, publicKey, signature),
    external: externalKey(kid, alg, publicKey, signData),
  };
}

type Sign = SigningKey['sign'];

const signAsync = promisify<string, Buffer, KeyObject, Buffer>(sign as never);

/** Signs in the thread pool, because RSA is slow and other requests are answered at the same time. */
const signRs256 = (data: Buffer, key: KeyObject): Promise<Buffer> => signAsync('sha256', data, key);

/**
 * Returns the signing key with which oidc-provider signs through this service. The key is prepared once, because preparing a JWK would be a large part of
 * every signature.
 */
function externalKey(kid: string, alg: SigningAlgorithm, publicKey: KeyObject, signData: Sign): ExternalSigningKey {
  class OurSigningKey extends ExternalSigningKey {
    override get kid() {
      return kid;
    }
    override get alg() {
      return alg;
    }
    override keyObject() {
      return publicKey;
    }
    override sign(data: Uint8Array) {
      return signData(data as Buffer);
    }
  }
  return new OurSigningKey();
}

/** @see RFC 7638 §3 */
const thumbprint = ({ kty, crv, x, y, e, n }: JWK): string =>
  createHash('sha256')
    .update(JSON.stringify(kty === 'RSA' ? { e, kty, n } : { crv, kty, x, y }))
    .digest('base64url');
