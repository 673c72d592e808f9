import { type Client, errors, type Grant, type KoaContextWithOIDC } from 'oidc-provider';
import { subOf } from '../directory/index.js';
import type { Accounts } from './account.js';
import { isClient } from './clients.js';
import type { OidcParts } from './dependencies.js';
import { recordOf } from './internals.js';
import { loginOfSession, type OurGrant, rememberGrant, sessionOf } from './login-context.js';

/**
 * The grant that this browser's sign-in gives the client. A grant never changes: what it asserts about the sign-in, and to which scopes, holds
 * for life; another sign-in, or scopes it lacks, make another.
 */
export const createGrantLoader =
  (parts: OidcParts, accounts: Accounts) =>
  async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { provider, client, account } = ctx.oidc;
    const session = sessionOf(ctx);
    const record = client && recordOf(client);
    if (!client || !account || !isClient(record)) return undefined;
    if (ctx.oidc.route === 'resume') checkRegistration(ctx, client);

    const asked = [...ctx.oidc.requestParamOIDCScopes];
    const scopes = record.requireConsent ? await allowedByUser(parts, account.accountId, client.clientId, asked) : asked;
    const known = session.grantIdFor(client.clientId);
    const existing = known ? ((await provider.Grant.find(known)) as OurGrant | undefined) : undefined;
    const isSameLogin = existing?.accountId === account.accountId && existing.login.authTime === session.loginTs;
    const held = existing && isSameLogin ? existing.getOIDCScope().split(' ') : [];
    // What was withdrawn must not live on in a grant that holds more than is allowed now.
    const covers = scopes.every((scope) => held.includes(scope)) && (!record.requireConsent || held.length === scopes.length);
    if (scopes.length === 0) return undefined;
    if (isSameLogin && covers) return existing;

    const loaded = await accounts.load(ctx, account.accountId);
    if (!loaded) return undefined;
    const { lifetimes } = parts.options;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId }) as OurGrant;
    const all = record.requireConsent ? scopes : [...new Set([...held, ...scopes])].filter(Boolean);
    grant.addOIDCScope(all.join(' '));
    grant.login = loginOfSession(session, subOf(loaded.person.user), lifetimes.sessionAbsolute);
    const now = Math.floor(Date.now() / 1000);
    const exp = all.includes('offline_access')
      ? now + (record.lifetimes.refreshTokenAbsolute ?? lifetimes.refreshTokenAbsolute)
      : grant.login.sessionEndsAt;
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

/** What was right when the sign-in began need not be so any more when it ends. @throws InvalidRedirectUri, UnauthorizedClient */
function checkRegistration({ oidc: { params } }: KoaContextWithOIDC, client: Client): void {
  if (!client.redirectUriAllowed(String(params?.redirect_uri))) throw new errors.InvalidRedirectUri();
  if (!client.responseTypeAllowed(params?.response_type as never))
    throw new errors.UnauthorizedClient('response_type is not allowed for this client any more');
}

/** Of the scopes asked for, those the user allowed this client before. `openid` by itself tells nothing that needs asking. */
async function allowedByUser({ directory }: OidcParts, oid: string, clientId: string, asked: readonly string[]): Promise<string[]> {
  const consent = await directory.consents.get(oid, clientId);
  return asked.filter((scope) => consent?.scopes.includes(scope));
}
