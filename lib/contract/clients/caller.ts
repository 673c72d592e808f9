/** Callers: clients and API resources that authenticated. */
import type { ApiResource, Client } from '../../store/records/records.js';

/** A client that is not public, or an API resource. */
export type Caller = Client | ApiResource;

/**
 * State of the Koa context after a caller authenticated. Absent if the secret was wrong. Absent for a public client, because public clients do not
 * authenticate.
 */
export interface CallerState {
  caller?: Caller;
}
