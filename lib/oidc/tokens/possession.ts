/** Proof of possession of the key or the certificate to which an access token is bound. */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { ShownToken, TokenRefusal } from '../../contract/bearer.js';
import { checkProof } from '../clients/dpop-proofs.js';
import type { OidcParts } from '../context.js';
import { certificateThumbprint, tokenProof } from '../upstream/grant-types.js';
import type { AccessTokenRecord } from './access-token-jwt.js';

type Bound = Pick<AccessTokenRecord, 'clientId' | 'jkt' | 'x5t#S256'>;

/** Returns the reason if the request does not prove possession; undefined if the request proves it, or if the token is not bound. */
export type CheckPossession = (ctx: Context, shown: ShownToken, token: Bound) => Promise<TokenRefusal | undefined>;

export const refusedFor = (cause: string): TokenRefusal => ({ refused: 'invalid_token', cause });

/** @see RFC 9449 §4.3, §7, RFC 8705 §3 */
export const createCheckPossession =
  ({ options: { issuer } }: Pick<OidcParts, 'options'>, provider: () => Provider): CheckPossession =>
  async (ctx, { scheme, value }, { clientId, jkt, 'x5t#S256': certificate }) => {
    if (scheme === 'Bearer' && jkt !== undefined) return refusedFor('bound to a key: it needs the scheme DPoP and a proof');
    if (scheme === 'DPoP' && jkt === undefined) return refusedFor('not bound to a key: it needs the scheme Bearer');
    if (certificate !== undefined && certificate !== certificateThumbprint(provider(), ctx))
      return refusedFor('bound to a certificate that the request does not have');
    if (jkt === undefined) return undefined;
    try {
      checkProof(ctx.headers);
      const proof = await tokenProof(provider(), ctx, issuer + ctx.path, value);
      if (!proof) return { refused: 'invalid_dpop_proof', cause: 'no DPoP proof' };
      if (proof.jkt !== jkt) return refusedFor('bound to another key than that of the proof');
      // The proof is used last, because the use writes to the store.
      await proof.use(clientId);
      return undefined;
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      const refused = error instanceof errors.UseDpopNonce ? 'use_dpop_nonce' : 'invalid_dpop_proof';
      return { refused, cause: error.error_description ?? error.message };
    }
  };
