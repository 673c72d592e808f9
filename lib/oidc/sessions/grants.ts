import { errors, type Grant, type KoaContextWithOIDC, type Client as ProviderClient } from 'oidc-provider';
import { subOf } from '../../directory/index.js';
import type { Client, Consent } from '../../store/records/records.js';
import type { Accounts } from '../accounts/account.js';
import { claimsAllowed, scopesOfClaims } from '../accounts/claims-parameter.js';
import { audiencesAsked, checkImpersonation } from '../accounts/impersonation.js';
import { loginOfSession, type OurGrant, rememberGrant } from '../accounts/login-context.js';
import { grantEnd, mayBeOffline, withoutOffline } from '../accounts/offline-access.js';
import { resourceScopesOf } from '../accounts/resource-indicators.js';
import type { Scopes } from '../accounts/scopes.js';
import { settledOf } from '../accounts/settled-request.js';
import type { OidcParts } from '../context.js';

/**
 * The grant that this browser's sign-in gives the client. A grant never changes: what it asserts about the sign-in, and to which scopes, holds
 * for life; another sign-in, or scopes it lacks, make another.
 */
export const createGrantLoader =
  (parts: OidcParts, accounts: Accounts, scopesOf: Scopes) =>
  async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { oidc } = ctx;
    const { provider, client, account } = oidc;
    const { session, client: record, params } = settledOf(ctx);
    if (!client || !account || !record) return undefined;
    if (oidc.route === 'resume') checkRegistration(ctx, client);
    if (session.act && oidc.prompts.has('create'))
      throw new errors.AccessDenied('an account cannot be created during an impersonation: end the impersonation first');
    if (session.act) await checkImpersonation(parts.directory, { client: record, audiences: audiencesAsked(scopesOf, ctx) });
    if (!mayBeOffline(session)) dropOffline(ctx);

    const asked = [...oidc.requestParamOIDCScopes];
    const consent = record.requireConsent ? await parts.directory.consents.get(account.accountId, client.clientId) : undefined;
    const scopes = record.requireConsent ? asked.filter((scope) => consent?.scopes.includes(scope)) : asked;
    if (session.act && scopes.length < asked.length)
      throw new errors.AccessDenied(
        'the user has not allowed all scopes, and consent cannot be given during an impersonation: end the impersonation first',
      );
    const claims = params.claims === undefined ? noClaims : claimsOf(parts, oidc.requestParamClaims, record, consent);
    const resources = resourceScopesOf(ctx, scopes);
    const known = session.grantIdFor(client.clientId);
    const existing = known ? ((await provider.Grant.find(known)) as OurGrant | undefined) : undefined;
    const isSameLogin =
      existing?.accountId === account.accountId &&
      existing.login.authTime === session.loginTs &&
      (existing.login.owner ?? account.accountId) === (session.owner ?? account.accountId) &&
      existing.login.endsAt === session.endsAt &&
      existing.login.used === session.used &&
      existing.login.offline === session.offline &&
      isSameProof(existing.login.amr, session.amr ?? []);
    const held = existing && isSameLogin ? existing.getOIDCScope().split(' ') : [];
    // What was withdrawn must not live on in a grant that holds more than is allowed now.
    const covers =
      scopes.every((scope) => held.includes(scope)) &&
      (!record.requireConsent || held.length === scopes.length) &&
      coversClaims(existing, claims, record.requireConsent) &&
      [...resources].every(([resource, wanted]) =>
        wanted.every((scope) => existing?.getResourceScope(resource).split(' ').includes(scope)),
      );
    if (scopes.length === 0) return undefined;
    if (isSameLogin && covers) return existing;

    const loaded = await accounts.load(ctx, account.accountId);
    if (!loaded) return undefined;
    const { lifetimes } = parts.options;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId }) as OurGrant;
    const all = record.requireConsent ? scopes : [...new Set([...held, ...scopes])].filter(Boolean);
    grant.addOIDCScope(all.join(' '));
    if (claims.granted.length > 0) grant.addOIDCClaims([...claims.granted]);
    if (claims.rejected.length > 0) grant.rejectOIDCClaims([...claims.rejected]);
    for (const [resource, wanted] of resources) grant.addResourceScope(resource, wanted.join(' '));
    grant.login = loginOfSession(session, subOf(loaded.person.user), lifetimes);
    const exp = grantEnd(all, grant.login, record, { ...lifetimes, now: parts.now });
    grant.exp = exp;
    session.ensureClientContainer(client.clientId);
    const sid = session.sidFor(client.clientId) as string;
    grant.sid = sid;
    const grantId = await grant.save();
    const { accountId } = account;
    const { sub } = grant.login;
    rememberGrant(session, { clientId: client.clientId, grantId, accountId, sid, ...(sub === accountId ? {} : { sub }), exp });
    return grant;
  };

function dropOffline({ oidc: { params } }: KoaContextWithOIDC): void {
  if (typeof params?.scope === 'string') params.scope = withoutOffline(params.scope.split(' ')).join(' ');
}

/** A factor that was added makes another grant: the one before never says more than it did. */
const isSameProof = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each) => other.includes(each));

/** What was right when the sign-in began need not be so any more when it ends. @throws InvalidRedirectUri, UnauthorizedClient */
function checkRegistration({ oidc: { params } }: KoaContextWithOIDC, client: ProviderClient): void {
  if (!client.redirectUriAllowed(String(params?.redirect_uri))) throw new errors.InvalidRedirectUri();
  client.responseTypeAllowed(params?.response_type as never);
}

interface ClaimsAsked {
  readonly granted: readonly string[];
  /** The client may not have them by any scope. */
  readonly rejected: readonly string[];
}

/** What becomes of claims that are asked for one by one; what the user has to be asked is in neither. @see OpenID Connect Core §5.5 */
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

/** As with scopes, a client that needs consent has no more claims than were allowed. */
function coversClaims(grant: OurGrant | undefined, { granted, rejected }: ClaimsAsked, isExact: boolean): boolean {
  const held = grant?.getOIDCClaims() ?? [];
  const refused = grant?.getRejectedOIDCClaims() ?? [];
  return (
    granted.every((name) => held.includes(name)) &&
    rejected.every((name) => refused.includes(name)) &&
    (!isExact || held.length === granted.length)
  );
}
