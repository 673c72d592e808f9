/**
 * Interactions: the steps of a sign-in that wait for a user, for the pages.
 *
 * A step belongs to the browser that began the step (`current-interaction`). Other files of this folder hold:
 * - the sign-in methods
 * - the choice among the accounts of a browser
 * - the restart of a sign-in that expired or came from another browser
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { Interaction, SignIn } from '../../contract/sign-in/interaction.js';
import type { Interactions } from '../../contract/sign-in/interactions.js';
import { credentialOwner, notBeforeOf, PASSWORD, subOf } from '../../directory/index.js';
import { IdpError } from '../../errors.js';
import { requestIdOf } from '../../http/requests/request-id.js';
import { interactionsPath } from '../../paths.js';
import type { CredentialRef } from '../../store/records/records.js';
import { claimsAskedFor } from '../accounts/claims-parameter.js';
import { boundImpersonation } from '../accounts/impersonation.js';
import { amrFor, signInAs } from '../accounts/linked-accounts.js';
import type { LaterProofs, OurSession } from '../accounts/login-context.js';
import { type IsComplete, isAllowedMethod, isAskedMethod, ofSession } from '../accounts/requirements.js';
import type { CompletedRequests } from '../authorize/completed-requests.js';
import { createProvenSignIns, provenParameter } from '../authorize/proven-sign-ins.js';
import type { OidcParts } from '../context.js';
import { createLastSignOut } from '../sessions/cookies.js';
import type { Impersonations } from '../sessions/impersonations.js';
import { createAccountChoice } from './account-choice.js';
import { createAccountSwitch } from './account-switch.js';
import { createCurrentInteraction } from './current-interaction.js';
import { Restart } from './restart.js';
import { createSignInWays } from './sign-in-ways.js';

/** Parts of the steps of a sign-in. */
interface Steps {
  readonly parts: OidcParts;
  readonly provider: () => Provider;
  readonly impersonation: Impersonations;
  readonly isComplete: IsComplete;
  readonly restart: Restart;
  readonly choice: ReturnType<typeof createAccountChoice>;
  readonly ways: ReturnType<typeof createSignInWays>;
  readonly find: ReturnType<typeof createCurrentInteraction>['find'];
  readonly proven: ReturnType<typeof createProvenSignIns>;
  readonly lastSignOut: ReturnType<typeof createLastSignOut>;
  readonly switchAccount: ReturnType<typeof createAccountSwitch>;
}

/** Creates the steps of a sign-in, for the pages. */
export function createInteractions(
  parts: OidcParts,
  provider: () => Provider,
  impersonation: Impersonations,
  isComplete: IsComplete,
  completed: CompletedRequests,
): Interactions & { isOver(ctx: Context): Promise<boolean> } {
  const restart = new Restart(parts, provider, completed);
  const choice = createAccountChoice(parts, provider, isComplete);
  const ways = createSignInWays(parts);
  const { find, load } = createCurrentInteraction(parts, provider, restart);
  const steps: Steps = {
    parts,
    provider,
    impersonation,
    isComplete,
    restart,
    choice,
    ways,
    find,
    proven: createProvenSignIns(parts),
    lastSignOut: createLastSignOut(parts.options),
    switchAccount: createAccountSwitch(parts, provider, find),
  };

  return {
    load,
    isOver: async (ctx) => ctx.path.startsWith(`${interactionsPath(parts.options)}/`) && restart.isOver(String(ctx.params?.uid)),

    signIn: (ctx, interaction, given) => completeSignIn(steps, ctx, interaction, given),
    proven: (ctx, interaction) => takeProven(steps, ctx, interaction),
    select: (ctx, interaction, oid) => select(steps, ctx, interaction, oid),
    strengthen: (ctx, interaction, amr) => strengthen(steps, ctx, interaction, amr),
    allow: (ctx, interaction) => allow(steps, ctx, interaction),

    ways: ways.ways,
    idpOf: ways.idpOf,
    begin: ways.begin,

    async own(ctx, interaction) {
      return (await find(ctx)) ? choice.own(ctx, interaction) : [];
    },

    async accounts(ctx, interaction) {
      const details = await find(ctx);
      return details ? choice.known(ctx, details, interaction) : [];
    },

    remembered: choice.remembered,
    forget: choice.forget,

    goOn: (ctx) => finish(steps, ctx, {}),

    async showRequirement(ctx, interaction) {
      const requirement = parts.offers.requirements().find(({ name }) => name === interaction.requirement);
      if (!requirement) throw new IdpError('not_found');
      await requirement.show(ctx, interaction);
    },

    abort: (ctx, interaction) => abort(steps, ctx, interaction),

    restart: (ctx, ...asked) => restart.begin(ctx, ...asked),
  };
}

async function completeSignIn(
  steps: Steps,
  ctx: Context,
  { prompt, client, idp: asked }: Interaction,
  given: SignIn,
): Promise<string | undefined> {
  const { parts, impersonation, ways, lastSignOut, choice, switchAccount, find } = steps;
  const { directory, logger } = parts;
  const named = boundImpersonation(await ways.named(given), parts);
  const { proof } = named;
  const account = await directory.accounts.findByOid(named.oid);
  // Keeps the provider's `mfa` for accounts of the provider's tenant, although `amr` of this account has no `mfa`.
  const mfaIn = named.amr.includes('mfa') ? named.mfaIn : undefined;
  const signIn = account && { ...named, amr: amrFor(account, { amr: named.amr, mfaIn }) };
  if (!signIn || !isAskedMethod(asked, signIn) || !isAllowedMethod(account, signIn)) return undefined;
  if (!(await directory.credentials.holds(account, proof))) return undefined;
  if (!named.act && !(await directory.means.admits(account, passwordOf(named)))) return undefined;
  const limit = named.act ? undefined : await directory.means.limitOf(named, account);
  if (!named.act && !(await directory.means.goesOn({ idp: named.idp, used: limit }, account))) return undefined;
  const notBefore = notBeforeOf(account);
  // `notBefore` may lie up to a second ahead, and further after a clock was set back. The sign-in waits for a second at most, and `auth_time` never
  // precedes `notBefore`.
  if (notBefore > parts.now()) await pause(Math.min(notBefore - parts.now(), 1000));
  const ts = Math.max(Math.floor(Math.min(proof.at, parts.now()) / 1000), notBefore / 1000);
  const { act, impersonation: name, endsAt, offline, heldTo } = signIn;
  const details = act && (await find(ctx));
  const aside = act && details && (await impersonation.begin(ctx, details, { ...signIn, act }));
  if (act && !aside) return undefined;
  const used = aside ? aside.used : limit;
  const owner = aside?.owner ?? credentialOwner(account.person.user);
  if (!act) {
    await switchAccount(ctx, signIn, { loginTs: ts, owner, used, mfaIn, heldTo });
    choice.remember(ctx, signIn.oid);
  }
  const { amr, idp, oid: user } = signIn;
  logger.info({ requestId: requestIdOf(ctx), client: client.id, tenant: account.tenant.id, user, amr, idp, actor: act?.oid }, 'signed in');
  return finish(steps, ctx, {
    ...chosen(prompt),
    login: {
      accountId: signIn.oid,
      ts,
      amr: signIn.amr,
      idp: signIn.idp,
      method: signIn.method,
      used,
      owner,
      mfaIn,
      heldTo,
      sub: subOf(account.person.user),
      proof,
      act,
      impersonation: name,
      endsAt: endsAt && Math.floor(endsAt.getTime() / 1000),
      after: lastSignOut.of(ctx),
      offline,
      aside: aside?.session,
    },
  });
}

async function takeProven(steps: Steps, ctx: Context, interaction: Interaction): Promise<string | undefined> {
  const { proven, restart } = steps;
  const reference = interaction.parameters[provenParameter];
  if (reference === undefined) return undefined;
  const signIn = await proven.take(ctx, reference, interaction.uid);
  if (signIn) return completeSignIn(steps, ctx, interaction, signIn);
  // The browser lost the answer of the page that took up the sign-in, and sent the request again.
  const uid = await proven.takenBy(ctx, reference);
  const onward = uid === undefined ? undefined : ((await restart.resumeOf(ctx, uid)) ?? (await restart.afterSignIn(ctx, uid)));
  return typeof onward === 'string' ? onward : undefined;
}

async function select(steps: Steps, ctx: Context, interaction: Interaction, oid: string): Promise<string | undefined> {
  const { choice, find } = steps;
  const details = await find(ctx);
  const before = details?.session?.accountId;
  const account = details && (await choice.select(ctx, details, interaction, oid));
  if (!account) return undefined;
  // The user signed in a moment ago, and is linked to the requested account. Therefore the sign-in becomes a sign-in of the requested account, with its
  // proofs.
  const { login, proofs } = (details.lastSubmission ?? {}) as { login?: object; proofs?: LaterProofs };
  return finish(steps, ctx, {
    ...chosen(interaction.prompt),
    ...(login ? { login: { ...login, ...signInAs(login, account) } } : {}),
    ...(proofs && proofs.oid === before ? { proofs: { ...proofs, oid } } : {}),
  });
}

async function strengthen(
  steps: Steps,
  ctx: Context,
  { oid }: Pick<Interaction, 'oid'>,
  amr: readonly string[],
): Promise<string | undefined> {
  const { parts, provider, find } = steps;
  const details = await find(ctx);
  const { accountId, loginTs, act } = (await provider().Session.get(ctx)) as OurSession;
  // An impersonator proves nothing in the name of the user.
  if (!details || accountId === undefined || accountId !== oid || act) return undefined;
  const { proofs } = (details.lastSubmission ?? {}) as { readonly proofs?: LaterProofs };
  const before = proofs?.oid === oid && proofs.loginTs === loginTs ? proofs.provenAt : {};
  const now = Math.floor(parts.now() / 1000);
  const provenAt = { ...before, ...Object.fromEntries(amr.map((each) => [each, now])) };
  parts.logger.info(
    { requestId: requestIdOf(ctx), client: String(details.params.client_id), user: oid, amr },
    'second factor added to the sign-in',
  );
  return finish(steps, ctx, { proofs: { oid, loginTs, provenAt } satisfies LaterProofs });
}

async function allow(steps: Steps, ctx: Context, interaction: Interaction): Promise<string> {
  const { parts, provider, isComplete } = steps;
  const { directory } = parts;
  const { oid, client, parameters } = interaction;
  const session = (await provider().Session.get(ctx)) as OurSession;
  const { accountId, act } = session;
  // Only the user may consent. An impersonator may not, and neither may a person who is no longer signed in as the user.
  if (act || accountId === undefined || accountId !== oid) return abort(steps, ctx, interaction);
  const account = await directory.accounts.findByOid(accountId);
  // A requirement opened after the page was shown. The user completes the requirement first, and then answers this page again.
  if (!account || !(await isComplete(account, ofSession(session), client))) return finish(steps, ctx, {});
  const vouchedBy = await directory.means.ofSignIn({ ...ofSession(session), idp: session.idp ?? 'local' }, account);
  await directory.consents.allow(accountId, client.id, scopesOf(interaction), claimsAskedFor(parameters.claims), vouchedBy);
  return finish(steps, ctx, { consent: {} });
}

const abort = (steps: Steps, ctx: Context, { prompt }: Interaction): Promise<string> =>
  finish(steps, ctx, {
    error: 'access_denied',
    error_description: prompt === 'consent' ? 'The user did not allow the request.' : 'The user cancelled the sign-in.',
  });

/** Returns the URL at which the browser continues. A session may end between the page and its answer. */
async function finish({ provider, restart }: Steps, ctx: Context, result: Record<string, unknown>): Promise<string> {
  try {
    return await provider().interactionResult(ctx.req, ctx.res, result as never);
  } catch (error) {
    const onward = error instanceof errors.SessionNotFound ? await restart.withoutSession(ctx, String(ctx.params?.uid)) : undefined;
    if (onward === undefined) throw error;
    return onward;
  }
}

/** Marks the prompts `select_account` or `create` as done. Other prompts still run. */
const chosen = (prompt: Interaction['prompt']) => (prompt === 'select_account' || prompt === 'create' ? { [prompt]: {} } : {});

/** Returns the credential of a sign-in by password. Other methods check their credentials themselves. */
const passwordOf = ({ idp, method = PASSWORD }: SignIn): CredentialRef | undefined =>
  idp === 'local' && method === PASSWORD ? { kind: PASSWORD } : undefined;

const scopesOf = ({ parameters }: Interaction): string[] => parameters.scope?.split(' ').filter(Boolean) ?? [];
