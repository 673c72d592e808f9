/** Kinds of deliveries about authentication requests. A delivery contains only the id of the request, which is read when the delivery runs. */

/** Notifies the host, which notifies the user's device. */
export const NOTIFY = 'ciba.notify';
/** Notifies the user by mail. */
export const MAIL = 'ciba.mail';
/** Emits the event of a decision. */
export const DECIDED = 'ciba.decided';
/** Notifies the client of a decision. */
export const PING = 'ciba.ping';

/** Seconds between attempts to notify a user, whose request expires within minutes. */
export const PERSON_RETRIES = [2, 5, 15, 30] as const;
/** Seconds between attempts to read a decision that is about to be written. */
export const DECISION_RETRIES = [1, 5, 30] as const;
/** Seconds between attempts to notify a client. */
export const CLIENT_RETRIES = [1, 5, 20] as const;
