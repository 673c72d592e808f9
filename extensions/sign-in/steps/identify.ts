/** Pages for the name and for the password of a user. */
import type { Context } from 'koa';
import {
  cleanText,
  type ExtensionContext,
  type Interaction,
  type Locale,
  locales,
  present,
  type SignInButton,
} from '../../../lib/extension-door.js';
import type { RegistrationStep } from '../registration/registration.js';
import type { PageView } from '../view-models.js';
import type { Steps } from './steps.js';

type More<Page extends 'identifier' | 'password'> = Partial<PageView<Page>>;

export function createIdentifySteps(context: ExtensionContext, { form, page, url }: Steps, registration: RegistrationStep) {
  const {
    directory,
    pages: { texts },
    signIn: { interactions, current },
  } = context;

  /** Returns a button with the texts of its label in each language. */
  const labelled = ({ idp, label, script }: SignInButton) => ({
    idp,
    ...(script && { script }),
    label:
      typeof label === 'string'
        ? (Object.fromEntries(locales.map((locale) => [locale, texts(locale)[label] ?? label])) as Record<Locale, string>)
        : label,
  });

  const identifierView = async (ctx: Context, interaction: Interaction, more: More<'identifier'> = {}) => {
    const { password, buttons } = await interactions.ways(interaction);
    const create = await registration.link(interaction);
    return {
      page: 'identifier',
      ...form(ctx, interaction, '/identifier'),
      // Without password and buttons, a sign-in method may still know the name.
      ...(password || buttons.length === 0 ? {} : { isElsewhere: true }),
      ...present({ create }),
      ...(buttons.length > 0 ? { others: { action: url(interaction, '/method'), buttons: buttons.map(labelled) } } : {}),
      ...more,
    } as PageView<'identifier'>;
  };

  const passwordView = (ctx: Context, interaction: Interaction, identifier: string, more: More<'password'> = {}) =>
    ({
      page: 'password',
      ...form(ctx, interaction, '/password'),
      identifier,
      restart: `${url(interaction)}?restart=yes`,
      ...more,
    }) as PageView<'password'>;

  /** Returns the completely signed-in user and the one requested organisation, if the user has no account there. Other sign-ins are not shown. */
  async function outsideOf(ctx: Context, interaction: Interaction): Promise<PageView<'identifier'>['outside']> {
    const { oid, tids: [tid, ...others] = [] } = interaction;
    if (oid === undefined || tid === undefined || others.length > 0) return undefined;
    const [here, tenant, known] = await Promise.all([
      current(ctx, interaction.client.id),
      directory.tenants.get(tid),
      interactions.accounts(ctx, interaction),
    ]);
    if (here?.oid !== oid || !tenant || here.account.tenant.id === tid || known.some(({ isSignedIn }) => isSignedIn)) return undefined;
    return { userName: here.account.person.user.userName, tenantName: tenant.name };
  }

  return {
    passwordView,
    outsideOf,

    /** Shows the page for a name. */
    askIdentifier: async (ctx: Context, interaction: Interaction, more: More<'identifier'> = {}, status = 200): Promise<void> =>
      page(ctx, interaction, await identifierView(ctx, interaction, more), status),

    /** Shows the page for the password of a name, unless a sign-in method knows the name. */
    async askPassword(ctx: Context, interaction: Interaction, identifier: string): Promise<void> {
      const idp = await interactions.idpOf(interaction, identifier);
      const named = { ...interaction, parameters: { ...interaction.parameters, login_hint: cleanText('userName', identifier) } };
      if (idp !== undefined && (await interactions.begin(ctx, named, idp))) return;
      const { password } = await interactions.ways(interaction);
      await page(ctx, interaction, password ? passwordView(ctx, interaction, identifier) : await identifierView(ctx, interaction));
    },
  };
}
