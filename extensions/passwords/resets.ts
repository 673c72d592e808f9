/** Deliveries of password resets: the look-up of the name, and the mail with the reset link. No browser waits for a delivery. */

import { randomUUID } from 'node:crypto';
import { type Account, Attempt, type DeliveryHandler, type ExtensionContext, type Mail, present } from '../../lib/extension-door.js';
import { resetLetter, sentResetLetter } from './letters.js';
import { type DueReset, RESET, type ResetRequest, resetRequests } from './records.js';
import type { Throttle } from './throttle.js';

/** Returns the user whose password signs the account in. */
const ownerOf = ({ person: { user } }: Account): string => user.parentUserId ?? user.id;

export function createResets(context: ExtensionContext, throttle: Throttle) {
  const {
    directory,
    records: { artifact },
    work: { deliver },
    service: { logger },
  } = context;

  const lookUp: DeliveryHandler = async ({ data }) => {
    const requestId = String(data.id);
    const request = (await artifact(resetRequests).read(requestId)) as ResetRequest | undefined;
    if (!request) return;
    const { identifier, organisation, tids, clientId, uid, locale } = request;
    const accounts = await directory.accounts.candidates(identifier, { tids, organisation, method: 'password', isParentNameAllowed: true });
    for (const oid of new Set(accounts.map(ownerOf))) {
      const attempt = new Attempt();
      if (await throttle.isTooMany(attempt, oid)) {
        logger.info({ user: oid }, 'the service sent no password reset, because the user had too many');
        continue;
      }
      const due: DueReset = { oid, requestId, mailing: randomUUID(), clientId, uid, ...present({ locale }) };
      const sending = await attempt.run(() => deliver(RESET, { ...due }));
      sending.release();
    }
    await artifact(resetRequests).remove(requestId);
  };

  const send =
    (mail: Mail): DeliveryHandler =>
    async ({ data }) => {
      const { oid, locale, ...request } = data as unknown as DueReset;
      const due = await directory.passwordResets.begin(oid, request);
      if (due === 'unconfirmed')
        logger.warn(
          { user: oid },
          'the service sent no password reset, because the administrator who wrote the address does not hold the permissions of the user',
        );
      else if (due) await mail.send((request.by ? sentResetLetter : resetLetter)(due, locale));
    };

  return { lookUp, send };
}
