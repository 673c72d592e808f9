/** Connections as a sign-in method: the buttons, the connection for the domain of a user name, and the redirect to the provider. */
import type { Context } from 'koa';
import {
  type ExtensionContext,
  type Interaction,
  type Locale,
  locales,
  redirectByGet,
  requestedAcr,
  type SignInMethod,
} from '../../lib/extension-door.js';
import { domainOf } from './email-domains.js';
import { type ConnectionLookup, isActive, isFor } from './lookup.js';
import type { Pages } from './pages.js';
import { METHOD } from './people/openings.js';
import type { Connection } from './records.js';
import { type Providers, whyUnfit } from './upstream/provider.js';
import { type Asked, authorizationUrl } from './upstream/request.js';

export interface ConnectionMethod extends SignInMethod {
  /** Sends the browser to the provider, or shows that this is not possible. */
  send(ctx: Context, interaction: Interaction, connection: Connection, asked?: Asked): Promise<void>;
}

export function createMethod(context: ExtensionContext, lookup: ConnectionLookup, providers: Providers, pages: Pages): ConnectionMethod {
  const {
    records: { ofInstance },
    pages: { texts },
    directory,
    service: { logger },
    http: { requestId },
  } = context;

  /** Returns whether a tenant whose users may sign in here can use the connection. */
  const fits = (connection: Connection, { tids }: Pick<Interaction, 'tids'>): boolean =>
    tids === undefined || tids.some((tid) => isFor(connection, ofInstance, tid));

  const label = (name: string) =>
    Object.fromEntries(
      locales.map((locale) => [locale, (texts(locale)['connections.button'] ?? '{method}').replace('{method}', () => name)]),
    ) as Record<Locale, string>;

  const offered = async ({ tids = [] }: Interaction) => (await lookup.ofTenants(tids)).filter(({ hasButton }) => hasButton);

  async function wantsMfa({ parameters, tids }: Interaction): Promise<boolean> {
    if (requestedAcr(parameters).mfa) return true;
    const [only, ...others] = tids ?? [];
    const tenant = only !== undefined && others.length === 0 ? await directory.tenants.get(only) : undefined;
    return tenant?.signIn?.requireMfa === true;
  }

  async function send(ctx: Context, interaction: Interaction, connection: Connection, asked: Asked = {}): Promise<void> {
    const refused = (reason: string, err?: unknown) =>
      logger.warn(
        { err, requestId: requestId(ctx), connection: connection.id, client: interaction.client.id, reason },
        'a sign-in by a connection could not begin',
      );
    if (!fits(connection, interaction)) {
      refused('the connection belongs to another tenant');
      return pages.refused(ctx, interaction, connection, 'wrongTenant');
    }
    try {
      const target = await authorizationUrl(context, providers, connection, interaction, { mfa: await wantsMfa(interaction), ...asked });
      redirectByGet(ctx, target.href);
    } catch (error) {
      refused(whyUnfit(error), error);
      await pages.refused(ctx, interaction, connection, 'failed');
    }
  }

  return {
    name: METHOD,

    async serves(id, tid) {
      const connection = await lookup.recent(id);
      return isActive(connection) && (tid === undefined || isFor(connection, ofInstance, tid));
    },

    buttons: async (interaction) => (await offered(interaction)).map(({ id, name }) => ({ idp: id, label: label(name) })),

    async idpOf(identifier, interaction) {
      const domain = domainOf(identifier);
      const connection = domain === undefined ? undefined : await lookup.ofDomain(domain);
      return connection && fits(connection, interaction) ? connection.id : undefined;
    },

    async begin(ctx, interaction, idp) {
      if (idp !== METHOD) {
        const connection = await lookup.get(idp);
        const name = connection?.name ?? idp;
        if (isActive(connection)) return send(ctx, interaction, connection);
        return pages.refused(ctx, interaction, { id: idp, name }, 'failed');
      }
      const all = await offered(interaction);
      const [only] = all;
      if (only && all.length === 1) return send(ctx, interaction, only);
      if (only) return pages.providers(ctx, interaction, all);
      return pages.lost(ctx);
    },

    send,
  };
}
