import type { Sessions, SignedInClient, UserRef, UserSession } from '../../contract/sign-in/sessions.js';
import { type Account, type ExportReader, isVoid, isWaitOver } from '../../directory/index.js';
import { browserNames } from '../../display/browser-names.js';
import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import { digestOfKey } from '../../store/artifact-key.js';
import type { Artifact } from '../../store/artifact-store.js';
import { putAtOf } from '../../store/records/extension-artifacts.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';
import { shownAddress } from '../../text/ip-address.js';
import { inSharedTime } from '../../times/node-time.js';
import { type GrantRecord, ownerOf } from '../accounts/login-context.js';
import { sessionEnd } from '../accounts/session-end.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import type { OidcParts } from '../context.js';
import { type Found, type FoundGrant, inGroups, recordsOf, rememberedAs } from './account-records.js';
import { accessTimesOf, endOfClient } from './client-access.js';
import { LogoutNotices } from './logout-notices.js';
import { endSignIn } from './sessions.js';

/** An artifact with its end in the time that all nodes share. */
type Ending = Pick<Artifact, 'key' | 'value' | 'expiresAt'>;

/** Returns a grant that is a sign-in by itself, in the form of a session. */
function describedGrant({ key, expiresAt, grant: { isOwn, clientId, login } }: FoundGrant): readonly UserSession[] {
  if (!isOwn || !login) return [];
  const { authTime, amr, idp, act } = login;
  const signedIn = { signedInAt: new Date(authTime * 1000), expiresAt: new Date(expiresAt), amr, idp, ...(act ? { act } : {}) };
  return [{ id: digestOfKey(key), inBrowser: false, ...signedIn, clientIds: [clientId] }];
}

/**
 * Returns whether a sign-in of the account has ended for good.
 * @param signIn the session, or the login of a grant, which names its owner
 * @param session the name of the session
 */
export const isOver = (account: Account | undefined, authTime = 0, signIn: object | undefined, session: string | undefined): boolean =>
  !account || isVoid(account, new Date(authTime * 1000), ownerOf(account.person.user.id, signIn as GrantRecord['login']), session);

/** Seconds by which an end in the time of a node may differ from the same end in the shared time. */
const CLOCK_SECONDS = 2;
/** Persons of a tenant whose sign-ins are ended in one step. */
const PAGE = 100;

/**
 * Creates the service that lists and ends sessions. The directory notifies the service of revoked sign-ins. The service removes the sessions and grants of
 * these sign-ins after the notices to their clients are queued.
 */
export function createUserSessions(parts: OidcParts): Sessions {
  const { directory } = parts;
  directory.onSignInCutoff({
    async end(whose) {
      if ('tid' in whose) return endOfTenant(parts, whose.tid, whose.after);
      if ('clientId' in whose) await endOfClient(parts, whose);
      else await endOf(parts, whose.oid);
      return undefined;
    },
    async newest({ oid, clientId }) {
      const times = clientId === undefined ? await signInTimesOf(parts, oid) : await accessTimesOf(parts, { oid, clientId });
      // A time that no node can have stamped does not count.
      const latest = parts.now() + MAX_APART_SECONDS * 1000;
      return times.reduce((newest, time) => (time > newest && time <= latest ? time : newest), 0);
    },
  });

  directory.onPersonExport(async ({ userId }, reader) => (userId === undefined ? {} : exported(parts, userId, reader)));

  return {
    list: (user) => list(parts, user),
    end: (user, id, by = {}) => end(parts, user, id, by),

    async endOthers(user, spared, by = {}, reason = undefined) {
      await accountOf(parts, user);
      await directory.as(by).forTenant(user.tid).users.signOutOthers(user.userId, spared, reason);
    },

    async endAll(user, by = {}, reason = undefined) {
      await accountOf(parts, user);
      await directory.as(by).forTenant(user.tid).users.signOutEverywhere(user.userId, reason);
    },

    clients: (user) => clients(parts, user),

    async endClient(user, clientId, by = {}) {
      const { consents } = directory.as(by);
      const isSignedIn = (await clients(parts, user)).some((client) => client.clientId === clientId && !client.isInternal);
      if (!isSignedIn) return consents.withdraw(user.userId, clientId);
      await consents.endClient(user.userId, clientId);
      return true;
    },
  };
}

async function clients(parts: OidcParts, user: UserRef): Promise<readonly SignedInClient[]> {
  const account = await accountOf(parts, user);
  const { grants } = await recordsOf(parts, user.userId);
  const first = new Map<string, number>();
  for (const { grant } of grants) {
    const { clientId, login } = grant;
    if (!login || isOver(account, login.authTime, login, login.session)) continue;
    first.set(clientId, Math.min(login.authTime, first.get(clientId) ?? login.authTime));
  }
  const all = [...first].sort(([, one], [, other]) => one - other);
  return (await Promise.all(all.map(([clientId, at]) => signedInClient(parts, clientId, new Date(at * 1000))))).flat();
}

/** Returns the client in a list. The list is empty for a page of the service, and for an internal client that no longer exists. */
async function signedInClient({ internalClients }: OidcParts, clientId: string, signedInAt: Date): Promise<readonly SignedInClient[]> {
  if (!internalClients.owns(clientId)) return [{ clientId, signedInAt }];
  const application = internalClients.applicationOf(await internalClients.find(clientId));
  return application && !application.isPage ? [{ clientId, signedInAt, isInternal: true }] : [];
}

type EndedBy = NonNullable<Parameters<Sessions['end']>[2]>;

async function list(parts: OidcParts, user: UserRef): Promise<readonly UserSession[]> {
  const shared = <A extends Ending>(artifact: A): A => withSharedTime(parts, artifact);
  const account = await accountOf(parts, user);
  const { sessions, grants } = await recordsOf(parts, user.userId);
  const inBrowsers = sessions.filter(
    ({ session, key }) =>
      (typeof session.endsAt !== 'number' || session.endsAt * 1000 > parts.now()) &&
      !isOver(account, session.loginTs, session, digestOfKey(key)),
  );
  const byThemselves = grants.filter(({ grant: { login } }) => !isOver(account, login?.authTime, login, login?.session));
  return [...inBrowsers.map(shared).map((found) => described(parts, found)), ...byThemselves.map(shared).flatMap(describedGrant)].sort(
    (a, b) => b.signedInAt.getTime() - a.signedInAt.getTime(),
  );
}

async function end(parts: OidcParts, user: UserRef, id: string, by: EndedBy): Promise<boolean> {
  const { artifacts, directory } = parts;
  const account = await accountOf(parts, user);
  const { sessions, grants } = await recordsOf(parts, user.userId);
  const found = sessions.find(({ key }) => digestOfKey(key) === id);
  const own = grants.find((artifact) => describedGrant(artifact).some((each) => each.id === id));
  const notices = new LogoutNotices(parts);
  const isOfUser = ({ accountId }: SessionPayload) => accountId === user.userId;
  // The event comes first: if the node dies in between, the session can be ended again, and there is one event.
  const data = { AggregateId: user.userId, SessionId: id };
  if (found ?? own) await directory.accountEvents.raise('SessionEnded', account, data, id, by);
  if (own) {
    await notices.enqueue({ grants: rememberedAs(own.grant, own.expiresAt) });
    await artifacts.commit([{ op: 'remove', key: own.key, until: own.expiresAt }]);
    notices.release();
    return true;
  }
  const ended = await endSignIn(artifacts, found?.key, (before, ended) => notices.enqueue(before, ended), isOfUser);
  notices.release();
  return ended !== undefined;
}

/** Returns the sessions of a person for an export. */
async function exported(parts: OidcParts, userId: string, reader: ExportReader): Promise<Readonly<Record<string, readonly object[]>>> {
  const shared = <A extends Ending>(artifact: A): A => withSharedTime(parts, artifact);
  const { sessions, grants } = await recordsOf(parts, userId);
  return {
    sessions: sessions
      .map(shared)
      .map((found) => described(parts, found))
      .map((session) => (session.act ? withoutBrowser(session) : session))
      .map((session) => (reader === 'person' ? withoutImpersonator(session) : session)),
    grants: grants.map(shared).map(({ grant: { clientId, login }, expiresAt }) => ({
      clientId,
      expiresAt: new Date(expiresAt),
      ...(login && { signedInAt: new Date(login.authTime * 1000) }),
      ...(login && (reader === 'person' && login.act ? { isImpersonation: true } : { amr: login.amr })),
    })),
  };
}

/** Returns a session for its user, who does not get the ids, the methods and the provider of an impersonator. */
const withoutImpersonator = ({ act, amr, idp, ...session }: UserSession): object => ({
  ...session,
  ...(act ? { isImpersonation: true } : { amr, idp }),
});

/** Returns the times of the records of an account, and of the accounts that its credential signs in to, in milliseconds since the epoch. */
async function signInTimesOf(parts: OidcParts, oid: string): Promise<readonly number[]> {
  const account = await parts.directory.accounts.findByOid(oid);
  const family = account?.person.user.isParent ? await parts.directory.accounts.family(account.person) : [];
  const oids = new Set([oid, ...family.map(({ person }) => person.user.id)]);
  const records = await Promise.all([...oids].map((each) => recordsOf(parts, each)));
  return records.flatMap(({ sessions, grants, others }) => [
    ...sessions.map(({ session: { loginTs = 0 } }) => loginTs * 1000),
    ...grants.map(({ grant: { login } }) => (login?.authTime ?? 0) * 1000),
    ...others.map((artifact) => putAtOf(artifact)?.getTime() ?? 0),
  ]);
}

/** Ends the sign-ins of an account by {@link endOfAccount}, and of the accounts that its credential signs in to. */
async function endOf(parts: OidcParts, oid: string): Promise<void> {
  const account = await endOfAccount(parts, oid);
  if (!account?.person.user.isParent) return;
  for (const child of await parts.directory.accounts.family(account.person))
    if (child.person.user.id !== oid) await endOfAccount(parts, child.person.user.id);
}

/** Ends the revoked sessions and grants of an account, or all of them if the account was removed. Removes damaged records. */
export async function endOfAccount(parts: OidcParts, oid: string): Promise<Account | undefined> {
  const { artifacts, directory } = parts;
  const { sessions, grants, others, damaged } = await recordsOf(parts, oid);
  // Reads the account after the list, because the user may have been enabled, and have signed in, while the store was slow.
  const account = await directory.accounts.findByOid(oid);
  const notices = new LogoutNotices(parts);
  await inGroups(sessions, ({ key }) => {
    const applies = (session: SessionPayload) => session.accountId === oid && isOver(account, session.loginTs, session, digestOfKey(key));
    return endSignIn(artifacts, key, (before, ended) => notices.enqueue(before, ended), applies);
  });
  // Grants outlive their session, and may belong to a session that another linked account has now.
  const ended = grants.filter(({ grant: { login } }) => isOver(account, login?.authTime, login, login?.session));
  await notices.enqueue({ grants: ended.flatMap(({ grant, expiresAt }) => rememberedAs(grant, expiresAt)) });
  const endedToo = others.filter((artifact) => !account || isWaitOver(account, putAtOf(artifact)));
  await inGroups([...ended, ...endedToo, ...damaged], ({ key, expiresAt }) => artifacts.commit([{ op: 'remove', key, until: expiresAt }]));
  notices.release();
  return account;
}

/** Ends the sign-ins of a page of users. Returns the next page. */
async function endOfTenant(parts: OidcParts, tid: string, after: string | undefined): Promise<{ tid: string; after: string } | undefined> {
  const persons = await parts.directory.forTenant(tid).persons.find({ limit: PAGE, ...present({ after }) });
  for (const { user } of persons) if (user) await endOf(parts, user.id);
  const last = persons.at(-1);
  return last && persons.length === PAGE ? { tid, after: last.id } : undefined;
}

async function accountOf({ directory }: OidcParts, { tid, userId }: UserRef): Promise<Account> {
  const account = await directory.accounts.findByOid(userId);
  if (account?.tenant.id !== tid) throw new IdpError('not_found');
  return account;
}

const withSharedTime = <A extends Ending>({ now }: OidcParts, artifact: A): A => ({
  ...artifact,
  expiresAt: inSharedTime(artifact.expiresAt / 1000, now) * 1000,
});

/** Returns a session in the form for administrators. The id names the session, but is not a credential. */
function described(parts: OidcParts, { key, expiresAt, session }: Found): UserSession {
  const { accountId, loginTs = 0, amr, idp, grants = [], act, endsAt, browser, system, address } = session;
  const ofUser = grants.filter((grant) => grant.accountId === accountId);
  return {
    id: digestOfKey(key),
    inBrowser: true,
    signedInAt: new Date(loginTs * 1000),
    ...present({ lastUsedAt: lastUseOf(parts, session, expiresAt) }),
    expiresAt: new Date(Math.min(expiresAt, typeof endsAt === 'number' ? endsAt * 1000 : expiresAt)),
    amr: Array.isArray(amr) ? amr : [],
    idp: typeof idp === 'string' ? idp : 'local',
    ...browserNames(present({ browser, system })),
    ...(address !== undefined && present({ address: shownAddress(address, parts.options.sessions.address) })),
    ...(act ? { act } : {}),
    clientIds: [...new Set(ofUser.map(({ clientId }) => clientId))],
  };
}

/** Returns the session without members that describe the impersonator, for data of the user. */
const withoutBrowser = ({ browser: _, system: __, address: ___, ...session }: UserSession): UserSession => session;

/**
 * Returns the time of the last use of a session. Each use moves the end of the record to a full idle time later, unless the session ends before that time.
 * Undefined if another limit set the end of the record.
 */
function lastUseOf(
  { options: { lifetimes }, now }: OidcParts,
  { loginTs = 0, endsAt, actsAs }: Found['session'],
  expiresAt: number,
): Date | undefined {
  const isLimited = endsAt !== undefined || actsAs !== undefined || expiresAt >= (sessionEnd(lifetimes, loginTs) - CLOCK_SECONDS) * 1000;
  return isLimited ? undefined : new Date(Math.max(loginTs * 1000, Math.min(now(), expiresAt - lifetimes.sessionIdle * 1000)));
}
