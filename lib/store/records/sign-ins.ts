/** Recent sign-ins of users. */
import { Type } from '@sinclair/typebox';
import { type Shape, typed } from './shape.js';
import { stored } from './stored.js';

const recordedSignIn = Type.Object({
  /** Digest that names the sign-in. A second attempt to record the sign-in has the same digest. */
  id: Type.String(),
  /** Instant of the user's proof. With `grantType`, the instant at which the client's grant began. */
  at: Type.Date(),
  /** Methods of the sign-in, as in the claim `amr`. Empty for an impersonation, because the methods are the impersonator's. */
  amr: Type.Array(Type.String()),
  /** `local`, or the external identity provider. Absent for an impersonation. */
  idp: Type.Optional(Type.String()),
  /** The sign-in method, if it is not the password and its name differs from `idp`. */
  method: Type.Optional(Type.String()),
  /** The application: the id of a client, or of an internal client. */
  clientId: Type.String(),
  /** The grant type, for a sign-in without a browser. */
  grantType: Type.Optional(Type.String()),
  /** Codes of the browser and its system. */
  browser: Type.Optional(Type.String()),
  system: Type.Optional(Type.String()),
  /** Address of the browser, as the option `sessions.address` allows. */
  address: Type.Optional(Type.String()),
  /** Whether the account did not know the browser. */
  isNewBrowser: Type.Optional(Type.Literal(true)),
  /** Whether the sign-in is an impersonation. Nothing of the impersonator is recorded. */
  isImpersonation: Type.Optional(Type.Literal(true)),
  /** Id of the impersonation, if it has one. */
  impersonationId: Type.Optional(Type.String()),
});
/** A sign-in to an account. */
export interface RecordedSignIn extends Shape<typeof recordedSignIn> {}

const knownBrowser = Type.Object({
  /** Digest of the browser's secret and the user. The digests of two users differ, although they use the same browser. */
  id: Type.String(),
  /** Instant of the last sign-in in the browser. */
  at: Type.Date(),
});
/** A browser in which a user signed in. */
export interface KnownBrowser extends Shape<typeof knownBrowser> {}

export const signInHistory = Type.Object({
  id: stored.id,
  version: stored.version,
  /** Sign-ins, the newest first. */
  signIns: Type.Array(typed<RecordedSignIn>(recordedSignIn)),
  browsers: Type.Array(typed<KnownBrowser>(knownBrowser)),
  /** The earliest instant in the row, by which the service finds rows with expired parts. */
  oldestAt: Type.Date(),
});
/** The recent sign-ins of a user, and the browsers that the account knows. The id of the row is the id of the user. */
export interface SignInHistoryRow extends Shape<typeof signInHistory> {}
