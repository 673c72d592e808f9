/** Rows of the factors of users. */
import { randomUUID } from 'node:crypto';
import {
  type Account,
  type Attribution,
  type CredentialRef,
  type ExtensionContext,
  type ExtensionRows,
  IdpError,
  present,
  type Voucher,
} from '../../lib/extension-door.js';
import { type Factor, type FactorKind, type FactorRow, factors } from './records.js';

/** Maximum number of factors of a user. */
const MOST = 20;

export interface FactorSet {
  readonly totp?: FactorRow;
  readonly recovery?: FactorRow;
  readonly passkeys: readonly FactorRow[];
  /**
   * Ids of rows that the user cannot prove. Each of these rows counts as a factor.
   * - malformed rows
   * - rows that name the user or the person but do not fit the account
   * - apps whose secret cannot be opened
   */
  readonly unreadable: readonly string[];
  /** Whether the user has a factor. Recovery codes alone are no factor, because they only replace a lost factor. */
  readonly isEnrolled: boolean;
  readonly all: readonly FactorRow[];
  /**
   * Factors that do not count, because the user has privileges now that the sign-in which added the factor did not open. The other members do not contain
   * these factors.
   */
  readonly refused: readonly FactorRow[];
}

type New = Pick<Factor, 'kind' | 'slot'> & Partial<Factor> & { readonly id?: string };

export const idOf = ({ person }: Account): string => person.user.id;

/** Returns the reference by which a user's vouchers name a factor. */
export const refOf = (id: string): CredentialRef => ({ kind: 'factor', id });

/** Returns whether the row names the user, the person and the tenant of the account. */
export const fits = ({ tid, userId, personId }: FactorRow, { tenant, person }: Account): boolean =>
  tid === tenant.id && userId === person.user.id && personId === person.id;

/** Maximum number of rows in `health()`, and maximum number of these rows that one call reads again. */
const NAMED = 1_000;
const READ_AGAIN = 20;

/** Returns the members that each use of a factor writes. */
export const lastUse = (now: number) => ({ lastUsedAt: new Date(now).toISOString() });

type Context = Pick<ExtensionContext, 'records' | 'directory' | 'work' | 'service'>;

export class FactorRows {
  readonly #context: Context;
  readonly #secretOf: (row: FactorRow) => string | undefined;
  /** Ids of well-formed rows that their user cannot prove. */
  readonly #useless = new Set<string>();

  /** @param secretOf returns the secret of an app; undefined if the secret cannot be opened */
  constructor(context: Context, secretOf: (row: FactorRow) => string | undefined) {
    this.#context = context;
    this.#secretOf = secretOf;
  }

  /** Returns the rows of the account's tenant. */
  inTenantOf({ tenant }: Account): ExtensionRows<Factor> {
    return this.#context.records.collection(factors, tenant.id);
  }

  async load(owner: Account): Promise<FactorSet> {
    const { directory, records } = this.#context;
    const rows = records.collectionOfAllTenants(factors);
    const [ofUser, ofPerson] = await Promise.all([rows.findAll('byUser', [idOf(owner)]), rows.findAll('byPerson', [owner.person.id])]);
    const candidates = [...new Map([...ofUser.rows, ...ofPerson.rows].map((row) => [row.id, row])).values()];
    const provable = candidates.filter((row) => this.#isProvable(row, owner));
    const others = candidates.filter((row) => !provable.includes(row)).map(({ id }) => id);
    const refusedIds = (await directory.means.refused(owner.person)).map(({ id }) => id);
    const refused = provable.filter(({ id }) => refusedIds.includes(id));
    const all = provable.filter((row) => !refused.includes(row));
    const unreadable = [...new Set([...ofUser.unreadable, ...ofPerson.unreadable, ...others])];
    const totp = all.find(({ kind }) => kind === 'totp');
    const recovery = all.find(({ kind }) => kind === 'recovery');
    const passkeys = all.filter(({ kind }) => kind === 'passkey');
    const isEnrolled = totp !== undefined || passkeys.length > 0 || unreadable.length > 0;
    return { ...present({ totp, recovery }), passkeys, unreadable, isEnrolled, all, refused };
  }

  /** Returns the problems for `health()`: well-formed rows that could not be proven when they were last read. Reads some of these rows again. */
  async problems(): Promise<readonly { readonly code: string; readonly id: string }[]> {
    const { directory, records } = this.#context;
    for (const id of [...this.#useless].slice(0, READ_AGAIN)) {
      const row = await records.collectionOfAllTenants(factors).get(id);
      const isUseless = row !== undefined && !this.#isProvable(row, await directory.accounts.findByOid(row.userId));
      this.#useless.delete(id);
      // Moves the row to the end, so that the next call reads other rows again.
      if (isUseless) this.#useless.add(id);
    }
    return [...this.#useless].map((id) => ({ code: 'factor_unreadable', id }));
  }

  /**
   * Adds a factor.
   * @param vouchedBy voucher of the sign-in that adds the factor
   * @throws IdpError `conflict` if the slot has a factor, or the user has too many factors.
   */
  async add(owner: Account, { id = randomUUID(), ...row }: New, vouchedBy: Voucher | undefined, by?: Attribution): Promise<FactorRow> {
    const { directory, service } = this.#context;
    const { id: userId } = owner.person.user;
    const rows = this.inTenantOf(owner);
    if ((await rows.find('byUser', [userId])).length >= MOST) throw new IdpError('conflict');
    const data = { AggregateId: userId, FactorId: id, Kind: row.kind };
    const members: Factor = { ...row, userId, personId: owner.person.id, createdAt: new Date(service.now()).toISOString() };
    await directory.means.vouchFor(owner.person, refOf(id), vouchedBy);
    try {
      return await rows.insert(members, { id, events: [{ type: 'FactorAdded', data, ...(by && { by }) }] });
    } catch (error) {
      // If a form was sent twice, the row exists: the first form added the factor, which keeps its voucher.
      if (vouchedBy?.by === 'tenant' && !(await rows.get(id))) await this.#removeVoucher(owner, id);
      throw error;
    }
  }

  /**
   * Writes another proof of a factor, and records the voucher of the proof. A limited voucher is recorded before the write, any other voucher after the
   * write. So a crash between the two writes leaves no factor that counts for more.
   */
  async vouched({ person }: Account, id: string, vouchedBy: Voucher | undefined, write: () => Promise<unknown>): Promise<void> {
    const { means } = this.#context.directory;
    const isLimited = vouchedBy?.by === 'tenant';
    if (isLimited) await means.vouchFor(person, refOf(id), vouchedBy);
    await write();
    if (!isLimited) await means.vouchFor(person, refOf(id), vouchedBy);
  }

  /** Changes a factor, also under concurrent changes. Returns false if the factor does not exist any more. */
  async change(owner: Account, id: string, to: (row: FactorRow) => Factor): Promise<boolean> {
    try {
      await this.inTenantOf(owner).update(id, to);
      return true;
    } catch (error) {
      if (IdpError.is(error, 'not_found')) return false;
      throw error;
    }
  }

  /**
   * Removes the factor. Succeeds if the factor has been removed already.
   * @throws IdpError `record_unreadable` for a row that names a person of another tenant.
   */
  async remove(owner: Account, { id, kind }: { readonly id: string; readonly kind?: FactorKind }, by?: Attribution): Promise<void> {
    const { records, work } = this.#context;
    const data = { AggregateId: idOf(owner), FactorId: id, ...present({ Kind: kind }) };
    const row = await records.collectionOfAllTenants(factors).get(id);
    const isElsewhere = row !== undefined && row.tid !== owner.tenant.id;
    // The row may be the factor of the person that the row names, so only the operator may remove it.
    if (isElsewhere && row.personId !== owner.person.id) throw new IdpError('record_unreadable', { collection: factors.name, id });
    try {
      const event = { type: 'FactorRemoved' as const, data, ...(by && { by }) };
      await (isElsewhere ? records.collection(factors, row.tid) : this.inTenantOf(owner)).remove(id, isElsewhere ? [] : [event]);
      // The event belongs to the user's tenant, not to the tenant that the row names.
      if (isElsewhere) await work.emit('FactorRemoved', owner, data, id, by);
      await this.#removeVoucher(owner, id);
    } catch (error) {
      if (!IdpError.is(error, 'not_found')) throw error;
    }
  }

  /** Returns whether the user can prove a well-formed row that was found by one of its members. Logs a row that the user cannot prove. */
  #isProvable(row: FactorRow, owner: Account | undefined): boolean {
    const isSound = owner !== undefined && fits(row, owner) && (row.kind !== 'totp' || this.#secretOf(row) !== undefined);
    if (isSound) this.#useless.delete(row.id);
    else if (!this.#useless.has(row.id) && this.#useless.size < NAMED) {
      this.#useless.add(row.id);
      this.#context.service.logger.error(
        { factor: row.id },
        'A second factor does not match its user, or the secret of the factor is unreadable, so nobody can prove the factor. Fix the factor in the store, or remove the factor.',
      );
    }
    return isSound;
  }

  /** Removes the voucher of a removed factor. */
  async #removeVoucher({ person }: Account, id: string): Promise<void> {
    const { accounts, means } = this.#context.directory;
    const account = await accounts.findByOid(person.user.id);
    if (account) await means.vouchFor(account.person, refOf(id), undefined);
  }
}
