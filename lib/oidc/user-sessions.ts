import { isUsable } from '../directory/index.js';
import { IdpError } from '../errors.js';
import type { Sessions, UserRef, UserSession } from '../sessions.js';
import { digestOfKey, isOfKind } from '../store/artifact-key.js';
import type { Artifact } from '../store/artifact-store.js';
import type { OidcParts } from './dependencies.js';
import { LogoutNotices } from './logout-notices.js';
import type { SessionPayload } from './session-merge.js';
import { endSignIn } from './sessions.js';

/** {@link Sessions}, and what follows from events of the directory. */
export interface UserSessions extends Sessions {
  /** Ends the sessions and grants of an account that `notBefore` or its status made void, and tells the clients. */
  endOf(oid: string): Promise<void>;
}

interface Found extends Artifact {
  readonly session: SessionPayload;
}

export function createUserSessions(parts: OidcParts): UserSessions {
  const { artifacts, directory } = parts;

  async function accountOf({ tid, userId }: UserRef) {
    const account = await directory.accounts.findByOid(userId);
    if (account?.tenant.id !== tid) throw new IdpError('not_found');
    return account;
  }

  async function recordsOf(oid: string): Promise<{ readonly sessions: readonly Found[]; readonly grants: readonly Artifact[] }> {
    const all = await artifacts.listByAccount(oid);
    const of = (kind: string) => all.filter(({ key }) => isOfKind(key, kind));
    const sessions = of('Session').map((artifact) => ({ ...artifact, session: JSON.parse(artifact.value) as SessionPayload }));
    return { sessions, grants: of('Grant') };
  }

  /** @param voidAll makes every sign-in void, once the clients' notices are there. */
  async function endOf(oid: string, voidAll?: () => Promise<unknown>): Promise<void> {
    const { sessions, grants } = await recordsOf(oid);
    const notices = new LogoutNotices(parts);
    if (voidAll) {
      for (const { session } of sessions) await notices.enqueue(session);
      await voidAll();
    }
    const account = await directory.accounts.findByOid(oid);
    const isVoid = (authTime = 0) => !account || !isUsable(account, new Date(authTime * 1000));
    const applies = ({ accountId, loginTs }: SessionPayload) => accountId === oid && isVoid(loginTs);
    for (const { key } of sessions) await endSignIn(artifacts, key, (before) => notices.enqueue(before), applies);
    // Grants outlive their session, and may be of one that is somebody else's now.
    const ended = grants.filter(({ value }) => isVoid((JSON.parse(value) as { login?: { authTime?: number } }).login?.authTime));
    await Promise.all(ended.map(({ key, expiresAt }) => artifacts.commit([{ op: 'remove', key, until: expiresAt }])));
    notices.release();
  }

  return {
    endOf,

    async list(user) {
      const account = await accountOf(user);
      const { sessions } = await recordsOf(user.userId);
      return sessions
        .filter(({ session }) => isUsable(account, new Date((session.loginTs ?? 0) * 1000)))
        .map(described)
        .sort((a, b) => b.signedInAt.getTime() - a.signedInAt.getTime());
    },

    async end(user, id) {
      await accountOf(user);
      const { sessions } = await recordsOf(user.userId);
      const found = sessions.find(({ key }) => digestOfKey(key) === id);
      const notices = new LogoutNotices(parts);
      const isOfUser = ({ accountId }: SessionPayload) => accountId === user.userId;
      const ended = await endSignIn(artifacts, found?.key, (before) => notices.enqueue(before), isOfUser);
      notices.release();
      return ended !== undefined;
    },

    async endAll(user) {
      await accountOf(user);
      await endOf(user.userId, () => directory.forTenant(user.tid).users.signOutEverywhere(user.userId));
    },
  };
}

/** Its id names a session to those who administer it; it opens nothing. */
const described = ({ key, expiresAt, session: { loginTs = 0, amr, idp, grants = [] } }: Found): UserSession => ({
  id: digestOfKey(key),
  signedInAt: new Date(loginTs * 1000),
  expiresAt: new Date(expiresAt),
  amr: Array.isArray(amr) ? amr : [],
  idp: typeof idp === 'string' ? idp : 'local',
  clientIds: [...new Set(grants.map(({ clientId }) => clientId))],
});
