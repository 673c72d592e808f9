/**
 * The service's signing keys: to sign with, to publish, and for oidc-provider.
 *
 * `jwt` makes a JWT of the service, `rotation` has them replaced in time. Where keys come from is not
 * known here: the options give them, or `lib/directory/signing-keys` makes them.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { type Client, ExternalSigningKey } from 'oidc-provider';

export type SigningAlgorithm = 'RS256' | 'ES256';

export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly publicKey: KeyObject;
  /** The signature over the data, as JWS has it. @see RFC 7518 §3.3, §3.4 */
  sign(data: Buffer): Buffer | Promise<Buffer>;
  /** The key as oidc-provider signs with it. */
  readonly external: ExternalSigningKey;
}

/** The keys in order of use: the first of an algorithm signs, all verify. */
export interface SigningKeys {
  readonly all: readonly SigningKey[];
  /** One of the algorithm, else whatever there is. */
  signing(alg: SigningAlgorithm): SigningKey;
  readonly algorithms: readonly SigningAlgorithm[];
  byKid(kid: string): SigningKey | undefined;
}

/** The key that signs a client's tokens: of the algorithm that it registered for ID tokens. */
export const signingKeyFor = ({ idTokenSignedResponseAlg: alg }: Client, keys: SigningKeys): SigningKey =>
  keys.signing(alg === 'ES256' ? 'ES256' : 'RS256');

/** @param jwks private, RS256 or ES256. */
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
  const signData = alg === 'RS256' ? signRs256(privateKey) : signEs256(privateKey);
  return { kid, alg, publicKey, sign: signData, external: externalKey(kid, alg, publicKey, signData) };
}

type Sign = SigningKey['sign'];

const signAsync = promisify<string, Buffer, KeyObject, Buffer>(sign as never);

/** RSA takes its time: done by the thread pool, so that other requests are answered meanwhile. */
const signRs256 =
  (key: KeyObject): Sign =>
  (data) =>
    signAsync('sha256', data, key);

/** Faster than a thread of the pool could be asked. */
const signEs256 = (privateKey: KeyObject): Sign => {
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return (data) => sign('sha256', data, key);
};

/** oidc-provider signs through us: the key is made ready once, which for a JWK is a share of every signature. */
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
