/** A host of letters, digits, `.`, `-` and `_`, or an IPv6 address, with its port. */
const plainHost = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?$/;

/**
 * Returns whether a host is safe in every context, also in headers. The URL parser accepts `;`, `,`, `*` and quotes, but no host name on the Internet has
 * these characters.
 * @param host as `URL` has it: folded, with a port that is not the default port
 * @see RFC 3986 §3.2.2
 */
export const isPlainHost = (host: string): boolean => plainHost.test(host);
