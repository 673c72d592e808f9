/** Answers to requests whose write lost against a concurrent request. */
import { errors } from 'oidc-provider';
import { isOfKind } from '../../store/artifact-key.js';
import type { ArtifactKey } from '../../store/artifact-store.js';

/** A write whose condition did not hold, because a concurrent request wrote first. Nothing of its slot was written. */
export class LostWrite extends Error {
  constructor(readonly key: ArtifactKey) {
    super('a conditional write lost');
  }
}

/** Returns whether the session ended during a request that has its own answer. The session stays ended. */
export const isOfEndedSession = (error: unknown): boolean => error instanceof LostWrite && isOfKind(error.key, 'Session');

/** OAuth errors by the step that the request was about to perform. */
export const lateRefusals = {
  /** @see RFC 6749 §4.1.2.1, RFC 9126 §2.2 */
  respond: ({ key }: LostWrite) =>
    isOfKind(key, 'PushedAuthorizationRequest')
      ? new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used')
      : new errors.LoginRequired('The session ended during the request. Sign the user in again.'),
  /** @see RFC 6749 §5.2 */
  redeem: () => new errors.InvalidGrant('already used'),
  /** @see RFC 7523 §3 */
  assertClient: () => new errors.InvalidClientAuth('client assertion tokens must only be used once'),
  /** @see RFC 9449 §11.1 */
  provePossession: () => new errors.InvalidDpopProof('The DPoP proof was used before. Make a new proof for each request.'),
} as const;
