/**
 * Accounts that an identity at a provider opens.
 *
 * An identity opens an account because it was recorded for it: by an administrator, by a new account that the connection made, or by the person, who
 * signed in to the account. No e-mail address and no user name opens one. A linked account is opened by its parent's identities, as by its password.
 *
 * An identity of a connection of the instance can be recorded by the administrator of any tenant. Such a record is a claim: it opens the account where the
 * sign-in is held to the account's tenant, or after the person said that the account is theirs. A claim never prevents connecting an account, or a new
 * account in another tenant.
 */
import {
  type Account,
  attributionOf,
  type ExtensionContext,
  type ExternalIdentity,
  IdpError,
  type Interaction,
  isClaimed,
  ownMember,
  type PersonNames,
  type SignInRef,
} from '../../../lib/extension-door.js';
import { isFor } from '../book.js';
import type { Connection } from '../records.js';
import { type Claims, RefusedAnswer, type Upstream } from '../upstream/answer.js';
import { fieldsOf, groupsFor, isVerified, provesEmail, textOf, updatePerson, userNameOf } from './mapping.js';

/** What of an interaction says whose accounts may be signed in to. */
type Narrowed = Pick<Interaction, 'tids' | 'eventMetadata'>;

/** An account, and the identity of its owner that opens it. */
export interface Opening {
  readonly account: Account;
  readonly identity: ExternalIdentity;
  /** Whether the person must first say that the account is theirs. */
  readonly isClaim: boolean;
  /** As in `SignIn`. */
  readonly heldTo?: string;
}

export interface People {
  /**
   * The accounts that the person may sign in to here, at least one. Claims come last.
   * @param withoutClaims whether the person said that none of the claims is theirs. @default false
   * @throws RefusedAnswer
   */
  accountsOf(connection: Connection, upstream: Upstream, narrowed: Narrowed, withoutClaims?: boolean): Promise<readonly Opening[]>;
  /** Returns the ways in which identities of the connection open the account here, as they are recorded now. */
  openingsOf(connection: Connection, account: Account, narrowed: Narrowed): readonly Opening[];
  /** Whether the writers of the identity, of the settings of the connection, and of the account link of a linked account held all privileges that the account has. */
  opens(opening: Pick<Opening, 'account' | 'identity'>): Promise<boolean>;
  /** Records that the person says that the account is theirs. Returns the account, or undefined if the identity was removed meanwhile. */
  acknowledge(connection: Connection, opening: Opening): Promise<Account | undefined>;
  /** Whether the person may record the identity for the account that they signed in to. */
  mayLink(connection: Connection, subject: string, account: Account): Promise<boolean>;
  /** Records the identity for the account. @param signedInBy the sign-in to the account */
  link(connection: Connection, subject: string, account: Account, signedInBy: SignInRef): Promise<void>;
}

/** Maximum claimed accounts that a person is shown: first one of each tenant, then a second one of each. */
const MOST_CLAIMS = 100;
/** Maximum claimed accounts of one tenant, so that its administrator hides no account of another tenant. */
const MOST_OF_TENANT = 10;
/** Maximum claims of one tenant whose groups and linked accounts are read to find these accounts. */
const MOST_READ = 50;

export function createPeople(context: ExtensionContext): People {
  const names = context.keys.seal('connections user name');
  /** Returns a user name that nobody can foresee. It is the same at each answer, so that two concurrent answers make one user. */
  const otherNameOf = ({ id }: Connection, subject: string): string => {
    const [hash] = names.hashes(JSON.stringify([id, subject]));
    return `${id}.${Buffer.from(hash, 'base64url').toString('hex').slice(0, 32)}`;
  };

  const {
    directory,
    records: { ofInstance },
    service: { logger },
  } = context;
  const { accounts, acceptance } = directory;

  const isOpen = ({ person, tenant }: Account): boolean => person.user.status === 'active' && tenant.status === 'active';
  const allows = ({ tenant: { signIn } }: Account, { id }: Connection): boolean =>
    signIn?.methods === undefined || signIn.methods.some((name) => name === id || name === METHOD);

  /** @param owner of the credentials of the account */
  function opening(connection: Connection, owner: Account, account: Account, identity: ExternalIdentity, { tids }: Narrowed): Opening {
    if (connection.tid !== ofInstance || !isClaimed(owner, identity)) return { account, identity, isClaim: false };
    const tid = owner.tenant.id;
    const isHeld = tids?.length === 1 && tids[0] === tid;
    return { account, identity, isClaim: !isHeld, ...(isHeld && { heldTo: tid }) };
  }

  const opens: People['opens'] = async ({ account, identity }) =>
    (await directory.means.opens(identity, (account.owner ?? account).person)) && directory.means.admits(account);

  /** Accounts that own their credentials, in tenants that the connection is for. */
  async function recorded(connection: Connection, subject: string, narrowed: Narrowed): Promise<readonly Opening[]> {
    const found = await accounts.ofIdentity({ idp: connection.id, subject });
    const owners = found.filter(({ person, tenant }) => isFor(connection, ofInstance, tenant.id) && person.user.parentUserId === undefined);
    return owners.flatMap((owner) => {
      const identity = owner.person.user.externalIdentities.find((one) => one.idp === connection.id && one.subject === subject);
      return identity ? opening(connection, owner, owner, identity, narrowed) : [];
    });
  }
  /** Returns the accounts whose identity opens all privileges of the account. */
  async function confirmed(found: readonly Opening[]): Promise<readonly Opening[]> {
    const open = await Promise.all(found.map((one) => opens(one)));
    return found.filter((_, index) => open[index]);
  }

  /** Returns the accounts that the identity opens in any sign-in. */
  const known = async (connection: Connection, subject: string): Promise<readonly Account[]> =>
    (await recorded(connection, subject, {})).filter(({ isClaim }) => !isClaim).map(({ account }) => account);

  const isWaiting = ({ person, tenant, unmetPolicy }: Account): boolean =>
    person.user.status === 'invited' && tenant.status === 'active' && unmetPolicy === undefined;

  const isHere = (account: Account, connection: Connection, { tids }: Narrowed): boolean =>
    (tids?.includes(account.tenant.id) ?? true) && allows(account, connection);

  /** An account that an administrator recorded the identity for waits for this. */
  async function activated(account: Account, connection: Connection, identity: ExternalIdentity): Promise<Account> {
    if (!isWaiting(account) || !allows(account, connection)) return account;
    return { ...account, person: await acceptance.acceptIdentity(account.person, identity) };
  }

  /** Returns the accounts that the identities of these owners open here. If an owner's own account is among them, only such accounts. @throws RefusedAnswer */
  async function fitting(connection: Connection, owners: readonly Opening[], narrowed: Narrowed): Promise<readonly Opening[]> {
    const families = await Promise.all(
      owners.map(async ({ account: owner, identity }) => {
        const family = isWaiting(owner) ? [owner] : isOpen(owner) ? await accounts.family(owner.person) : [];
        return family
          .filter((account) => (isOpen(account) || account === owner) && account.unmetPolicy === undefined)
          .map((account) => opening(connection, owner, account, identity, narrowed));
      }),
    );
    const usable = families.flat();
    if (usable.length === 0) throw new RefusedAnswer('unavailable', 'the account takes no sign-in now');
    const here = usable.filter(({ account }) => isHere(account, connection, narrowed));
    if (here.length === 0) throw new RefusedAnswer('wrongTenant', 'the account is of a tenant that may not sign in here like this');
    const own = here.filter(({ account }) => owners.some((owner) => owner.account.person.id === account.person.id));
    return own.length > 0 ? own : here;
  }

  /** Returns the accounts that claims of one tenant open here. */
  async function claimedIn(connection: Connection, claims: readonly Opening[], narrowed: Narrowed): Promise<readonly Opening[]> {
    const opened: Opening[] = [];
    for (const claim of claims.slice(0, MOST_READ)) {
      if (opened.length >= MOST_OF_TENANT) break;
      if (await opens(claim)) opened.push(...(await fitting(connection, [claim], narrowed).catch(nothingFor)));
    }
    return opened.slice(0, MOST_OF_TENANT);
  }

  /** Returns the accounts that claims open here. The claims of one tenant hide no account of another. */
  async function claimed(connection: Connection, claims: readonly Opening[], narrowed: Narrowed): Promise<readonly Opening[]> {
    // Claims that cannot open an account here are not read, and do not count against the maximum.
    const possible = claims.filter(
      ({ account }) =>
        (isOpen(account) && account.person.user.isParent) ||
        ((isOpen(account) || isWaiting(account)) && isHere(account, connection, narrowed)),
    );
    const tids = [...new Set(possible.map(({ account }) => account.tenant.id))].slice(0, MOST_CLAIMS);
    const ofTenant = (tid: string) => possible.filter(({ account }) => account.tenant.id === tid);
    const opened = await Promise.all(tids.map((tid) => claimedIn(connection, ofTenant(tid), narrowed)));
    const turns = Array.from({ length: MOST_OF_TENANT }, (_, turn) => opened.flatMap((ofOne) => ofOne[turn] ?? []));
    return turns.flat().slice(0, MOST_CLAIMS);
  }

  /** Returns the accounts that are no claims, activated and brought up to what the provider says. */
  async function certain(connection: Connection, { claims }: Upstream, found: readonly Opening[], narrowed: Narrowed) {
    const owners = await Promise.all(
      found.map(async (one) => ({ ...one, account: await activated(one.account, connection, one.identity) })),
    );
    const open = owners.filter(({ account }) => isOpen(account));
    const opened = await fitting(connection, open, narrowed);
    for (const { account, identity } of open)
      await updatePerson(context, connection, account.person, { claims, identity: identity.vouchedBy });
    return opened;
  }

  /** Returns the account that the identity opens in the connection's tenant of new users. */
  async function madeIn(tid: string, connection: Connection, subject: string): Promise<Account | undefined> {
    return (await known(connection, subject)).find(({ tenant }) => tenant.id === tid);
  }

  async function create(
    connection: Connection,
    { subject, claims }: Upstream,
    { tids, eventMetadata: metadata }: Narrowed,
  ): Promise<Account> {
    const { id, mapping, createUsersIn: tid, requireVerifiedEmail } = connection;
    if (tid === undefined) throw new RefusedAnswer('unknown', 'nobody here has this identity');
    if (await accounts.isIdentityHidden({ idp: id, subject }))
      throw new RefusedAnswer('unavailable', 'the identity is of a user whose record cannot be read');
    if (tids !== undefined && !tids.includes(tid))
      throw new RefusedAnswer('wrongTenant', 'new users of the connection are of another tenant');
    // A second user would make the disabling of the first one useless. The first user counts even if it is linked, so that its identity opens nothing.
    const before = (await accounts.ofIdentity({ idp: id, subject })).filter((account) => account.tenant.id === tid);
    if (before.some((account) => account.unmetPolicy !== undefined || !(isOpen(account) || isWaiting(account))))
      throw new RefusedAnswer('unavailable', 'the account that the tenant of new users has for the identity takes no sign-in now');
    const tenant = await directory.tenants.get(tid);
    const isAllowed = tenant?.status === 'active' && (tenant.signIn?.methods?.some((name) => name === id || name === METHOD) ?? true);
    if (!tenant || !isAllowed) throw new RefusedAnswer('unknown', 'the tenant of new users takes no sign-ins by the connection');
    const fields = fieldsOf(mapping, claims, 'all');
    if (requireVerifiedEmail) checkVerified(connection, claims);
    const { userName, isTold } = userNameOf(connection, { subject, claims });
    const { vouchedBy } = connection;
    const scoped = directory.as({ actor: `connection:${id}`, ...(metadata && { metadata }) }, vouchedBy).forTenant(tid);
    const groupIds = await groupsFor(context, connection, claims, { tid, before: [], identity: vouchedBy });
    const make = (name: string) =>
      scoped.persons.create({
        ...namesOf(claims, fields),
        ...fields,
        user: {
          userName: name,
          emailVerified: provesEmail(connection, ofInstance, claims, fields.email),
          externalIdentities: [{ idp: id, subject }],
          status: 'active',
          ...(groupIds.length > 0 ? { groups: { ids: [...groupIds] } } : {}),
        },
      });
    try {
      const person = await make(userName).catch(async (error: unknown) => {
        if (isTold || !IdpError.is(error, 'user_name_taken') || (await madeIn(tid, connection, subject))) throw error;
        const other = otherNameOf(connection, subject);
        logger.warn(
          { connection: id, tenant: tid, userName, given: other },
          'an account that is not of this identity has the user name that is made of the subject, so the new user gets another one; if both accounts are of one person, record the identity for the older account and remove the new user, else rename the new user',
        );
        return make(other);
      });
      const made = isTold
        ? ''
        : '; the provider sent no usable user name, so it is made of the subject; map userName to a claim that the provider sends, or rename the user';
      logger.info({ connection: id, tenant: tid, person: person.id }, `user created by a connection${made}`);
    } catch (error) {
      // Two answers at once: the other one made the user.
      const made = await madeIn(tid, connection, subject);
      if (made) return made;
      if (IdpError.is(error, 'user_name_taken', 'conflict'))
        throw new RefusedAnswer(
          'taken',
          "an account that is not of this identity has the user name that the provider sends; record the identity for that account if it is the person's, else rename one of the users",
          error,
        );
      if (IdpError.is(error, 'invalid_record')) throw new RefusedAnswer('failed', 'the provider tells names that no user can have', error);
      throw error;
    }
    const made = await madeIn(tid, connection, subject);
    if (!made) throw new RefusedAnswer('failed', 'the new user is gone');
    return made;
  }

  return {
    async accountsOf(connection, upstream, narrowed, withoutClaims = false) {
      const found = await recorded(connection, upstream.subject, narrowed);
      const certainly = found.filter(({ isClaim }) => !isClaim);
      const uncertain = withoutClaims ? [] : found.filter(({ isClaim }) => isClaim);
      const [owned, claims] = await Promise.all([confirmed(certainly), claimed(connection, uncertain, narrowed)]);
      if (owned.length > 0) {
        const opened = certain(connection, upstream, owned, narrowed);
        return [...(claims.length === 0 ? await opened : await opened.catch(nothingFor)), ...claims];
      }
      if (claims.length > 0) return claims;
      if (certainly.length > 0)
        throw new RefusedAnswer(
          'unconfirmed',
          'the account has permissions that the writer of the identity, or of the connection, did not hold; an administrator who holds them must confirm it',
        );
      const account = await create(connection, upstream, narrowed);
      return [{ account, identity: { idp: connection.id, subject: upstream.subject }, isClaim: false }];
    },

    opens,

    openingsOf(connection, account, narrowed) {
      const owner = account.owner ?? account;
      const { person, tenant } = owner;
      if (!isFor(connection, ofInstance, tenant.id) || person.user.parentUserId !== undefined) return [];
      return person.user.externalIdentities
        .filter(({ idp }) => idp === connection.id)
        .map((identity) => opening(connection, owner, account, identity, narrowed));
    },

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
      await activated({ ...owner, person }, connection, identity);
      return accounts.findByOid(account.person.user.id);
    },

    async mayLink(connection, subject, account) {
      const { person, tenant } = account;
      const isOwner = person.user.parentUserId === undefined && isFor(connection, ofInstance, tenant.id);
      return (
        connection.linkBySignIn &&
        isOwner &&
        isOpen(account) &&
        allows(account, connection) &&
        (await known(connection, subject)).length === 0 &&
        !(await accounts.isIdentityHidden({ idp: connection.id, subject }))
      );
    },

    async link({ id }, subject, { person, tenant }, signedInBy) {
      // The person proved no more than the identity by which they signed in.
      const vouchedBy = await directory.means.ofSignIn(signedInBy, { person, tenant });
      const { users } = directory.as(attributionOf({ oid: person.user.id }), vouchedBy).forTenant(tenant.id);
      await users.addIdentity(person.user.id, { idp: id, subject });
      logger.info({ connection: id, tenant: tenant.id, user: person.user.id }, 'identity linked');
    },
  };
}

/** Returns no accounts for a refusal, and throws other errors. */
function nothingFor(error: unknown): readonly Opening[] {
  if (error instanceof RefusedAnswer) return [];
  throw error;
}

/** What `signIn.methods` of a tenant calls all connections. */
export const METHOD = 'connections';

/** Returns the names that `name` adds to the fields. The last word of `name` is the surname, unless the provider sends one of the names. */
function namesOf(claims: Upstream['claims'], { givenName, familyName }: PersonNames): Partial<Record<keyof PersonNames, string>> {
  const whole = textOf(claims, 'name', 'personName') ?? '';
  if (givenName !== undefined && familyName !== undefined) return {};
  if (givenName !== undefined) return whole.startsWith(`${givenName} `) ? { familyName: shortened(whole.slice(givenName.length + 1)) } : {};
  if (familyName !== undefined)
    return whole.endsWith(` ${familyName}`) ? { givenName: shortened(whole.slice(0, -familyName.length - 1)) } : {};
  const space = whole.lastIndexOf(' ');
  return space < 0
    ? { givenName: shortened(whole) }
    : { givenName: shortened(whole.slice(0, space)), familyName: shortened(whole.slice(space + 1)) };
}

/** Returns the first 200 code units, without half of a character at the end. */
const shortened = (name: string): string => name.slice(0, 200).replace(/\p{Cs}$/u, '');

/** Refuses a new user whose address is missing or not verified. An invalid address is left out elsewhere. The log says what an administrator can change. */
function checkVerified({ mapping }: Connection, claims: Claims): void {
  const { claim = 'email' } = mapping.email ?? {};
  const address = ownMember(claims, claim);
  if (typeof address !== 'string' || address.trim() === '')
    throw new RefusedAnswer(
      'addressMissing',
      `the provider does not send an address in the claim ${claim}, and the connection requires a verified address; ask the provider for the claim, or set requireVerifiedEmail to false`,
    );
  if (!isVerified(claims))
    throw new RefusedAnswer(
      'unverified',
      'the provider does not send email_verified: true, and the connection requires a verified address; if the provider verifies addresses in another way, set requireVerifiedEmail to false',
    );
}
