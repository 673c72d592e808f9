import type { IncomingMessage } from 'node:http';
import type Provider from 'oidc-provider';

/** Where the client's address comes from. */
export type AddressOf = (req: IncomingMessage) => string;

/** Whatever `Host` or a forwarded header says, URLs and the cookies' `Secure` follow the issuer. */
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
