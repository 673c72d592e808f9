/** Consent: the user allows or refuses the scopes that a client requests. */
import type { Context } from 'koa';
import {
  type Account,
  type ExtensionContext,
  formField,
  IdpError,
  type Interaction,
  present,
  redirectByGet,
  shownName,
} from '../../../lib/extension-door.js';
import type { Steps } from './steps.js';

/** Claims whose values users read as data about themselves. Ids, pictures and structures are left out. */
const readableClaims: ReadonlySet<string> = new Set(['name', 'email', 'phone_number', 'company_name', 'role']);

export function createConsentStep(context: ExtensionContext, { form, page, url }: Steps) {
  const { claims, directory, service, signIn, pages } = context;
  const { interactions } = signIn;

  /** Returns the user's data by the scopes that give it to the client. The page is shown without the data if a plugin cannot load its claims. */
  async function dataOf(account: Account, scopes: readonly string[], clientId: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const declared = claims.declared.filter(({ name, scope }) => readableClaims.has(name) && scopes.includes(scope));
    if (declared.length === 0) return new Map();
    const names = new Set(declared.map(({ name }) => name));
    const values = await claims.named(account, names, 'userinfo', clientId).catch((err: unknown) => {
      service.logger.warn({ err, client: clientId }, 'the service showed a consent page without the data of the user');
      return {};
    });
    const data = new Map<string, readonly string[]>();
    for (const { name, scope } of declared) {
      const given = [(values as Record<string, unknown>)[name]].flat().filter((value) => typeof value === 'string' && value !== '');
      if (given.length > 0) data.set(scope, [...(data.get(scope) ?? []), ...(given as string[])]);
    }
    return data;
  }

  return {
    async show(ctx: Context, interaction: Interaction): Promise<void> {
      const account = interaction.oid === undefined ? undefined : await directory.accounts.findByOid(interaction.oid);
      if (!account) throw new IdpError('not_found');
      // Records the sign-in in the history of the user, because the page has data of the user, even if the client gets nothing.
      await signIn.current(ctx, interaction.client.id);
      const requested = interaction.parameters.scope?.split(' ') ?? [];
      const { missingScopes: missing } = interaction;
      const isMore = missing.length > 0 && requested.includes('openid') && !missing.includes('openid');
      const asked = missing.length > 0 ? missing : requested;
      const [words, data] = await Promise.all([pages.scopeDescriptions(), dataOf(account, asked, interaction.client.id)]);
      const scopes = asked.map((name) => ({ name, ...words.get(name), ...present({ data: data.get(name) }) }));
      const withdraw = pages.accountSections.find(({ name }) => name === 'applications')?.href(context);
      const { person, tenant } = account;
      await page(ctx, interaction, {
        page: 'consent',
        ...form(ctx, interaction, '/consent'),
        scopes,
        ...(isMore && { isMore }),
        ...present({ withdraw }),
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
