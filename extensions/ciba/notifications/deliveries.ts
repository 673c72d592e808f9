/** Handlers of the deliveries about authentication requests, with their retries. */
import type { DeliveryKind, ExtensionContext } from '../../../lib/extension-door.js';
import type { Requests } from '../requests/requests.js';
import { createRaiseDecision } from './events.js';
import { CLIENT_RETRIES, DECIDED, DECISION_RETRIES, MAIL, NOTIFY, PERSON_RETRIES, PING } from './kinds.js';
import { createNotify, createSendMail } from './person.js';
import { createPing } from './ping.js';

export function createDeliveries(context: ExtensionContext, requests: Requests): Readonly<Record<string, DeliveryKind>> {
  const { mail } = context.work;
  return {
    [NOTIFY]: { take: createNotify(context, requests), retryAfterSeconds: PERSON_RETRIES },
    ...(mail && { [MAIL]: { take: createSendMail(context, requests, mail), retryAfterSeconds: PERSON_RETRIES } }),
    [DECIDED]: { take: createRaiseDecision(context, requests), retryAfterSeconds: DECISION_RETRIES },
    [PING]: { take: createPing(context, requests), retryAfterSeconds: CLIENT_RETRIES },
  };
}
