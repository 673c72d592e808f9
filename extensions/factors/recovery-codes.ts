/** Recovery codes, which replace a lost factor. Each code is valid once. */
import { randomBytes } from 'node:crypto';
import { type Account, type Attribution, cleanCode, type ExtensionContext, IdpError, type Voucher } from '../../lib/extension-door.js';
import { type FactorRows, type FactorSet, idOf, lastUse } from './factor-rows.js';
import { type FactorRow, slotOf } from './records.js';

/** Letters and digits, without the characters that look like another character. @see Crockford's base32 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const CODE_LENGTH = 12;
const CODES = 10;

/** Returns ten new codes of 60 bits each. */
export const newRecoveryCodes = (): readonly string[] =>
  Array.from({ length: CODES }, () => {
    const letters = [...randomBytes(CODE_LENGTH)].map((byte) => ALPHABET[byte & 31]).join('');
    return letters.replace(/(.{4})(?=.)/g, '$1-');
  });

/** Returns the code with typing mistakes corrected: case, separators, and letters that look like digits. */
const readRecoveryCode = (typed: string): string =>
  cleanCode(typed)
    .toLowerCase()
    .replace(/[^0-9a-z]/g, '')
    .replaceAll('o', '0')
    .replace(/[il]/g, '1');

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>;

/** @param codes hashes the codes under the service's keys */
export function createRecoveryCodes(
  rows: FactorRows,
  codes: ReturnType<ExtensionContext['keys']['seal']>,
  now: ExtensionContext['service']['now'],
) {
  const hashesOf = (owner: Account, made: readonly string[]) =>
    made.map((code) => codes.hashes(`${idOf(owner)} ${readRecoveryCode(code)}`)[0]);

  return {
    /** Adds recovery codes if the user has none. Returns true if the user now has these codes, and false if the user has other codes. */
    async add(owner: Account, made: readonly string[], vouchedBy: Voucher | undefined, by?: Attribution): Promise<boolean> {
      const hashes = hashesOf(owner, made);
      const slot = slotOf.recovery(idOf(owner));
      const isAdded = await rows
        .add(owner, { kind: 'recovery', slot, recovery: { codes: hashes } }, vouchedBy, by)
        .catch(IdpError.unless('conflict'));
      if (isAdded) return true;
      const [there] = await rows.inTenantOf(owner).find('bySlot', [slot]);
      return there?.recovery?.codes.join() === hashes.join();
    },

    /** Replaces the recovery codes by ten new codes. The previous codes become invalid. */
    async renew(owner: Account, vouchedBy: Voucher | undefined, by?: Attribution): Promise<readonly string[]> {
      const made = newRecoveryCodes();
      const hashes = hashesOf(owner, made);
      const slot = slotOf.recovery(idOf(owner));
      for (let left = 3; ; left -= 1) {
        const [before] = await rows.inTenantOf(owner).find('bySlot', [slot]);
        if (before) {
          const data = { AggregateId: idOf(owner), FactorId: before.id, Kind: 'recovery' as const };
          const fresh = (row: FactorRow) => ({ ...row, recovery: { codes: hashes }, createdAt: new Date(now()).toISOString() });
          try {
            await rows.vouched(owner, before.id, vouchedBy, () =>
              rows.inTenantOf(owner).update(before.id, fresh, [{ type: 'FactorAdded', data, ...(by && { by }) }]),
            );
            return made;
          } catch (error) {
            if (left === 0 || !IdpError.is(error, 'not_found')) throw error;
            continue;
          }
        }
        try {
          await rows.add(owner, { kind: 'recovery', slot, recovery: { codes: hashes } }, vouchedBy, by);
          return made;
        } catch (error) {
          if (left === 0 || !IdpError.is(error, 'conflict')) throw error;
        }
      }
    },

    /** Uses a recovery code, which is valid once. Returns how many codes are left; undefined for an invalid code. */
    async use(owner: Account, { recovery: row }: FactorSet, typed: string): Promise<number | undefined> {
      const hashes: readonly string[] = codes.hashes(`${idOf(owner)} ${readRecoveryCode(typed)}`);
      let left: number | undefined;
      const isThere =
        row !== undefined &&
        (await rows.change(owner, row.id, (current) => {
          const matching = current.recovery?.codes.find((hash) => hashes.includes(hash));
          const rest = current.recovery?.codes.filter((hash) => hash !== matching) ?? [];
          left = matching === undefined ? undefined : rest.length;
          return matching === undefined ? current : { ...current, recovery: { codes: rest }, ...lastUse(now()) };
        }));
      return isThere ? left : undefined;
    },
  };
}
