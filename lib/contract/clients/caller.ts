/** Callers: clients and API resources that authenticated. */
import type { ApiResource, Client } from '../../store/records/records.js';

/** A client that is not public, or an API resource. */
export type Caller = Client | ApiResource;

/** State of the Koa context after a caller authenticated. Absent if the secret was wrong, and for a public client, which does not authenticate. */
export interface CallerState {
  caller?: Caller;
}
