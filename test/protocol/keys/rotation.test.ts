/** Issue 6: rotation under load, on three nodes. Relying parties keep the key set for as long as they may, and no verification fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type Json, obtainTokens } from '../../support/client/agent.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { journeySeed } from '../../support/client/journey.js';
import { type Instances, startInstances } from '../../support/service/instances.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { EVERYWHERE } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';

const { rotations, verifications } = process.env.PROVE ? { rotations: 10, verifications: 1000 } : { rotations: 3, verifications: 150 };

const HOUR_SECONDS = 3600;
/** Hours between two rotations: the minimum, because the next key must have been announced for a day. */
const PERIOD_HOURS = 24;
/** Hours that a relying party keeps the key set. A key is announced for longer, by more than the nodes take to agree. */
const KEPT_HOURS = 23;

/** Seed that makes each node hash one password. */
const seed = {
  ...journeySeed,
  clients: [
    ...journeySeed.clients,
    ...(['RS256', 'ES256'] as const).map((alg) => ({
      id: `batch-${alg}`,
      name: `Batch ${alg}`,
      secret: `batch-${alg}-secret`,
      metadata: { grant_types: ['client_credentials'], id_token_signed_response_alg: alg },
      allowedScopes: ['orders.read'],
      accessTokenType: 'jwt' as const,
    })),
  ],
};

/** A relying party that reads the key set when its copy is too old, and never because of an unknown key. */
class RelyingParty {
  #keys: JSONWebKeySet = { keys: [] };
  #at = Number.NEGATIVE_INFINITY;

  constructor(readonly issuer: string) {}

  async verify(token: string): Promise<void> {
    if (Date.now() - this.#at >= KEPT_HOURS * HOUR_SECONDS * 1000) {
      this.#keys = (await (await fetch(`${this.issuer}/.well-known/openid-configuration/jwks`)).json()) as JSONWebKeySet;
      this.#at = Date.now();
    }
    await jwtVerify(token, createLocalJWKSet(this.#keys), { issuer: this.issuer });
  }
}

let nodes: Instances;
beforeAll(async () => {
  const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
  const lifetimes = { idToken: 20 * HOUR_SECONDS, jwtAccessToken: 20 * HOUR_SECONDS };
  nodes = await startInstances(3, () => stores, { seed, lifetimes, keys: { encryption: ['what all of the nodes encrypt keys with'] } });
});
afterAll(async () => {
  backToPresent();
  await nodes.close();
});

test(`K1: ${verifications} verifications across ${rotations} rotations on three nodes: none fails`, async () => {
  const start = performance.now();
  const endpoints = endpointsOf(nodes.issuer);
  let refreshToken = (await obtainTokens(nodes.issuer, { scope: 'openid offline_access' })).tokens.refresh_token as string;
  const mint: readonly (() => Promise<string>)[] = [
    ...['RS256', 'ES256'].map(
      (alg) => async () => (await endpoints.clientCredentials('orders.read', `batch-${alg}`)).access_token as string,
    ),
    async () => {
      const { json } = await endpoints.refresh(refreshToken);
      refreshToken = json.refresh_token;
      return json.id_token as string;
    },
  ];

  const parties: RelyingParty[] = [];
  const kept: { token: string; until: number }[] = [];
  const kids = new Set<unknown>();
  const failed: unknown[] = [];
  let verified = 0;
  const verify = async (token: string, party: RelyingParty | undefined) => {
    await party?.verify(token).then(
      () => {
        verified += 1;
      },
      (error: unknown) => failed.push(error),
    );
  };
  /** Verifies new tokens and some earlier tokens, each at one party and then at another. */
  const load = async () => {
    for (const make of mint) {
      const token = await make();
      kids.add(decodeProtectedHeader(token).kid);
      kept.push({ token, until: Date.now() + 19 * HOUR_SECONDS * 1000 });
      await verify(token, parties[verified % parties.length]);
    }
    while (kept[0] && kept[0].until < Date.now()) kept.shift();
    await verify(kept[verified % kept.length]?.token as string, parties[(verified + 1) % parties.length]);
  };
  const agreed = async () => {
    const sets = await Promise.all(
      nodes.idps.map(async (_, node) => (await fetch(`${nodes.at(node)}/.well-known/openid-configuration/jwks`)).text()),
    );
    return new Set(sets).size === 1;
  };

  for (let hour = 0; hour <= rotations * PERIOD_HOURS + 4; hour += 1) {
    passTime(hour * HOUR_SECONDS);
    // The key sets of the parties have different ages at each rotation.
    if (hour % 4 === 0 && parties.length < 6) parties.push(new RelyingParty(nodes.issuer));
    if (hour === 0 || hour % PERIOD_HOURS !== 0) {
      if (hour % 4 === 0 || verified < (verifications * hour) / (rotations * PERIOD_HOURS)) await load();
      continue;
    }
    const rotation = (hour / PERIOD_HOURS) % 3;
    const rotating = nodes.idps[rotation]?.keys.rotate();
    await Promise.all([rotating, load()]);
    // Without this wait, a day would pass between two polls of a node.
    const deadline = performance.now() + EVERYWHERE;
    while (!(await agreed()) && performance.now() < deadline) {
      await load();
      await sleep(20);
    }
    expect(await agreed()).toBe(true);
  }
  while (verified < verifications) await load();

  if (process.env.PROVE) {
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.info(`${verified} verifications, ${failed.length} failed, ${rotations} rotations, ${kids.size} keys, ${seconds} s`);
  }
  expect(failed).toEqual([]);
  expect(verified).toBeGreaterThanOrEqual(verifications);
  expect(kids.size).toBe(2 * (rotations + 1));
});

test('K1: the relying parties of this test would notice: keys that nobody announced fail them', async () => {
  const party = new RelyingParty(nodes.issuer);
  const endpoints = endpointsOf(nodes.issuer);
  const token = async () => ((await endpoints.clientCredentials('orders.read', 'batch-RS256')) as Json).access_token as string;
  await party.verify(await token());
  await nodes.idps[0]?.keys.rotate({ now: true });
  // Waits until the other nodes also sign with the new keys.
  const failure = async () =>
    party.verify(await token()).then(
      () => undefined,
      ({ code }: { readonly code: string }) => code,
    );
  expect(await until(failure)).toBe('ERR_JWKS_NO_MATCHING_KEY');
});
