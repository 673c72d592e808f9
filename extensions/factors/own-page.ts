/** The signed-in person's own factors: a list, and what adds and removes them. Each change takes a sign-in of the last ten minutes. */
import type { Context } from 'koa';
import {
  type Account,
  attributionOf,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  IdpError,
  type InternalClients,
  type OwnPage,
  type PostForm,
  redirectByGet,
  type Text,
  type View,
} from '../../lib/extension-door.js';
import { codesScript } from './codes-script.js';
import type { Enrolled } from './enrolled.js';
import { codesParts, type Enrolling, Enrolment, type Outcome } from './enrolment.js';
import type { OwnFactors } from './factor-rows.js';
import { passkeyScript } from './passkeys/script.js';
import { PASSKEY } from './passkeys/sign-in.js';
import type { Webauthn } from './passkeys/webauthn.js';
import { type FactorRow, signInName } from './records.js';
import { signOutOf } from './sign-out.js';

/** Seconds since the sign-in within which factors may be changed. */
const RECENT_SECONDS = 600;

export const ownPath = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/factors`;
const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, 'factors:own', ownPath(context.service), RECENT_SECONDS);

/** The application that the person signs in to. */
export const createOwnPageClients = (context: ExtensionContext): InternalClients => pageOf(context).clients;

/** A factor by its id; without `kind` if its record cannot be read. */
type Removable = Pick<FactorRow, 'id'> & { readonly kind?: FactorRow['kind'] };
const removableOf = ({ all, refused, unreadable }: OwnFactors): readonly Removable[] => [
  ...all,
  ...refused,
  ...unreadable.map((id) => ({ id })),
];

/** A browser that may change factors. */
interface Here {
  readonly signedIn: BrowserSignIn;
  readonly enrolling: Enrolling;
}

export function createOwnFactors(context: ExtensionContext, enrolled: Enrolled, webauthn: Webauthn | undefined) {
  const {
    service: { url },
    directory,
    pages: { view, brandingOf },
  } = context;
  const base = ownPath(context.service);
  const ownPage = pageOf(context);
  const enrolment = new Enrolment(context, enrolled, webauthn);
  const subjectOf = ({ signedIn: { session } }: Here): string => `factors ${session}`;

  /** The user whose sign-in may change factors here; undefined once the browser was sent to sign in. */
  async function here(ctx: Context): Promise<Here | undefined> {
    const found = await ownPage.present(ctx, base);
    const owner = found && enrolled.ownerOf(found.account, found);
    if (!found || !owner) {
      if (found) await ownPage.signIn(ctx, base);
      return undefined;
    }
    const { session, authTime } = found;
    const own = await enrolled.load(owner);
    const vouchedBy = await directory.means.ofSignIn(found, owner);
    const added = { by: attributionOf(found), session, addedIn: signInName(session, authTime), isFirst: !own.isEnrolled, vouchedBy };
    return { signedIn: found, enrolling: { owner, own, key: `own ${session} ${authTime}`, added } };
  }

  const page = async (ctx: Context, { tenant }: Account, model: View): Promise<void> =>
    view(ctx, { ...(await brandingOf(tenant.id)), ...model });

  /** Returns the route of a form of this page. */
  const posted = (take: PostForm<Here>['take']): PostForm<Here> => ({
    open: here,
    subject: subjectOf,
    again: (ctx, found) => list(ctx, found, { text: 'factors.foreign', status: 403 }),
    take,
  });

  const nameOf = ({ kind }: Pick<FactorRow, 'kind'>): Text => `factors.kind.${kind}`;
  const stateOf = ({ recovery, createdAt }: FactorRow): Text => ({
    key: recovery ? 'factors.kind.left' : 'factors.kind.added',
    values: { date: createdAt.slice(0, 10), count: String(recovery?.codes.length ?? 0) },
  });

  async function list(ctx: Context, found: Here, problem?: { readonly text: Text; readonly status: number }): Promise<void> {
    const { own, owner } = found.enrolling;
    const passkey = enrolment.passkeyPart(found.enrolling, url(`${base}/passkey`), 'factors.own.addPasskey');
    const rank = ({ kind, createdAt }: FactorRow): string => `${kind === 'recovery' ? 1 : 0} ${createdAt}`;
    const rows = [...own.all, ...own.refused].toSorted((one, other) => rank(one).localeCompare(rank(other)));
    const unreadable = own.unreadable.map((id) => {
      const title = 'factors.kind.unreadable';
      return { title, lines: [], action: { text: 'factors.own.remove', about: title, name: 'remove', value: id } };
    });
    const readable = rows.map((row) => {
      const title = nameOf(row);
      const action = { text: 'factors.own.remove', about: title, name: 'remove', value: row.id };
      const lines = [stateOf(row), ...(own.refused.includes(row) ? ['factors.kind.refused'] : [])];
      return { title, lines, ...(row.kind === 'recovery' ? {} : { action }) };
    });
    const entries = [...readable, ...unreadable];
    await page(ctx, owner, {
      title: 'factors.own.title',
      lead: own.isEnrolled ? 'factors.own.lead' : 'factors.own.none',
      ...(problem ? { problem: problem.text, status: problem.status } : {}),
      form: { action: url(base), subject: subjectOf(found) },
      parts: [
        ...(entries.length > 0 ? [{ part: 'entries' as const, entries }] : []),
        ...(own.totp ? [] : [{ part: 'button' as const, text: 'factors.own.addApp', name: 'add', value: 'app' }]),
        ...(passkey ? [passkey] : []),
        ...(own.isEnrolled ? [] : [{ part: 'text' as const, text: 'factors.enrol.ends' }]),
        ...(own.isEnrolled
          ? [{ part: 'button' as const, text: 'factors.own.newCodes', name: 'add', value: 'codes', look: 'quiet' as const }]
          : []),
      ],
      ...(passkey ? { script: passkeyScript } : {}),
    });
  }

  const showCodes = (ctx: Context, found: Here, codes: readonly string[]): Promise<void> =>
    page(ctx, found.enrolling.owner, {
      title: 'factors.codes.title',
      form: { action: url(base), subject: subjectOf(found) },
      parts: codesParts(codes),
      script: codesScript,
    });

  const showApp = async (ctx: Context, found: Here, problem?: Text): Promise<void> =>
    page(ctx, found.enrolling.owner, {
      title: 'factors.enrol.title',
      lead: 'factors.enrol.lead',
      ...(problem === undefined ? {} : { status: 400 }),
      form: { action: url(`${base}/app`), subject: subjectOf(found) },
      parts: [...(await enrolment.appParts(found.enrolling, problem)), { part: 'link', text: 'factors.own.back', href: url(base) }],
    });

  const showRemoval = (ctx: Context, found: Here, row: Removable): Promise<void> =>
    page(ctx, found.enrolling.owner, {
      title: 'factors.remove.title',
      lead: row.kind ? nameOf({ kind: row.kind }) : 'factors.kind.unreadable',
      form: { action: url(base), subject: subjectOf(found) },
      parts: [
        { part: 'text', text: 'factors.remove.text' },
        { part: 'button', text: 'factors.remove.submit', name: 'removed', value: row.id },
        { part: 'link', text: 'factors.own.back', href: url(base) },
      ],
    });

  /** The factor goes, and with it every sign-in that may rest on it. This browser is signed in again by the proof that it gave just now. */
  async function remove(
    ctx: Context,
    {
      signedIn: { oid, amr, idp },
      enrolling: {
        owner,
        added: { by, vouchedBy },
      },
    }: Here,
    id: string,
  ): Promise<void> {
    await enrolled.remove(owner, id, by);
    await signOutOf(context, owner, by);
    const account = await directory.accounts.findByOid(oid);
    if (!account) throw new IdpError('not_found');
    const proof = await directory.credentials.proofOf(account);
    // The sign-in may rest on the removed factor. Its voucher is removed too, so a sign-in without a new proof would count for more.
    if (vouchedBy?.by === 'tenant')
      return ownPage.signIn(ctx, base, undefined, { prompt: 'login', loginHint: account.person.user.userName });
    const method = idp === 'local' && amr.includes('pop') ? { method: PASSKEY } : {};
    await ownPage.signIn(ctx, base, undefined, {
      prompt: 'login',
      loginHint: account.person.user.userName,
      signIn: { oid, amr, idp, ...method, proof },
    });
  }

  const done = (ctx: Context, found: Here, outcome: Outcome, again: (problem: Text) => Promise<void>): Promise<void> | void => {
    if ('problem' in outcome) return again(outcome.problem);
    return outcome.codes ? showCodes(ctx, found, outcome.codes) : redirectByGet(ctx, url(base));
  };

  async function takeList(ctx: Context, found: Here): Promise<void> {
    const { own, owner, added } = found.enrolling;
    const wanted = formField(ctx, 'remove') || formField(ctx, 'removed');
    const row = removableOf(own).find(({ id, kind }) => kind !== 'recovery' && id === wanted);
    if (row && formField(ctx, 'removed') !== '') return remove(ctx, found, row.id);
    if (row) return showRemoval(ctx, found, row);
    if (formField(ctx, 'add') === 'app') return redirectByGet(ctx, url(`${base}/app`));
    if (formField(ctx, 'add') === 'codes' && own.isEnrolled)
      return showCodes(ctx, found, await enrolled.recoveryCodes.renew(owner, added.vouchedBy, added.by));
    return redirectByGet(ctx, url(base));
  }

  return function routes(router: ExtensionRouter): void {
    router.get(`${base}/return`, async (ctx: Context) => {
      const next = await ownPage.returned(ctx);
      if (next !== undefined) return redirectByGet(ctx, url(next));
      await view(ctx, {
        title: 'factors.own.title',
        problem: 'factors.own.signedOut',
        status: 403,
        parts: [{ part: 'link', text: 'factors.signIn.again', href: url(base) }],
      });
    });

    router.get(base, async (ctx: Context) => {
      const found = await here(ctx);
      if (found) await list(ctx, found);
    });

    router.postForm(base, posted(takeList));

    router.get(`${base}/app`, async (ctx: Context) => {
      const found = await here(ctx);
      if (!found) return;
      if (found.enrolling.own.totp) return redirectByGet(ctx, url(base));
      await showApp(ctx, found);
    });

    router.postForm(
      `${base}/app`,
      posted(async (ctx, found) =>
        done(ctx, found, await enrolment.addApp(ctx, found.enrolling), (problem) => showApp(ctx, found, problem)),
      ),
    );

    router.postForm(
      `${base}/passkey`,
      posted(async (ctx, found) =>
        done(ctx, found, await enrolment.addPasskey(ctx, found.enrolling), (text) => list(ctx, found, { text, status: 400 })),
      ),
    );
  };
}
