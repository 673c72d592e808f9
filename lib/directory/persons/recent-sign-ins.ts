/** Recent sign-ins of users, as users and administrators see them. `accounts/sign-in-history` records sign-ins. */
import { browserNames } from '../../display/browser-names.js';
import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import { withLeftOut } from '../../store/records/left-out.js';
import type { KnownBrowser, Person, RecordedSignIn, SignInHistoryRow } from '../../store/records/records.js';
import { type AddressPart, shownAddress } from '../../text/ip-address.js';
import { DAY_MS } from '../../times/units.js';

/** Size of the history, and the part of addresses that may be shown. If `days` or `entries` is 0, nothing is recorded. */
export interface SignInHistoryRules {
  /** The part of addresses that may be shown. Older sign-ins may have a longer part. @default full */
  readonly address?: AddressPart;
  /** Days for which a sign-in is stored. */
  readonly days: number;
  /** Maximum sign-ins of a user. */
  readonly entries: number;
}

/** A sign-in as users and administrators see it. */
export interface RecentSignIn extends Omit<RecordedSignIn, 'at'> {
  /** Instant of the user's proof. With `grantType`, the instant at which the client's grant began. */
  readonly signedInAt: Date;
  /** Name of the browser, such as `Firefox`. Absent for an unknown browser. */
  readonly browser?: string;
  /** Name of the operating system of {@link browser}, such as `Windows`. */
  readonly system?: string;
}

/** The recent sign-ins of users, to read. */
export interface RecentSignIns {
  /** Whether sign-ins are recorded. */
  readonly isOn: boolean;
  /**
   * Returns the recent sign-ins of a user, newest first. If the history cannot be read, returns none, and names the history as left out.
   * @throws IdpError `not_found` unless the user belongs to the tenant.
   */
  list(user: { readonly tid: string; readonly userId: string }): Promise<readonly RecentSignIn[]>;
}

export interface RecentSignInsParts {
  readonly rows: CheckedCollection<SignInHistoryRow>;
  readonly persons: Pick<CheckedCollection<Person>, 'find' | 'has'>;
  readonly rules: SignInHistoryRules;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

export const createRecentSignIns = ({ rows, persons, rules, now }: RecentSignInsParts): RecentSignIns => ({
  isOn: isOn(rules),
  async list({ tid, userId }) {
    const [person] = await persons.find({ byUser: [userId] });
    if (person?.tid !== tid) throw new IdpError('not_found');
    if (!isOn(rules)) return [];
    const row = await rows.get(userId);
    if (row) return partsLeft(row, rules, now()).signIns.map((signIn) => described(signIn, rules));
    return withLeftOut([], [(await rows.unreadable(userId)) ?? []].flat());
  },
});

export const isOn = ({ days, entries }: SignInHistoryRules): boolean => days > 0 && entries > 0;

export interface HistoryParts {
  readonly signIns: readonly RecordedSignIn[];
  readonly browsers: readonly KnownBrowser[];
}

/** Returns the parts of a row that have not expired. */
export function partsLeft({ signIns, browsers }: HistoryParts, { days, entries }: SignInHistoryRules, now: number): HistoryParts {
  const since = now - days * DAY_MS;
  const isLeft = ({ at }: { readonly at: Date }): boolean => at.getTime() > since;
  return { signIns: signIns.filter(isLeft).slice(0, entries), browsers: browsers.filter(isLeft) };
}

const described = (
  { at: signedInAt, browser, system, address, ...signIn }: RecordedSignIn,
  { address: part = 'full' }: SignInHistoryRules,
): RecentSignIn => ({
  ...signIn,
  signedInAt,
  ...browserNames(present({ browser, system })),
  ...(address !== undefined && present({ address: shownAddress(address, part) })),
});
