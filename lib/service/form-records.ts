/** Records of forms, which all nodes share. No extension can name their kind. */
import { UnavailableError } from '../errors.js';
import { OwedWrites } from '../store/outages/owed-writes.js';
import { createExtensionArtifacts } from '../store/records/extension-artifacts.js';

type Parts = Omit<Parameters<typeof createExtensionArtifacts>[0], 'isCutOff'>;

/** Changes a record. The change may run several times. */
type Change = (stored: unknown) => unknown;

/** Maximum changes that one record is owed. A form that is sent more often during an outage adds no change. */
const MOST_CHANGES = 20;

/** Changes that one record is owed, oldest first, because each may be about the submission that has the turn. */
interface OwedEnd {
  readonly changes: readonly Change[];
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
    const changed: Change = (stored) => end.changes.reduce((record, change) => change(record), stored);
    const isMade = await records.update(id, changed, end).then(
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
        const changes = [...(owed.get(id)?.changes ?? []), change].slice(0, MOST_CHANGES);
        if (error instanceof UnavailableError) owed.owe(id, { changes, lifetimeSeconds, until });
        throw error;
      }
    },
    close: () => owed.close(),
  };
}
