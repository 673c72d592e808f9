/** Who calls with credentials of its own. */
import type { ApiResource, Client } from '../../store/records/records.js';

/** Who authenticates by itself: a client that is not public, or an API resource. */
export type Caller = Client | ApiResource;

/** In the state of a Koa context once a caller authenticated there: absent where the secret was wrong, and for a public client, which only names itself. */
export interface CallerState {
  caller?: Caller;
}
