/** Steps of oidc-provider's grant types. */
import type { AdapterPayload, Client, KoaContextWithOIDC } from 'oidc-provider';
import { issueTokens } from 'oidc-provider/lib/helpers/grant_common.js';
import * as helpers from 'oidc-provider/lib/helpers/grants.js';
import validateDpop, { checkDpopReplay } from 'oidc-provider/lib/helpers/validate_dpop.js';

/** The DPoP proof of a token request; undefined when it brings none. helpers/validate_dpop.js @throws InvalidDpopProof, UseDpopNonce */
export async function dpopProof(ctx: KoaContextWithOIDC): Promise<{ readonly jkt: string; use(): Promise<void> } | undefined> {
  const { provider, client } = ctx.oidc;
  const proof = await validateDpop(provider, ctx);
  return proof && { jkt: proof.thumbprint, use: () => checkDpopReplay(provider, ctx, proof, (client as Client).clientId) };
}

/** What oidc-provider mints from: a grant that is not stored yet, and the source that was redeemed. */
export interface Redeemed {
  readonly grant: { readonly scope: string; readonly exp: number; readonly [member: string]: unknown };
  readonly source: AdapterPayload & { readonly accountId: string; readonly scope: string };
}

/**
 * A grant type by the steps that oidc-provider's own have: actions/grants/ciba.js, helpers/grant_common.js. So DPoP, certificates, resources, encryption
 * and what a host configured hold for it too.
 * @param redeem is called once the request's proofs are found good.
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
