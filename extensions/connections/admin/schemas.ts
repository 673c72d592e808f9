/** What the operations of connections take and answer. */
import { type Static, strict, Type } from '../../../lib/extension-door.js';
import { connectionFields as of, warnings } from '../records.js';

const secret = () => Type.String({ minLength: 1, maxLength: 1000, pattern: '^[ -~]+$', description: 'Never answered' });
const id = () => Type.String({ pattern: '^[a-z][a-z0-9-]{1,59}$', description: 'The `idp` of its sign-ins' });

/** All with a default, by the preset. */
const changeable = {
  status: Type.Optional(of.status),
  clientAuth: Type.Optional(of.clientAuth),
  keyAlgorithm: Type.Optional(of.keyAlgorithm),
  scopes: Type.Optional(of.scopes),
  subjectClaim: Type.Optional(of.subjectClaim),
  requiredClaims: Type.Optional(of.requiredClaims),
  requireVerifiedEmail: Type.Optional(of.requireVerifiedEmail),
  mapping: Type.Optional(of.mapping),
  linkBySignIn: Type.Optional(of.linkBySignIn),
  hasButton: Type.Optional(of.hasButton),
  domains: Type.Optional(of.domains),
  mfa: Type.Optional(of.mfa),
  parameters: Type.Optional(of.parameters),
  renamed: Type.Optional(of.renamed),
  endSession: Type.Optional(of.endSession),
};

const made = {
  preset: Type.Optional(of.preset),
  name: of.name,
  issuer: Type.Optional(of.issuer),
  clientId: of.clientId,
  clientSecret: Type.Optional(secret()),
  createUsersIn: of.createUsersIn,
  ...changeable,
};
export const form = Type.Object({ id: Type.Optional(id()), ...made }, strict);
/** @interface */
export type Form = Static<typeof form>;

export const patch = Type.Object(
  {
    name: Type.Optional(of.name),
    clientId: Type.Optional(of.clientId),
    createUsersIn: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    ...changeable,
  },
  strict,
);

export const secretForm = Type.Object({ clientSecret: secret() }, strict);

export const ConnectionItem = Type.Object(
  {
    id: Type.String(),
    ...of,
    hasSecret: Type.Boolean(),
    redirectUri: Type.String({ description: 'What to register at the provider' }),
    postLogoutRedirectUri: Type.String(),
    jwksUri: Type.Optional(Type.String({ description: 'Its public keys, for `private_key_jwt`' })),
    publicKeys: Type.Array(Type.Record(Type.String(), Type.Unknown())),
    warnings,
    createdAt: Type.String(),
    updatedAt: Type.String(),
  },
  { $id: 'Connection', ...strict },
);

/** What a seed gives: a connection of the tenant that it names, or of the instance. */
export const seedForm = Type.Array(Type.Object({ id: id(), tenant: Type.Optional(Type.String()), ...made }, strict));
