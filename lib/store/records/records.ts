/** The types of all durable records, as they are stored. Ids are UUIDs, of version 7 when the service makes them. */
export type { ApiResource, Client, Consent, HashedSecret, Lifetimes, ScopeDescription } from './clients.js';
export type { Group, Permission, SelfServicePart, Subsidiary, Tenant } from './organisations.js';
export type {
  AcceptedInvitation,
  Credential,
  CredentialRef,
  CredentialVoucher,
  EmailProof,
  ExternalIdentity,
  Invitation,
  MailedLink,
  NewPassword,
  PasswordReset,
  Person,
  PersonWithUser,
  SparedSession,
  User,
  UserInvitation,
} from './persons.js';
export type {
  AccountEventsRow,
  ChangeRecord,
  Delivery,
  EventRecord,
  KeyRing,
  Removal,
  RemovedUser,
  SeedRecord,
  StoredSigningKey,
  SweptRow,
  UpkeepRecord,
} from './service-records.js';
export type { KnownBrowser, RecordedSignIn, SignInHistoryRow } from './sign-ins.js';
export type { Branding, Named, Outboxed, PendingEvent, Stored, Voucher } from './stored.js';
