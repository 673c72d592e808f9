/**
 * Threat M18: a process that was busy or stopped, under load, for longer than a store may take. The stores were available, and no answer
 * reports otherwise.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { withServer } from '../servers/when.js';
import { type Nodes, startNodes } from '../support/service/nodes.js';
import { testSeed } from '../support/service/seed.js';
import { testTogether } from '../support/service/test-together.js';
import { startLoad } from '../support/time/load.js';

/** Number of stalls of each kind. */
const STALLS = process.env.PROVE ? 20 : 1;

/**
 * Milliseconds: from the shortest stall that a store's own time-outs mistook for an outage, up to the stall of a debugger or a snapshot.
 */
const lengths = [1500, 2500, 3500, 5000];
const lengthOf = (stall: number): number => lengths[(stall * 3) % lengths.length] as number;

const stallsUnderLoad = async (name: string, stores: { artifacts: string; directory?: string }) => {
  const nodes: Nodes = await startNodes({ count: 1, seed: testSeed, ...stores });
  try {
    const load = await startLoad(nodes.issuer, 4);
    const kinds: Record<string, (milliseconds: number) => Promise<unknown>> = {
      async busy(milliseconds) {
        nodes.block(0, milliseconds);
        await pause(milliseconds);
      },
      stopped: (milliseconds) => nodes.suspend(0, milliseconds),
    };
    for (let stall = 0; stall < STALLS; stall += 1) {
      for (const [index, stop] of Object.values(kinds).entries()) {
        const before = load.noted.length;
        await pause(500);
        await stop(lengthOf(stall + index));
        while (load.noted.length < before + 60) await pause(20);
      }
    }
    await load.stop();
    const longest = Math.max(...load.noted.map(({ began, ended }) => ended - began));
    expect(load.noted.filter(({ said }) => said !== 'right')).toEqual([]);
    // The stalls were long enough to be noticed.
    expect(longest).toBeGreaterThan(1400);
    expect(nodes.logged).toEqual([]);
    if (process.env.PROVE) {
      const told = { name, stalls: STALLS * 2, answers: load.noted.length, away: 0, longest: Math.round(longest) };
      process.stderr.write(`${JSON.stringify(told)}\n`);
    }
  } finally {
    await nodes.close();
  }
};

withServer('REDIS_URL', (url) =>
  testTogether('M18: stalls of the process are no outage of Redis: no 503, no code spent without an answer', () =>
    stallsUnderLoad('Redis', { artifacts: url }),
  ),
);
withServer('MONGODB_URL', (url) =>
  testTogether('M18: stalls of the process are no outage of MongoDB: no 503, no code spent without an answer', () =>
    stallsUnderLoad('MongoDB', { artifacts: url, directory: url }),
  ),
);
