import { UnsecuredJWT } from 'jose';
import type Provider from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { requestUriOf } from '../artifacts/ids.js';
import { epochSeconds } from '../epoch-seconds.js';

type Issuer = Pick<ResolvedOptions, 'issuer'>;
type Parameters = Readonly<Record<string, unknown>>;

/** Seconds that a pushed request holds, as oidc-provider has it. */
const PUSHED_LIFETIME_SECONDS = 60;

/** Parameters as oidc-provider keeps those that a client pushed: as a request object. @param iat seconds since the epoch. */
const pushedRequest = ({ issuer }: Issuer, clientId: string, parameters: Parameters, iat: number): string =>
  new UnsecuredJWT({ ...parameters, iat, iss: clientId, aud: issuer, exp: iat + PUSHED_LIFETIME_SECONDS, nbf: iat }).encode();

/**
 * The URL of an authorization request that is kept here, by reference and once, as a request that its client pushed. Who checks that a client
 * pushed it itself must not be sent one.
 * @see RFC 9126 §2.2
 */
export async function urlByReference(provider: Provider, options: Issuer, clientId: string, parameters: Parameters): Promise<string> {
  const request = pushedRequest(options, clientId, parameters, epochSeconds());
  const { PushedAuthorizationRequest } = provider;
  const id = await new (PushedAuthorizationRequest as unknown as PushedConstructor)({ request }).save(PUSHED_LIFETIME_SECONDS);
  const url = new URL(provider.urlFor('authorization'));
  url.search = new URLSearchParams({ client_id: clientId, request_uri: requestUriOf(id) }).toString();
  return url.href;
}

type PushedConstructor = new (members: { request: string }) => { save(ttl: number): Promise<string> };
