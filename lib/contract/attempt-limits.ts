/** Limits of attempts, counted by all nodes together: the table of the service's limits, and the class that counts one attempt. */
import { IdpError } from '../errors.js';
import type { CountedAttempt, CreateLimit, Limit, LimitRule } from './limit.js';

interface AttemptLimit {
  /** Attempts that one counter counts, in the words of the documentation. */
  readonly counts: string;
  /** Number of attempts that are accepted, or the name of the option of `limits` that holds the number. */
  readonly of: number | string;
  /** Seconds in which attempts are counted, or the name of the option of `limits` that holds the seconds. */
  readonly in: number | string;
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

/** Limits of the service. `docs/reference/options.md` lists the same rows, and a test compares the two. */
export const attemptLimits = {
  signInsWithName: { counts: 'failed sign-ins with one user name from one address', of: 'signInFailures', in: 'signInWindow' },
  signInsFromAddress: { counts: 'failed sign-ins from one address', of: 'signInFailuresPerAddress', in: HOUR },
  signInsToAccount: { counts: 'failed sign-ins to one account', of: 'signInFailuresPerAccount', in: HOUR },
  signInsInBrowser: {
    counts: 'failed sign-ins to one account in one browser that signed in to the account before',
    of: 'signInFailures',
    in: 'signInWindow',
  },
  linksWithName: { counts: 'requests for mailed links with one name from one address', of: 'signInFailures', in: 'signInWindow' },
  linksFromAddress: { counts: 'requests for mailed links from one address', of: 'signInFailuresPerAddress', in: HOUR },
  linksOfUser: { counts: 'mailed links of one kind for one user', of: 3, in: HOUR },
  accountMails: {
    counts: 'mails about accounts of one tenant to one address, such as notices of changes and of unknown browsers',
    of: 5,
    in: HOUR,
  },
  anybodysMails: { counts: 'mails to one address that anybody can cause, such as mailed links and invitations', of: 5, in: HOUR },
  frequentMails: {
    counts: 'mails about accounts of one tenant to one address, about ended access and changes of the profile',
    of: 5,
    in: HOUR,
  },
  newBrowserMails: { counts: 'mails to one account about unknown browsers', of: 3, in: DAY },
  endedAccessMails: { counts: 'mails to one account about ended sessions and withdrawn access', of: 5, in: DAY },
  registrationMails: { counts: 'mails about registrations to one address in one tenant', of: 3, in: HOUR },
  invitationForms: { counts: 'forms for a personal account with one invitation', of: 30, in: DAY },
  invitationAccounts: { counts: 'personal accounts that are created with one invitation', of: 5, in: DAY },
  codesInSignIn: { counts: 'wrong codes of a second factor in one sign-in', of: 5, in: HOUR },
  codesOfAccount: { counts: 'wrong codes of the authenticator apps of one account', of: 10, in: 15 * MINUTE },
  codesOfAccountInDay: { counts: 'wrong codes of the authenticator apps of one account', of: 30, in: DAY },
  recoveryCodesOfAccount: { counts: 'wrong recovery codes of one account', of: 10, in: 15 * MINUTE },
  secretsOfClient: { counts: 'wrong secrets or assertions of one client or API resource from one address', of: 20, in: MINUTE },
  signaturesOfProvider: { counts: 'wrong signatures in forms of one SAML service provider from one address', of: 20, in: MINUTE },
  signaturesFromAddress: { counts: 'wrong signatures in forms of SAML service providers from one address', of: 100, in: MINUTE },
  ownForms: { counts: 'forms of one session on pages of one extension for users’ own accounts', of: 100, in: HOUR },
  profileChanges: { counts: 'changes of the profile of one account by its user', of: 20, in: HOUR },
  downloadsOfAccount: { counts: 'downloads of the data of one account', of: 5, in: HOUR },
  adminRequests: { counts: 'requests of one client to the admin API', of: 'adminRequestsPerMinute', in: MINUTE },
  authenticationRequests: { counts: 'authentication requests (CIBA) of one client', of: 'authenticationRequestsPerMinute', in: MINUTE },
} as const satisfies Readonly<Record<string, AttemptLimit>>;

export type AttemptLimitName = keyof typeof attemptLimits;
export type AttemptLimitRules = Readonly<Record<AttemptLimitName, LimitRule>>;

type Row = (typeof attemptLimits)[AttemptLimitName];
/** Options of `limits` that the table names. */
type LimitOption = Exclude<Row['of'] | Row['in'], number>;

/** Returns the rules of the table, with the values of the options. */
export function attemptLimitRules(options: Readonly<Record<LimitOption, number>>): AttemptLimitRules {
  const inForce = (value: number | LimitOption): number => (typeof value === 'number' ? value : options[value]);
  return Object.fromEntries(
    Object.entries<Row>(attemptLimits).map(([name, row]) => [name, { of: inForce(row.of), in: inForce(row.in) * 1000 }]),
  ) as unknown as AttemptLimitRules;
}

/**
 * Returns a limit. A limit of the same name in another extension has its own counts.
 * @example
 * ```ts
 * import { type Extension, HOUR_MS, IdpError, parametersOf } from 'tenant-idp/extension';
 *
 * const codes = new Set(['a-long-secret']);
 * export const vouchers: Extension = {
 *   name: 'vouchers',
 *   routes(router, { limits }) {
 *     const guesses = limits.limit('guesses', { of: 5, in: HOUR_MS });
 *     router.get('/voucher', async (ctx) => {
 *       const guess = await guesses.attempt(ctx.ip);
 *       if (guess.isOver) throw new IdpError('too_many_requests', { retryAfterSeconds: guess.seconds });
 *       const isRight = await guess.run(() => codes.has(parametersOf(ctx, ['code']).code ?? ''));
 *       if (isRight) await guess.giveBack();
 *       ctx.body = { isRight };
 *     });
 *   },
 * };
 * ```
 */
export interface NamedLimit {
  /** Returns a limit of the service's table. */
  (name: AttemptLimitName): Limit;
  /** Returns a limit that the extension defines, such as `limit('letters', { of: 5, in: HOUR_MS })`. */
  (name: string, rule: LimitRule): Limit;
}

/** Returns limits of the table by their names, and other limits by their rules. */
export const namedLimits =
  (rules: AttemptLimitRules, create: CreateLimit): NamedLimit =>
  (name: string, rule: LimitRule = rules[name as AttemptLimitName]) =>
    create(name, rule);

/**
 * One attempt that several limits count. An attempt counts for no limit if the service could not check the attempt: a store was unavailable, or the
 * node was busy.
 * @example
 * ```ts
 * import { Attempt, type ExtensionContext, HOUR_MS, IdpError } from 'tenant-idp/extension';
 *
 * async function redeem({ limits }: ExtensionContext, oid: string, check: () => Promise<boolean>): Promise<boolean> {
 *   const attempt = new Attempt();
 *   const counted = await attempt.count(limits.limit('vouchers', { of: 5, in: HOUR_MS }), oid);
 *   if (counted.isOver) throw new IdpError('too_many_requests', { retryAfterSeconds: counted.seconds });
 *   const isRight = await attempt.run(check);
 *   if (isRight) await attempt.giveBack();
 *   return isRight;
 * }
 * ```
 */
export class Attempt {
  readonly #counted: CountedAttempt[] = [];

  /** Counts the attempt for one more limit. If the store is unavailable, the limits that counted the attempt before get it back. */
  count(limit: Limit, ...what: readonly string[]): Promise<CountedAttempt> {
    return this.run(async () => {
      const counted = await limit.attempt(...what);
      this.#counted.push(counted);
      return counted;
    });
  }

  /**
   * Runs a step of the attempt. Gives the attempt back if the step throws, except for an error with a status below 500, because such an error is the fault
   * of the request.
   */
  async run<Outcome>(step: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof IdpError) || error.status >= 500) await this.giveBack();
      throw error;
    }
  }

  /** Takes the attempt back from all limits that counted it. If the store is unavailable, the limits get it back later. */
  async giveBack(): Promise<void> {
    await Promise.allSettled(this.#counted.splice(0).map((counted) => counted.giveBack()));
  }
}
