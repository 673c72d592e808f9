/**
 * Requirements of requests, tenants and extensions for a sign-in. If the sign-in of a browser does not meet a requirement, the page of the requirement is
 * shown (`authorize/requirement-prompts`). If the sign-in of a grant does not, the grant gives no tokens, because no page can be shown.
 */

import { type AcrValues, parseAcrValues } from '../../acr-values.js';
import { type Awaitable, onceThere } from '../../awaitable.js';
import { Deadline } from '../../claims/deadline.js';
import type { ExtensionSignIn } from '../../contract/context/sign-in.js';
import type { Ask, Demand, Requirement, SignedIn } from '../../contract/sign-in/requirement.js';
import { type Account, credentialOwner } from '../../directory/index.js';
import { IdpError, UnavailableError } from '../../errors.js';
import { present } from '../../present.js';
import type { Client } from '../../store/records/records.js';
import type { OidcDependencies, OidcParts } from '../context.js';
import { goesOn } from './going-on.js';
import { type OurSession, type PinnedLogin, sessionNameOf } from './login-context.js';

/** The sign-in of a session, or of a grant. */
export interface KnownSignIn {
  readonly amr?: readonly string[] | undefined;
  readonly idp?: string | undefined;
  readonly method?: string | undefined;
  readonly used?: string | undefined;
  readonly provenAt?: SignedIn['provenAt'] | undefined;
  readonly owner?: string | undefined;
  readonly act?: SignedIn['act'] | undefined;
  readonly session?: string | undefined;
}

export const ofSession = (session: OurSession): KnownSignIn & { readonly authTime: number } => ({
  amr: session.amr,
  idp: session.idp,
  method: session.method,
  used: session.used,
  provenAt: session.provenAt,
  owner: session.owner ?? session.accountId,
  act: session.act,
  authTime: session.loginTs ?? 0,
  session: sessionNameOf(session),
});

/** Returns whether the tenant allows the method of the sign-in. */
export const isAllowedMethod = ({ tenant: { signIn } }: Account, signedIn: KnownSignIn): boolean =>
  signIn?.methods === undefined || signIn.methods.some((name) => namesOf(signedIn).includes(name));

/** Returns the names that `signIn.methods` may have for the method of a sign-in. */
const namesOf = ({ idp = 'local', method }: KnownSignIn): readonly string[] =>
  idp === 'local' ? [method ?? 'password'] : [idp, ...(method === undefined ? [] : [method])];

/** Returns whether the sign-in used the method or provider that `idp:` in `acr_values` names. */
export const isAskedMethod = (asked: string | undefined, signedIn: KnownSignIn): boolean =>
  asked === undefined || (signedIn.idp ?? 'local') === asked || namesOf(signedIn).includes(asked);

/** Checks by demand: each returns whether the tenant or the request makes the demand. */
const stands: Readonly<Record<Demand, (account: Account, acr: AcrValues) => boolean>> = {
  mfa: ({ tenant }, acr) => acr.mfa || tenant.signIn?.requireMfa === true,
  impersonate: (_, acr) => acr.impersonate !== false,
};

const isProven: Readonly<Record<Demand, (signIn: KnownSignIn) => boolean>> = {
  mfa: ({ amr = [] }) => amr.includes('mfa'),
  impersonate: ({ act }) => act !== undefined,
};

/** Returns whether the sign-in satisfies the tenant's current policy, as far as its record says. */
export const isStrongEnough = (account: Account, signIn: KnownSignIn): boolean =>
  isAllowedMethod(account, signIn) && (!stands.mfa(account, nothingAsked) || isProven.mfa(signIn));

const nothingAsked = parseAcrValues(undefined);

/**
 * Returns how the requirement judges a sign-in, without a promise if `check` returns none. The service itself judges the demand that the requirement
 * serves.
 */
export function judge(
  { serves, check }: Requirement,
  account: Account,
  signIn: KnownSignIn & { readonly authTime: number },
  ask: Ask,
): Awaitable<'met' | 'open' | 'refused'> {
  const { amr = [], idp = 'local', method, provenAt = {}, owner, act, authTime, session } = signIn;
  const optional = {
    ...present({ method, owner }),
    ...(act ? { act } : {}),
    ...present({ session }),
  };
  const signedIn = { oid: account.person.user.id, amr, idp, authTime, provenAt, ...optional };
  return onceThere(check(account, signedIn, ask), (found) => {
    if (found !== 'met' || serves === undefined) return found;
    return stands[serves](account, ask.acr) && !isProven[serves](signIn) ? 'open' : 'met';
  });
}

/** Returns whether a sign-in satisfies all of the requirements. */
function meetsAll(
  [requirement, ...others]: readonly Requirement[],
  account: Account,
  signIn: KnownSignIn & { readonly authTime: number },
  ask: Ask,
): Awaitable<boolean> {
  if (requirement === undefined) return true;
  return onceThere(judge(requirement, account, signIn, ask), (found) => found === 'met' && meetsAll(others, account, signIn, ask));
}

/** Returns the requirements that count if no page can be shown. */
const silentOf = ({ offers }: Pick<OidcDependencies, 'offers'>): readonly Requirement[] =>
  offers.requirements().filter(({ silent }) => silent === 'refuse');

/** Returns the requirement that serves a second factor, if there is one. */
const servingMfa = ({ offers }: Pick<OidcDependencies, 'offers'>): readonly Requirement[] =>
  offers.requirements().filter(({ serves }) => serves === 'mfa');

/** Maximum milliseconds that all requirements of a sign-in may take together. */
const JUDGING_MS = 5000;

/** Returns a request for checks that depend on the account alone. */
export const lastingAsk = (client: Client): Ask => ({ client, scopes: ['openid'], parameters: {}, acr: nothingAsked, isSilent: false });

/**
 * Returns whether a sign-in is complete: no requirement of the account is open. Only a complete sign-in may use the account.
 * @param client the client that the user signs in to. @default the service itself
 * @throws UnavailableError `requirements_unavailable` if a requirement throws, or takes longer than five seconds
 */
export type IsComplete = (account: Account, signIn: KnownSignIn & { readonly authTime: number }, client?: Client) => Promise<boolean>;

export const createIsComplete =
  ({ offers, internalClients, logger }: Pick<OidcParts, 'offers' | 'internalClients' | 'logger'>): IsComplete =>
  async (account, signIn, client = internalClients.service) => {
    if (!isStrongEnough(account, signIn)) return false;
    const deadline = new Deadline(JUDGING_MS);
    try {
      return await deadline.within(meetsAll(offers.requirements(), account, signIn, lastingAsk(client)));
    } catch (error) {
      if (error instanceof IdpError) throw error;
      logger.error({ err: error }, 'the service could not check the requirements of a sign-in');
      throw new UnavailableError('requirements_unavailable', {}, { cause: error });
    } finally {
      deadline.stop();
    }
  };

/** {@link ExtensionSignIn.isSufficient} */
export const createSufficient =
  (parts: Pick<OidcParts, 'offers' | 'directory' | 'logger'>, isComplete: IsComplete): ExtensionSignIn['isSufficient'] =>
  async (account, signIn, asked) => {
    const { heldTo } = signIn;
    // A request that began on another device names its account, and so its tenant.
    if (heldTo !== undefined && heldTo !== account.tenant.id) return false;
    if (!(await goesOn(parts, account, signIn)) || !(await isComplete(account, signIn))) return false;
    if (!asked) return true;
    const { client, scopes, acrValues } = asked;
    const acr = parseAcrValues(acrValues);
    if (!isAskedMethod(acr.idp, signIn)) return false;
    if (acr.tenant !== undefined && acr.tenant !== account.tenant.id) return false;
    if (stands.mfa(account, acr) && !isProven.mfa(signIn)) return false;
    if (
      acr.prefersMfa &&
      !(await meetsAll(servingMfa(parts), account, signIn, { ...lastingAsk(client), acr: { ...nothingAsked, prefersMfa: true } }))
    )
      return false;
    const ask: Ask = { client, scopes, parameters: {}, acr: { ...acr, impersonate: false }, isSilent: true };
    return meetsAll(silentOf(parts), account, signIn, ask);
  };

/** {@link ExtensionSignIn.mayChange} */
export const createMayChange =
  ({ offers }: Pick<OidcDependencies, 'offers'>): ExtensionSignIn['mayChange'] =>
  async (signIn) => {
    // The user of the child account signed in with its own credential before the account link. Therefore the sign-in may change nothing of the parent
    // account.
    if (signIn.owner !== credentialOwner(signIn.account.person.user)) return false;
    const [requirement] = servingMfa({ offers });
    return (await requirement?.mayChange?.(signIn.account, signIn)) ?? true;
  };

export interface SilentMint {
  readonly client: Client;
  readonly account: Account;
  readonly login: PinnedLogin;
  readonly scopes: readonly string[];
}

/** Returns whether tokens may be issued from a grant without a page. */
export const createSilentCheck =
  (parts: Pick<OidcDependencies, 'offers'>) =>
  ({ client, account, login, scopes }: SilentMint): Awaitable<boolean> => {
    const ask: Ask = { client, scopes, parameters: {}, acr: nothingAsked, isSilent: true };
    return meetsAll(silentOf(parts), account, login, ask);
  };

/** Returns the tenants whose users may sign in: the tenants of the client, narrowed by `tenant:`. Undefined: all tenants. */
export function tenantsAllowed(ofClient: readonly string[] | undefined, { tenant }: AcrValues): readonly string[] | undefined {
  if (tenant === undefined) return ofClient;
  return ofClient === undefined || ofClient.includes(tenant) ? [tenant] : [];
}

/** Returns whether a sign-in that is held to one tenant may answer a request. @param tids from {@link tenantsAllowed} */
export const mayAnswer = ({ heldTo }: { readonly heldTo?: string | undefined }, tids: readonly string[] | undefined): boolean =>
  heldTo === undefined || (tids?.length === 1 && tids[0] === heldTo);
