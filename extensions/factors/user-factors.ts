/** Factors of users: adds, checks and removes them. A linked user has the factors of the account whose credential signs in. */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Account,
  type Attribution,
  type Awaitable,
  type BrowserSignIn,
  type CredentialRef,
  cleanCode,
  type ExtensionContext,
  IdpError,
  present,
  RECENT_SIGN_IN_SECONDS,
  type Seal,
  type SignedIn,
  type Voucher,
} from '../../lib/extension-door.js';
import { FactorRows, type FactorSet, fits, idOf, lastUse, refOf } from './factor-rows.js';
import { type Factor, type FactorRow, PASSKEY, signInName, slotOf } from './records.js';
import { createRecoveryCodes, type RecoveryCodes } from './recovery-codes.js';
import { stepOf } from './totp.js';

/** Milliseconds for which a node remembers that a sign-in had no factor to prove. */
const KNOWN_MS = 30_000;
/** Milliseconds after which a use is recorded of a passkey without a counter. The time is only shown in the list of factors. */
const USED_MS = 3_600_000;

/** Actor and sign-in of an added factor. */
export interface Addition {
  readonly by: Attribution;
  readonly addedIn?: string;
  /** Session of the sign-in that added the factor. */
  readonly session?: string;
  /** Whether the user had no factor before. A first factor ends the other sign-ins. */
  readonly isFirst: boolean;
  /** Voucher of the sign-in. The factor opens no privileges beyond the voucher. */
  readonly vouchedBy: Voucher | undefined;
}

/** Returns the user whose credentials sign in to the account now. */
const credentialOwner = ({ person: { user } }: Account): string => user.parentUserId ?? user.id;

/** Session that does not end with a change of the factors. */
interface SparedSession {
  readonly session: string;
  /** Time of the session's sign-in, if the grants of its earlier sign-ins end. Milliseconds since the epoch. */
  readonly signedInAt?: number;
}
/** A name that no session has: all sign-ins end. */
export const NO_SESSION: SparedSession = { session: '' };

/**
 * Change of a user's factors that ends the other sign-ins of the user. A delivery carries this record, in case this node ends before the sign-ins are
 * ended.
 */
export interface FactorChange extends SparedSession {
  readonly oid: string;
  /** The added factor, or the factors that are removed. */
  readonly factorIds: readonly string[];
  /** Name of the change, unique for the user. */
  readonly cause: string;
  /** Whether sign-ins to linked accounts, and requests that wait for the user, end too. */
  readonly endsEverything?: true;
  /** Start of the change, in milliseconds since the epoch. */
  readonly at: number;
}
/** Maximum milliseconds that a change of the factors may take. */
const PATIENCE_MS = 60_000;
/** Kind of the delivery of a first factor. */
export const FIRST_FACTOR = 'factors.first';
/** Kind of the delivery of factors that the user or an administrator removes. */
export const REMOVED_FACTOR = 'factors.removed';

export class UserFactors {
  readonly recoveryCodes: RecoveryCodes;
  readonly #context: ExtensionContext;
  readonly #rows: FactorRows;
  /** Seals the secrets of authenticator apps. */
  readonly #secrets: Seal;
  /**
   * Sign-ins that had no factor to prove, by owner. The value states whether the owner has a factor that the sign-in itself added. Each entry has a size of
   * one, because `max` would allocate all memory at the start.
   */
  readonly #signInsWithout = new LRUCache<string, 'none' | 'its own'>({ maxSize: 10_000, sizeCalculation: () => 1, ttl: KNOWN_MS });

  constructor(context: ExtensionContext) {
    const { seal } = context.keys;
    this.#context = context;
    this.#secrets = seal('factors totp');
    this.#rows = new FactorRows(context, (row) => this.#secretOf(row));
    this.recoveryCodes = createRecoveryCodes(this.#rows, seal('factors recovery'), context.service.now);
  }

  load(owner: Account): Promise<FactorSet> {
    return this.#rows.load(owner);
  }

  problems(): ReturnType<FactorRows['problems']> {
    return this.#rows.problems();
  }

  /**
   * Returns whether a sign-in proved a factor of the user, if the user has one. Setting up a factor proves the factor, to the sign-in that set it up and for ten
   * minutes. Other sign-ins may not change the ways to sign in.
   */
  isProvenIn({ all, unreadable }: FactorSet, { amr, session, authTime }: Pick<BrowserSignIn, 'amr' | 'session' | 'authTime'>): boolean {
    if (amr.includes('mfa')) return true;
    const earliest = this.#context.service.now() - RECENT_SIGN_IN_SECONDS * 1000;
    const isProven = ({ kind, addedIn, createdAt }: FactorRow): boolean =>
      kind === 'recovery' || (addedIn === signInName(session, authTime) && Date.parse(createdAt) >= earliest);
    return unreadable.length === 0 && all.every(isProven);
  }

  /** Returns the account whose credential made the sign-in; undefined if that account cannot be read. */
  ownerOf(account: Account, { owner = credentialOwner(account) }: Pick<SignedIn, 'owner'>): Account | undefined {
    return [account, account.owner].find((each) => each !== undefined && idOf(each) === owner);
  }

  /**
   * Returns whether the owner of the account's credential has a factor that the sign-in itself did not add. Each node reads its first answer for a sign-in
   * from the store. The node may remember that there was no factor, because a first factor ends the other sign-ins.
   * @param countsOwn also counts a factor that the sign-in added. A node that did not add the factor may take up to half a minute to see it.
   */
  asks(account: Account, signedIn: Pick<SignedIn, 'session' | 'authTime' | 'owner'>, countsOwn = false): Awaitable<boolean> {
    const { session, authTime } = signedIn;
    const owner = this.ownerOf(account, signedIn);
    const name = session && signInName(session, authTime);
    if (!owner) return false;
    const remembered = name === undefined ? undefined : this.#signInsWithout.get(`${idOf(owner)} ${name}`);
    if (remembered === 'none' || (remembered === 'its own' && !countsOwn)) return false;
    return this.load(owner).then(({ all, unreadable, isEnrolled }) => {
      const asked =
        unreadable.length > 0 || all.some(({ kind, addedIn }) => kind !== 'recovery' && (name === undefined || addedIn !== name));
      if (!asked && name !== undefined) this.#signInsWithout.set(`${idOf(owner)} ${name}`, isEnrolled ? 'its own' : 'none');
      return asked || (countsOwn && isEnrolled);
    });
  }

  /** @throws IdpError `conflict` if the user has an authenticator app, or another first factor was added concurrently. */
  addTotp(
    owner: Account,
    { id, secret, lastStep }: { readonly id: string; readonly secret: string; readonly lastStep: number },
    added: Addition,
  ): Promise<void> {
    const totp = { secret: this.#secrets.seal(id, secret), lastStep };
    return this.#add(owner, { id, kind: 'totp', slot: slotOf.totp(idOf(owner)), totp }, added);
  }

  /**
   * @throws IdpError `conflict` if a user of the tenant has the passkey, the user has too many factors, or another first factor was added concurrently.
   */
  addPasskey(owner: Account, passkey: NonNullable<Factor['passkey']>, added: Addition): Promise<void> {
    return this.#add(owner, { id: randomUUID(), kind: 'passkey', slot: slotOf.passkey(passkey.credentialId), passkey }, added);
  }

  /** Adds a factor. A first factor also ends the other sign-ins. A delivery ends them if this node ends too early. */
  async #add(
    owner: Account,
    row: Pick<Factor, 'kind' | 'slot'> & Partial<Factor> & { readonly id: string },
    { by, isFirst, session, addedIn, vouchedBy }: Addition,
  ): Promise<void> {
    const { work, service } = this.#context;
    // Replaces a factor that does not count, because otherwise the user could not set up a first factor that counts.
    for (const refused of (await this.load(owner)).refused)
      if (isFirst || refused.slot === row.slot) await this.#rows.remove(owner, refused, by);
    const first: FactorChange | undefined = isFirst
      ? { ...NO_SESSION, ...present({ session }), oid: idOf(owner), factorIds: [row.id], cause: row.id, at: service.now() }
      : undefined;
    const delivery = first && (await work.deliver(FIRST_FACTOR, { ...first }));
    await this.#rows.add(owner, { ...row, ...(isFirst && { first: idOf(owner) }), ...present({ addedIn }) }, vouchedBy, by);
    if (addedIn !== undefined) this.#signInsWithout.delete(`${idOf(owner)} ${addedIn}`);
    if (first) await this.endAfterFirst(first, by);
    delivery?.release();
  }

  /** Ends the other sign-ins after a first factor. A second call changes nothing. */
  async endAfterFirst(change: FactorChange, by?: Attribution): Promise<void> {
    const owner = await this.#context.directory.accounts.findByOid(change.oid);
    if (!owner) return;
    if (!(await this.#rows.inTenantOf(owner).get(change.factorIds[0] ?? ''))) {
      if (this.#mayContinue(change) && !(await this.load(owner)).isEnrolled) throw new Error('the factor is being added');
      return;
    }
    await this.#end(owner, change, by);
  }

  /** Completes a removal whose node ended. A second call changes nothing. */
  async endAfterRemoval(change: FactorChange, by?: Attribution): Promise<void> {
    const { accounts, waysIn } = this.#context.directory;
    const owner = await accounts.findByOid(change.oid);
    if (!owner) return;
    const { all, refused, unreadable } = await this.load(owner);
    const present = new Set([...all, ...refused].map(({ id }) => id).concat(unreadable));
    const removed = change.factorIds.filter((id) => !present.has(id));
    const isComplete = removed.length === change.factorIds.length;
    if (!isComplete && this.#mayContinue(change)) throw new Error('the factors are being removed');
    for (const id of removed) await waysIn.rowIsRemoved(owner, refOf(id));
    if (isComplete || removed.length > 0) await this.#end(owner, change, by);
  }

  #mayContinue({ at }: FactorChange): boolean {
    return this.#context.service.now() - at < PATIENCE_MS;
  }

  /** Ends the sign-ins that a change of the factors is to end. A second call changes nothing. */
  async #end(owner: Account, change: FactorChange, by?: Attribution): Promise<void> {
    const { directory, service, sessions } = this.#context;
    // Without a session that continues, waiting requests end too, up to the second of the cut-off.
    const second = (Math.floor(service.now() / 1000) + 1) * 1000;
    const { session, cause, endsEverything, signedInAt = endsEverything && second } = change;
    const spared = { session, cause, ...(signedInAt !== undefined && { signedInAt: new Date(signedInAt) }) };
    for (const { person, tenant } of endsEverything ? await directory.accounts.family(owner.person) : [owner])
      await sessions.endOthers({ tid: tenant.id, userId: person.user.id }, spared, by, 'factor');
  }

  /** Uses a code of an authenticator app. Each code is valid once, also for concurrent attempts on several nodes. */
  async useTotp(owner: Account, { totp: row }: FactorSet, typed: string): Promise<'right' | 'wrong' | 'reused'> {
    const { now } = this.#context.service;
    const secret = row && this.#secretOf(row);
    const step = secret === undefined ? undefined : stepOf(secret, cleanCode(typed), now());
    if (!row || secret === undefined || step === undefined) return 'wrong';
    let isFirst = false;
    const isThere = await this.#rows.change(owner, row.id, (current) => {
      const { totp } = current;
      isFirst = totp !== undefined && totp.lastStep < step;
      const sealed = totp && this.#secrets.isCurrent(totp.secret) ? totp.secret : this.#secrets.seal(current.id, secret);
      return isFirst ? { ...current, totp: { ...totp, secret: sealed, lastStep: step }, ...lastUse(now()) } : current;
    });
    return isThere ? (isFirst ? 'right' : 'reused') : 'wrong';
  }

  #secretOf({ id, totp }: FactorRow): string | undefined {
    try {
      return this.#secrets.open(id, totp?.secret ?? '');
    } catch {
      return undefined;
    }
  }

  /** Returns whether a factor counts for the present privileges of the account. The factor belongs to the account that owns the credentials. */
  counts(account: Account, id: string): Promise<boolean> {
    return this.#context.directory.means.admits(account, refOf(id));
  }

  /** Returns the passkey with this credential id, if the owner has it. */
  async passkeyOf(owner: Account, credentialId: string): Promise<FactorRow | undefined> {
    const [row] = await this.#rows.inTenantOf(owner).find('bySlot', [slotOf.passkey(credentialId)]);
    return row && fits(row, owner) ? row : undefined;
  }

  /**
   * Records the counter of a passkey. Returns false if the counter did not increase, because the passkey may have
   * been copied. A passkey without a counter always sends 0.
   * @see WebAuthn Level 3 §6.1.1
   */
  async usePasskey(owner: Account, { id }: FactorRow, counter: number): Promise<boolean> {
    const { service, work } = this.#context;
    let isBack = false;
    const isThere = await this.#rows.change(owner, id, (current) => {
      const before = current.passkey?.counter ?? 0;
      isBack = (counter > 0 || before > 0) && counter <= before;
      const isRecent = Date.parse(current.lastUsedAt ?? '') > service.now() - USED_MS;
      if (isBack || !current.passkey || (counter === before && isRecent)) return current;
      return { ...current, passkey: { ...current.passkey, counter }, ...lastUse(service.now()) };
    });
    if (isThere && isBack) {
      const data = { AggregateId: idOf(owner), FactorId: id };
      await work.emit('PasskeyCounterWentBack', owner, data, `passkey ${id} ${counter}`);
    }
    return isThere && !isBack;
  }

  /** Removes a factor, also a malformed one. Removes the recovery codes too if no other factor is left. @throws IdpError `not_found`. */
  async #remove(owner: Account, id: string, by?: Attribution): Promise<void> {
    for (const removed of rowsOf(await this.load(owner), id)) await this.#rows.remove(owner, removed, by);
  }

  /** Returns the passkeys that sign in to the account by themselves, as ways to sign in. */
  async waysOf(account: Account): Promise<readonly CredentialRef[]> {
    const { methods } = account.tenant.signIn ?? {};
    if (methods !== undefined && !methods.includes(PASSKEY)) return [];
    return (await this.load(account)).passkeys.map(({ id }) => refOf(id));
  }

  /**
   * Removes a factor as its user does, and ends every sign-in that may rest on it, except the spared session. Returns false, and changes nothing, if the
   * factor is the user's last way to sign in. A delivery ends the sign-ins if this node ends too early.
   */
  async removeOwn(owner: Account, id: string, spared: SparedSession, by: Attribution): Promise<boolean> {
    const { directory, work, service } = this.#context;
    // The addition of the factor may have caused a cut-off too.
    const change: FactorChange = { ...spared, oid: idOf(owner), factorIds: [id], cause: `removal of ${id}`, at: service.now() };
    const delivery = await work.deliver(REMOVED_FACTOR, { ...change });
    const isRemoved = await directory.waysIn.removeRow(owner, refOf(id), () => this.#remove(owner, id, by));
    if (isRemoved) await this.#end(owner, change, by);
    // A delivery that stays changes nothing.
    await delivery.withdraw().catch(() => undefined);
    return isRemoved;
  }

  /**
   * Removes a factor as an administrator does, or all factors of a user. Ends every sign-in by the credential of the user, including the sign-ins of linked
   * users: the service cannot tell which sign-ins rest on the factor, because a sign-in with the factor may be in progress. A delivery ends the sign-ins if
   * this node ends too early.
   * @throws IdpError `not_found`.
   */
  async removeFor(owner: Account, id: string | undefined, by: Attribution): Promise<void> {
    const { work, service } = this.#context;
    const rows = rowsOf(await this.load(owner), id);
    const factorIds = id === undefined ? rows.filter(({ kind }) => kind !== 'recovery').map((row) => row.id) : [id];
    const of = { oid: idOf(owner), factorIds, cause: `removal ${randomUUID()}`, endsEverything: true } as const;
    const change: FactorChange = { ...NO_SESSION, ...of, at: service.now() };
    const delivery = await work.deliver(REMOVED_FACTOR, { ...change });
    for (const row of rows) await this.#rows.remove(owner, row, by);
    await this.#end(owner, change, by);
    // A delivery that stays changes nothing.
    await delivery.withdraw().catch(() => undefined);
  }
}

/**
 * Returns the rows to remove with a factor, or with all factors. Recovery codes come last, and are removed with the last factor.
 * @throws IdpError `not_found`.
 */
function rowsOf({ all, refused, unreadable }: FactorSet, id: string | undefined): readonly (Pick<FactorRow, 'id'> & Partial<FactorRow>)[] {
  const rows = [...all, ...refused, ...unreadable.map((each) => ({ id: each }))];
  const codes = all.filter(({ kind }) => kind === 'recovery');
  const factors = rows.filter((row) => !codes.some((each) => each.id === row.id));
  if (id === undefined) return [...factors, ...codes];
  const row = rows.find((each) => each.id === id);
  if (!row) throw new IdpError('not_found');
  const isLast = all.every((each) => each === row || each.kind === 'recovery') && unreadable.every((each) => each === id);
  return [row, ...(isLast ? all.filter((each) => each !== row) : [])];
}
