/** Design §9: a rotation of keys swaps the oidc-provider of an instance. A request ends on the oidc-provider on which it began. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { defineClaims } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { withCollections } from '../../store/with-collections.js';
import { Agent, authorizeUrl, createPkce, obtainTokens } from '../../support/client/agent.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { callLoopback, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { startInstances } from '../../support/service/instances.js';
import { DAY, keySet, kidOf, kidsAt, ofNodes, seed, soon, useRotatingKeys, verifies } from '../../support/service/rotating-keys.js';
import { redirectUri } from '../../support/service/seed.js';
import { passTime } from '../../support/time/clock.js';

const { start, withKeys, closeAfterTest } = useRotatingKeys();

describe('design §9: the provider is rebuilt and swapped', () => {
  test('onProvider gets each instance, idp.provider is the current one', async () => {
    const built: unknown[] = [];
    const { idp } = await start({ onProvider: (provider) => void built.push(provider) });
    expect(built).toEqual([idp.provider]);
    passTime(DAY);
    await idp.keys.rotate();
    expect(built).toHaveLength(2);
    expect(built[1]).toBe(idp.provider);
    expect(built[0]).not.toBe(idp.provider);
  });

  test('no request of any endpoint is lost while it happens', async () => {
    const { issuer, idp } = await start();
    const endpoints = endpointsOf(issuer);
    const { agent, tokens } = await obtainTokens(issuer, { scope: 'openid offline_access' });
    let refreshToken = tokens.refresh_token as string;
    const silent = authorizeUrl(issuer, { prompt: 'none', code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' });
    const pushed = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', code_challenge: 'c'.repeat(43) };
    const requests: Readonly<Record<string, () => Promise<unknown>>> = {
      discovery: async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).status,
      jwks: async () => (await kidsAt(issuer)).length > 0 && 200,
      introspection: async () => (await endpoints.introspect(tokens.access_token)).json.active && 200,
      userinfo: async () => (await endpoints.userinfo(tokens.access_token)).status,
      par: async () => (await endpoints.par({ ...pushed, code_challenge_method: 'S256' })).status - 1,
      authorization: async () => new URL((await agent.get(silent)).location ?? '').searchParams.has('code') && 200,
      async token() {
        const { status, json } = await endpoints.refresh(refreshToken);
        refreshToken = json.refresh_token;
        return status;
      },
    };
    let isOver = false;
    const lost: unknown[] = [];
    let rounds = 0;
    const load = async () => {
      for (; !isOver; rounds += 1)
        await Promise.all(
          Object.entries(requests).map(async ([name, send]) => {
            const status = await send();
            if (status !== 200) lost.push([name, status]);
          }),
        );
    };
    const loading = load();
    const providers = new Set<unknown>([idp.provider]);
    for (let times = 0; times < 2; times += 1) {
      const before = rounds;
      await idp.keys.rotate({ now: true });
      providers.add(idp.provider);
      // Waits for the current round, and for a whole round after the rotation.
      while (rounds < before + 2) await sleep(5);
    }
    isOver = true;
    await loading;
    expect([providers.size, lost]).toEqual([3, []]);
  });

  test('a sign-in that began before ends after, with what signs by then', async () => {
    const { issuer, idp } = await start();
    const { verifier, challenge } = createPkce();
    const agent = new Agent();
    const url = authorizeUrl(issuer, { code_challenge: challenge, code_challenge_method: 'S256' });
    const identifier = await agent.follow(await agent.get(url));
    await idp.keys.rotate({ now: true });
    const password = await agent.submit(identifier, { identifier: 'alice@acme.test' });
    await idp.keys.rotate({ now: true });
    const { location = '' } = await agent.follow(await agent.submit(password, { password: 'alice' }));
    const code = new URL(location).searchParams.get('code') ?? '';
    await idp.keys.rotate({ now: true });
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const { json } = await endpointsOf(issuer).token(fields);
    expect(await verifies(json.id_token, await keySet(issuer))).toBe(true);
  });

  test('4.8 logout tokens are signed with what signs by then', async () => {
    const receiver = await startLogoutReceiver();
    const clients = seed.clients.map((client) =>
      client.id === 'web' ? { ...client, metadata: { ...client.metadata, backchannel_logout_uri: receiver.url } } : client,
    );
    const lifetimes = { sessionIdle: 2 * DAY, sessionAbsolute: 2 * DAY };
    const { issuer, idp } = await start({ seed: { ...seed, clients } as typeof seed, outgoing: callLoopback, lifetimes });
    const { agent, tokens } = await obtainTokens(issuer);
    passTime(DAY);
    await idp.keys.rotate();
    await agent.get(`${issuer}/connect/endsession?id_token_hint=${tokens.id_token}`);
    await receiver.received(1);
    expect(kidOf(receiver.tokens[0] ?? '')).toBe((await kidsAt(issuer))[0]);
    receiver.close();
  });

  test('a request under way ends on the instance it began on', async () => {
    let arrived = (): void => {};
    let release = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = defineClaims({
      name: 'slow',
      timeoutMs: 20_000,
      load: async () => {
        arrived();
        await gate;
        return {};
      },
      claims: { pace: { scope: 'profile', type: 'string', description: 'Pace', value: () => 'slow' } },
    });
    const { issuer, idp } = await start({ claims: [slow] });
    const { tokens } = await obtainTokens(issuer, { scope: 'openid profile' });
    const answer = endpointsOf(issuer).userinfo(tokens.access_token);
    await waiting;
    const before = idp.provider;
    await idp.keys.rotate({ now: true });
    expect(idp.provider).not.toBe(before);
    release();
    expect(await answer).toMatchObject({ status: 200, json: { pace: 'slow' } });
  });

  test('keys that cannot be read leave those that are there; said once, and made good when they can', async () => {
    const directory = await withKeys();
    const artifacts = memoryArtifacts();
    const down = { now: false };
    const failing = withCollections(directory, (rows, name) => ({
      get: (id) => (down.now && name === 'signingKeys' ? Promise.reject(new Error('away')) : rows.get(id)),
    }));
    const nodes = await startInstances(2, (node) => ({ artifacts, directory: node === 1 ? failing : directory }), ofNodes);
    closeAfterTest(nodes);
    const before = await kidsAt(nodes.at(1));
    down.now = true;
    passTime(DAY);
    await nodes.idps[0]?.keys.rotate();
    await sleep(3300);
    expect(await kidsAt(nodes.at(1))).toEqual(before);
    // Only one collection fails, so the store may seem to be available again once.
    const away = nodes.logged.filter(([, message]) => message === 'the store is unavailable').length;
    expect([1, 2]).toContain(away);
    down.now = false;
    expect(await soon(async () => String(await kidsAt(nodes.at(1))) === String(await kidsAt(nodes.at(0))))).toBe(true);
  });
});
