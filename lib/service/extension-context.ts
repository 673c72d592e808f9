/**
 * What the composition root puts together for extensions and stores. `create-identity-provider` alone imports this room.
 *
 * This file is the context: all that an extension may touch. `extension-data` are its rows and records, `extension-work` its jobs, deliveries
 * and checks, `open-stores` the stores of the service.
 */
import type { ClaimResolver } from '../claims/resolver.js';
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
import { ownContext } from './own-context.js';

export interface ExtensionContextParts extends Pick<ExtensionContext, 'attempts' | 'csrf' | 'brandingOf' | 'countWrongSecret' | 'mail'> {
  readonly options: ResolvedOptions;
  readonly protocol: Protocol;
  readonly directory: Directory;
  readonly claims: ClaimResolver;
  readonly logger: Logger;
  readonly now: ExtensionContext['now'];
  readonly kept: Pick<ExtensionContext, 'collection' | 'collectionOfAllTenants' | 'ofInstance' | 'artifact' | 'keptData'>;
  readonly work: Pick<ExtensionContext, 'deliver' | 'emit' | 'seal' | 'fetch' | 'fetchProblem' | 'keys'>;
  readonly extensions: readonly Extension[];
  readonly operations: ExtensionContext['operations'];
  readonly showPage: ShowPage;
  /** Hears of each guard that an extension puts before a route. */
  readonly guard: (guarded: Guarded) => void;
}

/** The contexts of all extensions: each its own, which differ in what is named after the extension alone. */
export function createExtensionContexts(parts: ExtensionContextParts): ContextOf {
  const { options, protocol, directory, claims, attempts, countWrongSecret, logger, extensions, showPage } = parts;
  const { issuer } = options;
  const texts = Object.fromEntries(locales.map((locale) => [locale, textsOf(extensions, locale)]));
  /** Asked when it is needed: extensions get the context that is made here. */
  const endActingAt = (): { readonly endAt: string } | undefined => {
    for (const extension of extensions) {
      const endAt = extension.endActingAt?.(contextOf(extension.name));
      if (endAt !== undefined) return { endAt };
    }
    return undefined;
  };
  const context: Omit<ExtensionContext, 'bearer'> = {
    issuer,
    production: options.production,
    locales: options.locales,
    branding: options.branding,
    own: options.paths.own,
    url: (path) => issuer + path,
    now: parts.now,
    directory,
    cookieName: (name) => pathCookieName(name, options),
    browserStateCookie: browserStateCookie(options),
    interactions: protocol.interactions,
    claims: protocol.claims,
    operations: parts.operations,
    eventTypes: [...eventNames, ...extensions.flatMap(({ events = [] }) => events)],
    ...parts.kept,
    ...parts.work,
    ...(protocol.pseudonyms && { pseudonyms: protocol.pseudonyms }),
    sign: protocol.sign,
    introspectionAlgorithm: protocol.introspectionAlgorithm,
    signingAlgorithms: algorithmsOf(options.keys),
    sessions: protocol.sessions,
    signedIn: protocol.signedIn,
    signInToEnd: protocol.signInToEnd,
    isSufficient: protocol.isSufficient,
    mayChange: protocol.mayChange,
    requireSignIn: protocol.requireSignIn,
    signInAnswer: protocol.signInAnswer,
    postedForms: protocol.postedForms,
    async sendForm(ctx, { action, fields, client: id }) {
      if (!/^https?:$/.test(new URL(action).protocol)) throw new TypeError('a form goes to a http or https URL');
      const client = id === undefined ? undefined : await protocol.client(id);
      ctx.status = 200;
      await showPage(ctx, { page: 'continue', action, fields, ...(client ? { client } : {}) });
    },
    signOut: protocol.signOut,
    endActing: protocol.endActing,
    async acting(ctx) {
      const here = await protocol.acting(ctx);
      return here && { ...here, ...(endActingAt() ?? {}) };
    },
    endActingOf: protocol.endActingOf,
    async inPerson(ctx, next) {
      if (!(await protocol.signInToEnd(ctx))?.act) return next();
      ctx.status = 403;
      await showPage(ctx, { page: 'acting' });
    },
    scopeDescriptions: () => describeScopes(directory, claims),
    view: async (ctx, view) => showPage(ctx, { page: 'view', view }),
    brandingOf: parts.brandingOf,
    ...(parts.mail && { mail: parts.mail }),
    ...(options.personalTenant !== undefined && { personalTenant: options.personalTenant }),
    ciba: options.ciba,
    texts: (locale) => texts[locale] ?? {},
    pageAdditions: extensions.flatMap(({ pageAdditions = [] }) => pageAdditions),
    accountSections: extensions.flatMap(({ accountSections = [] }) => accountSections),
    csrf: parts.csrf,
    attempts,
    countWrongSecret,
    ...(options.impersonation && { impersonation: options.impersonation }),
    lifetimes: { ...options.lifetimes, session: options.lifetimes.sessionAbsolute },
    limits: options.limits,
    logger,
    requestId: (ctx) => requestIdOf(ctx as never),
  };
  const contexts = new Map<string, ExtensionContext>();
  const contextOf: ContextOf = (name) => {
    const known = contexts.get(name);
    if (known) return known;
    const guard = (guarded: Omit<Guarded, 'extension'>) => parts.guard({ ...guarded, extension: name });
    const bearer = createBearer({ read: protocol.readAccessToken, proofAlgorithms: protocol.proofAlgorithms, directory, guard });
    const own = ownContext(name, { ...context, bearer });
    contexts.set(name, own);
    return own;
  };
  return contextOf;
}

/** Those of the keys that were given; we make one of each. */
const algorithmsOf = ({ signing }: ResolvedOptions['keys']): readonly string[] =>
  signing ? [...new Set(signing.map(signingAlgorithm))] : ['RS256', 'ES256'];
