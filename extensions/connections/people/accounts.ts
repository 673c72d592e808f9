/**
 * Whose account an identity at a provider opens.
 *
 * An identity opens an account because it was recorded for it: by an administrator, by a new account that the connection made, or by the person, who
 * signed in to the account. No e-mail address and no user name opens one. A linked account is opened by its parent's identities, as by its password.
 */
import { type Account, attributionOf, type ExtensionContext, IdpError, type Interaction } from '../../../lib/extension-door.js';
import { isFor } from '../book.js';
import type { Connection } from '../records.js';
import { RefusedAnswer, type Upstream } from '../upstream/answer.js';
import { fieldsOf, groupsOf, isVerified, provesEmail, updatePerson, userNameOf } from './mapping.js';

/** What of an interaction says whose accounts may be signed in to. */
type Narrowed = Pick<Interaction, 'tids'>;

export interface People {
  /** The accounts that the person may sign in to here, at least one. @throws RefusedAnswer */
  accountsOf(connection: Connection, upstream: Upstream, narrowed: Narrowed): Promise<readonly Account[]>;
  /** Whether the person may record the identity for the account that they signed in to. */
  mayLink(connection: Connection, subject: string, account: Account): Promise<boolean>;
  /** Records it. */
  link(connection: Connection, subject: string, account: Account): Promise<void>;
}

export function createPeople(context: ExtensionContext): People {
  const { directory, ofInstance, logger } = context;
  const { accounts, acceptance } = directory;

  const isOpen = ({ person, tenant }: Account): boolean => person.user.status === 'active' && tenant.status === 'active';
  const allows = ({ tenant: { signIn } }: Account, { id }: Connection): boolean =>
    signIn?.methods === undefined || signIn.methods.some((name) => name === id || name === METHOD);

  /** Accounts that own their credentials, in tenants that the connection is for. */
  async function recorded(connection: Connection, subject: string): Promise<readonly Account[]> {
    const found = await accounts.ofIdentity({ idp: connection.id, subject });
    return found.filter(({ person, tenant }) => isFor(connection, ofInstance, tenant.id) && person.user.parentUserId === undefined);
  }

  /** An account that an administrator recorded the identity for waits for this. */
  async function activated(account: Account, connection: Connection, subject: string): Promise<Account> {
    const isWaiting = account.person.user.status === 'invited' && account.tenant.status === 'active' && account.unmetPolicy === undefined;
    if (!isWaiting || !allows(account, connection)) return account;
    return { ...account, person: await acceptance.acceptIdentity(account.person, { idp: connection.id, subject }) };
  }

  async function create(connection: Connection, { subject, claims }: Upstream, { tids }: Narrowed): Promise<Account> {
    const { id, mapping, createUsersIn: tid, requireVerifiedEmail } = connection;
    if (tid === undefined) throw new RefusedAnswer('unknown', 'nobody here has this identity');
    if (await accounts.isIdentityHidden({ idp: id, subject }))
      throw new RefusedAnswer('unavailable', 'the identity is of a user whose record cannot be read');
    if (tids !== undefined && !tids.includes(tid))
      throw new RefusedAnswer('wrongTenant', 'new users of the connection are of another tenant');
    const tenant = await directory.tenants.get(tid);
    const isAllowed = tenant?.status === 'active' && (tenant.signIn?.methods?.some((name) => name === id || name === METHOD) ?? true);
    if (!tenant || !isAllowed) throw new RefusedAnswer('unknown', 'the tenant of new users takes no sign-ins by the connection');
    const fields = fieldsOf(mapping, claims, 'all');
    if (requireVerifiedEmail && !isVerified(claims)) throw new RefusedAnswer('unverified', 'the provider did not verify the address');
    const userName = userNameOf(mapping, claims);
    const { givenName, familyName } = { ...namesOf(claims), ...fields };
    if (userName === undefined || givenName === undefined || familyName === undefined)
      throw new RefusedAnswer('failed', 'the provider does not tell the names of the person');
    const scoped = directory.as({ actor: `connection:${id}` }).forTenant(tid);
    const existing = new Set((await scoped.groups.find()).map((group) => group.id));
    const groupIds = (groupsOf(mapping, claims)?.named ?? []).filter((group) => existing.has(group));
    try {
      const person = await scoped.persons.create({
        ...fields,
        givenName,
        familyName,
        user: {
          userName,
          emailVerified: provesEmail(connection, ofInstance, claims, fields.email),
          externalIdentities: [{ idp: id, subject }],
          status: 'active',
          ...(groupIds.length > 0 ? { groups: { ids: groupIds } } : {}),
        },
      });
      logger.info({ connection: id, tenant: tid, person: person.id }, 'user created by a connection');
    } catch (error) {
      // Two answers at once: the other one made the user.
      const [made] = await recorded(connection, subject);
      if (made) return made;
      if (IdpError.is(error, 'user_name_taken', 'conflict'))
        throw new RefusedAnswer('taken', 'an account that is not of this identity has the user name', error);
      if (IdpError.is(error, 'invalid_record')) throw new RefusedAnswer('failed', 'the provider tells names that no user can have', error);
      throw error;
    }
    const [made] = await recorded(connection, subject);
    if (!made) throw new RefusedAnswer('failed', 'the new user is gone');
    return made;
  }

  return {
    async accountsOf(connection, upstream, narrowed) {
      const { tids } = narrowed;
      const known = await recorded(connection, upstream.subject);
      if (known.length === 0) return [await create(connection, upstream, narrowed)];
      const owners = await Promise.all(known.map((account) => activated(account, connection, upstream.subject)));
      const families = await Promise.all(owners.filter(isOpen).map(({ person }) => accounts.family(person)));
      const usable = families.flat().filter((account) => isOpen(account) && account.unmetPolicy === undefined);
      if (usable.length === 0) throw new RefusedAnswer('unavailable', 'the account takes no sign-in now');
      const here = usable.filter(({ tenant }) => tids?.includes(tenant.id) ?? true);
      const fitting = here.filter((account) => allows(account, connection));
      if (fitting.length === 0) throw new RefusedAnswer('wrongTenant', 'the account is of a tenant that may not sign in here like this');
      for (const account of owners) if (isOpen(account)) await updatePerson(context, connection, account.person, upstream.claims);
      // Who has an account of their own here goes to it: others of the family are one switch away.
      const own = fitting.filter((account) => owners.some(({ person }) => person.id === account.person.id));
      return own.length > 0 ? own : fitting;
    },

    async mayLink(connection, subject, account) {
      const { person, tenant } = account;
      const isOwner = person.user.parentUserId === undefined && isFor(connection, ofInstance, tenant.id);
      return (
        connection.linkBySignIn &&
        isOwner &&
        isOpen(account) &&
        allows(account, connection) &&
        (await recorded(connection, subject)).length === 0 &&
        !(await accounts.isIdentityHidden({ idp: connection.id, subject }))
      );
    },

    async link({ id }, subject, { person, tenant }) {
      const { users } = directory.as(attributionOf({ oid: person.user.id }), 'person').forTenant(tenant.id);
      await users.addIdentity(person.user.id, { idp: id, subject });
      logger.info({ connection: id, tenant: tenant.id, user: person.user.id }, 'identity linked');
    },
  };
}

/** What `signIn.methods` of a tenant calls all connections. */
export const METHOD = 'connections';

/** From `name`, where the provider does not tell its parts. */
function namesOf({ name }: Upstream['claims']): { readonly givenName?: string; readonly familyName?: string } {
  const words = typeof name === 'string' ? name.trim().split(/\s+/) : [];
  return words.length < 2 ? {} : { givenName: words.slice(0, -1).join(' ').slice(0, 200), familyName: String(words.at(-1)).slice(0, 200) };
}
