/** The rows of a user's factors. */
import { randomUUID } from 'node:crypto';
import { type Account, type Attribution, type ExtensionContext, IdpError } from '../../lib/extension-door.js';
import { type Factor, type FactorKind, type FactorRow, factors } from './records.js';

/** Factors of one user, at most. */
const MOST = 20;

export interface OwnFactors {
  readonly totp?: FactorRow;
  readonly recovery?: FactorRow;
  readonly passkeys: readonly FactorRow[];
  /** Ids of malformed rows, and of rows that name the person and another user. Each counts as a factor that nobody can prove. */
  readonly unreadable: readonly string[];
  /** Recovery codes alone are no factor: they stand in for one. */
  readonly isEnrolled: boolean;
  readonly all: readonly FactorRow[];
}

export type FactorRows = ReturnType<typeof createFactorRows>;

type New = Pick<Factor, 'kind' | 'slot'> & Partial<Factor> & { readonly id?: string };

export const idOf = ({ person }: Account): string => person.user.id;

/** What is written with each use of a factor. */
export const used = () => ({ lastUsedAt: new Date().toISOString() });

export function createFactorRows({
  collection,
  collectionOfAllTenants,
  now,
}: Pick<ExtensionContext, 'collection' | 'collectionOfAllTenants' | 'now'>) {
  const rowsOf = ({ tenant }: Account) => collection(factors, tenant.id);

  return {
    rowsOf,
    async of(owner: Account): Promise<OwnFactors> {
      const rows = collectionOfAllTenants(factors);
      const [ofUser, ofPerson] = await Promise.all([rows.findAll('byUser', [idOf(owner)]), rows.findAll('byPerson', [owner.person.id])]);
      const all = ofUser.rows.filter(({ tid }) => tid === owner.tenant.id);
      const ofOther = ofPerson.rows.filter(({ tid, userId }) => tid === owner.tenant.id && userId !== idOf(owner));
      const unreadable = [...new Set([...ofUser.unreadable, ...ofPerson.unreadable, ...ofOther.map(({ id }) => id)])];
      const totp = all.find(({ kind }) => kind === 'totp');
      const recovery = all.find(({ kind }) => kind === 'recovery');
      const passkeys = all.filter(({ kind }) => kind === 'passkey');
      const isEnrolled = totp !== undefined || passkeys.length > 0 || unreadable.length > 0;
      return { ...(totp && { totp }), ...(recovery && { recovery }), passkeys, unreadable, isEnrolled, all };
    },

    /** @throws IdpError `conflict` where there is such a factor, or there are too many. */
    async add(owner: Account, { id = randomUUID(), ...row }: New, by?: Attribution): Promise<FactorRow> {
      const { id: userId } = owner.person.user;
      if ((await rowsOf(owner).find('byUser', [userId])).length >= MOST) throw new IdpError('conflict');
      const data = { AggregateId: userId, FactorId: id, Kind: row.kind };
      const members: Factor = { ...row, userId, personId: owner.person.id, createdAt: new Date(now()).toISOString() };
      return rowsOf(owner).insert(members, { id, events: [{ type: 'FactorAdded', data, ...(by && { by }) }] });
    },

    /** A change that some other may have come before; false where there is no such factor any more. */
    async change(owner: Account, id: string, to: (row: FactorRow) => Factor): Promise<boolean> {
      try {
        await rowsOf(owner).update(id, to);
        return true;
      } catch (error) {
        if (IdpError.is(error, 'not_found')) return false;
        throw error;
      }
    },

    /** One that is gone already stays so. */
    async remove(owner: Account, { id, kind }: { readonly id: string; readonly kind?: FactorKind }, by?: Attribution): Promise<void> {
      const data = { AggregateId: idOf(owner), FactorId: id, ...(kind === undefined ? {} : { Kind: kind }) };
      try {
        await rowsOf(owner).remove(id, [{ type: 'FactorRemoved', data, ...(by && { by }) }]);
      } catch (error) {
        if (!IdpError.is(error, 'not_found')) throw error;
      }
    },
  };
}
