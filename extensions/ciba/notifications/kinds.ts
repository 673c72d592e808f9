/** Deliveries about authentication requests. Each holds the request's id alone: what it tells is read when it is taken. */

/** Tells the host, for the person's device. */
export const NOTIFY = 'ciba.notify';
/** Tells the person by mail. */
export const MAIL = 'ciba.mail';
/** Raises the event of a decision. */
export const DECIDED = 'ciba.decided';
/** Tells the client that there is a decision. */
export const PING = 'ciba.ping';

/** Seconds between attempts to reach a person, whose request ends within minutes. */
export const PERSON_RETRIES = [2, 5, 15, 30] as const;
/** The same to see a decision that is about to be written. */
export const DECISION_RETRIES = [1, 5, 30] as const;
/** The same to reach a client. */
export const CLIENT_RETRIES = [1, 5, 20] as const;
