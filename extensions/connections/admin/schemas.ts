/** Schemas of the requests and answers of the operations. */
import { type Static, strict, Type } from '../../../lib/extension-door.js';
import { connectionFields as fields, warnings } from '../records.js';

const secret = () => Type.String({ minLength: 1, maxLength: 1000, pattern: '^[ -~]+$', description: 'The API never returns the secret.' });
const id = () =>
  Type.String({ pattern: '^[a-z][a-z0-9-]{1,59}$', description: 'Id of the connection, which is the `idp` of its sign-ins.' });

/** Members with a default, which depends on the preset. */
const changeable = {
  status: Type.Optional(fields.status),
  clientAuth: Type.Optional(fields.clientAuth),
  keyAlgorithm: Type.Optional(fields.keyAlgorithm),
  scopes: Type.Optional(fields.scopes),
  subjectClaim: Type.Optional(fields.subjectClaim),
  requiredClaims: Type.Optional(fields.requiredClaims),
  requireVerifiedEmail: Type.Optional(fields.requireVerifiedEmail),
  mapping: Type.Optional(fields.mapping),
  linkBySignIn: Type.Optional(fields.linkBySignIn),
  hasButton: Type.Optional(fields.hasButton),
  domains: Type.Optional(fields.domains),
  mfa: Type.Optional(fields.mfa),
  parameters: Type.Optional(fields.parameters),
  renamed: Type.Optional(fields.renamed),
  endSession: Type.Optional(fields.endSession),
};

const made = {
  preset: Type.Optional(fields.preset),
  name: fields.name,
  issuer: Type.Optional(fields.issuer),
  clientId: fields.clientId,
  clientSecret: Type.Optional(secret()),
  createUsersIn: fields.createUsersIn,
  ...changeable,
};
export const form = Type.Object({ id: Type.Optional(id()), ...made }, strict);
/** @interface */
export type Form = Static<typeof form>;

export const patch = Type.Object(
  {
    name: Type.Optional(fields.name),
    clientId: Type.Optional(fields.clientId),
    createUsersIn: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    ...changeable,
  },
  strict,
);

export const secretForm = Type.Object({ clientSecret: secret() }, strict);

export const ConnectionItem = Type.Object(
  {
    id: Type.String(),
    ...fields,
    hasSecret: Type.Boolean(),
    redirectUri: Type.String({ description: 'Redirect URI to register at the provider.' }),
    postLogoutRedirectUri: Type.String(),
    jwksUri: Type.Optional(Type.String({ description: 'URL of the public keys of the connection, for `private_key_jwt`.' })),
    publicKeys: Type.Array(Type.Record(Type.String(), Type.Unknown())),
    warnings,
    createdAt: Type.String(),
    updatedAt: Type.String(),
  },
  { $id: 'Connection', ...strict },
);

/** Connections of a seed. A connection without `tenant` is of the instance. */
export const seedForm = Type.Array(Type.Object({ id: id(), tenant: Type.Optional(Type.String()), ...made }, strict));
