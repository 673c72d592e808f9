/** A store that is unavailable when the service starts, or during the start: the error and the log say so in one line each. */
import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { keepLog } from '../../support/service/kept-log.js';
import { failingStores } from '../../support/stores/failing-stores.js';

const ways = ['that refuses', 'that hangs'].flatMap((how) =>
  (['artifacts', 'directory', 'directoryWrites'] as const).map((flag) => [how, flag] as const),
);

test.concurrent.each(ways)('a store %s, %s', async (how, flag) => {
  const { artifacts, directory, down } = failingStores();
  Object.assign(down, { [flag]: true, hang: how === 'that hangs' });
  const { logger, lines } = keepLog();
  const starting = createIdentityProvider({ issuer: 'http://localhost:3000', artifacts, directory, logger });
  const error = (await starting.then(
    () => undefined,
    (failed: unknown) => failed,
  )) as Error;
  // The message has the problem, its consequence and the remedy. A host that prints the error prints no stack.
  expect(error.message).toMatch(
    /^The (artifact|directory) store 'failing' is unavailable, so the service does not start\. Start the store, or fix its address/,
  );
  expect((error.cause as Error).message).toMatch(/^(connect ECONNREFUSED|No answer after) /);
  expect(error.message.split('\n').length).toBe(1);
  expect(inspect(error)).not.toMatch(/^\s+at /m);
  const told = lines.filter(({ level }) => level === 'warn' || level === 'error');
  // Only the error reports a store that refuses to open.
  const isAlone = how === 'that refuses' && flag !== 'directoryWrites';
  expect(told.map(({ message }) => message)).toEqual(isAlone ? [] : ['the store is unavailable']);
  expect(inspect(told, { depth: null })).not.toMatch(/^\s+at /m);
  expect(lines.filter(({ level }) => level === 'debug').length).toBe(told.length);
});
