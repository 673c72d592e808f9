/** Somebody who acts as somebody else in a browser: what pages say of it, and what nobody does in the name of another. */
import type { Account } from '../../directory/index.js';
import type { Attribution } from '../../events.js';
import type { SignedIn } from './requirement.js';

export interface ActingHere {
  /** The user that the browser is signed in as. */
  readonly account: Account;
  /** Who acts as that user. */
  readonly actor: Account;
}

/** Who makes the changes of a sign-in, for its events: the user, and who acts as the user. */
export const attributionOf = ({ oid, act }: Pick<SignedIn, 'oid' | 'act'>, requestId?: string): Attribution => ({
  actor: `user:${oid}`,
  ...(act ? { act: `user:${act.oid}` } : {}),
  ...(requestId === undefined ? {} : { requestId }),
});
