/** Settings of a tenant's entity: requirements of its service providers in addition to the options, which the tenant's administrators set. */
import { LRUCache } from 'lru-cache';
import {
  type Attribution,
  type Awaitable,
  defineCollection,
  type ExtensionContext,
  IdpError,
  type Static,
  Type,
} from '../../../lib/extension-door.js';

const EntitySettings = Type.Object({ wantAuthnRequestsSigned: Type.Boolean() }, { additionalProperties: false });
export type EntitySettings = Static<typeof EntitySettings>;

/** At most one row for each tenant, with the tenant's id. */
export const entitySettings = defineCollection({ name: 'saml.entities', row: EntitySettings, events: true });

export interface Settings {
  /**
   * Whether metadata of the entity asks for signed requests, and others are refused. The answer is at most a second old. An unreadable row counts as true,
   * because the entity may have required signed requests.
   * @param owner a tenant's id, or `ofInstance`
   */
  wantsSigned(owner: string): Awaitable<boolean>;
  /** Returns the settings that are stored now. */
  read(tid: string): Promise<EntitySettings>;
  /** @throws IdpError `invalid_record` for a setting that the options exclude */
  change(tid: string, change: Partial<EntitySettings>, by: Attribution): Promise<EntitySettings>;
}

/** Milliseconds that an answer of the store is cached, so a change is on every node within about a second. */
const RECENT_MS = 1000;
const MOST = 1000;

export function createSettings(
  { records: { collection, ofInstance } }: Pick<ExtensionContext, 'records'>,
  { wantAuthnRequestsSigned: isAlwaysWanted }: EntitySettings,
): Settings {
  const recent = new LRUCache<string, { readonly wanted: Promise<boolean>; readonly until: number }>({ max: MOST });
  const rowsOf = (tid: string) => collection(entitySettings, tid);

  async function find(tid: string) {
    const { rows, unreadable } = await rowsOf(tid).findAll('byTenant', []);
    const wanted = isAlwaysWanted || unreadable.length > 0 || (rows[0]?.wantAuthnRequestsSigned ?? false);
    return { settings: { wantAuthnRequestsSigned: wanted }, isThere: rows.length > 0, unreadable };
  }

  return {
    wantsSigned(owner) {
      if (isAlwaysWanted || owner === ofInstance) return isAlwaysWanted;
      const known = recent.get(owner);
      if (known && performance.now() < known.until) return known.wanted;
      const wanted = find(owner).then(({ settings }) => settings.wantAuthnRequestsSigned);
      recent.set(owner, { wanted, until: performance.now() + RECENT_MS });
      wanted.catch(() => recent.delete(owner));
      return wanted;
    },

    read: async (tid) => (await find(tid)).settings,

    async change(tid, { wantAuthnRequestsSigned }, by) {
      if (isAlwaysWanted && wantAuthnRequestsSigned === false)
        throw new IdpError('invalid_record', {
          path: '/wantAuthnRequestsSigned',
          expected: 'true, because the option wantAuthnRequestsSigned requires signed requests of all service providers',
        });
      const { settings, isThere, unreadable } = await find(tid);
      if (wantAuthnRequestsSigned === undefined) return settings;
      const next = { wantAuthnRequestsSigned };
      const events = [
        { type: 'SamlEntityUpdated' as const, data: { AggregateId: tid, WantAuthnRequestsSigned: wantAuthnRequestsSigned }, by },
      ];
      const rows = rowsOf(tid);
      const isSame = (row: EntitySettings): boolean => row.wantAuthnRequestsSigned === wantAuthnRequestsSigned;
      for (const id of unreadable) await rows.remove(id);
      const inserted = isThere ? undefined : await rows.insert(next, { id: tid, events }).catch(IdpError.unless('conflict'));
      if (!inserted)
        await rows.update(
          tid,
          (row) => (isSame(row) ? row : { ...row, ...next }),
          (before) => (isSame(before) ? [] : events),
        );
      recent.delete(tid);
      return next;
    },
  };
}
