/**
 * Pages of two mailed links: one proves an e-mail address, the other lets the former address stop the change. In the browser that requested the change, the
 * proof needs a button. In any other browser, the proof needs a sign-in to the account, because the mailbox may belong to another person.
 */
import type { Context } from 'koa';
import {
  type BrowserSignIn,
  type EmailProofState,
  type ExtensionContext,
  type ExtensionRouter,
  IdpError,
  type LinkRef,
  type OpenedEmailProof,
  type OwnPage,
  recordsOfBrowsers,
  redirectByGet,
  type ViewPart,
} from '../../lib/extension-door.js';
import { createMessages } from './messages.js';
import { addressBrowsers, usedLinks } from './records.js';

const statusOf = (state: EmailProofState): number => (state === 'unavailable' ? 503 : state === 'taken' ? 409 : 410);

const subjectOf = ({ id, serial }: LinkRef): string => `email proof ${id}.${serial}`;
const valuesOf = ({ address, person, tenant }: OpenedEmailProof) => ({ address, userName: person.user.userName, tenant: tenant.name });

export function emailLinkRoutes(router: ExtensionRouter, context: ExtensionContext, ownPage: OwnPage): void {
  const {
    service: { own, url, logger },
    directory,
    signIn,
    pages: { view, brandingOf },
    http: { requestId },
  } = context;
  const { emailProofs } = directory;
  const messages = createMessages(context);
  const askedHere = recordsOfBrowsers(context, addressBrowsers);
  const pathOf = (ctx: Context): string => `${own}/email/${String(ctx.params.token)}`;
  const lookOf = ({ tenant, clientId }: OpenedEmailProof) => brandingOf(tenant.id, clientId);

  const isOfUser = ({ ref }: OpenedEmailProof, here: BrowserSignIn | undefined): boolean => here?.oid === ref.id && here.act === undefined;
  /** Returns whether the proof was requested in this browser. The request was made in a sign-in that could change the address, and that has not ended. */
  const wasAskedHere = async (ctx: Context, { requestId: changeId }: OpenedEmailProof): Promise<boolean> =>
    (await askedHere.read(ctx, changeId)) !== undefined;

  router.linkPages<OpenedEmailProof>({
    path: `${own}/email/:token`,
    async open(token) {
      const ref = emailProofs.read(token);
      return ref && emailProofs.open(ref);
    },
    subject: ({ ref }) => subjectOf(ref),
    state: ({ state }) => (state === 'pending' || state === 'used' ? state : 'over'),
    async ask(ctx, opened) {
      const values = valuesOf(opened);
      const here = await signIn.current(ctx);
      const parts: readonly ViewPart[] =
        isOfUser(opened, here) || (await wasAskedHere(ctx, opened))
          ? [
              { part: 'text', text: { key: 'passwords.proof.text', values } },
              { part: 'button', text: 'passwords.proof.submit' },
            ]
          : [
              { part: 'text', text: { key: 'passwords.proof.signInText', values } },
              ...(here ? [{ part: 'text', text: 'passwords.proof.other' } as const] : []),
              { part: 'button', text: 'passwords.proof.signIn' },
            ];
      const form = { action: url(pathOf(ctx)), subject: subjectOf(opened.ref) };
      await view(ctx, { ...(await lookOf(opened)), title: 'passwords.proof.title', form, parts });
    },
    async take(ctx, opened) {
      const { ref, tenant } = opened;
      const here = await signIn.current(ctx);
      const user = isOfUser(opened, here) ? here : undefined;
      if (!(user && (await ownPage.mayChange(user))) && !(await wasAskedHere(ctx, opened))) {
        if (user) return ownPage.signIn(ctx, pathOf(ctx), user);
        const ask = { acrValues: `tenant:${tenant.id}`, ...(here && { prompt: 'select_account' as const }) };
        return ownPage.signIn(ctx, pathOf(ctx), undefined, ask);
      }
      try {
        await emailProofs.accept(ref, user && (await directory.means.ofSignIn(user, user.account)));
      } catch (error) {
        if (IdpError.is(error, 'proof_over')) return 'over';
        throw error;
      }
      logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'a user verified an e-mail address');
      return 'used';
    },
    usedHere: {
      kind: usedLinks,
      async show(ctx, opened) {
        const text = { key: 'passwords.proven.text', values: valuesOf(opened) };
        await view(ctx, { ...(await lookOf(opened)), title: 'passwords.proven.title', parts: [{ part: 'text', text }] });
      },
    },
    async over(ctx, opened) {
      const { state } = opened;
      const name = state === 'taken' ? 'addressTaken' : state;
      const text = state === 'used' ? 'passwords.proven.already' : { key: `passwords.${name}.text`, values: valuesOf(opened) };
      const page = { title: `passwords.${name}.title`, status: statusOf(state), parts: [{ part: 'text', text }] as const };
      await view(ctx, { ...(await lookOf(opened)), ...page });
    },
    unknown: messages.unknown,
    again: async (ctx, opened) => messages.foreign(ctx, await lookOf(opened), url(pathOf(ctx))),
  });
}

/** States in which the former address can stop the change, even if the account cannot sign in now. */
const stoppable: ReadonlySet<EmailProofState> = new Set(['pending', 'taken', 'unavailable']);

/** Adds the pages of the link that is mailed to the former address. The link works without a sign-in, and its pages do not show the new address. */
export function stopLinkRoutes(router: ExtensionRouter, context: ExtensionContext): void {
  const {
    service: { own, url, logger },
    directory,
    pages: { view, brandingOf },
    http: { requestId },
  } = context;
  const { emailProofs } = directory;
  const messages = createMessages(context);
  const subjectOf = ({ id, serial }: LinkRef): string => `email stop ${id}.${serial}`;
  const action = (ctx: Context): string => url(`${own}/email/stop/${String(ctx.params.token)}`);
  const said = ({ tenant }: OpenedEmailProof, name: string) => ({ key: `passwords.stop.${name}`, values: { tenant: tenant.name } });

  router.linkPages<OpenedEmailProof>({
    path: `${own}/email/stop/:token`,
    async open(token) {
      const ref = emailProofs.readStop(token);
      return ref && emailProofs.open(ref);
    },
    subject: ({ ref }) => subjectOf(ref),
    state: ({ state }) => (stoppable.has(state) ? 'pending' : 'over'),
    async ask(ctx, opened) {
      await view(ctx, {
        ...(await brandingOf(opened.tenant.id, opened.clientId)),
        title: 'passwords.stop.title',
        form: { action: action(ctx), subject: subjectOf(opened.ref) },
        parts: [
          { part: 'text', text: said(opened, 'text') },
          { part: 'button', text: 'passwords.stop.submit' },
        ],
      });
    },
    async take(ctx, { ref, tenant }) {
      await emailProofs.stop(ref);
      logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'a user stopped a change of an e-mail address');
      return 'used';
    },
    async over(ctx, opened) {
      const { state, tenant, clientId } = opened;
      // A newer change has its own link, in a newer mail.
      const name = state === 'stopped' || state === 'used' || state === 'expired' ? state : 'replaced';
      const page = { title: `passwords.stop.${name}.title`, status: state === 'stopped' ? 200 : 410 };
      await view(ctx, {
        ...(await brandingOf(tenant.id, clientId)),
        ...page,
        parts: [{ part: 'text', text: said(opened, `${name}.text`) }],
      });
    },
    takeOver: (ctx) => redirectByGet(ctx, action(ctx)),
    unknown: messages.unknown,
    again: async (ctx, { tenant, clientId }) => messages.foreign(ctx, await brandingOf(tenant.id, clientId), action(ctx)),
  });
}
