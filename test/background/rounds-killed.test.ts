/** Threat H3: a node is killed with `kill -9` in the middle of a round. Another node continues when the lease has expired, not before. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { createLeases } from '../../adapters/memory/leases.js';
import { rounds } from '../../lib/background/rounds.js';
import { until } from '../support/time/until.js';
import type { Answer, Ask } from './round-node.js';

test('H3: a node that is killed in the middle of a round is followed by another, once its lease has ended', async () => {
  const leases = createLeases();
  const rows = ['a', 'deadly', 'b'];
  const removed: string[] = [];
  const remove = (row: string, node: string) => {
    rows.splice(rows.indexOf(row), 1);
    removed.push(`${row} by ${node}`);
  };
  const node = fork(new URL('./round-node.js', import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  let renewedAt = 0;
  node.on('message', async (ask: Ask) => {
    let value: unknown = [...rows];
    if ('remove' in ask) value = remove(ask.remove, 'one');
    if ('lease' in ask) value = await leases.lease('tidying', 'one', ask.lease);
    if ('lease' in ask) renewedAt = performance.now();
    if (node.connected) node.send({ id: ask.id, value } satisfies Answer);
  });
  expect(await once(node, 'exit')).toEqual([null, 'SIGKILL']);
  expect(removed).toEqual(['a by one']);

  let begunAt: number | undefined;
  const other = rounds({
    name: 'tidying',
    every: 10,
    lease: (ms) => leases.lease('tidying', 'other', ms),
    async run() {
      begunAt ??= performance.now();
      for (const row of [...rows]) remove(row, 'other');
      return undefined;
    },
    logger: { error() {} },
    messages: { round: 'the round failed' },
  });
  other.start();
  await until(() => rows.length === 0);
  await other.close();
  expect(removed).toEqual(['a by one', 'deadly by other', 'b by other']);
  expect((begunAt ?? 0) - renewedAt).toBeGreaterThanOrEqual(950);
});
