import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { type Awaitable, onceThere } from '../../awaitable.js';
import type { Account } from '../../directory/index.js';
import type { Accounts } from '../accounts/account.js';
import { authorizationRequestOf } from '../accounts/authorization-request.js';
import { isHintOf } from '../accounts/hints.js';
import { reachableAccounts } from '../accounts/linked-accounts.js';
import { isAllowedMethod, isAskedMethod, mayAnswer } from '../accounts/requirements.js';
import { perContext, perRequest } from '../artifacts/per-request.js';
import { clientOf } from '../clients/clients.js';
import { createResumedCheck, isOfProfile } from '../clients/fapi.js';
import { checkPlainAllowed, checkResumed } from '../clients/pkce.js';
import type { OidcParts } from '../context.js';
import type { Grants } from '../sessions/grants.js';
import { idTokenHint } from '../upstream/id-token.js';
import { SIGN_IN_ENDED } from '../upstream/interaction.js';
import { refuseLevel } from './checks.js';
import { carriedOf } from './parameters.js';
import { promptBeforeChoice, requirementPrompt } from './requirement-prompts.js';

const { Check, Prompt, base } = interactionPolicy;

/** Parts that check a sign-in. */
interface Judge {
  readonly parts: OidcParts;
  readonly accounts: Accounts;
}

/** Creates the rules that decide which page a user has to answer before a response can be sent. */
export function createPromptPolicy(parts: OidcParts, accounts: Accounts, grants: Pick<Grants, 'make'>) {
  const judge: Judge = { parts, accounts };
  // Once for each request, because the look-up logs accounts that cannot be chosen.
  const choices = perRequest((ctx: KoaContextWithOIDC) => fitting(judge, ctx));
  const hasChoice = async (ctx: KoaContextWithOIDC): Promise<boolean> =>
    authorizationRequestOf(ctx).oid !== undefined && (await choices(ctx)).length > 0;
  /** Returns whether the user has to choose among linked accounts, although the request asks neither for a choice nor for a new sign-in. */
  const isChoiceNext = perContext((ctx: KoaContextWithOIDC): Awaitable<boolean> => {
    if (['none', 'login', 'select_account'].some((prompt) => ctx.oidc.promptPending(prompt))) return false;
    return onceThere(isCurrentOfTenant(judge, ctx), (isOf) =>
      isOf ? onceThere(isHinted(parts, ctx), (isMeant) => !isMeant && hasChoice(ctx)) : hasChoice(ctx),
    );
  });

  const policy = base();
  addLoginChecks(policy.get('login'), judge);
  policy.add(accountPrompt(judge, choices, hasChoice), 0);
  for (const [index, requirement] of parts.offers.requirements().entries())
    policy.add(promptBeforeChoice(requirement, accounts, isChoiceNext), index);
  policy.add(createPrompt(parts), 0);
  // Requirements come after the account is settled, and before anything is granted.
  for (const requirement of parts.offers.requirements()) policy.add(requirementPrompt(requirement, accounts), policy.length - 1);
  policy.add(grantPrompt(grants), policy.length - 1);
  // The client's record decides about consent, also for native clients.
  policy.get('consent')?.checks.remove('native_client_prompt');
  if (!parts.options.configure) removeIdleChecks(policy, parts.options.features);
  return policy;
}

type Policy = ReturnType<typeof base>;

function addLoginChecks(login: ReturnType<Policy['get']>, judge: Judge): void {
  const { parts } = judge;
  const checkRules = createResumedRules(parts);
  login?.checks.add(
    new Check('challenge', 'code_challenge is missing. Send it with code_challenge_method=S256.', 'invalid_request', (ctx) => {
      checkRules(ctx);
      return false;
    }),
  );
  // A session whose account is removed, disabled, or signed in before `notBefore` needs a new sign-in.
  login?.checks.add(
    new Check(SIGN_IN_ENDED, 'The account of the session cannot be used. Sign the user in again.', 'login_required', (ctx) => {
      const { oid, session } = authorizationRequestOf(ctx);
      return Boolean(session?.accountId) && oid === undefined;
    }),
  );
  // oidc-provider compares `sub`, which linked accounts share. Tokens of linked accounts have `oid`, which identifies the account.
  login?.checks.remove('id_token_hint');
  login?.checks.add(
    new Check('id_token_hint', mismatches.hint, 'login_required', (ctx) =>
      unless(isHinted(parts, ctx), () => signInAgain(ctx, mismatches.hint)),
    ),
  );
  login?.checks.add(
    new Check('tenant', mismatches.tenant, 'login_required', (ctx) =>
      unless(isCurrentOfTenant(judge, ctx), () => signInAgain(ctx, mismatches.tenant)),
    ),
  );
  login?.checks.add(
    new Check('method', mismatches.method, 'login_required', (ctx) =>
      unless(isOfAllowedMethod(judge, ctx), () => signInAgain(ctx, mismatches.method)),
    ),
  );
  // oidc-provider would ask for a sign-in after each sign-in, and ignores an `acr` in `claims` if there are `acr_values`.
  for (const check of ['essential_acrs', 'essential_acr']) login?.checks.remove(check);
  login?.checks.add(new Check('essential_acr', mismatches.level, 'login_required', lacksEssentialLevel));
}

/** @throws UnmetAuthenticationRequirements if the user has just signed in, and no further sign-in can reach the level */
function lacksEssentialLevel(ctx: KoaContextWithOIDC): boolean {
  const { oid, acr } = authorizationRequestOf(ctx);
  // The requirement that serves a second factor asks for the factor.
  if (oid === undefined || acr.essential === undefined || (acr.mfa && acr.essential.includes('mfa'))) return false;
  if (acr.essential.includes(ctx.oidc.acr)) return false;
  return ctx.oidc.result?.login ? refuseLevel() : true;
}

type HasChoice = (ctx: KoaContextWithOIDC) => Promise<boolean>;

/** Creates the prompt for the choice among linked accounts. */
const accountPrompt = (judge: Judge, choices: (ctx: KoaContextWithOIDC) => Promise<readonly string[]>, hasChoice: HasChoice) =>
  new Prompt(
    { name: 'select_account', requestable: true },
    async (ctx) => ({ oids: await choices(ctx) }),
    new Check(
      'tenant',
      'Another account of the signed-in user belongs to the tenant. Let the user choose it.',
      'account_selection_required',
      (ctx) => unless(isCurrentOfTenant(judge, ctx), () => hasChoice(ctx)),
    ),
    new Check(
      'id_token_hint',
      'id_token_hint names another account of the signed-in user. Let the user choose it.',
      'login_required',
      (ctx) => unless(isHinted(judge.parts, ctx), () => hasChoice(ctx)),
    ),
  );

/**
 * Creates the prompt that shows no page. The prompt makes the grant before the consent is judged, because the consent depends on the scopes in the grant.
 */
const grantPrompt = ({ make }: Pick<Grants, 'make'>) =>
  new Prompt(
    { name: 'grant', requestable: false },
    new Check('grant', 'The request is granted nothing. Sign the user in again.', async (ctx) => {
      await make(ctx);
      return false;
    }),
  );

/** Creates the prompt for the creation of an account, if the tenant allows registration. */
const createPrompt = (parts: OidcParts) =>
  new Prompt(
    { name: 'create', requestable: true },
    new Check(
      'create_refused',
      refusal,
      'access_denied',
      (ctx) =>
        ctx.oidc.prompts.has('create') &&
        ctx.oidc.promptPending('create') &&
        checkRegistration(parts, ctx, authorizationRequestOf(ctx).tids),
    ),
  );

/**
 * Removes checks that no request can need, because each check costs every authorization some promises. With `configure`, a request may need every check.
 */
function removeIdleChecks(policy: Policy, features: OidcParts['options']['features']): void {
  const [login, consent] = [policy.get('login'), policy.get('consent')];
  consent?.checks.remove('rar_prompt');
  if (!features.resourceIndicators?.enabled) consent?.checks.remove('rs_scopes_missing');
  if (features.claimsParameter?.enabled) return;
  consent?.checks.remove('op_claims_missing');
  login?.checks.remove('claims_id_token_sub_value');
  login?.checks.remove('essential_acr');
}

const isHinted = (
  parts: OidcParts,
  ctx: KoaContextWithOIDC,
  oid = authorizationRequestOf(ctx).session.accountId,
): boolean | Promise<boolean> =>
  authorizationRequestOf(ctx).params.id_token_hint === undefined ||
  idTokenHint(ctx).then((hint) => hint === undefined || isHintOf(parts, ctx, hint, oid));

function isOfTenant(ctx: KoaContextWithOIDC, { tenant }: Account): boolean {
  const { tids, session } = authorizationRequestOf(ctx);
  return (tids?.includes(tenant.id) ?? true) && mayAnswer(session, tids);
}

/** Returns whether the account of the session may answer the request. Returns true without an account, because other checks handle that case. */
function isCurrentOfTenant({ accounts }: Judge, ctx: KoaContextWithOIDC): Awaitable<boolean> {
  const { oid, tids, session } = authorizationRequestOf(ctx);
  if (oid === undefined || (tids === undefined && session.heldTo === undefined)) return true;
  return onceThere(accounts.load(ctx, oid), (account) => account === undefined || isOfTenant(ctx, account));
}

/** Returns whether the sign-in used the method that the request names, and the tenant still allows it. */
function isOfAllowedMethod({ accounts }: Judge, ctx: KoaContextWithOIDC): Awaitable<boolean> {
  const { oid, session, acr } = authorizationRequestOf(ctx);
  if (oid === undefined) return true;
  if (!isAskedMethod(acr.idp, session)) return false;
  return onceThere(accounts.load(ctx, oid), (account) => account === undefined || isAllowedMethod(account, session));
}

/** Returns the accounts of the sign-in that may answer the request. */
async function fitting({ parts }: Judge, ctx: KoaContextWithOIDC): Promise<readonly string[]> {
  const oids: string[] = [];
  for (const account of await reachableAccounts(parts, authorizationRequestOf(ctx).session)) {
    const { id } = account.person.user;
    if (isOfTenant(ctx, account) && (await isHinted(parts, ctx, id))) oids.push(id);
  }
  return oids;
}

const refusal = 'Users cannot create accounts here. Sign in, or ask the operator to allow registration in one tenant.';

const mismatches = {
  level: 'The sign-in reached no level of the essential acr in claims. Ask for another level, or leave essential out.',
  hint: 'id_token_hint and the signed-in account do not match. Sign in with the account of the hint, or leave the hint out.',
  method:
    'The user signed in by another method than the requested one, or by a method that the tenant does not allow. Sign in by another method.',
  tenant: 'The tenant of the signed-in account may not use the client. Sign in with another account, or allow the tenant for the client.',
};

/**
 * Requests a sign-in. A user who has just signed in with the wrong account gets `login_required`, because asking again would loop. @throws LoginRequired
 */
function signInAgain(ctx: KoaContextWithOIDC, mismatch: string): true {
  if (ctx.oidc.result?.login) throw new errors.LoginRequired(mismatch);
  return true;
}

/** Returns the negation of a check, without a promise for most requests, which pass it. */
const unless = (fits: Awaitable<boolean>, otherwise: () => boolean | Promise<boolean>): boolean | Promise<boolean> =>
  fits === true ? false : Promise.resolve(fits).then((isFit) => !isFit && otherwise());

/** Checks that the request names one tenant, and that the tenant allows registration. @throws AccessDenied */
async function checkRegistration(
  { directory, internalClients }: OidcParts,
  { oidc: { client } }: KoaContextWithOIDC,
  tids: readonly string[] | undefined,
): Promise<false> {
  const through = client && internalClients.applicationOf(clientOf(client))?.registration && 'invitation';
  const [tid, ...others] = tids ?? [];
  const isOpen = tid !== undefined && others.length === 0 && (await directory.forTenant(tid).registration.rules(through)) !== undefined;
  if (!isOpen) throw new errors.AccessDenied(refusal);
  return false;
}

/**
 * Returns the check of a request that is resumed. oidc-provider checks PKCE and pushed requests when a request begins, but not again when the request is
 * resumed.
 */
function createResumedRules(parts: Pick<OidcParts, 'options'>): (ctx: KoaContextWithOIDC) => void {
  const checkProfile = createResumedCheck(parts);
  return (ctx) => {
    checkProfile(ctx);
    checkResumed(ctx);
    const { route, client } = ctx.oidc;
    const record = route === 'resume' ? clientOf(client) : undefined;
    if (record && carriedOf(ctx, ctx.oidc)?.plainPkce) checkPlainAllowed(record, isOfProfile(ctx));
  };
}
