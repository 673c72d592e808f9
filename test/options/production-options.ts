import { generateKeyPairSync } from 'node:crypto';
import type { JWK } from 'jose';
import type { IdentityProviderOptions } from '../../lib/options/options.js';

export const rsaKey = (modulusLength = 2048): JWK =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ format: 'jwk' }) as JWK;
export const ecKey = (namedCurve = 'P-256'): JWK => generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'jwk' }) as JWK;

/** Returns an object with the shape of a store, because options are checked and never used. */
export const storeLike = (ephemeral: boolean): never => {
  const call = () => Promise.resolve();
  const methods = ['read', 'commit', 'listByAccount', 'hit', 'lease', 'open', 'collection', 'health', 'close'];
  return { name: 'durable', ephemeral, ...Object.fromEntries(methods.map((name) => [name, call])) } as never;
};

const signing = [rsaKey(), ecKey()] as const;

/** Returns options that production accepts. */
export const productionOptions = () =>
  ({
    issuer: 'https://login.example.com',
    artifacts: storeLike(false),
    directory: storeLike(false),
    keys: { signing, encryption: ['e'.repeat(32)] },
    trustProxy: false,
    cookies: { keys: ['c'.repeat(32)] },
  }) satisfies IdentityProviderOptions;
