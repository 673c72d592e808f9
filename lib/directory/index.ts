/**
 * The directory: durable records and the rules for them. No HTTP, no oidc-provider.
 *
 * Each folder has one subject:
 * - tenants,
 * - persons with their users,
 * - accounts,
 * - groups with permissions,
 * - clients with API resources,
 * - credentials,
 * - signing keys,
 * - seeds,
 * - the outbox of events and deliveries.
 *
 * A service that is bound to a tenant knows only records of its tenant.
 */
export type { AccountEvents } from './accounts/account-events.js';
export {
  type Account,
  type Accounts,
  credentialOwner,
  isUsable,
  isVoid,
  isWaitOver,
  type Narrowed,
  notBeforeOf,
  subOf,
} from './accounts/accounts.js';
export { createAskedInSignIn, keyOfMark, newMark } from './accounts/asked-in-sign-in.js';
export type { Credentials, PasswordAttempt, Proof, TenantCredentials } from './accounts/credentials.js';
export type { Linking, ParentRef } from './accounts/linking.js';
export type { SignInRef } from './accounts/means.js';
export type { OwnPasswordChange, OwnPasswordState, OwnPasswords } from './accounts/own-passwords.js';
export { createRecentCutoffs } from './accounts/recent-cutoffs.js';
export type { PreparedRegistration, Registration, RegistrationInput, RegistrationProblem } from './accounts/registration.js';
export type { NewSignIn, SignInHistory } from './accounts/sign-in-history.js';
export type { AttributeChanges, AttributeRules, OwnAttribute } from './attributes.js';
export type { ApiResourceFields, ApiResourceInput, ApiResources, ApiScopes } from './clients/api-resources.js';
export { type Authenticate, explainRefusal } from './clients/authenticate.js';
export { isUsableKey, type MetadataWarning } from './clients/client-keys.js';
export { LONGEST_URI, ownMetadataNames, type RecordProblem, responseTypesOf } from './clients/client-metadata.js';
export { authorityOfClient, scopesOfClient } from './clients/client-vouchers.js';
export { type ClientFields, type ClientInput, type Clients, clientDefaults } from './clients/clients.js';
export type { Consents } from './clients/consents.js';
export type { UnderstoodMetadata } from './clients/pasted-metadata.js';
export type { Authority, ClientCutoff, ExportReader, SignInMeans, Vouching } from './context.js';
export { createDirectory } from './create-directory.js';
export type { FindPasswordProblem, PasswordOwner, PasswordProblem, PasswordRule, RefusedPasswords } from './credentials/password-rules.js';
export { createPasswords, type Passwords } from './credentials/passwords.js';
export { isLiveSecret } from './credentials/secrets.js';
export type { Directory, DirectoryOptions, RecordName, RecoveryRules, TenantDirectory, UnreadableRecord } from './directory.js';
export type { GroupRefs } from './groups/group-refs.js';
export type { GroupFields, GroupInput, Groups } from './groups/groups.js';
export type { PermissionFields, PermissionInput, Permissions } from './groups/permissions.js';
export type { InputProblem, Patch } from './input.js';
export type { Acceptance, AcceptedAccount } from './invitations/acceptance.js';
export type { DueInvitation, OnInvitationDue } from './invitations/invitation-deliveries.js';
export type { InvitationQuery, InvitationView } from './invitations/invitation-lists.js';
export type { InvitationInput, InvitationRules, Invitations } from './invitations/invitations.js';
export type { InvitationState, OpenedInvitation } from './invitations/opening.js';
export type { Listed, ListQuery, StatusQuery } from './lists/list.js';
export { type LinkRef, type LinkState, linkPages } from './mailed-links.js';
export type { Deliveries, Enqueued, NewDelivery } from './outbox/deliveries.js';
export type { EventFeed, EventPage, EventQuery, PruneOptions } from './outbox/event-feed.js';
export type { Events } from './outbox/event-listeners.js';
export type { Outbox } from './outbox/outbox.js';
export type { PersonExport } from './persons/person-export.js';
export type { PersonQuery, UserQuery } from './persons/person-lists.js';
export type { PersonFields, PersonInput, PersonPatch, Persons } from './persons/persons.js';
export type { RecentSignIn, RecentSignIns } from './persons/recent-sign-ins.js';
export type { OwnChanges } from './persons/self-service.js';
export type { JudgeChild, Spared, UserFields, UserInput } from './persons/user-record.js';
export type { IdentityRemoval, Users } from './persons/users.js';
export type { DueEmailProof, EmailProofRequest, EmailProofState, EmailProofs, OpenedEmailProof } from './recovery/email-proofs.js';
export type { DueLink, OpenedReset, PasswordResets, ResetRequest, ResetState } from './recovery/password-resets.js';
export { findSeedProblems } from './seed/problems.js';
export type { SeedPart, SeedPiece } from './seed/run.js';
export { applySeed, type Seed } from './seed/seed.js';
export type { SeededCollection } from './seed-ledger.js';
export { createKeyRotation, type KeyRotation, type KeyState } from './signing-keys/key-rotation.js';
export {
  type CachedRows,
  type ExtensionCollection,
  type ExtensionIndex,
  type ExtensionRow,
  type ExtensionRows,
  type FoundRows,
  OF_INSTANCE,
  type PersonRef,
  type RowEvent,
  type RowsOfAllTenants,
  specOf,
  wrongPathOf,
} from './tenants/extension-collections.js';
export { createExtensionData, type ExtensionData } from './tenants/extension-rows.js';
export { PASSWORD } from './tenants/sign-in-policy.js';
export type { Subsidiaries, SubsidiaryFields, SubsidiaryInput } from './tenants/subsidiaries.js';
export type { TenantFields, TenantInput, Tenants } from './tenants/tenants.js';
