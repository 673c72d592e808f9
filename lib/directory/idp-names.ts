import { IdpError } from '../errors.js';

/** What the `idp` of a sign-in may name: a provider, or a client whose hints are believed. */
export type IdpKind = 'connection' | 'client';

export interface HeldWrite<Written> {
  /** @throws where the other kind has the name. */
  check(): Promise<void>;
  write(): Promise<Written>;
  undo(): Promise<unknown>;
}

/** One name space: no connection has the id of a client whose hints are believed. */
export interface IdpNames {
  /**
   * Writes what has the name from then on. Of two kinds that want one name at the same time one gets it: for some seconds nobody of the other kind does, and
   * after that every node sees the record.
   * @throws IdpError `conflict`; what `check` and `write` throw.
   */
  hold<Written>(name: string, kind: IdpKind, held: HeldWrite<Written>): Promise<Written>;
  /** After the record is gone, or gave the name up. */
  release(name: string, kind: IdpKind): Promise<void>;
}

/** Milliseconds: longer than any cache remembers that a name was free. */
const HELD_MS = 5_000;

/** @param lease takes or renews the right to a name, or gives it back (0 ms); false while the other kind has it. */
export function createIdpNames(lease: (work: string, holder: string, ms: number) => Promise<boolean>): IdpNames {
  const take = async (name: string, kind: IdpKind): Promise<void> => {
    if (!(await lease(`idp ${name}`, kind, HELD_MS))) throw new IdpError('conflict', { path: '/id' });
  };
  return {
    async hold(name, kind, { check, write, undo }) {
      await check();
      await take(name, kind);
      await check();
      const written = await write();
      // The other kind may have the name by now, where the write took longer than it was held.
      await take(name, kind).catch(async (error: unknown) => {
        await undo();
        throw error;
      });
      return written;
    },
    release: async (name, kind) => void (await lease(`idp ${name}`, kind, 0)),
  };
}
