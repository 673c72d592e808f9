import type { Context } from 'koa';
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { requestIdOf } from '../../http/requests/request-id.js';
import { interactionPath, isInteractionUid } from '../../paths.js';
import { pushedIdOf } from '../artifacts/ids.js';
import { clientOf } from '../clients/clients.js';
import { statusAtEndpoints } from '../clients/refusals.js';
import { shownUris, unregisteredUri } from '../clients/unregistered-uris.js';
import type { OidcParts } from '../context.js';
import { type CompletedRequests, uidOfPushed } from './completed-requests.js';

/** Creates the page for an error that cannot be sent to a client. */
export const createErrorPage =
  ({ options, showPage }: OidcParts, completed: Pick<CompletedRequests, 'isHere'>) =>
  async (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): Promise<void> => {
    // The page of the sign-in names the problem, and can restart the sign-in.
    if (ctx.oidc?.route === 'resume' && error.name === 'SessionNotFound') {
      const { uid } = (ctx as unknown as Context).params;
      if (!isInteractionUid(uid)) return void (await showPage(ctx, { page: 'wrong-link' }));
      ctx.status = 303;
      return ctx.redirect(`${options.issuer}${interactionPath(options, uid)}`);
    }
    const used = await usedHere(ctx, error, completed);
    if (used !== undefined) {
      ctx.status = 303;
      return ctx.redirect(`${options.issuer}${interactionPath(options, used)}`);
    }
    const status = statusAtEndpoints(error);
    ctx.status = status;
    if (status === 503) return void (await showPage(ctx, { page: 'unavailable' }));
    const client = clientOf(ctx.oidc?.client);
    const uri = options.production ? undefined : unregisteredUri(ctx, error);
    await showPage(ctx, {
      page: 'error',
      status,
      error: out.error,
      ...(out.error_description ? { description: out.error_description } : {}),
      ...(uri ? { detail: shownUris(uri) } : {}),
      reference: requestIdOf(ctx),
      ...(client ? { client } : {}),
    });
  };

/** Returns the name of the pushed request that the `request_uri` refers to, if this browser completed the request a moment ago. */
async function usedHere(
  ctx: KoaContextWithOIDC,
  { name }: Error,
  completed: Pick<CompletedRequests, 'isHere'>,
): Promise<string | undefined> {
  if (ctx.oidc?.route !== 'authorization' || name !== 'InvalidRequestUri') return undefined;
  const { request_uri: uri } = ctx.query;
  const id = typeof uri === 'string' ? pushedIdOf(uri) : undefined;
  const used = id === undefined ? undefined : uidOfPushed(id);
  return used !== undefined && (await completed.isHere(ctx, used)) ? used : undefined;
}
