import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { UnavailableError } from '../errors.js';
import type { OidcParts } from './dependencies.js';
import { referenceOf } from './error-page.js';

/** What oidc-provider emits for a request that failed, by endpoint; `server_error` for what it knows nothing of. */
const failures = [
  'server_error',
  'authorization.error',
  'grant.error',
  'userinfo.error',
  'introspection.error',
  'revocation.error',
  'pushed_authorization_request.error',
  'discovery.error',
  'jwks.error',
  'end_session.error',
  'end_session_confirm.error',
  'end_session_success.error',
];

/**
 * Logs requests that failed here and not with the caller; one that failed for an outage writes nothing, neither here nor in the browser, so that
 * it can be tried again.
 */
export function watchFailures(provider: Provider, { adapters, logger }: OidcParts): void {
  const failed = (ctx: KoaContextWithOIDC, error: Error & { status?: number }): void => {
    if (error instanceof UnavailableError) {
      adapters.unitOf(ctx).abandon();
      ctx.remove('Set-Cookie');
      // Another token would not help. @see RFC 6750 §3.1
      ctx.remove('WWW-Authenticate');
    }
    if (error.status === undefined || error.status >= 500)
      logger.error({ err: error, reference: referenceOf(ctx), method: ctx.method, path: ctx.path }, 'request failed');
  };
  const emitter = provider as unknown as { on(event: string, listener: typeof failed): void };
  for (const event of failures) emitter.on(event, failed);
}
