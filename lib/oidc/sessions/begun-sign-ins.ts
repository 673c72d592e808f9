/**
 * Sign-ins that a cut-off, or the withdrawal of a consent, did not find, because they were written after it.
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
import { endGrant } from './client-access.js';
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
 * Ends grants whose consent was withdrawn before they were written. The grant loader reads the consent before the write, so the consent
 * is read again after the write, as {@link endIfCutOff} reads the account again.
 * @param granted grants among the written records, in a session that continues as well as in a new session
 * @returns the store key of a grant without a consent
 */
export async function endIfWithdrawn(parts: OidcParts, granted: readonly BegunSignIn[]): Promise<ArtifactKey | undefined> {
  for (const each of granted) {
    const grant = isOfKind(each.key, 'Grant') ? readStored<GrantRecord>('Grant', each) : undefined;
    if (!grant || (await isAllowed(parts, grant))) continue;
    await endGrant(parts, grant.accountId, each.key);
    return each.key;
  }
  return undefined;
}

async function isAllowed(
  { directory, internalClients }: OidcParts,
  { accountId, clientId, openid, consent: by }: GrantRecord,
): Promise<boolean> {
  if (internalClients.owns(clientId)) return true;
  const client = directory.clients.peek(clientId) ?? (await directory.clients.get(clientId));
  if (!client?.requireConsent) return true;
  const consent = await directory.consents.get(accountId, clientId);
  if (by !== undefined && by !== consent?.createdAt.getTime()) return false;
  return openid?.scope?.split(' ').every((scope) => consent?.scopes.includes(scope)) ?? consent !== undefined;
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
