/** A client of the FAPI 2.0 Security Profile, and its requests. */
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { redirectUri } from '../service/seed.js';
import { type Agent, createPkce, postForm } from './agent.js';
import type { AssertingClient } from './assertions.js';
import { CIBA_GRANT } from './ciba/call-centre.js';
import { responseOf } from './steps.js';

const keys = await generateKeyPair('ES256', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
export const pkce = createPkce();

/** Returns the seed record of a client that sets only how the client authenticates. The record has a key for RS256 too. */
export async function fapiRecord({ seed }: AssertingClient, more: Readonly<Record<string, unknown>> = {}) {
  const { keys: own } = seed.metadata.jwks as { readonly keys: readonly object[] };
  return {
    ...seed,
    allowedScopes: ['openid', 'offline_access', 'orders.read'],
    metadata: {
      ...seed.metadata,
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials', CIBA_GRANT],
      backchannel_token_delivery_mode: 'poll',
      jwks: { keys: [...own, { ...(await exportJWK(rsa.publicKey)), alg: 'RS256', use: 'sig', kid: 'rsa' }] },
      ...more,
    },
  };
}

/** Signs by an algorithm that the profile refuses. */
export const signByRsa = (claims: Readonly<Record<string, unknown>>, typ?: string): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'rsa', ...(typ !== undefined && { typ }) }).sign(rsa.privateKey);

const proofFor = async (url: string): Promise<string> =>
  new SignJWT({ htu: url, htm: 'POST', jti: randomUUID() })
    .setIssuedAt()
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(keys.publicKey) })
    .sign(keys.privateKey);

export const fapiRequest = (client: AssertingClient, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  client_id: client.seed.id,
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid offline_access',
  code_challenge: pkce.challenge,
  code_challenge_method: 'S256',
  ...more,
});

/** Returns the requests of the client to a service. */
export function fapiCalls(issuer: () => string, client: AssertingClient) {
  const post = async (path: string, fields: Record<string, string>, { isBound = false, accept = 'application/json' } = {}) => {
    const url = `${issuer()}/connect/${path}`;
    return postForm(url, { ...fields, ...(await client.sign(issuer())) }, { accept, ...(isBound && { dpop: await proofFor(url) }) });
  };
  const pushedUrl = async (more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { json } = await post('par', fapiRequest(client, more));
    return `${issuer()}/connect/authorize?${new URLSearchParams({ client_id: client.seed.id, request_uri: json.request_uri })}`;
  };
  return {
    post,
    pushedUrl,
    /** @param agent a browser that is signed in */
    codeFor: async (agent: Agent): Promise<string> => responseOf(await agent.get(await pushedUrl())).get('code') ?? '',
    redeem: (code: string, isBound = true) =>
      post('token', { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier }, { isBound }),
    refresh: (value: string, isBound = true) => post('token', { grant_type: 'refresh_token', refresh_token: value }, { isBound }),
  };
}
