/** A relying party built on openid-client, a library of another project. */
import * as openid from 'openid-client';

export interface RelyingPartyOptions {
  readonly client?: string;
  readonly authentication?: openid.ClientAuth;
  readonly metadata?: Partial<openid.ClientMetadata>;
}

/** Discovers the provider; ID tokens and other signed answers are verified against the published keys. */
export async function discover(
  issuer: string,
  { client = 'web', authentication = openid.ClientSecretBasic(`${client}-secret`), metadata = {} }: RelyingPartyOptions = {},
): Promise<openid.Configuration> {
  return openid.discovery(new URL(issuer), client, metadata, authentication, {
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  });
}
