/** New users for identities that open no account. */
import { type Account, type ExtensionContext, IdpError, ownMember, type PersonNames } from '../../../lib/extension-door.js';
import type { Connection } from '../records.js';
import { type Claims, RefusedAnswer, type Upstream } from '../upstream/answer.js';
import { fieldsOf, groupsFor, isVerified, provesEmail, textOf, userNameOf } from './mapping.js';
import { allows, isOpen, isWaiting, type Narrowed, type Openings } from './openings.js';

export class NewUsers {
  readonly #context: ExtensionContext;
  readonly #openings: Openings;
  readonly #names: ReturnType<ExtensionContext['keys']['seal']>;

  constructor(context: ExtensionContext, openings: Openings) {
    this.#context = context;
    this.#openings = openings;
    this.#names = context.keys.seal('connections user name');
  }

  /** Creates a user in the connection's tenant of new users. Only one of two concurrent answers creates the user. @throws RefusedAnswer */
  async create(connection: Connection, upstream: Upstream, narrowed: Narrowed): Promise<Account> {
    const { subject } = upstream;
    const tid = await this.#checkMayCreate(connection, upstream, narrowed);
    try {
      await this.#createPerson(tid, connection, upstream, narrowed);
    } catch (error) {
      // A concurrent answer may have created the user.
      const made = await this.#madeIn(tid, connection, subject);
      if (made) return made;
      if (IdpError.is(error, 'user_name_taken', 'conflict'))
        throw new RefusedAnswer(
          'taken',
          'an account without this identity has the user name that the provider sends. If the account is of the same person, record the identity for the account. Otherwise rename one of the users.',
          error,
        );
      if (IdpError.is(error, 'invalid_record')) throw new RefusedAnswer('failed', 'the provider sends names that no user can have', error);
      throw error;
    }
    const made = await this.#madeIn(tid, connection, subject);
    if (!made) throw new RefusedAnswer('failed', 'the new user was removed');
    return made;
  }

  /** Checks that the connection may create a user for the identity. Returns the tenant of the user. @throws RefusedAnswer */
  async #checkMayCreate(connection: Connection, { subject, claims }: Upstream, { tids }: Narrowed): Promise<string> {
    const { accounts, tenants } = this.#context.directory;
    const { id, createUsersIn: tid, requireVerifiedEmail } = connection;
    if (tid === undefined) throw new RefusedAnswer('unknown', 'no user has this identity, and the connection creates no users');
    if (await accounts.isIdentityHidden({ idp: id, subject }))
      throw new RefusedAnswer('unavailable', 'the identity belongs to a user whose record is unreadable');
    if (tids !== undefined && !tids.includes(tid))
      throw new RefusedAnswer('wrongTenant', 'new users of the connection belong to a tenant that this sign-in does not allow');
    // A second user would make the disabling of the first user useless. The first user counts even if it is linked, so that its identity opens nothing.
    const before = (await accounts.ofIdentity({ idp: id, subject })).filter((account) => account.tenant.id === tid);
    if (before.some((account) => account.unmetPolicy !== undefined || !(isOpen(account) || isWaiting(account))))
      throw new RefusedAnswer('unavailable', 'the account of the identity in the tenant of new users does not allow sign-ins now');
    const tenant = await tenants.get(tid);
    if (tenant?.status !== 'active' || !allows({ tenant }, connection))
      throw new RefusedAnswer('unknown', 'the tenant of new users does not allow sign-ins by the connection');
    if (requireVerifiedEmail) checkVerified(connection, claims);
    return tid;
  }

  async #createPerson(tid: string, connection: Connection, { subject, claims }: Upstream, { eventMetadata: metadata }: Narrowed) {
    const {
      directory,
      records: { ofInstance },
      service: { logger },
    } = this.#context;
    const { id, mapping, vouchedBy } = connection;
    const fields = fieldsOf(mapping, claims, 'all');
    const { userName, isSent } = userNameOf(connection, { subject, claims });
    const scoped = directory.as({ actor: `connection:${id}`, ...(metadata && { metadata }) }, vouchedBy).forTenant(tid);
    const groupIds = await groupsFor(this.#context, connection, claims, { tid, before: [], identity: vouchedBy });
    const create = (name: string) =>
      scoped.persons.create(
        {
          ...namesOf(claims, fields),
          ...fields,
          user: {
            userName: name,
            emailVerified: provesEmail(connection, ofInstance, claims, fields.email),
            externalIdentities: [{ idp: id, subject }],
            status: 'active',
            ...(groupIds.length > 0 ? { groups: { ids: [...groupIds] } } : {}),
          },
        },
        'connection',
      );
    const person = await create(userName).catch(async (error: unknown) => {
      if (isSent || !IdpError.is(error, 'user_name_taken') || (await this.#madeIn(tid, connection, subject))) throw error;
      const other = this.#otherNameOf(connection, subject);
      logger.warn(
        { connection: id, tenant: tid, userName, given: other },
        'a new user of a connection got another user name, because an account without this identity has the user name that the service derived from the subject',
      );
      return create(other);
    });
    const reason = isSent
      ? ''
      : '. The provider sent no usable user name, so the service derived the user name from the subject. Map userName to a claim that the provider sends, or rename the user.';
    logger.info({ connection: id, tenant: tid, person: person.id }, `user created by a connection${reason}`);
  }

  /** Returns the account that the identity opens in the connection's tenant of new users. */
  async #madeIn(tid: string, connection: Connection, subject: string): Promise<Account | undefined> {
    return (await this.#openings.openedAccounts(connection, subject)).find(({ tenant }) => tenant.id === tid);
  }

  /** Returns a user name that nobody can predict. The name is the same for each answer, so that concurrent answers create one user. */
  #otherNameOf({ id }: Connection, subject: string): string {
    const [hash] = this.#names.hashes(JSON.stringify([id, subject]));
    return `${id}.${Buffer.from(hash, 'base64url').toString('hex').slice(0, 32)}`;
  }
}

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

/**
 * Refuses a new user whose address is missing or not verified. An invalid address is left out elsewhere. The log states what an administrator can change.
 */
function checkVerified({ mapping }: Connection, claims: Claims): void {
  const { claim = 'email' } = mapping.email ?? {};
  const address = ownMember(claims, claim);
  if (typeof address !== 'string' || address.trim() === '')
    throw new RefusedAnswer(
      'addressMissing',
      `the provider does not send an address in the claim ${claim}, and the connection requires a verified address. Ask the provider for the claim, or set requireVerifiedEmail to false.`,
    );
  if (!isVerified(claims))
    throw new RefusedAnswer(
      'unverified',
      'the provider does not send email_verified: true, and the connection requires a verified address. If the provider verifies addresses in another way, set requireVerifiedEmail to false.',
    );
}
