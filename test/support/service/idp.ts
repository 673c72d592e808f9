import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createIdentityProvider, type IdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { testTls } from '../browser/tls.js';
import { type KeptLog, keepLog } from './kept-log.js';
import { testKeys } from './keys.js';
import { cheapPasswords, testSeed } from './seed.js';

export interface TestIdp {
  readonly idp: IdentityProvider;
  readonly issuer: string;
  /** Lines at warn and error. */
  readonly logged: KeptLog['logged'];
  /** Lines of all levels. */
  readonly lines: KeptLog['lines'];
  readonly server: Server;
  close(): Promise<void>;
}

export interface TestIdpOptions extends Partial<Omit<IdentityProviderOptions, 'issuer'>> {
  /** The issuer's path: `/idp`. */
  readonly path?: string;
  /** Host name of the issuer, for callers that resolve the name to this machine. */
  readonly hostname?: string;
  /** Whether the service is served by https, with {@link testTls}. */
  readonly tls?: boolean;
  /** Listener of a host, in place of `idp.callback()`. */
  readonly host?: (idp: IdentityProvider) => RequestListener;
}

/** Starts an identity provider on a free port, over memory stores, with {@link testSeed}. */
export async function startIdp({
  path = '',
  hostname = '127.0.0.1',
  tls = false,
  host = (idp) => idp.callback(),
  ...options
}: TestIdpOptions = {}): Promise<TestIdp> {
  let listener: RequestListener = (_req, res) => res.writeHead(503).end();
  const listen: RequestListener = (req, res) => listener(req, res);
  const server: Server = tls ? createTlsServer(testTls, listen) : createServer(listen);
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `${tls ? 'https' : 'http'}://${hostname}:${(server.address() as AddressInfo).port}${path}`;
  const { logger, lines, logged } = keepLog();
  const creating = createIdentityProvider({
    issuer,
    seed: testSeed,
    keys: { signing: testKeys },
    subjectSalt: 'salt of the test tenant identities',
    passwords: cheapPasswords,
    logger,
    ...options,
  });
  creating.catch(() => server.close());
  const idp = await creating;
  listener = host(idp);
  return {
    idp,
    issuer,
    logged,
    lines,
    server,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await idp.close();
    },
  };
}

const lasting = <Store extends object>(store: Store) => ({ ...store, ephemeral: false });

/** Returns the options that production requires, with memory stores that claim to outlive the process. */
export const lastingOptions = () => ({
  issuer: 'https://login.example.com',
  artifacts: lasting(memoryArtifacts()),
  directory: lasting(memoryDirectory()),
  keys: { signing: testKeys, encryption: ['e'.repeat(32)] },
  cookies: { keys: ['c'.repeat(32)] },
  trustProxy: false as const,
});

/** Runs with `NODE_ENV` as in production, and restores it. */
export async function inProduction<Result>(run: () => Promise<Result>): Promise<Result> {
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  try {
    return await run();
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}
