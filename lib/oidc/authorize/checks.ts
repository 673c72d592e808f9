import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { levelsFor, offeredLevels, parseAcrValues, requestedAcr } from '../../acr-values.js';
import type { SignInOffers } from '../../contract/assembly/sign-in-offers.js';
import { LONGEST_URI } from '../../directory/index.js';
import { mayBeKept, mostKept } from '../../http/requests/kept-size.js';
import { audiencesAsked, checkImpersonation } from '../accounts/impersonation.js';
import { getsRefreshToken } from '../accounts/offline-access.js';
import { checkScopes, type Scopes } from '../accounts/scopes.js';
import { clientOf } from '../clients/clients.js';
import { checkProof } from '../clients/dpop-proofs.js';
import { createProfileCheck, isOfProfile } from '../clients/fapi.js';
import { checkPlainAllowed } from '../clients/pkce.js';
import type { OidcParts } from '../context.js';
import { carriedOf, customLimits } from './parameters.js';

/** Creates the last check of an authorization request, for everything that oidc-provider accepts, drops, or does not know. */
export const createRequestCheck = (parts: Pick<OidcParts, 'offers' | 'directory' | 'options'>, scopes: Scopes) => {
  const { offers, directory, options } = parts;
  const checkProfile = createProfileCheck(parts);
  return (ctx: KoaContextWithOIDC): void | Promise<void> => {
    const { oidc } = ctx;
    const { params, client } = oidc;
    const carried = carriedOf(ctx, oidc);
    const record = clientOf(client);
    if (!carried || !client || !params || !record) return;
    checkProfile(ctx);
    checkLengths(params);
    if (carried.custom === null) throw new errors.InvalidRequest(customLimits);
    checkKept(ctx);
    if (carried.plainPkce) checkPlainAllowed(record, isOfProfile(ctx));
    const asked = carried.scope?.split(' ').filter(Boolean) ?? [];
    if (asked.length === 0) throw new errors.InvalidRequest('scope is missing. Send the scopes that the client needs.');
    checkScopes(asked, record, scopes.known(ctx));
    // oidc-provider keeps offline_access only with prompt=consent. Here, the client's record decides whether a page has to allow it.
    const isForCode = String(params.response_type).split(' ').includes('code');
    if (isForCode && getsRefreshToken(client, asked)) {
      params.scope = [...new Set([...String(params.scope ?? '').split(' '), 'offline_access'])].filter(Boolean).join(' ');
    }
    // Libraries add prompt=consent to offline_access by themselves. The service shows no page for that prompt unless the client's record requires consent.
    if (!record.requireConsent && asked.includes('offline_access')) params.prompt = withoutConsent(params.prompt);
    const acr = requestedAcr(params);
    // A host can add its own levels by `configure`.
    if (!options.configure && levelsFor(acr, offeredLevels(offers.serves('mfa'))).length === 0) refuseLevel();
    const refusing = checkAuthenticationRequirements(params.acr_values as string | undefined, offers);
    if (!acr.impersonate) return refusing;
    return Promise.resolve(refusing).then(() => checkImpersonation(directory, { client: record, audiences: audiencesAsked(scopes, ctx) }));
  };
};

function withoutConsent(prompt: unknown): unknown {
  if (typeof prompt !== 'string') return prompt;
  return (
    prompt
      .split(' ')
      .filter((each) => each !== '' && each !== 'consent')
      .join(' ') || undefined
  );
}

/** Maximum bytes of parameters that are stored with a request or forwarded, and that nothing else limits. */
const maxBytes = { state: 4096, nonce: 1024, login_hint: 1024, ui_locales: 512, acr_values: 2048 } as const;

/** @throws InvalidRequest */
export function checkLengths(params: Readonly<Record<string, unknown>>): void {
  for (const name of parameterNames) {
    const value = params[name];
    if (typeof value === 'string' && value.length * 3 > maxBytes[name] && Buffer.byteLength(value) > maxBytes[name])
      throw new errors.InvalidRequest(`${name} is too long. Send at most ${maxBytes[name]} bytes.`);
  }
}

/**
 * Refuses a request if a sign-in would have to store too much of it. The members of a request object count, but not its text. A pushed request was checked
 * when it was pushed. The request is not checked again, because the service has added parameters since.
 * @throws InvalidRequest
 */
function checkKept({ oidc: { params, route, entities } }: KoaContextWithOIDC): void {
  if (route === 'resume' || entities.PushedAuthorizationRequest || !params || mayBeKept(params, 'longer')) return;
  throw new errors.InvalidRequest(`The parameters of the request are too long. Send ${mostKept('longer')} in all.`);
}

const parameterNames = Object.keys(maxBytes) as (keyof typeof maxBytes)[];

const uris = ['redirect_uri', 'post_logout_redirect_uri', 'resource'] as const;
/**
 * Refuses URIs and DPoP proofs that are too long to be parsed, and DPoP proofs that {@link checkProof} refuses.
 *
 * The time to parse a host grows with the square of its length. oidc-provider parses the URIs of a request before it compares them. oidc-provider also
 * parses the `htu` of a proof, which anybody may have signed.
 * @throws InvalidRequest, InvalidRedirectUri, InvalidDpopProof
 */
export function checkUris({ oidc: { params }, headers }: KoaContextWithOIDC): void {
  for (const name of uris) {
    const value = params?.[name];
    const isTooLong = [value].flat().some((uri) => typeof uri === 'string' && uri.length > LONGEST_URI);
    if (!isTooLong) continue;
    // No registered URI is that long.
    if (name === 'redirect_uri') throw new errors.InvalidRedirectUri();
    throw new errors.InvalidRequest(`${name} is too long. Send at most ${LONGEST_URI} characters.`);
  }
  checkProof(headers);
}

/** Refuses a sign-out if the session would have to store too much of the request until the user answers. @throws InvalidRequest */
export function checkSignOut({ oidc: { params, route } }: KoaContextWithOIDC): void {
  if (route !== 'end_session') return;
  const { id_token_hint: _, ...kept } = params ?? {};
  checkLengths(kept);
  if (!mayBeKept(kept, 'longer'))
    throw new errors.InvalidRequest(`The parameters of the sign-out are too long. Send ${mostKept('longer')} in all.`);
}

/**
 * Refuses a request for something that this service cannot fulfil, because a weaker sign-in would mislead the client.
 * @throws InvalidRequest for a tenant that nobody can belong to; UnmetAuthenticationRequirements
 * @see OpenID Connect Core Error Code unmet_authentication_requirements
 */
export function checkAuthenticationRequirements(acrValues: string | undefined, offers: SignInOffers): void | Promise<void> {
  const { idp = 'local', tenant, mfa, impersonate } = parseAcrValues(acrValues);
  if (tenant === '') throw new errors.InvalidRequest('tenant: in acr_values has no value. Name one tenant, or leave it out.');
  const asked = [mfa && !offers.serves('mfa') && 'mfa', impersonate && !offers.serves('impersonate') && 'impersonate'];
  const method = idp === 'local' || offers.methodOf(idp);
  if (method instanceof Promise) return method.then((found) => refuseUnmet([...asked, !found && 'idp']));
  return refuseUnmet([...asked, !method && 'idp']);
}

/** @throws UnmetAuthenticationRequirements */
function refuseUnmet(asked: readonly (string | false)[]): void {
  const unmet = asked.filter(Boolean);
  if (unmet.length > 0)
    throw new errors.UnmetAuthenticationRequirements(
      `acr_values has values that this service does not support (${unmet.join(', ')}). Leave them out, or ask the operator to offer them.`,
    );
}

/** @throws UnmetAuthenticationRequirements if the sign-in cannot reach a level that `claims` makes essential. @see OpenID Connect Core §5.5.1.1 */
export function refuseLevel(): never {
  throw new errors.UnmetAuthenticationRequirements(
    'The sign-in reaches no level of the essential acr in claims. Ask for another level, or leave essential out.',
  );
}
