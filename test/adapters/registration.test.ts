import { describe, expect, test } from '@jest/globals';
import { artifactStoreCases, directoryStoreCases, type Test, testArtifactStore } from 'tenant-idp/adapters/conformance';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';

const known = artifactStoreCases[0]!.name;

/** Returns a test framework that records the registered tests. */
function framework() {
  const registered: string[] = [];
  const skipped: string[] = [];
  const runs: (() => Promise<void>)[] = [];
  const register: Test = Object.assign(
    (name: string, run: () => Promise<void>) => {
      registered.push(name);
      runs.push(run);
    },
    { skip: (name: string) => skipped.push(name) },
  );
  const options = { test: register, describe: (_: string, body: () => void) => body() };
  return { registered, skipped, runs, options };
}

describe('design §4: the conformance suites', () => {
  test.each([
    ['artifact store', artifactStoreCases],
    ['directory store', directoryStoreCases],
  ] as const)('name each case of the %s once, by its subject', (_, cases) => {
    const names = cases.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z ]+: \S/);
  });

  test('register every case with the framework that is passed, each on a fresh store that is closed', async () => {
    const { registered, runs, options } = framework();
    let open = 0;
    const make = async () => {
      const store = memoryArtifacts();
      open += 1;
      const close = async () => {
        open -= 1;
        await store.close();
      };
      return { ...store, close };
    };
    testArtifactStore('mine', make, options);
    expect(registered).toEqual(artifactStoreCases.map(({ name }) => name));
    await runs[0]!();
    await runs[1]!();
    expect(open).toBe(0);
  });

  test('give each case a peer of its store, and close both', async () => {
    const { runs, options } = framework();
    const closed: string[] = [];
    const named = (name: string) => ({
      ...memoryArtifacts(),
      name,
      async close() {
        closed.push(name);
      },
    });
    testArtifactStore('mine', async () => named('store'), { ...options, peer: async ({ name }) => named(`peer of ${name}`) });
    await runs[0]!();
    expect(closed).toEqual(['peer of store', 'store']);
  });

  test('skip a case with its written reason', () => {
    const { registered, skipped, options } = framework();
    testArtifactStore('mine', async () => memoryArtifacts(), {
      ...options,
      skip: [{ case: known, reason: 'there is no server' }],
    });
    expect(registered).not.toContain(known);
    expect(skipped).toEqual([`${known} (skipped: there is no server)`]);
  });

  test.each([
    ['without a reason', { case: known, reason: ' ' }, /has no written reason\. Give one in reason\./],
    ['of an unknown case', { case: 'contract: unheard', reason: 'why not' }, /no conformance case 'contract: unheard'/],
  ])('refuse a skip %s', (_, skip, message) => {
    const { options } = framework();
    expect(() => testArtifactStore('mine', async () => memoryArtifacts(), { ...options, skip: [skip] })).toThrow(message);
  });
});
