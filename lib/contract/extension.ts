/**
 * The extension contract: an extension is one plain object for one feature.
 *
 * An extension imports only the entry point `tenant-idp/extension`, which exports this folder and helpers for routes. The extension's context,
 * `extension-context`, gives the extension the rest of the service. The folder `assembly` joins the parts of all extensions.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TSchema } from '@sinclair/typebox';
import type { Middleware } from 'koa';
import type { Awaitable } from '../awaitable.js';
import type { ClaimSet } from '../claims/contract.js';
import type { ExtensionCollection, SeedPiece } from '../directory/index.js';
import type { ErrorEntry } from '../errors.js';
import type { EventName } from '../events.js';
import type { FetchProblem } from '../fetch/fetch-rules.js';
import type { ArtifactKind } from '../store/records/extension-artifacts.js';
import type { Client } from '../store/records/records.js';
import type { ClientEndpoint } from './clients/client-endpoint.js';
import type { GrantType } from './clients/grant-type.js';
import type { ConfigurationAddition } from './configuration.js';
import type { ExtensionContext } from './extension-context.js';
import type { AccountSection } from './pages/account-section.js';
import type { WriteLetter } from './pages/letter.js';
import type { ExtensionTexts, PageAddition } from './pages/page-additions.js';
import type { ShowPage } from './pages/protocol-page.js';
import type { Operation } from './resources.js';
import type { ExtensionRouter } from './routes.js';
import type { ImpersonationRule } from './sign-in/impersonation-rule.js';
import type { LogoutParticipant } from './sign-in/logout-participant.js';
import type { Requirement } from './sign-in/requirement.js';
import type { SignInMethod } from './sign-in/sign-in-method.js';
import type { InternalClients } from './sign-in/sign-in-request.js';
import type { DeliveryHandler, DeliveryKind, ExtensionProblem, Job, ReportProblem } from './work.js';

/** Records of the extension in the option `seed`, under `seed.extensions.<name>`. */
export interface ExtensionSeed<Schema extends TSchema = TSchema> {
  readonly form: Schema;
  /**
   * Returns the records, in the order in which the seed creates the records. Records of extensions are created before the tenants of the seed, because
   * policies of tenants may name these records. The seed creates each record once. Later starts change only fields that nobody else changed.
   */
  pieces(seeded: Static<Schema>, context: ExtensionContext, names: SeedNames): readonly SeedPiece<{ readonly id: string }>[];
}

export interface SeedNames {
  /** Returns the id of the tenant with this name in the seed. Returns the name itself if the seed has no such tenant. */
  tenantId(name: string): string;
}

/** A feature of the service. The start fails if two extensions claim the same route, claim, page or discovery member. The error names both. */
export interface Extension {
  /** Name of the extension: lower-case letters, digits and hyphens, starting with a letter. Names of the service's own extensions are reserved. */
  readonly name: string;
  /** Adds routes below the issuer. The start fails for a path of the protocol, in any spelling. */
  readonly routes?: (router: ExtensionRouter, context: ExtensionContext) => void;
  /**
   * Format of errors of the extension's routes: `problem` (RFC 9457), `oauth` (`error` and `error_description` in JSON) or a `page`.
   * @default a page below `own` and for browsers, else `oauth`
   */
  readonly errors?: 'problem' | 'oauth' | 'page';
  /** Error codes of the extension, made by `defineErrors`. */
  readonly errorCodes?: Readonly<Record<string, ErrorEntry>>;
  readonly claims?: readonly ClaimSet[];
  /**
   * Returns operations of the admin API, made by `defineOperation`. The admin API checks token, scope, tenant and schema of each request, and lists the
   * operations in its OpenAPI document.
   */
  readonly resources?: (context: ExtensionContext) => readonly Operation[];
  /** Durable rows of the extension, made by `defineCollection`. */
  // biome-ignore lint/suspicious/noExplicitAny: each has rows of its own
  readonly collections?: readonly ExtensionCollection<any>[];
  /** Kinds of short-lived artifacts of the extension. */
  readonly artifacts?: readonly ArtifactKind[];
  /** Records of the extension in the option `seed`, under `extensions.<name>`, made by `defineSeed`. */
  readonly seed?: ExtensionSeed;
  /** Checks the extension's own options, together with all other options. Stores are not open yet. */
  readonly check?: (report: ReportProblem) => void;
  /** Runs before the service answers, with stores open and signing keys loaded. An error stops the start. */
  readonly start?: (context: ExtensionContext) => Awaitable<void>;
  /** Returns the current problems of the extension, for `health().problems`. Has to answer within two seconds. */
  readonly health?: (context: ExtensionContext) => Awaitable<readonly ExtensionProblem[]>;
  /** Returns handlers of the extension's deliveries, by kind. A kind is the extension's name, a dot, and a name: `notes.mail`. */
  readonly deliveries?: (context: ExtensionContext) => Readonly<Record<string, DeliveryHandler | DeliveryKind>>;
  readonly jobs?: (context: ExtensionContext) => readonly Job[];
  /** Types of the extension's own events. Declare them in `EventMap` by declaration merging. */
  readonly events?: readonly EventName[];
  /** Shows the protocol's pages. Exactly one extension has this member. */
  readonly pages?: (context: ExtensionContext) => ShowPage;
  /** Writes the mails of all extensions. Exactly one extension has this member: the one with `pages`. */
  readonly letters?: (context: ExtensionContext) => WriteLetter;
  /** Returns members of the discovery document, except `issuer`, `jwks_uri` and the service's own endpoints. */
  readonly discovery?: (context: ExtensionContext) => Readonly<Record<string, unknown>>;
  /**
   * Koa middleware around an endpoint of the protocol, by the endpoint's name. With `concerns`, the middleware runs only for requests whose headers concern it,
   * so that the service can answer other requests with less work.
   */
  readonly around?: Readonly<
    Record<
      string,
      | ((context: ExtensionContext) => Middleware)
      | { readonly concerns: (headers: IncomingHttpHeaders) => boolean; readonly middleware: (context: ExtensionContext) => Middleware }
    >
  >;
  /** Returns sign-in methods in addition to the password. */
  readonly signInMethods?: (context: ExtensionContext) => readonly SignInMethod[];
  /** Returns steps that a signed-in user has to complete before an application gets its answer. */
  readonly requirements?: (context: ExtensionContext) => readonly Requirement[];
  /** Texts of the extension, in each language of the pages. */
  readonly texts?: ExtensionTexts;
  /** Texts and links at the foot of the sign-in pages. */
  readonly pageAdditions?: readonly PageAddition[];
  /** Pages on which users change data of their accounts. The account page links to these pages. */
  readonly accountSections?: readonly AccountSection[];
  /**
   * Grant types at the token endpoint, by `grant_type`: an absolute URI, for which clients are registered (RFC 6749 §4.5). Each grant type is created once,
   * before the service listens, and listed in discovery.
   */
  readonly grantTypes?: Readonly<Record<string, (context: ExtensionContext) => GrantType>>;
  /**
   * Endpoints of oidc-provider that the extension answers. The service authenticates the client first, as at the token endpoint. The service owns the paths
   * of the endpoints, and {@link configure} adds their feature.
   */
  readonly clientEndpoints?: Readonly<Record<'backchannel_authentication', (context: ExtensionContext) => ClientEndpoint>>;
  /**
   * Adds names to `features`, `routes` and `ttl` of oidc-provider's configuration, for an endpoint of oidc-provider that the service does not use. The
   * first argument is the configuration, to read only. Called once for each set of signing keys.
   */
  readonly configure?: (configuration: Readonly<Record<string, unknown>>, context: ExtensionContext) => ConfigurationAddition;
  /** Returns internal clients: applications of another protocol that the extension answers. `signIn.require` signs users in for internal clients. */
  readonly clients?: (context: ExtensionContext) => InternalClients;
  /**
   * Returns the absolute URL of the page on which users end an impersonation. Every page links to this URL during an impersonation. The first extension
   * with a URL wins.
   */
  readonly endImpersonationAt?: (context: ExtensionContext) => string | undefined;
  /** Returns the rule that decides whether impersonations of the extension may continue, and cleans up when these impersonations end. */
  readonly impersonation?: (context: ExtensionContext) => ImpersonationRule;
  /** Returns a participant that is notified when a sign-in ends. */
  readonly logoutParticipant?: (context: ExtensionContext) => LogoutParticipant;
  /**
   * Checks of client metadata, by member name. The members are stored in the client's record. The members are checked when a client is written. Each check
   * returns what the value should be instead (`a https URL`), or undefined if the value is valid. Names that the service knows or refuses are reserved.
   * `fetchProblem` is `http.fetchProblem` of the context, for URLs that the service calls.
   */
  readonly clientMetadata?: Readonly<Record<string, (value: unknown, fetchProblem: FetchProblem) => string | undefined>>;
  /**
   * Checks the metadata of a client as a whole when a client is written, in addition to {@link clientMetadata}. Returns, by member name, what a value
   * should be instead. `response_types` is always present, as a list.
   */
  readonly clientProblems?: (metadata: Client['metadata']) => Readonly<Record<string, string>>;
  readonly close?: () => Promise<void>;
}
