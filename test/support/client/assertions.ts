/** A client that authenticates by `private_key_jwt`, and its assertions. */
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { redirectUri } from '../service/seed.js';
import { epochSeconds } from '../time/epoch-seconds.js';

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export interface AssertingClient {
  /** Record for `seed.clients`. */
  readonly seed: {
    readonly id: string;
    readonly name: string;
    readonly metadata: Record<string, unknown>;
    readonly allowedScopes: string[];
  };
  /** Returns form fields that authenticate the client. Given claims and header members replace the valid ones. */
  sign(issuer: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<Record<string, string>>;
}

export async function createAssertingClient(id = 'asserting'): Promise<AssertingClient> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return {
    seed: {
      id,
      name: 'Asserting',
      metadata: {
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'client_credentials'],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }] },
      },
      allowedScopes: ['openid', 'orders.read'],
    },
    async sign(issuer, claims = {}, header = {}) {
      const now = epochSeconds();
      const all = { iss: id, sub: id, aud: issuer, jti: randomUUID(), iat: now, exp: now + 240, ...claims };
      const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      const assertion = await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'own', ...header }).sign(privateKey);
      return { client_assertion_type: assertionType, client_assertion: assertion };
    },
  };
}
