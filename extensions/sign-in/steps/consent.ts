/** What a client asks for, to be allowed or refused by the user. */
import type { Context } from 'koa';
import { type ExtensionContext, formField, IdpError, type Interaction, redirectByGet, shownName } from '../../../lib/extension-door.js';
import type { Steps } from './steps.js';

export function createConsentStep(
  { directory, signIn: { interactions }, pages: { scopeDescriptions } }: ExtensionContext,
  { form, page, url }: Steps,
) {
  return {
    async show(ctx: Context, interaction: Interaction): Promise<void> {
      const account = interaction.oid === undefined ? undefined : await directory.accounts.findByOid(interaction.oid);
      if (!account) throw new IdpError('not_found');
      const words = await scopeDescriptions();
      const requested = interaction.parameters.scope?.split(' ') ?? [];
      const { missingScopes: missing } = interaction;
      const isMore = missing.length > 0 && requested.includes('openid') && !missing.includes('openid');
      const scopes = (missing.length > 0 ? missing : requested).map((name) => ({ name, ...words.get(name) }));
      const { person, tenant } = account;
      await page(ctx, interaction, {
        page: 'consent',
        ...form(ctx, interaction, '/consent'),
        scopes,
        ...(isMore && { isMore }),
        // Whoever acts as somebody else goes back to be themselves first.
        ...(interaction.act ? {} : { other: url(interaction, '/accounts') }),
        personName: shownName(person),
        userName: person.user.userName,
        tenantName: tenant.name,
      });
    },

    async decide(ctx: Context, interaction: Interaction): Promise<void> {
      // Who has not seen what is asked for cannot have allowed it.
      if (interaction.prompt !== 'consent') return redirectByGet(ctx, url(interaction));
      const isAllowed = formField(ctx, 'decision') === 'allow';
      redirectByGet(ctx, await (isAllowed ? interactions.allow(ctx, interaction) : interactions.abort(ctx, interaction)));
    },
  };
}
