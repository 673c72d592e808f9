import type { KeyState } from '../../directory/index.js';
import type { Attribution } from '../../events.js';
import type { Caller } from '../clients/caller.js';
import type { Seal, Signature } from '../work.js';

/** The group `keys` of the context: signing keys, signatures, and values that are encrypted under the service's keys. */
export interface ExtensionKeys {
  /**
   * Rotates the signing keys. @param options `by`: the actor that rotates the signing keys, for the events. @throws IdpError `keys_given`,
   * `key_not_announced`.
   */
  rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
  /** Returns the published signing keys, without their private parts. */
  list(): Promise<readonly KeyState[]>;
  /** Algorithms that have a signing key. */
  readonly algorithms: readonly string[];
  /** Returns a JWT of the service, signed with the current signing key of the algorithm. @param typ explicit type of the JWT. */
  sign(typ: string, payload: object, alg: 'RS256' | 'ES256'): Promise<string>;
  /**
   * Signs bytes with the current signing key of the algorithm, for formats other than JWT. The extension alone must choose the bytes, because bytes from
   * outside could be a token.
   */
  signature(data: Uint8Array, alg: 'RS256' | 'ES256'): Promise<Signature>;
  /**
   * Returns the algorithm of introspection responses to a caller: the registered algorithm of the caller, or ES256 where FAPI 2.0 applies. @see RFC 9701 §6
   */
  introspectionAlgorithm(caller: Caller): 'RS256' | 'ES256';
  /** Encrypts and hashes values of a purpose. @throws TypeError for a purpose that does not begin with the extension's name and a space, dot or colon. */
  seal(purpose: string): Seal;
}
