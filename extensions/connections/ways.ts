/** Identities of connections as ways to sign in, and the connections by which a user can get another way. */
import { type Account, type ExtensionContext, identityWay, type WaysSource } from '../../lib/extension-door.js';
import { type ConnectionLookup, isActive, isFor } from './lookup.js';
import { allows } from './people/openings.js';
import type { Connection } from './records.js';

/** Creates the source of the identities that sign in to an account now. */
export const createWaysSource =
  ({ directory: { means }, records: { ofInstance } }: ExtensionContext, lookup: ConnectionLookup): WaysSource =>
  async (account) => {
    const { person, tenant } = account;
    const ways = await Promise.all(
      person.user.externalIdentities.map(async (identity) => {
        const connection = await lookup.get(identity.idp);
        const isUsed = isActive(connection) && isFor(connection, ofInstance, tenant.id) && allows(account, connection);
        return isUsed && (await means.opens(identity, person)) ? [identityWay(identity)] : [];
      }),
    );
    return ways.flat();
  };

/** Returns the connections whose identities the user can connect. A linked account has the identities of its parent account. */
export async function connectable(lookup: ConnectionLookup, account: Account): Promise<readonly Connection[]> {
  if (account.person.user.parentUserId !== undefined) return [];
  const all = await lookup.ofTenants([account.tenant.id]);
  return all.filter((connection) => connection.linkBySignIn && connection.hasButton && allows(account, connection));
}
