/**
 * Accounts that an identity at a provider opens.
 *
 * An identity opens an account if one of these recorded the identity for the account:
 * - an administrator
 * - the connection that created the account
 * - the person, after a sign-in to the account
 *
 * No e-mail address and no user name opens an account. The identities of a parent account open its linked accounts, as its password does.
 *
 * The administrator of any tenant can record an identity of a connection of the instance. A record of this kind is a claim. A claim opens the account if
 * the sign-in is restricted to the account's tenant, or after the person acknowledges the account. A claim never prevents the linking of an account, or a
 * new account in another tenant.
 */
import { type Account, attributionOf, type ExtensionContext, type SignInRef } from '../../../lib/extension-door.js';
import { isFor } from '../lookup.js';
import type { Connection } from '../records.js';
import { RefusedAnswer, type Upstream } from '../upstream/answer.js';
import { NewUsers } from './new-users.js';
import { allows, isOpen, type Narrowed, nothingFor, type Opening, Openings } from './openings.js';

export interface People {
  /**
   * Returns the accounts to which the person may sign in here, at least one. Claims come last.
   * @param withoutClaims whether the person said that none of the claims is theirs. @default false
   * @throws RefusedAnswer
   */
  accountsOf(connection: Connection, upstream: Upstream, narrowed: Narrowed, withoutClaims?: boolean): Promise<readonly Opening[]>;
  /** Returns the ways in which identities of the connection open the account here, as they are recorded now. */
  openingsOf(connection: Connection, account: Account, narrowed: Narrowed): readonly Opening[];
  /**
   * Returns whether all writers held the privileges that the account has. The writers wrote the identity, the settings of the connection, or the account
   * link of a linked account.
   */
  opens(opening: Pick<Opening, 'account' | 'identity'>): Promise<boolean>;
  /** Records that the person acknowledges the account. Returns the account; undefined if the identity was removed since. */
  acknowledge(connection: Connection, opening: Opening): Promise<Account | undefined>;
  /** Returns whether the person may record the identity for the account to which the person signed in. */
  mayLink(connection: Connection, subject: string, account: Account): Promise<boolean>;
  /** Records the identity for the account. @param signedInBy the sign-in to the account */
  link(connection: Connection, subject: string, account: Account, signedInBy: SignInRef): Promise<void>;
}

export function createPeople(context: ExtensionContext): People {
  const {
    directory,
    records: { ofInstance },
    service: { logger },
  } = context;
  const openings = new Openings(context);
  const newUsers = new NewUsers(context, openings);
  return {
    accountsOf: (connection, upstream, narrowed, withoutClaims = false) =>
      accountsOf({ openings, newUsers }, connection, upstream, narrowed, withoutClaims),
    opens: (opening) => openings.opens(opening),
    openingsOf: (connection, account, narrowed) => openings.ofAccount(connection, account, narrowed),

    async acknowledge(connection, { account, identity }) {
      const owner = account.owner ?? account;
      const { users } = directory.as({ actor: `connection:${connection.id}` }).forTenant(owner.tenant.id);
      const { id } = owner.person.user;
      const person = await users.acknowledgeIdentity(id, identity);
      const isRecorded = person.user.externalIdentities.some(
        ({ idp, subject, isAcknowledged }) => idp === identity.idp && subject === identity.subject && isAcknowledged,
      );
      if (!isRecorded) return undefined;
      logger.info({ connection: connection.id, tenant: owner.tenant.id, user: id }, 'identity acknowledged');
      await openings.activated({ ...owner, person }, connection, identity);
      return directory.accounts.findByOid(account.person.user.id);
    },

    async mayLink(connection, subject, account) {
      const { person, tenant } = account;
      const isOwner = person.user.parentUserId === undefined && isFor(connection, ofInstance, tenant.id);
      return (
        connection.linkBySignIn &&
        isOwner &&
        isOpen(account) &&
        allows(account, connection) &&
        (await openings.openedAccounts(connection, subject)).length === 0 &&
        !(await directory.accounts.isIdentityHidden({ idp: connection.id, subject }))
      );
    },

    async link({ id }, subject, { person, tenant }, signedInBy) {
      // The person proved only the identity of this sign-in.
      const vouchedBy = await directory.means.ofSignIn(signedInBy, { person, tenant });
      const { users } = directory.as(attributionOf({ oid: person.user.id }), vouchedBy).forTenant(tenant.id);
      await users.addIdentity(person.user.id, { idp: id, subject });
      logger.info({ connection: id, tenant: tenant.id, user: person.user.id }, 'identity linked');
    },
  };
}

async function accountsOf(
  { openings, newUsers }: { readonly openings: Openings; readonly newUsers: NewUsers },
  connection: Connection,
  upstream: Upstream,
  narrowed: Narrowed,
  withoutClaims: boolean,
): Promise<readonly Opening[]> {
  const recorded = await openings.recorded(connection, upstream.subject, narrowed);
  const certain = recorded.filter(({ isClaim }) => !isClaim);
  const uncertain = withoutClaims ? [] : recorded.filter(({ isClaim }) => isClaim);
  const [owned, claims] = await Promise.all([openings.confirmed(certain), openings.claimed(connection, uncertain, narrowed)]);
  if (owned.length > 0) {
    const opened = openings.certain(connection, upstream, owned, narrowed);
    return [...(claims.length === 0 ? await opened : await opened.catch(nothingFor)), ...claims];
  }
  if (claims.length > 0) return claims;
  if (certain.length > 0)
    throw new RefusedAnswer(
      'unconfirmed',
      'the account has permissions that the writer of the identity, or of the connection, did not hold. An administrator who holds these permissions must confirm the identity or the connection.',
    );
  const account = await newUsers.create(connection, upstream, narrowed);
  return [{ account, identity: { idp: connection.id, subject: upstream.subject }, isClaim: false }];
}
