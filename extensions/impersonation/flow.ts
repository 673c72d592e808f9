/** How acting as somebody else begins: the requirement that serves `impersonate`, and what its pages post. Nothing begins without a posted reason. */
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
  parseAcrValues,
  present,
  type Requirement,
  redirectByGet,
  textProblem,
  typedField,
} from '../../lib/extension-door.js';
import { type Book, nameOf } from './book.js';
import { type Bounds, createPages, type Problem } from './pages.js';
import type { Rules } from './rules.js';
import { createSearch } from './search.js';

const REQUIREMENT = 'impersonate';
const REASON_CHARACTERS = 500;
/** Seconds since the second factor, where the target's tenant asks for one: whoever took over an older session acts as nobody. */
const FRESH_SECONDS = 900;

/** An operator at this step of a sign-in. */
interface Step {
  readonly interaction: Interaction;
  readonly signedIn: BrowserSignIn;
  /** The accounts by which they may act as others, each in its tenant. */
  readonly operators: readonly Account[];
}

export function createFlow(context: ExtensionContext, book: Book, rules: Rules) {
  const {
    service: { own, url, lifetimes },
    signIn: { interactions },
    directory,
    claims,
    http: { requestId },
  } = context;
  const pages = createPages(context);
  const search = createSearch(directory, rules);
  const bounds: Bounds = { characters: REASON_CHARACTERS, minutes: Math.floor(lifetimes.impersonation / 60) };
  const foreign: Problem = { text: 'impersonation.foreign', status: 403 };
  const refused: Problem = { text: 'impersonation.refused', status: 400 };

  /** Undefined where it is not this page's turn, or somebody else is signed in by now: nothing that is posted here counts. */
  async function stepOf(ctx: Context, interaction: Interaction): Promise<Step | undefined> {
    const signedIn = interaction.requirement === REQUIREMENT ? await context.signIn.current(ctx, interaction.client.id) : undefined;
    if (!signedIn || signedIn.act || signedIn.oid !== interaction.oid) return undefined;
    return { interaction, signedIn, operators: await rules.operatorsAmong(await interactions.own(ctx, interaction)) };
  }

  const operatorIn = ({ operators }: Step, tid: string | undefined): Account | undefined =>
    operators.find(({ tenant }) => tenant.id === tid);

  /** Whether the target has still to allow the client something: nobody does that in their name. */
  async function lacksConsent({ interaction: { client, parameters } }: Step, { person }: Account): Promise<boolean> {
    if (!client.requireConsent) return false;
    const consent = await directory.consents.get(person.user.id, client.id);
    const asked = (parameters.scope ?? '').split(' ').filter((scope) => scope !== '' && scope !== 'offline_access');
    return asked.some((scope) => consent?.scopes.includes(scope) !== true);
  }

  /** The account of a user id, if the operator may act as them. */
  async function targetOf(step: Step, oid: string): Promise<Account | undefined> {
    const target = await directory.accounts.findByOid(oid);
    const operator = target && operatorIn(step, target.tenant.id);
    if (!operator || target.unmetPolicy !== undefined || (await lacksConsent(step, target))) return undefined;
    return (await rules.obstacleTo(operator, target)) === undefined ? target : undefined;
  }

  /** Whom the request names, by the id that the client knows; undefined for nobody, for who cannot be meant, and where several are. */
  async function named(step: Step): Promise<Account | undefined> {
    const { client, parameters } = step.interaction;
    const { impersonate } = parseAcrValues(parameters.acr_values);
    const id = typeof impersonate === 'string' ? await claims.userIdOf(impersonate, client) : undefined;
    if (id === undefined) return undefined;
    const all = await Promise.all((await directory.accounts.named(id)).map(({ person }) => targetOf(step, person.user.id)));
    const [only, ...others] = all.flatMap((target) => target ?? []);
    return others.length === 0 ? only : undefined;
  }

  const isFresh = ({ amr, provenAt, authTime }: BrowserSignIn): boolean =>
    amr.includes('mfa') && context.service.now() / 1000 - (provenAt.mfa ?? authTime) <= FRESH_SECONDS;

  const takesFactor = (step: Step, { tenant }: Account): boolean => tenant.signIn?.requireMfa === true && !isFresh(step.signedIn);

  /** Whether no requirement is open for the account by which the operator acts. A linked account may have more requirements than the signed-in one. */
  const isReady = async ({ signedIn }: Step, operator: Account): Promise<boolean> =>
    operator.person.user.id === signedIn.oid || context.signIn.isSufficient(operator, signedIn);

  /** Sends the operator on as that account. The authorization endpoint shows the open requirements of the account, and then returns here. */
  async function goOnAs(ctx: Context, { interaction }: Step, { tenant }: Account): Promise<void> {
    const { parameters, uid } = interaction;
    const kept = (parameters.acr_values ?? '').split(' ').filter((value) => value !== '' && !value.startsWith('tenant:'));
    const next = await interactions.restart(ctx, uid, 'resume', [...kept, `tenant:${tenant.id}`].join(' '));
    redirectByGet(ctx, next ?? (await interactions.abort(ctx, interaction)));
  }

  async function showWho(ctx: Context, step: Step, asked: Partial<Record<'tid' | 'query' | 'after', string>>, problem?: Problem) {
    const { interaction, operators } = step;
    const operator = operators.length === 1 ? operators[0] : operatorIn(step, asked.tid);
    if (!operator) return pages.tenants(ctx, interaction, operators, problem);
    if (!(await isReady(step, operator))) return goOnAs(ctx, step, operator);
    const query = asked.query ?? '';
    return pages.who(ctx, interaction, operator, { query, found: await search(operator, query, asked.after) }, problem);
  }

  async function showWhy(
    ctx: Context,
    step: Step,
    target: Account,
    typed = { reason: '', minutes: String(bounds.minutes) },
    problem?: Problem,
  ) {
    const operator = operatorIn(step, target.tenant.id) as Account;
    if (!(await isReady(step, operator))) return goOnAs(ctx, step, operator);
    if (takesFactor(step, target)) return pages.again(ctx, step.interaction, target);
    return pages.why(ctx, step.interaction, target, typed, bounds, {}, problem);
  }

  async function start(ctx: Context, step: Step, target: Account): Promise<void> {
    const { interaction, signedIn } = step;
    const operator = operatorIn(step, target.tenant.id) as Account;
    if (!(await isReady(step, operator))) return goOnAs(ctx, step, operator);
    const minutes = formField(ctx, 'minutes');
    // A minus sign is not removed like the hyphens of a code, so that `-5` is refused.
    const typed = { reason: typedField(ctx, 'reason', 'line'), minutes: /\p{Pd}/u.test(minutes) ? minutes : cleanCode(minutes) };
    const { reason } = typed;
    const wrong = {
      reason: isBlank(reason) || reason.length > REASON_CHARACTERS || textProblem('line', reason) !== undefined,
      minutes: !/^\d{1,4}$/.test(typed.minutes) || Number(typed.minutes) < 1 || Number(typed.minutes) > bounds.minutes,
    };
    if (wrong.reason || wrong.minutes) return pages.why(ctx, interaction, target, typed, bounds, wrong);
    const row = await book.start({
      uid: interaction.uid,
      operator,
      target,
      reason,
      clientId: interaction.client.id,
      seconds: Number(typed.minutes) * 60,
      by: { actor: `user:${operator.person.user.id}`, requestId: requestId(ctx) },
    });
    if (!row) return showWho(ctx, step, { tid: target.tenant.id }, refused);
    const { amr, idp, method, mfaIn, heldTo } = signedIn;
    const next = await interactions.signIn(ctx, interaction, {
      oid: row.targetOid,
      amr: [...amr, 'imp'],
      idp,
      ...present({ method, mfaIn, heldTo }),
      proof: await directory.credentials.proofOf(target),
      act: row.operator,
      impersonation: nameOf(row),
      endsAt: row.endsAt,
      offline: false,
    });
    if (next !== undefined) return redirectByGet(ctx, next);
    await book.end(row.tid, row.id, (await book.endOf(row)) ?? 'permission');
    return showWho(ctx, step, { tid: target.tenant.id }, refused);
  }

  /** Has the operator sign in anew, with a second factor and for the same person. */
  async function signInAgain(ctx: Context, { interaction }: Step, target: Account): Promise<void> {
    const { client, parameters, uid } = interaction;
    const kept = (parameters.acr_values ?? '').split(' ').filter((value) => value !== '' && !/^(?:impersonate|mfa)(?::|$)/.test(value));
    // With a value, `mfa` is a condition also where the client listed levels by preference.
    const acrValues = [...kept, 'mfa:true', `impersonate:${await claims.identifierOf(target.person.user.id, client)}`].join(' ');
    redirectByGet(ctx, (await interactions.restart(ctx, uid, 'login', acrValues)) ?? (await interactions.abort(ctx, interaction)));
  }

  /** An account that the sign-in does not reach may act as others, or did a moment ago. */
  const deny = async (ctx: Context, interaction: Interaction): Promise<void> =>
    redirectByGet(ctx, await interactions.abort(ctx, interaction));

  /** Somebody else is signed in by now: the request is judged as it is now. */
  const beginAnew = async (ctx: Context, interaction: Interaction): Promise<void> =>
    redirectByGet(ctx, (await interactions.restart(ctx, interaction.uid, 'resume')) ?? (await interactions.abort(ctx, interaction)));

  const requirement: Requirement = {
    name: REQUIREMENT,
    serves: 'impersonate',
    // The operator first does what is required of them.
    after: ['*'],
    error: 'interaction_required',
    // What goes on is judged at each use of its tokens.
    silent: 'pass',

    async check({ person, tenant }, { act }, { acr: { impersonate, tenant: wanted }, client, parameters }) {
      if (impersonate === false) return 'met';
      // Who acts as somebody acts as nobody else.
      if (act) return impersonate === true || (await claims.userIdOf(impersonate, client)) === person.user.id ? 'met' : 'refused';
      // Refused once somebody acts, so nothing begins: what nobody does for another, and a hint, which is of the operator.
      const prompts = parameters.prompt?.split(' ') ?? [];
      const isHinted = parameters.id_token_hint !== undefined && !prompts.includes('none');
      if (isHinted || prompts.includes('consent') || prompts.includes('create')) return 'refused';
      const isWelcome = (tid: string): boolean => (client.allowedTenants?.includes(tid) ?? true) && (wanted ?? tid) === tid;
      const family = (await directory.accounts.family(person)).filter((account) => isWelcome(account.tenant.id));
      return isWelcome(tenant.id) && (await rules.operatorsAmong(family)).length > 0 ? 'met' : 'refused';
    },

    async show(ctx, interaction) {
      const step = await stepOf(ctx, interaction);
      if (!step) return beginAnew(ctx, interaction);
      if (step.operators.length === 0) return deny(ctx, interaction);
      const target = await named(step);
      return target ? showWhy(ctx, step, target) : showWho(ctx, step, {});
    },
  };

  function routes(router: ExtensionRouter): void {
    router.postForm(`${own}/interaction/:uid/impersonate`, {
      // An impersonator who sends the form again is led to the page that ends the impersonation.
      whileImpersonating: true,
      async open(ctx) {
        const interaction = await interactions.load(ctx);
        const step = interaction && (await stepOf(ctx, interaction));
        if (!interaction || (step && step.operators.length > 0)) return step;
        if (step) await deny(ctx, interaction);
        else if ((await context.signIn.toEnd(ctx))?.act) redirectByGet(ctx, url(`${own}/impersonation`));
        else await beginAnew(ctx, interaction);
        return undefined;
      },
      subject: ({ interaction }) => interaction.uid,
      again: (ctx, step) => showWho(ctx, step, {}, foreign),
      take,
    });
  }

  async function take(ctx: Context, step: Step): Promise<void> {
    const posted = parametersOf(ctx, ['step', 'tid', 'query', 'searched', 'after', 'choose', 'user']);
    const { step: kind, tid, query, searched, after, choose, user } = posted;
    if (after !== undefined) return showWho(ctx, step, { ...(tid && { tid }), ...(searched && { query: searched }), after });
    const oid = choose ?? (kind === 'who' ? undefined : user);
    if (oid === undefined) return showWho(ctx, step, { ...(tid && { tid }), ...(query && { query }) });
    const target = await targetOf(step, oid);
    if (!target) return showWho(ctx, step, { ...(tid && { tid }) }, refused);
    if (kind === 'again') return signInAgain(ctx, step, target);
    if (choose !== undefined || kind !== 'start' || takesFactor(step, target)) return showWhy(ctx, step, target);
    return start(ctx, step, target);
  }

  return { requirement, routes };
}
