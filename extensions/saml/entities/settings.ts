/** Settings of a tenant's entity: requirements of its service providers in addition to the options. Administrators of the tenant change them. */
import {
  type Attribution,
  type Awaitable,
  defineCollection,
  type ExtensionContext,
  type FoundRows,
  IdpError,
  type Static,
  strict,
  Type,
} from '../../../lib/extension-door.js';
import { awaited } from '../awaited.js';

const EntitySettings = Type.Object({ wantAuthnRequestsSigned: Type.Boolean() }, strict);
export type EntitySettings = Static<typeof EntitySettings>;

/** At most one row for each tenant, with the tenant's id. */
export const entitySettings = defineCollection({ name: 'saml.entities', row: EntitySettings, events: true, cached: true });

export interface Settings {
  /**
   * Returns whether metadata of the entity asks for signed requests, and unsigned requests are refused. The answer is at most a second old. An unreadable
   * row counts as true, because the entity may have required signed requests.
   * @param owner a tenant's id, or `ofInstance`
   */
  wantsSigned(owner: string): Awaitable<boolean>;
  /** Returns the settings that are stored now. */
  read(tid: string): Promise<EntitySettings>;
  /** Changes the settings. @throws IdpError `invalid_record` for a setting that the options exclude */
  change(tid: string, change: Partial<EntitySettings>, by: Attribution): Promise<EntitySettings>;
}

export function createSettings(
  { records: { cached, collection, ofInstance } }: Pick<ExtensionContext, 'records'>,
  { wantAuthnRequestsSigned: isAlwaysWanted }: EntitySettings,
): Settings {
  const cachedRows = cached(entitySettings);
  const rowsOf = (tid: string) => collection(entitySettings, tid);
  const isWanted = ({ rows, unreadable }: FoundRows<EntitySettings>): boolean =>
    isAlwaysWanted || unreadable.length > 0 || (rows[0]?.wantAuthnRequestsSigned ?? false);

  async function find(tid: string) {
    const stored = await rowsOf(tid).findAll('byTenant', []);
    return { settings: { wantAuthnRequestsSigned: isWanted(stored) }, exists: stored.rows.length > 0, unreadable: stored.unreadable };
  }

  return {
    wantsSigned(owner) {
      if (isAlwaysWanted || owner === ofInstance) return isAlwaysWanted;
      return awaited(cachedRows.findAll(owner, []), isWanted);
    },

    read: async (tid) => (await find(tid)).settings,

    async change(tid, { wantAuthnRequestsSigned }, by) {
      if (isAlwaysWanted && wantAuthnRequestsSigned === false)
        throw new IdpError('invalid_record', {
          path: '/wantAuthnRequestsSigned',
          expected: 'true, because the option wantAuthnRequestsSigned requires signed requests of all service providers',
        });
      const { settings, exists, unreadable } = await find(tid);
      if (wantAuthnRequestsSigned === undefined) return settings;
      const next = { wantAuthnRequestsSigned };
      const events = [
        { type: 'SamlEntityUpdated' as const, data: { AggregateId: tid, WantAuthnRequestsSigned: wantAuthnRequestsSigned }, by },
      ];
      const rows = rowsOf(tid);
      const isSame = (row: EntitySettings): boolean => row.wantAuthnRequestsSigned === wantAuthnRequestsSigned;
      for (const id of unreadable) await rows.remove(id);
      const inserted = exists ? undefined : await rows.insert(next, { id: tid, events }).catch(IdpError.unless('conflict'));
      if (!inserted)
        await rows.update(
          tid,
          (row) => (isSame(row) ? row : { ...row, ...next }),
          (before) => (isSame(before) ? [] : events),
        );
      return next;
    },
  };
}
