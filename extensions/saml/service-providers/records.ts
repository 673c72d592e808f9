/**
 * Service providers: whom the service speaks SAML with. `records` is how they are kept, of the instance or of a tenant; `activeServiceProviders` finds the active ones by id
 * and by entityID; `addresses` and `certificates` say what those may be; `errors` and `events` are what callers and listeners are told.
 *
 * They are written in `registration/`, by administrators, seeds and their own metadata.
 */
import { defineCollection, type ExtensionRow, line, oneOf, recordForms, type Static, strict, Type } from '../../../lib/extension-door.js';

const optional = Type.Optional;
const name = () => line();
const uri = () => Type.String({ minLength: 1, maxLength: 1024, pattern: '^[!-~]+$' });
/** X.509 as DER in base64, without lines. */
const certificate = () => Type.String({ minLength: 100, maxLength: 16_384, pattern: '^[A-Za-z0-9+/]+={0,2}$' });

/** Bytes of a `RelayState`. The specification says 80, but products that are brokers themselves send more than 1,100. @see SAML Bindings §3.4.3, §3.5.3 */
export const MAX_RELAY_STATE_BYTES = 2048;

export const nameIdFormats = ['persistent', 'transient', 'emailAddress', 'unspecified'] as const;
export type NameIdFormat = (typeof nameIdFormats)[number];

/** What an administrator says of a service provider, or its metadata. */
export const serviceProviderFields = {
  name: name(),
  status: oneOf(['active', 'disabled']),
  /** Unique among the service providers of the same owner. */
  entityId: uri(),
  /** Where responses go, by POST. A request that names none is answered at the first with `isDefault`, else at the first that does not deny it, else at the first. @see SAML Metadata §2.4.4 */
  assertionConsumerServices: Type.Array(
    Type.Object({ url: uri(), index: Type.Integer({ minimum: 0, maximum: 65_535 }), isDefault: optional(Type.Boolean()) }, strict),
    { minItems: 1, maxItems: 50 },
  ),
  /** Where logout messages go; `responseUrl` is for responses, where they go elsewhere. */
  singleLogoutServices: Type.Array(
    Type.Object({ binding: oneOf(['redirect', 'post']), url: uri(), responseUrl: optional(uri()) }, strict),
    { maxItems: 10 },
  ),
  /** Each is tried: a service provider that rotates its key has two. */
  signingCertificates: Type.Array(certificate(), { maxItems: 10, uniqueItems: true }),
  requireSignedRequests: Type.Boolean(),
  /** Assertions are encrypted to it where `encryption` is not `none`. */
  encryptionCertificate: optional(certificate()),
  encryption: oneOf(['none', 'aes128-gcm', 'aes256-gcm']),
  signAssertion: Type.Boolean(),
  signResponse: Type.Boolean(),
  /**
   * `claim` is the value of a NameID that is neither persistent nor transient. `ifAnotherIsAsked` says whether a request for another format
   * is refused, which is the default, or answered with the registered format.
   */
  nameId: Type.Object(
    { format: oneOf(nameIdFormats), claim: optional(name()), ifAnotherIsAsked: optional(oneOf(['refuse', 'answer'])) },
    strict,
  ),
  /** Nothing else is released. Without `format`, names have the format of URIs where they are URIs, else `basic`. */
  attributes: Type.Array(
    Type.Object(
      { name: name(), claim: name(), format: optional(oneOf(['uri', 'basic', 'unspecified'])), friendlyName: optional(name()) },
      strict,
    ),
    { maxItems: 100 },
  ),
  /** Of a service provider of the instance: tenants whose users may sign in; absent: all. */
  allowedTenants: optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 1000, uniqueItems: true })),
  requireMfa: Type.Boolean(),
  /** The sign-in method, or the connection, that people have to sign in by; absent: any. */
  idp: optional(Type.String({ minLength: 1, maxLength: 200, pattern: '^[!-~]+$' })),
  /** The look of the sign-in pages, over that of the tenant. */
  styles: recordForms.client.properties.styles,
  /** A sign-in that begins here, without a request; `relayState` goes along where the link names none. */
  idpInitiated: Type.Object({ isAllowed: Type.Boolean(), relayState: optional(Type.String({ maxLength: MAX_RELAY_STATE_BYTES })) }, strict),
  /** Seconds until `SessionNotOnOrAfter`; absent: none is said. */
  sessionLifetimeSeconds: optional(Type.Integer({ minimum: 60, maximum: 2_592_000 })),
  /** `allow`: signs in who acts as somebody else, too. */
  impersonation: oneOf(['allow', 'refuse']),
};

/** Metadata that its members came from. */
const Source = Type.Object(
  {
    /** Where it is read anew, daily. */
    url: optional(uri()),
    /** Members that an administrator gave, which metadata does not replace. */
    overridden: Type.Array(Type.String()),
    /** When it was read, in the form that its members came from. */
    readAt: Type.String(),
    /** `validUntil` of it. */
    validUntil: optional(Type.String()),
    /** What in it has no effect here. */
    notes: Type.Array(Type.String()),
    /** Invalid parts that are left out. */
    warnings: optional(Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }, strict))),
    /** Why the last attempt to read it anew changed nothing. */
    problem: optional(Type.String()),
  },
  strict,
);

const ServiceProviderRow = Type.Object(
  {
    ...serviceProviderFields,
    source: optional(Source),
    /** When its metadata is due to be read anew. */
    refreshAt: optional(Type.Date()),
    /** Since when its metadata could not be read anew. */
    failingSince: optional(Type.Date()),
    /** When the first of what it was registered with runs out: its metadata, its encryption certificate, the last of its signing certificates. */
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

/** Of the names that service providers have as applications. */
export const CLIENT_PREFIX = 'saml:';

/** The id of the application that a service provider is to the sign-in. */
export const clientIdOf = ({ id }: Pick<ServiceProvider, 'id'>): string => CLIENT_PREFIX + id;
