/** The CIBA grant: the answers of the token endpoint to an `auth_req_id`. @see CIBA Core §10.1, §11 */

import type { ExtensionContext, GrantRefusal, GrantType } from '../../lib/extension-door.js';
import { present } from '../../lib/extension-door.js';
import { createAnnounce } from './notifications/events.js';
import { createCountPoll } from './polling.js';
import { isExpired, type RequestRecord } from './requests/record.js';
import { createRequests } from './requests/requests.js';

const revoked: GrantRefusal = {
  error: 'invalid_grant',
  description: 'The sign-in that approved the request was revoked. Begin another request.',
};
const unknown: GrantRefusal = { error: 'invalid_grant', description: 'auth_req_id is unknown or was redeemed. Begin another request.' };

export function createCibaGrant(context: ExtensionContext): GrantType {
  const requests = createRequests(context, createAnnounce(context));
  const countPoll = createCountPoll(context);

  return {
    parameters: ['auth_req_id'],
    async exchange({ client, parameters: { auth_req_id: authReqId } }) {
      if (!authReqId) return { error: 'invalid_request', description: "missing required parameter 'auth_req_id'" };
      const polled = await requests.redeem(authReqId, client.id);
      if (!polled) return unknown;
      const { id, record, isRedeemed } = polled;
      if (isRedeemed) return granted(context, record);
      if (record.state === 'denied' || record.state === 'replaced')
        return { error: 'access_denied', description: 'The request was denied. Begin another one only if the user asks for it.' };
      if (isExpired(record, context.service.now()))
        return { error: 'expired_token', description: 'auth_req_id has expired. Begin another request.' };
      return (await countPoll(id))
        ? { error: 'slow_down', description: 'The client polled before the interval ended. Wait 5 seconds longer from now on.' }
        : { error: 'authorization_pending', description: 'Nobody has approved the request yet. Wait for the interval, then ask again.' };
    },
  };
}

async function granted({ directory }: ExtensionContext, { approval: provenApproval, decidedAt, oid, scopes, acrValues }: RequestRecord) {
  if (!provenApproval || decidedAt === undefined) return unknown;
  const { proof, ...approval } = provenApproval;
  const account = await directory.accounts.findByOid(oid);
  if (!account || !(await directory.credentials.holds(account, proof))) return revoked;
  return { oid, scopes, ...approval, startedAt: Math.floor(decidedAt / 1000), ...present({ acrValues }) };
}
