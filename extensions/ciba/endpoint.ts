/** The backchannel authentication endpoint, at which a client requests the sign-in of a user. @see CIBA Core §7 */
import {
  type Account,
  type Client,
  type ClientEndpoint,
  type ClientRequest,
  type ExtensionContext,
  type GrantRefusal,
  IdpError,
  present,
  secondsUntil,
} from '../../lib/extension-door.js';
import { createHints, tenantsOf } from './hints.js';
import type { createAnnounceRequest } from './notifications/events.js';
import { checkParameters, type Hint, parameterNames } from './parameters.js';
import { INTERVAL_SECONDS } from './polling.js';
import { GRANT_TYPE, mayAsk, type Requests } from './requests/requests.js';

/** The answer to every hint without a usable account: none, several, an account of another tenant, a disabled user. */
const unknownUser: GrantRefusal = {
  error: 'unknown_user_id',
  description: 'No user was found by the hint. Send another hint, or check it with the user.',
};

const isPing = ({ metadata }: Client): boolean => metadata.backchannel_token_delivery_mode === 'ping';

/** @param announceRequest announces a request after it is stored. */
export function createEndpoint(
  context: ExtensionContext,
  requests: Pick<Requests, 'start'>,
  announceRequest: ReturnType<typeof createAnnounceRequest>,
): ClientEndpoint {
  const {
    limits: { limit },
    service: { lifetimes, now },
    http: { requestId },
  } = context;
  const hints = createHints(context);

  /** Counts a request of the client. @throws IdpError `too_many_requests` */
  async function countRequest({ id }: Client): Promise<void> {
    const { isOver, resetsAt } = await limit('authenticationRequests').attempt(id);
    if (isOver) throw new IdpError('too_many_requests', { retryAfterSeconds: secondsUntil(resetsAt, now) });
  }

  async function accountOf(request: ClientRequest, hint: Hint, acrValues: string | undefined): Promise<Account | GrantRefusal> {
    const tids = tenantsOf(request.client, acrValues);
    if (hint.name === 'login_hint') return (await hints.ofText(request, hint.value, tids)) ?? unknownUser;
    const hinted = await (hint.name === 'id_token_hint'
      ? request.accountOfIdToken(hint.value)
      : request.accountOfHintToken(hint.value, tids));
    if ('problem' in hinted)
      return { error: hinted.isExpired ? 'expired_login_hint_token' : 'invalid_request', description: hinted.problem };
    return (await hints.ofToken(hinted.account, tids)) ?? unknownUser;
  }

  return {
    grantType: GRANT_TYPE,
    parameters: parameterNames,
    admit: countRequest,
    async answer(request) {
      const { client, parameters } = request;
      const checked = checkParameters(parameters, isPing(client));
      if ('error' in checked) return checked;
      const { asked, hint, requestedExpiry = Number.POSITIVE_INFINITY, notificationToken } = checked;
      const account = await accountOf(request, hint, asked.acrValues);
      if ('error' in account) return account;
      if (!mayAsk(client, account)) return unknownUser;
      const lifetimeSeconds = Math.min(client.lifetimes.authenticationRequest ?? lifetimes.authenticationRequest, requestedExpiry);
      const { tenant, person } = account;
      const start = await requests.start(
        { ...asked, oid: person.user.id, tid: tenant.id, clientId: client.id },
        { lifetimeSeconds, account, ...present({ notificationToken }) },
      );
      if (!start)
        return {
          error: 'access_denied',
          description: 'The user has too many requests, or a newer request replaced this one. Try again later.',
        };
      await announceRequest(start.request, account, { actor: `client:${client.id}`, requestId: requestId(request.ctx) });
      return { auth_req_id: start.authReqId, expires_in: lifetimeSeconds, interval: INTERVAL_SECONDS };
    },
  };
}
