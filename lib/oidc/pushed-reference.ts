import { UnsecuredJWT } from 'jose';
import type Provider from 'oidc-provider';
import type { ResolvedOptions } from '../options-defaults.js';

/** Seconds, as a request that a client pushes. */
const LIFETIME = 60;

/**
 * The URL of an authorization request that is kept here, by reference and once, as a request that its client pushed. Who checks that a client
 * pushed it itself must not be sent one.
 * @see RFC 9126 §2.2
 */
export async function urlByReference(
  provider: Provider,
  { issuer }: Pick<ResolvedOptions, 'issuer'>,
  clientId: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<string> {
  const request = new UnsecuredJWT({ ...parameters })
    .setIssuer(clientId)
    .setAudience(issuer)
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime(`${LIFETIME}s`);
  const { PushedAuthorizationRequest } = provider;
  const id = await new (PushedAuthorizationRequest as unknown as PushedConstructor)({ request: request.encode() }).save(LIFETIME);
  const url = new URL(provider.urlFor('authorization'));
  url.search = new URLSearchParams({ client_id: clientId, request_uri: `urn:ietf:params:oauth:request_uri:${id}` }).toString();
  return url.href;
}

type PushedConstructor = new (members: { request: string }) => { save(ttl: number): Promise<string> };
