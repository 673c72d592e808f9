/** Page of the signed-in user's own factors: lists, adds and removes them. Each change requires a sign-in of the last ten minutes. */
import type { Context } from 'koa';
import {
  type Account,
  attributionOf,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type InternalClients,
  type OwnPage,
  type PostForm,
  present,
  redirectByGet,
  type Text,
  utcDay,
  type View,
  type ViewPart,
} from '../../lib/extension-door.js';
import { codesScript } from './codes-script.js';
import { codesParts, Enrolment, type Outcome, type Setup } from './enrolment.js';
import type { FactorSet } from './factor-rows.js';
import { passkeyScript } from './passkeys/script.js';
import type { Webauthn } from './passkeys/webauthn.js';
import { type FactorRow, signInName } from './records.js';
import { NO_SESSION, type UserFactors } from './user-factors.js';

export const pathOf = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/factors`;
const ownPageOf = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'factors:own', pathOf(context.service), 'credentialChange');

/** Returns the internal application for which users of this page sign in. */
export const createFactorsPageClients = (context: ExtensionContext): InternalClients => ownPageOf(context).clients;

/** A factor by its id. `kind` is absent if the record of the factor cannot be read. */
type Removable = Pick<FactorRow, 'id'> & { readonly kind?: FactorRow['kind'] };
const removableOf = ({ all, refused, unreadable }: FactorSet): readonly Removable[] => [
  ...all,
  ...refused,
  ...unreadable.map((id) => ({ id })),
];

/** A browser whose sign-in may change factors. */
interface Visit {
  readonly signedIn: BrowserSignIn;
  readonly setup: Setup;
}

interface Problem {
  readonly text: Text;
  readonly status: number;
}

export class FactorsPage {
  readonly #context: ExtensionContext;
  readonly #userFactors: UserFactors;
  readonly #enrolment: Enrolment;
  readonly #ownPage: OwnPage;
  readonly #path: string;

  constructor(context: ExtensionContext, userFactors: UserFactors, webauthn: Webauthn | undefined) {
    this.#context = context;
    this.#userFactors = userFactors;
    this.#enrolment = new Enrolment(context, userFactors, webauthn);
    this.#ownPage = ownPageOf(context);
    this.#path = pathOf(context.service);
  }

  routes(router: ExtensionRouter): void {
    router.get(`${this.#path}/return`, (ctx) => this.#return(ctx));
    router.get(this.#path, async (ctx) => {
      const visit = await this.#visit(ctx);
      if (visit) await this.#showList(ctx, visit);
    });
    router.postForm(this.#path, this.#posted(this.#takeList));
    router.get(`${this.#path}/app`, async (ctx) => {
      const visit = await this.#visit(ctx);
      if (!visit) return;
      if (visit.setup.factors.totp) return redirectByGet(ctx, this.#urlOf());
      await this.#showApp(ctx, visit);
    });
    router.postForm(
      `${this.#path}/app`,
      this.#posted(
        async (ctx, visit) => {
          const outcome = await this.#enrolment.addApp(ctx, visit.setup);
          return 'problem' in outcome ? this.#showApp(ctx, visit, outcome.problem) : this.#showAdded(ctx, visit, outcome);
        },
        (ctx, visit) => this.#showApp(ctx, visit),
      ),
    );
    router.postForm(
      `${this.#path}/passkey`,
      this.#posted(async (ctx, visit) => {
        const outcome = await this.#enrolment.addPasskey(ctx, visit.setup);
        if ('problem' in outcome) return this.#showList(ctx, visit, { text: outcome.problem, status: 400 });
        return this.#showAdded(ctx, visit, outcome);
      }),
    );
  }

  /** Continues after the sign-in that the page required. */
  async #return(ctx: Context): Promise<void> {
    const next = await this.#ownPage.returned(ctx);
    if (next !== undefined) return redirectByGet(ctx, this.#context.service.url(next));
    await this.#context.pages.view(ctx, {
      title: 'factors.own.title',
      problem: 'factors.own.signedOut',
      status: 403,
      parts: [{ part: 'link', text: 'factors.signIn.again', href: this.#urlOf() }],
    });
  }

  /** Returns the browser's sign-in and its factors. Undefined after the browser was redirected to a sign-in. */
  async #visit(ctx: Context): Promise<Visit | undefined> {
    const signedIn = await this.#ownPage.present(ctx, this.#path);
    const owner = signedIn && this.#userFactors.ownerOf(signedIn.account, signedIn);
    if (!signedIn || !owner) {
      if (signedIn) await this.#ownPage.signIn(ctx, this.#path);
      return undefined;
    }
    const { session, authTime } = signedIn;
    const factors = await this.#userFactors.load(owner);
    const vouchedBy = await this.#context.directory.means.ofSignIn(signedIn, owner);
    const by = attributionOf(signedIn);
    const added = { by, session, addedIn: signInName(session, authTime), isFirst: !factors.isEnrolled, vouchedBy };
    return { signedIn, setup: { owner, factors, key: `own ${session} ${authTime}`, added } };
  }

  /** Returns the route of a form of this page. @param refill shows the form again. Only a form into which users type needs `refill`. */
  #posted(take: PostForm<Visit>['take'], refill?: PostForm<Visit>['take']): PostForm<Visit> {
    return {
      open: (ctx) => this.#visit(ctx),
      subject: subjectOf,
      again: (ctx, visit) => this.#showList(ctx, visit, { text: 'factors.foreign', status: 403 }),
      take,
      ...present({ refill }),
    };
  }

  #takeList = async (ctx: Context, visit: Visit): Promise<void> => {
    const { factors, owner, added } = visit.setup;
    const wanted = formField(ctx, 'remove') || formField(ctx, 'removed');
    const row = removableOf(factors).find(({ id, kind }) => kind !== 'recovery' && id === wanted);
    if (row && formField(ctx, 'removed') !== '') return this.#remove(ctx, visit, row.id);
    if (row) return this.#showRemoval(ctx, visit, row);
    if (formField(ctx, 'add') === 'app') return redirectByGet(ctx, this.#urlOf('/app'));
    if (formField(ctx, 'add') === 'codes' && factors.isEnrolled)
      return this.#showCodes(ctx, visit, await this.#userFactors.recoveryCodes.renew(owner, added.vouchedBy, added.by));
    return redirectByGet(ctx, this.#urlOf());
  };

  /**
   * Removes the factor, unless it is the last way to sign in, and ends every sign-in that may rest on it. The sign-in of this browser continues, because its
   * user has just proven the factor.
   */
  async #remove(ctx: Context, visit: Visit, id: string): Promise<void> {
    const { session, authTime, account } = visit.signedIn;
    const { owner, added } = visit.setup;
    // The voucher of the factor is removed too, so a sign-in that rests on a factor with limits would count for more.
    const isLimited = added.vouchedBy?.by === 'tenant';
    const spared = isLimited ? NO_SESSION : { session, signedInAt: authTime * 1000 };
    if (!(await this.#userFactors.removeOwn(owner, id, spared, added.by)))
      return this.#showList(ctx, visit, { text: 'factors.own.last', status: 409 });
    if (!isLimited) return redirectByGet(ctx, this.#urlOf());
    await this.#ownPage.signIn(ctx, this.#path, undefined, { prompt: 'login', loginHint: account.person.user.userName });
  }

  async #showList(ctx: Context, visit: Visit, problem?: Problem): Promise<void> {
    const { factors, owner } = visit.setup;
    const passkey = this.#enrolment.passkeyPart(visit.setup, this.#urlOf('/passkey'), 'factors.own.addPasskey');
    const entries = entriesOf(factors);
    await this.#view(ctx, owner, {
      title: 'factors.own.title',
      lead: factors.isEnrolled ? 'factors.own.lead' : 'factors.own.none',
      ...(problem && { problem: problem.text, status: problem.status }),
      form: { action: this.#urlOf(), subject: subjectOf(visit) },
      parts: [
        ...(entries.length > 0 ? [{ part: 'entries' as const, entries }] : []),
        ...(passkey ? [passkey] : []),
        ...(factors.totp
          ? []
          : [{ part: 'button' as const, text: 'factors.own.addApp', lines: ['factors.app.about'], name: 'add', value: 'app' }]),
        lastPartOf(factors),
      ],
      ...(passkey && { script: passkeyScript }),
    });
  }

  async #showApp(ctx: Context, visit: Visit, problem?: Text): Promise<void> {
    const app = await this.#enrolment.appParts(visit.setup, problem);
    await this.#view(ctx, visit.setup.owner, {
      title: 'factors.own.addApp',
      ...(problem !== undefined && { status: 400 }),
      form: { action: this.#urlOf('/app'), subject: subjectOf(visit) },
      parts: [
        ...app,
        ...(visit.setup.added.isFirst ? [{ part: 'text', text: 'factors.enrol.ends' } as const] : []),
        { part: 'link', text: 'factors.own.back', href: this.#urlOf() },
      ],
    });
  }

  #showAdded(ctx: Context, visit: Visit, { codes }: Exclude<Outcome, { readonly problem: Text }>): Promise<void> | void {
    return codes ? this.#showCodes(ctx, visit, codes) : redirectByGet(ctx, this.#urlOf());
  }

  #showCodes(ctx: Context, visit: Visit, codes: readonly string[]): Promise<void> {
    return this.#view(ctx, visit.setup.owner, {
      title: 'factors.codes.title',
      form: { action: this.#urlOf(), subject: subjectOf(visit) },
      parts: codesParts(codes),
      script: codesScript,
    });
  }

  #showRemoval(ctx: Context, visit: Visit, row: Removable): Promise<void> {
    return this.#view(ctx, visit.setup.owner, {
      title: 'factors.remove.title',
      lead: row.kind ? nameOf({ kind: row.kind }) : 'factors.kind.unreadable',
      form: { action: this.#urlOf(), subject: subjectOf(visit) },
      parts: [
        { part: 'text', text: 'factors.remove.text' },
        { part: 'button', text: 'factors.remove.submit', name: 'removed', value: row.id, look: 'warning' },
        { part: 'link', text: 'factors.own.back', href: this.#urlOf() },
      ],
    });
  }

  async #view(ctx: Context, { tenant }: Account, view: View): Promise<void> {
    const { brandingOf, view: show } = this.#context.pages;
    await show(ctx, { ...(await brandingOf(tenant.id)), ...view });
  }

  #urlOf(page = ''): string {
    return this.#context.service.url(`${this.#path}${page}`);
  }
}

const subjectOf = ({ signedIn: { session } }: Visit): string => `factors ${session}`;

const nameOf = ({ kind }: Pick<FactorRow, 'kind'>): Text => `factors.kind.${kind}`;
const stateOf = ({ recovery, createdAt }: FactorRow): Text => ({
  key: recovery ? 'factors.kind.left' : 'factors.kind.added',
  values: { date: utcDay(new Date(createdAt)), count: String(recovery?.codes.length ?? 0) },
});

function entriesOf({ all, refused, unreadable }: FactorSet) {
  const removal = (about: Text, id: string) => ({ text: 'factors.own.remove', about, name: 'remove', value: id });
  const rank = ({ kind, createdAt }: FactorRow): string => `${kind === 'recovery' ? 1 : 0} ${createdAt}`;
  const readable = [...all, ...refused].toSorted((one, other) => rank(one).localeCompare(rank(other)));
  return [
    ...readable.map((row) => ({
      title: nameOf(row),
      lines: [stateOf(row), ...(refused.includes(row) ? ['factors.kind.refused'] : [])],
      ...(row.kind !== 'recovery' && { action: removal(nameOf(row), row.id) }),
    })),
    ...unreadable.map((id) => ({ title: 'factors.kind.unreadable', lines: [], action: removal('factors.kind.unreadable', id) })),
  ];
}

/** Returns the button for new recovery codes if the user has a factor. Other users read what a first factor does. */
const lastPartOf = ({ isEnrolled }: FactorSet): ViewPart =>
  isEnrolled
    ? { part: 'button', text: 'factors.own.newCodes', name: 'add', value: 'codes', look: 'quiet' }
    : { part: 'text', text: 'factors.enrol.ends' };
