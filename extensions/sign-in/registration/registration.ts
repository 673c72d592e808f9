/** Accounts that users create for themselves, in the one tenant of the sign-in. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  afterAnswer,
  chosenLanguage,
  type ExtensionContext,
  hashingQueuesOf,
  IdpError,
  type Interaction,
  minutesUntil,
  passwordField,
  present,
  type RegistrationInput,
  recordsOfBrowsers,
  redirectByGet,
  typedField,
  wantedLocale,
} from '../../../lib/extension-door.js';
import type { Attempts } from '../attempts.js';
import type { Steps } from '../steps/steps.js';
import type { PageView, RegistrationProblem } from '../view-models.js';
import {
  countInvited,
  registrationBrowsers,
  registrationIn,
  SEND,
  throughOf,
  type WaitingRegistration,
  waitingRegistrations,
} from './records.js';

/** Problems of a password that is long enough. */
const ruleProblems: Readonly<Record<string, RegistrationProblem>> = { weak: 'password.easy', leaked: 'password.leaked' };

/** Problem of each refused field. */
const fieldProblems: Readonly<Record<keyof RegistrationInput, RegistrationProblem>> = {
  givenName: 'givenName.invalid',
  familyName: 'familyName.invalid',
  email: 'email.invalid',
  password: 'password.weak',
};

interface Parts {
  readonly context: ExtensionContext;
  readonly attempts: Attempts;
  readonly steps: Steps;
}

export class RegistrationStep {
  readonly #context: ExtensionContext;
  readonly #attempts: Attempts;
  readonly #steps: Steps;

  constructor({ context, attempts, steps }: Parts) {
    this.#context = context;
    this.#attempts = attempts;
    this.#steps = steps;
  }

  /** Shows the page. Returns false if users may not create an account. */
  async show(ctx: Context, interaction: Interaction, more: Partial<PageView<'create'>> = {}, status = 200): Promise<boolean> {
    const rules = await this.#registrationOf(interaction)?.rules(throughOf(interaction.registration));
    if (!rules) return false;
    const { form, page, url } = this.#steps;
    const view = { page: 'create', ...form(ctx, interaction, '/create'), signIn: `${url(interaction)}?restart=yes`, ...rules, ...more };
    await page(ctx, interaction, view as PageView<'create'>, status);
    return true;
  }

  /** Returns the link to the page from the other pages; undefined if users may not create an account. */
  async link(interaction: Interaction): Promise<string | undefined> {
    const { url } = this.#steps;
    if (interaction.prompt === 'create') return url(interaction);
    return (await this.#registrationOf(interaction)?.rules(throughOf(interaction.registration))) && url(interaction, '/create');
  }

  /** Shows the form again because a field is too long. */
  async refill(ctx: Context, interaction: Interaction): Promise<void> {
    if (!(await this.show(ctx, interaction))) redirectByGet(ctx, this.#steps.url(interaction));
  }

  /** Evaluates the form: creates the account and signs it in, or mails a registration link first. */
  async create(ctx: Context, interaction: Interaction): Promise<void> {
    const { directory, service } = this.#context;
    const input = inputOf(ctx);
    const registration = interaction.prompt === 'create' ? this.#registrationOf(interaction) : undefined;
    if (!registration) return redirectByGet(ctx, this.#steps.url(interaction));
    const createdAt = new Date(service.now());
    const name = directory.accounts.nameKey(input.email);
    const attempt = await this.#attempts.begin(name, ctx.ip);
    const tooMany = (minutes: number) => this.#refuse(ctx, interaction, { problem: 'attempts.exceeded', minutes }, 429);
    if (attempt.minutes !== undefined) return tooMany(attempt.minutes);
    const { client, registration: invited } = interaction;
    const isFullUntil = await countInvited(this.#context, attempt, 'forms', client.id, invited);
    if (isFullUntil) return tooMany(minutesUntil(isFullUntil, service.now));
    try {
      await attempt.run(() => this.#register(ctx, interaction, { registration, input, name, createdAt }));
    } catch (error) {
      // Another request took the name in the meantime.
      if (IdpError.is(error, 'user_name_taken')) return this.#refuse(ctx, interaction, { problems: ['email.taken'] }, 400);
      if (IdpError.is(error, 'not_found')) return redirectByGet(ctx, this.#steps.url(interaction));
      if (!IdpError.is(error, 'busy')) throw error;
      ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
      await this.#refuse(ctx, interaction, { problem: 'busy' }, 503);
    }
  }

  async #register(ctx: Context, interaction: Interaction, { registration, input, name, createdAt }: Form): Promise<void> {
    const { directory, work } = this.#context;
    const hidesTaken = work.mail !== undefined;
    const wrong = await registration.problems(input, { hidesTaken });
    const problems = wrong.map(({ field, isTaken, rule }) =>
      isTaken ? 'email.taken' : (ruleProblems[rule ?? ''] ?? fieldProblems[field]),
    );
    if (problems.length > 0) return this.#refuse(ctx, interaction, { problems }, 400);
    const through = throughOf(interaction.registration);
    const queues = hashingQueuesOf(ctx.ip, name);
    if (hidesTaken) return this.#prove(ctx, interaction, await registration.prepare(input, queues, through));
    const { user } = await registration.register(input, queues, through);
    const account = await directory.accounts.findByOid(user.id);
    if (!account) return redirectByGet(ctx, this.#steps.url(interaction));
    await this.#steps.signIn(ctx, interaction, user.id, await directory.credentials.proofOf(account, createdAt));
  }

  /** Mails a registration link that proves the address. Only the mail reveals whether the name exists. */
  async #prove(ctx: Context, interaction: Interaction, prepared: WaitingRegistration['prepared']): Promise<void> {
    const { records, service, work } = this.#context;
    const id = randomUUID();
    const lifetimeSeconds = service.lifetimes.emailProof;
    const record = this.#waitingOf(ctx, interaction, prepared);
    await records.artifact(waitingRegistrations).put(id, record, { lifetimeSeconds });
    await recordsOfBrowsers(this.#context, registrationBrowsers).put(ctx, id, {}, { lifetimeSeconds });
    const sending = await work.deliver(SEND, { id });
    afterAnswer(ctx, () => sending.release());
    await this.#context.pages.view(ctx, {
      interaction,
      title: 'sign-in.check.title',
      parts: [
        { part: 'text', text: { key: 'sign-in.check.text', values: { email: prepared.email } } },
        { part: 'text', text: 'sign-in.check.hint' },
        { part: 'link', text: 'sign-in.check.signIn', href: `${this.#steps.url(interaction)}?restart=yes` },
      ],
    });
  }

  #waitingOf(ctx: Context, interaction: Interaction, prepared: WaitingRegistration['prepared']): WaitingRegistration {
    const { lifetimes, locales, now } = this.#context.service;
    const { tids: [tid = ''] = [], client, uid, parameters, registration: invited, eventMetadata } = interaction;
    const sources = { uiLocales: chosenLanguage(ctx, this.#context) ?? parameters.ui_locales, acceptLanguage: ctx.get('accept-language') };
    return {
      tid,
      clientId: client.id,
      uid,
      ...present({ locale: wantedLocale(sources, locales), invited, eventMetadata }),
      expiresAt: now() + lifetimes.emailProof * 1000,
      prepared,
    };
  }

  /** Shows the page again, with the typed values except the password. */
  async #refuse(ctx: Context, interaction: Interaction, more: Partial<PageView<'create'>>, status: number): Promise<void> {
    const { password: _, ...typed } = inputOf(ctx);
    if (await this.show(ctx, interaction, { ...typed, ...more } as Partial<PageView<'create'>>, status)) return;
    redirectByGet(ctx, `${this.#steps.url(interaction)}?restart=yes`);
  }

  /** Returns the registration of the tenant; undefined if the sign-in is for several tenants. */
  #registrationOf({ tids: [tid, ...others] = [], ...interaction }: Interaction): Registration | undefined {
    return tid !== undefined && others.length === 0 ? registrationIn(this.#context, tid, interaction) : undefined;
  }
}

type Registration = ReturnType<typeof registrationIn>;

/** Form that is within the rate limits. */
interface Form {
  readonly registration: Registration;
  readonly input: RegistrationInput;
  /** Result of `nameKey` for the address. */
  readonly name: string;
  readonly createdAt: Date;
}

const inputOf = (ctx: Context): RegistrationInput => ({
  givenName: typedField(ctx, 'givenName', 'personName'),
  familyName: typedField(ctx, 'familyName', 'personName'),
  email: typedField(ctx, 'email', 'address'),
  password: passwordField(ctx, 'password'),
});
