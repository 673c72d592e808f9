import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type Account,
  cleanText,
  type ExtensionContext,
  form,
  formField,
  type Interaction,
  type Locale,
  locales,
  present,
  redirectByGet,
  type SignInButton,
} from '../../lib/extension-door.js';
import { createAttempts } from './attempts.js';
import { createPasswordAttempt } from './password-attempt.js';
import { createRegistrationStep } from './registration/registration.js';
import { show } from './show.js';
import { createChooser } from './steps/chooser.js';
import { createConsentStep } from './steps/consent.js';
import { createOrganisationStep } from './steps/organisation.js';
import { createSteps } from './steps/steps.js';
import type { PageView } from './view-models.js';

/** The sign-in pages: identifier, password, organisation, consent. A form that fails shows itself again; nothing changes by GET. */
export function signInRoutes(router: Router, context: ExtensionContext): void {
  const {
    impersonation: { inPerson },
    signIn: { interactions },
    directory,
  } = context;
  const attempts = createAttempts(context);
  const tryPassword = createPasswordAttempt(context, attempts);
  const steps = createSteps(context);
  const { base, url, page, posted, signIn } = steps;
  const chooser = createChooser(context, steps);
  const organisation = createOrganisationStep(context, steps);
  const consent = createConsentStep(context, steps);
  const registration = createRegistrationStep(context, attempts, steps);

  /** With the words of its key, in each language. */
  const labelled = ({ idp, label, script }: SignInButton) => ({
    idp,
    ...(script && { script }),
    label:
      typeof label === 'string'
        ? (Object.fromEntries(locales.map((locale) => [locale, context.pages.texts(locale)[label] ?? label])) as Record<Locale, string>)
        : label,
  });

  const identifierView = async (ctx: Context, interaction: Interaction, more: Partial<PageView<'identifier'>> = {}) => {
    const { password, buttons } = await interactions.ways(interaction);
    const create = await registration.link(interaction);
    return {
      page: 'identifier',
      ...steps.form(ctx, interaction, '/identifier'),
      // Where there is neither a password nor a button, a method may know the name.
      ...(password || buttons.length === 0 ? {} : { isElsewhere: true }),
      ...present({ create }),
      ...(buttons.length > 0 ? { others: { action: url(interaction, '/method'), buttons: buttons.map(labelled) } } : {}),
      ...more,
    } as PageView<'identifier'>;
  };
  const passwordView = (ctx: Context, interaction: Interaction, identifier: string, more: Partial<PageView<'password'>> = {}) =>
    ({
      page: 'password',
      ...steps.form(ctx, interaction, '/password'),
      identifier,
      restart: `${url(interaction)}?restart=yes`,
      ...more,
    }) as PageView<'password'>;

  router.get(base, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    if (interaction.prompt === 'consent') return consent.show(ctx, interaction);
    if (interaction.prompt === 'requirement') return interactions.showRequirement(ctx, interaction);
    if (interaction.prompt === 'select_account' && ctx.query.restart === undefined && (await chooser.show(ctx, interaction))) return;
    if (interaction.prompt === 'create' && ctx.query.restart === undefined && (await registration.show(ctx, interaction))) return;
    const proven = await interactions.proven(ctx, interaction);
    if (proven !== undefined) return redirectByGet(ctx, proven);
    const { only } = await interactions.ways(interaction);
    if (only !== undefined && (await interactions.begin(ctx, interaction, only))) return;
    const hint = interaction.parameters.login_hint?.trim().slice(0, 320);
    if (hint && ctx.query.restart === undefined) return askPassword(ctx, interaction, hint);
    const outside = await outsideOf(ctx, interaction);
    return page(
      ctx,
      interaction,
      await identifierView(ctx, interaction, { ...(hint && { identifier: hint }), ...(outside && { outside }) }),
    );
  });

  /** Who is signed in completely, and the one organisation that is asked for, where they have no account. Nobody else is told. */
  async function outsideOf(ctx: Context, interaction: Interaction): Promise<PageView<'identifier'>['outside']> {
    const { oid, tids: [tid, ...others] = [] } = interaction;
    if (oid === undefined || tid === undefined || others.length > 0) return undefined;
    const [here, tenant, known] = await Promise.all([
      context.signIn.current(ctx, interaction.client.id),
      directory.tenants.get(tid),
      interactions.accounts(ctx, interaction),
    ]);
    if (here?.oid !== oid || !tenant || here.account.tenant.id === tid || known.some(({ isSignedIn }) => isSignedIn)) return undefined;
    return { userName: here.account.person.user.userName, tenantName: tenant.name };
  }

  /** Returns the accounts that the password and their account links open now. */
  async function admitted(accounts: readonly Account[]): Promise<readonly Account[]> {
    const isAdmitted = await Promise.all(accounts.map((account) => directory.means.admits(account, { kind: 'password' })));
    return accounts.filter((_, index) => isAdmitted[index]);
  }

  /** Asks for the password of a name, unless a sign-in method knows the name. */
  async function askPassword(ctx: Context, interaction: Interaction, identifier: string): Promise<void> {
    const idp = await interactions.idpOf(interaction, identifier);
    const named = { ...interaction, parameters: { ...interaction.parameters, login_hint: cleanText('userName', identifier) } };
    if (idp !== undefined && (await interactions.begin(ctx, named, idp))) return;
    const { password } = await interactions.ways(interaction);
    await page(ctx, interaction, password ? passwordView(ctx, interaction, identifier) : await identifierView(ctx, interaction));
  }

  router.post(`${base}/method`, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    if (!interaction) return;
    if (await interactions.begin(ctx, interaction, formField(ctx, 'idp'))) return;
    return page(ctx, interaction, await identifierView(ctx, interaction), 400);
  });

  router.post(`${base}/account`, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    const account = interaction && (await chooser.choose(ctx, interaction));
    if (!account) return;
    const ofTenant = { ...interaction, tids: [account.tenant.id] };
    const { only } = await interactions.ways(ofTenant);
    if (only !== undefined && (await interactions.begin(ctx, ofTenant, only))) return;
    return askPassword(ctx, ofTenant, account.person.user.userName);
  });

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

  router.post(`${base}/create`, inPerson, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    if (interaction) await registration.create(ctx, interaction);
  });

  router.post(`${base}/identifier`, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    if (!interaction) return;
    const identifier = formField(ctx, 'identifier').trim();
    if (identifier === '') return page(ctx, interaction, await identifierView(ctx, interaction, { problem: 'identifier.missing' }), 400);
    return askPassword(ctx, interaction, identifier);
  });

  router.post(`${base}/password`, form, async (ctx: Context) => {
    const postedAt = new Date(context.service.now());
    const interaction = await posted(ctx);
    if (!interaction) return;
    const identifier = formField(ctx, 'identifier').trim();
    const password = formField(ctx, 'password');
    if (identifier === '') return page(ctx, interaction, await identifierView(ctx, interaction, { problem: 'identifier.missing' }), 400);
    const named = formField(ctx, 'organisation').trim().slice(0, 200);
    const view = (more: Partial<PageView<'password'>>) =>
      passwordView(ctx, interaction, identifier, { ...(named === '' ? {} : { organisation: named }), ...more });
    if (password === '') return page(ctx, interaction, view({ problem: 'password.missing' }), 400);

    const outcome = await tryPassword(ctx, interaction, { identifier, password, organisation: named });
    if ('refused' in outcome) {
      if (outcome.refused === 'attempts.exceeded')
        return page(ctx, interaction, view({ problem: 'attempts.exceeded', minutes: outcome.minutes }), 429);
      ctx.set('Retry-After', String(outcome.retryAfterSeconds));
      return page(ctx, interaction, view({ problem: 'busy' }), 503);
    }
    const accounts = await admitted(outcome.accounts);
    const [account, ...others] = accounts;
    if (!account && outcome.accounts.length > 0) return page(ctx, interaction, view({ problem: 'account.unconfirmed' }), 403);
    if (!account) return page(ctx, interaction, view({ problem: 'credentials.mismatch', organisation: named }), 400);
    if (others.length > 0) return page(ctx, interaction, await organisation.view(ctx, interaction, accounts, postedAt));
    return signIn(ctx, interaction, account.person.user.id, await directory.credentials.proofOf(account, postedAt));
  });

  router.post(`${base}/organisation`, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    if (!interaction) return;
    const identifier = formField(ctx, 'identifier').trim().slice(0, 320);
    const typed = identifier === '' ? {} : { identifier };
    if (formField(ctx, 'back') !== '') return page(ctx, interaction, await identifierView(ctx, interaction, typed));
    if (formField(ctx, 'find') !== '') {
      const found = await organisation.found(ctx, interaction);
      return page(ctx, interaction, found ?? (await identifierView(ctx, interaction, typed)), found ? 200 : 400);
    }
    const chosen = await organisation.chosen(ctx, interaction, formField(ctx, 'choice'));
    if (!chosen) return page(ctx, interaction, await identifierView(ctx, interaction, typed), 400);
    return signIn(ctx, interaction, chosen.account.person.user.id, chosen.proof);
  });

  router.post(`${base}/consent`, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    if (interaction) await consent.decide(ctx, interaction);
  });

  router.post(`${base}/cancel`, form, async (ctx: Context) => {
    const interaction = await posted(ctx);
    if (interaction) redirectByGet(ctx, await interactions.abort(ctx, interaction));
  });

  router.get(`${base}/restart`, async (ctx: Context) => {
    const target = await interactions.restart(ctx, String(ctx.params.uid));
    if (target) return redirectByGet(ctx, target);
    ctx.status = 400;
    await show(ctx, context, { page: 'wrong-link' }, {});
  });
}
