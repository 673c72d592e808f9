import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { parseAcrValues } from '../../acr-values.js';
import { IdpError } from '../../errors.js';
import type { RefusedClient } from '../../http/clients/refused-clients.js';
import { forgetUnstored, logFailure } from '../../http/failures.js';
import { loggedPath, requestIdOf } from '../../http/requests/request-id.js';
import { statusAtEndpoints } from '../clients/refusals.js';
import type { ClientRefusals } from '../clients/refused-clients.js';
import { describedUris, unregisteredUri } from '../clients/unregistered-uris.js';
import type { OidcParts } from '../context.js';

/** What oidc-provider emits for a request that failed, by endpoint; `server_error` for what it knows nothing of. */
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
 * Returns the client and the reason of a refusal. The reasons of oidc-provider and of the service hold no value of the request. {@link ClientRefusals} names
 * clients that did not authenticate.
 */
function refusal(
  { oidc }: Partial<KoaContextWithOIDC>,
  error: Error & { status?: number; error?: string; error_detail?: string },
  difference: string | undefined,
) {
  const { error_description: description } = error as { error_description?: string };
  const reason = error.error_detail ?? description;
  return {
    status: error.status,
    error: error.error ?? error.message,
    reason: difference === undefined ? reason : `${reason}; the nearest one differs in ${difference}`,
    endpoint: oidc?.route,
    client: oidc?.client?.clientId,
    tenant: parseAcrValues(textOf(oidc?.params?.acr_values)).tenant,
  };
}

/**
 * Logs requests that were refused at info, and those that failed here at error; one that failed for an outage writes nothing, neither here nor in the browser, so that
 * it can be tried again.
 */
export function watchFailures(provider: Provider, { adapters, logger, options }: OidcParts, clientRefusals: ClientRefusals): void {
  const failed = (ctx: KoaContextWithOIDC, error: Error & { status?: number; statusCode?: number }): void => {
    if (error.status === 503) {
      adapters.unitOf(ctx).abandon();
      forgetUnstored(ctx);
      // Another token would not help. @see RFC 6750 §3.1
      ctx.remove('WWW-Authenticate');
    }
    // What an extension threw, as the log has it wherever it was thrown.
    const thrown = error.cause instanceof IdpError ? error.cause : error;
    const status = statusAtEndpoints(error);
    if (ctx.status === error.statusCode) ctx.status = status;
    const uri = unregisteredUri(ctx, error);
    if (uri && !options.production && isAnswer(ctx.body)) ctx.body.error_description += `; ${describedUris(uri)}`;
    const log = (refused?: RefusedClient): void =>
      logFailure(logger, ctx, thrown, status, () => ({ ...refusal(ctx, error, uri?.difference), ...refused }));
    if (!clientRefusals.note(ctx, error, log)) log();
  };
  const emitter = provider as unknown as { on(event: string, listener: typeof failed): void };
  for (const event of failures) emitter.on(event, failed);
  // What Koa meets once an answer is under way.
  (provider as unknown as { on(event: 'error', listener: (error: Error, ctx?: Context) => void): void }).on('error', (error, ctx) => {
    const about = ctx && { requestId: requestIdOf(ctx), method: ctx.method, path: loggedPath(ctx.path) };
    if (isOfCaller(error, ctx)) logger.info({ err: error, ...about }, 'request aborted');
    else logger.error({ err: error, ...about }, 'response failed');
  });
}

/** A connection that ended early, or that speaks no HTTP. */
const isOfCaller = ({ code = '' }: NodeJS.ErrnoException, ctx: Context | undefined): boolean =>
  ctx?.req.readableAborted === true || /^(HPE_|ECONNRESET$|EPIPE$)/.test(code);

/** An OAuth error in JSON; elsewhere it is a page. */
const isAnswer = (body: unknown): body is { error_description: string } =>
  typeof body === 'object' && body !== null && 'error_description' in body;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
