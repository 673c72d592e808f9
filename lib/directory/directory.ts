/** The directory's interface: the durable records, and the rules for them. */
import type { Attribution } from '../events.js';
import type { Logger } from '../logger.js';
import type { Row } from '../store/directory-store.js';
import type { HealthProblem } from '../store/outages/health.js';
import type { CheckedDirectory } from '../store/records/checked-directory.js';
import type { LeftOutRow } from '../store/records/left-out.js';
import type { DamagedRow } from '../store/records/readable-part.js';
import type { ApiResource } from '../store/records/records.js';
import type { ProblemOfRow } from '../store/records/row-sweep.js';
import type { Sealer } from '../store/sealer.js';
import type { AccountEvents } from './accounts/account-events.js';
import type { Accounts } from './accounts/accounts.js';
import type { AskedInSignIn } from './accounts/asked-in-sign-in.js';
import type { Credentials, TenantCredentials } from './accounts/credentials.js';
import type { Linking } from './accounts/linking.js';
import type { AccountMeans } from './accounts/means.js';
import type { OwnPasswords } from './accounts/own-passwords.js';
import type { Privileges } from './accounts/privileges.js';
import type { RecentCutoffs } from './accounts/recent-cutoffs.js';
import type { Registration } from './accounts/registration.js';
import type { OnSignInCutoff } from './accounts/sign-in-cutoff.js';
import type { SignInHistory, SignInSweep } from './accounts/sign-in-history.js';
import type { WaysIn } from './accounts/ways-in.js';
import type { AttributeRules } from './attributes.js';
import type { ApiResources, ApiScopes } from './clients/api-resources.js';
import type { Authenticate } from './clients/authenticate.js';
import type { Clients } from './clients/clients.js';
import type { Consents } from './clients/consents.js';
import type { ClientRules, DirectoryContext, ForgottenPerson, SignInMeans, Vouching } from './context.js';
import type { PasswordRulesOptions } from './credentials/password-rules.js';
import type { Passwords } from './credentials/passwords.js';
import type { Groups } from './groups/groups.js';
import type { Permissions } from './groups/permissions.js';
import type { Acceptance } from './invitations/acceptance.js';
import type { OnInvitationDue } from './invitations/invitation-deliveries.js';
import type { InvitationRules, Invitations } from './invitations/invitations.js';
import type { NationalIds } from './keyed-hashes/national-ids.js';
import type { RemovedUserIds } from './keyed-hashes/removed-user-ids.js';
import type { KeyCompletion } from './lists/key-completion.js';
import type { IdpNames } from './name-space.js';
import type { Deliveries } from './outbox/deliveries.js';
import type { EventFeed } from './outbox/event-feed.js';
import type { Events } from './outbox/event-listeners.js';
import type { Outbox } from './outbox/outbox.js';
import type { OnPersonExport } from './persons/person-export.js';
import type { Persons } from './persons/persons.js';
import type { SignInHistoryRules } from './persons/recent-sign-ins.js';
import type { Users } from './persons/users.js';
import type { EmailProofs } from './recovery/email-proofs.js';
import type { PasswordResets } from './recovery/password-resets.js';
import type { TenantRemoval } from './removal/tenant-removal.js';
import type { SeedLedger } from './seed-ledger.js';
import type { PolicyWatch } from './tenants/sign-in-policy.js';
import type { Subsidiaries } from './tenants/subsidiaries.js';
import type { Tenants } from './tenants/tenants.js';

export interface DirectoryOptions {
  /** The opened store, with the collections of `lib/store/records/collections.ts`. */
  readonly store: CheckedDirectory;
  readonly caches: DirectoryContext['caches'];
  readonly sealer: Sealer;
  /** @default scrypt */
  readonly hasher?: Passwords;
  /** Rules by which passwords are refused. @default the service's own rules */
  readonly passwordRules?: PasswordRulesOptions;
  /** Takes, renews or gives back (0 ms) a lease; false while another holder has it. @param holder by default this node */
  readonly lease: (work: string, holder?: string, ms?: number) => Promise<boolean>;
  /** Returns the time that all nodes share, in milliseconds since the epoch. @default the time of this process */
  readonly now?: () => number;
  /** The accounts whose sign-ins were cut off recently. @default unknown, so that no account is read from a cache */
  readonly recentCutoffs?: RecentCutoffs;
  /** Requests that users made in a sign-in. @default none, so that no such request can be completed */
  readonly askedInSignIn?: AskedInSignIn;
  readonly logger: Logger;
  /** The `source` of events. */
  readonly issuer: string;
  /** Milliseconds before a listener's second attempt, third …; @default 1, 5, 25 and 125 seconds */
  readonly backOff?: readonly number[];
  /** Seconds that events are stored. @default forever */
  readonly eventRetention?: number;
  /** Minimum number of characters of a secret that a host sets for a client or an API resource. @default 1 */
  readonly ownSecretLength?: number;
  /** Scopes of the protocol and of all claim sets. */
  readonly identityScopes: ReadonlySet<string>;
  /** Returns the API resource of the service itself. The function is not called before the first request or seed. @default none */
  readonly ownApi?: () => ApiResource;
  /** Collections outside the directory whose rows have events in them. */
  readonly eventSources?: readonly string[];
  /** Erases data outside the directory of a person who is erased, or of a user who is removed. The function is called until it succeeds. */
  readonly erase?: ((person: ForgottenPerson) => Promise<void>) | undefined;
  /** Milliseconds after which no request still writes to a tenant that it found before the removal. @default 5000 */
  readonly settledMs?: number;
  /** Removes data of a tenant outside the directory. The function is called until it succeeds. */
  readonly removeRows?: (tid: string) => Promise<void>;
  /** Client metadata that is allowed in addition to the service's own, and further checks. @default none */
  readonly clientRules?: ClientRules;
  /** Options of invitations. @default no mail, no personal accounts, 24 hours, and invitation links below the issuer */
  readonly invitations?: InvitationRules;
  /** Options of mailed links. @default an hour for a reset, a day for a proof, below the issuer */
  readonly recovery?: RecoveryRules;
  /** Sign-in methods of the instance. @default passwords, and no second factor */
  readonly means?: SignInMeans;
  /** The schema of the attributes of persons. @default attributes are any object */
  readonly attributes?: AttributeRules | undefined;
  /** Size of the history of sign-ins. @default nothing is recorded */
  readonly signInHistory?: SignInHistoryRules;
  /** Permissions that are treated like the permissions of the admin API. @default none */
  readonly privileged?: readonly string[];
}

/** Options of mailed links that reset a password, and of mailed links that prove an address. */
export interface RecoveryRules {
  readonly resetSeconds: number;
  readonly resetUrlOf: (token: string) => string;
  readonly proofSeconds: number;
  readonly proofUrlOf: (token: string) => string;
  readonly stopUrlOf: (token: string) => string;
}

/** Services bound to one tenant. Records of other tenants do not exist for them. */
export interface TenantDirectory {
  readonly persons: Persons;
  readonly users: Users;
  readonly groups: Groups;
  readonly subsidiaries: Subsidiaries;
  readonly linking: Linking;
  readonly registration: Registration;
  readonly credentials: TenantCredentials;
  readonly invitations: Invitations;
}

/** Location of an unreadable record. */
export interface UnreadableRecord extends LeftOutRow {
  /** JSON Pointers to the malformed parts: {@link path} is the first. */
  readonly malformed: readonly string[];
}

export interface RecordName {
  /** A collection of the service or of an extension. */
  readonly collection: string;
  readonly id: string;
  /** The index that finds the record by the id. @default the id is the record's own */
  readonly index?: string;
}

/** The durable records and their rules. */
export interface Directory {
  readonly issuer: string;
  readonly tenants: Tenants;
  readonly permissions: Permissions;
  readonly clients: Clients;
  readonly apiResources: ApiResources;
  readonly authenticate: Authenticate;
  /** Returns the scopes of API resources; a promise only if the cache does not have them. */
  apiScopes(): ApiScopes | Promise<ApiScopes>;
  /** Returns the code challenge methods that any client may use; a promise only if the cache does not have them. */
  pkceMethods(): readonly string[] | Promise<readonly string[]>;
  readonly consents: Consents;
  /** Returns the services of a tenant. Persons and users are reachable only by them, and by {@link accounts}. */
  forTenant(tid: string): TenantDirectory;
  /**
   * Returns the same services, whose events name the actor of the changes: for one request, or one job.
   * @param vouching voucher of the account links and identities that the services write. @default unchanged; initially the operator
   * @throws IdpError `invalid_record` for an attribution that no event can carry.
   */
  as(by: Attribution, vouching?: Vouching): Directory;
  /** Returns the problem of a readable row. @internal */
  problemOf(collection: string, row: Row): Promise<ProblemOfRow | undefined>;
  /**
   * Returns the problem of an unreadable record, or of a record that refers to a missing record. Undefined for a sound record, and if the
   * record does not exist.
   */
  unreadable(record: RecordName): Promise<UnreadableRecord | undefined>;
  /**
   * Returns the same services, which find the readable part of one unreadable record: for its removal, or for a change that repairs its
   * malformed members. Only callers who may make the change with any value of the malformed members may use these services.
   */
  overDamaged(record: DamagedRow): Directory;
  readonly accounts: Accounts;
  /** Permissions that a caller may grant or reach only if it holds them in the same tenant. */
  readonly privileges: Privileges;
  /** Comparison of means to sign in with the privileges that they open. */
  readonly means: AccountMeans;
  /** Ways to sign in of users. Users cannot remove their last way. */
  readonly waysIn: WaysIn;
  readonly accountEvents: AccountEvents;
  /** Recent sign-ins of users, and the browsers that accounts know. */
  readonly signInHistory: SignInHistory;
  readonly credentials: Credentials;
  /** @internal */
  readonly policies: Pick<PolicyWatch, 'begin' | 'offers' | 'problems'>;
  readonly idpNames: IdpNames;
  /** @internal */
  readonly removedUserIds: Pick<RemovedUserIds, 'begin'>;
  /** @internal */
  readonly nationalIds: Pick<NationalIds, 'begin'>;
  readonly deliveries: Deliveries;
  /** Invitations of all tenants, for the pages of invitation links, which get the tenant from the invitation link. */
  readonly acceptance: Acceptance;
  readonly onInvitationDue: OnInvitationDue;
  /** Passwords that signed-in users change or set themselves, in all tenants. */
  readonly ownPasswords: OwnPasswords;
  /** Resets of passwords of all tenants, for the pages of reset links. */
  readonly passwordResets: PasswordResets;
  /** Proofs of e-mail addresses of all tenants, for the pages of their mailed links. */
  readonly emailProofs: EmailProofs;
  /** @internal for `applySeed` */
  readonly seedLedger: SeedLedger;
  /** Returns the scopes that clients may be allowed now, past every cache. @internal for `applySeed` */
  existingScopes(): Promise<ReadonlySet<string>>;
  /** @internal for the protocol, which stores the sign-ins */
  readonly onSignInCutoff: OnSignInCutoff;
  readonly events: Events;
  readonly eventFeed: EventFeed;
  /** @internal for other owners of data about persons */
  readonly onPersonExport: OnPersonExport;
  readonly outbox: Pick<Outbox, 'start'>;
  /** @internal */
  readonly keyCompletion: Pick<KeyCompletion, 'start' | 'isKeyed'>;
  /** @internal */
  readonly tenantRemoval: Pick<TenantRemoval, 'start'>;
  /** @internal */
  readonly signInSweep: Pick<SignInSweep, 'start'>;
  /** @internal */
  problems(): readonly HealthProblem[];
  /** Dispatches the remaining events, and waits for deliveries under way. */
  close(): Promise<void>;
}
