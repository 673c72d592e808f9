/** Names and reasons of clients that did not authenticate, for the log. The answer to the client has neither. */

/** The cause of an error that answers a client, or an API resource, that did not authenticate. */
export class RefusedClient {
  /** @param client as {@link shownId} writes the id; undefined if the request names no client */
  constructor(
    readonly client: string | undefined,
    readonly reason: string,
  ) {}

  /** @param reason undefined if no record has the id */
  static of(id: string, reason: string | undefined): RefusedClient {
    return reason === undefined ? new RefusedClient(shownId(id), UNKNOWN_CLIENT) : new RefusedClient(id, reason);
  }
}

const UNKNOWN_CLIENT = 'the client is unknown';
export const NO_CREDENTIALS = 'no client authentication included';

/** Length of the shortest secret in production. */
const SECRET_LENGTH = 32;
/** Maximum characters that are shown of an id that may be a secret. */
const START = 4;

/**
 * Returns an unknown id as the log shows it. The client may have sent a secret in place of the id. If a text is as long as a secret, only the start of the
 * text is shown. This rule also limits the length of the log line.
 */
const shownId = (id: string): string => {
  const shown = id.length < SECRET_LENGTH ? id : `${id.slice(0, START)}… (${id.length} characters)`;
  return shown.replace(/[^ -~…]/g, '?');
};
