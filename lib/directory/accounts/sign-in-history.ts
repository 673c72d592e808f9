/**
 * Recent sign-ins of users, and the browsers that accounts know.
 *
 * A user has one row, so that a sign-in is one write, and no row has more than a bounded number of sign-ins. The row is outside the person's document,
 * because each write of that document concerns all readers of the person. Each write of the row removes expired parts, and a sweep removes the expired
 * parts of rows that nobody writes.
 */
import { hash } from 'node:crypto';
import { type Rounds, rounds, type WorkProblem } from '../../background/rounds.js';
import type { Lease } from '../../background/tenure.js';
import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import type { Logger } from '../../logger.js';
import type { RecordedSignIn, SignInHistoryRow } from '../../store/records/records.js';
import { DAY_MS, HOUR_MS } from '../../times/units.js';
import {
  createRecentSignIns,
  type HistoryParts,
  isOn,
  partsLeft,
  type RecentSignIns,
  type RecentSignInsParts,
} from '../persons/recent-sign-ins.js';
import type { AccountEvents } from './account-events.js';
import type { Account, Accounts } from './accounts.js';

/** A sign-in to record. */
export interface NewSignIn extends Omit<RecordedSignIn, 'id' | 'isNewBrowser'> {
  /** Text that is the same for each attempt to record the sign-in, and for no other sign-in of the user. */
  readonly cause: string;
  /** Name of the browser, which no other browser has. Absent without a browser, and for an impersonation. */
  readonly secretHash?: string | undefined;
  /** Id of the request, for the event. */
  readonly requestId?: string | undefined;
}

/** The recent sign-ins of users, to read and record. */
export interface SignInHistory extends RecentSignIns {
  /**
   * Records a sign-in once. If the account does not know the browser, raises the event `UserSignedInWithNewBrowser` first, at most once a day for each
   * browser. The first sign-in to a new account raises no event.
   */
  record(userId: string, signIn: NewSignIn): Promise<void>;
}

/** Maximum browsers that an account knows. */
const MOST_BROWSERS = 20;
/** Milliseconds for which an account is new. The user may take this time from the creation of the account to the first sign-in. */
const NEW_MS = HOUR_MS;
/** Characters of a digest: 132 bits. */
const DIGEST_LENGTH = 22;

interface Parts extends RecentSignInsParts {
  readonly accounts: Pick<Accounts, 'findByOid'>;
  readonly events: AccountEvents;
}

export const createSignInHistory = (parts: Parts): SignInHistory => ({
  ...createRecentSignIns(parts),
  record: (userId, signIn) => record(parts, userId, signIn),
});

async function record(parts: Parts, userId: string, signIn: NewSignIn): Promise<void> {
  if (!isOn(parts.rules)) return;
  const { cause, secretHash, requestId, ...members } = signIn;
  const id = digestOf('sign-in', userId, cause);
  const browser = secretHash === undefined ? undefined : digestOf('browser', userId, secretHash);
  const outcome = await write(parts, userId, { ...members, id }, browser);
  if (outcome === 'done') return;
  const account = await parts.accounts.findByOid(userId);
  if (!account) return;
  const isNewBrowser = outcome !== 'first' || !isNewAccount(account, parts.now());
  // The event is raised before the write. If the node stops in between, the next attempt raises no second event, because its cause is the same.
  if (isNewBrowser) await raise(parts, account, { id, browser: String(browser), requestId });
  await write(parts, userId, { ...members, id, ...(isNewBrowser && { isNewBrowser }) }, browser, true);
}

/**
 * Outcome of an attempt to write. `unknown`: nothing was written, because the account does not know the browser. `first`: as `unknown`, and the account has
 * no recent sign-in.
 */
type Outcome = 'done' | 'unknown' | 'first';

/** Writes a sign-in that the row does not have yet. @param isAnyBrowser whether to write the sign-in if the account does not know the browser */
async function write(
  { rows, persons, rules, now }: Parts,
  userId: string,
  signIn: RecordedSignIn,
  browser: string | undefined,
  isAnyBrowser = browser === undefined,
): Promise<Outcome> {
  let outcome: Outcome = 'done';
  const change = (row: SignInHistoryRow | undefined): SignInHistoryRow => {
    outcome = 'done';
    if (row?.signIns.some(({ id }) => id === signIn.id)) return row;
    const before = row ? partsLeft(row, rules, now()) : { signIns: [], browsers: [] };
    if (!isAnyBrowser && !before.browsers.some(({ id }) => id === browser)) {
      outcome = before.signIns.length === 0 ? 'first' : 'unknown';
      if (row) return row;
    }
    const known = browser === undefined ? [] : [{ id: browser, at: new Date(now()) }];
    const next = {
      signIns: [signIn, ...before.signIns].sort(byTime).slice(0, rules.entries),
      browsers: [...known, ...before.browsers.filter(({ id }) => id !== browser)].slice(0, MOST_BROWSERS),
    };
    return { id: userId, version: row?.version ?? 1, ...next, oldestAt: oldestOf(next) ?? signIn.at };
  };
  const updated = await rows.update(userId, change).catch(IdpError.unless('record_unreadable'));
  if (updated) return outcome;
  change(undefined);
  if (outcome !== 'done') return outcome;
  const { version } = await rows.upsert(userId, change);
  // The user may have been removed since the request read the account. Then the removal of the history came before this row.
  if (version === 1 && !(await persons.has({ byUser: [userId] }))) await rows.remove(userId);
  return outcome;
}

const raise = (
  { events, now }: Parts,
  account: Account,
  { id, browser, requestId }: { readonly id: string; readonly browser: string; readonly requestId: string | undefined },
): Promise<void> => {
  const userId = account.person.user.id;
  const by: Attribution = { actor: `user:${userId}`, ...(requestId !== undefined && { requestId }) };
  const day = Math.floor(now() / DAY_MS);
  const data = { AggregateId: userId, SignInId: id };
  return events.raise('UserSignedInWithNewBrowser', account, data, JSON.stringify(['new browser', browser, day]), by);
};

/** Returns whether the account was created, or its invitation was accepted, a moment ago. */
function isNewAccount({ person: { createdAt, user } }: Account, now: number): boolean {
  const madeAt = Math.max(createdAt.getTime(), user.accepted?.at.getTime() ?? 0);
  return now - madeAt <= NEW_MS;
}

const digestOf = (...texts: readonly string[]): string => hash('sha256', JSON.stringify(texts), 'base64url').slice(0, DIGEST_LENGTH);

const byTime = (a: RecordedSignIn, b: RecordedSignIn): number => b.at.getTime() - a.at.getTime();

const oldestOf = ({ signIns, browsers }: HistoryParts): Date | undefined => {
  const times = [...signIns, ...browsers].map(({ at }) => at.getTime());
  return times.length === 0 ? undefined : new Date(Math.min(...times));
};

/** Removal of expired sign-ins. */
export interface SignInSweep {
  start(): void;
  /** Returns current failures. */
  problems(): readonly WorkProblem[];
  close(): Promise<void>;
}

const SWEEP = 'old sign-ins';
/** Rows that the sweep reads at the same time. */
const PAGE = 100;
/** Milliseconds from the start of a node to its first sweep. A node that starts has other work to do. */
const FIRST_MS = 60_000;

export interface SignInSweepParts extends Pick<Parts, 'rows' | 'rules' | 'now'> {
  readonly lease: Lease;
  readonly logger: Logger;
  /** Milliseconds to the first sweep. @default a minute */
  readonly first?: number;
}

/**
 * Creates the sweep that removes expired sign-ins each hour, on one node. If nothing is to be recorded, the sweep removes what was recorded before.
 */
export function createSignInSweep({ rows, rules, now, lease, logger, first = FIRST_MS }: SignInSweepParts): SignInSweep {
  const expired = (limit: number) =>
    rows.range({ index: 'inOrderOfAge', within: [], limit, ...(isOn(rules) && { below: new Date(now() - rules.days * DAY_MS) }) });

  async function expire({ id }: SignInHistoryRow): Promise<void> {
    let isEmpty = false;
    const updated = await rows.update(id, (row) => {
      const left = isOn(rules) ? partsLeft(row, rules, now()) : { signIns: [], browsers: [] };
      const oldestAt = oldestOf(left);
      isEmpty = oldestAt === undefined;
      return oldestAt === undefined ? row : { ...row, ...left, oldestAt };
    });
    if (updated && isEmpty) await rows.remove(id, updated.version);
  }

  const work: Rounds = rounds({
    name: SWEEP,
    every: HOUR_MS,
    first,
    lease,
    isDue: async () => (await expired(1)).length > 0,
    async run(round) {
      for (;;) {
        const page = await expired(PAGE);
        for (const row of page) await expire(row);
        if (page.length < PAGE || !(await round.goesOn())) return undefined;
      }
    },
    logger,
    messages: { round: 'the service could not remove old sign-ins, and retries' },
  });
  return { start: () => work.start(), problems: () => work.problems(), close: () => work.close() };
}
