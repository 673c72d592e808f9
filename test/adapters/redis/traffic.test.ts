/** Issue 5: costs of requests on Redis, in round trips and in memory. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactKey } from '../../../lib/store/artifact-store.js';
import { describeRedis } from '../../servers/installed.js';
import { Agent, authorizeUrl, basic, createPkce, type Json, postForm } from '../../support/client/agent.js';
import { introspect, obtainCode, redeem, refresh, responseOf, userinfo } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { connected, redisClient } from '../../support/stores/redis-clients.js';
import { RedisProxy } from '../../support/stores/redis-proxy.js';
import { RedisServer } from '../../support/stores/redis-server.js';

const scope = 'openid profile offline_access';

describeRedis('over own Redis servers', () => {
  describe('on Redis', () => {
    let server: RedisServer;
    let proxy: RedisProxy;
    let client: Redis;
    let issuer: string;

    const service = useIdp(async () => {
      server = await RedisServer.start();
      proxy = await RedisProxy.to(server.url);
      client = redisClient(proxy.url);
      return { artifacts: redisArtifacts({ client }) };
    });
    beforeAll(() => {
      issuer = service.issuer;
    });
    afterAll(async () => {
      client.disconnect();
      await proxy.close();
      await server.stop();
    });

    /** Returns the number of writes to Redis during a call. The lease of the events does not count, because it is renewed each second. */
    async function during<T>(call: () => Promise<T>): Promise<{ trips: number; answer: T }> {
      proxy.writes.length = 0;
      const answer = await call();
      return { trips: proxy.writes.filter((write) => write.includes('{') || !write.includes('lease:')).length, answer };
    }

    async function signedIn(): Promise<{ agent: Agent; tokens: Json }> {
      const agent = new Agent();
      return { agent, tokens: (await redeem(issuer, await obtainCode(issuer, agent, 'web', { scope }))).json };
    }

    const credentials = { authorization: basic('service', 'service-secret') };
    const web = { authorization: basic('web', 'web-secret') };

    describe('round trips of a request', () => {
      let agent: Agent;
      let tokens: Json;
      beforeAll(async () => {
        ({ agent, tokens } = await signedIn());
      });

      test('client credentials: 1', async () => {
        const { trips, answer } = await during(() =>
          postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials' }, credentials),
        );
        expect(answer.status).toBe(200);
        expect(trips).toBe(1);
      });

      test('introspection: 1, and 0 for what no token of ours can be', async () => {
        const known = await during(() => introspect(issuer, tokens.access_token));
        const unknown = await during(() => introspect(issuer, 'x'.repeat(44)));
        expect([known.answer.json.active, unknown.answer.json.active]).toEqual([true, false]);
        expect([known.trips, unknown.trips]).toEqual([1, 0]);
      });

      test('userinfo: 1', async () => {
        const { trips, answer } = await during(() => userinfo(issuer, tokens.access_token));
        expect(answer.status).toBe(200);
        expect(trips).toBe(1);
      });

      test('authorize with a live session: 2; the whole code flow: 4', async () => {
        const authorized = await during(() => obtainCode(issuer, agent, 'web', { scope, prompt: 'none' }));
        const redeemed = await during(() => redeem(issuer, authorized.answer));
        expect(redeemed.answer.status).toBe(200);
        expect(authorized.trips).toBeLessThanOrEqual(2);
        expect(authorized.trips + redeemed.trips).toBeLessThanOrEqual(4);
      });

      test('a pushed request: 1, and 1 more in the code flow, since it has a slot of its own', async () => {
        const { verifier, challenge } = createPkce();
        const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope, prompt: 'none' };
        const pushed = await during(() =>
          postForm(`${issuer}/connect/par`, { ...request, code_challenge: challenge, code_challenge_method: 'S256' }, web),
        );
        expect(pushed.answer.status).toBe(201);
        expect(pushed.trips).toBe(1);
        const url = authorizeUrl(issuer, {
          request_uri: pushed.answer.json.request_uri,
          response_type: undefined,
          redirect_uri: undefined,
        });
        const authorized = await during(() => agent.get(url));
        const code = responseOf(authorized.answer).get('code') ?? '';
        const redeemed = await during(() => redeem(issuer, { client: 'web', code, verifier }));
        expect(redeemed.answer.status).toBe(200);
        expect(authorized.trips + redeemed.trips).toBeLessThanOrEqual(5);
      });

      test('refresh with rotation: 2', async () => {
        const { trips, answer } = await during(() => refresh(issuer, tokens.refresh_token));
        expect(answer.status).toBe(200);
        expect(trips).toBeLessThanOrEqual(2);
      });
    });

    // Hosts, and stores that are given a URL, connect after the store is made.
    test.each(['before', 'after'])('what is asked at once leaves in one write, of a client that connects %s', async (when) => {
      const own = redisClient(server.url);
      try {
        if (when === 'before') await connected(own);
        const store = redisArtifacts({ client: own });
        await connected(own);
        const { stream } = own;
        const writes = [jest.spyOn(stream, '_write'), jest.spyOn(stream, '_writev' as never)];
        const [a, b, c] = ['a', 'b', 'c'].map((name) => hashedKey(when, name)) as [ArtifactKey, ArtifactKey, ArtifactKey];
        await Promise.all([
          store.read([{ key: a, follow: ['grant'] }, { key: b }, { key: c }]),
          store.commit([{ op: 'put', key: a, value: 'v', expiresAt: Date.now() + 60_000 }]),
          store.hit(c, 60_000),
        ]);
        expect(writes.map(({ mock }) => mock.calls.length)).toEqual([0, 1]);
      } finally {
        own.disconnect();
      }
    });

    describe('memory', () => {
      let direct: Redis;
      beforeAll(async () => {
        direct = redisClient(server.url);
        await connected(direct);
      });
      afterAll(() => direct.disconnect());

      /** Returns bytes by the kind that the key names. */
      async function usage(): Promise<Record<string, number>> {
        const bytes: Record<string, number> = {};
        for (const key of await direct.keys('idp:*')) {
          const [, kind = ''] = /^idp:(\w+)/.exec(key) ?? [];
          bytes[kind] = (bytes[kind] ?? 0) + Number(await direct.memory('USAGE', key));
        }
        return bytes;
      }

      test('of a signed-in session with its grant and tokens', async () => {
        await direct.flushall();
        await signedIn();
        const { Session = 0, Grant = 0, AccessToken = 0, RefreshToken = 0, account = 0 } = await usage();
        const total = Session + Grant + AccessToken + RefreshToken + account;
        if (process.env.PROVE) process.stdout.write(`Bytes per session: ${total} (${JSON.stringify(await usage())})\n`);
        expect(Math.min(Session, Grant, AccessToken, RefreshToken, account)).toBeGreaterThan(0);
        expect(total).toBeLessThan(2800);
      });

      test('of an account does not grow with refreshes', async () => {
        await direct.flushall();
        let { tokens } = await signedIn();
        const before = await usage();
        for (let round = 0; round < 20; round++) tokens = (await refresh(issuer, tokens.refresh_token)).json;
        const after = await usage();
        expect(tokens.refresh_token).toBeDefined();
        for (const kind of ['account', 'Session', 'Grant']) expect(after[kind]).toBe(before[kind]);
        expect(after.RefreshToken).toBeGreaterThan(before.RefreshToken ?? 0);
      });
    });
  });
});
