/** Design §4: commits to MongoDB that nodes race for, and in which nodes stop or die. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { mongoArtifacts } from 'tenant-idp/adapters/mongo';
import { pass } from '../../../adapters/conformance/passing-time.js';
import type { Artifact, ArtifactKey, ArtifactStore, Put } from '../../../lib/store/artifact-store.js';
import { withMongo } from '../../support/stores/mongo.js';
import type { MongoNodeTask } from '../../support/stores/mongo-node.js';
import { oneByOne } from '../../support/stores/one-by-one.js';
import { holdsUntil } from '../../support/time/holds-until.js';
import { put, remove, replacement, rotation, type Scenario, scenarios, signOut, twoConditions } from '../commit-scenarios.js';

/**
 * Few rounds with the suite, many with `npm run prove`. The adapter gives each call 1.2 s of the server. In this time, a busy machine does
 * not get through 50 concurrent attempts for the same records.
 */
const [ROUNDS, ATTEMPTS, KILL_ROUNDS] = process.env.PROVE ? [50, 50, 4] : [1, 10, 0];

/** Returns the statements before which a node is killed: a hundred times in all, or a few. */
const kills = (total: number): readonly number[] =>
  KILL_ROUNDS > 0
    ? Array.from({ length: KILL_ROUNDS * total }, (_, index) => 1 + (index % total))
    : [...new Set([Math.ceil(total / 2), total - 1, total])];

withMongo('MONGODB_URL', (mongo) => {
  const prefix = mongo.prefix();
  let nodes: readonly ArtifactStore[];
  let first: ArtifactStore;
  let second: ArtifactStore;

  beforeAll(async () => {
    const databases = await Promise.all([mongo.connect(), mongo.connect()]);
    nodes = databases.map((db) => mongoArtifacts({ db, prefix }));
    [first, second] = nodes as [ArtifactStore, ArtifactStore];
    await first.open();
  });

  const read = async (store: ArtifactStore, keys: readonly ArtifactKey[]) => {
    const found = await store.read(keys.map((key) => ({ key })));
    return keys.map((key) => found.get(key));
  };
  let runs = 0;
  const prepared = async (make: (run: number) => Scenario): Promise<Scenario> => {
    runs += 1;
    const scenario = make(runs);
    const old = scenario.old.map((key) => put(key, { value: 'old' }));
    expect(await first.commit([...old, ...(scenario.held ? [scenario.held] : [])])).toEqual({ ok: true });
    return scenario;
  };
  const isNew = (artifact: Artifact | undefined) => artifact?.value !== 'old';

  /** Whether a commit is done; it must be done as a whole or not at all. */
  const isDone = async (store: ArtifactStore, { old, news }: Scenario, attempt: number): Promise<boolean> => {
    const changed = (await read(store, old)).map(isNew);
    expect([[true], [false]]).toContainEqual([...new Set(changed)]);
    if (changed[0]) expect(await read(store, news(attempt))).not.toContain(undefined);
    return changed[0] === true;
  };

  /** Lets two nodes try the same commit concurrently, after an attempt that was done or not. */
  const goOn = async (scenario: Scenario, wasDone: boolean): Promise<void> => {
    const attempts = [101, 102];
    const results = await Promise.all(attempts.map((attempt, index) => nodes[index]!.commit(scenario.commit(attempt))));
    const winners = attempts.filter((_, index) => results[index]?.ok);
    if (scenario.repeats) expect(winners).toEqual(attempts);
    else expect(winners).toHaveLength(wasDone ? 0 : 1);
    expect((await read(second, scenario.old)).every(isNew)).toBe(true);
    for (const attempt of attempts) {
      const isWinner = winners.includes(attempt);
      const own = scenario.news(attempt).filter((key) => isWinner || !scenario.news(0).includes(key));
      for (const artifact of await read(second, own)) expect(artifact !== undefined).toBe(isWinner);
    }
  };

  /** Creates a store that stops before one of its statements, until it is released. */
  const halted = (statement: number) => {
    let reached = () => {};
    let release = () => {};
    const standing = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let count = 0;
    const db = oneByOne(mongo.db, async () => {
      count += 1;
      if (count !== statement) return;
      reached();
      await released;
    });
    return { store: mongoArtifacts({ db, prefix }), standing, release: () => release(), statements: () => count };
  };
  const statementsOf = async (make: (run: number) => Scenario): Promise<number> => {
    const { store, statements } = halted(0);
    await store.commit((await prepared(make)).commit(0));
    return statements();
  };

  describe.each(scenarios)('$name', ({ make }) => {
    test('B1, B3, J1: of many attempts at once on two nodes one is done, as a whole, and the others leave nothing', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const scenario = await prepared(make);
        const attempts = Array.from({ length: scenario.repeats ? 10 : ATTEMPTS }, (_, index) => index);
        const results = await Promise.all(attempts.map((attempt) => nodes[attempt % 2]!.commit(scenario.commit(attempt))));
        const winners = attempts.filter((attempt) => results[attempt]?.ok);
        expect(winners).toHaveLength(scenario.repeats ? attempts.length : 1);
        expect(await isDone(second, scenario, winners[0]!)).toBe(true);
        if (scenario.repeats) continue;
        const won = scenario.news(winners[0]!);
        const others = attempts.flatMap((attempt) => scenario.news(attempt)).filter((key) => !won.includes(key));
        expect((await read(second, others)).filter((artifact) => artifact !== undefined)).toEqual([]);
      }
    });

    test('wherever a commit stands still, others see all of it or nothing, and go on without it', async () => {
      const total = await statementsOf(make);
      for (let statement = 1; statement <= total; statement += 1) {
        const scenario = await prepared(make);
        const { store, standing, release } = halted(statement);
        const commit = store.commit(scenario.commit(0));
        await standing;
        const wasDone = await isDone(second, scenario, 0);
        await goOn(scenario, wasDone);
        release();
        expect((await commit).ok).toBe(wasDone || scenario.repeats === true);
        expect((await read(first, scenario.old)).every(isNew)).toBe(true);
      }
    });

    test('J1: whichever statement a node is killed before, nothing is done by halves, and nothing twice', async () => {
      const kill = async (killedBefore: number) => {
        const scenario = await prepared(make);
        const task: MongoNodeTask = { url: mongo.url, database: mongo.database, prefix, writes: scenario.commit(0), killedBefore };
        const node = spawn(process.execPath, [
          fileURLToPath(new URL('../../support/stores/mongo-node.js', import.meta.url)),
          JSON.stringify(task),
        ]);
        expect(await once(node, 'exit')).toEqual([null, 'SIGKILL']);
        await goOn(scenario, await isDone(second, scenario, 0));
      };
      const before = kills(await statementsOf(make));
      if (process.env.PROVE) for (const statement of before) await kill(statement);
      else await Promise.all(before.map(kill));
    });
  });

  describe('a commit that puts a record again as it is', () => {
    const parts = async () => {
      const scenario = await prepared(rotation);
      const { key } = scenario.held as Put;
      return { scenario, key, grant: async () => (await read(second, [key]))[0] };
    };

    test('counts it in the version, and not when it loses', async () => {
      const { scenario, grant } = await parts();
      const before = await grant();
      expect(await first.commit(scenario.commit(0))).toEqual({ ok: true });
      expect(await grant()).toEqual({ ...before, version: 2 });
      expect(await first.commit(scenario.commit(1))).toEqual({ ok: false, lost: scenario.old[0] });
      expect(await grant()).toEqual({ ...before, version: 2 });
    });

    test('B3: leaves it, and what all of them put, when others that put it on top of that lose, the last one first', async () => {
      const { scenario, grant } = await parts();
      const [access, successor] = scenario.news(0) as [ArtifactKey, ArtifactKey];
      const writes = scenario.commit(0);
      const commits = [];
      for (const attempt of [0, 1, 2]) {
        const { store, standing, release } = halted(writes.length);
        const own = scenario.news(attempt)[0] as ArtifactKey;
        const done = store.commit(writes.map((write) => (write.key === access ? { ...write, key: own } : write)));
        await standing;
        commits.push({ own, release, done });
      }
      const [winner, ...losers] = commits as [(typeof commits)[0], ...typeof commits];
      winner.release();
      expect(await winner.done).toEqual({ ok: true });
      for (const loser of losers.reverse()) {
        loser.release();
        expect(await loser.done).toEqual({ ok: false, lost: scenario.old[0] });
        expect(await read(second, [loser.own])).toEqual([undefined]);
        expect([await grant(), ...(await read(second, [winner.own, successor]))]).not.toContain(undefined);
      }
    });

    test('B6: loses when that was removed before', async () => {
      const total = await statementsOf(rotation);
      const outcomes: string[] = [];
      for (let statement = 1; statement <= total; statement += 1) {
        const { scenario, key, grant } = await parts();
        const { store, standing, release } = halted(statement);
        const commit = store.commit(scenario.commit(0));
        await standing;
        expect(await second.commit([remove(key)])).toEqual({ ok: true });
        release();
        outcomes.push((await commit).ok ? 'done' : 'lost');
        expect(await grant()).toBeUndefined();
      }
      // Once that put is done, the commit counts as earlier than the removal. The new records are worth nothing without the removed one.
      expect(outcomes).toEqual(['lost', 'done', 'done', 'done']);
    });
  });

  describe('commits by decision', () => {
    /** Yields a sign-out that stops, once before each of its statements. */
    async function* standingStill() {
      const total = await statementsOf(signOut);
      for (let statement = 1; statement <= total; statement += 1) {
        const scenario = await prepared(signOut);
        const [session, ...grants] = scenario.old as [ArtifactKey, ...ArtifactKey[]];
        const { store, standing, release } = halted(statement);
        const commit = store.commit(scenario.commit(0));
        await standing;
        yield { scenario, session, grants, release, commit };
      }
    }

    test('a single swap of one of their records is done, or they are, not both', async () => {
      for await (const { session, grants, release, commit } of standingStill()) {
        const swap = await second.commit([put(session, { if: { version: 1 }, value: 'swapped' })]);
        release();
        expect((await commit).ok).toBe(!swap.ok);
        expect((await read(first, [session]))[0]).toMatchObject({ version: 2, value: swap.ok ? 'swapped' : 'new' });
        expect((await read(first, grants)).every((grant) => grant === undefined)).toBe(!swap.ok);
      }
    });

    test('F2: a removal wins over them wherever they stand still', async () => {
      for await (const { scenario, session, grants, release, commit } of standingStill()) {
        const wasDone = await isDone(second, scenario, 0);
        expect(await second.commit([remove(session)])).toEqual({ ok: true });
        release();
        expect(await commit).toEqual(wasDone ? { ok: true } : { ok: false, lost: session });
        expect((await read(first, grants)).every((grant) => grant === undefined)).toBe(wasDone);
        expect(await read(first, [session])).toEqual([undefined]);
      }
    });

    test('J3: what they wait to lengthen ends in time until they are decided, and its document is kept until then', async () => {
      const scenario = await prepared(twoConditions);
      const [session, code] = scenario.old as [ArtifactKey, ArtifactKey];
      const { store, standing, release } = halted((await statementsOf(twoConditions)) - 2);
      const soon = Date.now() + 3000;
      await first.commit([put(code, { value: 'old', expiresAt: soon })]);
      const endOf = async () =>
        (await mongo.db.collection<{ _id: string; e: Date }>(`${prefix}artifacts`).findOne({ _id: code }))?.e.getTime();
      // The commit may have given up by then.
      const commit = store.commit(scenario.commit(0)).catch(() => ({ ok: false }));
      await standing;
      await holdsUntil(soon, async () => expect((await read(second, [code]))[0]).toMatchObject({ value: 'old', expiresAt: soon }));
      expect(await endOf()).toBeGreaterThan(soon);
      await pass(soon);
      expect(await read(second, [code])).toEqual([undefined]);
      expect(await second.commit([put(session, { if: { version: 1 } })])).toEqual({ ok: true });
      expect(await endOf()).toBe(soon);
      release();
      expect((await commit).ok).toBe(false);
    });

    test('a node that wakes up late completes what was its own, and nothing else', async () => {
      const total = await statementsOf(replacement);
      const scenario = await prepared(replacement);
      const [late, undecided] = [halted(total - 1), halted(total - 2)];
      const commit = late.store.commit(scenario.commit(0));
      await late.standing;
      expect(await isDone(second, scenario, 0)).toBe(true);
      const next = undecided.store.commit(scenario.commit(0).map((write) => ({ ...write, value: 'next' })));
      await undecided.standing;
      late.release();
      expect(await commit).toEqual({ ok: true });
      expect((await read(second, scenario.old)).map((artifact) => artifact?.value)).toEqual(['new', 'new']);
      undecided.release();
      expect(await next).toEqual({ ok: true });
      expect((await read(second, scenario.old)).map((artifact) => artifact?.value)).toEqual(['next', 'next']);
    });
  });
});
