/** Issue 44: writes that share a transaction are answered when it is on the disk, and not before. */
import { describe, expect, test } from '@jest/globals';
import type { Answer, Reads, Writes } from '../../../adapters/sqlite/calls.js';
import { threadTime } from '../../../adapters/sqlite/calls.js';
import { Batches } from '../../../adapters/sqlite/worker/batches.js';
import { type Database, LostTransaction } from '../../../adapters/sqlite/worker/database.js';
import { hasSafeCheckpoints } from '../../../adapters/sqlite/worker/node-sqlite.js';

/** An error as node:sqlite throws it. */
const sqliteError = (message: string, errcode: number) => Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });

/** Runs three writes and a read over a database that records each step. @param steps functions that steps call; nothing by default */
function runOver(steps: { readonly commit?: () => void; readonly second?: () => void; readonly release?: () => void } = {}) {
  const log: string[] = [];
  const answers: Answer[] = [];
  const database = {
    file: '/idp.db',
    inTransaction<T>(work: () => T): T {
      log.push('begin');
      const result = work();
      steps.commit?.();
      log.push('commit');
      return result;
    },
    inSavepoint<T>(work: () => T): T {
      const result = work();
      steps.release?.();
      return result;
    },
  } as unknown as Database;
  const hit = (counter: string) => {
    log.push(counter);
    if (counter === 'second') steps.second?.();
    return counter;
  };
  const reads = { getRow: () => log.push('read') } as unknown as Reads;
  const batches = new Batches(database, reads, { hit } as unknown as Writes, (given) => {
    log.push(`answers ${given.map(({ id }) => id).join()}`);
    answers.push(...given);
  });
  const run = (calls: Parameters<Batches['run']>[0] = fewCalls()) => batches.run(calls);
  return { log, answers, run };
}

const call = (id: number, name: string, args: readonly unknown[], at = threadTime()) => ({ id, at, name, args }) as never;

const fewCalls = () => [
  call(1, 'hit', ['first']),
  call(2, 'hit', ['second']),
  call(3, 'getRow', []),
  call(4, 'hit', ['third']),
  call(5, 'hit', ['late'], threadTime() - 2000),
];

describe('calls that wait together', () => {
  test('reads are answered first, and writes after the commit', () => {
    const { log, run } = runOver();
    run();
    expect(log).toEqual(['answers 5', 'read', 'answers 3', 'begin', 'first', 'second', 'third', 'commit', 'answers 1,2,4']);
  });

  test('a call whose caller has given up is not made', () => {
    const { log, answers, run } = runOver();
    run();
    expect(log).not.toContain('late');
    expect(answers[0]).toEqual({ id: 5, failure: { message: expect.stringContaining('was not made') } });
  });

  test('a call whose caller has given up during the transactions before it is not made', () => {
    const { log, answers, run } = runOver({ commit: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000) });
    const at = threadTime() - 700;
    run(Array.from({ length: 201 }, (_, index) => call(index, 'hit', [`hit ${index}`], at)));
    expect(log).toContain('hit 199');
    expect(log).not.toContain('hit 200');
    expect(answers[200]).toEqual({ id: 200, failure: { message: expect.stringContaining('was not made') } });
  });

  test('a commit that fails is the answer of all its writes', () => {
    const { answers, run } = runOver({
      commit() {
        throw sqliteError('database or disk is full', 13);
      },
    });
    run();
    const failure = { message: 'database or disk is full: /idp.db. To fix it, free space on the disk.' };
    expect(answers.slice(2)).toEqual([1, 2, 4].map((id) => ({ id, failure })));
  });

  test('after an error that undid the whole transaction, no other write is made', () => {
    const { log, answers, run } = runOver({
      second() {
        throw new LostTransaction(sqliteError('database or disk is full', 13));
      },
    });
    run();
    expect(log).not.toContain('third');
    expect(answers.slice(2).map(({ id }) => id)).toEqual([1, 2, 4]);
    for (const answer of answers.slice(2)) expect(answer).toMatchObject({ failure: { message: expect.stringContaining('full') } });
  });

  test('an error of the disk ends the worker, so that the next one reads the log again', () => {
    const { answers, run } = runOver({
      commit() {
        throw sqliteError('disk I/O error', 10 | (4 << 8));
      },
    });
    expect(run).toThrow('disk I/O error: /idp.db. To fix it, check the disk.');
    expect(answers.map(({ id }) => id)).toEqual([5, 3]);
  });
});

describe('the log', () => {
  test.each([
    ['3.47.2', false],
    ['3.50.7', false],
    ['3.51.2', false],
    ['3.51.3', true],
    ['3.53.0', true],
    ['4.0.0', true],
  ])('of SQLite %s may be copied into the file by a second thread: %j', (version, isSafe) => {
    expect(hasSafeCheckpoints(version)).toBe(isSafe);
  });
});
