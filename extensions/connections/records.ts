/** Records of connections, and artifacts of sign-ins that wait for a provider. */
import {
  type ArtifactKind,
  defineCollection,
  type ExtensionRow,
  line,
  oneOf,
  type Proof,
  RECENT_SIGN_IN_SECONDS,
  type Static,
  strict,
  Type,
  type Voucher,
} from '../../lib/extension-door.js';

const text = () => Type.String();
const optional = Type.Optional;

/** Returns the schema of a claim that fills a field. With `update`, the claim fills the field at later sign-ins too. */
const Mapped = () =>
  optional(Type.Object({ claim: Type.String({ minLength: 1, maxLength: 200 }), update: optional(Type.Boolean()) }, strict));
export const Mapping = Type.Object(
  {
    userName: optional(Type.Object({ claim: Type.String({ minLength: 1, maxLength: 200 }) }, strict)),
    givenName: Mapped(),
    familyName: Mapped(),
    email: Mapped(),
    phoneNumber: Mapped(),
    locale: Mapped(),
    pictureUrl: Mapped(),
    externalId: Mapped(),
    groups: optional(
      Type.Object(
        {
          claim: Type.String({ minLength: 1, maxLength: 200 }),
          update: optional(Type.Boolean()),
          values: Type.Array(Type.Object({ value: Type.String({ minLength: 1, maxLength: 200 }), groupId: Type.String() }, strict), {
            minItems: 1,
            maxItems: 200,
          }),
        },
        strict,
      ),
    ),
  },
  strict,
);
export type Mapping = Static<typeof Mapping>;

const presets = ['oidc', 'google', 'entra'] as const;
const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
const keyAlgorithms = ['RS256', 'ES256'] as const;
/** Parameters of e-ID providers, which are passed on unchanged. */
export const eidParameters = ['eid_user_visible_data', 'eid_user_visible_data_format', 'eid_call_initiator'] as const;

const names = (maxItems = 20) => Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems, uniqueItems: true });
const parameterName = () => Type.String({ pattern: '^[a-zA-Z][a-zA-Z0-9_.-]{0,99}$' });

/** Members that an administrator sets, except the secret. */
export const connectionFields = {
  preset: oneOf(presets),
  name: line(100),
  status: oneOf(['active', 'disabled']),
  issuer: Type.String({ minLength: 1, maxLength: 500 }),
  clientId: Type.String({ minLength: 1, maxLength: 500, pattern: '^[ -~]+$' }),
  clientAuth: oneOf(authMethods),
  keyAlgorithm: oneOf(keyAlgorithms),
  scopes: Type.Array(Type.String({ pattern: '^[!#-\\[\\]-~]{1,200}$' }), { maxItems: 30, uniqueItems: true }),
  subjectClaim: Type.String({ minLength: 1, maxLength: 200 }),
  requiredClaims: Type.Array(
    Type.Object({ claim: Type.String({ minLength: 1, maxLength: 200 }), value: Type.String({ maxLength: 500 }) }, strict),
    { maxItems: 20 },
  ),
  requireVerifiedEmail: Type.Boolean(),
  mapping: Mapping,
  createUsersIn: optional(Type.String()),
  linkBySignIn: Type.Boolean(),
  hasButton: Type.Boolean(),
  domains: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { maxItems: 100, uniqueItems: true }),
  mfa: Type.Object({ amr: names(), acr: names() }, strict),
  parameters: Type.Array(Type.Object({ name: parameterName(), value: Type.String({ maxLength: 1000 }) }, strict), { maxItems: 20 }),
  renamed: Type.Array(Type.Object({ name: oneOf(eidParameters), as: parameterName() }, strict), { maxItems: eidParameters.length }),
  endSession: Type.Boolean(),
};

/** @see Voucher */
const vouched = Type.Unsafe<Voucher>(
  Type.Object(
    { by: oneOf(['operator', 'person', 'tenant']), tids: optional(Type.Array(text())), permissionIds: optional(Type.Array(text())) },
    strict,
  ),
);
const Key = Type.Object({ kid: text(), alg: oneOf(keyAlgorithms), x: text(), sealed: text() }, strict);
export type StoredKey = Static<typeof Key>;

/** Warnings about the connection. */
export const warnings = optional(
  Type.Array(Type.Object({ path: text(), reason: text() }, strict), {
    description:
      'Ignored parts of the discovery document that the service read last, and mapped groups that no user gets until an administrator confirms them.',
  }),
);
export type Warnings = readonly { readonly path: string; readonly reason: string }[];

const Connection = Type.Object(
  {
    ...connectionFields,
    /** Client secret, sealed. */
    secret: optional(text()),
    /** Key pairs of the connection, the newest first: the public key as JSON in `x`, the private key in `sealed`. */
    keys: Type.Array(Key),
    /** Voucher of the settings. All writers of members that decide who signs in held its privileges. */
    vouchedBy: optional(vouched),
    /** Vouchers of the writers of the mapping to groups, one for each entry. */
    groupVouchers: optional(Type.Array(Type.Object({ value: text(), groupId: text(), vouchedBy: optional(vouched) }, strict))),
    warnings,
    createdAt: text(),
    updatedAt: text(),
  },
  strict,
);
export type ConnectionFields = Static<typeof Connection>;
export type Connection = ExtensionRow<ConnectionFields>;

export const connections = defineCollection({ name: 'connections.connections', row: Connection, events: true, cached: true });

/** Domains of connections. The id of a row is the domain, so that a domain has one connection. `takenAt` is in milliseconds since the epoch. */
export const domains = defineCollection({
  name: 'connections.domains',
  row: Type.Object({ connectionId: text(), takenAt: Type.Integer() }, strict),
  cached: true,
});

/** An authorization request that was sent to a provider. The id of the record is the `state` of the request. */
export interface SentRequest {
  readonly uid: string;
  readonly connectionId: string;
  readonly verifier: string;
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
  /** Maximum seconds between the person's sign-in at the provider and `sentAt`. */
  readonly maxAge?: number;
  /** Digest of a subject, if the person said that none of the claimed accounts of the subject is theirs. */
  readonly withoutClaims?: string;
}
export const sentRequests: ArtifactKind = { name: 'connections.begun', lifetimeSeconds: 900 };
/** Answers that were used, by `state`. */
export const usedAnswers: ArtifactKind = { name: 'connections.spent', lifetimeSeconds: 1800 };

/** An identity that a person proved, and that opens no account. */
export interface Stranger {
  readonly uid: string;
  readonly connectionId: string;
  readonly subject: string;
  readonly amr: readonly string[];
  readonly provenAt: number;
  /** Name of the person at the provider, for the page. */
  readonly label: string;
}
export const strangers: ArtifactKind = { name: 'connections.strangers', lifetimeSeconds: 900 };

/** A user's request to connect an identity of a connection, until the user has signed in at the provider. The id of the record is the `state` of the sign-in. */
export interface ConnectRequest {
  readonly oid: string;
  readonly connectionId: string;
  /** Proof of the sign-in in which the user made the request. */
  readonly proof: Proof;
}
export const connectRequests: ArtifactKind = { name: 'connections.connecting', lifetimeSeconds: RECENT_SIGN_IN_SECONDS };

/** URLs to which browsers continue after the sign-out at the provider. */
export const signOuts: ArtifactKind = { name: 'connections.leaving', lifetimeSeconds: 3600, once: true };
