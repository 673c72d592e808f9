/**
 * Pages of a registration link, which creates an account. In other browsers than the sender's, the page shows the names and requires a new password,
 * because an attacker may have filled in the form.
 */
import type { Context } from 'koa';
import {
  Attempt,
  type Directory,
  type ExtensionContext,
  type ExtensionRouter,
  hashingQueuesOf,
  IdpError,
  type InternalClients,
  passwordField,
  type RegistrationInput,
  recordsOfBrowsers,
  redirectByGet,
  secondsUntil,
  type Text,
  typedField,
  type ViewPart,
} from '../../../lib/extension-door.js';
import {
  countInvited,
  creatingBrowsers,
  registrationBrowsers,
  registrationIn,
  throughOf,
  type WaitingRegistration,
  waitingRegistrations,
} from './records.js';
import { createRegistrationLinks } from './sending.js';

const APPLICATION = 'sign-in:registration';

/** Returns the internal application for which the browser signs in with the new account. */
export function registrationClient({ service: { own } }: ExtensionContext): InternalClients {
  const application = { returnTo: `${own}/register/return`, isPage: true };
  return { find: (id) => (id === APPLICATION ? application : undefined) };
}

/** State of the sign-in that follows. The state contains no secret. */
interface ReturnState {
  readonly tid: string;
  readonly clientId: string;
  /** Sign-in of this browser that continues. */
  readonly uid?: string;
  /** Whether the user has been invited, and has not accepted yet. */
  readonly isInvited?: true;
}

/** A registration whose registration link was opened. */
interface Opened extends WaitingRegistration {
  readonly id: string;
}

/** Names and password that the user of the registration link entered. */
type Chosen = Omit<RegistrationInput, 'email'>;
type Problems = Readonly<Partial<Record<keyof RegistrationInput, Text>>>;

/** Typed values and problems of a page that is shown again. */
interface Again {
  readonly typed?: Partial<Chosen>;
  readonly problems?: Problems;
  /** Problem of the whole form. */
  readonly general?: Text;
  readonly status?: number;
}

/** Texts of invalid fields, and of passwords that are long enough but break a rule. */
const problemOf: Readonly<Record<string, string>> = {
  givenName: 'sign-in.confirm.givenNameInvalid',
  familyName: 'sign-in.confirm.familyNameInvalid',
  password: 'sign-in.confirm.weak',
  weak: 'sign-in.confirm.easy',
  leaked: 'sign-in.confirm.leaked',
};

type LinkParts = ReturnType<typeof createLinkParts>;

function createLinkParts(context: ExtensionContext) {
  const {
    service: { own, url },
    directory,
    pages: { view, brandingOf },
  } = context;
  const begunHere = recordsOfBrowsers(context, registrationBrowsers);
  const createdHere = recordsOfBrowsers(context, creatingBrowsers);

  const isHere = async (ctx: Context, { id }: Opened): Promise<boolean> => (await begunHere.read(ctx, id)) !== undefined;

  async function message(
    ctx: Context,
    about: Pick<WaitingRegistration, 'tid' | 'clientId'> | undefined,
    name: string,
    status: number,
    more: readonly ViewPart[] = [],
    what = 'text',
  ) {
    const look = about ? await brandingOf(about.tid, about.clientId) : {};
    const text: Text = { key: `sign-in.${name}.${what}`, values: { tenant: look.tenant?.name ?? '' } };
    await view(ctx, { ...look, title: `sign-in.${name}.title`, status, parts: [{ part: 'text', text }, ...more] });
  }

  /** Returns the link to the application, if the client has a `client_uri`. */
  async function wayOut({ tid, clientId }: Pick<WaitingRegistration, 'tid' | 'clientId'>): Promise<readonly ViewPart[]> {
    const { client } = await brandingOf(tid, clientId);
    const { client_uri: href } = (client?.metadata ?? {}) as { readonly client_uri?: string };
    return href === undefined ? [] : [{ part: 'link', text: { key: 'sign-in.to', values: { client: client?.name ?? '' } }, href }];
  }

  /** Shows that the account was created. An invited user must still accept, because this page is not a page of the invitation. */
  const ready = async (ctx: Context, state: ReturnState | undefined): Promise<void> =>
    message(ctx, state, 'ready', 200, state ? await wayOut(state) : [], state?.isInvited ? 'invited' : 'text');

  return {
    context,
    path: `${own}/register`,
    links: createRegistrationLinks(context),
    createdHere,
    isHere,
    message,
    wayOut,
    ready,

    async show(ctx: Context, opened: Opened, { typed = {}, problems = {}, general, status = 200 }: Again = {}): Promise<void> {
      const { tid, clientId, prepared } = opened;
      const look = await brandingOf(tid, clientId);
      const values = { tenant: look.tenant?.name ?? '', email: prepared.email };
      await view(ctx, {
        ...look,
        title: 'sign-in.confirm.title',
        status,
        ...(general !== undefined && { problem: general }),
        form: { action: url(`${own}/register/${String(ctx.params.token)}`), subject: subjectOf(opened) },
        parts: [
          { part: 'text', text: { key: 'sign-in.confirm.text', values } },
          ...((await isHere(ctx, opened)) ? [] : await askedElsewhere(directory, opened, typed, problems)),
          { part: 'button', text: 'sign-in.confirm.submit' },
        ],
      });
    },

    /** Returns whether this browser just created the account. If so, shows the page again. */
    async wasCreatedHere(ctx: Context, id: string): Promise<boolean> {
      const last = (await createdHere.read(ctx, id)) as ReturnState | undefined;
      if (last) await ready(ctx, last);
      return last !== undefined;
    },
  };
}

const subjectOf = ({ id }: Opened): string => `register ${id}`;

/** Returns the fields for a browser that did not send the form. */
async function askedElsewhere(
  directory: Directory,
  { tid, prepared, invited }: Opened,
  typed: Partial<Chosen>,
  problems: Problems,
): Promise<readonly ViewPart[]> {
  const { passwordLength = 0 } = (await directory.forTenant(tid).registration.rules(throughOf(invited))) ?? {};
  const fieldOf = (name: keyof Chosen) => ({
    part: 'field' as const,
    name,
    label: `sign-in.confirm.${name}`,
    ...(problems[name] !== undefined && { problem: problems[name] }),
  });
  const { givenName = '', familyName = '' } = { ...prepared, ...typed };
  return [
    { part: 'text', text: 'sign-in.confirm.elsewhere' },
    { ...fieldOf('givenName'), isOptional: true, autocomplete: 'given-name', value: givenName },
    { ...fieldOf('familyName'), isOptional: true, autocomplete: 'family-name', value: familyName },
    {
      ...fieldOf('password'),
      kind: 'password',
      autocomplete: 'new-password',
      userName: prepared.email,
      hint: { key: 'sign-in.confirm.rule', values: { length: String(passwordLength) } },
    },
  ];
}

const typedNames = (ctx: Context) => ({
  givenName: typedField(ctx, 'givenName', 'personName'),
  familyName: typedField(ctx, 'familyName', 'personName'),
});

export function registrationLinkRoutes(router: ExtensionRouter, context: ExtensionContext): void {
  if (!context.work.mail) return;
  const parts = createLinkParts(context);
  const { path, links, message, ready, show, wasCreatedHere } = parts;
  const {
    records: { artifact },
    signIn,
  } = context;

  router.get(`${path}/return`, async (ctx: Context) => {
    const answer = await signIn.answer(ctx);
    const state = answer && (JSON.parse(answer.state) as ReturnState);
    const target = state?.uid === undefined ? undefined : await signIn.interactions.restart(ctx, state.uid, 'resume');
    if (target !== undefined) return redirectByGet(ctx, target);
    await ready(ctx, state);
  });

  router.linkPages<Opened>({
    path: `${path}/:token`,
    async open(token) {
      const id = links.read(token);
      const record = id === undefined ? undefined : ((await artifact(waitingRegistrations).read(id)) as WaitingRegistration | undefined);
      return record && id !== undefined ? { ...record, id } : undefined;
    },
    subject: subjectOf,
    ask: (ctx, opened) => show(ctx, opened),
    async take(ctx, opened) {
      try {
        await createAccount(ctx, opened, parts);
      } catch (error) {
        await refused(ctx, opened, error, parts);
      }
    },
    async unknown(ctx) {
      const id = links.read(String(ctx.params.token));
      if (id === undefined) return message(ctx, undefined, 'unknown', 404);
      if (!(await wasCreatedHere(ctx, id))) await message(ctx, undefined, 'over', 410);
    },
    again: (ctx, opened) => message(ctx, opened, 'foreign', 403),
  });
}

/** Creates the account and signs the browser in, or shows the page again. */
async function createAccount(ctx: Context, opened: Opened, parts: LinkParts): Promise<void> {
  const { context, isHere, show, ready, createdHere } = parts;
  const {
    records: { artifact },
    directory,
    signIn: { require: requireSignIn },
    service: { logger },
    http: { requestId },
  } = context;
  const { id, tid, clientId, uid, prepared, invited } = opened;
  const began = await isHere(ctx, opened);
  const createdAt = new Date(context.service.now());
  const chosen = began ? undefined : await chosenElsewhere(ctx, opened, parts);
  if (!began && !chosen) return;
  const attempt = new Attempt();
  const isFullUntil = await countInvited(context, attempt, 'accounts', clientId, invited);
  if (isFullUntil) {
    ctx.set('Retry-After', String(secondsUntil(isFullUntil, context.service.now)));
    return show(ctx, opened, { ...(chosen && { typed: chosen }), general: 'sign-in.confirm.often', status: 429 });
  }
  const registration = registrationIn(context, tid, opened);
  const { user } = await registration
    .complete(prepared, chosen, hashingQueuesOf(ctx.ip), throughOf(invited))
    .catch(async (error: unknown) => {
      await attempt.giveBack();
      throw error;
    });
  const state: ReturnState = { tid, clientId, ...(began && { uid }), ...(invited && { isInvited: true }) };
  await createdHere.put(ctx, id, state);
  await artifact(waitingRegistrations).remove(id);
  const account = await directory.accounts.findByOid(user.id);
  if (!account) return ready(ctx, state);
  logger.info({ requestId: requestId(ctx), user: user.id, tenant: tid }, 'account created');
  const proof = await directory.credentials.proofOf(account, createdAt);
  await requireSignIn(ctx, {
    client: APPLICATION,
    state: JSON.stringify(state),
    prompt: 'login',
    loginHint: prepared.email,
    signIn: { oid: user.id, amr: ['pwd'], idp: 'local', proof },
  });
}

/** Reads names and password from a browser that did not send the form. Returns undefined after it showed the page again. */
async function chosenElsewhere(ctx: Context, opened: Opened, { context: { directory }, show }: LinkParts): Promise<Chosen | undefined> {
  const { tid, prepared, invited } = opened;
  const { registration } = directory.forTenant(tid);
  const chosen = { ...typedNames(ctx), password: passwordField(ctx, 'password') };
  const wrong = await registration.problems({ ...chosen, email: prepared.email }, { hidesTaken: true });
  if (wrong.length === 0) return chosen;
  const { passwordLength = 0 } = (await registration.rules(throughOf(invited))) ?? {};
  const values = { length: String(passwordLength) };
  const problems = Object.fromEntries(
    wrong.map(({ field, rule }) => [field, { key: problemOf[rule ?? ''] ?? problemOf[field] ?? 'sign-in.confirm.weak', values }]),
  );
  await show(ctx, opened, { typed: chosen, problems, status: 400 });
  return undefined;
}

async function refused(ctx: Context, opened: Opened, error: unknown, { message, show, wasCreatedHere, wayOut }: LinkParts): Promise<void> {
  if (IdpError.is(error, 'user_name_taken'))
    return (await wasCreatedHere(ctx, opened.id)) ? undefined : message(ctx, opened, 'exists', 409, await wayOut(opened));
  if (IdpError.is(error, 'not_found')) return message(ctx, opened, 'closed', 410);
  if (!IdpError.is(error, 'busy')) throw error;
  ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
  await show(ctx, opened, { typed: typedNames(ctx), general: 'sign-in.confirm.busy', status: 503 });
}
