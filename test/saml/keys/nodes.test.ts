/** Issue 17: all nodes have the same SAML signing keys, also if one of them dies. */
import { X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { saml } from 'tenant-idp/extensions/saml';
import type { Collection, DirectoryStore, Row } from 'tenant-idp/store';
import type { AdminClient } from '../../support/administration/admin.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { asAdministrator, samlAdminSeed } from '../../support/saml/service/administration.js';
import { certificatesIn, metadataAt } from '../../support/saml/service/published.js';
import { keepLog } from '../../support/service/kept-log.js';
import { testKeys } from '../../support/service/keys.js';
import { cheapPasswords } from '../../support/service/seed.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';
import { until } from '../../support/time/until.js';

const ROUNDS = process.env.PROVE ? 50 : 2;

const encryption = ['the secret that the nodes of these tests have in common'];
const started: IdentityProvider[] = [];
afterEach(async () => {
  for (const idp of started.splice(0)) await idp.close();
});

async function start(options: Partial<IdentityProviderOptions>) {
  const { logger, logged } = keepLog();
  const idp = await createIdentityProvider({
    issuer: 'http://idp.example.test',
    extensions: [saml()],
    keys: { signing: testKeys, encryption },
    subjectSalt: 'salt of the test tenant identities',
    passwords: cheapPasswords,
    limits: { adminRequestsPerMinute: 100_000 },
    logger,
    ...options,
  });
  started.push(idp);
  const server = await idp.listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { idp, logged, url, certificates: async () => certificatesIn(await metadataAt(url)) };
}

/** Returns the dispatched events of the first key. */
const told = (directory: DirectoryStore) =>
  until(
    () => recordedEvents(directory, 'SamlSigningKeyAdded'),
    ({ length }) => length > 0,
  );

describe('K1: the first start', () => {
  test(`nodes that start together make one key: ${ROUNDS} times three of them`, async () => {
    const random = seededRandom(11);
    for (let round = 0; round < ROUNDS; round += 1) {
      const directory = memoryDirectory();
      const nodes = await Promise.all(
        Array.from({ length: 3 }, () => start({ artifacts: memoryArtifacts(), directory: jitteryDirectory(directory, random) })),
      );
      const seen = await Promise.all(nodes.map(({ certificates }) => certificates()));
      expect([seen[0]?.length, new Set(seen.map(String)).size]).toEqual([1, 1]);
      expect(await told(directory)).toHaveLength(1);
      for (const idp of started.splice(0)) await idp.close();
    }
  });

  test('a node that starts again has the key that there is', async () => {
    const directory = memoryDirectory();
    const [first, again] = [await start({ directory }), await start({ directory })];
    expect(await again.certificates()).toEqual(await first.certificates());
  });
});

describe('H3: a node that dies at a write', () => {
  const dies = (directory: DirectoryStore, when: 'before' | 'after') => {
    const dead = () => Promise.reject(new Error('the node is gone'));
    const deadly = async <T>(write: () => Promise<T>): Promise<T> => {
      if (when === 'after') await write();
      return dead();
    };
    return {
      ...directory,
      collection<R extends Row>(name: string): Collection<R> {
        const rows = directory.collection<R>(name);
        if (name !== 'saml.keys') return rows;
        return {
          get: (id) => rows.get(id),
          find: (where, page) => rows.find(where, page),
          range: (range) => rows.range(range),
          put: (row) => deadly(() => rows.put(row)),
          remove: (id, version) => deadly(() => rows.remove(id, version)),
          insert: (row) => deadly(() => rows.insert(row)),
          update: (id, change) => deadly(() => rows.update(id, change)),
        };
      },
    };
  };

  test.each(['before', 'after'] as const)('%s the first key is written: the next node has one key', async (when) => {
    const directory = memoryDirectory();
    await expect(start({ directory: dies(directory, when) })).rejects.toBeDefined();
    const { certificates } = await start({ directory });
    expect(await certificates()).toHaveLength(1);
    expect(await told(directory)).toHaveLength(1);
  });

  test.each(['before', 'after'] as const)('%s a change is written: all of it is so, or nothing', async (when) => {
    const directory = memoryDirectory();
    const seed = samlAdminSeed as never;
    const { url } = await start({ directory, seed });
    const survivor = await asAdministrator(url, 'root');
    const states = async () => (await survivor('/saml-signing-keys')).json.items.map(({ state }: { state: string }) => state);
    const dying = await asAdministrator((await start({ directory: dies(directory, when), seed })).url, 'root');
    const isWritten = when === 'after';
    expect((await dying.post('/saml-signing-keys', {})).status).toBeGreaterThanOrEqual(500);
    expect(await states()).toEqual(isWritten ? ['active', 'next'] : ['active']);
    if (!isWritten) await survivor.post('/saml-signing-keys', {});
    const [first, next] = (await survivor('/saml-signing-keys')).json.items;
    expect((await dying.post(`/saml-signing-keys/${next.id}/activate`, { now: true })).status).toBeGreaterThanOrEqual(500);
    expect(await states()).toEqual(isWritten ? ['retiring', 'active'] : ['active', 'next']);
    if (!isWritten) await survivor.post(`/saml-signing-keys/${next.id}/activate`, { now: true });
    expect((await dying.remove(`/saml-signing-keys/${first.id}`)).status).toBeGreaterThanOrEqual(500);
    expect(await states()).toEqual(isWritten ? ['active'] : ['retiring', 'active']);
  });
});

describe('two administrators at once', () => {
  test(`make one next key, and one key signs: ${ROUNDS} times`, async () => {
    const random = seededRandom(5);
    for (let round = 0; round < ROUNDS; round += 1) {
      const directory = memoryDirectory();
      const nodes = await Promise.all(
        [0, 1].map(() =>
          start({ artifacts: memoryArtifacts(), directory: jitteryDirectory(directory, random), seed: samlAdminSeed as never }),
        ),
      );
      const operators = await Promise.all(nodes.map(({ url }) => asAdministrator(url, 'root')));
      const made = await Promise.all(operators.map((operator) => operator.post('/saml-signing-keys', {})));
      expect(made.map(({ status }) => status).sort()).toEqual([201, 409]);
      const [operator] = operators as [AdminClient];
      const [active, next] = (await operator('/saml-signing-keys')).json.items;
      const done = await Promise.all([
        operators[0]?.post(`/saml-signing-keys/${next.id}/activate`, { now: true }),
        operators[1]?.remove(`/saml-signing-keys/${next.id}`),
      ]);
      const { items } = (await operator('/saml-signing-keys')).json;
      const isActivated = done[0]?.status === 200;
      expect([isActivated, done[1]?.status]).toEqual(isActivated ? [true, 409] : [false, 204]);
      expect(items.filter(({ state }: { state: string }) => state === 'active').map(({ id }: { id: string }) => id)).toEqual([
        isActivated ? next.id : active.id,
      ]);
      for (const idp of started.splice(0)) await idp.close();
    }
  });
});

describe('a key that cannot be read', () => {
  test('is never replaced by itself: the service starts, says so in log and health, and publishes what it published', async () => {
    const directory = memoryDirectory();
    const before = await (await start({ directory })).certificates();
    const { idp, logged, certificates } = await start({
      directory,
      keys: { signing: testKeys, encryption: ['another secret, which the nodes have never had'] },
    });
    expect(await certificates()).toEqual(before);
    const [ring] = (await directory.collection('saml.keys').find({})) as unknown as readonly { keys: readonly { id: string }[] }[];
    expect(ring?.keys).toHaveLength(1);
    const id = ring?.keys[0]?.id;
    expect(logged).toContainEqual([{ collection: 'saml.keys', id }, expect.stringContaining('keys.encryption')]);
    expect((await idp.health()).problems).toContainEqual({ code: 'saml_key_unreadable', collection: 'saml', id });
  });

  test('a new secret before the old one takes it over, and the old one can go', async () => {
    const directory = memoryDirectory();
    const before = await (await start({ directory })).certificates();
    const secrets = ['a newer secret that is put before the old one', ...encryption];
    for (const each of [secrets, secrets.slice(0, 1)]) {
      const { idp, certificates } = await start({ directory, keys: { signing: testKeys, encryption: each } });
      expect(await certificates()).toEqual(before);
      expect((await idp.health()).problems).toEqual([]);
    }
  });

  test('a row of another form stops what needs it, and is not written over', async () => {
    const directory = memoryDirectory();
    await start({ directory });
    await directory.collection('saml.keys').update('ring', (row) => ({ ...row, keys: [] }) as never);
    const { idp, logged, url } = await start({ directory });
    expect(logged).toContainEqual([{ collection: 'saml.keys', id: 'ring' }, 'the row of the SAML signing keys is malformed']);
    expect((await idp.health()).problems).toContainEqual({ code: 'saml_key_unreadable', collection: 'saml', id: 'ring' });
    expect((await fetch(`${url}/idp/saml/metadata`)).status).toBe(500);
    const [row] = (await directory.collection('saml.keys').find({})) as unknown as readonly { keys: readonly unknown[] }[];
    expect(row?.keys).toEqual([]);
  });
});

describe('a certificate that ends', () => {
  test('is a problem from sixty days before', async () => {
    const { idp, certificates } = await start({});
    expect((await idp.health()).problems).toEqual([]);
    const [certificate = ''] = await certificates();
    const end = Date.parse(new X509Certificate(Buffer.from(certificate, 'base64')).validTo);
    for (const [days, expected] of [
      [61, []],
      [59, ['saml_certificate_ends']],
      [-1, ['saml_certificate_ends']],
    ] as const) {
      const now = jest.spyOn(Date, 'now').mockReturnValue(end - days * 86_400_000);
      const problems = (await idp.health()).problems.map(({ code }) => code).filter((code) => code.startsWith('saml'));
      now.mockRestore();
      expect([days, problems]).toEqual([days, expected]);
    }
  });
});
