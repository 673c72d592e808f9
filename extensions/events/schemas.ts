/** Schemas of the bodies and answers of the webhook operations. */
import { line, oneOf, strict, Type } from '../../lib/extension-door.js';
import { Event } from './feed.js';

const status = oneOf(['active', 'disabled']);
const url = Type.String({ maxLength: 2000, description: 'https URL. Outside production, http at a loopback address works too.' });
const description = line();
const types = Type.Array(Type.String({ pattern: '^[A-Z][A-Za-z]*$' }), { minItems: 1, maxItems: 100, uniqueItems: true });

export const form = Type.Object({ url, description: Type.Optional(description), types: Type.Optional(types) }, strict);
export const patch = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(Type.Union([description, Type.Null()])),
    types: Type.Optional(Type.Union([types, Type.Null()])),
    status: Type.Optional(status),
  },
  strict,
);
const members = {
  id: Type.String(),
  url,
  description: Type.Optional(description),
  types: Type.Optional(types),
  status,
  reason: Type.Optional(oneOf(['failing', 'gone'])),
  position: Type.String({ description: '`sequence` of the last event that was delivered or skipped.' }),
  attempts: Type.Optional(
    Type.Integer({ description: 'Number of failed attempts for the next event. Absent after the receiver accepted an event.' }),
  ),
  failingSince: Type.Optional(Type.String()),
  problem: Type.Optional(Type.String()),
  createdAt: Type.String(),
  updatedAt: Type.String(),
};
export const Webhook = Type.Object(members, { $id: 'Webhook', ...strict });
const secret = Type.String({ description: 'Shown only in this answer.' });
export const WebhookWithSecret = Type.Object({ ...members, secret }, { $id: 'WebhookWithSecret', ...strict });
export const Delivery = Type.Object(
  { id: Type.String(), event: Event, attempts: Type.Integer(), problem: Type.String(), at: Type.String() },
  { $id: 'WebhookDelivery', ...strict },
);
export const TestResult = Type.Object(
  { isTaken: Type.Boolean(), status: Type.Optional(Type.Integer()), problem: Type.Optional(Type.String()) },
  { $id: 'WebhookTest', ...strict },
);
