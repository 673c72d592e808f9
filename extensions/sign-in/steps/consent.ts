/** Consent: the user allows or refuses the scopes that a client requests. */
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
        // An impersonator can choose no other account before the impersonation ends.
        ...(interaction.act ? {} : { other: url(interaction, '/accounts') }),
        personName: shownName(person),
        userName: person.user.userName,
        tenantName: tenant.name,
      });
    },

    async decide(ctx: Context, interaction: Interaction): Promise<void> {
      // A user who has not seen the scopes cannot have allowed them.
      if (interaction.prompt !== 'consent') return redirectByGet(ctx, url(interaction));
      const isAllowed = formField(ctx, 'decision') === 'allow';
      redirectByGet(ctx, await (isAllowed ? interactions.allow(ctx, interaction) : interactions.abort(ctx, interaction)));
    },
  };
}
