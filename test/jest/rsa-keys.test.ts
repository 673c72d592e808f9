import { execFile } from 'node:child_process';
import { generateKeyPair as generate } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { rsaPrimes } from './rsa-primes.js';

const numberOf = (base64url: string): bigint => BigInt(`0x${Buffer.from(base64url, 'base64url').toString('hex')}`);

test('RSA keys all differ, and each is for what it was asked for', async () => {
  const { publicKey } = await promisify(generate)('rsa', { modulusLength: 2048 });
  const { publicKey: signer, privateKey } = await generateKeyPair('PS256', { extractable: true });
  const { publicKey: cipher } = await generateKeyPair('RSA-OAEP-256');
  const jwt = await new SignJWT({}).setProtectedHeader({ alg: 'PS256' }).sign(privateKey);
  await jwtVerify(jwt, signer);
  const keys = [publicKey.export({ format: 'jwk' }), await exportJWK(signer), await exportJWK(cipher)];
  expect(new Set(keys.map(({ n }) => n)).size).toBe(3);
});

test('processes that tests start are given RSA keys as well, each another', async () => {
  const script = `import { generateKeyPair } from 'node:crypto';
    import { promisify } from 'node:util';
    const { publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
    console.log(publicKey.export({ format: 'jwk' }).n);`;
  const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const moduli = (await Promise.all([run(), run()])).map(({ stdout }) => numberOf(stdout.trim()));
  expect(moduli[0]).not.toBe(moduli[1]);
  const primes = rsaPrimes.map(numberOf);
  for (const modulus of moduli) expect(primes.filter((prime) => modulus % prime === 0n)).toHaveLength(2);
});
