/** Account chooser: continues as the signed-in user, as a linked account, or as an account that signed in here before. */
import type { Context } from 'koa';
import { type Account, type ExtensionContext, formField, type Interaction, redirectByGet, shownName } from '../../../lib/extension-door.js';
import type { Steps } from './steps.js';

export function createChooser({ signIn: { interactions } }: ExtensionContext, { page, form, url }: Steps) {
  const show = async (ctx: Context, interaction: Interaction, hidden?: string): Promise<boolean> => {
    const remembered = (await interactions.accounts(ctx, interaction)).filter(({ account }) => account.person.user.id !== hidden);
    if (remembered.length === 0) return false;
    const choices = remembered.map(({ account: { person, tenant }, isSignedIn }) => ({
      value: person.user.id,
      tenantName: tenant.name,
      personName: shownName(person),
      userName: person.user.userName,
      isSignedIn,
    }));
    await page(ctx, interaction, {
      page: 'accounts',
      ...form(ctx, interaction, '/account'),
      choices,
      other: `${url(interaction)}?restart=yes`,
    });
    return true;
  };

  return {
    /** Shows the chooser. Returns false if there is no account to choose. */
    show,

    /** Continues as the chosen account. Returns the account if it needs its password first. */
    async choose(ctx: Context, interaction: Interaction): Promise<Account | undefined> {
      const forgotten = formField(ctx, 'forget');
      if (forgotten !== '') {
        interactions.forget(ctx, forgotten);
        if (!(await show(ctx, interaction, forgotten))) redirectByGet(ctx, `${url(interaction)}?restart=yes`);
        return undefined;
      }
      const oid = formField(ctx, 'choice');
      const chosen = (await interactions.accounts(ctx, interaction)).find(({ account }) => account.person.user.id === oid);
      const target = chosen?.isSignedIn ? await interactions.select(ctx, interaction, oid) : undefined;
      if (!target && chosen) return chosen.account;
      redirectByGet(ctx, target ?? url(interaction));
      return undefined;
    },
  };
}
