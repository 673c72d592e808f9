/**
 * Claims of an account for a client. In the protocol, `accountId` is the `oid`, and `sub` is stored with the grant.
 *
 * Other files of this folder:
 * - `login-context`: the sign-in that a grant asserts
 * - `subject`: the `sub` of a grant
 * - `linked-accounts`: the accounts that a sign-in can select
 * - `authorization-request`: the settled parts of an authorization request
 * - `requirements`: the requirements of a request for its sign-in
 * - `hints` and `offline-access`
 */
import type { Account, Client, KoaContextWithOIDC } from 'oidc-provider';
import { type Awaitable, onceThere } from '../../awaitable.js';
import type { ClaimLookups, ClaimTarget } from '../../claims/contract.js';
import { type Directory, type Account as DirectoryAccount, isUsable } from '../../directory/index.js';
import { perRequest } from '../artifacts/per-request.js';
import { type Caller, callerOf, clientOf, isClient } from '../clients/clients.js';
import { pseudonymOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { claimsAllowed } from './claims-parameter.js';
import { goesOn, seemsToGoOn } from './going-on.js';
import { checkImpersonation, namesOf, refusesImpersonation } from './impersonation.js';
import { type OurGrant, type OurSession, type PinnedLogin, pinnedLogin } from './login-context.js';
import { createRequestClaims } from './request-claims.js';
import { createSilentCheck, isStrongEnough, ofSession } from './requirements.js';
import type { Scopes } from './scopes.js';

/** The token for which an account is looked up. */
export interface FoundByToken {
  readonly grantId?: string;
  readonly scope?: string;
  readonly resource?: string | readonly string[];
}

/** Accounts as oidc-provider asks for them: `accountId` is the `oid`. */
export interface Accounts {
  find(ctx: KoaContextWithOIDC, oid: string, token?: FoundByToken): Promise<Account | undefined>;
  /**
   * Returns the account of the browser's session, as {@link find} does, if the sign-in is plainly usable and no impersonation. The request asks for a code
   * of a client without a page. Logs nothing: the calling code leaves the request to {@link find} if there is no account.
   */
  findPlainly(ctx: KoaContextWithOIDC, session: OurSession): Awaitable<Account | undefined>;
  /**
   * Returns the account of an `oid`, whether the account is usable or not. Reads the account once for each request. Returns a promise only for that read.
   * Returns the account of {@link find} or {@link loadFresh}, if the request has it.
   */
  load(ctx: object, oid: string): Awaitable<DirectoryAccount | undefined>;
  /** Returns the account as {@link load} does, but never from a cached row, for what is decided or written about the person. */
  loadFresh(ctx: object, oid: string): Awaitable<DirectoryAccount | undefined>;
  /** Returns the account of an `oid`, if a session or grant of this sign-in may continue. */
  loadUsable(
    ctx: object,
    oid: string,
    login: PinnedLogin | undefined,
    /** The client of the grant. */
    client: Client,
  ): Promise<DirectoryAccount | undefined>;
  /**
   * {@link loadUsable} from rows that this node may have cached, for requests that only read, with a token of the account. An account that the cached
   * rows refuse is read again. An impersonation is always read, because a cut-off of the impersonator leaves its grant to this check.
   */
  loadUsableRecent: Accounts['loadUsable'];
  /** {@link loadUsable}, if tokens may be issued for the account without a page. */
  loadMintable(
    ctx: object,
    oid: string,
    login: PinnedLogin | undefined,
    client: Client,
    scopes: readonly string[],
    /** API resources that the request names. */
    resources?: readonly string[],
  ): Promise<DirectoryAccount | undefined>;
  /** Returns the claims of an account for a target: the claims of the scopes, and the claims that the protocol itself makes. */
  claimsOf(
    account: DirectoryAccount,
    use: ClaimTarget,
    scopes: ReadonlySet<string>,
    request: ClaimsRequest,
  ): Promise<Record<string, unknown>>;
  /** Returns the claims that the protocol itself makes, after all plugins. */
  protocolClaims(account: DirectoryAccount, login: PinnedLogin | undefined, pseudonym?: (oid: string) => string): Record<string, unknown>;
}

export interface ClaimsRequest {
  /** Context of the request. Tokens of one request share the data that plugins load. */
  readonly ctx?: object;
  readonly client?: Client | undefined;
  /** Record of the caller. @default the client's record */
  readonly record?: object | undefined;
  readonly login?: PinnedLogin | undefined;
  /** Names of claims that the request asks for by name. */
  readonly names?: ReadonlySet<string>;
  /** Audience of an access token. */
  readonly audience?: readonly string[];
}

export function createAccounts(parts: OidcParts, scopesOf: Scopes): Accounts {
  const { directory } = parts;
  const loads = createLoads(directory);
  const { load, loadFresh } = loads;
  const { loadUsable, loadUsableRecent, loadOfSession, mayAct } = createUsableLoads(parts, loads);

  const claimsOf = createClaimsOf(parts);

  const mayMint = createSilentCheck(parts);

  const accountFor = (ctx: KoaContextWithOIDC, oid: string, account: DirectoryAccount): Account => ({
    accountId: oid,
    claims: (use, scope, asked) => claimsForProvider(parts, claimsOf, ctx, account, { use, scope, asked }),
  });

  return {
    load,
    loadFresh,
    loadUsable,
    loadUsableRecent,
    async loadMintable(ctx, oid, login, client, scopes, resources = []) {
      if (login?.act) {
        const audiences = [...scopesOf.audiences(ctx, scopes.join(' ')), ...resources];
        await checkImpersonation(directory, { client: callerOf(client), audiences });
      }
      const account = await loadUsable(ctx, oid, login, client);
      const record = clientOf(client);
      if (!account || !login || !record) return account;
      return onceThere(mayMint({ client: record, account, login, scopes }), (may) => (may ? account : undefined));
    },
    claimsOf,
    protocolClaims: (account, login, pseudonym) => protocolClaims(parts, account, login, pseudonym),
    async find(ctx, oid, token) {
      const { client, route, params, session: here } = ctx.oidc;
      const login = token && loginOfToken(parts, ctx, token);
      const scopes = token?.scope?.split(' ') ?? [];
      // The prompts decide whether the session has the right account, and whether its sign-in is strong enough.
      const account = await (token && client
        ? route === 'token'
          ? this.loadMintable(ctx, oid, login, client, scopes, [...namesOf(token.resource), ...namesOf(params?.resource)])
          : (onlyReads.has(route) ? loadUsableRecent : loadUsable)(ctx, oid, login, client)
        : token
          ? loadFresh(ctx, oid)
          : loadOfSession(ctx, oid));
      if (!account) return undefined;
      const session = token ? undefined : (here as OurSession | undefined);
      if (session?.act && !(await mayAct(ctx, oid, { ...session, authTime: session.loginTs }))) return undefined;
      return accountFor(ctx, oid, account);
    },
    findPlainly(ctx, session) {
      const { accountId: oid, act } = session;
      if (oid === undefined || act) return undefined;
      return onceThere(loads.loadRecent(ctx, oid), (account) => {
        if (!account) return undefined;
        return onceThere(seemsToGoOn(parts, account, ofSession(session)), (goes) => (goes ? accountFor(ctx, oid, account) : undefined));
      });
    },
  };
}

/** Routes of oidc-provider that only read, with a token. */
const onlyReads: ReadonlySet<string> = new Set(['introspection', 'userinfo']);

/**
 * Returns whether the request asks for a code of a client, without a page if that is possible. A code is worth nothing before its redemption, which reads
 * the account again. Other response types issue tokens immediately, internal clients answer without a redemption, and an impersonation is always read.
 */
function isSilent({ internalClients }: OidcParts, { oidc: { route, client, params, prompts, session } }: KoaContextWithOIDC): boolean {
  if (route !== 'authorization' || params?.response_type !== 'code' || (session as OurSession | undefined)?.act) return false;
  if (internalClients.isInternal(clientOf(client))) return false;
  for (const prompt of prompts) if (prompt !== 'none') return false;
  return true;
}

interface Loads extends Pick<Accounts, 'load' | 'loadFresh'> {
  /** Returns the account of the request if the request has it, otherwise the account from rows that this node may have cached. */
  readonly loadRecent: Accounts['load'];
}

/** Creates the functions that read each account once for each request. */
function createLoads({ accounts }: Directory): Loads {
  const ofRequest = perRequest(
    () => new Map<string, { readonly account: Awaitable<DirectoryAccount | undefined>; readonly isFresh: boolean }>(),
  );

  const read = (ctx: object, oid: string, isFresh: boolean): Awaitable<DirectoryAccount | undefined> => {
    const loaded = ofRequest(ctx);
    const reading = isFresh ? accounts.findByOid(oid) : accounts.recentByOid(oid);
    loaded.set(oid, { account: reading, isFresh });
    return onceThere(reading, (account) => {
      if (loaded.get(oid)?.account === reading) loaded.set(oid, { account, isFresh });
      return account;
    });
  };

  const load: Accounts['load'] = (ctx, oid) => {
    const found = ofRequest(ctx).get(oid);
    return found ? found.account : read(ctx, oid, true);
  };
  return {
    load,
    loadFresh(ctx, oid) {
      const found = ofRequest(ctx).get(oid);
      return found?.isFresh ? found.account : read(ctx, oid, true);
    },
    loadRecent(ctx, oid) {
      const found = ofRequest(ctx).get(oid);
      return found ? found.account : read(ctx, oid, false);
    },
  };
}

/** Functions that return an account only if a sign-in may continue. */
interface UsableLoads extends Pick<Accounts, 'loadUsable' | 'loadUsableRecent'> {
  /** Returns the account of the session, if its sign-in may continue. */
  loadOfSession(ctx: KoaContextWithOIDC, oid: string): Promise<DirectoryAccount | undefined>;
  /** Returns whether the impersonator can still sign in and may still impersonate. Otherwise the impersonation ends. */
  mayAct(ctx: object, oid: string, login: Acted): Promise<boolean>;
}

function createUsableLoads(parts: OidcParts, { loadFresh, loadRecent }: Loads): UsableLoads {
  const { impersonationRules } = parts;

  const mayAct: UsableLoads['mayAct'] = async (ctx, oid, login) => {
    const { act, impersonation, authTime, owner, idp, used } = login;
    if (act === undefined) return true;
    const actor = await loadFresh(ctx, act.oid);
    if (!actor || !(await goesOn(parts, actor, { authTime, owner: owner ?? act.oid, idp, used }))) return false;
    return impersonation === undefined || impersonationRules.mayGoOn({ name: impersonation, oid, act });
  };

  const usable = async (
    ctx: object,
    account: DirectoryAccount | undefined,
    login: PinnedLogin | undefined,
    client: Client,
    judge: typeof goesOn = goesOn,
  ): Promise<DirectoryAccount | undefined> => {
    if (!account || !maySignInTo(client, account)) return undefined;
    if (!(login ? await judge(parts, account, login) : isUsable(account))) return undefined;
    if (refusesImpersonation(clientOf(client), login)) return undefined;
    if (login === undefined) return account;
    if (!isStrongEnough(account, login)) return undefined;
    return login.act === undefined || (await mayAct(ctx, account.person.user.id, login)) ? account : undefined;
  };

  const loadUsable: Accounts['loadUsable'] = async (ctx, oid, login, client) => usable(ctx, await loadFresh(ctx, oid), login, client);

  const loadUsableRecent: Accounts['loadUsable'] = async (ctx, oid, login, client) => {
    const recent = login?.act ? undefined : await loadRecent(ctx, oid);
    return (recent && (await usable(ctx, recent, login, client, seemsToGoOn))) ?? loadUsable(ctx, oid, login, client);
  };

  const loadOfSession: UsableLoads['loadOfSession'] = async (ctx, oid) => {
    const session = ctx.oidc.session as OurSession | undefined;
    const isOfSession = (account: DirectoryAccount | undefined, judge: typeof goesOn) =>
      account && (session ? judge(parts, account, ofSession(session)) : isUsable(account));
    const recent = isSilent(parts, ctx) ? await loadRecent(ctx, oid) : undefined;
    // A refusal by a cached row is neither logged nor answered, because the account is read again.
    if (await isOfSession(recent, seemsToGoOn)) return recent;
    const account = await loadFresh(ctx, oid);
    return (await isOfSession(account, goesOn)) ? account : undefined;
  };

  return { loadUsable, loadUsableRecent, loadOfSession, mayAct };
}

const createClaimsOf = (parts: OidcParts): Accounts['claimsOf'] => {
  const requestClaims = createRequestClaims(parts.claims);
  return async (account, use, scopes, request) => {
    const { ctx, client, record = callerOf(client), login, names = none, audience } = request;
    const pseudonym = client && pseudonymOf(parts, client);
    const subject = {
      person: account.person,
      user: account.person.user,
      tenant: account.tenant,
      scopes,
      ...(isClient(record) ? { client: record } : {}),
      ...(login ? { login } : {}),
      ...(pseudonym ? { pseudonym } : {}),
      lookups: lookupsOf(parts.directory, account, record),
    };
    // Runs before any claim is computed, because nobody would await the claims if this failed.
    const own = { ...protocolClaims(parts, account, login, pseudonym), ...(use === 'id_token' && login ? { idp: login.idp } : {}) };
    const resolving = scopes.size + names.size > 0 ? requestClaims(ctx, subject).resolve(scopes, use, names, audience) : {};
    // Adds to the object of the resolver, because a copy costs more than most claims. The names are reserved, so no plugin has set them.
    return onceThere(resolving, (claims) => Object.assign(claims, own));
  };
};

function protocolClaims(
  { options }: OidcParts,
  { person, tenant }: DirectoryAccount,
  login: PinnedLogin | undefined,
  pseudonym = (oid: string) => oid,
): Record<string, unknown> {
  const { user } = person;
  const isLinked = user.parentUserId !== undefined || user.isParent;
  return {
    tid: tenant.id,
    ...(isLinked || options.oid === 'always' ? { oid: pseudonym(user.id) } : {}),
    ...(login?.act ? { act: { ...login.act, oid: pseudonym(login.act.oid), sub: pseudonym(login.act.sub) } } : {}),
  };
}

/** Returns the sign-in of the grant that a token belongs to. */
const loginOfToken = (
  { adapters }: OidcParts,
  ctx: KoaContextWithOIDC,
  { grantId }: { readonly grantId?: string },
): PinnedLogin | undefined =>
  grantId === undefined ? undefined : (adapters.peekGrant(ctx, grantId) as unknown as OurGrant | undefined)?.login;

/** Returns the claims for oidc-provider. An ID token that comes with an access token has no claims of the scopes. */
function claimsForProvider(
  { claims: resolver }: OidcParts,
  claimsOf: Accounts['claimsOf'],
  ctx: KoaContextWithOIDC,
  account: DirectoryAccount,
  { use, scope, asked }: { readonly use: string; readonly scope: string; readonly asked: object | undefined },
): Promise<never> {
  const { client, params } = ctx.oidc;
  const record = clientOf(client);
  const wantsAll = use !== 'id_token' || !record || record.idTokenClaims === 'scopes' || params?.response_type === 'id_token';
  const scopes = wantsAll ? new Set(scope.split(' ')) : none;
  const names = asked && record ? claimsAllowed(resolver, record, Object.keys(asked)) : none;
  return claimsOf(account, use as ClaimTarget, scopes, { ctx, client, login: pinnedLogin(ctx), names }) as never;
}

const none: ReadonlySet<string> = new Set();

/** The impersonation of a session or a grant. */
interface Acted {
  readonly act?: PinnedLogin['act'];
  readonly owner?: string | undefined;
  readonly idp?: string | undefined;
  readonly used?: string | undefined;
  readonly impersonation?: string | undefined;
  readonly authTime: number | undefined;
}

/** Returns whether users of the account's tenant may still sign in to the client. */
function maySignInTo(client: Client, { tenant }: DirectoryAccount): boolean {
  const record = clientOf(client);
  return !record || isOfTenants(record, tenant.id);
}

/** Returns whether the caller may know the tenant. */
const isOfTenants = (caller: Partial<Caller> | undefined, tid: string): boolean => caller?.allowedTenants?.includes(tid) ?? true;

/** Returns look-ups that hide other tenants, so that no claim reveals a tenant that the caller may not know. */
const lookupsOf = ({ accounts }: Directory, { person }: DirectoryAccount, caller: Partial<Caller> | undefined): ClaimLookups => ({
  subsidiary: () => accounts.subsidiary(person),
  groups: () => accounts.groups(person),
  async linkedAccounts() {
    const family = await accounts.family(person);
    return family
      .filter(({ tenant }) => tenant.id === person.tid || isOfTenants(caller, tenant.id))
      .map((account) => ({ person: account.person, tenant: account.tenant, canSignIn: isUsable(account) }));
  },
});
