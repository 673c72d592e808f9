import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { defineClaims } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type Json, obtainTokens } from '../../support/client/agent.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { journeySeed } from '../../support/client/journey.js';
import { startIdp, type TestIdp, type TestIdpOptions } from '../../support/service/idp.js';
import { testSeed } from '../../support/service/seed.js';
import { until } from '../../support/time/until.js';

const keys = { encryption: ['what the signing keys are encrypted with'] };
const seed = {
  ...journeySeed,
  clients: testSeed.clients.flatMap((client) => (client.id === 'web' ? { ...client, idTokenClaims: 'scopes' as const } : [])),
};

const formType = 'application/x-www-form-urlencoded';

const opened: TestIdp[] = [];
const start = async (options: TestIdpOptions): Promise<TestIdp> => {
  const service = await startIdp({ keys, seed, artifacts: memoryArtifacts(), directory: memoryDirectory(), ...options });
  opened.push(service);
  return service;
};
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const kidsAt = async (issuer: string): Promise<(string | undefined)[]> => {
  const set = (await (await fetch(`${issuer}/.well-known/openid-configuration/jwks`)).json()) as JSONWebKeySet;
  return set.keys.map(({ kid }) => kid);
};
const kidOf = (token: string) => decodeProtectedHeader(token).kid;

/** Returns a claim whose loading waits until the test opens the gate. */
function createGate() {
  const arrivals: (() => void)[] = [];
  let isHeld = false;
  let waiting = 0;
  return {
    claims: defineClaims({
      name: 'gate',
      timeoutMs: 20_000,
      async load() {
        if (!isHeld) return {};
        waiting += 1;
        await new Promise<void>((resolve) => arrivals.push(resolve));
        return {};
      },
      claims: { gate: { scope: 'profile', type: 'string', description: 'Gate', value: () => 'open' } },
    }),
    hold(): void {
      isHeld = true;
    },
    isReached: () => until(() => waiting > 0),
    open(): void {
      isHeld = false;
      for (const go of arrivals.splice(0)) go();
    },
  };
}

describe('a request that is under way while keys rotate', () => {
  test.each([
    ['directly', formType],
    ['through oidc-provider', `${formType}; charset="utf-8"`],
  ])('signs with the keys that its own instance publishes, when it is answered %s', async (_, contentType) => {
    const gate = createGate();
    const { issuer, idp } = await start({ claims: [gate.claims] });
    const { tokens } = await obtainTokens(issuer, { scope: 'openid profile offline_access' });
    const before = await kidsAt(issuer);
    gate.hold();
    const answer = fetch(`${issuer}/connect/token`, {
      method: 'POST',
      headers: { ...credentialsOf('web'), 'content-type': contentType },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) }).toString(),
    });
    await gate.isReached();
    await idp.keys.rotate({ now: true });
    gate.open();
    const { id_token: idToken } = (await (await answer).json()) as Json;
    expect(before).toContain(kidOf(idToken));
    const after = await kidsAt(issuer);
    expect(after.filter((kid) => before.includes(kid))).toEqual([]);
  });
});

describe('keys that no oidc-provider can be made for', () => {
  test('leave those in use: the key set and what signs stay together; the next attempt makes it good', async () => {
    let isBroken = false;
    const { issuer, idp, logged } = await start({
      onProvider() {
        if (isBroken) throw new Error('not now');
      },
    });
    const before = await kidsAt(issuer);
    const { provider } = idp;
    isBroken = true;
    await expect(idp.keys.rotate({ now: true })).rejects.toThrow('not now');
    expect(idp.provider).toBe(provider);
    expect(await kidsAt(issuer)).toEqual(before);
    const { tokens } = await obtainTokens(issuer, { scope: 'openid' });
    expect(before).toContain(kidOf(String(tokens.id_token)));

    isBroken = false;
    await until(() => idp.provider !== provider);
    const after = await kidsAt(issuer);
    expect(after.filter((kid) => before.includes(kid))).toEqual([]);
    const { tokens: later } = await obtainTokens(issuer, { scope: 'openid' });
    expect(after).toContain(kidOf(String(later.id_token)));
    expect(logged.filter(([, text]) => text !== 'this node could not read or rotate signing keys, and retries')).toEqual([]);
  });
});
