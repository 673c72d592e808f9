/** Where clients are told that a session ended. @see OpenID Connect Back-Channel Logout 1.0 §2.5 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { IdentityProviderOptions } from 'tenant-idp';

export interface LogoutReceiver {
  readonly url: string;
  /** Logout tokens in the order of their arrival. */
  readonly tokens: string[];
  close(): void;
}

export async function startLogoutReceiver(): Promise<LogoutReceiver> {
  const tokens: string[] = [];
  const server = createServer(async (request, response) => {
    tokens.push(new URLSearchParams(await text(request)).get('logout_token') ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    tokens,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** For option `configure`: oidc-provider's own fetch calls no loopback address, which is where the receiver is. */
export const callLoopback: NonNullable<IdentityProviderOptions['configure']> = (configuration) => ({
  ...configuration,
  fetch: fetchLoopback as unknown as NonNullable<typeof configuration.fetch>,
});

/** Without the dispatcher that refuses loopback addresses; bodies as text, which undici knows from every realm. */
const fetchLoopback = (url: URL, { body, dispatcher: _, ...init }: RequestInit): Promise<Response> =>
  fetch(url, { ...init, ...(body ? { body: String(body) } : {}) });
