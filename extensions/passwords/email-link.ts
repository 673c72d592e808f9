/**
 * The pages of two mailed links: one proves an e-mail address, and one lets the former address stop the change. In the browser that asked, the proof needs
 * a button. In any other browser it needs a sign-in to the account, because the owner of the mailbox may not be the owner of the account.
 */
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type BrowserSignIn,
  type EmailProofState,
  type ExtensionContext,
  IdpError,
  type LinkRef,
  linkPageRoutes,
  type OpenedEmailProof,
  type OwnPage,
  recordsOfBrowsers,
  redirectByGet,
  type ViewPart,
} from '../../lib/extension-door.js';
import { createMessages } from './messages.js';
import { emailAsked, used } from './records.js';

const statusOf = (state: EmailProofState): number => (state === 'unavailable' ? 503 : state === 'taken' ? 409 : 410);

export function emailLinkRoutes(router: Router, context: ExtensionContext, ownPage: OwnPage): void {
  const {
    service: { own, url, logger },
    directory,
    signIn,
    pages: { view, brandingOf },
    http: { requestId },
  } = context;
  const { emailProofs } = directory;
  const messages = createMessages(context);
  const askedHere = recordsOfBrowsers(context, emailAsked);
  const usedHere = recordsOfBrowsers(context, used);
  const subjectOf = ({ id, serial }: LinkRef): string => `email proof ${id}.${serial}`;
  const pathOf = (ctx: Context): string => `${own}/email/${String(ctx.params.token)}`;
  const action = (ctx: Context): string => url(pathOf(ctx));
  const lookOf = ({ tenant, clientId }: OpenedEmailProof) => brandingOf(tenant.id, clientId);

  const wasHere = async (ctx: Context, { ref, state }: OpenedEmailProof): Promise<boolean> =>
    state === 'used' && (await usedHere.read(ctx, subjectOf(ref))) !== undefined;

  /** Whether the browser speaks for the account: it asked for the proof, or the person of the account is signed in. */
  const isTheirs = async (ctx: Context, { requestId: asked, ref }: OpenedEmailProof, here: BrowserSignIn | undefined): Promise<boolean> =>
    (here?.oid === ref.id && !here.act) || (await askedHere.read(ctx, asked)) !== undefined;

  async function show(ctx: Context, found: OpenedEmailProof): Promise<void> {
    const { state, address, person, tenant, ref } = found;
    const look = await lookOf(found);
    const values = { address, userName: person.user.userName, tenant: tenant.name };
    if (await wasHere(ctx, found)) {
      const text = { key: 'passwords.proven.text', values };
      return view(ctx, { ...look, title: 'passwords.proven.title', parts: [{ part: 'text', text }] });
    }
    if (state !== 'pending') {
      const name = state === 'taken' ? 'addressTaken' : state;
      const text = state === 'used' ? 'passwords.proven.already' : { key: `passwords.${name}.text`, values };
      return view(ctx, { ...look, title: `passwords.${name}.title`, status: statusOf(state), parts: [{ part: 'text', text }] });
    }
    const here = await signIn.current(ctx);
    const parts: readonly ViewPart[] = (await isTheirs(ctx, found, here))
      ? [
          { part: 'text', text: { key: 'passwords.proof.text', values } },
          { part: 'button', text: 'passwords.proof.submit' },
        ]
      : [
          { part: 'text', text: { key: 'passwords.proof.signInText', values } },
          ...(here ? [{ part: 'text', text: 'passwords.proof.other' } as const] : []),
          { part: 'button', text: 'passwords.proof.signIn' },
        ];
    await view(ctx, { ...look, title: 'passwords.proof.title', form: { action: action(ctx), subject: subjectOf(ref) }, parts });
  }

  linkPageRoutes<OpenedEmailProof>(router, context, {
    path: `${own}/email/:token`,
    async open(token) {
      const ref = emailProofs.read(token);
      return ref && emailProofs.open(ref);
    },
    subject: ({ ref }) => subjectOf(ref),
    show,
    async take(ctx, found) {
      const { ref, tenant } = found;
      if (found.state !== 'pending') return show(ctx, found);
      const here = await signIn.current(ctx);
      if (!(await isTheirs(ctx, found, here))) {
        const ask = { acrValues: `tenant:${tenant.id}`, ...(here && { prompt: 'select_account' as const }) };
        return ownPage.signIn(ctx, pathOf(ctx), undefined, ask);
      }
      try {
        await emailProofs.accept(ref, here?.oid === ref.id ? await directory.means.ofSignIn(here, here.account) : undefined);
      } catch (error) {
        if (!IdpError.is(error, 'proof_over')) throw error;
        const now = await emailProofs.open(ref);
        return now ? show(ctx, now) : messages.unknown(ctx);
      }
      logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'e-mail address proven');
      await usedHere.put(ctx, subjectOf(ref));
      redirectByGet(ctx, action(ctx));
    },
    unknown: messages.unknown,
    foreign: async (ctx, found) => messages.foreign(ctx, await lookOf(found), action(ctx)),
  });
}

/** The states in which the former address can stop the change, even if the account cannot sign in now. */
const stoppable: ReadonlySet<EmailProofState> = new Set(['pending', 'taken', 'unavailable']);

/** The link to the former address. It works without a sign-in, and does not show the new address. */
export function stopLinkRoutes(router: Router, context: ExtensionContext): void {
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

  linkPageRoutes<OpenedEmailProof>(router, context, {
    path: `${own}/email/stop/:token`,
    async open(token) {
      const ref = emailProofs.readStop(token);
      return ref && emailProofs.open(ref);
    },
    subject: ({ ref }) => subjectOf(ref),
    async show(ctx, { state, ref, tenant, clientId }) {
      const look = await brandingOf(tenant.id, clientId);
      const said = (name: string) => ({ key: `passwords.stop.${name}`, values: { tenant: tenant.name } });
      if (stoppable.has(state))
        return view(ctx, {
          ...look,
          title: 'passwords.stop.title',
          form: { action: action(ctx), subject: subjectOf(ref) },
          parts: [
            { part: 'text', text: said('text') },
            { part: 'button', text: 'passwords.stop.submit' },
          ],
        });
      // A newer change has a link of its own, in a newer mail.
      const name = state === 'stopped' || state === 'used' || state === 'expired' ? state : 'replaced';
      const status = state === 'stopped' ? 200 : 410;
      await view(ctx, { ...look, title: `passwords.stop.${name}.title`, status, parts: [{ part: 'text', text: said(`${name}.text`) }] });
    },
    async take(ctx, { state, ref, tenant }) {
      if (stoppable.has(state)) {
        await emailProofs.stop(ref);
        logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'change of an e-mail address stopped');
      }
      redirectByGet(ctx, action(ctx));
    },
    unknown: messages.unknown,
    foreign: async (ctx, { tenant, clientId }) => messages.foreign(ctx, await brandingOf(tenant.id, clientId), action(ctx)),
  });
}
