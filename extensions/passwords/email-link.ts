/** The pages of a link that proves an e-mail address. */
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  form,
  formField,
  IdpError,
  type LinkRef,
  type OpenedEmailProof,
  redirectByGet,
} from '../../lib/extension-door.js';
import { createMessages } from './messages.js';
import { used } from './records.js';

export function emailLinkRoutes(router: Router, context: ExtensionContext): void {
  const { own, url, directory, inPerson, csrf, view, artifact, brandingOf, logger, requestId } = context;
  const { emailProofs } = directory;
  const messages = createMessages(context);
  const path = `${own}/email/:token`;

  const action = (ctx: Context): string => url(`${own}/email/${String(ctx.params.token)}`);
  const subjectOf = ({ id, serial }: LinkRef): string => `email proof ${id}.${serial}`;
  const mark = (ctx: Context, ref: LinkRef): string => csrf.token(ctx, `used ${subjectOf(ref)}`);
  const lookOf = ({ tenant, clientId }: OpenedEmailProof) => brandingOf(tenant.id, clientId);

  async function opened(ctx: Context): Promise<OpenedEmailProof | undefined> {
    const ref = emailProofs.read(String(ctx.params.token));
    const found = ref && (await emailProofs.open(ref));
    if (!found) await messages.unknown(ctx);
    return found;
  }

  const wasHere = async (ctx: Context, { ref, state }: OpenedEmailProof): Promise<boolean> =>
    state === 'used' && (await artifact(used).read(mark(ctx, ref))) !== undefined;

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
      const status = state === 'unavailable' ? 503 : state === 'taken' ? 409 : 410;
      return view(ctx, { ...look, title: `passwords.${name}.title`, status, parts: [{ part: 'text', text }] });
    }
    await view(ctx, {
      ...look,
      title: 'passwords.proof.title',
      form: { action: action(ctx), subject: subjectOf(ref) },
      parts: [
        { part: 'text', text: { key: 'passwords.proof.text', values } },
        { part: 'button', text: 'passwords.proof.submit' },
      ],
    });
  }

  router.get(path, inPerson, async (ctx: Context) => {
    const found = await opened(ctx);
    if (found) await show(ctx, found);
  });

  router.post(path, inPerson, form, async (ctx: Context) => {
    const found = await opened(ctx);
    if (!found) return;
    const { ref, tenant } = found;
    if (!csrf.check(ctx, subjectOf(ref), formField(ctx, 'csrf'))) return messages.foreign(ctx, await lookOf(found), action(ctx));
    if (found.state !== 'pending') return show(ctx, found);
    try {
      await emailProofs.accept(ref);
    } catch (error) {
      if (!IdpError.is(error, 'proof_over')) throw error;
      const now = await emailProofs.open(ref);
      return now && now.state !== 'pending' ? show(ctx, now) : messages.unknown(ctx);
    }
    logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'e-mail address proven');
    await artifact(used).put(mark(ctx, ref), {});
    redirectByGet(ctx, action(ctx));
  });
}
