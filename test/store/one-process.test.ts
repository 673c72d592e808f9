/** Issue 44: a store that serves one process is accepted in production, and the log says so once. */
import { expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { productionOptions } from '../options/production-options.js';

test('production logs once that its stores serve one process', async () => {
  process.env.NODE_ENV = 'production';
  const lines: unknown[][] = [];
  const logger = { debug() {}, info: (...line: unknown[]) => void lines.push(line), warn() {}, error() {} };
  const startWith = async (nodes: object) => {
    lines.length = 0;
    const stores = { artifacts: { ...memoryArtifacts(), ...nodes }, directory: { ...memoryDirectory(), ...nodes } };
    const durable = { artifacts: { ...stores.artifacts, ephemeral: false }, directory: { ...stores.directory, ephemeral: false } };
    const idp = await createIdentityProvider({ ...productionOptions(), ...durable, logger });
    await idp.close();
    return lines.filter(([, message]) => message === 'the store serves one process');
  };
  expect(await startWith({ nodes: 1 })).toEqual([[{ stores: ['memory'] }, 'the store serves one process']]);
  expect(await startWith({})).toEqual([]);
});
