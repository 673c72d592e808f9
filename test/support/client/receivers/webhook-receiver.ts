/** An application that gets webhooks, and checks each as Standard Webhooks requires. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { IdpEvent } from 'tenant-idp';
import { until } from '../../time/until.js';

export interface Hook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: IdpEvent;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly hooks: Hook[];
  /** Resolves after a matching webhook has arrived this often. */
  received(isMeant: (hook: Hook) => boolean, times?: number): Promise<readonly Hook[]>;
  /** Sets the answer. @default 204 */
  answer(status: number | ((hook: Hook) => number | Promise<number>), headers?: Readonly<Record<string, string>>): void;
  close(): void;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const hooks: Hook[] = [];
  let statusOf: (hook: Hook) => number | Promise<number> = () => 204;
  let answered: Readonly<Record<string, string>> = {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const hook = { headers: request.headers, body, event: JSON.parse(body) as IdpEvent };
    hooks.push(hook);
    response.writeHead(await statusOf(hook), answered).end();
  });
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    hooks,
    async received(isMeant, times = 1) {
      await until(() => hooks.filter(isMeant).length >= times);
      return hooks.filter(isMeant);
    },
    answer(status, headers = {}) {
      statusOf = typeof status === 'function' ? status : () => status;
      answered = headers;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
