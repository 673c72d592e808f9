/** Contexts of extensions: all parts of the service that an extension may use. */
import type { ClaimResolver } from '../claims/resolver.js';
import { namedLimits } from '../contract/attempt-limits.js';
import type { ExtensionHttp } from '../contract/context/http.js';
import type { ExtensionKeys } from '../contract/context/keys.js';
import type { ExtensionLimits } from '../contract/context/limits.js';
import type { ExtensionPages } from '../contract/context/pages.js';
import type { ExtensionRecords } from '../contract/context/records.js';
import type { ExtensionService } from '../contract/context/service.js';
import type { ExtensionWork } from '../contract/context/work.js';
import type { Extension } from '../contract/extension.js';
import type { ContextOf, ExtensionContext } from '../contract/extension-context.js';
import { createLimits } from '../contract/limit.js';
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

export interface ExtensionContextParts {
  readonly options: ResolvedOptions;
  readonly protocol: Protocol;
  readonly directory: Directory;
  readonly claims: ClaimResolver;
  readonly attributes: ExtensionService['attributes'] | undefined;
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

/** Parts that the contexts of all extensions share. */
interface SharedContext extends Omit<ExtensionContext, 'limits'> {
  readonly limits: Omit<ExtensionLimits, 'limit'>;
}

/** Returns the contexts of all extensions. The contexts differ only in parts with the extension's name. */
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
    const existing = contexts.get(name);
    if (existing) return existing;
    const guard = (guarded: Omit<Guarded, 'extension'>) => parts.guard({ ...guarded, extension: name });
    const bearer = createBearer({ read: protocol.readAccessToken, proofAlgorithms: protocol.proofAlgorithms, directory, guard });
    const own = ownContext(name, { ...shared, http: { ...http, bearer } });
    contexts.set(name, own);
    return own;
  };
}

/**
 * Returns the context of an extension, created from the shared parts. Purposes and sectors have to begin with the extension's name, and counters get the
 * name as a prefix. No other extension, and not the service, can therefore have the same purpose, sector or counter.
 */
function ownContext(extension: string, shared: SharedContext): ExtensionContext {
  /** @throws TypeError */
  const owned = (what: 'purpose' | 'sector', name: string): string => {
    if (name.split(/[ .:]/, 1)[0] === extension) return name;
    throw new TypeError(
      `The extension '${extension}' has the ${what} '${name}', which does not begin with its name. Begin it with '${extension} '.`,
    );
  };
  const { pseudonyms } = shared.claims;
  const attempts: ExtensionLimits['attempts'] = (counter, window, by) => shared.limits.attempts(`${extension} ${counter}`, window, by);
  return {
    ...shared,
    limits: { ...shared.limits, attempts, limit: namedLimits(shared.limits.rules, createLimits(attempts, shared.service.now)) },
    keys: { ...shared.keys, seal: (purpose) => shared.keys.seal(owned('purpose', purpose)) },
    ...(pseudonyms && {
      claims: {
        ...shared.claims,
        pseudonyms: {
          of: (sector, oid) => pseudonyms.of(owned('sector', sector), oid),
          oidOf: (sector, pseudonym) => pseudonyms.oidOf(owned('sector', sector), pseudonym),
        },
      },
    }),
  };
}

const serviceOf = ({ options, attributes, logger, now, operations }: ExtensionContextParts): ExtensionService => ({
  issuer: options.issuer,
  production: options.production,
  locales: options.locales,
  branding: options.branding,
  own: options.paths.own,
  changePassword: options.paths.changePassword,
  url: (path) => options.issuer + path,
  now,
  logger,
  operations,
  ...present({ personalTenant: options.personalTenant, attributes }),
  ciba: options.ciba,
  sessions: options.sessions,
  signInHistory: options.signInHistory,
  lifetimes: { ...options.lifetimes, session: options.lifetimes.sessionAbsolute },
});

function pagesOf({ protocol, directory, claims, extensions, showPage, brandingOf }: ExtensionContextParts): ExtensionPages {
  const texts = Object.fromEntries(locales.map((locale) => [locale, textsOf(extensions, locale)]));
  return {
    view: async (ctx, view) => showPage(ctx, { page: 'view', view }),
    async sendForm(ctx, { action, fields, client: id }) {
      if (!/^https?:$/.test(new URL(action).protocol))
        throw new TypeError('The action of the form is not an http or https URL. Give the form such a URL.');
      const client = id === undefined ? undefined : await protocol.client(id);
      ctx.status = 200;
      await showPage(ctx, { page: 'continue', action, fields, ...present({ client }) });
    },
    brandingOf,
    application: (id) => protocol.application(id),
    isOwnPage: (client) => protocol.isOwnPage(client),
    texts: (locale) => texts[locale] ?? {},
    scopeDescriptions: () => describeScopes(directory, claims),
    additions: extensions.flatMap(({ pageAdditions = [] }) => pageAdditions),
    accountSections: extensions.flatMap(({ accountSections = [] }) => accountSections),
  };
}

/**
 * Returns the algorithms of the signing keys that the host gave. If the host gave no signing keys, the service creates one signing key of each algorithm.
 */
const algorithmsOf = ({ signing }: ResolvedOptions['keys']): readonly string[] =>
  signing ? [...new Set(signing.map(signingAlgorithm))] : ['RS256', 'ES256'];
