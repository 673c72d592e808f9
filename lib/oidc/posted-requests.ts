import { parse, stringify } from 'node:querystring';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { OidcParts } from './dependencies.js';
import type { ProviderHooks } from './internals.js';
import { urlByReference } from './pushed-reference.js';

/** Bytes of a query that every server takes together with its cookies, and the most that is kept for a reference, which anyone may ask for. */
const MAX_QUERY = 8 * 1024;

/**
 * Authorization requests by POST: sent on as the same request by GET, with which cookies come along whoever's page it was posted from. All that is
 * wrong with it is found there.
 * @see OpenID Connect Core §3.1.2.1
 */
export function createPostedRequests(
  { options, readForm }: OidcParts,
  provider: () => Provider,
  parameters: ProviderHooks['parameters'],
): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    await readForm(ctx, async () => {});
    const { rawBody } = ctx.request as { rawBody?: string };
    if (rawBody === undefined) return refuse(415, 'an authorization request by POST is a form');
    const posted = parse(rawBody);
    const query = stringify(posted);
    if (query.length > MAX_QUERY) return refuse(413, 'the request is too long');
    const url = (await byReference(posted)) ?? `${provider().urlFor('authorization')}?${query}`;
    ctx.set('Cache-Control', 'no-store');
    ctx.status = 303;
    ctx.redirect(url);
  };

  /** Undefined for what only the client itself may push, and for what a reference would hide from its checks. */
  async function byReference(posted: NodeJS.Dict<string | string[]>): Promise<string | undefined> {
    const known = parameters('authorization', { ...posted });
    const { client_id: clientId } = known;
    if (typeof clientId !== 'string' || 'request' in known || 'request_uri' in known) return undefined;
    if (Object.values(known).some((value) => typeof value !== 'string')) return undefined;
    const client = await provider().Client.find(clientId);
    if (!client || client.requirePushedAuthorizationRequests || client.requireSignedRequestObject) return undefined;
    return urlByReference(provider(), options, clientId, known);
  }
}

function refuse(status: number, message: string): never {
  throw Object.assign(new Error(message), { status, expose: true });
}
