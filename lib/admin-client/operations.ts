/** The operations of the admin API. Written by `npm run admin-client`, from the schemas of the service: change those. */

export interface ApiResource {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly scopeDescriptions?: {
    readonly [key: string]:
      | string
      | {
          readonly en?: string;
          readonly nb?: string;
          readonly sv?: string;
          readonly da?: string;
          readonly fi?: string;
          readonly de?: string;
        };
  };
  readonly introspects: 'own' | 'all';
  readonly allowedTenants?: readonly string[];
  readonly introspectionSignedResponseAlg?: 'RS256' | 'ES256';
  readonly impersonation?: 'allow' | 'refuse';
  readonly status: 'active' | 'disabled';
  readonly id: string;
  /** Valid secrets, newest first. */
  readonly secrets: readonly {
    /** Format: date-time */
    readonly expiresAt?: string;
  }[];
  /** Shown only in this answer. */
  readonly secret?: string;
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly metadata: { readonly [key: string]: unknown };
  readonly allowedScopes: readonly string[];
  readonly requirePkce?: boolean;
  readonly fapi?: '2.0';
  readonly allowPlainPkce: boolean;
  readonly requireConsent: boolean;
  readonly accessTokenType: 'reference' | 'jwt';
  readonly idTokenClaims: 'minimal' | 'scopes';
  readonly email?: 'all' | 'first';
  readonly styles?: {
    readonly logoUri?: string;
    readonly faviconUri?: string;
    readonly accentColor?: string;
    readonly radius?: number;
    readonly font?: 'system' | 'humanist' | 'rounded' | 'serif';
    readonly privacyUri?: string;
    readonly termsUri?: string;
    readonly helpUri?: string;
  };
  readonly lifetimes: {
    readonly accessToken?: number;
    readonly idToken?: number;
    readonly refreshTokenIdle?: number;
    readonly refreshTokenAbsolute?: number;
    readonly refreshTokenGrace?: number;
    readonly authenticationRequest?: number;
  };
  readonly allowedTenants?: readonly string[];
  readonly introspects: 'own' | 'all';
  readonly adminTenants: readonly string[];
  readonly trustedLoginHint: boolean;
  readonly corsOrigins: readonly string[];
  readonly postRegistrationUri?: string;
  readonly impersonation?: 'allow' | 'refuse';
  readonly status: 'active' | 'disabled';
  /** Valid secrets, newest first. */
  readonly secrets: readonly {
    /** Format: date-time */
    readonly expiresAt?: string;
  }[];
  /** Shown only in this answer. */
  readonly secret?: string;
  /** Parts of the metadata that the service ignored or reinterpreted. Only the answer to the write has this member. */
  readonly warnings?: readonly { readonly path: string; readonly reason: string }[];
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface ConfirmedMeans {
  /** Means that the caller confirmed. */
  readonly items: readonly Means[];
  /** Means of a user or parent account that may do more in the admin API than the caller. These means stay unconfirmed. */
  readonly left: readonly Means[];
  /** Whether means of a parent account stay unconfirmed, whose tenant the caller does not administer. */
  readonly hasMoreElsewhere: boolean;
}

export interface Connection {
  readonly id: string;
  readonly preset: 'oidc' | 'google' | 'entra';
  readonly name: string;
  readonly status: 'active' | 'disabled';
  readonly issuer: string;
  readonly clientId: string;
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  readonly keyAlgorithm: 'RS256' | 'ES256';
  readonly scopes: readonly string[];
  readonly subjectClaim: string;
  readonly requiredClaims: readonly { readonly claim: string; readonly value: string }[];
  readonly requireVerifiedEmail: boolean;
  readonly mapping: {
    readonly userName?: { readonly claim: string };
    readonly givenName?: { readonly claim: string; readonly update?: boolean };
    readonly familyName?: { readonly claim: string; readonly update?: boolean };
    readonly email?: { readonly claim: string; readonly update?: boolean };
    readonly phoneNumber?: { readonly claim: string; readonly update?: boolean };
    readonly locale?: { readonly claim: string; readonly update?: boolean };
    readonly pictureUrl?: { readonly claim: string; readonly update?: boolean };
    readonly externalId?: { readonly claim: string; readonly update?: boolean };
    readonly groups?: {
      readonly claim: string;
      readonly update?: boolean;
      readonly values: readonly { readonly value: string; readonly groupId: string }[];
    };
  };
  readonly createUsersIn?: string;
  readonly linkBySignIn: boolean;
  readonly hasButton: boolean;
  readonly domains: readonly string[];
  readonly mfa: { readonly amr: readonly string[]; readonly acr: readonly string[] };
  readonly parameters: readonly { readonly name: string; readonly value: string }[];
  readonly renamed: readonly {
    readonly name: 'eid_user_visible_data' | 'eid_user_visible_data_format' | 'eid_call_initiator';
    readonly as: string;
  }[];
  readonly endSession: boolean;
  readonly hasSecret: boolean;
  /** Redirect URI to register at the provider. */
  readonly redirectUri: string;
  readonly postLogoutRedirectUri: string;
  /** URL of the public keys of the connection, for `private_key_jwt`. */
  readonly jwksUri?: string;
  readonly publicKeys: readonly { readonly [key: string]: unknown }[];
  /** Ignored parts of the discovery document that the service read last, and mapped groups that no user gets until an administrator confirms them. */
  readonly warnings?: readonly { readonly path: string; readonly reason: string }[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Consent {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Claims that the client requested individually. */
  readonly claims?: readonly string[];
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface Event {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time: string;
  readonly subject: string;
  readonly tid?: string;
  readonly actor?: string;
  readonly act?: string;
  readonly requestid?: string;
  /** Position in the order of all events. */
  readonly sequence: string;
  readonly data: { readonly [key: string]: unknown };
}

export interface Factor {
  readonly id: string;
  readonly kind: 'totp' | 'passkey' | 'recovery';
  readonly name?: string;
  /** ISO 8601 */
  readonly createdAt: string;
  /** ISO 8601 */
  readonly lastUsedAt?: string;
  /** Number of unused recovery codes. */
  readonly codesLeft?: number;
}

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly permissionIds: readonly string[];
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface GroupsOfUser {
  readonly items: readonly { readonly id: string; readonly name: string }[];
  readonly unreadable?: readonly Unreadable[];
}

export interface Impersonation {
  readonly id: string;
  readonly status: 'active' | 'ended';
  /** Id of the impersonated user. */
  readonly userId: string;
  /** The impersonator, as in the claim `act`. */
  readonly operator: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Reason that the impersonator gave. Absent after the impersonator or the impersonated user is erased. */
  readonly reason?: string;
  /** Id of the client that the impersonation began for. */
  readonly clientId: string;
  /** Time when the impersonation began. Format: date-time */
  readonly startedAt: string;
  /** Latest time when the impersonation ends. Format: date-time */
  readonly endsAt: string;
  /** Time when the impersonation ended. Format: date-time */
  readonly endedAt?: string;
  readonly endedBy?: 'operator' | 'time' | 'administrator' | 'sign-out' | 'permission' | 'target';
}

export interface Key {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256';
  readonly state: 'next' | 'active' | 'retiring';
  /** Format: date-time */
  readonly announcedAt?: string;
  /** Format: date-time */
  readonly activatedAt?: string;
  /** Format: date-time */
  readonly removeAt?: string;
}

export interface Links {
  readonly parent?: { readonly userId: string; readonly tid?: string };
  /** Child accounts in tenants that the caller administers. */
  readonly children: readonly { readonly userId: string; readonly tid?: string }[];
  readonly unreadable?: readonly Unreadable[];
}

export interface Means {
  /** `invitation`, `reset`, `identity`, `address`, `password`, `factor`, `link` for an account link, or `connection` for the settings of a connection or its mapping to a group. */
  readonly kind: string;
  readonly tid: string;
  readonly userId?: string;
  /** Id of the invitation, the factor, the parent account of the account link, or the connection. */
  readonly id?: string;
  readonly idp?: string;
  readonly subject?: string;
  /** E-mail address of the person, to which the service mails reset links. */
  readonly address?: string;
}

export interface MeansOfUser {
  /** At most 500 means. */
  readonly items: readonly Means[];
  readonly total: number;
}

export interface Permission {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface Person {
  readonly id: string;
  readonly subsidiaryId?: string;
  readonly givenName?: string;
  readonly familyName?: string;
  readonly email?: string;
  readonly secondEmail?: string;
  readonly phoneNumber?: string;
  readonly phoneNumberVerified: boolean;
  readonly locale?: string;
  readonly pictureUrl?: string;
  readonly externalId?: string;
  readonly attributes: { readonly [key: string]: unknown };
  /** Whether the person has a national id. The API never returns the national id. */
  readonly hasNationalId: boolean;
  readonly user?: User;
  readonly invitation?: {
    readonly id: string;
    readonly status: string;
    /** Format: date-time */
    readonly expiresAt: string;
  };
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface PersonExport {
  readonly tenant: { readonly id: string; readonly name?: string };
  readonly subsidiary?: { readonly id: string; readonly name: string };
  readonly person: {
    readonly id: string;
    readonly subsidiaryId?: string;
    readonly givenName?: string;
    readonly familyName?: string;
    readonly email?: string;
    readonly secondEmail?: string;
    readonly phoneNumber?: string;
    readonly phoneNumberVerified: boolean;
    readonly locale?: string;
    readonly pictureUrl?: string;
    readonly externalId?: string;
    readonly attributes: { readonly [key: string]: unknown };
    /** Whether the person has a national id. The API never returns the national id. */
    readonly hasNationalId: boolean;
    /** Format: date-time */
    readonly createdAt: string;
    /** Format: date-time */
    readonly updatedAt: string;
  };
  readonly user?: User;
  /** The requested e-mail address, until the user opens the mailed link that proves it. */
  readonly pendingEmail?: {
    readonly address: string;
    /** Format: date-time */
    readonly expiresAt: string;
  };
  readonly groups: readonly { readonly id: string; readonly name: string }[];
  readonly password?: {
    /** Format: date-time */
    readonly changedAt: string;
  };
  readonly consents: readonly {
    readonly clientId: string;
    readonly scopes: readonly string[];
    readonly claims?: readonly string[];
    /** Format: date-time */
    readonly at: string;
  }[];
  readonly invitations: readonly { readonly [key: string]: unknown }[];
  readonly signIns: readonly SignIn[];
  /** Sessions, grants and records of extensions, by the names of the collections. */
  readonly others: {
    readonly [key: string]: readonly { readonly [key: string]: unknown }[];
  };
  /** Unreadable records, which are left out. `path` is a JSON Pointer to the malformed member. */
  readonly unreadable?: readonly { readonly collection: string; readonly id: string; readonly path: string }[];
}

export interface Secret {
  /** Shown only in this answer. */
  readonly secret: string;
}

export interface Session {
  readonly id: string;
  readonly inBrowser: boolean;
  /** Format: date-time */
  readonly signedInAt: string;
  /** Format: date-time */
  readonly lastUsedAt?: string;
  /** Format: date-time */
  readonly expiresAt: string;
  readonly amr: readonly string[];
  readonly idp: string;
  readonly browser?: string;
  readonly system?: string;
  readonly address?: string;
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  readonly clientIds: readonly string[];
}

export interface SignIn {
  readonly id: string;
  /** Format: date-time */
  readonly signedInAt: string;
  /** As in the claim `amr`. Empty for an impersonation. */
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. Absent for an impersonation. */
  readonly idp?: string;
  /** The sign-in method, if it is not the password and its name differs from `idp`. */
  readonly method?: string;
  /** Id of the application: a client, or a page or service provider of the service. */
  readonly clientId: string;
  /** The grant type, for a sign-in without a browser. */
  readonly grantType?: string;
  readonly browser?: string;
  readonly system?: string;
  /** The part of the address that `sessions.address` allowed. */
  readonly address?: string;
  /** The account did not know the browser. */
  readonly isNewBrowser?: true;
  readonly isImpersonation?: true;
  readonly impersonationId?: string;
}

export interface Subsidiary {
  readonly id: string;
  readonly name: string;
  readonly organisationNumber?: string;
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly organisationNumber?: string;
  readonly signIn?: {
    readonly methods?: readonly string[];
    readonly requireMfa?: boolean;
    readonly selfRegistration?: boolean;
    readonly accountLinks?: boolean;
  };
  readonly branding?: {
    readonly logoUri?: string;
    readonly faviconUri?: string;
    readonly accentColor?: string;
    readonly radius?: number;
    readonly font?: 'system' | 'humanist' | 'rounded' | 'serif';
    readonly privacyUri?: string;
    readonly termsUri?: string;
    readonly helpUri?: string;
  };
  readonly locale?: string;
  readonly selfService?: readonly ('name' | 'phone' | 'locale' | 'attributes')[];
  readonly status: 'active' | 'disabled';
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface Unreadable {
  readonly id: string;
  /** A JSON Pointer to the malformed member. */
  readonly path: string;
}

export interface User {
  readonly id: string;
  readonly personId: string;
  /** Id of the parent account if the user is linked, otherwise the id of the user. */
  readonly sub: string;
  readonly userName: string;
  readonly emailVerified: boolean;
  readonly externalIdentities: readonly { readonly idp: string; readonly subject: string }[];
  /** The address that the user verified last, if the person has another address. The service mails messages about the account to this address. */
  readonly provenEmail?: string;
  readonly status: 'invited' | 'active' | 'disabled';
  readonly groupIds: readonly string[];
  readonly parentUserId?: string;
  readonly isParent: boolean;
  /** Format: date-time */
  readonly createdAt: string;
  /** Format: date-time */
  readonly updatedAt: string;
}

export interface Webhook {
  readonly id: string;
  /** https URL. Outside production, http at a loopback address works too. */
  readonly url: string;
  readonly description?: string;
  readonly types?: readonly string[];
  readonly status: 'active' | 'disabled';
  readonly reason?: 'failing' | 'gone';
  /** `sequence` of the last event that was delivered or skipped. */
  readonly position: string;
  /** Number of failed attempts for the next event. Absent after the receiver accepted an event. */
  readonly attempts?: number;
  readonly failingSince?: string;
  readonly problem?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface WebhookDelivery {
  readonly id: string;
  readonly event: Event;
  readonly attempts: number;
  readonly problem: string;
  readonly at: string;
}

export interface WebhookTest {
  readonly isTaken: boolean;
  readonly status?: number;
  readonly problem?: string;
}

export interface WebhookWithSecret {
  readonly id: string;
  /** https URL. Outside production, http at a loopback address works too. */
  readonly url: string;
  readonly description?: string;
  readonly types?: readonly string[];
  readonly status: 'active' | 'disabled';
  readonly reason?: 'failing' | 'gone';
  /** `sequence` of the last event that was delivered or skipped. */
  readonly position: string;
  /** Number of failed attempts for the next event. Absent after the receiver accepted an event. */
  readonly attempts?: number;
  readonly failingSince?: string;
  readonly problem?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Shown only in this answer. */
  readonly secret: string;
}

/** By method and path. */
export interface Operations {
  /** Lists tenants. Scope `idp.tenants:read`. */
  'GET /tenants': {
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: { readonly items: readonly Tenant[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a tenant. Scope `idp.tenants:write`. */
  'POST /tenants': {
    readonly body: {
      readonly id?: string;
      readonly name: string;
      readonly organisationNumber?: string;
      readonly signIn?: {
        readonly methods?: readonly string[];
        readonly requireMfa?: boolean;
        readonly selfRegistration?: boolean;
        readonly accountLinks?: boolean;
      };
      readonly branding?: {
        readonly logoUri?: string;
        readonly faviconUri?: string;
        readonly accentColor?: string;
        readonly radius?: number;
        readonly font?: 'system' | 'humanist' | 'rounded' | 'serif';
        readonly privacyUri?: string;
        readonly termsUri?: string;
        readonly helpUri?: string;
      };
      readonly locale?: string;
      readonly selfService?: readonly ('name' | 'phone' | 'locale' | 'attributes')[];
    };
    readonly answer: Tenant;
  };
  /** Reads a tenant. Scope `idp.tenants:read`. */
  'GET /tenants/{tid}': {
    readonly params: { readonly tid: string };
    readonly answer: Tenant;
  };
  /** Changes a tenant. Scope `idp.tenants:write`. */
  'PATCH /tenants/{tid}': {
    readonly params: { readonly tid: string };
    readonly body: {
      readonly name?: string;
      readonly organisationNumber?: string | null;
      readonly signIn?: {
        readonly methods?: readonly string[] | null;
        readonly requireMfa?: boolean | null;
        readonly selfRegistration?: boolean | null;
        readonly accountLinks?: boolean | null;
      } | null;
      readonly branding?: {
        readonly logoUri?: string | null;
        readonly faviconUri?: string | null;
        readonly accentColor?: string | null;
        readonly radius?: number | null;
        readonly font?: ('system' | 'humanist' | 'rounded' | 'serif') | null;
        readonly privacyUri?: string | null;
        readonly termsUri?: string | null;
        readonly helpUri?: string | null;
      } | null;
      readonly locale?: string | null;
      readonly selfService?: readonly ('name' | 'phone' | 'locale' | 'attributes')[] | null;
    };
    readonly answer: Tenant;
  };
  /** Removes a tenant. Scope `idp.tenants:write`. */
  'DELETE /tenants/{tid}': {
    readonly params: { readonly tid: string };
    readonly answer: undefined;
  };
  /** Disables a tenant, and ends all of its sign-ins. Scope `idp.tenants:write`. */
  'POST /tenants/{tid}/disable': {
    readonly params: { readonly tid: string };
    readonly answer: Tenant;
  };
  /** Enables a tenant, so that its users can sign in again. Scope `idp.tenants:write`. */
  'POST /tenants/{tid}/enable': {
    readonly params: { readonly tid: string };
    readonly answer: Tenant;
  };
  /** Lists subsidiaries. Scope `idp.subsidiaries:read`. */
  'GET /tenants/{tid}/subsidiaries': {
    readonly params: { readonly tid: string };
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
    };
    readonly answer: { readonly items: readonly Subsidiary[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a subsidiary. Scope `idp.subsidiaries:write`. */
  'POST /tenants/{tid}/subsidiaries': {
    readonly params: { readonly tid: string };
    readonly body: { readonly id?: string; readonly name: string; readonly organisationNumber?: string };
    readonly answer: Subsidiary;
  };
  /** Reads a subsidiary. Scope `idp.subsidiaries:read`. */
  'GET /tenants/{tid}/subsidiaries/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Subsidiary;
  };
  /** Changes a subsidiary. Scope `idp.subsidiaries:write`. */
  'PATCH /tenants/{tid}/subsidiaries/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: { readonly name?: string; readonly organisationNumber?: string | null };
    readonly answer: Subsidiary;
  };
  /** Removes a subsidiary. Scope `idp.subsidiaries:write`. */
  'DELETE /tenants/{tid}/subsidiaries/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Lists persons. Scope `idp.persons:read`. */
  'GET /tenants/{tid}/persons': {
    readonly params: { readonly tid: string };
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
      readonly email?: string;
      readonly userName?: string;
      readonly externalId?: string;
    };
    readonly answer: { readonly items: readonly Person[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a person. Scope `idp.persons:write`. */
  'POST /tenants/{tid}/persons': {
    readonly params: { readonly tid: string };
    readonly body: {
      readonly id?: string;
      readonly subsidiaryId?: string;
      readonly givenName?: string;
      readonly familyName?: string;
      /** Format: idn-email */
      readonly email?: string;
      /** Format: idn-email */
      readonly secondEmail?: string;
      readonly phoneNumber?: string;
      readonly phoneNumberVerified?: boolean;
      readonly locale?: string;
      readonly nationalId?: string;
      readonly pictureUrl?: string;
      readonly externalId?: string;
      readonly attributes?: { readonly [key: string]: unknown };
      readonly user?: {
        readonly id?: string;
        readonly userName: string;
        readonly emailVerified?: boolean;
        readonly externalIdentities?: readonly { readonly idp: string; readonly subject: string }[];
        readonly groups?: { readonly ids?: readonly string[]; readonly names?: readonly string[] };
      };
      readonly invitation?: { readonly send: boolean; readonly clientId?: string; readonly link?: boolean; readonly locale?: string };
    };
    readonly answer: Person;
  };
  /** Reads a person. Scope `idp.persons:read`. */
  'GET /tenants/{tid}/persons/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Person;
  };
  /** Changes a person. Scope `idp.persons:write`. */
  'PATCH /tenants/{tid}/persons/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly subsidiaryId?: string | null;
      readonly givenName?: string | null;
      readonly familyName?: string | null;
      readonly email?: string | null;
      readonly secondEmail?: string | null;
      readonly phoneNumber?: string | null;
      readonly phoneNumberVerified?: boolean;
      readonly locale?: string | null;
      readonly nationalId?: string | null;
      readonly pictureUrl?: string | null;
      readonly externalId?: string | null;
      readonly attributes?: { readonly [key: string]: unknown | null };
    };
    readonly answer: Person;
  };
  /** Removes a person. Scope `idp.persons:write`. */
  'DELETE /tenants/{tid}/persons/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Exports all data that the service holds about a person. Scope `idp.exports:read`. */
  'GET /tenants/{tid}/persons/{id}/export': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: PersonExport;
  };
  /** Lists users. Scope `idp.users:read`. */
  'GET /tenants/{tid}/users': {
    readonly params: { readonly tid: string };
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
      readonly email?: string;
      readonly userName?: string;
      readonly externalId?: string;
      readonly status?: 'invited' | 'active' | 'disabled';
    };
    readonly answer: { readonly items: readonly User[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads a user. Scope `idp.users:read`. */
  'GET /tenants/{tid}/users/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: User;
  };
  /** Changes a user. Scope `idp.users:write`. */
  'PATCH /tenants/{tid}/users/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly userName?: string;
      readonly emailVerified?: boolean;
      readonly externalIdentities?: readonly { readonly idp: string; readonly subject: string }[];
    };
    readonly answer: User;
  };
  /** Removes a user. Scope `idp.users:write`. */
  'DELETE /tenants/{tid}/users/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Creates an invited user for a person. Scope `idp.users:write`. */
  'POST /tenants/{tid}/persons/{id}/user': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly id?: string;
      readonly userName: string;
      readonly emailVerified?: boolean;
      readonly externalIdentities?: readonly { readonly idp: string; readonly subject: string }[];
      readonly groups?: { readonly ids?: readonly string[]; readonly names?: readonly string[] };
      /** Whether the caller confirms the means that `409 means_unconfirmed` listed to the same caller within the last hour. */
      readonly confirm?: boolean;
    };
    readonly answer: User;
  };
  /** Disables a user, and ends all sign-ins of the user. Scope `idp.users:write`. */
  'POST /tenants/{tid}/users/{id}/disable': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: User;
  };
  /** Enables a disabled user, who gets the former status. Scope `idp.users:write`. */
  'POST /tenants/{tid}/users/{id}/enable': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: User;
  };
  /** Ends all sign-ins of a user. Scope `idp.users:write`. */
  'POST /tenants/{tid}/users/{id}/sign-out': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: User;
  };
  /** Lists the groups of a user. Scope `idp.users:read`. */
  'GET /tenants/{tid}/users/{id}/groups': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: GroupsOfUser;
  };
  /** Replaces the groups of a user. Scope `idp.users:write`. */
  'PUT /tenants/{tid}/users/{id}/groups': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly ids?: readonly string[];
      readonly names?: readonly string[];
      /** Whether the caller confirms the means that `409 means_unconfirmed` listed to the same caller within the last hour. */
      readonly confirm?: boolean;
    };
    readonly answer: GroupsOfUser;
  };
  /** Adds a user to groups. Scope `idp.users:write`. */
  'POST /tenants/{tid}/users/{id}/groups': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly ids?: readonly string[];
      readonly names?: readonly string[];
      /** Whether the caller confirms the means that `409 means_unconfirmed` listed to the same caller within the last hour. */
      readonly confirm?: boolean;
    };
    readonly answer: GroupsOfUser;
  };
  /** Removes a user from groups. Scope `idp.users:write`. */
  'DELETE /tenants/{tid}/users/{id}/groups': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: { readonly ids?: readonly string[]; readonly names?: readonly string[] };
    readonly answer: GroupsOfUser;
  };
  /** Lists unconfirmed means to sign in as a user or as the parent account, which do not count until an administrator confirms them. Scope `idp.users:read`. */
  'GET /tenants/{tid}/users/{id}/means': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly query?: { readonly groupId?: string };
    readonly answer: MeansOfUser;
  };
  /** Confirms the listed means to sign in as a user or as the parent account, so that these means count. Scope `idp.users:write`. */
  'POST /tenants/{tid}/users/{id}/means/confirm': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: ConfirmedMeans;
  };
  /** Links a user to a parent account, whose `sub` the user gets. Scope `idp.links:write`. */
  'POST /tenants/{tid}/users/{id}/link/{parentId}': {
    readonly params: { readonly tid: string; readonly id: string; readonly parentId: string };
    readonly answer: User;
  };
  /** Ends an account link, and all sign-ins of the child account. Scope `idp.links:write`. */
  'DELETE /tenants/{tid}/users/{id}/link/{parentId}': {
    readonly params: { readonly tid: string; readonly id: string; readonly parentId: string };
    readonly answer: User;
  };
  /** Lists the parent account and the child accounts of a user. Scope `idp.links:read`. */
  'GET /tenants/{tid}/users/{id}/links': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Links;
  };
  /** Lists the sessions of a user, newest first. Scope `idp.sessions:read`. */
  'GET /tenants/{tid}/users/{id}/sessions': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: { readonly items: readonly Session[] };
  };
  /** Ends all sign-ins of a user. Scope `idp.sessions:write`. */
  'DELETE /tenants/{tid}/users/{id}/sessions': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Ends one session of a user, with its grants. Scope `idp.sessions:write`. */
  'DELETE /tenants/{tid}/users/{id}/sessions/{sessionId}': {
    readonly params: { readonly tid: string; readonly id: string; readonly sessionId: string };
    readonly answer: undefined;
  };
  /** Lists the consents of a user. Scope `idp.consents:read`. */
  'GET /tenants/{tid}/users/{id}/consents': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: { readonly items: readonly Consent[]; readonly unreadable?: readonly Unreadable[] };
  };
  /** Withdraws a consent of a user, ends the grants and tokens of the client for this user, and notifies the client. Scope `idp.consents:write`. */
  'DELETE /tenants/{tid}/users/{id}/consents/{clientId}': {
    readonly params: { readonly tid: string; readonly id: string; readonly clientId: string };
    readonly answer: undefined;
  };
  /** Lists the recent sign-ins of a user, newest first. Scope `idp.sessions:read`. */
  'GET /tenants/{tid}/users/{id}/sign-ins': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: { readonly items: readonly SignIn[]; readonly unreadable?: readonly Unreadable[] };
  };
  /** Lists groups. Scope `idp.groups:read`. */
  'GET /tenants/{tid}/groups': {
    readonly params: { readonly tid: string };
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
    };
    readonly answer: { readonly items: readonly Group[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a group. Scope `idp.groups:write`. */
  'POST /tenants/{tid}/groups': {
    readonly params: { readonly tid: string };
    readonly body: { readonly id?: string; readonly name: string; readonly permissionIds?: readonly string[] };
    readonly answer: Group;
  };
  /** Reads a group. Scope `idp.groups:read`. */
  'GET /tenants/{tid}/groups/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Group;
  };
  /** Changes a group. Scope `idp.groups:write`. */
  'PATCH /tenants/{tid}/groups/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly name?: string;
      readonly permissionIds?: readonly string[];
      /** Whether the caller confirms the means that `409 means_unconfirmed` listed to the same caller within the last hour. */
      readonly confirm?: boolean;
    };
    readonly answer: Group;
  };
  /** Removes a group. Scope `idp.groups:write`. */
  'DELETE /tenants/{tid}/groups/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Lists permissions. Scope `idp.permissions:read`. */
  'GET /permissions': {
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
    };
    readonly answer: { readonly items: readonly Permission[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a permission. Scope `idp.permissions:write`. */
  'POST /permissions': {
    readonly body: { readonly id: string; readonly name: string; readonly description?: string };
    readonly answer: Permission;
  };
  /** Reads a permission. Scope `idp.permissions:read`. */
  'GET /permissions/{id}': {
    readonly params: { readonly id: string };
    readonly answer: Permission;
  };
  /** Changes a permission. Scope `idp.permissions:write`. */
  'PATCH /permissions/{id}': {
    readonly params: { readonly id: string };
    readonly body: { readonly name?: string; readonly description?: string | null };
    readonly answer: Permission;
  };
  /** Removes a permission. Scope `idp.permissions:write`. */
  'DELETE /permissions/{id}': {
    readonly params: { readonly id: string };
    readonly answer: undefined;
  };
  /** Lists clients. Scope `idp.clients:read`. */
  'GET /clients': {
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: { readonly items: readonly Client[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a client. Scope `idp.clients:write`. */
  'POST /clients': {
    readonly body: {
      readonly id: string;
      readonly name: string;
      readonly metadata?: { readonly [key: string]: unknown };
      readonly allowedScopes?: readonly string[];
      readonly requirePkce?: boolean;
      readonly fapi?: '2.0';
      readonly allowPlainPkce?: boolean;
      readonly requireConsent?: boolean;
      readonly accessTokenType?: 'reference' | 'jwt';
      readonly idTokenClaims?: 'minimal' | 'scopes';
      readonly email?: 'all' | 'first';
      readonly styles?: {
        readonly logoUri?: string;
        readonly faviconUri?: string;
        readonly accentColor?: string;
        readonly radius?: number;
        readonly font?: 'system' | 'humanist' | 'rounded' | 'serif';
        readonly privacyUri?: string;
        readonly termsUri?: string;
        readonly helpUri?: string;
      };
      readonly lifetimes?: {
        readonly accessToken?: number;
        readonly idToken?: number;
        readonly refreshTokenIdle?: number;
        readonly refreshTokenAbsolute?: number;
        readonly refreshTokenGrace?: number;
        readonly authenticationRequest?: number;
      };
      readonly allowedTenants?: readonly string[];
      readonly introspects?: 'own' | 'all';
      readonly adminTenants?: readonly string[];
      readonly trustedLoginHint?: boolean;
      readonly corsOrigins?: readonly string[];
      readonly postRegistrationUri?: string;
      readonly impersonation?: 'allow' | 'refuse';
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: Client;
  };
  /** Reads a client. Scope `idp.clients:read`. */
  'GET /clients/{id}': {
    readonly params: { readonly id: string };
    readonly answer: Client;
  };
  /** Changes a client. Scope `idp.clients:write`. */
  'PATCH /clients/{id}': {
    readonly params: { readonly id: string };
    readonly body: {
      readonly name?: string;
      readonly metadata?: { readonly [key: string]: unknown | null };
      readonly allowedScopes?: readonly string[];
      readonly requirePkce?: boolean | null;
      readonly fapi?: '2.0' | null;
      readonly allowPlainPkce?: boolean;
      readonly requireConsent?: boolean;
      readonly accessTokenType?: 'reference' | 'jwt';
      readonly idTokenClaims?: 'minimal' | 'scopes';
      readonly email?: ('all' | 'first') | null;
      readonly styles?: {
        readonly logoUri?: string | null;
        readonly faviconUri?: string | null;
        readonly accentColor?: string | null;
        readonly radius?: number | null;
        readonly font?: ('system' | 'humanist' | 'rounded' | 'serif') | null;
        readonly privacyUri?: string | null;
        readonly termsUri?: string | null;
        readonly helpUri?: string | null;
      } | null;
      readonly lifetimes?: {
        readonly accessToken?: number | null;
        readonly idToken?: number | null;
        readonly refreshTokenIdle?: number | null;
        readonly refreshTokenAbsolute?: number | null;
        readonly refreshTokenGrace?: number | null;
        readonly authenticationRequest?: number | null;
      };
      readonly allowedTenants?: readonly string[] | null;
      readonly introspects?: 'own' | 'all';
      readonly adminTenants?: readonly string[];
      readonly trustedLoginHint?: boolean;
      readonly corsOrigins?: readonly string[];
      readonly postRegistrationUri?: string | null;
      readonly impersonation?: ('allow' | 'refuse') | null;
      readonly status?: 'active' | 'disabled';
      /** Whether the caller confirms the means that `409 means_unconfirmed` listed to the same caller within the last hour. */
      readonly confirm?: boolean;
    };
    readonly answer: Client;
  };
  /** Removes a client. Scope `idp.clients:write`. */
  'DELETE /clients/{id}': {
    readonly params: { readonly id: string };
    readonly answer: undefined;
  };
  /** Creates another secret for a client, and keeps the previous secret valid until the next rotation. Scope `idp.clients:write`. */
  'POST /clients/{id}/secrets': {
    readonly params: { readonly id: string };
    readonly answer: Secret;
  };
  /** Lists API resources. Scope `idp.api-resources:read`. */
  'GET /api-resources': {
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt' | 'name' | '-name';
      readonly name?: string;
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: { readonly items: readonly ApiResource[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates an API resource. Scope `idp.api-resources:write`. */
  'POST /api-resources': {
    readonly body: {
      readonly name: string;
      readonly scopes: readonly string[];
      readonly scopeDescriptions?: {
        readonly [key: string]:
          | string
          | {
              readonly en?: string;
              readonly nb?: string;
              readonly sv?: string;
              readonly da?: string;
              readonly fi?: string;
              readonly de?: string;
            };
      };
      readonly introspects?: 'own' | 'all';
      readonly allowedTenants?: readonly string[];
      readonly introspectionSignedResponseAlg?: 'RS256' | 'ES256';
      readonly impersonation?: 'allow' | 'refuse';
      readonly status?: 'active' | 'disabled';
      readonly id: string;
    };
    readonly answer: ApiResource;
  };
  /** Reads an API resource. Scope `idp.api-resources:read`. */
  'GET /api-resources/{id}': {
    readonly params: { readonly id: string };
    readonly answer: ApiResource;
  };
  /** Changes an API resource. Scope `idp.api-resources:write`. */
  'PATCH /api-resources/{id}': {
    readonly params: { readonly id: string };
    readonly body: {
      readonly name?: string;
      readonly scopes?: readonly string[];
      readonly scopeDescriptions?: {
        readonly [key: string]:
          | (
              | string
              | {
                  readonly en?: string;
                  readonly nb?: string;
                  readonly sv?: string;
                  readonly da?: string;
                  readonly fi?: string;
                  readonly de?: string;
                }
            )
          | null;
      } | null;
      readonly introspects?: 'own' | 'all';
      readonly allowedTenants?: readonly string[] | null;
      readonly introspectionSignedResponseAlg?: ('RS256' | 'ES256') | null;
      readonly impersonation?: ('allow' | 'refuse') | null;
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: ApiResource;
  };
  /** Removes an API resource. Scope `idp.api-resources:write`. */
  'DELETE /api-resources/{id}': {
    readonly params: { readonly id: string };
    readonly answer: undefined;
  };
  /** Creates another secret for an API resource, and keeps the previous secret valid until the next rotation. Scope `idp.api-resources:write`. */
  'POST /api-resources/{id}/secrets': {
    readonly params: { readonly id: string };
    readonly answer: Secret;
  };
  /** Lists the signing keys, without their private parts. Scope `idp.keys:read`. */
  'GET /keys': {
    readonly answer: { readonly items: readonly Key[] };
  };
  /** Rotates the signing keys. Scope `idp.keys:write`. */
  'POST /keys/rotate': {
    readonly body: {
      /** Whether new signing keys sign immediately and all earlier signing keys are removed, because signing keys are compromised. */
      readonly now?: boolean;
    };
    readonly answer: { readonly items: readonly Key[] };
  };
  /** Reads the events of a tenant in order. Scope `idp.events:read`. */
  'GET /tenants/{tid}/events': {
    readonly params: { readonly tid: string };
    readonly query?: { readonly type?: string; readonly limit?: number; readonly after?: string };
    readonly answer: { readonly items: readonly Event[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads all events in order. Scope `idp.events:read`. */
  'GET /events': {
    readonly query?: { readonly type?: string; readonly limit?: number; readonly after?: string };
    readonly answer: { readonly items: readonly Event[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Creates a webhook, which gets events from now on. Scope `idp.webhooks:write`. */
  'POST /tenants/{tid}/webhooks': {
    readonly params: { readonly tid: string };
    readonly body: {
      /** https URL. Outside production, http at a loopback address works too. */
      readonly url: string;
      readonly description?: string;
      readonly types?: readonly string[];
    };
    readonly answer: WebhookWithSecret;
  };
  /** Lists webhooks. Scope `idp.webhooks:read`. */
  'GET /tenants/{tid}/webhooks': {
    readonly params: { readonly tid: string };
    readonly query?: { readonly limit?: number; readonly after?: string; readonly sort?: 'createdAt' };
    readonly answer: { readonly items: readonly Webhook[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads a webhook. Scope `idp.webhooks:read`. */
  'GET /tenants/{tid}/webhooks/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Webhook;
  };
  /** Changes a webhook, which continues at its former position when it is enabled again. Scope `idp.webhooks:write`. */
  'PATCH /tenants/{tid}/webhooks/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      /** https URL. Outside production, http at a loopback address works too. */
      readonly url?: string;
      readonly description?: string | null;
      readonly types?: readonly string[] | null;
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: Webhook;
  };
  /** Removes a webhook, and its undelivered events. Scope `idp.webhooks:write`. */
  'DELETE /tenants/{tid}/webhooks/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Creates a new secret for a webhook, and signs with the previous secret too until the next rotation. Scope `idp.webhooks:write`. */
  'POST /tenants/{tid}/webhooks/{id}/rotate-secret': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: WebhookWithSecret;
  };
  /** Sends a test event to a webhook, once and without a place in the feed. Scope `idp.webhooks:write`. */
  'POST /tenants/{tid}/webhooks/{id}/test': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: WebhookTest;
  };
  /** Lists events that the service gave up for a webhook, because every attempt failed. Scope `idp.webhooks:read`. */
  'GET /tenants/{tid}/webhooks/{id}/deliveries': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly query?: { readonly limit?: number; readonly after?: string; readonly sort?: 'createdAt' };
    readonly answer: { readonly items: readonly WebhookDelivery[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Replays the given-up events of a webhook: the events with the given ids, or all. Scope `idp.webhooks:write`. */
  'POST /tenants/{tid}/webhooks/{id}/replay': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: { readonly deliveries?: readonly string[] };
    readonly answer: { readonly replayed: number };
  };
  /** Creates a webhook, which gets events from now on. Scope `idp.webhooks:write`. */
  'POST /webhooks': {
    readonly body: {
      /** https URL. Outside production, http at a loopback address works too. */
      readonly url: string;
      readonly description?: string;
      readonly types?: readonly string[];
    };
    readonly answer: WebhookWithSecret;
  };
  /** Lists webhooks. Scope `idp.webhooks:read`. */
  'GET /webhooks': {
    readonly query?: { readonly limit?: number; readonly after?: string; readonly sort?: 'createdAt' };
    readonly answer: { readonly items: readonly Webhook[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads a webhook. Scope `idp.webhooks:read`. */
  'GET /webhooks/{id}': {
    readonly params: { readonly id: string };
    readonly answer: Webhook;
  };
  /** Changes a webhook, which continues at its former position when it is enabled again. Scope `idp.webhooks:write`. */
  'PATCH /webhooks/{id}': {
    readonly params: { readonly id: string };
    readonly body: {
      /** https URL. Outside production, http at a loopback address works too. */
      readonly url?: string;
      readonly description?: string | null;
      readonly types?: readonly string[] | null;
      readonly status?: 'active' | 'disabled';
    };
    readonly answer: Webhook;
  };
  /** Removes a webhook, and its undelivered events. Scope `idp.webhooks:write`. */
  'DELETE /webhooks/{id}': {
    readonly params: { readonly id: string };
    readonly answer: undefined;
  };
  /** Creates a new secret for a webhook, and signs with the previous secret too until the next rotation. Scope `idp.webhooks:write`. */
  'POST /webhooks/{id}/rotate-secret': {
    readonly params: { readonly id: string };
    readonly answer: WebhookWithSecret;
  };
  /** Sends a test event to a webhook, once and without a place in the feed. Scope `idp.webhooks:write`. */
  'POST /webhooks/{id}/test': {
    readonly params: { readonly id: string };
    readonly answer: WebhookTest;
  };
  /** Lists events that the service gave up for a webhook, because every attempt failed. Scope `idp.webhooks:read`. */
  'GET /webhooks/{id}/deliveries': {
    readonly params: { readonly id: string };
    readonly query?: { readonly limit?: number; readonly after?: string; readonly sort?: 'createdAt' };
    readonly answer: { readonly items: readonly WebhookDelivery[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Replays the given-up events of a webhook: the events with the given ids, or all. Scope `idp.webhooks:write`. */
  'POST /webhooks/{id}/replay': {
    readonly params: { readonly id: string };
    readonly body: { readonly deliveries?: readonly string[] };
    readonly answer: { readonly replayed: number };
  };
  /** Invites a user, and replaces a pending invitation of the user. Scope `idp.invitations:write`. */
  'POST /tenants/{tid}/invitations': {
    readonly params: { readonly tid: string };
    readonly body: {
      readonly userId: string;
      readonly send: boolean;
      readonly clientId?: string;
      readonly link?: boolean;
      readonly locale?: string;
    };
    readonly answer: {
      readonly id: string;
      readonly personId: string;
      readonly userId: string;
      readonly clientId?: string;
      /** Whether the user is linked to a personal account. */
      readonly link: boolean;
      readonly locale?: string;
      /** Whether the service e-mails the invitation link. */
      readonly send: boolean;
      readonly status: 'pending' | 'accepted' | 'revoked' | 'expired';
      /** ISO 8601 */
      readonly createdAt: string;
      /** ISO 8601 */
      readonly updatedAt: string;
      /** ISO 8601 */
      readonly expiresAt: string;
      /** ISO 8601 */
      readonly acceptedAt?: string;
    };
  };
  /** Lists invitations. Scope `idp.invitations:read`. */
  'GET /tenants/{tid}/invitations': {
    readonly params: { readonly tid: string };
    readonly query?: {
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'createdAt' | '-createdAt';
      readonly status?: 'pending' | 'accepted' | 'revoked' | 'expired';
      readonly personId?: string;
      readonly userId?: string;
    };
    readonly answer: {
      readonly items: readonly {
        readonly id: string;
        readonly personId: string;
        readonly userId: string;
        readonly clientId?: string;
        /** Whether the user is linked to a personal account. */
        readonly link: boolean;
        readonly locale?: string;
        /** Whether the service e-mails the invitation link. */
        readonly send: boolean;
        readonly status: 'pending' | 'accepted' | 'revoked' | 'expired';
        /** ISO 8601 */
        readonly createdAt: string;
        /** ISO 8601 */
        readonly updatedAt: string;
        /** ISO 8601 */
        readonly expiresAt: string;
        /** ISO 8601 */
        readonly acceptedAt?: string;
      }[];
      readonly next?: string;
      readonly unreadable?: readonly Unreadable[];
    };
  };
  /** Reads an invitation. Scope `idp.invitations:read`. */
  'GET /tenants/{tid}/invitations/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: {
      readonly id: string;
      readonly personId: string;
      readonly userId: string;
      readonly clientId?: string;
      /** Whether the user is linked to a personal account. */
      readonly link: boolean;
      readonly locale?: string;
      /** Whether the service e-mails the invitation link. */
      readonly send: boolean;
      readonly status: 'pending' | 'accepted' | 'revoked' | 'expired';
      /** ISO 8601 */
      readonly createdAt: string;
      /** ISO 8601 */
      readonly updatedAt: string;
      /** ISO 8601 */
      readonly expiresAt: string;
      /** ISO 8601 */
      readonly acceptedAt?: string;
    };
  };
  /** Revokes a pending invitation, and removes the record of the invitation. Scope `idp.invitations:write`. */
  'DELETE /tenants/{tid}/invitations/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Returns the invitation link, which from then on does not verify an e-mail address. Scope `idp.invitations:write`. */
  'GET /tenants/{tid}/invitations/{id}/link': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: {
      /** ISO 8601 */
      readonly expiresAt: string;
      readonly url: string;
    };
  };
  /** E-mails a new invitation link with the full lifetime, and revokes earlier links. Scope `idp.invitations:write`. */
  'POST /tenants/{tid}/invitations/{id}/resend': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: {
      readonly id: string;
      readonly personId: string;
      readonly userId: string;
      readonly clientId?: string;
      /** Whether the user is linked to a personal account. */
      readonly link: boolean;
      readonly locale?: string;
      /** Whether the service e-mails the invitation link. */
      readonly send: boolean;
      readonly status: 'pending' | 'accepted' | 'revoked' | 'expired';
      /** ISO 8601 */
      readonly createdAt: string;
      /** ISO 8601 */
      readonly updatedAt: string;
      /** ISO 8601 */
      readonly expiresAt: string;
      /** ISO 8601 */
      readonly acceptedAt?: string;
    };
  };
  /** Revokes an invitation. Scope `idp.invitations:write`. */
  'POST /tenants/{tid}/invitations/{id}/revoke': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: {
      readonly id: string;
      readonly personId: string;
      readonly userId: string;
      readonly clientId?: string;
      /** Whether the user is linked to a personal account. */
      readonly link: boolean;
      readonly locale?: string;
      /** Whether the service e-mails the invitation link. */
      readonly send: boolean;
      readonly status: 'pending' | 'accepted' | 'revoked' | 'expired';
      /** ISO 8601 */
      readonly createdAt: string;
      /** ISO 8601 */
      readonly updatedAt: string;
      /** ISO 8601 */
      readonly expiresAt: string;
      /** ISO 8601 */
      readonly acceptedAt?: string;
    };
  };
  /** E-mails a reset link for the password to a user. Scope `idp.users:write`. */
  'POST /tenants/{tid}/users/{id}/password-reset': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Creates a connection to an OpenID provider. Scope `idp.connections:write`. */
  'POST /tenants/{tid}/connections': {
    readonly params: { readonly tid: string };
    readonly body: {
      /** Id of the connection, which is the `idp` of its sign-ins. */
      readonly id?: string;
      readonly preset?: 'oidc' | 'google' | 'entra';
      readonly name: string;
      readonly issuer?: string;
      readonly clientId: string;
      /** The API never returns the secret. */
      readonly clientSecret?: string;
      readonly createUsersIn?: string;
      readonly status?: 'active' | 'disabled';
      readonly clientAuth?: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
      readonly keyAlgorithm?: 'RS256' | 'ES256';
      readonly scopes?: readonly string[];
      readonly subjectClaim?: string;
      readonly requiredClaims?: readonly { readonly claim: string; readonly value: string }[];
      readonly requireVerifiedEmail?: boolean;
      readonly mapping?: {
        readonly userName?: { readonly claim: string };
        readonly givenName?: { readonly claim: string; readonly update?: boolean };
        readonly familyName?: { readonly claim: string; readonly update?: boolean };
        readonly email?: { readonly claim: string; readonly update?: boolean };
        readonly phoneNumber?: { readonly claim: string; readonly update?: boolean };
        readonly locale?: { readonly claim: string; readonly update?: boolean };
        readonly pictureUrl?: { readonly claim: string; readonly update?: boolean };
        readonly externalId?: { readonly claim: string; readonly update?: boolean };
        readonly groups?: {
          readonly claim: string;
          readonly update?: boolean;
          readonly values: readonly { readonly value: string; readonly groupId: string }[];
        };
      };
      readonly linkBySignIn?: boolean;
      readonly hasButton?: boolean;
      readonly domains?: readonly string[];
      readonly mfa?: { readonly amr: readonly string[]; readonly acr: readonly string[] };
      readonly parameters?: readonly { readonly name: string; readonly value: string }[];
      readonly renamed?: readonly {
        readonly name: 'eid_user_visible_data' | 'eid_user_visible_data_format' | 'eid_call_initiator';
        readonly as: string;
      }[];
      readonly endSession?: boolean;
    };
    readonly answer: Connection;
  };
  /** Lists connections. Scope `idp.connections:read`. */
  'GET /tenants/{tid}/connections': {
    readonly params: { readonly tid: string };
    readonly query?: { readonly limit?: number; readonly after?: string; readonly sort?: 'createdAt' };
    readonly answer: { readonly items: readonly Connection[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads a connection, without its secret. Scope `idp.connections:read`. */
  'GET /tenants/{tid}/connections/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Connection;
  };
  /** Changes a connection, except its issuer, because identities are recorded for the issuer. Scope `idp.connections:write`. */
  'PATCH /tenants/{tid}/connections/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      readonly name?: string;
      readonly clientId?: string;
      readonly createUsersIn?: string | null;
      readonly status?: 'active' | 'disabled';
      readonly clientAuth?: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
      readonly keyAlgorithm?: 'RS256' | 'ES256';
      readonly scopes?: readonly string[];
      readonly subjectClaim?: string;
      readonly requiredClaims?: readonly { readonly claim: string; readonly value: string }[];
      readonly requireVerifiedEmail?: boolean;
      readonly mapping?: {
        readonly userName?: { readonly claim: string };
        readonly givenName?: { readonly claim: string; readonly update?: boolean };
        readonly familyName?: { readonly claim: string; readonly update?: boolean };
        readonly email?: { readonly claim: string; readonly update?: boolean };
        readonly phoneNumber?: { readonly claim: string; readonly update?: boolean };
        readonly locale?: { readonly claim: string; readonly update?: boolean };
        readonly pictureUrl?: { readonly claim: string; readonly update?: boolean };
        readonly externalId?: { readonly claim: string; readonly update?: boolean };
        readonly groups?: {
          readonly claim: string;
          readonly update?: boolean;
          readonly values: readonly { readonly value: string; readonly groupId: string }[];
        };
      };
      readonly linkBySignIn?: boolean;
      readonly hasButton?: boolean;
      readonly domains?: readonly string[];
      readonly mfa?: { readonly amr: readonly string[]; readonly acr: readonly string[] };
      readonly parameters?: readonly { readonly name: string; readonly value: string }[];
      readonly renamed?: readonly {
        readonly name: 'eid_user_visible_data' | 'eid_user_visible_data_format' | 'eid_call_initiator';
        readonly as: string;
      }[];
      readonly endSession?: boolean;
    };
    readonly answer: Connection;
  };
  /** Removes a connection, whose recorded identities no longer sign in anybody. Scope `idp.connections:write`. */
  'DELETE /tenants/{tid}/connections/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Stores the client secret that the provider issued for a connection. Scope `idp.connections:write`. */
  'PUT /tenants/{tid}/connections/{id}/secret': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly body: {
      /** The API never returns the secret. */
      readonly clientSecret: string;
    };
    readonly answer: Connection;
  };
  /** Creates a new signing key for a connection with private_key_jwt, and keeps the previous signing key in the key set. Scope `idp.connections:write`. */
  'POST /tenants/{tid}/connections/{id}/rotate-key': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Connection;
  };
  /** Creates a connection to an OpenID provider. Scope `idp.connections:write`. */
  'POST /connections': {
    readonly body: {
      /** Id of the connection, which is the `idp` of its sign-ins. */
      readonly id?: string;
      readonly preset?: 'oidc' | 'google' | 'entra';
      readonly name: string;
      readonly issuer?: string;
      readonly clientId: string;
      /** The API never returns the secret. */
      readonly clientSecret?: string;
      readonly createUsersIn?: string;
      readonly status?: 'active' | 'disabled';
      readonly clientAuth?: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
      readonly keyAlgorithm?: 'RS256' | 'ES256';
      readonly scopes?: readonly string[];
      readonly subjectClaim?: string;
      readonly requiredClaims?: readonly { readonly claim: string; readonly value: string }[];
      readonly requireVerifiedEmail?: boolean;
      readonly mapping?: {
        readonly userName?: { readonly claim: string };
        readonly givenName?: { readonly claim: string; readonly update?: boolean };
        readonly familyName?: { readonly claim: string; readonly update?: boolean };
        readonly email?: { readonly claim: string; readonly update?: boolean };
        readonly phoneNumber?: { readonly claim: string; readonly update?: boolean };
        readonly locale?: { readonly claim: string; readonly update?: boolean };
        readonly pictureUrl?: { readonly claim: string; readonly update?: boolean };
        readonly externalId?: { readonly claim: string; readonly update?: boolean };
        readonly groups?: {
          readonly claim: string;
          readonly update?: boolean;
          readonly values: readonly { readonly value: string; readonly groupId: string }[];
        };
      };
      readonly linkBySignIn?: boolean;
      readonly hasButton?: boolean;
      readonly domains?: readonly string[];
      readonly mfa?: { readonly amr: readonly string[]; readonly acr: readonly string[] };
      readonly parameters?: readonly { readonly name: string; readonly value: string }[];
      readonly renamed?: readonly {
        readonly name: 'eid_user_visible_data' | 'eid_user_visible_data_format' | 'eid_call_initiator';
        readonly as: string;
      }[];
      readonly endSession?: boolean;
    };
    readonly answer: Connection;
  };
  /** Lists connections. Scope `idp.connections:read`. */
  'GET /connections': {
    readonly query?: { readonly limit?: number; readonly after?: string; readonly sort?: 'createdAt' };
    readonly answer: { readonly items: readonly Connection[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads a connection, without its secret. Scope `idp.connections:read`. */
  'GET /connections/{id}': {
    readonly params: { readonly id: string };
    readonly answer: Connection;
  };
  /** Changes a connection, except its issuer, because identities are recorded for the issuer. Scope `idp.connections:write`. */
  'PATCH /connections/{id}': {
    readonly params: { readonly id: string };
    readonly body: {
      readonly name?: string;
      readonly clientId?: string;
      readonly createUsersIn?: string | null;
      readonly status?: 'active' | 'disabled';
      readonly clientAuth?: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
      readonly keyAlgorithm?: 'RS256' | 'ES256';
      readonly scopes?: readonly string[];
      readonly subjectClaim?: string;
      readonly requiredClaims?: readonly { readonly claim: string; readonly value: string }[];
      readonly requireVerifiedEmail?: boolean;
      readonly mapping?: {
        readonly userName?: { readonly claim: string };
        readonly givenName?: { readonly claim: string; readonly update?: boolean };
        readonly familyName?: { readonly claim: string; readonly update?: boolean };
        readonly email?: { readonly claim: string; readonly update?: boolean };
        readonly phoneNumber?: { readonly claim: string; readonly update?: boolean };
        readonly locale?: { readonly claim: string; readonly update?: boolean };
        readonly pictureUrl?: { readonly claim: string; readonly update?: boolean };
        readonly externalId?: { readonly claim: string; readonly update?: boolean };
        readonly groups?: {
          readonly claim: string;
          readonly update?: boolean;
          readonly values: readonly { readonly value: string; readonly groupId: string }[];
        };
      };
      readonly linkBySignIn?: boolean;
      readonly hasButton?: boolean;
      readonly domains?: readonly string[];
      readonly mfa?: { readonly amr: readonly string[]; readonly acr: readonly string[] };
      readonly parameters?: readonly { readonly name: string; readonly value: string }[];
      readonly renamed?: readonly {
        readonly name: 'eid_user_visible_data' | 'eid_user_visible_data_format' | 'eid_call_initiator';
        readonly as: string;
      }[];
      readonly endSession?: boolean;
    };
    readonly answer: Connection;
  };
  /** Removes a connection, whose recorded identities no longer sign in anybody. Scope `idp.connections:write`. */
  'DELETE /connections/{id}': {
    readonly params: { readonly id: string };
    readonly answer: undefined;
  };
  /** Stores the client secret that the provider issued for a connection. Scope `idp.connections:write`. */
  'PUT /connections/{id}/secret': {
    readonly params: { readonly id: string };
    readonly body: {
      /** The API never returns the secret. */
      readonly clientSecret: string;
    };
    readonly answer: Connection;
  };
  /** Creates a new signing key for a connection with private_key_jwt, and keeps the previous signing key in the key set. Scope `idp.connections:write`. */
  'POST /connections/{id}/rotate-key': {
    readonly params: { readonly id: string };
    readonly answer: Connection;
  };
  /** Lists the second factors and passkeys of a user. Scope `idp.factors:read`. */
  'GET /tenants/{tid}/users/{id}/factors': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: {
      readonly items: readonly Factor[];
      /** Ids of factors with unreadable records. Each counts as a factor that nobody can prove, until it is removed. */
      readonly unreadable?: readonly string[];
    };
  };
  /** Removes all factors of a user, and signs the user out everywhere. Scope `idp.factors:write`. */
  'DELETE /tenants/{tid}/users/{id}/factors': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: undefined;
  };
  /** Removes a factor of a user, and signs the user out everywhere. Scope `idp.factors:write`. */
  'DELETE /tenants/{tid}/users/{id}/factors/{factorId}': {
    readonly params: { readonly tid: string; readonly id: string; readonly factorId: string };
    readonly answer: undefined;
  };
  /** Lists impersonations of users of a tenant, newest first. Scope `idp.impersonations:read`. */
  'GET /tenants/{tid}/impersonations': {
    readonly params: { readonly tid: string };
    readonly query?: {
      readonly status?: 'active' | 'ended';
      readonly userId?: string;
      readonly operatorId?: string;
      readonly limit?: number;
      readonly after?: string;
      readonly sort?: 'startedAt' | '-startedAt';
    };
    readonly answer: { readonly items: readonly Impersonation[]; readonly next?: string; readonly unreadable?: readonly Unreadable[] };
  };
  /** Reads an impersonation. Scope `idp.impersonations:read`. */
  'GET /tenants/{tid}/impersonations/{id}': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Impersonation;
  };
  /** Ends an impersonation, its session and its tokens, unless the impersonation has ended already. Scope `idp.impersonations:write`. */
  'POST /tenants/{tid}/impersonations/{id}/end': {
    readonly params: { readonly tid: string; readonly id: string };
    readonly answer: Impersonation;
  };
}

/** Codes of refusals. */
export type AdminErrorCode =
  | 'all_tenants_required'
  | 'already_linked'
  | 'body_too_large'
  | 'client_unknown'
  | 'conflict'
  | 'connection_privileged'
  | 'cursor_expired'
  | 'email_required'
  | 'email_unproven'
  | 'factor_privileged'
  | 'grant_exceeds_own'
  | 'group_refs_mixed'
  | 'group_unknown'
  | 'idempotency_conflict'
  | 'idempotency_in_progress'
  | 'insufficient_scope'
  | 'invalid_cursor'
  | 'invalid_record'
  | 'invalid_request'
  | 'invalid_token'
  | 'invitation_over'
  | 'invitee_privileged'
  | 'key_not_announced'
  | 'keys_given'
  | 'link_chain'
  | 'link_not_allowed'
  | 'link_privileged'
  | 'link_same_tenant'
  | 'link_self'
  | 'mail_not_configured'
  | 'means_unconfirmed'
  | 'not_found'
  | 'not_linked'
  | 'operator_required'
  | 'permission_unknown'
  | 'person_has_user'
  | 'personal_tenant_missing'
  | 'phone_unproven'
  | 'policy_privileged'
  | 'precondition_failed'
  | 'rate_limited'
  | 'record_unreadable'
  | 'reset_unavailable'
  | 'temporarily_unavailable'
  | 'tenant_name_taken'
  | 'unsupported_media_type'
  | 'user_name_taken'
  | 'user_not_invited'
  | 'user_privileged'
  | 'user_required';
