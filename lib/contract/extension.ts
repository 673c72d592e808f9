/**
 * The extension contract: one plain object a feature.
 *
 * An extension imports the door `tenant-idp/extension` alone, which exports this room and pieces for routes. Whatever else it needs is in its context,
 * `extension-context`. The room `assembly` makes one service of what several extensions add.
 */
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

/** What stands under `seed.extensions.<name>`, and how it becomes records. */
export interface ExtensionSeed<Schema extends TSchema = TSchema> {
  readonly form: Schema;
  /**
   * The records, in the order that they are made in: before the tenants of the seed, whose policies may name them. The seed makes each once, and changes
   * what nobody else changed meanwhile.
   */
  pieces(seeded: Static<Schema>, context: ExtensionContext, names: SeedNames): readonly SeedPiece<{ readonly id: string }>[];
}

export interface SeedNames {
  /** The id of the tenant that the seed calls so; the name itself where it calls none so. */
  tenantId(name: string): string;
}

/** What a feature adds. Two that claim the same route, claim, page or discovery key are refused at start with both names. */
export interface Extension {
  /** Lower-case letters, digits and hyphens, a letter first. Names of the service's own extensions are taken. */
  readonly name: string;
  /** Routes below the issuer; a path that the protocol answers is refused, however it is spelled. */
  readonly routes?: (router: ExtensionRouter, context: ExtensionContext) => void;
  /**
   * How errors of its routes look: `problem` (RFC 9457), `oauth` (`error` and `error_description` in JSON) or a `page`.
   * @default a page below `own` and for browsers, else `oauth`
   */
  readonly errors?: 'problem' | 'oauth' | 'page';
  /** Codes of its own errors, made by `defineErrors`. */
  readonly errorCodes?: Readonly<Record<string, ErrorEntry>>;
  readonly claims?: readonly ClaimSet[];
  /** Operations of the admin API, made by `defineOperation`: it checks token, scope, tenant and form of each request, and lists them in its document. */
  readonly resources?: (context: ExtensionContext) => readonly Operation[];
  /** Durable rows of its own, made by `defineCollection`. */
  // biome-ignore lint/suspicious/noExplicitAny: each has rows of its own
  readonly collections?: readonly ExtensionCollection<any>[];
  /** Kinds of short-lived records of its own. */
  readonly artifacts?: readonly ArtifactKind[];
  /** Its records in the option `seed`, under `extensions.<name>`, made by `defineSeed`. */
  readonly seed?: ExtensionSeed;
  /** Looks at what the extension was made with, together with all other options: nothing is open yet. */
  readonly check?: (report: ReportProblem) => void;
  /** Before the service answers, with stores open and keys loaded. What it throws stops the start. */
  readonly start?: (context: ExtensionContext) => Awaitable<void>;
  /** What is wrong now, for `health().problems`; within two seconds. */
  readonly health?: (context: ExtensionContext) => Awaitable<readonly ExtensionProblem[]>;
  /** How deliveries of its kinds are taken, by kind: the extension's name, a dot, and a name of its own. */
  readonly deliveries?: (context: ExtensionContext) => Readonly<Record<string, DeliveryHandler | DeliveryKind>>;
  readonly jobs?: (context: ExtensionContext) => readonly Job[];
  /** Types of its own events, as `EventMap` has them by declaration merging. */
  readonly events?: readonly EventName[];
  /** Shows the protocol's pages; exactly one extension does. */
  readonly pages?: (context: ExtensionContext) => ShowPage;
  /** Writes the mails of all extensions; exactly one extension does, the one with the pages. */
  readonly letters?: (context: ExtensionContext) => WriteLetter;
  /** Members of the discovery document; none of `issuer`, `jwks_uri` and the service's own endpoints. */
  readonly discovery?: (context: ExtensionContext) => Readonly<Record<string, unknown>>;
  /** Koa middleware about a named endpoint of the protocol. */
  readonly around?: Readonly<Record<string, (context: ExtensionContext) => Middleware>>;
  /** Ways to sign in beside the password. */
  readonly signInMethods?: (context: ExtensionContext) => readonly SignInMethod[];
  /** What is asked of a person who is signed in, before an application gets its answer. */
  readonly requirements?: (context: ExtensionContext) => readonly Requirement[];
  /** The extension's words, in each of the pages' languages. */
  readonly texts?: ExtensionTexts;
  /** Words and links at the foot of the pages of a sign-in. */
  readonly pageAdditions?: readonly PageAddition[];
  /** Pages of the extension on which people change something of their own, for the account page to lead to. */
  readonly accountSections?: readonly AccountSection[];
  /**
   * Grant types at the token endpoint, by the `grant_type` that clients are registered for and send, an absolute URI (RFC 6749 §4.5). Each is made once,
   * before the service listens, and listed in discovery.
   */
  readonly grantTypes?: Readonly<Record<string, (context: ExtensionContext) => GrantType>>;
  /**
   * Endpoints of oidc-provider's own that the extension answers, once the client authenticated as at the token endpoint. Their paths are the
   * service's; {@link configure} adds their feature.
   */
  readonly clientEndpoints?: Readonly<Record<'backchannel_authentication', (context: ExtensionContext) => ClientEndpoint>>;
  /**
   * Adds names to `features`, `routes` and `ttl` of oidc-provider's configuration, which it gets to look at: for an endpoint of oidc-provider's own that the
   * service does not use. Called once for each set of signing keys.
   */
  readonly configure?: (configuration: Readonly<Record<string, unknown>>, context: ExtensionContext) => ConfigurationAddition;
  /** Applications that the extension answers by a protocol of its own, which `signIn.require` signs people in for. */
  readonly clients?: (context: ExtensionContext) => InternalClients;
  /** The absolute URL of the page on which people end what a sign-in with `act` began: every page leads there meanwhile. The first extension that has one says. */
  readonly endImpersonationAt?: (context: ExtensionContext) => string | undefined;
  /** Whether the sign-ins with `act` that the extension began may go on, and what is to be done when they end. */
  readonly impersonation?: (context: ExtensionContext) => ImpersonationRule;
  /** Who has to hear of the end of a sign-in. */
  readonly logoutParticipant?: (context: ExtensionContext) => LogoutParticipant;
  /**
   * Client metadata by name, kept in the client's record: each answers what the value should be instead (`a https URL`), or undefined where it is right. It
   * is checked when a client is written. Names that the service knows or refuses are taken. `fetchProblem` is `http.fetchProblem` of the context, for URLs that the service calls.
   */
  readonly clientMetadata?: Readonly<Record<string, (value: unknown, fetchProblem: FetchProblem) => string | undefined>>;
  /**
   * What is wrong with the metadata of a client as a whole: what it should be instead, by the name of the member. Asked when a client is written, beside
   * {@link clientMetadata}. `response_types` is always there, as a list.
   */
  readonly clientProblems?: (metadata: Client['metadata']) => Readonly<Record<string, string>>;
  readonly close?: () => Promise<void>;
}
