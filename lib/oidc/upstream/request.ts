import type { IncomingMessage } from 'node:http';
import type Provider from 'oidc-provider';
import { decodeForm } from '../../text/decode.js';

/** Returns the client's address. */
export type AddressOf = (req: IncomingMessage) => string;

/** Makes URLs and the cookies' `Secure` follow the issuer, whatever value `Host` or a forwarded header has. */
export function pinUrlsToIssuer(provider: Provider, addressOf: AddressOf): void {
  const { protocol, host, hostname, origin } = new URL(provider.issuer);
  const fixed = { protocol: protocol.slice(0, -1), secure: protocol === 'https:', host, hostname, origin };
  for (const [name, value] of Object.entries(fixed)) Object.defineProperty(provider.request, name, { get: () => value });
  Object.defineProperty(provider.request, 'href', {
    get(this: { originalUrl: string }) {
      return provider.issuer + (this.originalUrl.startsWith('/') ? this.originalUrl : '/');
    },
  });
  Object.defineProperty(provider.request, 'ip', {
    get(this: { req: IncomingMessage }) {
      return addressOf(this.req);
    },
  });
}

/**
 * Makes the reading of an undecodable form fail, so that oidc-provider answers `invalid_request`. Otherwise oidc-provider would repair the form: a byte that is
 * not UTF-8 would become U+FFFD, and a lone `%` would stay.
 */
export function refuseBrokenForm(req: IncomingMessage): void {
  const read = req.iterator.bind(req);
  req.iterator = async function* (options) {
    const chunks: Buffer[] = [];
    for await (const chunk of read(options)) {
      chunks.push(chunk as Buffer);
      yield chunk;
    }
    if (decodeForm(Buffer.concat(chunks)) === undefined) throw new Error('the form is not UTF-8 in percent-encoding');
  } as typeof req.iterator;
}
