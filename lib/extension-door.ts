/** The public door to extensions: `tenant-idp/extension`. The standard extensions come in by no other. */
export { type Static, Type } from '@sinclair/typebox';
export type { Context, Middleware } from 'koa';
export type { AcrValues } from './acr-values.js';
export {
  type Awaitable,
  type ClaimContext,
  type ClaimRecords,
  type ClaimSet,
  type ClaimTarget,
  defineClaims,
  type LinkedAccount,
  type LoginContext,
} from './claims/contract.js';
export type { AccessToken, BearerState } from './contract/bearer.js';
export { defineCollection } from './contract/collections.js';
export type { ConfigurationAddition } from './contract/configuration.js';
export type {
  AccountClaims,
  Caller,
  CallerState,
  Extension,
  ExtensionContext,
  Interaction,
  Interactions,
  KnownAccount,
  ProtocolPage,
  ShowPage,
  SignIn,
} from './contract/extension.js';
export type { GrantedSignIn, GrantRefusal, GrantRequest, GrantType } from './contract/grant-type.js';
export { type Locale, locales } from './contract/locales.js';
export type { BrowserSignIn, EndedSignIn, LogoutNotice, LogoutParticipant } from './contract/logout-participant.js';
export type { ExtensionTexts, PageAddition } from './contract/page-additions.js';
export type { Ask, Demand, Requirement, SignedIn } from './contract/requirement.js';
export type { SignInButton, SignInMethod, SignInWays } from './contract/sign-in-method.js';
export type { InternalClient, InternalClients, PostedForms, SignInAnswer, SignInAsk } from './contract/sign-in-request.js';
export type { Text, View, ViewPart } from './contract/view.js';
export type { DeliveryHandler, ExtensionKeys, ExtensionProblem, Job, ReportProblem, Seal, Signature } from './contract/work.js';
export type {
  Account,
  Directory,
  ExtensionCollection,
  ExtensionData,
  ExtensionRow,
  ExtensionRows,
  PersonRef,
  Proof,
  RegistrationInput,
  RowEvent,
  TenantDirectory,
} from './directory/index.js';
export {
  ConfigError,
  type ConfigProblem,
  defineErrors,
  type ErrorCode,
  type ErrorEntry,
  type ExtensionErrors,
  IdpError,
} from './errors.js';
export type { EventMap, EventName, IdpEvent } from './events.js';
export type { GuardedFetch, GuardedRequest, GuardedResponse } from './fetch/guarded-fetch.js';
export { addressBlock } from './http/client-address.js';
export { clientAuth } from './http/client-auth.js';
export { form } from './http/form.js';
export { type Child, Html, html } from './http/html.js';
export { answerJson } from './http/json.js';
export { type JsonShape, json } from './http/json-guard.js';
export { parametersOf } from './http/parameters.js';
export { hashSource, type PagePolicy, pageHeaders } from './http/security-headers.js';
export type { Logger } from './logger.js';
export type { ArtifactKind, ExtensionArtifacts, PutArtifact } from './store/extension-artifacts.js';
export type { ApiResource, Branding, Client, Person, PersonWithUser, Tenant, User } from './store/records.js';
