import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import validateDpop, { checkDpopReplay } from 'oidc-provider/lib/helpers/validate_dpop.js';

/** The DPoP proof of a token request; undefined when it brings none. helpers/validate_dpop.js @throws InvalidDpopProof, UseDpopNonce */
export async function dpopProof(ctx: KoaContextWithOIDC): Promise<{ readonly jkt: string; use(): Promise<void> } | undefined> {
  const { provider, client } = ctx.oidc;
  const proof = await validateDpop(provider, ctx);
  return proof && { jkt: proof.thumbprint, use: () => checkDpopReplay(provider, ctx, proof, (client as Client).clientId) };
}
