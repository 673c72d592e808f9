import { errors } from 'oidc-provider';
import type { Scopes } from '../../accounts/scopes.js';
import { checkCodeRequest, checkVerifier } from '../../clients/pkce.js';
import type { OidcParts } from '../../context.js';
import type { Issue } from '../issue.js';
import { type GrantType, requirePresent, requireProof } from '../token-request.js';
import { checkScopeBeside } from './asked-scope.js';
import { firstRefreshToken } from './refresh-token.js';

/** @see RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 9449 §10 */
export function createAuthorizationCode({ adapters: { tokens } }: OidcParts, scopes: Scopes, issue: Issue): GrantType {
  return async (request) => {
    const { ctx, unit, client, record, parameters } = request;
    checkScopeBeside(ctx, scopes, record, parameters.scope);
    requirePresent(parameters, 'code', 'redirect_uri');
    const { code = '', redirect_uri: redirectUri, code_verifier: verifier } = parameters;
    const proof = await request.proof();
    const found = await tokens.find(unit, 'AuthorizationCode', code);
    if (!found?.grant) {
      await tokens.endReplayed(unit, code, client.clientId);
      throw new errors.InvalidGrant('authorization code not found, expired or used');
    }
    const { token: source, grant } = found;
    if (source.clientId !== client.clientId) throw new errors.InvalidGrant('client mismatch');
    checkVerifier(verifier, source);
    checkCodeRequest(ctx, client, record, source);
    requireProof(client, proof);
    if (source.redirectUri !== redirectUri) throw new errors.InvalidGrant('authorization code redirect_uri mismatch');
    // The code counts as used, whatever happens next, because the code's own client sent it. @see RFC 6749 §4.1.2
    tokens.spend(unit, 'AuthorizationCode', code, { accessToken: record.lifetimes.accessToken });
    if (source.dpopJkt !== undefined && source.dpopJkt !== proof?.jkt)
      throw new errors.InvalidGrant('DPoP proof key thumbprint does not match dpop_jkt');
    return issue(request, {
      source,
      grant,
      gty: 'authorization_code',
      asked: source.scope as string,
      proof,
      settle: () => proof?.use(),
      ...firstRefreshToken(client, source.scope as string, source.grantId as string),
    });
  };
}
