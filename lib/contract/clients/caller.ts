/** Who calls with credentials of its own. */
import type { ApiResource, Client } from '../../store/records/records.js';

/** Who authenticates with an id and a secret of its own. */
export type Caller = Client | ApiResource;

/** In the state of a Koa context once somebody authenticated there. */
export interface CallerState {
  caller?: Caller;
}
