/**
 * T3-GROW: no map and no set of the process grows with the requests of strangers. Each request has other names, and the store keeps
 * nothing, so that only growth of the service itself shows. With `PROVE`, every route gets such requests, and the heap is measured.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { saml } from 'tenant-idp/extensions/saml';
import { type Sending, send } from '../support/client/send.js';
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';
import { protocolParameters } from '../support/requests/work/names-read.js';
import { redirectUri } from '../support/service/seed.js';
import { silentLogger } from '../support/service/test-directory.js';
import { useIdp } from '../support/service/use-idp.js';

const isWhole = process.env.PROVE !== undefined;

/** Entries of the largest map that strangers may fill. The test sends more requests of each kind. */
const MOST = 1_024;
const REQUESTS = MOST + 100;
const AT_ONCE = 16;
/** Requests to each route while the heap is measured, and bytes by which the heap may grow: a few for each request. */
const OF_ROUTE = 100;
const HEAP = 3 * 1024 * 1024;

const store = memoryArtifacts();
beforeAll(forgetRoutes);
const service = useIdp({
  artifacts: {
    ...store,
    commit: async () => ({ ok: true }),
    hit: async (_counter, window) => ({ count: 1, resetsAt: Date.now() + window }),
  },
  extensions: [saml()],
  // A log in memory would grow with every request.
  logger: silentLogger,
  mail: { send: async () => {} },
  keys: { encryption: ['what the keys are encrypted with in this test'] },
});

/** Places in the code where a map or a set got more entries than {@link MOST}. */
const grown = new Set<string>();
const { set } = Map.prototype;
const { add } = Set.prototype;
beforeAll(() => {
  const note = () => grown.size < 20 && Reflect.apply(add, grown, [String(new Error().stack).split('\n').slice(3, 8).join('\n')]);
  Map.prototype.set = function (this: Map<unknown, unknown>, key, value) {
    Reflect.apply(set, this, [key, value]);
    if (this.size > MOST) note();
    return this;
  };
  Set.prototype.add = function (this: Set<unknown>, value) {
    Reflect.apply(add, this, [value]);
    if (this.size > MOST) note();
    return this;
  };
});
afterAll(() => {
  Object.assign(Map.prototype, { set });
  Object.assign(Set.prototype, { add });
});

interface Kind extends Sending {
  readonly path: string;
}

/** Requests with names that no other request has. */
const kinds: Readonly<Record<string, (name: string) => Kind>> = {
  'an unknown path': (name) => ({ path: `/${name}` }),
  'an unknown client': (name) => ({ path: `/connect/authorize?client_id=${name}` }),
  'an authorization request': (name) => ({
    path: `/connect/authorize?${new URLSearchParams({ client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', state: name, login_hint: name, ui_locales: name, acr_values: `idp:${name}`, [name]: name })}`,
    headers: {
      cookie: `${name}=${name}; idp.session=${name}; idp.session.sig=${name}`,
      'user-agent': name,
      'accept-language': name,
      origin: `https://${name}`,
    },
  }),
  'a sign-in page': (name) => ({ path: `/idp/interaction/${name.padEnd(21, 'x')}` }),
  'a token request': (name) => ({
    path: '/connect/token',
    method: 'POST',
    body: new URLSearchParams({ client_id: name, client_secret: name, grant_type: name, code: name, resource: `https://${name}` }),
    headers: { dpop: name },
  }),
  'a bearer token': (name) => ({ path: '/connect/userinfo', headers: { authorization: `Bearer ${name}` } }),
  'an answer of a connection': (name) => ({
    path: `/idp/connections/${name}/callback`,
    method: 'POST',
    body: new URLSearchParams({ state: name }),
  }),
  'a service provider': (name) => ({ path: `/idp/saml/init?sp=${name}` }),
};

/** Returns one kind of request for each route, with the name in the path, the query or form, and the headers. */
const kindsOfRoutes = (): readonly ((name: string) => Kind)[] =>
  recordedRoutes().flatMap(({ path, methods }) =>
    methods
      .filter((method) => ['GET', 'POST'].includes(method))
      .map((method) => (name: string): Kind => {
        const parameters = new URLSearchParams(protocolParameters.map((each) => [each, name]));
        const at = path.replace(/[:*]\w+/g, name);
        const headers = {
          cookie: `${name}=1`,
          'user-agent': name,
          'x-forwarded-for': name,
          origin: `https://${name}`,
          authorization: `Bearer ${name}`,
        };
        return method === 'GET' ? { path: `${at}?${parameters}`, headers } : { path: at, method, headers, body: parameters };
      }),
  );

let count = 0;
async function sendAll(kind: (name: string) => Kind, requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, () => {
        count += 1;
        const { path, ...sending } = kind(`name-${count}`);
        return send(service.issuer + path, sending);
      }),
    );
}

test('the watch sees a map and a set that grow', () => {
  const map = new Map<unknown, number>(Array.from({ length: MOST + 1 }, (_, index) => [index, 1]));
  map.set('one more', 1);
  const all = new Set<unknown>(map.keys());
  all.add('another');
  expect(grown.size).toBeGreaterThanOrEqual(2);
  grown.clear();
});

test.each(Object.keys(kinds))('T3-GROW: no map grows with %s', async (name) => {
  await sendAll(kinds[name] as (name: string) => Kind, REQUESTS);
  expect([...grown]).toEqual([]);
});

(isWhole ? test : test.skip)('T3-GROW: neither a map nor the heap grows with requests to any route', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const all = [...Object.values(kinds), ...kindsOfRoutes()];
  const heapAfter = async (): Promise<number> => {
    for (const kind of all) await sendAll(kind, OF_ROUTE);
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter();
  expect((await heapAfter()) - before).toBeLessThan(HEAP);
  expect([...grown]).toEqual([]);
});
