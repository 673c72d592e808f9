/** Receiver of logout tokens. @see OpenID Connect Back-Channel Logout 1.0 §2.5 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IdentityProviderOptions } from 'tenant-idp';

export interface LogoutReceiver {
  readonly url: string;
  /** Logout tokens in the order of their arrival. */
  readonly tokens: string[];
  /** Resolves after this many have arrived. */
  received(count: number): Promise<void>;
  /** Sets the status of all later answers. @default 200 */
  answer(status: number): void;
  close(): void;
}

export async function startLogoutReceiver(): Promise<LogoutReceiver> {
  const tokens: string[] = [];
  let status = 200;
  const server = createServer(async (request, response) => {
    tokens.push(new URLSearchParams(await text(request)).get('logout_token') ?? '');
    response.writeHead(status).end();
  });
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    tokens,
    async received(count) {
      while (tokens.length < count) await sleep(5);
    },
    answer(next) {
      status = next;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Value for the option `outgoing`, because the receiver's address is not public. */
export const callLoopback = { allowHosts: ['127.0.0.1'] } satisfies IdentityProviderOptions['outgoing'];
