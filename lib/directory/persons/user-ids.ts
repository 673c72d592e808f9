import { IdpError } from '../../errors.js';
import type { DirectoryContext } from '../context.js';
import type { HeldWrite } from '../name-space.js';

/** An id that a caller gives to a new user. */
interface GivenId {
  readonly id: string;
  /** JSON pointer of the id in the input. */
  readonly path: string;
  /** Whether the user had the id before it was removed. */
  readonly isRestored: boolean;
}

/**
 * Writes a user that gets the id. Clients, API resources and users have no id in common, and the id of a removed user is never given again.
 * @throws IdpError `conflict`; errors of `write`. After `store_unavailable` the user may exist, and then it has the id.
 */
export async function holdUserId<Written>(
  { sharedIds, removedUserIds }: Pick<DirectoryContext, 'sharedIds' | 'removedUserIds'>,
  { id, path, isRestored }: GivenId,
  { write, undo }: HeldWrite<Written>,
): Promise<Written> {
  let refusal: unknown;
  const isRemoved = async () => !isRestored && (await removedUserIds.has(id));
  const checkedWrite = {
    undo,
    async write() {
      const written = await write().catch((error: unknown) => {
        refusal = error;
        throw error;
      });
      // A paused node may write after another user had the id and was removed.
      if (!(await isRemoved())) return written;
      await undo();
      throw new IdpError('conflict', { path });
    },
  };
  if (await isRemoved()) throw new IdpError('conflict', { path });
  return sharedIds.hold(id, 'user', checkedWrite).catch((error: unknown) => {
    throw error !== refusal && IdpError.is(error, 'conflict') ? new IdpError('conflict', { path }) : error;
  });
}
