/** Public entry point for extensions: `tenant-idp/extension`. The standard extensions use only this entry point too. */
export { type Static, Type } from '@sinclair/typebox';
export type { Context, Middleware } from 'koa';
export { type AcrValues, parseAcrValues, type RequestedAcr, requestedAcr } from './acr-values.js';
export type { Awaitable } from './awaitable.js';
export { retryAfterMs } from './background/back-off.js';
export {
  type ClaimContext,
  type ClaimRecords,
  type ClaimSet,
  type DeclaredClaim,
  defineClaims,
  type LinkedAccount,
} from './claims/contract.js';
export { Attempt, type AttemptLimitName, type AttemptLimitRules, type NamedLimit } from './contract/attempt-limits.js';
export type { AccessToken, BearerState } from './contract/bearer.js';
export { type BrowserRecords, recordsOfBrowsers } from './contract/browser-records.js';
export type { AccountClaims, ExtensionPseudonyms } from './contract/clients/account-claims.js';
export type {
  AuthenticationRequest,
  AuthenticationRequests,
  CibaNotification,
  DenialReason,
  RequestDecision,
} from './contract/clients/authentication-requests.js';
export type { Caller, CallerState } from './contract/clients/caller.js';
export type { ClientEndpoint, ClientRequest, HintedAccount } from './contract/clients/client-endpoint.js';
export type { GrantedSignIn, GrantRefusal, GrantRequest, GrantType } from './contract/clients/grant-type.js';
export { defineCollection } from './contract/collections.js';
export type { ConfigurationAddition } from './contract/configuration.js';
export type { ExtensionClaims } from './contract/context/claims.js';
export type { Csrf, ExtensionHttp } from './contract/context/http.js';
export type { ExtensionImpersonation } from './contract/context/impersonation.js';
export type { ExtensionKeys } from './contract/context/keys.js';
export type { CountWrongSecret, ExtensionLimits } from './contract/context/limits.js';
export type { ExtensionPages } from './contract/context/pages.js';
export type { ExtensionRecords } from './contract/context/records.js';
export type { ExtensionService } from './contract/context/service.js';
export type { ExtensionSessions } from './contract/context/sessions.js';
export type { ExtensionSignIn } from './contract/context/sign-in.js';
export type { ExtensionWork } from './contract/context/work.js';
export type { Extension, ExtensionSeed, SeedNames } from './contract/extension.js';
export type { ExtensionContext } from './contract/extension-context.js';
export type { CountedAttempt, Limit, LimitRule } from './contract/limit.js';
export {
  createOwnPage,
  type OwnPage,
  type OwnPageNeeds,
  type OwnPageState,
  RECENT_SIGN_IN_SECONDS,
} from './contract/own-page.js';
export { type AccountGroup, type AccountSection, accountGroups } from './contract/pages/account-section.js';
export type { Letter, LetterLimit, LetterPart, Look, Mail, WriteLetter } from './contract/pages/letter.js';
export type { AdditionHost, ExtensionTexts, PageAddition } from './contract/pages/page-additions.js';
export type { ProtocolPage, ShowPage } from './contract/pages/protocol-page.js';
export type { ScopeWords } from './contract/pages/scope-words.js';
export { type FieldPart, type InLanguage, type Text, utcDay, utcTime, type View, type ViewPart } from './contract/pages/view.js';
export { perContext } from './contract/per-context.js';
export {
  ADMIN_API,
  type Administrator,
  defineOperation,
  type MountedOperation,
  type Operation,
  type OperationRequest,
  pageOf,
  pageOfRows,
  pageQuery,
  type Reach,
  viewedOrId,
} from './contract/resources.js';
export type { AddRoute, ExtensionRouter, LinkOutcome, LinkPages, PostForm } from './contract/routes.js';
export { defineSeed } from './contract/seed.js';
export { attributionOf, type CurrentImpersonation } from './contract/sign-in/impersonation.js';
export type { ImpersonationEnding, ImpersonationRule, ImpersonationSignIn } from './contract/sign-in/impersonation-rule.js';
export type { Interaction, KnownAccount, RegistrationLimits, SignIn } from './contract/sign-in/interaction.js';
export type { Interactions } from './contract/sign-in/interactions.js';
export type {
  BrowserSignIn,
  EndedSignIn,
  LogoutNotice,
  LogoutParticipant,
  SignInToEnd,
  SignOutAsk,
} from './contract/sign-in/logout-participant.js';
export type { Ask, AskedElsewhere, Demand, Requirement, SignedIn } from './contract/sign-in/requirement.js';
export type { UserSession } from './contract/sign-in/sessions.js';
export type { ButtonScript, SignInButton, SignInMethod, SignInWays } from './contract/sign-in/sign-in-method.js';
export type {
  EidParameters,
  InternalClient,
  InternalClients,
  OutgoingForm,
  PostedForms,
  ProvenSignIn,
  SignInAnswer,
  SignInAsk,
} from './contract/sign-in/sign-in-request.js';
export type {
  DeliveryHandler,
  DeliveryKind,
  ExtensionProblem,
  Job,
  JobRound,
  ReportProblem,
  Seal,
  Signature,
} from './contract/work.js';
export { isClaimed, isEmailVerified, isUsable } from './directory/accounts/accounts.js';
export type {
  AccountMeans,
  BegunSignIn,
  Confirmation,
  GroupRef,
  MeansSource,
  SignInRef,
  UnconfirmedUser,
} from './directory/accounts/means.js';
export type { GroupsOfTenant, Privileges } from './directory/accounts/privileges.js';
export { identityWay, type WaysIn, type WaysSource } from './directory/accounts/ways-in.js';
export type { AttributeRules, OwnAttribute } from './directory/attributes.js';
export { authorityOfClient, type ClientMeans, meansOfClient, scopesOfClient, type Vouched } from './directory/clients/client-vouchers.js';
export type { Authority, Privilege, Vouching } from './directory/context.js';
export type {
  Account,
  CachedRows,
  Directory,
  DueInvitation,
  DueLink,
  EmailProofState,
  ExtensionCollection,
  ExtensionData,
  ExtensionIndex,
  ExtensionRow,
  ExtensionRows,
  FoundRows,
  InvitationState,
  InvitationView,
  KeyState,
  LinkRef,
  OpenedEmailProof,
  OpenedInvitation,
  OpenedReset,
  OwnPasswordChange,
  OwnPasswordState,
  OwnPasswords,
  PersonRef,
  PreparedRegistration,
  Proof,
  RecentSignIn,
  RegistrationInput,
  RegistrationProblem,
  ResetState,
  RowEvent,
  RowsOfAllTenants,
  SeededCollection,
  SeedPart,
  SeedPiece,
} from './directory/index.js';
export { answerProblem, type InputProblem, problemsOf, writeJudged } from './directory/input.js';
export { knownPart } from './directory/lists/known-part.js';
export { type LeftOutItem, readablePage } from './directory/lists/readable-page.js';
export { type OwnChanges, selfServiceOf } from './directory/persons/self-service.js';
export { recordForms } from './directory/record-forms.js';
export { instant, oneOf, strict } from './directory/schema-parts.js';
export { mayLinkAccounts } from './directory/tenants/sign-in-policy.js';
export { type Means, raised, type VouchedMeans, weaker } from './directory/vouchers.js';
export { type BrowserCodes, type BrowserHints, browserNames, browserOf, browserOfRequest } from './display/browser-names.js';
export { contrastRatio, mixed, READABLE, shadeOn } from './display/contrast.js';
export { type Locale, locales } from './display/locales.js';
export { type LanguageSources, wantedLocale } from './display/wanted-locale.js';
export { ConfigError, defineErrors, type ErrorEntry, type ExtensionErrors, IdpError } from './errors.js';
export type { Attribution, EventMap, EventMetadata, EventName, IdpEvent, ImpersonationEnd, SignOutReason, WriteOnce } from './events.js';
export type { FetchProblem } from './fetch/fetch-rules.js';
export type { GuardedFetch, GuardedRequest, GuardedResponse } from './fetch/guarded-fetch.js';
export { isHttpsOrLocal, isLoopback } from './fetch/loopback.js';
export { addressBlock, hashingQueuesOf } from './http/clients/client-address.js';
export { clientAuth } from './http/clients/client-auth.js';
export { chosenLanguage } from './http/pages/chosen-language.js';
export { type Child, Html, html } from './http/pages/html.js';
export { hashSource, type PagePolicy, pageHeaders } from './http/pages/security-headers.js';
export { afterAnswer } from './http/requests/after-answer.js';
export { form, formField, type LongField, longFieldOf, passwordField, typedField } from './http/requests/form.js';
export { answerJson, entityTagOf, WrittenJson } from './http/requests/json.js';
export { createJsonReader, type JsonShape, json } from './http/requests/json-guard.js';
export { type KeptFor, mayBeKept } from './http/requests/kept-size.js';
export { parametersOf } from './http/requests/parameters.js';
export { redirectByGet } from './http/requests/posted-form.js';
export { mismatchIn } from './logger.js';
export { present } from './present.js';
export { isAdminScope } from './store/records/admin-scopes.js';
export type { ArtifactKind, ExtensionArtifacts, PutArtifact } from './store/records/extension-artifacts.js';
export { leftOutIn } from './store/records/left-out.js';
export type {
  ApiResource,
  Branding,
  Client,
  CredentialRef,
  ExternalIdentity,
  Group,
  Person,
  PersonWithUser,
  SelfServicePart,
  Tenant,
  User,
  Voucher,
} from './store/records/records.js';
export { canParseUrl } from './text/can-parse-url.js';
export { isEmailAddress } from './text/email-address.js';
export { initialOf } from './text/initials.js';
export { type AddressPart, shownAddress } from './text/ip-address.js';
export { referenceToken } from './text/json-pointer.js';
export { cleanCode, cleanText, isBlank, type TextKind, type TextProblem, textProblem } from './text/kinds.js';
export { ownMember } from './text/own-member.js';
export { accountName, fullName, greetedName, isName, type NamedPerson, type PersonNames, shownName } from './text/person-name.js';
export { line } from './text/schemas.js';
export { epochSeconds } from './times/epoch-seconds.js';
export { secondsAhead } from './times/node-time.js';
export { minutesUntil, secondsUntil } from './times/time-left.js';
export { withTimeLimit } from './times/time-limit.js';
export { DAY_MS, HOUR_MS, MINUTE_MS } from './times/units.js';
