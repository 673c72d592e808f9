/** Start of an impersonation: the requirement that serves `impersonate`, and the forms of its pages. No impersonation starts without a posted reason. */
import type { Context } from 'koa';
import {
  type Account,
  type BrowserSignIn,
  cleanCode,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type Interaction,
  isBlank,
  parametersOf,
  present,
  type Requirement,
  redirectByGet,
  textProblem,
  typedField,
} from '../../lib/extension-door.js';
import { type Lifecycle, nameOf } from './lifecycle.js';
import { type Bounds, Pages, type Problem } from './pages.js';
import type { ImpersonationRow } from './records.js';
import type { Rules } from './rules.js';
import { LONGEST_QUERY, operatorIn, type Step, Targets } from './targets.js';

const REQUIREMENT = 'impersonate';
const REASON_CHARACTERS = 500;
/** Maximum seconds since the second factor, if the target's tenant requires one. An attacker who took over an older session cannot impersonate. */
const FRESH_SECONDS = 900;

const foreign: Problem = { text: 'impersonation.foreign', status: 403 };
const refused: Problem = { text: 'impersonation.refused', status: 400 };

interface FlowParts {
  readonly context: ExtensionContext;
  readonly lifecycle: Lifecycle;
  readonly rules: Rules;
}

export class Flow {
  readonly #context: ExtensionContext;
  readonly #lifecycle: Lifecycle;
  readonly #rules: Rules;
  readonly #pages: Pages;
  readonly #targets: Targets;
  readonly #bounds: Bounds;

  constructor({ context, lifecycle, rules }: FlowParts) {
    this.#context = context;
    this.#lifecycle = lifecycle;
    this.#rules = rules;
    this.#pages = new Pages(context);
    this.#targets = new Targets(context, rules);
    this.#bounds = { characters: REASON_CHARACTERS, minutes: Math.floor(context.service.lifetimes.impersonation / 60) };
  }

  /** Shows the first page: the form for the reason if the request names a user, else the search. */
  async show(ctx: Context, interaction: Interaction): Promise<void> {
    const step = await this.#stepOf(ctx, interaction);
    if (!step) return this.#resume(ctx, interaction);
    if (step.operators.length === 0) return this.#deny(ctx, interaction);
    const target = await this.#targets.named(step);
    return target ? this.#showWhy(ctx, step, target) : this.#showWho(ctx, step, {});
  }

  routes(router: ExtensionRouter): void {
    const { service, signIn } = this.#context;
    router.postForm(`${service.own}/interaction/:uid/impersonate`, {
      // An impersonator who posts the form again is sent to the page that ends the impersonation.
      whileImpersonating: true,
      open: async (ctx) => {
        const interaction = await signIn.interactions.load(ctx);
        const step = interaction && (await this.#stepOf(ctx, interaction));
        if (!interaction || (step && step.operators.length > 0)) return step;
        if (step) await this.#deny(ctx, interaction);
        else if ((await signIn.toEnd(ctx))?.act) redirectByGet(ctx, service.url(`${service.own}/impersonation`));
        else await this.#resume(ctx, interaction);
        return undefined;
      },
      subject: ({ interaction }) => interaction.uid,
      again: (ctx, step) => this.#showWho(ctx, step, {}, foreign),
      refill: (ctx, step) => this.#refill(ctx, step),
      take: (ctx, step) => this.#take(ctx, step),
    });
  }

  /** Shows the form again because a field is too long. */
  async #refill(ctx: Context, step: Step): Promise<void> {
    const { tid, user } = parametersOf(ctx, ['tid', 'user']);
    const target = user === undefined ? undefined : await this.#targets.find(step, user);
    return target ? this.#showWhy(ctx, step, target) : this.#showWho(ctx, step, { ...(tid && { tid }) });
  }

  async #take(ctx: Context, step: Step): Promise<void> {
    const posted = parametersOf(ctx, ['step', 'tid', 'searched', 'after', 'choose', 'user']);
    const { step: kind, tid, searched, after, choose, user } = posted;
    if (after !== undefined) return this.#showWho(ctx, step, { ...(tid && { tid }), ...(searched && { query: searched }), after });
    const oid = choose ?? (kind === 'who' ? undefined : user);
    if (oid === undefined) return this.#showWho(ctx, step, { ...(tid && { tid }), query: typedField(ctx, 'query', 'line', LONGEST_QUERY) });
    const target = await this.#targets.find(step, oid);
    if (!target) return this.#showWho(ctx, step, { ...(tid && { tid }) }, refused);
    if (kind === 'again') return this.#signInAgain(ctx, step, target);
    if (choose !== undefined || kind !== 'start' || this.#takesFactor(step, target)) return this.#showWhy(ctx, step, target);
    return this.#start(ctx, step, target);
  }

  /** Returns the step. Undefined if another requirement is open, or if another user has signed in since. Then the form must not count. */
  async #stepOf(ctx: Context, interaction: Interaction): Promise<Step | undefined> {
    const { current, interactions } = this.#context.signIn;
    const signedIn = interaction.requirement === REQUIREMENT ? await current(ctx, interaction.client.id) : undefined;
    if (!signedIn || signedIn.act || signedIn.oid !== interaction.oid) return undefined;
    return { interaction, signedIn, operators: await this.#rules.operatorsAmong(await interactions.own(ctx, interaction)) };
  }

  #isFresh({ amr, provenAt, authTime }: BrowserSignIn): boolean {
    return amr.includes('mfa') && this.#context.service.now() / 1000 - (provenAt.mfa ?? authTime) <= FRESH_SECONDS;
  }

  #takesFactor(step: Step, { tenant }: Account): boolean {
    return tenant.signIn?.requireMfa === true && !this.#isFresh(step.signedIn);
  }

  /**
   * Returns whether no requirement is open for the operator's account in the target's tenant. A linked account may have more requirements than the
   * signed-in one.
   */
  async #isReady({ signedIn }: Step, operator: Account): Promise<boolean> {
    return operator.person.user.id === signedIn.oid || this.#context.signIn.isSufficient(operator, signedIn);
  }

  async #showWho(ctx: Context, step: Step, asked: Partial<Record<'tid' | 'query' | 'after', string>>, problem?: Problem): Promise<void> {
    const { interaction, operators } = step;
    const operator = operators.length === 1 ? operators[0] : operatorIn(step, asked.tid);
    if (!operator) return this.#pages.tenants(ctx, interaction, operators, problem);
    if (!(await this.#isReady(step, operator))) return this.#goOnAs(ctx, step, operator);
    const query = asked.query ?? '';
    return this.#pages.who(ctx, interaction, operator, { query, found: await this.#targets.search(operator, query, asked.after) }, problem);
  }

  async #showWhy(ctx: Context, step: Step, target: Account): Promise<void> {
    const operator = operatorIn(step, target.tenant.id) as Account;
    if (!(await this.#isReady(step, operator))) return this.#goOnAs(ctx, step, operator);
    if (this.#takesFactor(step, target)) return this.#pages.again(ctx, step.interaction, target);
    const typed = { reason: '', minutes: String(this.#bounds.minutes) };
    return this.#pages.why(ctx, step.interaction, target, typed, this.#bounds);
  }

  async #start(ctx: Context, step: Step, target: Account): Promise<void> {
    const { interaction } = step;
    const operator = operatorIn(step, target.tenant.id) as Account;
    if (!(await this.#isReady(step, operator))) return this.#goOnAs(ctx, step, operator);
    const minutes = formField(ctx, 'minutes');
    // A minus sign is not removed like the hyphens of a code, so that `-5` is refused.
    const typed = { reason: typedField(ctx, 'reason', 'line'), minutes: /\p{Pd}/u.test(minutes) ? minutes : cleanCode(minutes) };
    const { reason } = typed;
    const wrong = {
      reason: isBlank(reason) || reason.length > REASON_CHARACTERS || textProblem('line', reason) !== undefined,
      minutes: !/^\d{1,4}$/.test(typed.minutes) || Number(typed.minutes) < 1 || Number(typed.minutes) > this.#bounds.minutes,
    };
    if (wrong.reason || wrong.minutes) return this.#pages.why(ctx, interaction, target, typed, this.#bounds, wrong);
    const row = await this.#lifecycle.start({
      uid: interaction.uid,
      operator,
      target,
      reason,
      clientId: interaction.client.id,
      seconds: Number(typed.minutes) * 60,
      by: { actor: `user:${operator.person.user.id}`, requestId: this.#context.http.requestId(ctx) },
    });
    const next = row && (await this.#signIn(ctx, step, row, target));
    return next === undefined ? this.#showWho(ctx, step, { tid: target.tenant.id }, refused) : redirectByGet(ctx, next);
  }

  /** Signs the operator in as the target. If the sign-in is refused, ends the impersonation and returns undefined. */
  async #signIn(ctx: Context, { interaction, signedIn }: Step, row: ImpersonationRow, target: Account): Promise<string | undefined> {
    const { directory, signIn } = this.#context;
    const { amr, idp, method, mfaIn, heldTo } = signedIn;
    const next = await signIn.interactions.signIn(ctx, interaction, {
      oid: row.targetOid,
      amr: [...amr, 'imp'],
      idp,
      ...present({ method, mfaIn, heldTo }),
      // A cut-off of the target since the start of the impersonation refuses the sign-in.
      proof: await directory.credentials.proofOf(target, row.startedAt),
      act: row.operator,
      impersonation: nameOf(row),
      endsAt: row.endsAt,
      offline: false,
    });
    if (next === undefined) await this.#lifecycle.end(row.tid, row.id, (await this.#lifecycle.endOf(row)) ?? 'permission');
    return next;
  }

  /** Resumes the request with the given account. The authorization endpoint shows the open requirements of the account, and then this requirement again. */
  async #goOnAs(ctx: Context, { interaction }: Step, { tenant }: Account): Promise<void> {
    const others = acrValuesOf(interaction).filter((value) => !value.startsWith('tenant:'));
    await this.#restart(ctx, interaction, 'resume', [...others, `tenant:${tenant.id}`].join(' '));
  }

  /** Makes the operator sign in again with a second factor, to impersonate the same user. */
  async #signInAgain(ctx: Context, { interaction }: Step, target: Account): Promise<void> {
    const others = acrValuesOf(interaction).filter((value) => !/^(?:impersonate|mfa)(?::|$)/.test(value));
    const identifier = await this.#context.claims.identifierOf(target.person.user.id, interaction.client);
    // With a value, `mfa` is a condition even if the client listed levels by preference.
    await this.#restart(ctx, interaction, 'login', [...others, 'mfa:true', `impersonate:${identifier}`].join(' '));
  }

  /** Evaluates the request again, because another user has signed in since. */
  async #resume(ctx: Context, interaction: Interaction): Promise<void> {
    await this.#restart(ctx, interaction, 'resume');
  }

  async #restart(ctx: Context, interaction: Interaction, kind: 'resume' | 'login', acrValues?: string): Promise<void> {
    const { interactions } = this.#context.signIn;
    const next = await interactions.restart(ctx, interaction.uid, kind, acrValues);
    redirectByGet(ctx, next ?? (await interactions.abort(ctx, interaction)));
  }

  /** Aborts the sign-in. Only accounts that this sign-in does not reach may impersonate users, or the permission was removed since. */
  async #deny(ctx: Context, interaction: Interaction): Promise<void> {
    redirectByGet(ctx, await this.#context.signIn.interactions.abort(ctx, interaction));
  }
}

const acrValuesOf = ({ parameters }: Interaction): readonly string[] =>
  (parameters.acr_values ?? '').split(' ').filter((value) => value !== '');

/** Creates the requirement that serves `impersonate` in `acr_values`. */
export function createRequirement({ claims, directory }: ExtensionContext, rules: Rules, flow: Flow): Requirement {
  return {
    name: REQUIREMENT,
    serves: 'impersonate',
    // The operator meets all other requirements first.
    after: ['*'],
    error: 'interaction_required',
    // A running impersonation is checked at each use of its tokens.
    silent: 'pass',

    async check({ person, tenant }, { act }, { acr: { impersonate, tenant: wanted }, client, parameters }) {
      if (impersonate === false) return 'met';
      // An impersonator cannot impersonate another user.
      if (act) return impersonate === true || (await claims.userIdOf(impersonate, client)) === person.user.id ? 'met' : 'refused';
      // An impersonator may not give consent or register for the user, and a hint names the operator. The request would be refused after the start.
      const prompts = parameters.prompt?.split(' ') ?? [];
      const isHinted = parameters.id_token_hint !== undefined && !prompts.includes('none');
      if (isHinted || prompts.includes('consent') || prompts.includes('create')) return 'refused';
      const isWelcome = (tid: string): boolean => (client.allowedTenants?.includes(tid) ?? true) && (wanted ?? tid) === tid;
      const family = (await directory.accounts.family(person)).filter((account) => isWelcome(account.tenant.id));
      return isWelcome(tenant.id) && (await rules.operatorsAmong(family)).length > 0 ? 'met' : 'refused';
    },

    show: (ctx, interaction) => flow.show(ctx, interaction),
  };
}
