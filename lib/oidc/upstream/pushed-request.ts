import { UnsecuredJWT } from 'jose';
import type Provider from 'oidc-provider';
import type { AdapterPayload, Client } from 'oidc-provider';

type Parameters = Readonly<Record<string, unknown>>;

/** Seconds for which a pushed request is valid: actions/authorization/pushed_authorization_requests.js. */
export const PUSHED_LIFETIME_SECONDS = 60;

/** Issuer, client and time of a stored request. `iat` is in seconds since the epoch. */
interface Envelope {
  readonly issuer: string;
  readonly clientId: string;
  readonly iat: number;
  /** Whether the parameters come from a request object whose signature was verified. */
  readonly isSigned?: boolean;
}

/** Returns parameters in the form in which oidc-provider stores a pushed request: as the claims of a request object. */
function claimsOf(parameters: Parameters, { issuer, clientId, iat }: Envelope): Record<string, unknown> {
  const claims: Record<string, unknown> = {};
  // Most of the possible parameters are absent.
  for (const name in parameters) if (parameters[name] !== undefined) claims[name] = parameters[name];
  return Object.assign(claims, { iat, iss: clientId, aud: issuer, exp: iat + PUSHED_LIFETIME_SECONDS, nbf: iat });
}

/** Returns the record of a pushed request as oidc-provider saves it, with the claims in place of its JWT: models/pushed_authorization_request.js. */
export const pushedRecord = (client: Client, parameters: Parameters, envelope: Envelope): AdapterPayload =>
  ({
    iat: envelope.iat,
    request: claimsOf(parameters, envelope),
    dpopJkt: parameters.dpop_jkt,
    trusted: client.clientAuthMethod !== 'none' || envelope.isSigned === true,
  }) as unknown as AdapterPayload;

/** Stores a request as if its client had pushed it, but not as trusted. @returns the id of the request. */
export function keepAsPushed(provider: Provider, parameters: Parameters, envelope: Envelope): Promise<string> {
  const request = new UnsecuredJWT(claimsOf(parameters, envelope)).encode();
  const { PushedAuthorizationRequest } = provider as unknown as { PushedAuthorizationRequest: PushedConstructor };
  return new PushedAuthorizationRequest({ request }).save(PUSHED_LIFETIME_SECONDS);
}

type PushedConstructor = new (members: { request: string }) => { save(ttl: number): Promise<string> };
