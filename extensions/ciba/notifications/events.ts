/**
 * Events of authentication requests. Deliveries about a decision are enqueued before the decision is written, so that a crash loses no delivery. The
 * deliveries read the decision when they run, so that the event, the client and the user get the same outcome.
 */
import type { Account, Attribution, DeliveryHandler, EventMap, ExtensionContext } from '../../../lib/extension-door.js';
import type { AuthenticationRequest } from '../requests/record.js';
import type { Announce, Requests } from '../requests/requests.js';
import { DECIDED, DECISION_RETRIES, MAIL, NOTIFY, PING } from './kinds.js';

export const eventTypes = [
  'BackchannelAuthenticationRequested',
  'BackchannelAuthenticationApproved',
  'BackchannelAuthenticationDenied',
] as const;

const about = ({ id, oid, clientId }: AuthenticationRequest): EventMap['BackchannelAuthenticationRequested'] => ({
  AggregateId: oid,
  RequestId: id,
  ClientId: clientId,
});

/** Enqueues the deliveries about a decision, before the decision is written. */
export const createAnnounce =
  ({ work: { deliver } }: Pick<ExtensionContext, 'work'>): Announce =>
  async ({ id, isPing }) => {
    const queued = await Promise.all([DECIDED, ...(isPing ? [PING] : [])].map((kind) => deliver(kind, { id })));
    return {
      release() {
        for (const each of queued) each.release();
      },
    };
  };

/** Emits the event of a new request, and enqueues the notifications of the user. */
export const createAnnounceRequest =
  ({ service: { ciba }, work: { deliver, emit, mail } }: Pick<ExtensionContext, 'service' | 'work'>) =>
  async (request: AuthenticationRequest, account: Account, by: Attribution): Promise<void> => {
    await emit('BackchannelAuthenticationRequested', account, about(request), undefined, by);
    const kinds = [...(ciba.notify ? [NOTIFY] : []), ...(ciba.email && mail ? [MAIL] : [])];
    for (const kind of kinds) (await deliver(kind, { id: request.id })).release();
  };

/** Emits the event of a decision, once for any number of deliveries. */
export const createRaiseDecision =
  ({ directory, work: { emit } }: ExtensionContext, requests: Pick<Requests, 'read'>): DeliveryHandler =>
  async ({ data, attempts }) => {
    const request = await requests.read(String(data.id));
    const account = request && (await directory.accounts.findByOid(request.oid));
    if (!request || !account) return;
    const { id, denial = 'declined', decidedBy = {} } = request;
    // The user's list of requests names a replaced request before the record has the state `replaced`, and the record may still get another state.
    const state = request.state === 'replaced' && request.decidedAt === undefined ? 'pending' : request.state;
    const cause = `ciba ${id} decided`;
    if (state === 'approved') return emit('BackchannelAuthenticationApproved', account, about(request), cause, decidedBy);
    if (state === 'denied' || state === 'replaced') {
      const Reason = state === 'denied' ? denial : state;
      return emit('BackchannelAuthenticationDenied', account, { ...about(request), Reason }, cause, decidedBy);
    }
    // A retry finds the decision of a slow node. The decision of a node that died is never written.
    if (state === 'pending' && attempts < DECISION_RETRIES.length) throw new Error('the decision is not written yet');
  };
