/**
 * Events of authentication requests. A decision is announced before it is written, so that no crash keeps it from anybody; what it was is read afterwards, so
 * that the event, the client and the person are told the same.
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

/** What has to be told of a decision, enqueued before it is written. */
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

/** Tells of a request that began: the event, and whoever brings it to the person. */
export const createAnnounceRequest =
  ({ service: { ciba }, work: { deliver, emit, mail } }: Pick<ExtensionContext, 'service' | 'work'>) =>
  async (request: AuthenticationRequest, account: Account, by: Attribution): Promise<void> => {
    await emit('BackchannelAuthenticationRequested', account, about(request), undefined, by);
    const kinds = [...(ciba.notify ? [NOTIFY] : []), ...(ciba.email && mail ? [MAIL] : [])];
    for (const kind of kinds) (await deliver(kind, { id: request.id })).release();
  };

/** Raises the event of a decision, once however often it is told. */
export const createRaiseDecision =
  ({ directory, work: { emit } }: ExtensionContext, requests: Pick<Requests, 'read'>): DeliveryHandler =>
  async ({ data, attempts }) => {
    const request = await requests.read(String(data.id));
    const account = request && (await directory.accounts.findByOid(request.oid));
    if (!request || !account) return;
    const { id, denial = 'declined', decidedBy = {} } = request;
    // The book says `replaced` before the record does, and the record may yet say something else.
    const state = request.state === 'replaced' && request.decidedAt === undefined ? 'pending' : request.state;
    const cause = `ciba ${id} decided`;
    if (state === 'approved') return emit('BackchannelAuthenticationApproved', account, about(request), cause, decidedBy);
    if (state === 'denied' || state === 'replaced') {
      const Reason = state === 'denied' ? denial : state;
      return emit('BackchannelAuthenticationDenied', account, { ...about(request), Reason }, cause, decidedBy);
    }
    // The write of a node that died never came; one that is slow does.
    if (state === 'pending' && attempts < DECISION_RETRIES.length) throw new Error('the decision is not written yet');
  };
