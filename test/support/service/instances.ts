/** Several instances of one identity provider in this process, which share only stores, keys and the address. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createIdentityProvider, type IdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { type KeptLog, keepLog } from './kept-log.js';
import { testKeys } from './keys.js';
import { cheapPasswords, testSeed } from './seed.js';

export interface Instances {
  readonly issuer: string;
  readonly idps: readonly IdentityProvider[];
  /** Returns the address of one node. The issuer's address sends each request to the next node. */
  at(node: number): string;
  /** Runs a function while the issuer's address leads to one node alone. */
  onlyAt<T>(node: number, run: () => Promise<T>): Promise<T>;
  readonly logged: KeptLog['logged'];
  close(): Promise<void>;
}

const listen = async (listener: RequestListener) => {
  const server = createServer(listener);
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

/** @param stores returns a node's own adapters over the data that all nodes share. */
export async function startInstances(
  count: number,
  stores: (node: number) => Pick<IdentityProviderOptions, 'artifacts' | 'directory'>,
  options: Partial<Omit<IdentityProviderOptions, 'issuer'>> = {},
): Promise<Instances> {
  const listeners: RequestListener[] = [];
  let turn = 0;
  let only: number | undefined;
  const balancer = await listen((req, res) => listeners[only ?? turn++ % count]?.(req, res));
  const { logger, logged } = keepLog();
  const idps: IdentityProvider[] = [];
  for (let node = 0; node < count; node += 1) {
    idps.push(
      await createIdentityProvider({
        issuer: balancer.url,
        seed: testSeed,
        keys: { signing: testKeys, encryption: ['a secret that all of the nodes share'] },
        cookies: { keys: ['another secret that all of the nodes share'] },
        subjectSalt: 'salt of the test tenant identities',
        passwords: cheapPasswords,
        logger,
        ...stores(node),
        ...options,
      }),
    );
  }
  listeners.push(...idps.map((idp) => idp.callback()));
  const own = await Promise.all(listeners.map(listen));
  return {
    issuer: balancer.url,
    idps,
    at: (node) => own[node]?.url as string,
    async onlyAt(node, run) {
      only = node;
      try {
        return await run();
      } finally {
        only = undefined;
      }
    },
    logged,
    async close() {
      for (const { server } of [balancer, ...own]) {
        server.closeAllConnections();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      }
      for (const idp of idps) await idp.close();
    },
  };
}
