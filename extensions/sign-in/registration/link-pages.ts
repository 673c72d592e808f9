/**
 * The pages of a link that creates an account. In any other browser than the one that sent the form, the page asks for a new password and shows the
 * names, because a stranger may have filled in the form.
 */
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  formField,
  hashingQueuesOf,
  IdpError,
  type InternalClients,
  linkPageRoutes,
  type RegistrationInput,
  recordsOfBrowsers,
  redirectByGet,
  secondsUntil,
  type Text,
  typedField,
  type ViewPart,
} from '../../../lib/extension-door.js';
import { begun, countInvited, created, registrationIn, throughOf, type Waiting, waiting } from './records.js';
import { createRegistrationLinks } from './sending.js';

const APPLICATION = 'sign-in:registration';

/** For whom the browser signs in with the account that was just made. */
export function registrationClient({ service: { own, issuer } }: ExtensionContext): InternalClients {
  const application = { name: new URL(issuer).host, returnTo: `${own}/register/return` };
  return { find: (id) => (id === APPLICATION ? application : undefined) };
}

/** What comes back with the browser. Nothing of it is secret. */
interface ReturnState {
  readonly tid: string;
  readonly clientId: string;
  /** The sign-in to go on with: that of this browser. */
  readonly uid?: string;
  /** The user is invited, and has not accepted yet. */
  readonly isInvited?: true;
}

/** A registration whose link was opened. */
interface Opened extends Waiting {
  readonly id: string;
}

/** Names and password that the bearer of the link entered. */
type Chosen = Omit<RegistrationInput, 'email'>;
type Problems = Readonly<Partial<Record<keyof RegistrationInput, Text>>>;

/** The texts of what is wrong with a field, and with a password that is long enough. */
const problemOf: Readonly<Record<string, string>> = {
  givenName: 'sign-in.confirm.givenNameInvalid',
  familyName: 'sign-in.confirm.familyNameInvalid',
  password: 'sign-in.confirm.weak',
  weak: 'sign-in.confirm.easy',
  leaked: 'sign-in.confirm.leaked',
};

export function registrationLinkRoutes(router: Router, context: ExtensionContext): void {
  const {
    service: { own, url, logger },
    directory,
    signIn,
    pages: { view, brandingOf },
    records: { artifact },
    http: { requestId },
  } = context;
  if (!context.work.mail) return;
  const links = createRegistrationLinks(context);
  const begunHere = recordsOfBrowsers(context, begun);
  const createdHere = recordsOfBrowsers(context, created);
  const path = `${own}/register`;
  const subjectOf = ({ id }: Opened): string => `register ${id}`;
  const isHere = async (ctx: Context, { id }: Opened): Promise<boolean> => (await begunHere.read(ctx, id)) !== undefined;

  async function message(
    ctx: Context,
    found: Pick<Waiting, 'tid' | 'clientId'> | undefined,
    name: string,
    status: number,
    more: readonly ViewPart[] = [],
    what = 'text',
  ) {
    const look = found ? await brandingOf(found.tid, found.clientId) : {};
    const text: Text = { key: `sign-in.${name}.${what}`, values: { tenant: look.tenant?.name ?? '' } };
    await view(ctx, { ...look, title: `sign-in.${name}.title`, status, parts: [{ part: 'text', text }, ...more] });
  }

  /** Shows that the account was created. An invited user must still accept: this page does not belong to the pages of the invitation. */
  const ready = async (ctx: Context, state: ReturnState | undefined): Promise<void> =>
    message(ctx, state, 'ready', 200, state ? await wayOut(state) : [], state?.isInvited ? 'invited' : 'text');

  /** Back to the application, where it says of itself where that is. */
  async function wayOut({ tid, clientId }: Pick<Waiting, 'tid' | 'clientId'>): Promise<readonly ViewPart[]> {
    const { client } = await brandingOf(tid, clientId);
    const { client_uri: href } = (client?.metadata ?? {}) as { readonly client_uri?: string };
    return href === undefined ? [] : [{ part: 'link', text: { key: 'sign-in.to', values: { client: client?.name ?? '' } }, href }];
  }

  router.get(`${path}/return`, async (ctx: Context) => {
    const answer = await signIn.answer(ctx);
    const state = answer && (JSON.parse(answer.state) as ReturnState);
    const target = state?.uid === undefined ? undefined : await signIn.interactions.restart(ctx, state.uid, 'resume');
    if (target !== undefined) return redirectByGet(ctx, target);
    await ready(ctx, state);
  });

  /** Whether this browser made the account a moment ago; if so, it is told again. */
  async function wasCreatedHere(ctx: Context, id: string): Promise<boolean> {
    const last = (await createdHere.read(ctx, id)) as ReturnState | undefined;
    if (last) await ready(ctx, last);
    return last !== undefined;
  }

  /** The fields of the page in a browser that did not send the form. */
  async function askedElsewhere(
    { tid, prepared, invited }: Opened,
    typed: Partial<Chosen>,
    problems: Problems,
  ): Promise<readonly ViewPart[]> {
    const { passwordLength = 0 } = (await directory.forTenant(tid).registration.rules(throughOf(invited))) ?? {};
    const of = (name: keyof Chosen) => ({
      part: 'field' as const,
      name,
      label: `sign-in.confirm.${name}`,
      ...(problems[name] !== undefined && { problem: problems[name] }),
    });
    const { givenName = '', familyName = '' } = { ...prepared, ...typed };
    return [
      { part: 'text', text: 'sign-in.confirm.elsewhere' },
      { ...of('givenName'), isOptional: true, autocomplete: 'given-name', value: givenName },
      { ...of('familyName'), isOptional: true, autocomplete: 'family-name', value: familyName },
      { ...of('password'), kind: 'password', autocomplete: 'new-password', userName: prepared.email },
      { part: 'text', text: { key: 'sign-in.confirm.rule', values: { length: String(passwordLength) } } },
    ];
  }

  async function show(ctx: Context, found: Opened, typed: Partial<Chosen> = {}, problems: Problems = {}, general?: Text, status = 200) {
    const { tid, clientId, prepared } = found;
    const look = await brandingOf(tid, clientId);
    const values = { tenant: look.tenant?.name ?? '', email: prepared.email };
    await view(ctx, {
      ...look,
      title: 'sign-in.confirm.title',
      status,
      ...(general !== undefined && { problem: general }),
      form: { action: url(`${path}/${String(ctx.params.token)}`), subject: subjectOf(found) },
      parts: [
        { part: 'text', text: { key: 'sign-in.confirm.text', values } },
        ...((await isHere(ctx, found)) ? [] : await askedElsewhere(found, typed, problems)),
        { part: 'button', text: 'sign-in.confirm.submit' },
      ],
    });
  }

  /** Names and password from a browser that did not send the form. Undefined after the page was shown again. */
  async function chosenElsewhere(ctx: Context, found: Opened): Promise<Chosen | undefined> {
    const { tid, prepared, invited } = found;
    const { registration } = directory.forTenant(tid);
    const [givenName, familyName] = [typedField(ctx, 'givenName', 'personName'), typedField(ctx, 'familyName', 'personName')];
    const chosen = { givenName, familyName, password: formField(ctx, 'password') };
    const wrong = await registration.problems({ ...chosen, email: prepared.email }, { hidesTaken: true });
    if (wrong.length === 0) return chosen;
    const { passwordLength = 0 } = (await registration.rules(throughOf(invited))) ?? {};
    const values = { length: String(passwordLength) };
    const problems = Object.fromEntries(
      wrong.map(({ field, rule }) => [field, { key: problemOf[rule ?? ''] ?? problemOf[field] ?? 'sign-in.confirm.weak', values }]),
    );
    await show(ctx, found, chosen, problems, undefined, 400);
    return undefined;
  }

  async function take(ctx: Context, found: Opened): Promise<void> {
    const { id, tid, clientId, uid, prepared, invited } = found;
    const began = await isHere(ctx, found);
    const createdAt = new Date(context.service.now());
    try {
      const chosen = began ? undefined : await chosenElsewhere(ctx, found);
      if (!began && !chosen) return;
      const isFullUntil = await countInvited(context, 'accounts', clientId, invited);
      if (isFullUntil) {
        ctx.set('Retry-After', String(secondsUntil(isFullUntil, context.service.now)));
        return await show(ctx, found, chosen, {}, 'sign-in.confirm.often', 429);
      }
      const registration = registrationIn(context, tid, found);
      const { user } = await registration
        .complete(prepared, chosen, hashingQueuesOf(ctx.ip), throughOf(invited))
        .catch(async (error: unknown) => {
          await countInvited(context, 'accounts', clientId, invited, -1);
          throw error;
        });
      const state: ReturnState = { tid, clientId, ...(began && { uid }), ...(invited && { isInvited: true }) };
      await createdHere.put(ctx, id, state);
      await artifact(waiting).remove(id);
      const account = await directory.accounts.findByOid(user.id);
      if (!account) return await ready(ctx, state);
      logger.info({ requestId: requestId(ctx), user: user.id, tenant: tid }, 'account created');
      const proof = await directory.credentials.proofOf(account, createdAt);
      await signIn.require(ctx, {
        client: APPLICATION,
        state: JSON.stringify(state),
        prompt: 'login',
        loginHint: prepared.email,
        signIn: { oid: user.id, amr: ['pwd'], idp: 'local', proof },
      });
    } catch (error) {
      await refused(ctx, found, error);
    }
  }

  async function refused(ctx: Context, found: Opened, error: unknown): Promise<void> {
    if (IdpError.is(error, 'user_name_taken'))
      return (await wasCreatedHere(ctx, found.id)) ? undefined : message(ctx, found, 'exists', 409, await wayOut(found));
    if (IdpError.is(error, 'not_found')) return message(ctx, found, 'closed', 410);
    if (!IdpError.is(error, 'busy')) throw error;
    ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
    const [givenName, familyName] = [typedField(ctx, 'givenName', 'personName'), typedField(ctx, 'familyName', 'personName')];
    await show(ctx, found, { givenName, familyName }, {}, 'sign-in.confirm.busy', 503);
  }

  linkPageRoutes<Opened>(router, context, {
    path: `${path}/:token`,
    async open(token) {
      const id = links.read(token);
      const found = id === undefined ? undefined : ((await artifact(waiting).read(id)) as Waiting | undefined);
      return found && id !== undefined ? { ...found, id } : undefined;
    },
    subject: subjectOf,
    show: (ctx, found) => show(ctx, found),
    take,
    async unknown(ctx) {
      const id = links.read(String(ctx.params.token));
      if (id === undefined) return message(ctx, undefined, 'unknown', 404);
      if (!(await wasCreatedHere(ctx, id))) await message(ctx, undefined, 'over', 410);
    },
    foreign: (ctx, found) => message(ctx, found, 'foreign', 403),
  });
}
