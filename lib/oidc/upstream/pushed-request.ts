import { UnsecuredJWT } from 'jose';
import type Provider from 'oidc-provider';
import type { AdapterPayload, Client } from 'oidc-provider';

type Parameters = Readonly<Record<string, unknown>>;

/** Seconds that a pushed request holds: actions/authorization/pushed_authorization_requests.js. */
export const PUSHED_LIFETIME_SECONDS = 60;

/** Of a request that is kept: who asks whom, and when, in seconds since the epoch. */
interface Envelope {
  readonly issuer: string;
  readonly clientId: string;
  readonly iat: number;
  /** Whether the parameters are those of a request object whose signature was verified. */
  readonly isSigned?: boolean;
}

/** Parameters as oidc-provider keeps those that a client pushed: as the claims of a request object. */
function claimsOf(parameters: Parameters, { issuer, clientId, iat }: Envelope): Record<string, unknown> {
  const claims: Record<string, unknown> = {};
  // Most of those that a request may have it has not.
  for (const name in parameters) if (parameters[name] !== undefined) claims[name] = parameters[name];
  return Object.assign(claims, { iat, iss: clientId, aud: issuer, exp: iat + PUSHED_LIFETIME_SECONDS, nbf: iat });
}

/** What oidc-provider saves of a pushed request, but for its JWT, in whose place are the claims: models/pushed_authorization_request.js. */
export const pushedRecord = (client: Client, parameters: Parameters, envelope: Envelope): AdapterPayload =>
  ({
    iat: envelope.iat,
    request: claimsOf(parameters, envelope),
    dpopJkt: parameters.dpop_jkt,
    trusted: client.clientAuthMethod !== 'none' || envelope.isSigned === true,
  }) as unknown as AdapterPayload;

/** Keeps a request as one that its client pushed, without its having been trusted. @returns its id. */
export function keepAsPushed(provider: Provider, parameters: Parameters, envelope: Envelope): Promise<string> {
  const request = new UnsecuredJWT(claimsOf(parameters, envelope)).encode();
  const { PushedAuthorizationRequest } = provider as unknown as { PushedAuthorizationRequest: PushedConstructor };
  return new PushedAuthorizationRequest({ request }).save(PUSHED_LIFETIME_SECONDS);
}

type PushedConstructor = new (members: { request: string }) => { save(ttl: number): Promise<string> };
