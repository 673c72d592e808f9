import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import type { DirectoryStore } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { KeyRing } from '../../../lib/store/records/records.js';
import type { Json } from '../client/agent.js';
import { journeySeed } from '../client/journey.js';
import { backToPresent } from '../time/clock.js';
import { EVERYWHERE } from '../time/in-time.js';
import { startIdp, type TestIdp, type TestIdpOptions } from './idp.js';
import { testSeed } from './seed.js';

export const DAY = 24 * 3600;

export const encryption = ['what the signing keys are encrypted with'];
/** Seed with one password to hash, and a client that gets ES256 and JWTs. */
export const seed = { ...journeySeed, clients: testSeed.clients.filter(({ id }) => id === 'web' || id === 'jwt') };
/** Options of several nodes over the same stores. */
export const ofNodes = { keys: { encryption }, seed: { clients: seed.clients, apiResources: seed.apiResources } };

export const keySet = async (at: string): Promise<JSONWebKeySet> =>
  (await fetch(`${at}/.well-known/openid-configuration/jwks`)).json() as Json;
export const kidsAt = async (at: string): Promise<string[]> => (await keySet(at)).keys.map(({ kid }) => String(kid));
export const kidOf = (token: string) => decodeProtectedHeader(token).kid;
export const verifies = (token: string, keys: JSONWebKeySet) =>
  jwtVerify(token, createLocalJWKSet(keys), { currentDate: new Date(0) }).then(
    () => true,
    () => false,
  );
export const ringOf = async (store: DirectoryStore): Promise<KeyRing> =>
  (await store.collection<KeyRing>('signingKeys').get('ring')) as KeyRing;

/** Whether a condition becomes true within the time that a change may take to reach all nodes. */
export async function soon(holds: () => Promise<boolean>, milliseconds = EVERYWHERE): Promise<boolean> {
  const deadline = performance.now() + milliseconds;
  while (performance.now() < deadline) {
    if (await holds()) return true;
    await sleep(50);
  }
  return false;
}

/** Starts identity providers that make and rotate their keys. Each test ends in the present, and closes its identity providers. */
export function useRotatingKeys() {
  /** Keys that the service creates at its first start. */
  let ring: KeyRing;
  const opened: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    const directory = memoryDirectory();
    const service = await startIdp({ keys: { encryption }, directory });
    ring = await ringOf(directory);
    await service.close();
  });
  afterEach(async () => {
    backToPresent();
    for (const one of opened.splice(0)) await one.close();
  });
  /** Returns a directory with the keys of a first start, dated now, because making an RSA key takes longer than most tests with it. */
  async function withKeys(): Promise<DirectoryStore> {
    const [directory, now] = [memoryDirectory(), new Date()];
    const keys = ring.keys.map((key) => ({ ...key, announcedAt: now, ...(key.activatedAt ? { activatedAt: now } : {}) }));
    await directory.open([{ name: 'signingKeys', indexes: {} }]);
    await directory.collection<KeyRing>('signingKeys').insert({ ...ring, keys });
    return directory;
  }
  return {
    withKeys,
    async start(options: TestIdpOptions = {}): Promise<TestIdp> {
      const service = await startIdp({ keys: { encryption }, seed, directory: await withKeys(), ...options });
      opened.push(service);
      return service;
    },
    /** Closes these services after the test as well. */
    closeAfterTest: (...services: { close(): Promise<void> }[]) => void opened.push(...services),
    /** Returns the keys of the first start. */
    get ring() {
      return ring;
    },
  };
}
