/** Steps of oidc-provider's grant types, and the proofs to which its tokens are bound. */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { type AdapterPayload, type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import thumbprintOf from 'oidc-provider/lib/helpers/certificate_thumbprint.js';
import { issueTokens } from 'oidc-provider/lib/helpers/grant_common.js';
import * as helpers from 'oidc-provider/lib/helpers/grants.js';
import validateDpop, { checkDpopReplay } from 'oidc-provider/lib/helpers/validate_dpop.js';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';

/**
 * Returns the DPoP proof of a token request; undefined if the request has none. Depends on helpers/validate_dpop.js. @throws InvalidDpopProof, UseDpopNonce
 */
export async function dpopProof(ctx: KoaContextWithOIDC): Promise<{ readonly jkt: string; use(): Promise<void> } | undefined> {
  const { provider, client } = ctx.oidc;
  const proof = await validateDpop(provider, ctx);
  return proof && { jkt: proof.thumbprint, use: () => checkDpopReplay(provider, ctx, proof, (client as Client).clientId) };
}

/** A DPoP proof that came with an access token. */
interface TokenProof {
  readonly jkt: string;
  /** Records the use of the proof. @throws InvalidDpopProof if the proof was used before */
  use(clientId: string): Promise<void>;
}

/**
 * Returns the DPoP proof of a request to a route of the service that oidc-provider does not have. Undefined if the request has no proof, or if DPoP is off.
 * Depends on helpers/validate_dpop.js, as shared/access_token.js uses it.
 * @param url of the route, without a query
 * @throws InvalidDpopProof, UseDpopNonce
 */
export async function tokenProof(provider: Provider, ctx: Context, url: string, accessToken: string): Promise<TokenProof | undefined> {
  // oidc-provider makes its context only at its own routes.
  const asked: Context = Object.create(ctx, { oidc: { value: { provider, urlFor: () => url } } });
  const proof = await validateDpop(provider, asked, accessToken);
  return proof && { jkt: proof.thumbprint, use: (clientId) => checkDpopReplay(provider, asked, proof, clientId, errors.InvalidDpopProof) };
}

/** Returns the algorithms of DPoP proofs; none if DPoP is off. */
export function proofAlgorithms(provider: Provider): readonly string[] {
  const { features, dPoPSigningAlgValues } = insideOf(provider).configuration;
  return features.dPoP.enabled ? dPoPSigningAlgValues : [];
}

/** Returns the thumbprint of the certificate of a request; undefined if there is no certificate, or if mutual TLS is off. @see RFC 8705 §3.1 */
export function certificateThumbprint(provider: Provider, ctx: Context): string | undefined {
  const { mTLS } = insideOf(provider).configuration.features;
  const certificate = mTLS.enabled ? mTLS.getCertificate(ctx) : undefined;
  return certificate ? thumbprintOf(certificate) : undefined;
}

/** Input of oidc-provider's tokens: a grant that is not stored yet, and the source of the exchange. */
export interface Redeemed {
  readonly grant: { readonly scope: string; readonly exp: number; readonly [member: string]: unknown };
  readonly source: AdapterPayload & { readonly accountId: string; readonly scope: string };
}

/**
 * Runs a grant type by the steps of oidc-provider's own grant types: actions/grants/ciba.js, helpers/grant_common.js. So DPoP, certificates, resources,
 * encryption and the host's configuration apply to the grant type too.
 * @param redeem is called after the request's proofs were checked.
 */
export async function issueFor(ctx: KoaContextWithOIDC, name: string, redeem: () => Promise<Redeemed>): Promise<void> {
  const { provider, client } = ctx.oidc;
  const bound = Object.fromEntries(Object.entries(helpers).map(([helper, run]) => [helper, run.bind(undefined, provider)]));
  const dPoP = await helpers.validateDpop(provider, ctx);
  const cert = helpers.checkMtlsCert(provider, ctx);
  helpers.checkDpopRequired(provider, ctx, dPoP);
  const {
    grant: { scope, ...members },
    source,
  } = await redeem();
  const grant = new provider.Grant({ clientId: String(client?.clientId), accountId: source.accountId });
  grant.addOIDCScope(scope);
  const grantId = await Object.assign(grant, members).save();
  ctx.oidc.entity('Grant', grant);
  const redeemed = { ...source, grantId, scopes: new Set(scope.split(' ')) };
  await issueTokens(provider, bound, ctx, redeemed, grant, { gty: name, entityLabel: 'grant', cert, dPoP });
}
