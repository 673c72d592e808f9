/** Members that many records have. */
import { Type } from '@sinclair/typebox';
import { inputSchema, pageImage, pageLink } from '../../text/schemas.js';
import { data, oneOf, type Shape, typed } from './shape.js';

export const stored = {
  id: Type.String(),
  /** Version of the row, set by the store: 1 after insert, one more with each write. */
  version: Type.Integer(),
  createdAt: Type.Date(),
  updatedAt: Type.Date(),
};
const storedRecord = Type.Object(stored);
export interface Stored extends Shape<typeof storedRecord> {}

export const pendingEventMembers = {
  id: Type.String(),
  type: Type.String(),
  time: Type.Date(),
  subject: Type.String(),
  tid: Type.Optional(Type.String()),
  actor: Type.Optional(Type.String()),
  act: Type.Optional(Type.String()),
  requestId: Type.Optional(Type.String()),
  data: data(),
};
export const pendingEvent = Type.Object(pendingEventMembers);
/** An event, kept inside the record that it is about until the event is dispatched. @see CloudEvents 1.0 */
export interface PendingEvent extends Shape<typeof pendingEvent> {}

export const outboxed = {
  pendingEvents: Type.Optional(Type.Array(typed<PendingEvent>(pendingEvent))),
  /** `yes` while {@link pendingEvents} has any, for the index. */
  outbox: Type.Optional(oneOf('yes')),
};
const outboxedRecord = Type.Object(outboxed);
/** A record that keeps the events of its writes until they are dispatched, so that both are kept or both are lost. */
export interface Outboxed extends Shape<typeof outboxedRecord> {}

export const named = {
  ...stored,
  /** The name in the form that comparisons use: NFKC, lower case. Each write derives this form. Rows without the form get it in the background. */
  nameKey: Type.Optional(Type.String()),
  ...outboxed,
};
const namedRecord = Type.Object(named);
/** A record that is listed by name. */
export interface Named extends Shape<typeof namedRecord> {}

export const voucher = Type.Object({
  /**
   * The writer. `operator`: a caller of all tenants, host code or a seed. `person`: the user, who was signed in to the account by other
   * means. Both vouch for all privileges. `tenant`: an administrator of tenants, who vouches for the privileges below.
   */
  by: oneOf('operator', 'person', 'tenant'),
  /** The tenants, of the account and of its linked accounts, that the administrator administered. */
  tids: Type.Optional(Type.Array(Type.String())),
  /** The privileged permissions that the administrator held there. */
  permissionIds: Type.Optional(Type.Array(Type.String())),
});
/**
 * The writer of a means by which a user signs in or joins a group, with the privileges of the writer at that time.
 * @see lib/directory/vouchers.ts
 */
export interface Voucher extends Shape<typeof voucher> {}
export const vouchedBy = () => Type.Optional(typed<Voucher>(voucher));

export const branding = inputSchema({
  /** An https URL or a path of this origin. */
  logoUri: Type.Optional(pageImage()),
  /** The icon of the browser's tab, as {@link logoUri}. */
  faviconUri: Type.Optional(pageImage()),
  /** Color as `#rrggbb`. */
  accentColor: Type.Optional(Type.String({ pattern: '^#[0-9a-fA-F]{6}$' })),
  /** Corner radius in pixels, 0 to 24. */
  radius: Type.Optional(Type.Integer({ minimum: 0, maximum: 24 })),
  /** A font that devices have, because pages load no fonts. */
  font: Type.Optional(Type.Union([Type.Literal('system'), Type.Literal('humanist'), Type.Literal('rounded'), Type.Literal('serif')])),
  /** The privacy policy, linked at the foot of each page: an http or https URL, or a path of this origin. */
  privacyUri: Type.Optional(pageLink()),
  /** The terms of service, as {@link privacyUri}. A new account accepts the terms. */
  termsUri: Type.Optional(pageLink()),
  /** The help, as {@link privacyUri}. */
  helpUri: Type.Optional(pageLink()),
});
export interface Branding extends Shape<typeof branding> {}

export const status = () => Type.Union([Type.Literal('active'), Type.Literal('disabled')]);
