import { decodeJwt, decodeProtectedHeader, type JWTPayload, errors as joseErrors, jwtVerify } from 'jose';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { parseAcrValues } from '../../acr-values.js';
import type { Awaitable } from '../../awaitable.js';
import { type Account, authorityOfClient, credentialOwner, isUsable, subOf } from '../../directory/index.js';
import type { Client as DirectoryClient } from '../../store/records/records.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { goesOn } from '../accounts/going-on.js';
import { sessionOf, startSignIn } from '../accounts/login-context.js';
import { isAllowedMethod, isAskedMethod, ofSession, tenantsAllowed } from '../accounts/requirements.js';
import { clientOf } from '../clients/clients.js';
import { ALGORITHMS_OF_PROFILE, isAlgorithmOfProfile } from '../clients/fapi.js';
import { CLOCK_TOLERANCE_SECONDS, clientAlgorithms, endsWithin, isFromFuture, isPast, jwtProblem, useOnce } from '../clients/jwts.js';
import { userIdOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { verifiedByClient } from '../upstream/client.js';

const TYPE = 'login-hint+jwt';
/** Maximum seconds for which a token may be valid. */
const MAX_LIFETIME_SECONDS = 300;
const algorithms: ReadonlySet<unknown> = new Set(clientAlgorithms);

/** Content of a token whose issuer was verified. */
interface Hint {
  readonly iss: string;
  readonly jti: string;
  readonly exp: number;
  /** At least one of `sub` and `oid` is present. */
  readonly sub?: string;
  readonly oid?: string;
  readonly tid?: string;
  /** Time of the user's proof, in seconds since the epoch. */
  readonly authTime: number;
}

/**
 * Creates the check of `login_hint_token`: a JWT in which a client, or the service itself, names the user who signs in.
 *
 * The token of a client with `trustedLoginHint` is the sign-in, once, and only if no other user is signed in. Any other token fills in the user name.
 */
export const createLoginHintCheck =
  (parts: OidcParts) =>
  (ctx: KoaContextWithOIDC): Awaitable<void> => {
    const { params } = ctx.oidc;
    const token = params?.login_hint_token ?? params?.sso_token;
    return typeof token === 'string' ? applyHint(parts, ctx, token) : undefined;
  };

async function applyHint(parts: OidcParts, ctx: KoaContextWithOIDC, token: string): Promise<void> {
  const { params, client } = ctx.oidc;
  const record = clientOf(client);
  if (!params || !client || !record) return;
  const hint = await readHintToken(parts, client, token);
  // A pushed token is only checked. The token counts when the browser arrives with the request.
  if (ctx.oidc.route !== 'authorization') return;
  const tids = tenantsAllowed(record.allowedTenants, parseAcrValues(params.acr_values as string | undefined));
  const account = await accountOfHint(parts, client, hint, tids);
  if (!account) return;
  if (record.trustedLoginHint && (await isVouchedFor(parts, record, account)) && (await signIn(parts, ctx, hint, account))) return;
  params.login_hint ??= account.person.user.userName;
}

/** Returns whether all writers of the client held the scopes of the admin API that the sign-in opens. Reads the store only if the voucher has limits. */
async function isVouchedFor({ directory, logger }: OidcParts, client: DirectoryClient, { person, owner }: Account): Promise<boolean> {
  if (client.vouchedBy?.by !== 'tenant') return true;
  const { holds } = authorityOfClient(client);
  const privileges = await directory.privileges.of((owner ?? { person }).person);
  if (privileges.every(({ permissionId }) => permissionId !== undefined && holds(permissionId))) return true;
  logger.warn(
    { client: client.id, user: person.user.id },
    'a login hint did not sign the user in, because a writer of the client did not hold the permissions of the user',
  );
  return false;
}

/** @throws InvalidRequest, {@link HintTokenExpired} */
export async function readHintToken({ options, keys, now, isFapi2 }: OidcParts, client: Client, token: string): Promise<Hint> {
  try {
    const header = decodeProtectedHeader(token);
    const { typ, alg, kid = '' } = header;
    const claims = decodeJwt(token);
    const problem = jwtProblem(header, claims);
    if (problem) throw new TypeError(`login_hint_token ${problem}`);
    if (typ !== TYPE || !algorithms.has(alg))
      throw new TypeError(`typ or alg of login_hint_token is not allowed. Send typ ${TYPE}, and sign with a key pair.`);
    if (claims.iss !== options.issuer && isFapi2(clientOf(client)) && !isAlgorithmOfProfile(alg))
      throw new TypeError(`FAPI 2.0 forbids the algorithm of login_hint_token. Sign it with ${ALGORITHMS_OF_PROFILE}.`);
    const own = claims.iss === options.issuer ? keys().byKid(kid) : undefined;
    const payload = own
      ? (
          await jwtVerify(token, own.publicKey, {
            algorithms: [own.alg],
            clockTolerance: CLOCK_TOLERANCE_SECONDS,
            currentDate: new Date(now()),
          })
        ).payload
      : await verifiedByClient(client, token);
    return checked(payload, options.issuer, own ? options.issuer : client.clientId, epochSeconds(now()));
  } catch (cause) {
    if (cause instanceof HintTokenExpired) throw cause;
    if (cause instanceof joseErrors.JWTExpired)
      throw new HintTokenExpired('login_hint_token has expired. Send a new one.', undefined, { cause } as never);
    throw new errors.InvalidRequest(
      'login_hint_token could not be verified. Sign it with a key of the client or of the service, and name the service in aud.',
      undefined,
      { cause } as never,
    );
  }
}

/** An expired token with a valid signature. */
export class HintTokenExpired extends errors.InvalidRequest {}

function checked(
  { iss, aud, exp, iat, nbf, jti, sub, auth_time, ...claims }: JWTPayload,
  issuer: string,
  signer: string,
  now: number,
): Hint {
  if (isPast(exp, now)) throw new HintTokenExpired('login_hint_token has expired. Send a new one.');
  const { oid, tid } = claims;
  const texts = [sub, oid, tid].filter((value) => value !== undefined);
  const isRight =
    iss === signer &&
    [aud].flat().length === 1 &&
    [aud].flat()[0] === issuer &&
    endsWithin(MAX_LIFETIME_SECONDS, exp, iat, now) &&
    !isFromFuture(iat, now) &&
    !isFromFuture(nbf, now) &&
    typeof jti === 'string' &&
    jti !== '' &&
    (sub ?? oid) !== undefined &&
    texts.every((value) => typeof value === 'string');
  if (!isRight)
    throw new TypeError(
      'A claim of login_hint_token is missing or invalid. Send iss, aud, jti, sub or oid, and an exp within five minutes.',
    );
  const times = [auth_time, iat].filter((value) => typeof value === 'number');
  return { iss, jti, exp, authTime: Math.min(now, ...times), ...({ sub, oid, tid } as Partial<Hint>) };
}

/**
 * Returns the account of a hint, if the account may sign in here. `oid` names one account. `sub` may name several linked accounts, of which the first of
 * these counts:
 * - the account that the hint names
 * - the only account in the tenants of the hint and of the request
 */
export async function accountOfHint(
  parts: OidcParts,
  client: Client,
  { sub, oid, tid }: Hint,
  tids: readonly string[] | undefined,
): Promise<Account | undefined> {
  const { accounts } = parts.directory;
  const id = oid ?? sub ?? '';
  const named = await accounts.findByOid(userIdOf(parts, client, id) ?? '');
  if (!named) return undefined;
  const isMeant = ({ tenant }: Account) => (tid === undefined || tid === tenant.id) && (tids?.includes(tenant.id) ?? true);
  const family = oid === undefined ? await accounts.family(named.person) : [named];
  const meant = family.filter((account) => isUsable(account) && isMeant(account));
  return meant.find(({ person }) => person.user.id === named.person.user.id) ?? (meant.length === 1 ? meant[0] : undefined);
}

/** Makes the account the account of the session. Returns false if the token alone is not enough. */
async function signIn(parts: OidcParts, ctx: KoaContextWithOIDC, hint: Hint, account: Account): Promise<boolean> {
  const session = sessionOf(ctx);
  const { prompts, params } = ctx.oidc;
  const { user } = account.person;
  const { iss: idp } = hint;
  const authTime = Math.min(hint.authTime, Math.floor(parts.now() / 1000));
  const login = { amr: ['external'], idp };
  const isAnother = session.accountId !== undefined && (session.sub !== subOf(user) || session.act !== undefined);
  if (prompts.has('login') || prompts.has('select_account') || isAnother) return false;
  if (!isAskedMethod(parseAcrValues(params?.acr_values as string | undefined).idp, login)) return false;
  // Other requirements of the tenant are checked next.
  if (!isAllowedMethod(account, login) || !isUsable(account, new Date(authTime * 1000))) return false;
  const isCurrent = session.accountId === user.id && (await goesOn(parts, account, ofSession(session)));
  if (isCurrent && !(params?.max_age !== undefined && session.past(Number(params.max_age)))) return true;

  if (!(await useOnce(parts.artifacts, 'LoginHint', hint))) return false;
  session.loginAccount({ accountId: user.id, loginTs: authTime, amr: login.amr });
  // The `sub` of a linked account covers the parent account and its child accounts.
  startSignIn(ctx, parts.options, { sub: subOf(user), idp, owner: credentialOwner(user) });
  session.resetIdentifier();
  return true;
}
