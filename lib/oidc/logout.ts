import type { KoaContextWithOIDC } from 'oidc-provider';
import { isClient } from './clients.js';
import type { OidcParts } from './dependencies.js';
import { keyOf } from './ids.js';
import { endSessionUnasked, recordOf } from './internals.js';
import { sessionOf } from './login-context.js';
import { isHintOf } from './prompts.js';
import { endSignIn } from './sessions.js';

/** What happens at the end-session endpoint. @see OpenID Connect RP-Initiated Logout 1.0 */
export function createLogout(parts: OidcParts) {
  const { adapters, artifacts, showPage } = parts;
  const ending = new WeakSet<object>();
  const clientOf = (ctx: KoaContextWithOIDC) => {
    const record = ctx.oidc.client && recordOf(ctx.oidc.client);
    return isClient(record) ? { client: record } : {};
  };
  return {
    /** No question when the ID token is of this very session: who holds it may end it. */
    async logoutSource(ctx: KoaContextWithOIDC): Promise<void> {
      if (isOfThisSession(parts, ctx)) return endSessionUnasked(ctx);
      const { secret } = sessionOf(ctx).state as { secret: string };
      await showPage(ctx, { page: 'logout', action: ctx.oidc.urlFor('end_session_confirm'), fields: { xsrf: secret }, ...clientOf(ctx) });
    },

    async postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void> {
      await showPage(ctx, { page: 'signed-out', ...clientOf(ctx) });
    },

    /** Ends the client's grants when the user stays signed in; all of them end with the session, in {@link endSession}. */
    endGrants(ctx: KoaContextWithOIDC): void {
      if (ctx.oidc.params?.logout !== undefined) {
        ending.add(ctx);
        return;
      }
      const session = sessionOf(ctx);
      // What the session knew of the request is gone by now.
      const clientId = ctx.oidc.client?.clientId;
      const ended = (session.grants ?? []).filter((grant) => grant.clientId === clientId);
      const unit = adapters.unitOf(ctx);
      for (const { grantId, exp } of ended) {
        const key = keyOf('Grant', grantId);
        if (key) unit.remove(key, exp * 1000);
      }
      if (ended.length > 0) session.grants = (session.grants ?? []).filter((grant) => !ended.includes(grant));
    },

    /** Ends all grants of a session that this request ended, those that other requests added meanwhile included. */
    endSession(ctx: KoaContextWithOIDC): Promise<unknown> | undefined {
      return ending.has(ctx) ? endSignIn(artifacts, sessionOf(ctx).uid) : undefined;
    },

    /** Without a session there is nothing to confirm: on to where the request wants to go. */
    skipWithoutSession(ctx: KoaContextWithOIDC): void {
      if (ctx.oidc?.route !== 'end_session' || ctx.status !== 200 || ctx.oidc.session?.accountId) return;
      const { post_logout_redirect_uri: uri, state } = ctx.oidc.params as Record<string, string | undefined>;
      const target = new URL(uri ?? ctx.oidc.urlFor('end_session_success'));
      if (uri && state !== undefined) target.searchParams.set('state', state);
      if (!uri && ctx.oidc.client) target.searchParams.set('client_id', ctx.oidc.client.clientId);
      ctx.status = 303;
      ctx.redirect(target.href);
    },
  };

  function isOfThisSession(parts: OidcParts, ctx: KoaContextWithOIDC): boolean {
    const hint = ctx.oidc.entities.IdTokenHint?.payload;
    const session = sessionOf(ctx);
    const client = ctx.oidc.client;
    if (!hint || !client || !isHintOf(parts, ctx, hint)) return false;
    const sids = [session.authorizations?.[client.clientId]?.sid, ...(session.grants ?? []).map(({ sid }) => sid)];
    return typeof hint.sid === 'string' && sids.includes(hint.sid);
  }
}
