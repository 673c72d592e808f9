/**
 * “Forgotten password?”: a page of the sign-in that asks for a name and reveals nothing about it. The form is enqueued, and the delivery looks up the
 * name. So neither the answer nor its time depends on whether the user exists.
 */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  Attempt,
  afterAnswer,
  chosenLanguage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type Interaction,
  present,
  recordsOfBrowsers,
  redirectByGet,
  type Text,
  wantedLocale,
} from '../../lib/extension-door.js';
import { LOOK_UP, type ResetRequest, resetBrowsers, resetRequests } from './records.js';
import type { Throttle } from './throttle.js';

/** Returns the path to which the password page posts. */
export const forgottenPath = (own: string, uid: string): string => `${own}/interaction/${uid}/forgotten`;

/** Maximum number of characters of a field. */
const LONGEST = 320;
const LONGEST_ORGANISATION = 200;

const nothing: Typed = { identifier: '' };

interface Problem {
  /** Problem of the identifier. */
  readonly problem?: Text;
  /** Problem of the whole form. */
  readonly general?: Text;
  readonly status?: number;
}

/** Values that the user typed. */
interface Typed {
  readonly identifier: string;
  /** Name of the organisation of the account. The name is needed, because only three accounts with the identifier get a reset link. */
  readonly organisation?: string;
}

function createPages({ service: { own, url }, pages: { view } }: ExtensionContext) {
  const signInUrl = ({ uid }: Interaction): string => url(`${own}/interaction/${uid}?restart=yes`);
  const back = (interaction: Interaction) => ({ part: 'link', text: 'passwords.forgotten.back', href: signInUrl(interaction) }) as const;

  return {
    signInUrl,

    ask: (
      ctx: Context,
      interaction: Interaction,
      { identifier, organisation = '' }: Typed,
      { problem, general, status = 200 }: Problem = {},
    ) =>
      view(ctx, {
        interaction,
        title: 'passwords.forgotten.title',
        lead: 'passwords.forgotten.lead',
        status,
        ...present({ problem: general }),
        form: { action: url(forgottenPath(own, interaction.uid)), fields: { step: 'send' } },
        parts: [
          {
            part: 'field',
            name: 'identifier',
            label: 'passwords.forgotten.identifier',
            autocomplete: 'username',
            value: identifier,
            ...present({ problem }),
          },
          {
            part: 'field',
            name: 'organisation',
            label: 'passwords.forgotten.organisation',
            hint: 'passwords.forgotten.organisationHint',
            autocomplete: 'organization',
            value: organisation,
            isOptional: true,
          },
          { part: 'button', text: 'passwords.forgotten.submit' },
          back(interaction),
        ],
      }),

    sent: (ctx: Context, interaction: Interaction, identifier: string) =>
      view(ctx, {
        interaction,
        title: 'passwords.sent.title',
        parts: [
          { part: 'text', text: { key: 'passwords.sent.text', values: { name: identifier } } },
          { part: 'text', text: 'passwords.sent.hint' },
          back(interaction),
        ],
      }),
  };
}

export function forgottenRoutes(router: ExtensionRouter, context: ExtensionContext, throttle: Throttle): void {
  const {
    service: { own },
    impersonation: { inPerson },
    signIn: { interactions },
    directory,
  } = context;
  if (!context.work.mail) return;
  const path = forgottenPath(own, ':uid');
  const { ask, sent, signInUrl } = createPages(context);
  const isOpen = async (interaction: Interaction): Promise<boolean> => (await interactions.ways(interaction)).password;

  router.get(path, inPerson, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    if (!(await isOpen(interaction))) return redirectByGet(ctx, signInUrl(interaction));
    await ask(ctx, interaction, nothing);
  });

  router.postForm(path, {
    open: (ctx) => interactions.load(ctx),
    subject: ({ uid }) => uid,
    again: (ctx, interaction) => ask(ctx, interaction, nothing, { status: 403 }),
    async take(ctx, interaction) {
      if (!(await isOpen(interaction))) return redirectByGet(ctx, signInUrl(interaction));
      const identifier = formField(ctx, 'identifier', LONGEST).trim();
      const organisation = formField(ctx, 'organisation', LONGEST_ORGANISATION).trim();
      const typed = { identifier, organisation };
      if (formField(ctx, 'step') !== 'send') return ask(ctx, interaction, typed);
      if (identifier === '') return ask(ctx, interaction, typed, { problem: 'passwords.forgotten.missing', status: 400 });
      const attempt = new Attempt();
      const minutes = await throttle.request(attempt, directory.accounts.nameKey(identifier), ctx.ip);
      if (minutes !== undefined) {
        ctx.set('Retry-After', String(minutes * 60));
        const general = { key: 'passwords.often', values: { minutes: String(minutes) } };
        return ask(ctx, interaction, typed, { general, status: 429 });
      }
      await attempt.run(() => enqueue(ctx, context, interaction, typed));
      await sent(ctx, interaction, identifier);
    },
  });
}

/** Enqueues the look-up of a name, and starts it after the answer. */
async function enqueue(ctx: Context, context: ExtensionContext, interaction: Interaction, typed: Required<Typed>): Promise<void> {
  const {
    records: { artifact },
    work: { deliver },
    service: { locales },
  } = context;
  const { tids, client, uid, parameters } = interaction;
  const sources = { uiLocales: chosenLanguage(ctx, context) ?? parameters.ui_locales, acceptLanguage: ctx.get('accept-language') };
  const locale = wantedLocale(sources, locales);
  const request: ResetRequest = { ...typed, clientId: client.id, uid, ...(tids && { tids }), ...(locale ? { locale } : {}) };
  const id = randomUUID();
  await artifact(resetRequests).put(id, request);
  await recordsOfBrowsers(context, resetBrowsers).put(ctx, uid);
  const lookUp = await deliver(LOOK_UP, { id });
  afterAnswer(ctx, () => lookUp.release());
}
