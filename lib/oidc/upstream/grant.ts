import Provider, { type Client, type KoaContextWithOIDC } from 'oidc-provider';
import { membersOf } from './base-model.js';

/** Returns the scopes of a grant that the request's client may still have. */
export type Held = (ctx: KoaContextWithOIDC, client: Client, scopes: readonly string[]) => readonly string[];

/** Limits a grant to the scopes that its client may have now. The scope of every token, and the claims of userinfo, are read from these scopes. */
export function customiseGrant({ Grant }: Provider, held: Held): void {
  // Members of the service that oidc-provider stores.
  Object.defineProperty(Grant, 'IN_PAYLOAD', { value: [...membersOf(Grant), 'login', 'sid', 'isOwn', 'consent'] });
  const { getOIDCScopeFiltered, getResourceScopeFiltered } = Grant.prototype;
  const narrowed = (granted: string): string => {
    const ctx = Provider.ctx;
    const client = ctx?.oidc.client;
    return client ? held(ctx, client, granted.split(' ')).join(' ') : granted;
  };
  Grant.prototype.getOIDCScopeFiltered = function (filter) {
    return narrowed(getOIDCScopeFiltered.call(this, filter));
  };
  Grant.prototype.getResourceScopeFiltered = function (resource, filter) {
    return narrowed(getResourceScopeFiltered.call(this, resource, filter));
  };
}
