import type { Context } from 'koa';
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { requestIdOf } from '../../http/requests/request-id.js';
import { interactionPath, isInteractionUid } from '../../paths.js';
import { clientOf } from '../clients/clients.js';
import { statusAtEndpoints } from '../clients/refusals.js';
import type { OidcParts } from '../context.js';

/** What people see of an error that no client can be told. */
export const createErrorPage =
  ({ options, showPage }: OidcParts) =>
  async (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): Promise<void> => {
    // The sign-in's own page says what is wrong, and has what it takes to begin anew.
    if (ctx.oidc?.route === 'resume' && error.name === 'SessionNotFound') {
      const { uid } = (ctx as unknown as Context).params;
      if (!isInteractionUid(uid)) return void (await showPage(ctx, { page: 'wrong-link' }));
      ctx.status = 303;
      return ctx.redirect(`${options.issuer}${interactionPath(options, uid)}`);
    }
    const status = statusAtEndpoints(error);
    ctx.status = status;
    if (status === 503) return void (await showPage(ctx, { page: 'unavailable' }));
    const client = clientOf(ctx.oidc?.client);
    await showPage(ctx, {
      page: 'error',
      status,
      error: out.error,
      ...(out.error_description ? { description: out.error_description } : {}),
      reference: requestIdOf(ctx),
      ...(client ? { client } : {}),
    });
  };
