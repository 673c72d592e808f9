/** Contexts of extensions: everything that an extension may touch. */
import type { ClaimResolver } from '../claims/resolver.js';
import type { ExtensionHttp } from '../contract/context/http.js';
import type { ExtensionKeys } from '../contract/context/keys.js';
import type { ExtensionLimits } from '../contract/context/limits.js';
import type { ExtensionPages } from '../contract/context/pages.js';
import type { ExtensionRecords } from '../contract/context/records.js';
import type { ExtensionService } from '../contract/context/service.js';
import type { ExtensionWork } from '../contract/context/work.js';
import type { Extension } from '../contract/extension.js';
import type { ContextOf, ExtensionContext } from '../contract/extension-context.js';
import { textsOf } from '../contract/pages/page-additions.js';
import type { ShowPage } from '../contract/pages/protocol-page.js';
import type { Directory } from '../directory/index.js';
import { locales } from '../display/locales.js';
import { eventNames } from '../events.js';
import { createBearer, type Guarded } from '../http/clients/bearer.js';
import { requestIdOf } from '../http/requests/request-id.js';
import type { Logger } from '../logger.js';
import { describeScopes } from '../oidc/accounts/scopes.js';
import type { Protocol } from '../oidc/protocol.js';
import { browserStateCookie } from '../oidc/sessions/browser-state.js';
import { pathCookieName } from '../oidc/sessions/cookies.js';
import type { ResolvedOptions } from '../options/defaults.js';
import { signingAlgorithm } from '../options/values.js';
import { present } from '../present.js';
import { ownContext, type SharedContext } from './own-context.js';

export interface ExtensionContextParts {
  readonly options: ResolvedOptions;
  readonly protocol: Protocol;
  readonly directory: Directory;
  readonly claims: ClaimResolver;
  readonly logger: Logger;
  readonly now: ExtensionService['now'];
  readonly operations: ExtensionService['operations'];
  readonly extensions: readonly Extension[];
  readonly showPage: ShowPage;
  /** Records each guard that an extension puts before a route. */
  readonly guard: (guarded: Guarded) => void;
  readonly http: Pick<ExtensionHttp, 'csrf' | 'fetch' | 'fetchProblem'>;
  readonly brandingOf: ExtensionPages['brandingOf'];
  readonly records: ExtensionRecords;
  readonly work: Pick<ExtensionWork, 'deliver' | 'emit' | 'mail'>;
  readonly keys: Pick<ExtensionKeys, 'rotate' | 'list' | 'seal'>;
  readonly limits: ExtensionLimits;
}

/** Returns the contexts of all extensions. They differ only in what has the extension's name. */
export function createExtensionContexts(parts: ExtensionContextParts): ContextOf {
  const { options, protocol, directory, extensions } = parts;
  const { signIn, sessions, impersonation, claims } = protocol;
  const http: Omit<ExtensionHttp, 'bearer'> = {
    ...parts.http,
    postedForms: protocol.postedForms,
    cookieName: (name) => pathCookieName(name, options),
    browserStateCookie: browserStateCookie(options),
    requestId: (ctx) => requestIdOf(ctx as never),
  };
  const shared: Omit<SharedContext, 'http'> = {
    service: serviceOf(parts),
    directory,
    pages: pagesOf(parts),
    signIn,
    sessions,
    impersonation,
    claims,
    records: parts.records,
    work: { ...parts.work, eventTypes: [...eventNames, ...extensions.flatMap(({ events = [] }) => events)] },
    keys: { ...protocol.keys, ...parts.keys, algorithms: algorithmsOf(options.keys) },
    limits: parts.limits,
  };
  const contexts = new Map<string, ExtensionContext>();
  return (name) => {
    const known = contexts.get(name);
    if (known) return known;
    const guard = (guarded: Omit<Guarded, 'extension'>) => parts.guard({ ...guarded, extension: name });
    const bearer = createBearer({ read: protocol.readAccessToken, proofAlgorithms: protocol.proofAlgorithms, directory, guard });
    const own = ownContext(name, { ...shared, http: { ...http, bearer } });
    contexts.set(name, own);
    return own;
  };
}

const serviceOf = ({ options, logger, now, operations }: ExtensionContextParts): ExtensionService => ({
  issuer: options.issuer,
  production: options.production,
  locales: options.locales,
  branding: options.branding,
  own: options.paths.own,
  url: (path) => options.issuer + path,
  now,
  logger,
  operations,
  ...present({ personalTenant: options.personalTenant }),
  ciba: options.ciba,
  lifetimes: { ...options.lifetimes, session: options.lifetimes.sessionAbsolute },
});

function pagesOf({ protocol, directory, claims, extensions, showPage, brandingOf }: ExtensionContextParts): ExtensionPages {
  const texts = Object.fromEntries(locales.map((locale) => [locale, textsOf(extensions, locale)]));
  return {
    view: async (ctx, view) => showPage(ctx, { page: 'view', view }),
    async sendForm(ctx, { action, fields, client: id }) {
      if (!/^https?:$/.test(new URL(action).protocol)) throw new TypeError('a form goes to a http or https URL');
      const client = id === undefined ? undefined : await protocol.client(id);
      ctx.status = 200;
      await showPage(ctx, { page: 'continue', action, fields, ...present({ client }) });
    },
    brandingOf,
    texts: (locale) => texts[locale] ?? {},
    scopeDescriptions: () => describeScopes(directory, claims),
    additions: extensions.flatMap(({ pageAdditions = [] }) => pageAdditions),
    accountSections: extensions.flatMap(({ accountSections = [] }) => accountSections),
  };
}

/** Algorithms of the keys that the host gave. Without any, the service makes one key of each. */
const algorithmsOf = ({ signing }: ResolvedOptions['keys']): readonly string[] =>
  signing ? [...new Set(signing.map(signingAlgorithm))] : ['RS256', 'ES256'];
