/** Clients of the OpenID Foundation's plan for FAPI-CIBA, and the ways in which these clients authenticate. */
import { generateKeyPairSync, randomUUID, X509Certificate } from 'node:crypto';
import { expect } from '@jest/globals';
import { exportJWK, type JWK, SignJWT } from 'jose';
import { makeCertificate } from '../../saml/keys/certificates.js';
import type { TestIdpOptions } from '../../service/idp.js';
import { epochSeconds } from '../../time/epoch-seconds.js';
import { type Json, postForm } from '../agent.js';
import { assertionType } from '../assertions.js';
import { CIBA_GRANT, type CibaAnswer, cibaClient, withClients } from './call-centre.js';

export interface Way {
  readonly way: string;
  readonly method: 'private_key_jwt' | 'self_signed_tls_client_auth';
  /** Whether tokens are bound to certificates. If false, no setting makes oidc-provider mint bound tokens. */
  readonly isBound: boolean;
}

export const ways: readonly Way[] = [
  { way: 'private_key_jwt', method: 'private_key_jwt', isBound: false },
  { way: 'private_key_jwt, tokens bound to certificates', method: 'private_key_jwt', isBound: true },
  { way: 'mtls', method: 'self_signed_tls_client_auth', isBound: true },
];

export interface PlanClient {
  readonly id: string;
  /** Record for `seed.clients`. */
  record(way: Way, metadata?: Readonly<Record<string, unknown>>): object;
  /** Signs with the key that is registered for PS256. */
  sign(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Header with the certificate, as a proxy that ends TLS passes it on. */
  readonly certificate: Readonly<Record<string, string>>;
}

/** Two key pairs for all clients, because an RSA key takes long to make. No client has the key of the client that was made before it. */
const keyPairs = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 })) as [KeyPair, KeyPair];
type KeyPair = ReturnType<typeof generateKeyPairSync>;
let made = 0;

export async function createPlanClient(id: string): Promise<PlanClient> {
  const { privateKey, publicKey } = keyPairs[made++ % 2 === 0 ? 0 : 1];
  const { pem, der } = await makeCertificate('P-256');
  const shown: JWK = { ...(new X509Certificate(pem).publicKey.export({ format: 'jwk' }) as JWK), kid: 'tls', x5c: [der] };
  const keys = [{ ...(await exportJWK(publicKey)), alg: 'PS256', use: 'sig', kid: 'own' }, shown];
  return {
    id,
    record({ method, isBound }, metadata = {}) {
      const { secret: _, ...client } = cibaClient(id, {
        metadata: {
          token_endpoint_auth_method: method,
          backchannel_authentication_request_signing_alg: 'PS256',
          id_token_signed_response_alg: 'ES256',
          jwks: { keys },
          ...(method === 'private_key_jwt' ? { token_endpoint_auth_signing_alg: 'PS256' } : {}),
          ...(isBound ? { tls_client_certificate_bound_access_tokens: true } : {}),
          ...metadata,
        },
      });
      return client;
    },
    sign: (claims, header = {}) =>
      new SignJWT(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)))
        .setProtectedHeader({ alg: 'PS256', kid: 'own', ...header })
        .sign(privateKey),
    certificate: { 'x-client-cert': encodeURIComponent(pem) },
  };
}

/** Returns the options of a service that the plan requires. */
export const planOptions = (way: Way, clients: readonly PlanClient[]): TestIdpOptions => ({
  assertionAudience: 'token-endpoint',
  seed: withClients(...clients.map((client) => client.record(way))),
  ...(way.isBound
    ? {
        features: {
          mTLS: {
            enabled: true,
            selfSignedTlsClientAuth: true,
            certificateBoundAccessTokens: true,
            getCertificate: (ctx) => decodeURIComponent(ctx.get('x-client-cert')) || undefined,
          },
        },
      }
    : {}),
});

/** Credentials of a request. */
export interface Credentials {
  readonly fields?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AskOptions {
  readonly header?: Readonly<Record<string, unknown>>;
  /** @default the client's own, with the endpoint's URL as audience */
  readonly by?: Credentials;
  /** Client whose key signs. @default the client */
  readonly signer?: PlanClient;
}

/** Returns the requests of the plan's clients to a service. */
export function planCalls(issuer: string, { method }: Pick<Way, 'method'>) {
  const urls = { ciba: `${issuer}/connect/ciba`, token: `${issuer}/connect/token`, userinfo: `${issuer}/connect/userinfo` };

  const assertion = async (client: PlanClient, aud: string, header?: Readonly<Record<string, unknown>>) => ({
    client_assertion_type: assertionType,
    client_assertion: await client.sign(
      { iss: client.id, sub: client.id, aud, jti: randomUUID(), nbf: epochSeconds(), iat: epochSeconds(), exp: epochSeconds() + 60 },
      header,
    ),
  });
  const credentials = async (client: PlanClient, aud: string, header?: Readonly<Record<string, unknown>>): Promise<Credentials> => ({
    fields: method === 'private_key_jwt' ? await assertion(client, aud, header) : { client_id: client.id },
    headers: client.certificate,
  });
  const post = (url: string, fields: Readonly<Record<string, string>>, by: Credentials): Promise<CibaAnswer> =>
    postForm(url, { ...fields, ...by.fields }, { ...by.headers });

  const requestObject = (
    client: PlanClient,
    claims: Readonly<Record<string, unknown>> = {},
    { header, signer = client }: AskOptions = {},
  ) =>
    signer.sign(
      {
        iss: client.id,
        aud: issuer,
        iat: epochSeconds(),
        nbf: epochSeconds(),
        exp: epochSeconds() + 300,
        jti: randomUUID(),
        scope: 'openid profile',
        login_hint: 'bob@globex.test',
        binding_message: '1234',
        ...claims,
      },
      header,
    );
  const send = async (client: PlanClient, fields: Readonly<Record<string, string>>, by?: Credentials) =>
    post(urls.ciba, fields, by ?? (await credentials(client, urls.ciba)));

  return {
    urls,
    credentials,
    requestObject,
    /** Sends fields as they are to the backchannel authentication endpoint. */
    send,
    /** Sends a signed request for Bob. Given claims replace the valid ones, and undefined claims remove them. */
    async ask(client: PlanClient, claims?: Readonly<Record<string, unknown>>, options: AskOptions = {}): Promise<CibaAnswer> {
      return send(client, { request: await requestObject(client, claims, options) }, options.by);
    },
    async poll(client: PlanClient, authReqId: string, by?: Credentials): Promise<CibaAnswer> {
      return post(urls.token, { grant_type: CIBA_GRANT, auth_req_id: authReqId }, by ?? (await credentials(client, urls.token)));
    },
    async refresh(client: PlanClient, refreshToken: string): Promise<CibaAnswer> {
      return post(urls.token, { grant_type: 'refresh_token', refresh_token: refreshToken }, await credentials(client, urls.token));
    },
    userinfo: (client: PlanClient, accessToken: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
      fetch(urls.userinfo, { headers: { authorization: `Bearer ${accessToken}`, ...client.certificate, ...headers } }),
  };
}

const errorMembers = ['error', 'error_description', 'error_uri'];

/** Checks an error of either endpoint: JSON with these members alone, and a description of printable ASCII. @see RFC 6749 §5.2 */
export function expectError(
  { status, headers, json }: CibaAnswer,
  error: string | readonly string[],
  statuses: readonly number[] = [400],
): void {
  expect(statuses).toContain(status);
  expect(headers.get('content-type')).toMatch(/^application\/json\b/);
  expect([error].flat()).toContain(json.error);
  expect(Object.keys(json as Json).filter((name) => !errorMembers.includes(name))).toEqual([]);
  expect(json.error_description ?? '').toMatch(/^[\x20\x21\x23-\x5B\x5D-\x7E]*$/);
}

export const expectPending = (answer: CibaAnswer): void => expectError(answer, ['authorization_pending', 'slow_down']);
