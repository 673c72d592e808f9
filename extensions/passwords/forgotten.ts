/**
 * “Forgotten password?”: a page of the sign-in that asks for a name, and tells nothing of it. The form goes into the queue, and the name is looked up there,
 * so that neither what is answered nor how long it takes depends on whether there is such a user.
 */
import { randomUUID } from 'node:crypto';
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  afterAnswer,
  chosenLanguage,
  type ExtensionContext,
  form,
  formField,
  type Interaction,
  present,
  recordsOfBrowsers,
  redirectByGet,
  type Text,
  type View,
  wantedLocale,
} from '../../lib/extension-door.js';
import { type Asked, asked, begun, LOOK_UP } from './records.js';
import type { Throttle } from './throttle.js';

/** Where the password page posts to. */
export const forgottenPath = (own: string, uid: string): string => `${own}/interaction/${uid}/forgotten`;

/** Characters of what is typed. */
const LONGEST = 320;
const LONGEST_ORGANISATION = 200;

const nothing: Typed = { identifier: '' };

/** What the person typed. */
interface Typed {
  readonly identifier: string;
  /** Name of the organisation of the account. Needed because only three accounts with the identifier get a link. */
  readonly organisation?: string;
}

export function forgottenRoutes(router: Router, context: ExtensionContext, throttle: Throttle): void {
  const {
    service: { own, url, locales },
    impersonation: { inPerson },
    signIn: { interactions },
    http: { csrf },
    pages: { view },
    records: { artifact },
    work: { deliver },
    directory,
  } = context;
  if (!context.work.mail) return;
  const path = forgottenPath(own, ':uid');

  const signInUrl = ({ uid }: Interaction): string => url(`${own}/interaction/${uid}?restart=yes`);
  const isOpen = async (interaction: Interaction): Promise<boolean> => (await interactions.ways(interaction)).password;

  const ask = (
    ctx: Context,
    interaction: Interaction,
    { identifier, organisation = '' }: Typed,
    more: { problem?: Text; general?: Text; status?: number } = {},
  ) => {
    const { problem, general, status = 200 } = more;
    return view(ctx, {
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
          autocomplete: 'organization',
          value: organisation,
          isOptional: true,
        },
        { part: 'button', text: 'passwords.forgotten.submit' },
        { part: 'link', text: 'passwords.forgotten.back', href: signInUrl(interaction) },
      ],
    });
  };

  const sent = (identifier: string, interaction: Interaction): View => ({
    interaction,
    title: 'passwords.sent.title',
    parts: [
      { part: 'text', text: { key: 'passwords.sent.text', values: { name: identifier } } },
      { part: 'text', text: 'passwords.sent.hint' },
      { part: 'link', text: 'passwords.forgotten.back', href: signInUrl(interaction) },
    ],
  });

  router.get(path, inPerson, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    if (!(await isOpen(interaction))) return redirectByGet(ctx, signInUrl(interaction));
    await ask(ctx, interaction, nothing);
  });

  router.post(path, inPerson, form, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    const identifier = formField(ctx, 'identifier').trim().slice(0, LONGEST);
    // The form of another browser is shown as a new one.
    if (!csrf.check(ctx, interaction.uid, formField(ctx, 'csrf'))) return ask(ctx, interaction, nothing, { status: 403 });
    if (!(await isOpen(interaction))) return redirectByGet(ctx, signInUrl(interaction));
    const organisation = formField(ctx, 'organisation').trim().slice(0, LONGEST_ORGANISATION);
    const typed = { identifier, organisation };
    if (formField(ctx, 'step') !== 'send') return ask(ctx, interaction, typed);
    if (identifier === '') return ask(ctx, interaction, typed, { problem: 'passwords.forgotten.missing', status: 400 });
    const minutes = await throttle.request(directory.accounts.nameKey(identifier), ctx.ip);
    if (minutes !== undefined) {
      ctx.set('Retry-After', String(minutes * 60));
      const general = { key: 'passwords.often', values: { minutes: String(minutes) } };
      return ask(ctx, interaction, typed, { general, status: 429 });
    }
    const { tids, client, uid, parameters } = interaction;
    const sources = { uiLocales: chosenLanguage(ctx, context) ?? parameters.ui_locales, acceptLanguage: ctx.get('accept-language') };
    const locale = wantedLocale(sources, locales);
    const request: Asked = { ...typed, clientId: client.id, uid, ...(tids && { tids }), ...(locale ? { locale } : {}) };
    const id = randomUUID();
    await artifact(asked).put(id, request);
    await recordsOfBrowsers(context, begun).put(ctx, uid);
    const lookUp = await deliver(LOOK_UP, { id });
    afterAnswer(ctx, () => lookUp.release());
    await view(ctx, sent(identifier, interaction));
  });
}
