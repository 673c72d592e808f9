/** The factors of users: added, proven, removed. A linked user's are those of the account whose credential signs in. */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Account, type Attribution, type ExtensionContext, IdpError } from '../../lib/extension-door.js';
import { newRecoveryCodes, readCode, readRecoveryCode, stepOf } from './codes.js';
import { type Factor, type FactorKind, type FactorRow, factors, slotOf } from './records.js';

/** Factors of one user, at most. */
const MOST = 20;
/** How long a node goes on by what it knows of the factors that sign-ins are asked for unasked, in milliseconds. */
const KNOWN_MS = 30_000;
/** Passkeys that do not count are written when they are used after so long, for the list of factors alone. */
const USED_MS = 3_600_000;

export interface OwnFactors {
  readonly totp?: FactorRow;
  readonly recovery?: FactorRow;
  readonly passkeys: readonly FactorRow[];
  /** Recovery codes alone are no factor: they stand in for one. */
  readonly isEnrolled: boolean;
  readonly all: readonly FactorRow[];
}

export type Enrolled = ReturnType<typeof createEnrolled>;

export function createEnrolled({ collection, directory, seal, emit, logger }: ExtensionContext) {
  const secrets = seal('factors totp');
  const codes = seal('factors recovery');
  const rowsOf = ({ tenant }: Account) => collection(factors, tenant.id);
  const idOf = ({ person }: Account): string => person.user.id;
  /** When the first factor was added, by owner; `Infinity`: there is none. Each has a size of one, because `max` allocates all room at the start. */
  const since = new LRUCache<string, number>({ maxSize: 10_000, sizeCalculation: () => 1, ttl: KNOWN_MS });

  async function of(owner: Account): Promise<OwnFactors> {
    const all = await rowsOf(owner).find('byUser', [idOf(owner)]);
    const totp = all.find(({ kind }) => kind === 'totp');
    const recovery = all.find(({ kind }) => kind === 'recovery');
    const passkeys = all.filter(({ kind }) => kind === 'passkey');
    const isEnrolled = totp !== undefined || passkeys.length > 0;
    since.set(
      idOf(owner),
      Math.min(...all.map(({ kind, createdAt }) => (kind === 'recovery' ? Number.POSITIVE_INFINITY : Date.parse(createdAt)))),
    );
    return { ...(totp && { totp }), ...(recovery && { recovery }), passkeys, isEnrolled, all };
  }

  type New = Pick<Factor, 'kind' | 'slot'> & Partial<Factor>;
  async function add(owner: Account, { id = randomUUID(), ...row }: New & { readonly id?: string }, by?: Attribution): Promise<FactorRow> {
    const { id: userId } = owner.person.user;
    if ((await rowsOf(owner).find('byUser', [userId])).length >= MOST) throw new IdpError('conflict');
    const data = { AggregateId: userId, FactorId: id, Kind: row.kind };
    const members: Factor = { ...row, userId, personId: owner.person.id, createdAt: new Date().toISOString() };
    const added = await rowsOf(owner).insert(members, { id, events: [{ type: 'FactorAdded', data, ...(by && { by }) }] });
    since.delete(userId);
    return added;
  }

  const opened = (row: FactorRow): string | undefined => {
    try {
      return secrets.open(row.id, row.totp?.secret ?? '');
    } catch (err) {
      logger.error({ err, factor: row.id }, 'the secret of an authenticator app cannot be read');
      return undefined;
    }
  };

  /** A change that some other may have come before; false where there is no such factor any more. */
  async function change(owner: Account, id: string, to: (row: FactorRow) => Factor): Promise<boolean> {
    try {
      await rowsOf(owner).update(id, to);
      return true;
    } catch (error) {
      if (IdpError.is(error, 'not_found')) return false;
      throw error;
    }
  }

  const hashesOf = (owner: Account, made: readonly string[]) =>
    made.map((code) => codes.hashes(`${idOf(owner)} ${readRecoveryCode(code)}`)[0]);

  /** The sign-in began within the second that it names. */
  const endOf = (authTime: number): number => (authTime + 1) * 1000;
  const used = () => ({ lastUsedAt: new Date().toISOString() });

  return {
    of,

    /** Whether one of the factors is from before the sign-in. */
    isOlder: ({ all }: OwnFactors, authTime: number): boolean =>
      all.some(({ kind, createdAt }) => kind !== 'recovery' && Date.parse(createdAt) < endOf(authTime)),

    /** The account whose credential signs this one in; undefined where it is gone. */
    async ownerOf(account: Account): Promise<Account | undefined> {
      const { parentUserId } = account.person.user;
      return parentUserId === undefined ? account : directory.accounts.findByOid(parentUserId);
    },

    /** Whether the owner of the account's credential had a factor when the sign-in began, as far as this node knows. */
    async wasEnrolled(account: Account, authTime: number): Promise<boolean> {
      const { id, parentUserId = id } = account.person.user;
      let first = since.get(parentUserId);
      if (first === undefined) {
        const owner = await this.ownerOf(account);
        if (!owner) return false;
        await of(owner);
        first = since.get(parentUserId) ?? Number.POSITIVE_INFINITY;
      }
      return first < endOf(authTime);
    },

    /** @throws IdpError `conflict` where the user has an authenticator app. */
    addTotp: (
      owner: Account,
      { id, secret, lastStep }: { readonly id: string; readonly secret: string; readonly lastStep: number },
      by?: Attribution,
    ) => add(owner, { id, kind: 'totp', slot: slotOf.totp(idOf(owner)), totp: { secret: secrets.seal(id, secret), lastStep } }, by),

    /** @throws IdpError `conflict` where somebody of the tenant has the passkey, or the user has too many. */
    addPasskey: (owner: Account, passkey: NonNullable<Factor['passkey']>, name: string | undefined, by?: Attribution) =>
      add(owner, { kind: 'passkey', slot: slotOf.passkey(passkey.credentialId), passkey, ...(name === undefined ? {} : { name }) }, by),

    /** Recovery codes for who has none. Whether they are the owner's now: false where others were there. */
    async addRecoveryCodes(owner: Account, made: readonly string[], by?: Attribution): Promise<boolean> {
      const hashes = hashesOf(owner, made);
      const slot = slotOf.recovery(idOf(owner));
      const isAdded = await add(owner, { kind: 'recovery', slot, recovery: { codes: hashes } }, by).catch(IdpError.unless('conflict'));
      if (isAdded) return true;
      const [there] = await rowsOf(owner).find('bySlot', [slot]);
      return there?.recovery?.codes.join() === hashes.join();
    },

    /** Ten new recovery codes: those from before are void. */
    async newRecoveryCodes(owner: Account, by?: Attribution): Promise<readonly string[]> {
      const made = newRecoveryCodes();
      const hashes = hashesOf(owner, made);
      const slot = slotOf.recovery(idOf(owner));
      for (let left = 3; ; left -= 1) {
        const [before] = await rowsOf(owner).find('bySlot', [slot]);
        if (before) {
          const data = { AggregateId: idOf(owner), FactorId: before.id, Kind: 'recovery' as const };
          const fresh = (row: FactorRow) => ({ ...row, recovery: { codes: hashes }, createdAt: new Date().toISOString() });
          try {
            await rowsOf(owner).update(before.id, fresh, [{ type: 'FactorAdded', data, ...(by && { by }) }]);
            return made;
          } catch (error) {
            if (left === 0 || !IdpError.is(error, 'not_found')) throw error;
            continue;
          }
        }
        try {
          await add(owner, { kind: 'recovery', slot, recovery: { codes: hashes } }, by);
          return made;
        } catch (error) {
          if (left === 0 || !IdpError.is(error, 'conflict')) throw error;
        }
      }
    },

    /** Takes the code of an authenticator app. Each is good once, however often and wherever it comes at the same time. */
    async useTotp(owner: Account, { totp: row }: OwnFactors, typed: string): Promise<'right' | 'wrong' | 'reused'> {
      const secret = row && opened(row);
      const step = secret === undefined ? undefined : stepOf(secret, readCode(typed), Date.now());
      if (!row || secret === undefined || step === undefined) return 'wrong';
      let isFirst = false;
      const isThere = await change(owner, row.id, (now) => {
        isFirst = now.totp !== undefined && now.totp.lastStep < step;
        const sealed = now.totp && secrets.isCurrent(now.totp.secret) ? now.totp.secret : secrets.seal(now.id, secret);
        return isFirst ? { ...now, totp: { secret: sealed, lastStep: step }, ...used() } : now;
      });
      return isThere ? (isFirst ? 'right' : 'reused') : 'wrong';
    },

    /** Takes a recovery code, which is good once. Answers how many are left; undefined for a wrong one. */
    async useRecoveryCode(owner: Account, { recovery: row }: OwnFactors, typed: string): Promise<number | undefined> {
      const hashes: readonly string[] = codes.hashes(`${idOf(owner)} ${readRecoveryCode(typed)}`);
      let left: number | undefined;
      const isThere =
        row !== undefined &&
        (await change(owner, row.id, (now) => {
          const found = now.recovery?.codes.find((hash) => hashes.includes(hash));
          const rest = now.recovery?.codes.filter((hash) => hash !== found) ?? [];
          left = found === undefined ? undefined : rest.length;
          return found === undefined ? now : { ...now, recovery: { codes: rest }, ...used() };
        }));
      return isThere ? left : undefined;
    },

    /** The passkey with this credential id, if it is the owner's. */
    async passkeyOf(owner: Account, credentialId: string): Promise<FactorRow | undefined> {
      const [row] = await rowsOf(owner).find('bySlot', [slotOf.passkey(credentialId)]);
      return row?.userId === idOf(owner) ? row : undefined;
    },

    /** Keeps what a passkey counted. False where it counted less than before: there may be a copy of it. @see WebAuthn Level 3 §6.1.1 */
    async usePasskey(owner: Account, { id }: FactorRow, counter: number): Promise<boolean> {
      let isBack = false;
      const isThere = await change(owner, id, (now) => {
        const before = now.passkey?.counter ?? 0;
        isBack = (counter > 0 || before > 0) && counter <= before;
        const isRecent = Date.parse(now.lastUsedAt ?? '') > Date.now() - USED_MS;
        if (isBack || !now.passkey || (counter === before && isRecent)) return now;
        return { ...now, passkey: { ...now.passkey, counter }, ...used() };
      });
      if (isThere && isBack) {
        const data = { AggregateId: idOf(owner), FactorId: id };
        await emit('PasskeyCounterWentBack', owner, data, `passkey ${id} ${counter}`);
      }
      return isThere && !isBack;
    },

    /** Removes a factor; the recovery codes go with the last one that they stand in for. @throws IdpError `not_found`. */
    async remove(owner: Account, id: string, by?: Attribution): Promise<void> {
      const { all } = await of(owner);
      const row = all.find((one) => one.id === id);
      if (!row) throw new IdpError('not_found');
      const isLast = all.every((one) => one === row || one.kind === 'recovery');
      for (const gone of isLast ? [row, ...all.filter((one) => one !== row)] : [row]) await removeRow(owner, gone, by);
    },

    /** Removes all of them. */
    async removeAll(owner: Account, by?: Attribution): Promise<void> {
      for (const row of (await of(owner)).all) await removeRow(owner, row, by);
    },
  };

  async function removeRow(
    owner: Account,
    { id, kind }: { readonly id: string; readonly kind: FactorKind },
    by?: Attribution,
  ): Promise<void> {
    const data = { AggregateId: idOf(owner), FactorId: id, Kind: kind };
    try {
      await rowsOf(owner).remove(id, [{ type: 'FactorRemoved', data, ...(by && { by }) }]);
    } catch (error) {
      if (!IdpError.is(error, 'not_found')) throw error;
    }
    since.delete(idOf(owner));
  }
}
