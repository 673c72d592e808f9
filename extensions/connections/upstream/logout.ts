/**
 * Sign-out at the provider, if the connection has `endSession`. The browser visits the provider, and then continues to its target. The request names the
 * client by `client_id`, because the service stores no ID token for `id_token_hint`.
 * @see OpenID Connect RP-Initiated Logout 1.0 §2
 */
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import type { ExtensionContext, LogoutParticipant } from '../../../lib/extension-door.js';
import { type ConnectionLookup, isActive } from '../lookup.js';
import { signOuts } from '../records.js';
import type { Providers } from './provider.js';

export const signedOutPath = (own: string, id: string): string => `${own}/connections/${id}/signed-out`;

export function createUpstreamLogout(
  { records: { artifact }, service: { own, url } }: ExtensionContext,
  lookup: ConnectionLookup,
  providers: Providers,
): LogoutParticipant {
  return {
    async visit({ idp, act }, next) {
      // The impersonator signed in at the provider, and stays signed in as themself.
      const connection = idp === 'local' || act ? undefined : await lookup.recent(idp);
      if (!isActive(connection) || !connection.endSession) return undefined;
      const { client, configuration } = await providers.get(connection);
      const { end_session_endpoint: endpoint } = configuration.serverMetadata();
      if (endpoint === undefined || !providers.isFit(endpoint)) return undefined;
      const state = randomBytes(32).toString('base64url');
      await artifact(signOuts).put(state, { next });
      const parameters = { client_id: connection.clientId, post_logout_redirect_uri: url(signedOutPath(own, connection.id)), state };
      return client.buildEndSessionUrl(configuration, parameters).href;
    },
  };
}

/** Returns the target of the browser; undefined if the `state` is unknown or was used. */
export async function nextAfter({ records: { artifact } }: ExtensionContext, ctx: Context): Promise<string | undefined> {
  const { state } = ctx.query;
  const signOut =
    typeof state === 'string' && state !== ''
      ? ((await artifact(signOuts).take(state)) as { readonly next: string } | undefined)
      : undefined;
  return signOut?.next;
}
