/**
 * Authentication of callers at an endpoint, by their address, their secret or their bearer token.
 *
 * Clients and API resources authenticate by their secret here. `wrong-secrets` limits guesses of secrets.
 *
 * @see RFC 6749 §2.3.1
 */
import type { Context, Middleware } from 'koa';
import type { CallerState } from '../../contract/clients/caller.js';
import type { ExtensionContext } from '../../contract/extension-context.js';
import { type Directory, explainRefusal } from '../../directory/index.js';
import { IdpError } from '../../errors.js';
import { challenge } from '../header-values.js';
import { formOf, parametersOf } from '../requests/parameters.js';
import { basicCredentials } from './basic-credentials.js';
import { NO_CREDENTIALS, RefusedClient } from './refused-clients.js';

type ClientAuthParts = Pick<ExtensionContext, 'service' | 'limits'> & {
  readonly directory: Pick<Directory, 'authenticate' | 'clients' | 'apiResources'>;
};

interface Credentials {
  readonly id: string | undefined;
  readonly secret: string | undefined;
}

/**
 * Creates middleware that authenticates a client or an API resource by its id and secret. The id and the secret come from HTTP Basic, or from a form
 * that was read before. The middleware sets `ctx.state.caller`.
 * @throws IdpError `invalid_client`; `too_many_requests` over the rate limit of wrong secrets; `invalid_request` for credentials that are malformed, in the
 * query, or of two kinds.
 * @example
 * ```ts
 * import { answerJson, type CallerState, clientAuth, type Extension, form } from 'tenant-idp/extension';
 *
 * export const whoAmI: Extension = {
 *   name: 'who-am-i',
 *   routes(router, context) {
 *     router.postWithoutCsrf('/who-am-i', form, clientAuth(context), (ctx) => {
 *       const { caller } = ctx.state as Required<CallerState>;
 *       answerJson(ctx, { id: caller.id, name: caller.name });
 *     });
 *   },
 * };
 * ```
 */
export function clientAuth({ directory, service: { issuer }, limits: { countWrongSecret } }: ClientAuthParts): Middleware<CallerState> {
  const { authenticate } = directory;
  const refusalOf = async ({ id, secret }: Credentials): Promise<RefusedClient> => {
    if (id === undefined) return new RefusedClient(undefined, NO_CREDENTIALS);
    return RefusedClient.of(id, await explainRefusal(directory, id, secret));
  };
  return async function authenticateClient(ctx, next) {
    const credentials = credentialsOf(ctx as Context);
    const { id, secret } = credentials;
    const isComplete = id !== undefined && secret !== undefined;
    const caller = isComplete ? await authenticate(id, secret) : undefined;
    if (!caller) {
      const cause = await refusalOf(credentials);
      if (isComplete) await countWrongSecret(ctx as Context, id, cause);
      ctx.set('WWW-Authenticate', challenge('Basic', { realm: issuer, charset: 'UTF-8' }));
      throw new IdpError('invalid_client', {}, { cause });
    }
    ctx.state.caller = caller;
    return next();
  };
}

function credentialsOf(ctx: Context): Credentials {
  // Credentials in the query are refused, because URLs are written to logs.
  for (const name of ['client_secret', 'client_assertion']) if (ctx.query[name] !== undefined) throw new IdpError('invalid_request');
  const { client_id: id, client_secret: secret } = parametersOf(ctx, ['client_id', 'client_secret'], [formOf(ctx)]);
  const { authorization } = ctx.headers;
  if (authorization === undefined) return { id, secret };
  if (secret !== undefined) throw new IdpError('invalid_request');
  return decodedCredentials(authorization);
}

function decodedCredentials(authorization: string): Credentials {
  if (!/^basic(?: |$)/i.test(authorization)) return { id: undefined, secret: undefined };
  const credentials = basicCredentials(authorization);
  if (!credentials) throw new IdpError('invalid_request');
  return { id: decoded(credentials.id), secret: decoded(credentials.secret) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ')) || undefined;
  } catch {
    throw new IdpError('invalid_request');
  }
}
