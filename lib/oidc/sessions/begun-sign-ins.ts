/**
 * Sign-ins that a cut-off did not find, because they were written after it.
 *
 * A request reads its account, and writes the sign-in later. A cut-off between the two does not find the sign-in in the store. The account is therefore
 * read again after the write: either this read finds the cut-off, or the cut-off, which writes the directory before it lists the records of the account,
 * finds the sign-in.
 */
import type { Account } from '../../directory/index.js';
import { digestOfKey, isOfKind } from '../../store/artifact-key.js';
import type { ArtifactKey, Put } from '../../store/artifact-store.js';
import type { GrantRecord } from '../accounts/login-context.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import { textOf } from '../artifacts/short-form.js';
import { readStored } from '../artifacts/stored-records.js';
import type { OidcParts } from '../context.js';
import { changeSession } from './sessions.js';
import { endOfAccount, isOver } from './user-sessions.js';

/** A session or a grant, as it was written. */
type BegunSignIn = Pick<Put, 'key' | 'value' | 'account'>;

/** Ends sign-ins that were cut off before they were written. @returns the store key of such a sign-in */
export async function endIfCutOff(parts: OidcParts, begun: readonly BegunSignIn[]): Promise<ArtifactKey | undefined> {
  for (const each of begun) {
    const oid = each.account ?? '';
    if (!isCutOff(await parts.directory.accounts.findByOid(oid), each)) continue;
    await endOfAccount(parts, oid);
    return each.key;
  }
  return undefined;
}

/**
 * Changes a session by {@link changeSession}, for a change that gives the session to another account.
 * @returns as `changeSession`; also undefined if the sign-ins of the other account were cut off
 */
export async function giveSession(
  parts: OidcParts,
  key: ArtifactKey | undefined,
  change: Parameters<typeof changeSession>[2],
): Promise<SessionPayload | undefined> {
  let given: SessionPayload | undefined;
  const before = await changeSession(parts.artifacts, key, (session) => {
    given = change(session);
    return given;
  });
  if (!before || !key || !given?.accountId) return before;
  const ended = await endIfCutOff(parts, [{ key, value: textOf('Session', given), account: given.accountId }]);
  return ended ? undefined : before;
}

function isCutOff(account: Account | undefined, begun: BegunSignIn): boolean {
  const { key } = begun;
  const session = isOfKind(key, 'Session') ? readStored<SessionPayload>('Session', begun) : undefined;
  if (session) return isOver(account, session.loginTs, session, digestOfKey(key));
  const grant = isOfKind(key, 'Grant') ? readStored<GrantRecord>('Grant', begun) : undefined;
  return grant !== undefined && isOver(account, grant.login?.authTime, grant.login, grant.login?.session);
}
