/**
 * Effects of retried POSTs over MongoDB: one POST in eight, and the last write of each. With `PROVE`, every POST is tried, as over stores
 * in memory.
 */
import { describe } from '@jest/globals';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { withMongo } from '../../support/stores/mongo.js';
import { chosen, testEffects } from './effects.js';

withMongo('MONGODB_URL', ({ db, prefix }) => {
  const names = { db, prefix: prefix() };
  const part = process.env.PROVE
    ? {}
    : { isPart: (_name: string, index: number) => index % 8 === 0, chosenCalls: (calls: readonly string[]) => chosen(calls).slice(-1) };
  describe('over MongoDB', () => testEffects({ artifacts: mongoArtifacts(names), directory: mongoDirectory(names) }, part));
});
