/** The pages of a link that creates an account. Opening it changes nothing, because mail scanners open links; a form is posted by who means it. */
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  form,
  formField,
  IdpError,
  type InternalClients,
  redirectByGet,
  type Text,
  type ViewPart,
} from '../../../lib/extension-door.js';
import { begun, created, type Waiting, waiting } from './records.js';
import { createRegistrationLinks } from './sending.js';

const APPLICATION = 'sign-in:registration';

/** For whom the browser signs in with the account that was just made. */
export function registrationClient({ own, issuer }: ExtensionContext): InternalClients {
  const application = { name: new URL(issuer).host, returnTo: `${own}/register/return` };
  return { find: (id) => (id === APPLICATION ? application : undefined) };
}

/** What comes back with the browser. Nothing of it is secret. */
interface ReturnState {
  readonly tid: string;
  readonly clientId: string;
  /** The sign-in to go on with: that of this browser. */
  readonly uid?: string;
}

export function registrationLinkRoutes(router: Router, context: ExtensionContext): void {
  const { own, url, directory, inPerson, interactions, csrf, view, artifact, brandingOf, requireSignIn, signInAnswer, logger, requestId } =
    context;
  if (!context.mail) return;
  const links = createRegistrationLinks(context);
  const path = `${own}/register`;
  const subjectOf = (id: string): string => `register ${id}`;
  const mark = (ctx: Context, id: string): string => csrf.token(ctx, `created ${id}`);

  async function message(
    ctx: Context,
    found: Pick<Waiting, 'tid' | 'clientId'> | undefined,
    name: string,
    status: number,
    more: readonly ViewPart[] = [],
  ) {
    const look = found ? await brandingOf(found.tid, found.clientId) : {};
    const text: Text = { key: `sign-in.${name}.text`, values: { tenant: look.tenant?.name ?? '' } };
    await view(ctx, { ...look, title: `sign-in.${name}.title`, status, parts: [{ part: 'text', text }, ...more] });
  }

  /** Back to the application, where it says of itself where that is. */
  async function wayOut({ tid, clientId }: Pick<Waiting, 'tid' | 'clientId'>): Promise<readonly ViewPart[]> {
    const { client } = await brandingOf(tid, clientId);
    const { client_uri: href } = (client?.metadata ?? {}) as { readonly client_uri?: string };
    return href === undefined ? [] : [{ part: 'link', text: { key: 'sign-in.to', values: { client: client?.name ?? '' } }, href }];
  }

  router.get(`${path}/return`, async (ctx: Context) => {
    const answer = await signInAnswer(ctx);
    const state = answer && (JSON.parse(answer.state) as ReturnState);
    const target = state?.uid === undefined ? undefined : await interactions.restart(ctx, state.uid, 'resume');
    if (target !== undefined) return redirectByGet(ctx, target);
    await message(ctx, state, 'ready', 200, state ? await wayOut(state) : []);
  });

  /** What the link in the path is of; undefined once a page was shown instead. */
  async function opened(ctx: Context): Promise<(Waiting & { readonly id: string }) | undefined> {
    const id = links.read(String(ctx.params.token));
    const found = id === undefined ? undefined : ((await artifact(waiting).read(id)) as Waiting | undefined);
    if (found && id !== undefined) return { ...found, id };
    if (id === undefined || !(await wasCreatedHere(ctx, id)))
      await message(ctx, undefined, id === undefined ? 'unknown' : 'over', id === undefined ? 404 : 410);
    return undefined;
  }

  /** Whether this browser made the account a moment ago; if so, it is told again. */
  async function wasCreatedHere(ctx: Context, id: string): Promise<boolean> {
    const last = (await artifact(created).read(mark(ctx, id))) as ReturnState | undefined;
    if (last) await message(ctx, last, 'ready', 200, await wayOut(last));
    return last !== undefined;
  }

  router.get(`${path}/:token`, inPerson, async (ctx: Context) => {
    const found = await opened(ctx);
    if (!found) return;
    const { id, tid, clientId, prepared } = found;
    const look = await brandingOf(tid, clientId);
    const values = { tenant: look.tenant?.name ?? '', email: prepared.email };
    await view(ctx, {
      ...look,
      title: 'sign-in.confirm.title',
      form: { action: url(`${path}/${String(ctx.params.token)}`), subject: subjectOf(id) },
      parts: [
        { part: 'text', text: { key: 'sign-in.confirm.text', values } },
        { part: 'button', text: 'sign-in.confirm.submit' },
      ],
    });
  });

  router.post(`${path}/:token`, inPerson, form, async (ctx: Context) => {
    const found = await opened(ctx);
    if (!found) return;
    const { id, tid, clientId, uid, prepared } = found;
    if (!csrf.check(ctx, subjectOf(id), formField(ctx, 'csrf'))) return message(ctx, found, 'foreign', 403);
    const createdAt = new Date();
    try {
      const { user } = await directory.forTenant(tid).registration.complete(prepared);
      const isHere = (await artifact(begun).read(csrf.token(ctx, `begun ${id}`))) !== undefined;
      const state: ReturnState = { tid, clientId, ...(isHere && { uid }) };
      await artifact(created).put(mark(ctx, id), state);
      await artifact(waiting).remove(id);
      const account = await directory.accounts.findByOid(user.id);
      if (!account) return message(ctx, found, 'ready', 200);
      logger.info({ requestId: requestId(ctx), user: user.id, tenant: tid }, 'account created');
      const proof = await directory.credentials.proofOf(account, createdAt);
      await requireSignIn(ctx, {
        client: APPLICATION,
        state: JSON.stringify(state),
        prompt: 'login',
        loginHint: prepared.email,
        signIn: { oid: user.id, amr: ['pwd'], idp: 'local', proof },
      });
    } catch (error) {
      if (IdpError.is(error, 'user_name_taken'))
        return (await wasCreatedHere(ctx, id)) ? undefined : message(ctx, found, 'exists', 409, await wayOut(found));
      if (IdpError.is(error, 'not_found')) return message(ctx, found, 'closed', 410);
      throw error;
    }
  });
}
