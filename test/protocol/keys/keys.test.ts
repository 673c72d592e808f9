/** Section 4.1, key set: creation, rotation and removal of signing keys. Design §9 “Keys”, §10; security K1 to K3. */
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import type { ExtensionContext } from 'tenant-idp/extension';
import type { KeyRing } from '../../../lib/store/records/records.js';
import { createSealer } from '../../../lib/store/sealer.js';
import { withCollections } from '../../store/with-collections.js';
import { Agent, authorizeUrl, type Json, obtainTokens } from '../../support/client/agent.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { startIdp } from '../../support/service/idp.js';
import { startInstances } from '../../support/service/instances.js';
import {
  DAY,
  encryption,
  keySet,
  kidOf,
  kidsAt,
  ofNodes,
  ringOf,
  soon,
  useRotatingKeys,
  verifies,
} from '../../support/service/rotating-keys.js';
import { postLogoutRedirectUri } from '../../support/service/seed.js';
import { silentLogger } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';
import { withMongo } from '../../support/stores/mongo.js';
import { passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const rotating = useRotatingKeys();
const { start, withKeys, closeAfterTest } = rotating;
const statesOf = ({ keys }: KeyRing) => keys.map(({ alg, state }) => `${alg} ${state}`);

describe('4.1 keys that are made by the service', () => {
  test('4.1 on first start: RS256 and ES256, what signs and what is announced', async () => {
    const { issuer } = await start();
    expect(statesOf(rotating.ring)).toEqual(['RS256 active', 'ES256 active', 'RS256 next', 'ES256 next']);
    const keys = await keySet(issuer);
    expect(keys.keys.map(({ alg }) => alg)).toEqual(['RS256', 'ES256', 'RS256', 'ES256']);
    expect(new Set(keys.keys.map(({ kid }) => kid)).size).toBe(4);
    for (const key of keys.keys)
      expect(Object.keys(key).sort()).toEqual(
        key.kty === 'RSA' ? ['alg', 'e', 'kid', 'kty', 'n', 'use'] : ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
      );
    const [rs256, es256] = await Promise.all([obtainTokens(issuer), obtainTokens(issuer, { client: 'jwt', secret: 'jwt-secret' })]);
    expect([rs256, es256].map(({ tokens }) => kidOf(tokens.id_token))).toEqual(keys.keys.slice(0, 2).map(({ kid }) => kid));
    for (const { tokens } of [rs256, es256]) expect(await verifies(tokens.id_token, keys)).toBe(true);
  });

  test('K3: what the directory holds of them opens with the encryption key alone, and for its own key alone', async () => {
    const { keys } = rotating.ring;
    const opens = (secret: string, kid: string, sealed: string) => {
      try {
        return JSON.parse(createSealer([secret]).decrypt('signing key', kid, sealed)) as Json;
      } catch {
        return undefined;
      }
    };
    const text = JSON.stringify(rotating.ring);
    for (const { kid, sealed } of keys) {
      const { d } = opens(encryption[0] as string, kid, sealed);
      expect(d.length).toBeGreaterThan(40);
      expect(text).not.toContain(d);
      expect(opens('another secret of enough characters', kid, sealed)).toBeUndefined();
    }
    expect(opens(encryption[0] as string, keys[0]?.kid as string, keys[1]?.sealed as string)).toBeUndefined();
  });

  test('a restart keeps them; a new encryption secret takes them over, and the old one can go', async () => {
    const directory = await withKeys();
    const secrets = ['a new secret, put before the old one', ...encryption];
    const seen: string[][] = [];
    for (const keys of [{ encryption }, { encryption }, { encryption: secrets }, { encryption: secrets.slice(0, 1) }])
      seen.push(await kidsAt((await start({ directory, keys })).issuer));
    expect(new Set(seen.map(String)).size).toBe(1);
    await expect(start({ directory })).rejects.toMatchObject({ code: 'undecipherable' });
  });

  test('without an encryption secret they stay in the process: nothing is stored that none could read', async () => {
    const directory = memoryDirectory();
    const sets = [await start({ directory, keys: {} }), await start({ directory, keys: {} })].map(({ issuer }) => kidsAt(issuer));
    const [one = [], other = []] = await Promise.all(sets);
    expect(one).toHaveLength(4);
    expect(one.filter((kid) => other.includes(kid))).toEqual([]);
    expect(await directory.collection('signingKeys').find({})).toEqual([]);
  });

  test('keys that are given are all there is, and are not rotated here', async () => {
    const service = await startIdp();
    closeAfterTest(service);
    expect(await kidsAt(service.issuer)).toEqual(['test-rs256', 'test-es256']);
    await expect(service.idp.keys.rotate()).rejects.toMatchObject({ code: 'keys_given' });
  });
});

describe('design §9: any number of nodes agree', () => {
  /** Starts nodes at the same time, as a deployment does. Each node has an address of its own. */
  async function startTogether(stores: () => Json): Promise<{ idps: readonly IdentityProvider[]; published(): Promise<string[]> }> {
    const options = { issuer: 'http://127.0.0.1:3999', keys: { encryption }, logger: silentLogger };
    const idps = await Promise.all(Array.from({ length: 4 }, () => createIdentityProvider({ ...options, ...stores() })));
    closeAfterTest(...idps);
    const servers = await Promise.all(idps.map((idp) => idp.listen(0, '127.0.0.1')));
    const urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return { idps, published: () => Promise.all(urls.map(async (url) => String(await kidsAt(url)))) };
  }

  test.each([
    ['by a lease', true],
    ['without one: the first to write wins', false],
  ])('K1: four that start at once have the same keys, %s', async (_, isLeased) => {
    const [shared, directory] = [memoryArtifacts(), memoryDirectory()];
    const random = seededRandom(7);
    let leases = 0;
    let release = () => {};
    const allAsked = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { published } = await startTogether(() => {
      const artifacts = isLeased ? shared : memoryArtifacts();
      const counted: typeof artifacts = {
        ...artifacts,
        async lease(name, ...rest) {
          const has = await artifacts.lease(name, ...rest);
          if (!has || name !== 'signing keys') return has;
          leases += 1;
          if (leases === 4) release();
          // Nodes that share no lease create keys at the same time: no node writes before all four asked for the lease.
          if (!isLeased) await allAsked;
          return has;
        },
      };
      return { artifacts: counted, directory: jitteryDirectory(directory, random) };
    });
    expect(new Set(await published()).size).toBe(1);
    expect((await ringOf(directory)).keys).toHaveLength(4);
    expect(leases).toBe(isLeased ? 1 : 4);
  });

  withMongo('MONGODB_URL', (mongo) => {
    test('K1: over MongoDB: the same keys at once, and after a rotation within two seconds', async () => {
      const prefix = mongo.prefix();
      const stores = () => {
        // The clock of the MongoDB server does not move with the test.
        const { time: _, ...artifacts } = mongoArtifacts({ db: mongo.db, prefix });
        return { artifacts, directory: mongoDirectory({ db: mongo.db, prefix }) };
      };
      const { idps, published } = await startTogether(stores);
      const before = await published();
      expect(new Set(before).size).toBe(1);
      passTime(DAY);
      await idps[1]?.keys.rotate();
      let after: string[] = [];
      await soon(async () => {
        after = await published();
        return new Set(after).size === 1 && after[0] !== before[0];
      });
      expect(new Set(after).size).toBe(1);
      expect(after[0]?.split(',')).toHaveLength(6);
    });
  });
});

describe('design §9: rotation', () => {
  test('K1: rotate() lets the announced keys sign: who has the key set of before verifies on', async () => {
    const { issuer, idp } = await start();
    const before = await keySet(issuer);
    const old = (await obtainTokens(issuer)).tokens.id_token;
    passTime(DAY);
    await idp.keys.rotate();
    const fresh = (await obtainTokens(issuer)).tokens.id_token;
    expect(kidOf(fresh)).toBe(before.keys[2]?.kid);
    const after = await keySet(issuer);
    expect(after.keys).toHaveLength(6);
    expect(after.keys.slice(0, 2).map(({ kid }) => kid)).toEqual(before.keys.slice(2).map(({ kid }) => kid));
    for (const token of [old, fresh]) for (const keys of [before, after]) expect(await verifies(token, keys)).toBe(true);
  });

  test('K1: a key that not everyone can know yet does not sign: the refusal says from when it may', async () => {
    const { issuer, idp } = await start();
    passTime(DAY - 60);
    const now = Date.now();
    const refusal = await idp.keys.rotate().catch((error: unknown) => error as Json);
    expect(refusal).toMatchObject({ code: 'key_not_announced', status: 409 });
    expect(Math.abs(new Date(refusal.details.from).getTime() - now - 60_000)).toBeLessThan(30_000);
    expect(await kidsAt(issuer)).toHaveLength(4);
  });

  test('of two rotations at once one happens', async () => {
    const directory = await withKeys();
    const nodes = await startInstances(2, () => ({ artifacts: memoryArtifacts(), directory }), ofNodes);
    closeAfterTest(nodes);
    passTime(DAY);
    const done = await Promise.allSettled(nodes.idps.map((idp) => idp.keys.rotate()));
    expect(done.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(statesOf(await ringOf(directory)).filter((state) => state.endsWith('active'))).toHaveLength(2);
  });

  test('by itself when a key has signed for 90 days, on one node for all; removed 30 days after', async () => {
    const directory = await withKeys();
    const artifacts = memoryArtifacts();
    const nodes = await startInstances(2, () => ({ artifacts, directory }), ofNodes);
    closeAfterTest(nodes);
    const first = await kidsAt(nodes.at(0));
    passTime(90 * DAY - 60);
    expect(await soon(async () => String(await kidsAt(nodes.at(0))) !== String(first), 2000)).toBe(false);
    passTime(90 * DAY + 60);
    const rotated = (at: string) => soon(async () => (await kidsAt(at))[0] === first[2]);
    expect([await rotated(nodes.at(0)), await rotated(nodes.at(1))]).toEqual([true, true]);
    expect(statesOf(await ringOf(directory)).sort()).toEqual(
      ['active', 'next', 'retiring'].flatMap((state) => [`ES256 ${state}`, `RS256 ${state}`]).sort(),
    );
    passTime(120 * DAY + 120);
    for (const node of [0, 1]) expect(await soon(async () => !(await kidsAt(nodes.at(node))).includes(first[0] as string))).toBe(true);
    expect(await kidsAt(nodes.at(0))).toHaveLength(4);
    expect(nodes.logged).toEqual([]);
  });

  test('K2: a node dies between a rotation and its notice to others: within a minute they use the new keys, and the former are gone', async () => {
    const directory = await withKeys();
    const artifacts = memoryArtifacts();
    const silent = withCollections(directory, (rows, name) => ({
      async insert(row) {
        if (name === 'changes') throw new Error('killed');
        return rows.insert(row);
      },
    }));
    const nodes = await startInstances(2, (node) => ({ artifacts, directory: node === 0 ? silent : directory }), ofNodes);
    closeAfterTest(nodes);
    const former = await kidsAt(nodes.at(1));
    await nodes.idps[0]?.keys.rotate({ now: true });
    const published = (await ringOf(directory)).keys.map(({ kid }) => kid);
    expect(published.filter((kid) => former.includes(kid))).toEqual([]);
    expect(await kidsAt(nodes.at(1))).toEqual(former);
    passTime(61);
    expect(await soon(async () => String((await kidsAt(nodes.at(1))).toSorted()) === String(published.toSorted()))).toBe(true);
  });

  test('a key is kept for as long as any client’s tokens are good', async () => {
    const directory = await withKeys();
    const { idp } = await start({ directory, keys: { encryption, rotation: { retiring: 43_200 } } });
    await idp.directory.clients.update('jwt', { lifetimes: { accessToken: DAY } });
    passTime(DAY);
    await idp.keys.rotate();
    const retiring = (await ringOf(directory)).keys.filter(({ state }) => state === 'retiring');
    expect(retiring.map(({ retiredAt, removeAt }) => (Number(removeAt) - Number(retiredAt)) / 1000)).toEqual([DAY, DAY]);
  });

  test('KeyRotated tells which key took over from which', async () => {
    const { issuer, idp } = await start();
    const kids = await kidsAt(issuer);
    const heard: Json[] = [];
    idp.events.on('KeyRotated', (event) => void heard.push(event));
    passTime(DAY);
    await idp.keys.rotate({ by: { actor: 'client:ops', requestId: 'request-1' } });
    expect(await soon(async () => heard.length >= 2)).toBe(true);
    expect(heard.map(({ actor, requestid }) => [actor, requestid])).toEqual(heard.map(() => ['client:ops', 'request-1']));
    expect(heard.map(({ type, subject, data, tid }) => ({ type, subject, data, tid }))).toEqual(
      ['RS256', 'ES256'].map((Algorithm, index) => ({
        type: 'KeyRotated',
        subject: kids[index + 2],
        tid: undefined,
        data: { AggregateId: kids[index + 2], Algorithm, PreviousKeyId: kids[index], PreviousKeyState: 'retiring' },
      })),
    );
  });

  test('K2: for a key in wrong hands: new keys at once, and nothing that was signed before is good', async () => {
    const { issuer, idp } = await start();
    const endpoints = endpointsOf(issuer);
    const { tokens } = await obtainTokens(issuer, { client: 'jwt', secret: 'jwt-secret', scope: 'openid orders.read' });
    expect((await endpoints.introspect(tokens.access_token, 'orders')).json).toMatchObject({ active: true });
    const before = await kidsAt(issuer);
    await idp.keys.rotate({ now: true });
    const after = await keySet(issuer);
    expect(after.keys).toHaveLength(4);
    expect(after.keys.filter(({ kid }) => before.includes(String(kid)))).toEqual([]);
    expect(await verifies(tokens.id_token, after)).toBe(false);
    expect((await endpoints.introspect(tokens.access_token, 'orders')).json).toEqual({ active: false });
    expect(await verifies((await obtainTokens(issuer)).tokens.id_token, after)).toBe(true);
  });

  test('K2: what no key signs goes on: sessions, opaque tokens and refresh tokens; hints of before are nothing', async () => {
    let sign: ExtensionContext['keys']['sign'] | undefined;
    const signing = {
      name: 'signing',
      routes(_router: unknown, context: ExtensionContext) {
        sign = context.keys.sign;
      },
    };
    const { issuer, idp } = await start({ extensions: [signing] });
    await idp.directory.clients.update('web', { trustedLoginHint: true });
    const endpoints = endpointsOf(issuer);
    const { agent, tokens } = await obtainTokens(issuer, { scope: 'openid offline_access' });
    const { sub } = decodeJwt(tokens.id_token);
    const silently = async (browser: Agent, parameters: Record<string, string>) => {
      const url = authorizeUrl(issuer, { prompt: 'none', code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', ...parameters });
      const { searchParams } = new URL((await browser.get(url)).location ?? '');
      return searchParams.get('error') ?? 'none';
    };
    const hint = async () => {
      const claims = { iss: issuer, aud: issuer, oid: sub, jti: String(Math.random()), exp: epochSeconds() + 60 };
      return (await sign?.('login-hint+jwt', claims, 'RS256')) ?? '';
    };
    const old = await hint();
    expect(await silently(new Agent(), { login_hint_token: await hint() })).toBe('none');
    await idp.keys.rotate({ now: true });
    expect((await endpoints.introspect(tokens.access_token)).json).toMatchObject({ active: true });
    expect(await silently(agent, {})).toBe('none');
    expect((await endpoints.refresh(tokens.refresh_token)).json).toMatchObject({ id_token: expect.any(String) });
    expect(await silently(agent, { id_token_hint: tokens.id_token })).toBe('invalid_request');
    expect(await silently(new Agent(), { login_hint_token: old })).toBe('invalid_request');
    expect(await silently(new Agent(), { login_hint_token: await hint() })).toBe('none');
  });

  test('4.8 an ID token is a hint for as long as its key is there: retiring yes, removed no', async () => {
    const { issuer, idp } = await start();
    const hint = (await obtainTokens(issuer)).tokens.id_token;
    const endSession = () =>
      fetch(
        `${issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: postLogoutRedirectUri })}`,
        {
          redirect: 'manual',
        },
      );
    passTime(DAY);
    await idp.keys.rotate();
    expect((await endSession()).headers.get('location')).toBe(postLogoutRedirectUri);
    passTime(32 * DAY);
    const kids = await kidsAt(issuer);
    expect(await soon(async () => (await kidsAt(issuer)).length < kids.length)).toBe(true);
    expect((await endSession()).status).toBe(400);
  });
});
