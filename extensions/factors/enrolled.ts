/** The factors of users: added, proven, removed. A linked user's are those of the account whose credential signs in. */
import { type Account, type Attribution, type ExtensionContext, IdpError } from '../../lib/extension-door.js';
import { createFactorRows, idOf, type OwnFactors, used } from './factor-rows.js';
import { type Factor, type FactorRow, slotOf } from './records.js';
import { createRecoveryCodes } from './recovery-codes.js';
import { readCode, stepOf } from './totp.js';

/** Passkeys that do not count are written when they are used after so long, for the list of factors alone. */
const USED_MS = 3_600_000;

export type Enrolled = ReturnType<typeof createEnrolled>;

export function createEnrolled(context: ExtensionContext) {
  const { directory, seal, emit, logger } = context;
  const secrets = seal('factors totp');
  const rows = createFactorRows(context);
  const { rowsOf, of, add, change, firstKnown } = rows;

  const opened = (row: FactorRow): string | undefined => {
    try {
      return secrets.open(row.id, row.totp?.secret ?? '');
    } catch (err) {
      logger.error({ err, factor: row.id }, 'the secret of an authenticator app cannot be read');
      return undefined;
    }
  };

  /** The sign-in began within the second that it names. */
  const endOf = (authTime: number): number => (authTime + 1) * 1000;

  return {
    of,
    recoveryCodes: createRecoveryCodes(rows, seal('factors recovery')),

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
      let first = firstKnown(parentUserId);
      if (first === undefined) {
        const owner = await this.ownerOf(account);
        if (!owner) return false;
        await of(owner);
        first = firstKnown(parentUserId) ?? Number.POSITIVE_INFINITY;
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
      for (const gone of isLast ? [row, ...all.filter((one) => one !== row)] : [row]) await rows.remove(owner, gone, by);
    },

    /** Removes all of them. */
    async removeAll(owner: Account, by?: Attribution): Promise<void> {
      for (const row of (await of(owner)).all) await rows.remove(owner, row, by);
    },
  };
}
