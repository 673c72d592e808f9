/** Records of forms, which all nodes share. No extension can name their kind. */
import { UnavailableError } from '../errors.js';
import { OwedWrites } from '../store/outages/owed-writes.js';
import { createExtensionArtifacts } from '../store/records/extension-artifacts.js';

type Parts = Omit<Parameters<typeof createExtensionArtifacts>[0], 'isCutOff'>;

/** Changes a record. The change may run several times. */
type Change = (stored: unknown) => unknown;

interface OwedEnd {
  readonly change: Change;
  readonly lifetimeSeconds: number;
  /** The time after which the change is pointless, by `performance.now`. */
  readonly until: number;
}

export interface FormRecords {
  /** Changes a record by compare-and-swap, after all changes that this node owes the record. @see ExtensionArtifacts */
  update(id: string, change: Change, options: { readonly lifetimeSeconds: number }): Promise<unknown>;
  /**
   * Changes a record as `update` does. If the store is unavailable, the change is made after the store answers again.
   * @param options.pointlessAfterSeconds seconds after which the change need not be made any more
   */
  end(id: string, change: Change, options: { readonly lifetimeSeconds: number; readonly pointlessAfterSeconds: number }): Promise<void>;
  /** Stops the wait for the store. */
  close(): Promise<void>;
}

/** @param lifetimeSeconds maximum lifetime of a record */
export function createFormRecords(parts: Parts, lifetimeSeconds: number): FormRecords {
  const records = createExtensionArtifacts({ ...parts, isCutOff: async () => false }, { name: 'forms.answers', lifetimeSeconds });
  const owed = new OwedWrites<string, OwedEnd>(async (id, end) => {
    const isMade = await records.update(id, end.change, end).then(
      () => true,
      () => false,
    );
    if (!isMade && performance.now() < end.until) return false;
    // The record may be owed another change since.
    if (owed.get(id) === end) owed.take(id);
    return true;
  });
  return {
    async update(id, change, options) {
      await owed.repay(id);
      return records.update(id, change, options);
    },
    async end(id, change, { lifetimeSeconds, pointlessAfterSeconds }) {
      try {
        await records.update(id, change, { lifetimeSeconds });
      } catch (error) {
        const until = performance.now() + pointlessAfterSeconds * 1000;
        if (error instanceof UnavailableError) owed.owe(id, { change, lifetimeSeconds, until });
        throw error;
      }
    },
    close: () => owed.close(),
  };
}
