import { IdpError } from '../errors.js';

export interface HeldWrite<Written> {
  write(): Promise<Written>;
  /** Removes the record that `write` wrote, if any. Never removes another record of the name, because such a record may be older than a write that timed out. */
  undo(): Promise<unknown>;
}

/** Names that records of several kinds share, in separate collections. Two kinds never have the same name. */
export interface NameSpace<Kind extends string> {
  /**
   * Writes a record that gets the name. If two kinds want one name at the same time, one kind gets it. No other kind gets the name for some
   * seconds, and after that the checks of other kinds find the record.
   * @throws IdpError `conflict`; errors of the check and of `write`. After `store_unavailable` the record may exist, and then it has the name.
   */
  hold<Written>(name: string, kind: Kind, held: HeldWrite<Written>): Promise<Written>;
  /** Frees the name after the record was removed or renamed. A failed release is ignored, because the name is free some seconds later anyway. */
  release(name: string, kind: Kind): Promise<void>;
}

/** Names for the `idp` of a sign-in: of a connection, or of a client with `trustedLoginHint`. */
export type IdpNames = NameSpace<'connection' | 'client'>;
/** Ids by which clients and API resources authenticate, and ids of users: the `sub` of a client's own token is the client's id. */
export type SharedIds = NameSpace<'client' | 'apiResource' | 'user'>;

/** Takes, renews or gives back (0 ms) the lease of a name; false while another kind has it. */
export type NameLease = (work: string, holder: string, ms: number) => Promise<boolean>;

/**
 * Milliseconds that a name is held. The time is longer than a store may take for a write that timed out, and than a node caches that a name
 * was free.
 */
const HELD_MS = 5_000;

/**
 * @param checks throws if another kind has the name in the store. The check runs before the name is held, while it is held, and after the
 * write. The last check is needed because a paused node may write after another kind held the name and wrote its record.
 */
export function createNameSpace<Kind extends string>(
  space: string,
  lease: NameLease,
  checks: Readonly<Record<Kind, (name: string) => Promise<void>>>,
): NameSpace<Kind> {
  const take = async (name: string, kind: Kind): Promise<void> => {
    if (!(await lease(`${space} ${name}`, kind, HELD_MS))) throw new IdpError('conflict', { path: '/id' });
  };
  return {
    async hold(name, kind, { write, undo }) {
      await checks[kind](name);
      await take(name, kind);
      await checks[kind](name);
      const written = await write().catch(async (error: unknown) => {
        // The store may still complete the write, so the name stays held. The error is thrown nevertheless, because the outcome is unknown.
        if (IdpError.is(error, 'store_unavailable')) {
          await take(name, kind).catch(async (lost: unknown) => IdpError.is(lost, 'conflict') && (await undo().catch(() => {})));
        }
        throw error;
      });
      // If the write took longer than the name was held, another kind may have the name.
      const isOurs = take(name, kind).then(() => checks[kind](name));
      await isOurs.catch(async (error: unknown) => {
        if (!IdpError.is(error, 'store_unavailable')) await undo();
        throw error;
      });
      return written;
    },
    release: async (name, kind) => void (await lease(`${space} ${name}`, kind, 0).catch(IdpError.unless('store_unavailable'))),
  };
}
