/** Accounts that people create for themselves, in the one tenant that the sign-in is for. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  afterAnswer,
  chosenLanguage,
  type ExtensionContext,
  formField,
  hashingQueuesOf,
  IdpError,
  type Interaction,
  minutesUntil,
  type RegistrationInput,
  recordsOfBrowsers,
  redirectByGet,
  typedField,
  wantedLocale,
} from '../../../lib/extension-door.js';
import type { Attempts } from '../attempts.js';
import type { Steps } from '../steps/steps.js';
import type { PageView, RegistrationProblem } from '../view-models.js';
import { begun, countInvited, registrationIn, SEND, throughOf, type Waiting, waiting } from './records.js';

/** What is wrong with a password that is long enough. */
const ofRules: Readonly<Record<string, RegistrationProblem>> = { weak: 'password.easy', leaked: 'password.leaked' };

/** The problem that a refused field comes to. */
const problemsOf: Readonly<Record<keyof RegistrationInput, RegistrationProblem>> = {
  givenName: 'givenName.invalid',
  familyName: 'familyName.invalid',
  email: 'email.invalid',
  password: 'password.weak',
};

export type RegistrationStep = ReturnType<typeof createRegistrationStep>;

export function createRegistrationStep(context: ExtensionContext, attempts: Attempts, { page, form, url, signIn }: Steps) {
  const {
    directory,
    work: { mail, deliver },
    records: { artifact },
    pages: { view },
    service: { lifetimes, locales },
  } = context;

  const serviceOf = ({ tids: [tid, ...others] = [], ...interaction }: Interaction) =>
    tid !== undefined && others.length === 0 ? registrationIn(context, tid, interaction) : undefined;

  const show = async (ctx: Context, interaction: Interaction, more: Partial<PageView<'create'>> = {}, status = 200): Promise<boolean> => {
    const rules = await serviceOf(interaction)?.rules(throughOf(interaction.registration));
    if (!rules) return false;
    const view = { page: 'create', ...form(ctx, interaction, '/create'), signIn: `${url(interaction)}?restart=yes`, ...rules, ...more };
    await page(ctx, interaction, view as PageView<'create'>, status);
    return true;
  };

  /** Has the address proven first: whether somebody has the name is told there, and not here. */
  async function prove(ctx: Context, interaction: Interaction, prepared: Waiting['prepared']): Promise<void> {
    const { tids: [tid = ''] = [], client, uid, parameters, registration: invited, eventMetadata } = interaction;
    const id = randomUUID();
    const sources = { uiLocales: chosenLanguage(ctx, context) ?? parameters.ui_locales, acceptLanguage: ctx.get('accept-language') };
    const locale = wantedLocale(sources, locales);
    const lifetimeSeconds = lifetimes.emailProof;
    const record: Waiting = {
      tid,
      clientId: client.id,
      uid,
      ...(locale ? { locale } : {}),
      ...(invited && { invited }),
      ...(eventMetadata && { eventMetadata }),
      expiresAt: context.service.now() + lifetimeSeconds * 1000,
      prepared,
    };
    await artifact(waiting).put(id, record, { lifetimeSeconds });
    await recordsOfBrowsers(context, begun).put(ctx, id, {}, { lifetimeSeconds });
    const sending = await deliver(SEND, { id });
    afterAnswer(ctx, () => sending.release());
    await view(ctx, {
      interaction,
      title: 'sign-in.check.title',
      parts: [
        { part: 'text', text: { key: 'sign-in.check.text', values: { email: prepared.email } } },
        { part: 'text', text: 'sign-in.check.hint' },
        { part: 'link', text: 'sign-in.check.signIn', href: `${url(interaction)}?restart=yes` },
      ],
    });
  }

  return {
    /** False where people may not. */
    show,

    /** What leads to it from the other pages; undefined where people may not. */
    async link(interaction: Interaction): Promise<string | undefined> {
      if (interaction.prompt === 'create') return url(interaction);
      return (await serviceOf(interaction)?.rules(throughOf(interaction.registration))) && url(interaction, '/create');
    },

    /** Creates the account and signs it in. */
    async create(ctx: Context, interaction: Interaction): Promise<void> {
      const givenName = typedField(ctx, 'givenName', 'personName');
      const familyName = typedField(ctx, 'familyName', 'personName');
      const email = typedField(ctx, 'email', 'address');
      const refused = async (more: Partial<PageView<'create'>>, status: number): Promise<void> => {
        if (!(await show(ctx, interaction, { givenName, familyName, email, ...more } as Partial<PageView<'create'>>, status)))
          redirectByGet(ctx, `${url(interaction)}?restart=yes`);
      };
      const service = interaction.prompt === 'create' ? serviceOf(interaction) : undefined;
      if (!service) return redirectByGet(ctx, url(interaction));
      const createdAt = new Date(context.service.now());
      const hidesTaken = mail !== undefined;
      const name = directory.accounts.nameKey(email);
      const attempt = await attempts.begin(name, ctx.ip);
      if (attempt.minutes !== undefined) return refused({ problem: 'attempts.exceeded', minutes: attempt.minutes }, 429);
      const { client, registration: invited } = interaction;
      const isFullUntil = await countInvited(context, attempt, 'forms', client.id, invited);
      if (isFullUntil) return refused({ problem: 'attempts.exceeded', minutes: minutesUntil(isFullUntil, context.service.now) }, 429);
      const through = throughOf(invited);
      const input = { givenName, familyName, email, password: formField(ctx, 'password') };
      try {
        await attempt.run(async () => {
          const found = await service.problems(input, { hidesTaken });
          const problems = found.map(({ field, isTaken, rule }) => (isTaken ? 'email.taken' : (ofRules[rule ?? ''] ?? problemsOf[field])));
          if (problems.length > 0) return refused({ problems }, 400);
          if (hidesTaken) return prove(ctx, interaction, await service.prepare(input, hashingQueuesOf(ctx.ip, name), through));
          const person = await service.register(input, hashingQueuesOf(ctx.ip, name), through);
          const account = await directory.accounts.findByOid(person.user.id);
          if (!account) return redirectByGet(ctx, url(interaction));
          await signIn(ctx, interaction, person.user.id, await directory.credentials.proofOf(account, createdAt));
        });
      } catch (error) {
        // Somebody else was faster.
        if (IdpError.is(error, 'user_name_taken')) return refused({ problems: ['email.taken'] }, 400);
        if (IdpError.is(error, 'not_found')) return redirectByGet(ctx, url(interaction));
        if (!IdpError.is(error, 'busy')) throw error;
        ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
        await refused({ problem: 'busy' }, 503);
      }
    },
  };
}
