import type { Client } from 'oidc-provider';
import type { Awaitable } from '../../awaitable.js';
import type { AccountClaims } from '../../contract/clients/account-claims.js';
import type { Caller } from '../../contract/clients/caller.js';
import { subOf } from '../../directory/index.js';
import { type FindClient, isClient } from '../clients/clients.js';
import { identifierOf, userIdOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import type { Accounts } from './account.js';
import { sessionEnd } from './session-end.js';

const none: ReadonlySet<string> = new Set();

/** Creates the functions that return claims of tokens and userinfo, for callers without a token. */
export function createAccountClaims(parts: OidcParts, accounts: Accounts, findClient: FindClient): AccountClaims {
  /** Returns the viewer if the viewer is a pairwise client. Other viewers see user ids. */
  const pairwiseClient = (viewer: Caller | undefined): Awaitable<Client | undefined> =>
    isClient(viewer) && viewer.metadata.subject_type === 'pairwise' ? findClient(viewer.id) : undefined;
  return {
    scopes: new Set(['openid', ...parts.claims.scopes.keys()]),
    declared: parts.claims.declarations,
    async named(account, names, target, clientId, signIn) {
      const client = clientId === undefined ? undefined : await findClient(clientId);
      if (clientId !== undefined && !client)
        throw new TypeError(`There is no client ${clientId}. Give the id of a client, or leave it out.`);
      const { user } = account.person;
      const sub = subOf(user);
      const login = signIn && { sub, ...signIn, sessionEndsAt: sessionEnd(parts.options.lifetimes, signIn.authTime) };
      const claims = await accounts.claimsOf(account, target, none, { client, login, names });
      // `oid` is included if the request names it, even if other callers do not get `oid`.
      const all = { ...claims, sub: identifierOf(parts, client, sub), oid: identifierOf(parts, client, user.id) };
      return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
    },
    async about(account, scopes, target, caller, viewer = caller) {
      const client = await pairwiseClient(viewer);
      const sub = subOf(account.person.user);
      const claims = await accounts.claimsOf(account, target, scopes, { client, record: caller });
      return { sub: identifierOf(parts, client, sub), ...claims };
    },
    async userIdOf(identifier, viewer) {
      const client = await pairwiseClient(viewer);
      return client ? userIdOf(parts, client, identifier) : identifier;
    },
    async identifierOf(userId, viewer) {
      return identifierOf(parts, await pairwiseClient(viewer), userId);
    },
  };
}
