/**
 * Registered service providers. `records` is how they are stored, for the instance or a tenant. `active-service-providers` finds them by id and by
 * entityID. `addresses`, `certificates` and `name-id-uniqueness` have rules for the members of a registration. `errors` and `events` have what callers and
 * listeners get.
 *
 * `registration/` writes service providers for administrators, seeds and refreshed metadata.
 */
import { defineCollection, type ExtensionRow, line, oneOf, recordForms, type Static, strict, Type } from '../../../lib/extension-door.js';

const optional = Type.Optional;
const name = () => line();
const uri = () => Type.String({ minLength: 1, maxLength: 1024, pattern: '^[!-~]+$' });
/** Returns the schema of an X.509 certificate as DER in base64, without lines. */
const certificate = () => Type.String({ minLength: 100, maxLength: 16_384, pattern: '^[A-Za-z0-9+/]+={0,2}$' });

/**
 * Bytes of a `RelayState`. The specification allows 80, but products that are brokers themselves send more than 1,100. @see SAML Bindings §3.4.3, §3.5.3
 */
export const MAX_RELAY_STATE_BYTES = 2048;

export const nameIdFormats = ['persistent', 'transient', 'emailAddress', 'unspecified'] as const;
export type NameIdFormat = (typeof nameIdFormats)[number];

/** Members that an administrator or metadata decides. */
export const serviceProviderFields = {
  name: name(),
  status: oneOf(['active', 'disabled']),
  /** entityID, unique among the service providers of the same owner. */
  entityId: uri(),
  /**
   * URLs that get Responses, by POST. A request that names no URL gets the first URL with `isDefault: true`, else the first URL without `isDefault`, else
   * the first URL.
   * @see SAML Metadata §2.4.4
   */
  assertionConsumerServices: Type.Array(
    Type.Object({ url: uri(), index: Type.Integer({ minimum: 0, maximum: 65_535 }), isDefault: optional(Type.Boolean()) }, strict),
    { minItems: 1, maxItems: 50 },
  ),
  /** URLs that get logout messages. `responseUrl` gets LogoutResponses if it differs from `url`. */
  singleLogoutServices: Type.Array(
    Type.Object({ binding: oneOf(['redirect', 'post']), url: uri(), responseUrl: optional(uri()) }, strict),
    { maxItems: 10 },
  ),
  /** Certificates that verify messages. Each certificate is tried, because a service provider that rotates its signing key has two certificates. */
  signingCertificates: Type.Array(certificate(), { maxItems: 10, uniqueItems: true }),
  requireSignedRequests: Type.Boolean(),
  /** Certificate that assertions are encrypted to, unless `encryption` is `none`. */
  encryptionCertificate: optional(certificate()),
  encryption: oneOf(['none', 'aes128-gcm', 'aes256-gcm']),
  signAssertion: Type.Boolean(),
  signResponse: Type.Boolean(),
  /**
   * `claim` names the claim whose value is the NameID, for formats other than persistent and transient. `ifAnotherIsAsked` decides about requests for
   * another format: `refuse`, the default, or `answer` with the registered format.
   */
  nameId: Type.Object(
    { format: oneOf(nameIdFormats), claim: optional(name()), ifAnotherIsAsked: optional(oneOf(['refuse', 'answer'])) },
    strict,
  ),
  /** Released attributes. No other claim is released. Without `format`, a name that is a URI has the format `uri`, and any other name `basic`. */
  attributes: Type.Array(
    Type.Object(
      { name: name(), claim: name(), format: optional(oneOf(['uri', 'basic', 'unspecified'])), friendlyName: optional(name()) },
      strict,
    ),
    { maxItems: 100 },
  ),
  /** Tenants whose users may sign in, for a service provider of the instance. Absent for all tenants. */
  allowedTenants: optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 1000, uniqueItems: true })),
  requireMfa: Type.Boolean(),
  /** Sign-in method or connection that users must use. Absent for any. */
  idp: optional(Type.String({ minLength: 1, maxLength: 200, pattern: '^[!-~]+$' })),
  /** Styles of the sign-in pages, which override the styles of the tenant. */
  styles: recordForms.client.properties.styles,
  /** Whether a sign-in may start here, without an AuthnRequest. `relayState` is sent if the URL names no `RelayState`. */
  idpInitiated: Type.Object({ isAllowed: Type.Boolean(), relayState: optional(Type.String({ maxLength: MAX_RELAY_STATE_BYTES })) }, strict),
  /** Seconds until `SessionNotOnOrAfter`. Absent if no end is stated. */
  sessionLifetimeSeconds: optional(Type.Integer({ minimum: 60, maximum: 2_592_000 })),
  /** Whether impersonated users may sign in. */
  impersonation: oneOf(['allow', 'refuse']),
};

/** Metadata that members of the record came from. */
const Source = Type.Object(
  {
    /** URL that the metadata is refreshed from, once a day. */
    url: optional(uri()),
    /** Members that an administrator gave. Metadata does not replace them. */
    overridden: Type.Array(Type.String()),
    /** Instant at which the metadata in use was read. */
    readAt: Type.String(),
    /** `validUntil` of the metadata. */
    validUntil: optional(Type.String()),
    /** Parts of the metadata that have no effect here. */
    notes: Type.Array(Type.String()),
    /** Invalid parts that are left out. */
    warnings: optional(Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }, strict))),
    /** Reason why the last refresh failed. */
    problem: optional(Type.String()),
  },
  strict,
);

const ServiceProviderRow = Type.Object(
  {
    ...serviceProviderFields,
    source: optional(Source),
    /** Instant of the next refresh of metadata. */
    refreshAt: optional(Type.Date()),
    /** Instant of the first failed refresh since the last refresh that succeeded. */
    failingSince: optional(Type.Date()),
    /** Earliest end of what the registration needs: the metadata, the encryption certificate, or the last signing certificate. */
    expiresAt: optional(Type.Date()),
    createdAt: Type.String(),
    updatedAt: Type.String(),
  },
  strict,
);
export type ServiceProviderFields = Static<typeof ServiceProviderRow>;
export type ServiceProvider = ExtensionRow<ServiceProviderFields>;

export const serviceProviders = defineCollection({
  name: 'saml.service-providers',
  row: ServiceProviderRow,
  events: true,
  cached: true,
  indexes: {
    byEntityId: { fields: ['entityId'], unique: true },
    byRefresh: { fields: ['refreshAt'], order: 'instant', ofAllTenants: true },
    byFailure: { fields: ['failingSince'], order: 'instant', ofAllTenants: true },
    byExpiry: { fields: ['expiresAt'], order: 'instant', ofAllTenants: true },
  },
});

/** Prefix of the client ids of service providers. */
export const CLIENT_PREFIX = 'saml:';

/** Returns the client id of a service provider in the sign-in. */
export const clientIdOf = ({ id }: Pick<ServiceProvider, 'id'>): string => CLIENT_PREFIX + id;
