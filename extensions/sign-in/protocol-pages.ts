/** Pages of the protocol and of extensions. */

import type { Context } from 'koa';
import type { Client, ExtensionContext, ProtocolPage, ShowPage, View } from '../../lib/extension-door.js';
import { canParseUrl, present } from '../../lib/extension-door.js';
import { resolveView } from './extension-view.js';
import { localeOf, type Surroundings, show } from './show.js';
import { createSteps } from './steps/steps.js';
import type { DeveloperDetail, PageView } from './view-models.js';

/** Pages about failures, which are shown even if the same failure keeps their frame from being read. */
const failures = new Set<ProtocolPage['page']>(['error', 'expired', 'unavailable', 'under-way', 'no-cookies', 'wrong-link', 'not-found']);

export function createShowPage(context: ExtensionContext): ShowPage {
  const { form, surroundings } = createSteps(context);

  async function showView(ctx: Context, view: View): Promise<void> {
    const { interaction, client, tenant, uiLocales, status = 200 } = view;
    const around: Surroundings = interaction ? await surroundings(interaction) : { client, tenant, uiLocales };
    const locale = localeOf(ctx, context, around);
    const subject = view.form?.subject ?? interaction?.uid;
    const ofInteraction = interaction ? form(ctx, interaction, '') : {};
    const guard = subject === undefined ? {} : { ...ofInteraction, csrf: context.http.csrf.token(ctx, subject) };
    ctx.status = status;
    await show(ctx, context, resolveView(view, { locale, texts: context.pages.texts(locale) }, guard), around);
  }

  return async (ctx, page) => {
    if (page.page === 'view') return showView(ctx, page.view);
    const client = 'client' in page ? page.client : undefined;
    const reference = page.page === 'error' ? page.reference : undefined;
    try {
      await show(ctx, context, viewOf(page, context), { client, reference });
    } catch (error) {
      if (!failures.has(page.page)) throw error;
      context.service.logger.error(
        { err: error, reference, page: page.page },
        'the service showed a page without the name and look of the client',
      );
      await show(ctx, context, page.page === 'error' ? { page: 'error', code: page.error } : { page: page.page as 'expired' }, {
        reference,
      });
    }
  };
}

const developerDetail = ({ error, description, detail }: ProtocolPage & { readonly page: 'error' }): DeveloperDetail => ({
  error,
  ...(description ? { description } : {}),
  ...(detail ? { detail } : {}),
});

/** Returns the URL of the account page, which signs the user in first. */
const accountUrl = ({ own, url }: ExtensionContext['service']): string => url(`${own}/account`);

/** Returns where the user signs in again: at the application, or at the account page. @see OpenID Connect Core §4 */
function signInUrl(client: Client | undefined, service: ExtensionContext['service']): string {
  const { initiate_login_uri: uri } = (client?.metadata ?? {}) as { initiate_login_uri?: string };
  if (uri === undefined || !canParseUrl(uri)) return accountUrl(service);
  const url = new URL(uri);
  url.searchParams.set('iss', service.issuer);
  return url.href;
}

function viewOf(page: Exclude<ProtocolPage, { readonly page: 'view' }>, { service }: Pick<ExtensionContext, 'service'>): PageView {
  switch (page.page) {
    case 'error':
      return {
        page: 'error',
        code: page.error,
        ...(service.production ? {} : { developer: developerDetail(page) }),
      };
    case 'expired': {
      const { client_uri: clientUri } = (page.client?.metadata ?? {}) as { client_uri?: string };
      return { page: 'expired', ...(page.restart ? { restart: { action: page.restart } } : {}), ...(clientUri ? { clientUri } : {}) };
    }
    case 'logout':
      return { page: 'logout', action: page.action, fields: page.fields, ...(page.client ? { appName: page.client.name } : {}) };
    case 'signed-out': {
      const { client_uri: returnUrl } = (page.client?.metadata ?? {}) as { client_uri?: string };
      const signIn = signInUrl(page.client, service);
      const { frames, unanswered, next } = page;
      return {
        page: 'signed-out',
        ...(returnUrl ? { returnUrl } : { signIn }),
        ...(frames ? { frames } : {}),
        ...(unanswered ? { unanswered } : {}),
        ...present({ next }),
      };
    }
    case 'still-signed-in': {
      const { client_uri: returnUrl } = (page.client?.metadata ?? {}) as { client_uri?: string };
      return { page: 'still-signed-in', account: accountUrl(service), ...present({ returnUrl }) };
    }
    case 'continue':
      return { page: 'continue', action: page.action, fields: page.fields, method: 'post' };
    case 'no-cookies':
      return { page: 'no-cookies', ...present({ restart: page.restart }) };
    case 'not-found':
      return { page: 'not-found', account: accountUrl(service) };
    case 'impersonation':
    case 'under-way':
    case 'unavailable':
    case 'wrong-link':
    case 'welcome':
      return page;
  }
}
