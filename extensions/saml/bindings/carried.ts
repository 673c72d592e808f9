/** A message as a binding carried it: nothing of it was parsed yet. */
import type { Binding } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { MessageParameter } from '../messages/send.js';
import { MAX_RELAY_STATE_BYTES } from '../service-providers/records.js';

/** The signature of a URL. */
export interface Detached {
  /** What was signed: one of these, all of which stand for the same values. */
  readonly octets: readonly string[];
  /** The URI of the algorithm. */
  readonly algorithm: string;
  readonly signature: Buffer;
}

export interface Carried {
  readonly binding: Binding;
  readonly parameter: MessageParameter;
  /** The XML, which should be UTF-8. */
  readonly bytes: Buffer;
  /** As the service provider gets it back; it means nothing here. */
  readonly relayState?: string;
  readonly detached?: Detached;
}

/** @throws RefusedMessage */
export function checkRelayState(relayState: string | undefined): void {
  if (Buffer.byteLength(relayState ?? '') > MAX_RELAY_STATE_BYTES) throw new RefusedMessage('relay_state_too_long');
}
