/** A message as a binding carries it, before it is parsed. */
import type { Binding } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { MessageParameter } from '../messages/send.js';
import { MAX_RELAY_STATE_BYTES } from '../service-providers/records.js';

/** Signature in the query of a URL. */
export interface Detached {
  /** Spellings of the signed query, one of which was signed. All spellings have the same values. */
  readonly octets: readonly string[];
  /** URI of the algorithm. */
  readonly algorithm: string;
  readonly signature: Buffer;
}

export interface Carried {
  readonly binding: Binding;
  readonly parameter: MessageParameter;
  /** XML, which should be UTF-8. */
  readonly bytes: Buffer;
  /** `RelayState` that the answer returns. The value has no meaning here. */
  readonly relayState?: string;
  readonly detached?: Detached;
}

/** Checks the length. @throws RefusedMessage `relay_state_too_long` */
export function checkRelayState(relayState: string | undefined): void {
  if (Buffer.byteLength(relayState ?? '') > MAX_RELAY_STATE_BYTES) throw new RefusedMessage('relay_state_too_long');
}
