/**
 * Requests that clients send without a browser.
 *
 * The requests are passed to the extension that answers the endpoint, after client, parameters and request object were checked. `client-request-objects`
 * reads signed requests.
 */
import { errors } from 'oidc-provider';
import { parseAcrValues } from '../../../acr-values.js';
import type { ClientEndpoint, ClientRequest, HintedAccount } from '../../../contract/clients/client-endpoint.js';
import type { GrantRefusal } from '../../../contract/clients/grant-type.js';
import { checkScopes, type Scopes } from '../../accounts/scopes.js';
import type { AnswerClient, AuthenticatedRequest } from '../../clients/authentication.js';
import { useOnce } from '../../clients/jwts.js';
import { userIdOf } from '../../clients/pairwise.js';
import { refusalOf } from '../../clients/refusals.js';
import type { OidcParts } from '../../context.js';
import { claimsOfIdToken } from '../../upstream/id-token.js';
import { checkAuthenticationRequirements, checkLengths } from '../checks.js';
import { accountOfHint, HintTokenExpired, readHintToken } from '../login-hint-tokens.js';
import type { RequestUris } from '../request-uris.js';
import { createClientRequestObjects } from './client-request-objects.js';

export function createClientEndpoint(
  parts: OidcParts,
  scopes: Scopes,
  requestUris: RequestUris,
  provider: () => { readonly IdToken: unknown },
  endpoint: () => ClientEndpoint,
): AnswerClient {
  const readRequestObject = createClientRequestObjects(parts, requestUris);

  const requestOf = (asked: AuthenticatedRequest, parameters: ClientRequest['parameters']): ClientRequest => {
    const { ctx, client, record } = asked;
    return {
      ctx,
      client: record,
      parameters,
      userIdOf: (identifier) => userIdOf(parts, client, identifier),
      async accountOfIdToken(token): Promise<HintedAccount> {
        const claims = await claimsOfIdToken(provider() as never, client, token);
        if (!claims) return { problem: 'id_token_hint is not an ID token of this client. Send one that the client got.' };
        const oid = userIdOf(parts, client, String(claims.oid ?? claims.sub));
        return { account: oid === undefined ? undefined : await parts.directory.accounts.findByOid(oid) };
      },
      async accountOfHintToken(token, tids): Promise<HintedAccount> {
        try {
          const hint = await readHintToken(parts, client, token);
          if (!(await useOnce(parts.artifacts, 'LoginHint', hint))) return { problem: 'login_hint_token was used before. Send a new one.' };
          return { account: await accountOfHint(parts, client, hint, tids) };
        } catch (error) {
          if (error instanceof HintTokenExpired) return { problem: 'login_hint_token has expired. Send a new one.', isExpired: true };
          if (error instanceof errors.InvalidRequest)
            return {
              problem: 'login_hint_token is invalid. Sign it with a key of the client or of the service, and name the service in aud.',
            };
          throw error;
        }
      },
    };
  };

  async function outcomeOf(request: AuthenticatedRequest): Promise<Outcome> {
    const { grantType, parameters: names, admit, answer } = endpoint();
    if (!request.client.grantTypeAllowed(grantType))
      throw new errors.UnauthorizedClient(`${grantType} is not allowed for this client. Add it to grant_types of the client.`);
    await admit?.(request.record);
    const parameters = await readRequestObject(request, new Set(names));
    const { scope, acr_values: acrValues } = parameters;
    checkLengths(parameters);
    if (scope !== undefined) checkScopes(scope.split(' ').filter(Boolean), request.record, scopes.known(request.ctx));
    // The endpoint decides about impersonation itself.
    if (parseAcrValues(acrValues).impersonate === false) await checkAuthenticationRequirements(acrValues, parts.offers);
    return answer(requestOf(request, parameters));
  }

  return async (request) => {
    const outcome = await outcomeOf(request).catch((error: unknown) => refusalOf(request.ctx, error));
    if (isRefusal(outcome)) throw new errors.CustomOIDCProviderError(outcome.error, outcome.description ?? '');
    return outcome;
  };
}

type Outcome = Readonly<Record<string, unknown>> | GrantRefusal;

const isRefusal = (outcome: Outcome): outcome is GrantRefusal => typeof (outcome as Partial<GrantRefusal>).error === 'string';
