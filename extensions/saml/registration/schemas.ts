/** Schemas of the operations on service providers. */
import { oneOf, type Static, strict, Type } from '../../../lib/extension-door.js';
import { describedMembers } from '../metadata-reader/description.js';
import { serviceProviderFields as fields } from '../service-providers/records.js';

const optional = Type.Optional;
const orNull = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) => optional(Type.Union([schema, Type.Null()]));

const certificate = () => Type.String({ minLength: 1, maxLength: 16_384, description: 'PEM, or DER in base64.' });
const { url, index, isDefault } = fields.assertionConsumerServices.items.properties;
const assertionConsumerServices = () =>
  Type.Array(
    Type.Object({ url, index: optional(index), isDefault }, { ...strict, description: 'By default, `index` is the position in the list.' }),
    {
      minItems: 1,
      maxItems: 50,
    },
  );
const metadataUrl = () => Type.String({ minLength: 1, maxLength: 1024, description: 'https URL that the service reads daily.' });
const metadata = () => Type.String({ minLength: 1, maxLength: 65_536, description: 'SAML metadata as XML.' });

/** Members with a default, or from metadata. */
const changeable = {
  name: optional(fields.name),
  status: optional(fields.status),
  assertionConsumerServices: optional(assertionConsumerServices()),
  singleLogoutServices: optional(fields.singleLogoutServices),
  signingCertificates: optional(Type.Array(certificate(), { maxItems: 10 })),
  requireSignedRequests: optional(fields.requireSignedRequests),
  encryption: optional(fields.encryption),
  signAssertion: optional(fields.signAssertion),
  signResponse: optional(fields.signResponse),
  nameId: optional(fields.nameId),
  attributes: optional(fields.attributes),
  requireMfa: optional(fields.requireMfa),
  idpInitiated: optional(fields.idpInitiated),
  impersonation: optional(fields.impersonation),
};

const creatable = {
  entityId: optional(fields.entityId),
  metadata: optional(metadata()),
  ...changeable,
  encryptionCertificate: optional(certificate()),
  allowedTenants: fields.allowedTenants,
  sessionLifetimeSeconds: fields.sessionLifetimeSeconds,
  idp: fields.idp,
  styles: fields.styles,
};
export const form = Type.Object({ ...creatable, metadataUrl: optional(metadataUrl()) }, strict);
/** @interface */
export type Form = Static<typeof form>;

const { format, claim, ifAnotherIsAsked } = fields.nameId.properties;
const { isAllowed, relayState } = fields.idpInitiated.properties;
const { logoUri, faviconUri, accentColor, radius, font, privacyUri, termsUri, helpUri } = fields.styles.properties;
const styles = Type.Object(
  {
    logoUri: orNull(logoUri),
    faviconUri: orNull(faviconUri),
    accentColor: orNull(accentColor),
    radius: orNull(radius),
    font: orNull(font),
    privacyUri: orNull(privacyUri),
    termsUri: orNull(termsUri),
    helpUri: orNull(helpUri),
  },
  strict,
);

export const patch = Type.Object(
  {
    ...changeable,
    nameId: optional(Type.Object({ format: optional(format), claim: orNull(claim), ifAnotherIsAsked: orNull(ifAnotherIsAsked) }, strict)),
    idpInitiated: optional(Type.Object({ isAllowed: optional(isAllowed), relayState: orNull(relayState) }, strict)),
    encryptionCertificate: orNull(certificate()),
    allowedTenants: orNull(fields.allowedTenants),
    sessionLifetimeSeconds: orNull(fields.sessionLifetimeSeconds),
    idp: orNull(fields.idp),
    styles: orNull(styles),
    metadata: optional(metadata()),
    metadataUrl: orNull(metadataUrl()),
    overridden: optional(
      Type.Array(oneOf(describedMembers), {
        maxItems: describedMembers.length,
        description: 'Members that metadata does not replace at the next refresh. The list replaces the former list.',
      }),
    ),
  },
  strict,
);
export const ServiceProviderItem = Type.Object(
  {
    id: Type.String(),
    ...fields,
    source: optional(
      Type.Object(
        {
          url: optional(Type.String()),
          overridden: Type.Array(Type.String()),
          readAt: Type.String(),
          validUntil: optional(Type.String()),
          notes: Type.Array(Type.String(), { description: 'Parts of the metadata that have no effect.' }),
          problem: optional(Type.String({ description: 'Reason why the metadata could not be refreshed.' })),
          failingSince: optional(Type.String()),
        },
        { ...strict, description: 'Metadata that the record was read from.' },
      ),
    ),
    warnings: optional(
      Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }, strict), {
        description: 'Invalid parts of the metadata that nothing needs, which are left out.',
      }),
    ),
    identityProvider: Type.Object(
      { entityId: Type.String(), metadataUrl: Type.String(), singleSignOnUrl: Type.String(), singleLogoutUrl: Type.String() },
      { ...strict, description: 'Values to register at the service provider.' },
    ),
    createdAt: Type.String(),
    updatedAt: Type.String(),
  },
  { $id: 'ServiceProvider', ...strict },
);

/** Gives each assertion consumer service an index. The default is its place in the list. */
export const indexed = <Given extends Pick<Form, 'assertionConsumerServices'>>({ assertionConsumerServices: given, ...rest }: Given) => ({
  ...rest,
  ...(given && { assertionConsumerServices: given.map((service, place) => ({ ...service, index: service.index ?? place })) }),
});

/** Schema of the seed: settings of tenants' entities, and service providers of tenants or of the instance. */
export const seedForm = Type.Object(
  {
    entities: optional(Type.Array(Type.Object({ tenant: Type.String(), wantAuthnRequestsSigned: Type.Boolean() }, strict))),
    serviceProviders: optional(
      Type.Array(
        Type.Object({ ...creatable, id: Type.String({ pattern: '^[a-z][a-z0-9-]{1,59}$' }), tenant: optional(Type.String()) }, strict),
      ),
    ),
  },
  strict,
);
