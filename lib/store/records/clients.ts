/** Clients and API resources, and the consents that users gave to clients. */
import { Type } from '@sinclair/typebox';
import { inputSchema, line, strings, token } from '../../text/schemas.js';
import { lifetimeBounds } from '../../times/lifetime-bounds.js';
import { checked, dataWithTexts, type Shape, typed } from './shape.js';
import { type Branding, branding, named, status, stored, vouchedBy } from './stored.js';

const hashedSecret = Type.Object({
  hash: Type.String(),
  expiresAt: Type.Optional(Type.Date()),
});
/** `sha256:` and the digest; secrets are generated with 256 bits, or seeded. */
export interface HashedSecret extends Shape<typeof hashedSecret> {}
const secrets = Type.Array(typed<HashedSecret>(hashedSecret));

const seconds = ([minimum, maximum]: readonly [number, number]) =>
  Type.Optional(
    checked(Type.Integer({ minimum, maximum }), (value) => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER),
  );
/** Lifetimes in seconds. */
const lifetimes = inputSchema({
  accessToken: seconds(lifetimeBounds.accessToken),
  idToken: seconds(lifetimeBounds.idToken),
  refreshTokenIdle: seconds(lifetimeBounds.refreshTokenIdle),
  refreshTokenAbsolute: seconds(lifetimeBounds.refreshTokenAbsolute),
  /** Seconds of grace: 0 for public clients without proof of possession, because their retries cannot be distinguished from replays by a thief. */
  refreshTokenGrace: seconds(lifetimeBounds.refreshTokenGrace),
  /** Lifetime of a CIBA request. A request may ask for less. */
  authenticationRequest: seconds(lifetimeBounds.authenticationRequest),
});
export interface Lifetimes extends Shape<typeof lifetimes> {}

const impersonation = () => Type.Union([Type.Literal('allow'), Type.Literal('refuse')]);
const introspects = () => Type.Union([Type.Literal('own'), Type.Literal('all')]);

/** Members of a client that callers write. */
export const clientMembers = {
  name: line(),
  /** Registered metadata in the standard's own names. @see RFC 7591 §2 */
  metadata: dataWithTexts('redirect_uris', 'post_logout_redirect_uris', 'request_uris', 'response_types', 'grant_types'),
  /** Identity and API scopes that the client may request. */
  allowedScopes: Type.Array(token()),
  /**
   * Whether a request for a code needs PKCE. Absent: required for public and native clients and under FAPI. Only confidential clients may
   * have `false`.
   */
  requirePkce: Type.Optional(Type.Boolean()),
  /** The FAPI profile of the client, with all its settings. Absent: the option `fapi` decides. */
  fapi: Type.Optional(Type.Literal('2.0')),
  allowPlainPkce: Type.Boolean(),
  requireConsent: Type.Boolean(),
  accessTokenType: Type.Union([Type.Literal('reference'), Type.Literal('jwt')]),
  idTokenClaims: Type.Union([Type.Literal('minimal'), Type.Literal('scopes')]),
  /** Form of the claim `email`. Absent: the option `email` decides. */
  email: Type.Optional(Type.Union([Type.Literal('all'), Type.Literal('first')])),
  styles: Type.Optional(branding),
  lifetimes,
  /** Tenants whose users may sign in, and about whose users the client may ask. Absent: all. */
  allowedTenants: Type.Optional(strings()),
  /** Access tokens that the client may introspect: its own, or `all`. */
  introspects: introspects(),
  /** Tenants that the client administers; `['*']`: all. */
  adminTenants: strings(),
  trustedLoginHint: Type.Boolean(),
  corsOrigins: strings(),
  postRegistrationUri: Type.Optional(Type.String()),
  /** `refuse`: the client gets no token of an impersonated user. @default 'allow' */
  impersonation: Type.Optional(impersonation()),
  status: status(),
};
export const client = Type.Object({
  ...named,
  ...clientMembers,
  styles: Type.Optional(typed<Branding>(branding)),
  lifetimes: typed<Lifetimes>(lifetimes),
  secrets,
  /** The scopes of the admin API that all writers of its secrets and metadata held. A client without a voucher counts. */
  vouchedBy: vouchedBy(),
});
/** A registered application. The id of the record is the `client_id`; not a UUID. */
export interface Client extends Shape<typeof client> {}

/** A text for every language, or texts by language: `en`, `nb` … */
export type ScopeDescription = string | Readonly<Record<string, string>>;
const scopeDescription = typed<ScopeDescription>(Type.Union([Type.String(), Type.Record(Type.String(), Type.String())]));

/** Members of an API resource that callers write. */
export const apiResourceMembers = {
  name: line(),
  /**
   * API scopes that the API resource owns. The API resource is the audience of access tokens with one of these scopes. Scopes that begin
   * with `idp.` belong to the admin API.
   */
  scopes: Type.Array(token('(?!idp\\.)'), { uniqueItems: true }),
  /** The meaning of each scope, as the consent page shows it to users: one text, or one for each language. */
  scopeDescriptions: Type.Optional(Type.Record(Type.String(), scopeDescription)),
  /** Access tokens that the API resource may introspect: tokens with one of its scopes, or `all`. */
  introspects: introspects(),
  /** Tenants about whose users the API resource may ask. Absent: all. */
  allowedTenants: Type.Optional(strings()),
  /** The algorithm that signs introspection responses to the API resource. @default 'RS256' @see RFC 9701 §6 */
  introspectionSignedResponseAlg: Type.Optional(Type.Union([Type.Literal('RS256'), Type.Literal('ES256')])),
  /** `refuse`: no client gets a token of an impersonated user for the API resource. @default 'allow' */
  impersonation: Type.Optional(impersonation()),
  status: status(),
};
export const apiResource = Type.Object({ ...named, ...apiResourceMembers, secrets });
/** An API resource. The API resource authenticates with its id, which no client may have. The id is not a UUID. */
export interface ApiResource extends Shape<typeof apiResource> {}

export const consent = Type.Object({
  ...stored,
  userId: Type.String(),
  clientId: Type.String(),
  scopes: Type.Array(Type.String()),
  /** Claims that the request named individually. */
  claims: Type.Optional(Type.Array(Type.String())),
  at: Type.Date(),
  /** Voucher of the sign-ins in which the user gave the consent. A consent without a voucher counts. */
  vouchedBy: vouchedBy(),
});
/** The scopes and claims that a user allowed a client. The id of the record is derived from the user and the client. */
export interface Consent extends Shape<typeof consent> {}
