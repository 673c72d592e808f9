import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';

export type SigningAlgorithm = 'RS256' | 'ES256';

export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Private. */
  readonly jwk: JWK;
}

/** The keys in order of use: the first of an algorithm signs, all verify. */
export interface SigningKeys {
  readonly all: readonly SigningKey[];
  /** One of the algorithm, else whatever there is. */
  signing(alg: SigningAlgorithm): SigningKey;
  readonly algorithms: readonly SigningAlgorithm[];
  byKid(kid: string): SigningKey | undefined;
}

const generate = promisify(generateKeyPair);

/**
 * The keys given; without any, throw-away ones of each algorithm.
 * @param jwks private, RS256 or ES256.
 */
export async function loadSigningKeys(jwks: readonly JWK[] | undefined): Promise<SigningKeys> {
  const all = jwks
    ? jwks.map((jwk) => signingKey(createPrivateKey({ key: jwk as never, format: 'jwk' }), jwk.kid))
    : [
        signingKey((await generate('rsa', { modulusLength: 2048 })).privateKey),
        signingKey((await generate('ec', { namedCurve: 'P-256' })).privateKey),
      ];
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
  const jwk = privateKey.export({ format: 'jwk' }) as JWK;
  const kid = givenKid ?? thumbprint(jwk);
  return { kid, alg, privateKey, publicKey: createPublicKey(privateKey), jwk: { ...jwk, kid, alg, use: 'sig' } };
}

/** @see RFC 7638 §3 */
const thumbprint = ({ kty, crv, x, y, e, n }: JWK): string =>
  createHash('sha256')
    .update(JSON.stringify(kty === 'RSA' ? { e, kty, n } : { crv, kty, x, y }))
    .digest('base64url');
