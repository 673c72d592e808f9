import { type ParsedUrlQuery, stringify } from 'node:querystring';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { mayBeKept } from '../../http/requests/kept-size.js';
import { postedForm, redirectByGet, refuseLong } from '../../http/requests/posted-form.js';
import type { OidcParts } from '../context.js';
import type { ProviderHooks } from '../upstream/provider.js';
import { urlByReference } from './pushed-requests.js';

/** Maximum bytes of a query, so that every server accepts it together with the cookies. */
const MAX_QUERY = 8 * 1024;

/**
 * Answers an authorization request by POST with a redirect to the same request by GET, because browsers send cookies with a GET from any site. All checks
 * run at the GET.
 * @see OpenID Connect Core §3.1.2.1
 */
export function createPostedRequests(
  { options, readForm }: OidcParts,
  provider: () => Provider,
  parameters: ProviderHooks['parameters'],
): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    const form = await postedForm(ctx, readForm, 'longer');
    redirectByGet(ctx, (await byReference(form)) ?? byQuery(form));
  };

  function byQuery(form: ParsedUrlQuery): string {
    const query = stringify(form);
    return query.length <= MAX_QUERY ? `${provider().urlFor('authorization')}?${query}` : refuseLong();
  }

  /**
   * Returns undefined for a request that:
   * - only the client may push,
   * - a reference would hide from checks, or
   * - is too long to be stored.
   */
  async function byReference(posted: NodeJS.Dict<string | string[]>): Promise<string | undefined> {
    const known = parameters('authorization', { ...posted }, provider());
    const { client_id: clientId } = known;
    if (typeof clientId !== 'string' || 'request' in known || 'request_uri' in known) return undefined;
    if (Object.values(known).some((value) => typeof value !== 'string')) return undefined;
    if (!mayBeKept(known, 'longer')) return undefined;
    const client = await provider().Client.find(clientId);
    if (!client || client.requirePushedAuthorizationRequests || client.requireSignedRequestObject) return undefined;
    return urlByReference(provider(), options, clientId, known);
  }
}
