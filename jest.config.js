import { readdirSync, readFileSync } from 'node:fs';

/**
 * Names in the source of a test that does more with PROVE: PROVE itself, the time in which something is proved to end, or each server that
 * has both stores.
 */
const reads = /process\.env\.PROVE|\/time\/in-time\.js'|\/stores\/(?:durable|shared-nodes)\.js'/;

const provedTests = () =>
  readdirSync('dist/test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && reads.test(readFileSync(`dist/test/${name}`, 'utf8')))
    .map((name) => `<rootDir>/dist/test/${name}`);

/** Jest runs what tsc built, so no second compiler can disagree with the first. */
export default {
  roots: ['<rootDir>/dist'],
  testMatch: process.env.PROVE ? provedTests() : ['<rootDir>/dist/test/**/*.test.js'],
  reporters: ['default', '<rootDir>/dist/test/jest/progress.js'],
  testEnvironment: '<rootDir>/dist/test/jest/environment.js',
  runtime: '<rootDir>/dist/test/jest/runtime.js',
  testSequencer: '<rootDir>/dist/test/jest/sequencer.js',
  globalSetup: '<rootDir>/dist/test/servers/setup.js',
  globalTeardown: '<rootDir>/dist/test/servers/teardown.js',
  transform: {},
  // For two cores: a test file mostly waits for a browser, for servers or for a clock. A proof keeps its core busy.
  maxWorkers: process.env.PROVE ? 2 : 4,
  // A new worker loads all modules again.
  workerIdleMemoryLimit: '1.5GB',
  // The default is half a second. A busy machine may take as long to end a process.
  workerGracefulExitTimeout: 20_000,
  silent: true,
  // A limit against hanging. No test may need to be fast: the machine may be slow, and busy with other tests.
  testTimeout: process.env.PROVE ? 3_600_000 : 900_000,
  coverageProvider: 'v8',
  collectCoverageFrom: ['dist/{lib,adapters,extensions}/**/*.js'],
  coverageDirectory: '.coverage',
};
