/**
 * Requests that wait for a later step, such as a new address that a mailed link has to prove. A request ends with the sign-in in which the user made the
 * request.
 *
 * Each request has a mark in the store of sign-ins. The session names the marks of its sign-in, and the end of the sign-in removes the marks in the same
 * commit. So no request can be completed after its sign-in was ended on any node.
 */
import { randomBytes } from 'node:crypto';
import { artifactKey, slotOf } from '../../store/artifact-key.js';
import type { ArtifactKey, ArtifactStore } from '../../store/artifact-store.js';

/** Returns whether requests can still be completed, by the marks of {@link newMark}. */
export interface AskedInSignIn {
  goesOn(mark: string): Promise<boolean>;
}

export const createAskedInSignIn = (artifacts: Pick<ArtifactStore, 'read'>): AskedInSignIn => ({
  async goesOn(mark) {
    const key = keyOfMark(mark);
    return key !== undefined && (await artifacts.read([{ key }])).has(key);
  },
});

/** A directory without a store of sign-ins, where no request was made in a sign-in. */
export const nothingAsked: AskedInSignIn = { goesOn: async () => false };

/** Returns a new mark, which is stored in the slot of the session. @param uid of the session */
export const newMark = (uid: string): string => slotOf(uid) + randomBytes(15).toString('base64url');

export const keyOfMark = (mark: string): ArtifactKey | undefined => artifactKey('Asked', mark);
