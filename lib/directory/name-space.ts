import { IdpError } from '../errors.js';

export interface HeldWrite<Written> {
  write(): Promise<Written>;
  /** Takes back what `write` wrote, if it is there. */
  undo(): Promise<unknown>;
}

/** Names that records of several kinds share, in collections of their own: no two kinds have one name. */
export interface NameSpace<Kind extends string> {
  /**
   * Writes the record that has the name from then on. Of two kinds that want one name at the same time, one gets it: no other kind gets the name for some
   * seconds, and after that the checks of other kinds find the record.
   * @throws IdpError `conflict`; errors of the check and of `write`. After `store_unavailable` the record may be there, and then it has the name.
   */
  hold<Written>(name: string, kind: Kind, held: HeldWrite<Written>): Promise<Written>;
  /** After the record is gone, or gave the name up. A release that fails is none, because the name is free some seconds later anyway. */
  release(name: string, kind: Kind): Promise<void>;
}

/** What the `idp` of a sign-in may name: a connection, or a client whose hints are believed. */
export type IdpNames = NameSpace<'connection' | 'client'>;
/** Clients and API resources authenticate by name, so no two of either kind have the same. */
export type SharedIds = NameSpace<'client' | 'apiResource'>;

/** Takes or renews the right to a name, or gives it back (0 ms); false while another kind has it. */
export type NameLease = (work: string, holder: string, ms: number) => Promise<boolean>;

/** Milliseconds: longer than a store may take for a write that timed out, and than a node remembers that a name was free. */
const HELD_MS = 5_000;

/** @param checks throws where another kind has the name in the store. The check of a kind runs before it holds the name, and while it does. */
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
        // The store may make such a write yet, so the name stays held. The error stays too, because it says that nobody knows.
        if (IdpError.is(error, 'store_unavailable')) {
          await take(name, kind).catch(async (lost: unknown) => IdpError.is(lost, 'conflict') && (await undo().catch(() => {})));
        }
        throw error;
      });
      // Another kind may have the name by now, where the write took longer than the name was held.
      await take(name, kind).catch(async (error: unknown) => {
        await undo();
        throw error;
      });
      return written;
    },
    release: async (name, kind) => void (await lease(`${space} ${name}`, kind, 0).catch(IdpError.unless('store_unavailable'))),
  };
}
