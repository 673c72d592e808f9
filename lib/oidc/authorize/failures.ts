import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { parseAcrValues } from '../../acr-values.js';
import { IdpError } from '../../errors.js';
import { forgetUnstored, logFailure } from '../../http/failures.js';
import { loggedPath, requestIdOf } from '../../http/requests/request-id.js';
import { type FailedRequest, type SettleFailure, statusAtEndpoints } from '../clients/refusals.js';
import type { ClientRefusals } from '../clients/refused-clients.js';
import { describedUris, unregisteredUri } from '../clients/unregistered-uris.js';
import type { OidcParts } from '../context.js';
import type { AnsweredError } from '../upstream/errors.js';

/** Events of oidc-provider for failed requests, by endpoint. `server_error` is for unknown errors. */
const failures = [
  'server_error',
  'authorization.error',
  'grant.error',
  'userinfo.error',
  'introspection.error',
  'revocation.error',
  'pushed_authorization_request.error',
  'backchannel_authentication.error',
  'discovery.error',
  'jwks.error',
  'end_session.error',
  'end_session_confirm.error',
  'end_session_success.error',
];

/**
 * Creates the function that logs a failed request and sets its status. A refused request is logged at info, a request that failed here at error.
 *
 * A request that failed because of an outage writes nothing, neither to the store nor to the browser, so that the request can be retried.
 */
export const createSettleFailure =
  ({ adapters, logger }: Pick<OidcParts, 'adapters' | 'logger'>): SettleFailure =>
  (ctx, error, request) => {
    if (error.status === 503) {
      adapters.unitOf(ctx).abandon();
      forgetUnstored(ctx);
      // Another token would not help. @see RFC 6750 §3.1
      ctx.remove('WWW-Authenticate');
    }
    // Logs the error of an extension, so that the log has the error in the same form from every endpoint.
    const thrown = error.cause instanceof IdpError ? error.cause : error;
    const status = statusAtEndpoints(error);
    if (ctx.status === error.statusCode) ctx.status = status;
    return (refused) => logFailure(logger, ctx, thrown, status, () => ({ ...refusalOf(error, request), ...refused }));
  };

/**
 * Returns the client and the reason of a refusal. The reasons of oidc-provider and of the service hold no value of the request. {@link ClientRefusals} names
 * clients that did not authenticate.
 */
function refusalOf(error: AnsweredError, { endpoint, client, tenant, difference }: FailedRequest) {
  const reason = error.error_detail ?? error.error_description;
  return {
    status: error.status,
    error: error.error ?? error.message,
    reason: difference === undefined ? reason : `${reason}; the nearest one differs in ${difference}`,
    endpoint,
    client,
    tenant,
  };
}

/** Settles the status of each request that oidc-provider failed or refused. */
export function watchFailures(
  provider: Provider,
  { logger, options }: OidcParts,
  settle: SettleFailure,
  clientRefusals: ClientRefusals,
): void {
  const failed = (ctx: KoaContextWithOIDC, error: AnsweredError): void => {
    const { route: endpoint, client, params } = (ctx as Partial<KoaContextWithOIDC>).oidc ?? {};
    const uri = unregisteredUri(ctx, error);
    const { tenant } = parseAcrValues(textOf(params?.acr_values));
    const log = settle(ctx, error, { endpoint, client: client?.clientId, tenant, difference: uri?.difference });
    if (uri && !options.production && isAnswer(ctx.body)) ctx.body.error_description += `; ${describedUris(uri)}`;
    if (!clientRefusals.note(ctx, error, log)) log();
  };
  const emitter = provider as unknown as { on(event: string, listener: typeof failed): void };
  for (const event of failures) emitter.on(event, failed);
  // Errors of Koa after the response has begun.
  (provider as unknown as { on(event: 'error', listener: (error: Error, ctx?: Context) => void): void }).on('error', (error, ctx) => {
    const about = ctx && { requestId: requestIdOf(ctx), method: ctx.method, path: loggedPath(ctx.path) };
    if (isOfCaller(error, ctx)) logger.info({ err: error, ...about }, 'request aborted');
    else logger.error({ err: error, ...about }, 'response failed');
  });
}

/** Returns whether the connection ended early, or does not speak HTTP. */
const isOfCaller = ({ code = '' }: NodeJS.ErrnoException, ctx: Context | undefined): boolean =>
  ctx?.req.readableAborted === true || /^(HPE_|ECONNRESET$|EPIPE$)/.test(code);

/** Returns whether the body is an OAuth error in JSON. Other errors are pages. */
const isAnswer = (body: unknown): body is { error_description: string } =>
  typeof body === 'object' && body !== null && 'error_description' in body;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
