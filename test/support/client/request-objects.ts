/** A client that signs its authorization requests, and its request objects. */
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { redirectUri } from '../service/seed.js';
import { epochSeconds } from '../time/epoch-seconds.js';

export interface SigningClient {
  readonly id: string;
  readonly publicKey: JWK;
  readonly privateKey: CryptoKeyOf;
  /** Record for `clients.create`, with the secret `<id>-secret`. */
  readonly record: {
    readonly id: string;
    readonly name: string;
    readonly secret: string;
    readonly metadata: Record<string, unknown>;
    readonly allowedScopes: string[];
  };
  /** Returns a request object. Given members and header members replace the valid ones, and undefined members remove them. */
  sign(issuer: string, members?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

type CryptoKeyOf = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

const present = (members: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

export async function createSigningClient(
  id: string,
  { alg = 'ES256', metadata = {} }: { readonly alg?: string; readonly metadata?: Record<string, unknown> } = {},
): Promise<SigningClient> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const key = { ...(await exportJWK(publicKey)), alg, use: 'sig', kid: 'own' };
  return {
    id,
    publicKey: key,
    privateKey,
    record: {
      id,
      name: 'Signs its requests',
      secret: `${id}-secret`,
      metadata: {
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        ...(metadata.jwks_uri === undefined ? { jwks: { keys: [key] } } : {}),
        ...metadata,
      },
      allowedScopes: ['openid', 'profile'],
    },
    sign(issuer, members = {}, header = {}) {
      const now = epochSeconds();
      const request = {
        client_id: id,
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid',
        iss: id,
        aud: issuer,
        exp: now + 240,
      };
      return new SignJWT(present({ ...request, ...members }))
        .setProtectedHeader(present({ alg, kid: 'own', typ: 'oauth-authz-req+jwt', ...header }) as { alg: string })
        .sign(privateKey);
    },
  };
}
