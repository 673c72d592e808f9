import { generateKeyPair as generate } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { rewindKeys } from './rsa-keys.js';

test('RSA keys of one test file all differ, the next file has them again, and each is for what it was asked for', async () => {
  const moduli = async () => {
    rewindKeys();
    const { publicKey } = await promisify(generate)('rsa', { modulusLength: 2048 });
    const { publicKey: signer, privateKey } = await generateKeyPair('PS256', { extractable: true });
    const { publicKey: cipher } = await generateKeyPair('RSA-OAEP-256');
    const jwt = await new SignJWT({}).setProtectedHeader({ alg: 'PS256' }).sign(privateKey);
    await jwtVerify(jwt, signer);
    const keys = [publicKey.export({ format: 'jwk' }), await exportJWK(signer), await exportJWK(cipher)];
    return keys.map(({ n }) => n);
  };
  const first = await moduli();
  expect(new Set(first).size).toBe(3);
  expect(await moduli()).toEqual(first);
});
