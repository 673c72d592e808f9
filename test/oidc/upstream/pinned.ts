/**
 * Parts of the pin tests of this folder. Each test pins the undocumented behaviour of oidc-provider on which the file of its name in
 * `lib/oidc/upstream` relies. A failure after an upgrade names the entry to look at. The other tests tell whether that entry still works.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from '@jest/globals';
import Provider, { type Configuration } from 'oidc-provider';
import { createHookedProvider, type ProviderHooks } from '../../../lib/oidc/upstream/provider.js';
import { testKeys } from '../../support/service/keys.js';

// biome-ignore lint/suspicious/noExplicitAny: what no type declares is what is pinned
export type Untyped = any;

const require = createRequire(import.meta.url);

export const source = (file: string): string => readFileSync(require.resolve(`oidc-provider/lib/${file}`), 'utf8');

/** Expects that the pieces occur in a file of oidc-provider, in this order. */
export function expectInOrder(file: string, ...pieces: readonly string[]): void {
  const text = source(file);
  let from = 0;
  for (const piece of pieces) {
    const at = text.indexOf(piece, from);
    expect({ file, piece, found: at >= 0 }).toEqual({ file, piece, found: true });
    from = at + piece.length;
  }
}

export const issuer = 'https://op.example';

export const records = new Map<string, object>([
  ['public', { version: 1 }],
  ['sector', { version: 1 }],
  ['keys', { version: 1 }],
]);

export const configuration = (): Configuration => ({
  jwks: { keys: testKeys.map((key) => ({ ...key })) as never },
  cookies: { keys: ['x'] },
  scopes: ['openid', 'offline_access'],
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: async (_ctx, oid) => oid,
  features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true }, introspection: { enabled: true } },
  clients: [
    { client_id: 'public', client_secret: 's', redirect_uris: ['https://rp.example/cb'] },
    { client_id: 'sector', client_secret: 's', redirect_uris: ['https://rp.example/cb'], subject_type: 'pairwise' },
    { client_id: 'keys', client_secret: 's', redirect_uris: ['https://rp.example/cb'], jwks_uri: 'https://rp.example/jwks' },
  ],
});

/** Key set at the `jwks_uri` of the client `keys`. */
export const clientKeys: { are: object[] } = { are: [] };

/** The time that all nodes share, which tests set apart from the clock of this process. */
export const clock = { now: () => Date.now() };

export const hooks: ProviderHooks = {
  grant: (_name, _ctx, handle) => handle(),
  respond: (_mode, _ctx, _uri, payload, send) => send(payload),
  parameters: (_route, parameters) => parameters,
  check: () => {},
  authenticated: () => {},
  token: async () => {},
  lastSteps: {},
  assertionAudiences: ({ oidc: { route } }) => [issuer, `of ${route}`],
  scopes: () => new Set(['openid', 'orders.read']),
  held: (_ctx, _client, scopes) => scopes,
  structuredToken: { sign: async () => undefined, idOf: async () => undefined },
  successorOf: (token) => `${token} next`,
  interactions: { browserOf: () => 'browser', mayResume: async (_ctx, { browser }) => browser === 'browser' },
  clients: {
    record: (id) => records.get(id),
    compareSecret: (_client, secret) => secret === 'right',
    keysAt: async () => ({ keys: clientKeys.are, freshUntil: Date.now() + 60_000 }),
    mayBeLocal: true,
  },
  acr: () => undefined,
  now: () => clock.now(),
  sessions: { now: Date.now, isOver: () => false, instead: async () => undefined },
  addressOf: () => '192.0.2.1',
};

export const bare: Untyped = new Provider(issuer, configuration());

export const hooked: Untyped = createHookedProvider(issuer, configuration(), hooks);

export const { version } = require('oidc-provider/package.json') as { version: string };
