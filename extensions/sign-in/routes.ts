import type { Context } from 'koa';
import { type ExtensionContext, type ExtensionRouter, formField, type Interaction, redirectByGet } from '../../lib/extension-door.js';
import { createAttempts } from './attempts.js';
import { RegistrationStep } from './registration/registration.js';
import { show } from './show.js';
import { createChooser } from './steps/chooser.js';
import { createConsentStep } from './steps/consent.js';
import { createIdentifySteps } from './steps/identify.js';
import { createOrganisationStep } from './steps/organisation.js';
import { createPasswordStep, LONGEST_IDENTIFIER } from './steps/password.js';
import { createSteps } from './steps/steps.js';

type Parts = ReturnType<typeof createParts>;

function createParts(context: ExtensionContext) {
  const attempts = createAttempts(context);
  const steps = createSteps(context);
  const organisation = createOrganisationStep(context, steps);
  const registration = new RegistrationStep({ context, attempts, steps });
  const identify = createIdentifySteps(context, steps, registration);
  return {
    context,
    steps,
    organisation,
    registration,
    identify,
    chooser: createChooser(context, steps),
    consent: createConsentStep(context, steps),
    password: createPasswordStep(context, { attempts, steps, identify, organisation }),
  };
}

/** Adds the sign-in pages: identifier, password, organisation, consent. A form with a problem is shown again. GET changes nothing. */
export function signInRoutes(router: ExtensionRouter, context: ExtensionContext): void {
  const parts = createParts(context);
  const { steps, registration, consent } = parts;
  const { base, posted, url } = steps;
  const {
    impersonation: { inPerson },
    signIn: { interactions },
  } = context;

  router.get(base, (ctx: Context) => showNext(ctx, parts));
  router.postForm(
    `${base}/method`,
    posted((ctx, interaction) => takeMethod(ctx, interaction, parts)),
  );
  router.postForm(
    `${base}/account`,
    posted((ctx, interaction) => takeAccount(ctx, interaction, parts)),
  );
  router.postForm(
    `${base}/identifier`,
    posted(
      (ctx, interaction) => takeIdentifier(ctx, interaction, parts),
      (ctx, interaction) => parts.identify.askIdentifier(ctx, interaction),
    ),
  );
  router.postForm(`${base}/password`, posted(parts.password.take, parts.password.refill));
  router.postForm(
    `${base}/organisation`,
    posted(
      (ctx, interaction) => takeOrganisation(ctx, interaction, parts),
      (ctx, interaction) => findOrganisation(ctx, interaction, parts),
    ),
  );
  router.postForm(`${base}/consent`, posted(consent.decide));
  router.postForm(
    `${base}/cancel`,
    posted(async (ctx, interaction) => redirectByGet(ctx, await interactions.abort(ctx, interaction))),
  );
  const create = posted(
    (ctx, interaction) => registration.create(ctx, interaction),
    (ctx, interaction) => registration.refill(ctx, interaction),
  );
  router.postForm(`${base}/create`, { ...create, whileImpersonating: false });

  router.get(`${base}/create`, inPerson, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    const isOpen = (await registration.link(interaction)) !== undefined;
    redirectByGet(ctx, (isOpen && (await interactions.restart(ctx, interaction.uid, 'create'))) || url(interaction));
  });
  router.get(`${base}/accounts`, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (interaction) redirectByGet(ctx, (await interactions.restart(ctx, interaction.uid, 'select_account')) ?? url(interaction));
  });
  router.get(`${base}/restart`, async (ctx: Context) => {
    const target = await interactions.restart(ctx, String(ctx.params.uid));
    if (target) return redirectByGet(ctx, target);
    ctx.status = 400;
    await show(ctx, context, { page: 'wrong-link' }, {});
  });
}

/** Shows the step that the sign-in waits for. */
async function showNext(
  ctx: Context,
  {
    context: {
      signIn: { interactions },
    },
    chooser,
    consent,
    identify,
    registration,
  }: Parts,
): Promise<void> {
  const interaction = await interactions.load(ctx);
  if (!interaction) return;
  const isRestart = ctx.query.restart !== undefined;
  if (interaction.prompt === 'consent') return consent.show(ctx, interaction);
  if (interaction.prompt === 'requirement') return interactions.showRequirement(ctx, interaction);
  if (interaction.prompt === 'select_account' && !isRestart && (await chooser.show(ctx, interaction))) return;
  if (interaction.prompt === 'create' && !isRestart && (await registration.show(ctx, interaction))) return;
  const proven = await interactions.proven(ctx, interaction);
  if (proven !== undefined) return redirectByGet(ctx, proven);
  const { only } = await interactions.ways(interaction);
  if (only !== undefined && (await interactions.begin(ctx, interaction, only))) return;
  const hint = interaction.parameters.login_hint?.trim().slice(0, LONGEST_IDENTIFIER);
  if (hint && !isRestart) return identify.askPassword(ctx, interaction, hint);
  const outside = await identify.outsideOf(ctx, interaction);
  return identify.askIdentifier(ctx, interaction, { ...(hint && { identifier: hint }), ...(outside && { outside }) });
}

/** Starts the sign-in method of a button. */
async function takeMethod(
  ctx: Context,
  interaction: Interaction,
  {
    context: {
      signIn: { interactions },
    },
    identify,
  }: Parts,
): Promise<void> {
  if (await interactions.begin(ctx, interaction, formField(ctx, 'idp'))) return;
  return identify.askIdentifier(ctx, interaction, {}, 400);
}

/** Continues as the chosen account, or asks for its password. */
async function takeAccount(
  ctx: Context,
  interaction: Interaction,
  {
    context: {
      signIn: { interactions },
    },
    chooser,
    identify,
  }: Parts,
): Promise<void> {
  const account = await chooser.choose(ctx, interaction);
  if (!account) return;
  const ofTenant = { ...interaction, tids: [account.tenant.id] };
  const { only } = await interactions.ways(ofTenant);
  if (only !== undefined && (await interactions.begin(ctx, ofTenant, only))) return;
  return identify.askPassword(ctx, ofTenant, account.person.user.userName);
}

async function takeIdentifier(ctx: Context, interaction: Interaction, { identify }: Parts): Promise<void> {
  const identifier = formField(ctx, 'identifier', LONGEST_IDENTIFIER).trim();
  if (identifier === '') return identify.askIdentifier(ctx, interaction, { problem: 'identifier.missing' }, 400);
  return identify.askPassword(ctx, interaction, identifier);
}

/** Returns the name that the page of the organisations repeats. */
function repeatedIdentifier(ctx: Context): { readonly identifier?: string } {
  const identifier = formField(ctx, 'identifier', LONGEST_IDENTIFIER).trim();
  return identifier === '' ? {} : { identifier };
}

async function takeOrganisation(ctx: Context, interaction: Interaction, parts: Parts): Promise<void> {
  const { steps, organisation, identify } = parts;
  const typed = repeatedIdentifier(ctx);
  if (formField(ctx, 'back') !== '') return identify.askIdentifier(ctx, interaction, typed);
  if (formField(ctx, 'find') !== '') return findOrganisation(ctx, interaction, parts);
  const chosen = await organisation.chosen(ctx, interaction, formField(ctx, 'choice'));
  if (!chosen) return identify.askIdentifier(ctx, interaction, typed, 400);
  return steps.signIn(ctx, interaction, chosen.account.person.user.id, chosen.proof);
}

/** Shows the organisations that match the search. */
async function findOrganisation(ctx: Context, interaction: Interaction, { steps, organisation, identify }: Parts): Promise<void> {
  const view = await organisation.search(ctx, interaction);
  return view ? steps.page(ctx, interaction, view) : identify.askIdentifier(ctx, interaction, repeatedIdentifier(ctx), 400);
}
