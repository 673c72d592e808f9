import { epochSeconds } from '../../../times/epoch-seconds.js';
import { nodeSeconds } from '../../../times/node-time.js';
import type { Scopes } from '../../accounts/scopes.js';
import { createId } from '../../artifacts/ids.js';
import type { OidcParts } from '../../context.js';
import type { AccessTokens } from '../access-token-jwt.js';
import { lifetimesOf } from '../lifetimes.js';
import { type GrantType, requireProof } from '../token-request.js';
import { clientCredentialsScope } from './asked-scope.js';

/** Creates the grant type that issues a token of the client itself. @see RFC 6749 §4.4 */
export function createClientCredentials(parts: OidcParts, scopes: Scopes, accessTokens: AccessTokens): GrantType {
  const { tokens } = parts.adapters;
  const lifetimes = lifetimesOf(parts);
  return async ({ ctx, unit, client, record, parameters, proof: readProof }) => {
    const scope = clientCredentialsScope(ctx, scopes, record, parameters.scope);
    const proving = readProof();
    const proof = proving instanceof Promise ? await proving : proving;
    if (proof) await proof.use();
    requireProof(client, proof);

    const expiresIn = lifetimes.ClientCredentials(undefined, { kind: 'ClientCredentials' }, client);
    const iat = epochSeconds(parts.now());
    const id = createId('ClientCredentials');
    const token = { iat, exp: nodeSeconds() + expiresIn, scope, clientId: client.clientId, jkt: proof?.jkt };
    const signed = record.accessTokenType === 'jwt' ? await accessTokens.signed(ctx, client, { ...token, jti: id }) : undefined;
    tokens.put(unit, 'ClientCredentials', id, signed ? { ...token, structured: true } : token, token.exp);
    return { access_token: signed ?? id, expires_in: expiresIn, scope, token_type: proof ? 'DPoP' : 'Bearer' };
  };
}
