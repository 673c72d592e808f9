/** Attempt to sign in with a user name and a password: its rate limits, the accounts that it is tried against, and the outcome. */
import type { Context } from 'koa';
import { type Account, type ExtensionContext, hashingQueuesOf, IdpError, type Interaction } from '../../lib/extension-door.js';
import type { Attempts, PasswordAttempt } from './attempts.js';

export interface PasswordForm {
  readonly identifier: string;
  readonly password: string;
  /** Organisation that the user typed; empty by default. */
  readonly organisation: string;
}

/** `accounts`: accounts that the password signs in. Empty for a wrong password, an unknown name, or an account with too many attempts. */
export type PasswordOutcome =
  | { readonly accounts: readonly Account[] }
  | { readonly refused: 'attempts.exceeded'; readonly minutes: number }
  | { readonly refused: 'busy'; readonly retryAfterSeconds: number };

/** Maximum number of distinct owners of credentials per attempt, unless the sign-in is for one tenant. */
const OWNERS = 3;

export function createPasswordAttempt({ directory, signIn: { interactions } }: ExtensionContext, attempts: Attempts) {
  const { accounts, credentials } = directory;

  return async function tryPassword(ctx: Context, interaction: Interaction, form: PasswordForm): Promise<PasswordOutcome> {
    const name = accounts.nameKey(form.identifier);
    const attempt = await attempts.begin(name, ctx.ip);
    try {
      return await attempt.run(() => evaluate(ctx, interaction, form, attempt));
    } catch (error) {
      if (!IdpError.is(error, 'busy')) throw error;
      return { refused: 'busy', retryAfterSeconds: Number(error.details.retryAfterSeconds ?? 1) };
    }
  };

  async function evaluate(
    ctx: Context,
    { browser, tids }: Interaction,
    form: PasswordForm,
    attempt: PasswordAttempt,
  ): Promise<PasswordOutcome> {
    const { identifier, password, organisation } = form;
    const { minutes } = attempt;
    const remembered = interactions.remembered(ctx);
    const isRemembered = (account: Account) => remembered.includes(account.person.user.id) || remembered.includes(ownerOf(account));
    const refused = minutes === undefined ? undefined : ({ refused: 'attempts.exceeded', minutes } as const);
    if (refused && remembered.length === 0) return refused;

    const narrowed = { tids, organisation, method: 'password', isParentNameAllowed: true };
    const named = await (refused ? accounts.candidatesAmong(remembered, identifier, narrowed) : accounts.candidates(identifier, narrowed));
    const exempt = await attempt.countBrowser(browser, ownersOf(named.filter(isRemembered)));
    // Above the rate limits that users notice, a browser may still sign in, but only to accounts that it signed in to before.
    const candidates = refused ? named.filter((account) => exempt.has(ownerOf(account))) : named;
    if (refused && candidates.length === 0) return refused;

    const owners = ownersOf(candidates);
    // The number of counted and hashed owners depends on the request alone. Otherwise the time would show how many accounts have the name.
    const hashes = refused ? owners.length : tids && tids.length <= 1 ? 1 : OWNERS;
    const name = accounts.nameKey(identifier);
    const nobodies = Array.from({ length: Math.max(0, hashes - owners.length) }, (_, index) => `nobody ${index} ${name}`);
    const exceeded = await attempt.countOwners([...owners, ...nobodies]);
    const locked = new Set([...exceeded].filter((owner) => !exempt.has(owner)));
    const fitting = await credentials.checkPassword(candidates, password, { hashes, locked, from: hashingQueuesOf(ctx.ip, name) });
    if (fitting.length > 0) await attempt.succeeded(new Set(ownersOf(fitting)));
    return { accounts: fitting };
  }
}

/** Returns the user whose credentials sign the account in. Linked accounts share the credentials of their parent account. */
const ownerOf = ({ person: { user } }: Account): string => user.parentUserId ?? user.id;
const ownersOf = (accounts: readonly Account[]): string[] => [...new Set(accounts.map(ownerOf))];
