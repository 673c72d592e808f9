/** Grant types of extensions. Each exchange makes its own grant, and `issue` makes the tokens. */

import { type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { offeredLevels, reachedLevel } from '../../../acr-values.js';
import type { GrantedSignIn, GrantType as OurGrantType } from '../../../contract/clients/grant-type.js';
import { credentialOwner, subOf } from '../../../directory/index.js';
import { present } from '../../../present.js';
import type { Client } from '../../../store/records/records.js';
import { epochSeconds } from '../../../times/epoch-seconds.js';
import { nodeSeconds } from '../../../times/node-time.js';
import type { Accounts } from '../../accounts/account.js';
import { boundImpersonation } from '../../accounts/impersonation.js';
import type { GrantRecord, PinnedLogin } from '../../accounts/login-context.js';
import { getsRefreshToken, grantEnd, mayBeOffline, withoutOffline } from '../../accounts/offline-access.js';
import type { Scopes } from '../../accounts/scopes.js';
import { sessionEnd } from '../../accounts/session-end.js';
import { createId, createSalt } from '../../artifacts/ids.js';
import { clientOf } from '../../clients/clients.js';
import { refusalOf } from '../../clients/refusals.js';
import type { OidcParts } from '../../context.js';
import type { SignInRecorder } from '../../sessions/recorded-sign-ins.js';
import { issueFor } from '../../upstream/grant-types.js';
import type { Issue } from '../issue.js';
import { type GrantType, requireProof, type TokenRequest } from '../token-request.js';
import { checkScopeBeside } from './asked-scope.js';
import { firstRefreshToken } from './refresh-token.js';

/** A new grant, and the input of its tokens. */
interface Made {
  readonly grant: Pick<GrantRecord, 'consent'> & {
    readonly exp: number;
    readonly login: PinnedLogin;
    readonly sid: string;
    readonly isOwn: true;
    readonly scope: string;
  };
  readonly source: AdapterPayload & { readonly accountId: string; readonly scope: string };
}

export interface ExtensionGrants {
  /** Returns the handler of a grant type, if the service issues tokens itself. */
  handler(name: string, type: () => OurGrantType, issue: Issue): GrantType;
  /** Returns the handler of a grant type, if oidc-provider issues tokens. @param levels levels that `acr` names at oidc-provider. */
  handlerOfProvider(name: string, type: () => OurGrantType, levels: readonly string[]): (ctx: KoaContextWithOIDC) => Promise<void>;
}

export function createExtensionGrants(parts: OidcParts, accounts: Accounts, scopes: Scopes, recorder: SignInRecorder): ExtensionGrants {
  const maker: Maker = { parts, accounts, scopes, recorder };

  return {
    handler: (name, type, issue) => async (request) => {
      const { ctx, unit, client, record, parameters } = request;
      checkScopeBeside(ctx, scopes, record, parameters.scope);
      const proof = await request.proof();
      requireProof(client, proof);
      const {
        grant: { exp, scope, ...members },
        source,
      } = await made(maker, name, request, await exchange(type(), request), offeredLevels(parts.offers.serves('mfa')));
      const grantId = createId('Grant');
      const grant = {
        iat: epochSeconds(parts.now()),
        exp,
        accountId: source.accountId,
        clientId: client.clientId,
        openid: { scope },
        ...members,
      };
      parts.adapters.tokens.put(unit, 'Grant', grantId, grant as AdapterPayload, exp);
      return issue(request, {
        source: { ...source, grantId },
        grant,
        gty: name,
        asked: scope,
        proof,
        settle: () => proof?.use(),
        ...firstRefreshToken(client, scope, grantId),
      });
    },

    handlerOfProvider: (name, type, levels) => (ctx) =>
      issueFor(ctx, name, async () => {
        const { client, params } = ctx.oidc;
        if (!client) throw new TypeError('the client did not authenticate');
        const request = { ctx, client, record: clientOf(client) as Client, parameters: params as Asked['parameters'] };
        return made(maker, name, request, await exchange(type(), request), levels);
      }),
  };
}

type Asked = Pick<TokenRequest, 'ctx' | 'client' | 'record' | 'parameters'>;

/** Parts that make a grant. */
interface Maker {
  readonly parts: OidcParts;
  readonly accounts: Accounts;
  readonly scopes: Scopes;
  readonly recorder: SignInRecorder;
}

async function exchange(type: OurGrantType, { ctx, record, parameters }: Asked): Promise<GrantedSignIn> {
  const given = Object.fromEntries(type.parameters.flatMap((name) => (parameters[name] === undefined ? [] : [[name, parameters[name]]])));
  const exchanging = async () => type.exchange({ ctx, client: record, parameters: given as Record<string, string> });
  const outcome = await exchanging().catch((error: unknown) => refusalOf(ctx, error));
  if ('error' in outcome) throw new errors.CustomOIDCProviderError(outcome.error, outcome.description ?? '');
  return outcome;
}

/** @throws InvalidGrant if the user may not sign in to the client, or no scope is left. */
async function made(
  { parts, accounts, scopes, recorder }: Maker,
  grantType: string,
  { ctx, client, record }: Asked,
  given: GrantedSignIn,
  levels: readonly string[],
): Promise<Made> {
  const { directory, options, now } = parts;
  const signIn = boundImpersonation(given, parts);
  const { oid, amr, idp, authTime, method, used, provenAt, startedAt = authTime, act, nonce, acrValues, offline } = signIn;
  const endsAt = signIn.endsAt === undefined ? Number.POSITIVE_INFINITY : Math.floor(signIn.endsAt.getTime() / 1000);
  const { lifetimes } = options;
  const consent = record.requireConsent ? await directory.consents.get(oid, record.id) : undefined;
  const asked = [...new Set(signIn.scopes)];
  const left = mayBeOffline(signIn) && getsRefreshToken(client, asked) ? asked : withoutOffline(asked);
  const isAllowed = (scope: string): boolean => !record.requireConsent || consent?.scopes.includes(scope) === true;
  const granted = scopes.held(ctx, record, left.filter(isAllowed));
  const [account, credentials] = await Promise.all([accounts.load(ctx, oid), accounts.load(ctx, act?.oid ?? oid)]);
  const owner = signIn.owner ?? (credentials && credentialOwner(credentials.person.user));
  if (!account || granted.length === 0) throw new errors.InvalidGrant('nothing was granted');
  const sessionEndsAt = sessionEnd(lifetimes, startedAt, endsAt);
  const login: PinnedLogin = {
    sub: subOf(account.person.user),
    idp,
    amr: [...amr],
    authTime,
    sessionEndsAt,
    ...present({ method, used }),
    ...(owner === undefined || owner === oid ? {} : { owner }),
    ...present({ session: signIn.session }),
    ...(provenAt && Object.keys(provenAt).length > 0 ? { provenAt } : {}),
    ...(act ? { act } : {}),
    ...(signIn.endsAt ? { endsAt } : {}),
    ...(offline === false ? { offline } : {}),
  };
  if (!(await accounts.loadMintable(ctx, oid, login, client, granted))) throw new errors.InvalidGrant('referenced account not found');
  const exp = grantEnd(granted, { sessionEndsAt, endsAt }, record, { ...lifetimes, now });
  if (exp <= nodeSeconds()) throw new errors.InvalidGrant('the sign-in has ended');
  await recorder.ofGrant(ctx, { oid, amr, idp, ...present({ method, act }), clientId: client.clientId, grantType, startedAt });
  const sid = createSalt();
  const scope = granted.join(' ');
  return {
    grant: { exp, login, sid, isOwn: true, scope, ...(consent && { consent: consent.createdAt.getTime() }) },
    source: {
      accountId: oid,
      amr: [...amr],
      authTime,
      scope,
      sid,
      clientId: client.clientId,
      ...present({ nonce }),
      ...(acrValues ? { acr: reachedLevel(amr, levels), claims: { id_token: { acr: { values: acrValues.split(' ') } } } } : {}),
    },
  };
}
