import { type Account, errors, type Grant, type KoaContextWithOIDC, type Client as ProviderClient } from 'oidc-provider';
import { subOf } from '../../directory/index.js';
import type { Client, Consent } from '../../store/records/records.js';
import type { Accounts } from '../accounts/account.js';
import { authorizationRequestOf } from '../accounts/authorization-request.js';
import { claimsAllowed, scopesOfClaims } from '../accounts/claims-parameter.js';
import { goesOn } from '../accounts/going-on.js';
import { audiencesAsked, checkImpersonation } from '../accounts/impersonation.js';
import { loginOfSession, type OurGrant, type OurSession, rememberGrant } from '../accounts/login-context.js';
import { grantEnd, mayBeOffline, withoutOffline } from '../accounts/offline-access.js';
import { ofSession } from '../accounts/requirements.js';
import { resourceScopesOf } from '../accounts/resource-indicators.js';
import type { Scopes } from '../accounts/scopes.js';
import { createSalt } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';
import { takeGrant } from '../upstream/authorization.js';

/** A request for a grant, and what the session has for it. */
interface Wanted {
  readonly account: Account;
  readonly client: ProviderClient;
  readonly record: Client;
  readonly session: OurSession;
  readonly scopes: readonly string[];
  readonly claims: ClaimsAsked;
  readonly resources: ReadonlyMap<string, readonly string[]>;
  /** Scopes of the session's grant for the client, if the grant asserts the same sign-in. */
  readonly held: readonly string[];
  /** The session's grant, if it has all that the request asks for. */
  readonly covering: OurGrant | undefined;
  /** The consent for the client, if the client needs one. */
  readonly consent: Consent | undefined;
  /** Whether the session's grant is by a consent that was withdrawn, and has not ended yet. */
  readonly isWithdrawn: boolean;
}

/** Grants of the sign-ins of browsers. */
export interface Grants {
  /** Returns the session's grant for the client, if it has all that the request asks for. */
  load(ctx: KoaContextWithOIDC): Promise<Grant | undefined>;
  /**
   * Makes the grant that {@link load} did not find. The user must have met every requirement of the sign-in before, so that no client appears to have access
   * after half a sign-in.
   */
  make(ctx: KoaContextWithOIDC): Promise<void>;
}

/**
 * Creates the grants. The statements of a grant about the sign-in, and its scopes, never change. Another sign-in, or a scope that the grant does not have, makes
 * another grant.
 */
export function createGrants(parts: OidcParts, accounts: Accounts, scopesOf: Scopes): Grants {
  /** Grants that requests wait for. */
  const missing = new WeakMap<KoaContextWithOIDC, Wanted>();
  return {
    async load(ctx) {
      const wanted = await wantedOf(parts, scopesOf, ctx);
      if (wanted && !wanted.covering) missing.set(ctx, wanted);
      return wanted?.covering;
    },
    async make(ctx) {
      const wanted = missing.get(ctx);
      if (!wanted) return;
      missing.delete(ctx);
      const grant = await makeGrant(parts, accounts, ctx, wanted);
      if (grant) takeGrant(ctx, grant);
    },
  };
}

/** Creates the look-up of the grant that {@link Grants.load} returns, if there is one already. Makes no grant. */
export const createGrantFinder =
  (parts: OidcParts, scopesOf: Scopes) =>
  async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> =>
    (await wantedOf(parts, scopesOf, ctx))?.covering;

/** Returns undefined if the request is granted nothing. */
async function wantedOf(parts: OidcParts, scopesOf: Scopes, ctx: KoaContextWithOIDC): Promise<Wanted | undefined> {
  const { oidc } = ctx;
  const { provider, client, account } = oidc;
  const { session, client: record, params } = authorizationRequestOf(ctx);
  if (!client || !account || !record) return undefined;
  if (oidc.route === 'resume') checkRegistration(ctx, client);
  if (session.act && oidc.prompts.has('create'))
    throw new errors.AccessDenied('An account cannot be created during an impersonation. End the impersonation first.');
  if (session.act) await checkImpersonation(parts.directory, { client: record, audiences: audiencesAsked(scopesOf, ctx) });
  if (!mayBeOffline(session)) dropOffline(ctx);

  const asked = [...oidc.requestParamOIDCScopes];
  const consent = record.requireConsent ? await parts.directory.consents.get(account.accountId, client.clientId) : undefined;
  const scopes = record.requireConsent ? asked.filter((scope) => consent?.scopes.includes(scope)) : asked;
  if (session.act && scopes.length < asked.length)
    throw new errors.AccessDenied(
      'The user has not allowed all scopes, and consent cannot be given during an impersonation. End the impersonation first.',
    );
  const claims = params.claims === undefined ? noClaims : claimsOf(parts, oidc.requestParamClaims, record, consent);
  const resources = resourceScopesOf(ctx, scopes);
  const known = session.grantIdFor(client.clientId);
  const existing = known ? ((await provider.Grant.find(known)) as OurGrant | undefined) : undefined;
  const isWithdrawn = existing?.consent !== undefined && existing.consent !== consent?.createdAt.getTime();
  const isSameLogin = existing !== undefined && isOfSameLogin(existing, account, session);
  const held = isSameLogin ? existing.getOIDCScope().split(' ') : [];
  if (scopes.length === 0) return undefined;
  // A withdrawn scope must not stay in a grant that has more than is allowed now.
  const covers =
    (!record.requireConsent || existing?.consent === consent?.createdAt.getTime()) &&
    scopes.every((scope) => held.includes(scope)) &&
    (!record.requireConsent || held.length === scopes.length) &&
    coversClaims(existing, claims, record.requireConsent) &&
    [...resources].every(([resource, wanted]) => wanted.every((scope) => existing?.getResourceScope(resource).split(' ').includes(scope)));
  const covering = isSameLogin && covers ? existing : undefined;
  return { account, client, record, session, scopes, claims, resources, held, covering, consent, isWithdrawn };
}

const isOfSameLogin = ({ accountId, login }: OurGrant, account: Account, session: OurSession): boolean =>
  accountId === account.accountId &&
  login.authTime === session.loginTs &&
  (login.owner ?? account.accountId) === (session.owner ?? account.accountId) &&
  login.endsAt === session.endsAt &&
  login.used === session.used &&
  login.offline === session.offline &&
  isSameProof(login.amr, session.amr ?? []);

async function makeGrant(
  parts: OidcParts,
  accounts: Accounts,
  ctx: KoaContextWithOIDC,
  { account, client, record, session, scopes, claims, resources, held, consent, isWithdrawn }: Wanted,
): Promise<Grant | undefined> {
  // A new grant stores the `sub` of the account, so the account is not read from a cache.
  const loaded = await accounts.loadFresh(ctx, account.accountId);
  if (!loaded) return undefined;
  if (!(await goesOn(parts, loaded, ofSession(session))))
    throw new errors.LoginRequired('The account of the session cannot be used. Sign the user in again.');
  const { lifetimes } = parts.options;
  const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: account.accountId }) as OurGrant;
  const all = record.requireConsent ? [...scopes] : [...new Set([...held, ...scopes])].filter(Boolean);
  grant.addOIDCScope(all.join(' '));
  if (claims.granted.length > 0) grant.addOIDCClaims([...claims.granted]);
  if (claims.rejected.length > 0) grant.rejectOIDCClaims([...claims.rejected]);
  for (const [resource, wanted] of resources) grant.addResourceScope(resource, wanted.join(' '));
  grant.login = loginOfSession(session, subOf(loaded.person.user), lifetimes);
  const exp = grantEnd(all, grant.login, record, { ...lifetimes, now: parts.now });
  grant.exp = exp;
  if (consent) grant.consent = consent.createdAt.getTime();
  // The client will be notified of the end of the withdrawn grant by its `sid`, which must not end the new sign-in.
  if (isWithdrawn) session.sidFor(client.clientId, createSalt());
  session.ensureClientContainer(client.clientId);
  const sid = session.sidFor(client.clientId) as string;
  grant.sid = sid;
  const grantId = await grant.save();
  const { accountId } = account;
  const { sub } = grant.login;
  rememberGrant(session, { clientId: client.clientId, grantId, accountId, sid, ...(sub === accountId ? {} : { sub }), exp });
  return grant;
}

function dropOffline({ oidc: { params } }: KoaContextWithOIDC): void {
  if (typeof params?.scope === 'string') params.scope = withoutOffline(params.scope.split(' ')).join(' ');
}

/** Returns whether the proofs are the same. An added factor makes another grant, because a grant never states more than before. */
const isSameProof = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each) => other.includes(each));

/**
 * Checks registered values again at the end of the sign-in, because the client may have changed since the start. @throws InvalidRedirectUri,
 * UnauthorizedClient
 */
function checkRegistration({ oidc: { params } }: KoaContextWithOIDC, client: ProviderClient): void {
  if (!client.redirectUriAllowed(String(params?.redirect_uri))) throw new errors.InvalidRedirectUri();
  client.responseTypeAllowed(params?.response_type as never);
}

interface ClaimsAsked {
  readonly granted: readonly string[];
  /** Claims that the client may not have by any scope. */
  readonly rejected: readonly string[];
}

/** Sorts claims that the request names. A claim for which the user has to be asked is in neither list. @see OpenID Connect Core §5.5 */
function claimsOf({ claims }: OidcParts, names: ReadonlySet<string>, client: Client, consent: Consent | undefined): ClaimsAsked {
  const asked = [...names];
  const allowed = claimsAllowed(claims, client, asked);
  const isAgreed = (name: string): boolean =>
    !client.requireConsent ||
    consent?.claims?.includes(name) === true ||
    scopesOfClaims(claims, [name]).every((scope) => consent?.scopes.includes(scope));
  return { granted: [...allowed].filter(isAgreed), rejected: asked.filter((name) => !allowed.has(name)) };
}

const noClaims: ClaimsAsked = { granted: [], rejected: [] };

/** Returns whether the grant has the claims. As with scopes, a client that needs consent gets only claims that were allowed. */
function coversClaims(grant: OurGrant | undefined, { granted, rejected }: ClaimsAsked, isExact: boolean): boolean {
  const held = grant?.getOIDCClaims() ?? [];
  const refused = grant?.getRejectedOIDCClaims() ?? [];
  return (
    granted.every((name) => held.includes(name)) &&
    rejected.every((name) => refused.includes(name)) &&
    (!isExact || held.length === granted.length)
  );
}
