/** Work of extensions outside requests: start, deliveries, jobs, events, health. */

import { type Rounds, rounds } from '../background/rounds.js';
import { answered } from '../contract/assembly/answers.js';
import { isOwnName, OWN_NAME } from '../contract/collections.js';
import type { ExtensionKeys } from '../contract/context/keys.js';
import type { ExtensionWork } from '../contract/context/work.js';
import type { Extension } from '../contract/extension.js';
import type { ContextOf, ExtensionContext } from '../contract/extension-context.js';
import { sharedClaims } from '../contract/shared-claims.js';
import type { DeliveryHandler, DeliveryKind, Job, Seal } from '../contract/work.js';
import type { Directory } from '../directory/index.js';
import { ConfigError } from '../errors.js';
import type { Logger } from '../logger.js';
import { present } from '../present.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { HealthProblem } from '../store/outages/health.js';
import type { Sealer } from '../store/sealer.js';
import { withTimeLimit } from '../times/time-limit.js';

/** Milliseconds in which a job has to end when the service closes. A call of a URL takes less. */
const GRACE_MS = 12_000;
/** Maximum milliseconds of an extension's `health`. */
const HEALTH_MS = 2_000;
const MAX_INTERVAL_SECONDS = 86_400;

export interface ExtensionWorkParts {
  readonly extensions: readonly Extension[];
  readonly directory: Pick<Directory, 'deliveries' | 'accountEvents'>;
  readonly artifacts: Pick<ArtifactStore, 'lease'>;
  readonly sealer: Sealer;
  /** Id of this node. */
  readonly node: string;
  readonly logger: Logger;
}

export interface RunningWork extends Pick<ExtensionWork, 'deliver' | 'emit'>, Pick<ExtensionKeys, 'seal'> {
  /** Starts the extensions, then their work. @throws ConfigError, or the error of an extension. Extensions that were started are then closed. */
  start(contextOf: ContextOf): Promise<void>;
  problems(): Promise<readonly HealthProblem[]>;
  /** Ends jobs, then the extensions. */
  close(): Promise<void>;
}

export function createExtensionWork(parts: ExtensionWorkParts): RunningWork {
  const { extensions, directory, sealer, logger } = parts;
  const kinds = new Set<string>();
  const events = new Set<string>(extensions.flatMap((extension) => extension.events ?? []));
  const running: Rounds[] = [];
  let started: Extension[] = [];
  let contextOf: ContextOf | undefined;

  const closeStarted = async (): Promise<void> => {
    await Promise.all(running.splice(0).map((job) => job.close()));
    const ending = started;
    started = [];
    for (const extension of ending) await extension.close?.();
  };

  return {
    async deliver(kind, data, { batch } = {}) {
      if (!kinds.has(kind))
        throw new TypeError(`No extension handles deliveries of the kind ${kind}. Add the kind to deliveries of an extension.`);
      return directory.deliveries.enqueue([{ kind, data, ...present({ batch }) }]);
    },

    seal: (purpose) => sealOf(sealer, `extension ${purpose}`),

    async emit(type, account, data, cause, by) {
      if (!events.has(type)) throw new TypeError(`No extension declares the event ${type}. Add it to events of the extension.`);
      await directory.accountEvents.raise(type, account, data, cause, by);
    },

    async start(given) {
      contextOf = given;
      try {
        const made = extensions.map((extension) => ({
          owner: extension.name,
          deliveries: Object.entries(extension.deliveries?.(given(extension.name)) ?? {}),
          jobs: answered(extension.name, 'jobs', extension.jobs?.(given(extension.name)) ?? []),
        }));
        checkWork(made);
        const handlers = made.flatMap(({ deliveries }) => deliveries);
        const jobs = made.flatMap((each) => each.jobs);
        for (const [kind] of handlers) kinds.add(kind);
        for (const extension of extensions) {
          started.push(extension);
          await extension.start?.(given(extension.name));
        }
        for (const [kind, handler] of handlers) {
          const { take, retryAfterSeconds } = typeof handler === 'function' ? { take: handler, retryAfterSeconds: undefined } : handler;
          directory.deliveries.handle(kind, take, retryAfterSeconds);
        }
        for (const job of jobs) running.push(roundsOf(job, parts));
        for (const job of running) job.start();
      } catch (error) {
        await closeStarted();
        throw error;
      }
    },

    async problems() {
      const given = contextOf;
      if (!given) return [];
      const all = await Promise.all(extensions.map((extension) => problemsOf(extension, given(extension.name), logger)));
      return [...all.flat(), ...running.flatMap((job) => job.problems())];
    },

    close: closeStarted,
  };
}

interface MadeWork {
  /** The extension's name. */
  readonly owner: string;
  readonly deliveries: readonly (readonly [kind: string, handler: DeliveryHandler | DeliveryKind])[];
  readonly jobs: readonly Job[];
}

/** @throws ConfigError for names of another extension, for intervals, and for names with two owners. */
function checkWork(made: readonly MadeWork[]): void {
  const namesOf = ({ deliveries, jobs }: MadeWork) => [
    ...deliveries.map(([kind]) => ({ member: 'deliveries', name: kind })),
    ...jobs.map(({ name }) => ({ member: 'jobs', name })),
  ];
  const invalid = made.flatMap(({ owner, ...work }) => {
    const pathOf = (member: string, name: string): string => `extensions.${owner}.${member}[${JSON.stringify(name)}]`;
    return [
      ...namesOf({ owner, ...work })
        .filter(({ name }) => !isOwnName(name, owner))
        .map(({ member, name }) => ({ path: pathOf(member, name), expected: OWN_NAME })),
      ...work.deliveries
        .filter(([, handler]) => typeof handler !== 'function' && !isBackOff(handler.retryAfterSeconds))
        .map(([kind]) => ({
          path: `${pathOf('deliveries', kind)}.retryAfterSeconds`,
          expected: `a list of seconds, each 1 to ${MAX_INTERVAL_SECONDS}`,
        })),
      ...work.jobs
        .filter(({ intervalSeconds }) => !(intervalSeconds >= 1 && intervalSeconds <= MAX_INTERVAL_SECONDS))
        .map(({ name }) => ({ path: `${pathOf('jobs', name)}.intervalSeconds`, expected: `seconds, 1 to ${MAX_INTERVAL_SECONDS}` })),
    ];
  });
  if (invalid.length > 0) throw new ConfigError('invalid_options', invalid);
  const conflicts = sharedClaims(made, (work) => namesOf(work).map(({ member, name }) => `${name} in ${member}`));
  if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
}

const isBackOff = (seconds: unknown): boolean =>
  Array.isArray(seconds) && seconds.every((each) => typeof each === 'number' && each >= 1 && each <= MAX_INTERVAL_SECONDS);

const sealOf = (sealer: Sealer, purpose: string): Seal => ({
  seal: (record, value) => sealer.encrypt(purpose, record, value),
  open: (record, sealed) => sealer.decrypt(purpose, record, sealed),
  isCurrent: (sealed) => sealer.isCurrent(sealed),
  hashes: (value) => sealer.hashes(purpose, value),
});

async function problemsOf({ name, health }: Extension, context: ExtensionContext, logger: Logger): Promise<readonly HealthProblem[]> {
  if (!health) return [];
  try {
    const problems = await withTimeLimit(HEALTH_MS, () => health(context));
    return problems.map(({ code, id = '' }) => ({ code, collection: name, id }));
  } catch (err) {
    logger.error({ err, extension: name }, 'an extension could not report its health');
    return [{ code: 'extension_unwell', collection: name, id: '' }];
  }
}

/** Creates the rounds of a job, on one node at a time. */
function roundsOf(job: Job, { artifacts, node, logger }: ExtensionWorkParts): Rounds {
  const { name, intervalSeconds, atOnce = 1 } = job;
  const every = intervalSeconds * 1000;
  return rounds({
    name,
    every,
    first: Math.min(every, 1000),
    lease: (milliseconds) => artifacts.lease(`job ${name}`, node, milliseconds),
    async run(round) {
      await job.run({
        signal: round.signal,
        isReady: (row) => round.isReady(row),
        isFull: () => round.isFull(),
        attempt: (row, work) =>
          round.attempt(row, async () => {
            await work();
            return undefined;
          }),
      });
      return undefined;
    },
    atOnce,
    graceMs: GRACE_MS,
    logger,
    messages: {
      round: 'a job failed, and runs again at its next interval',
      row: 'a job failed for a record, and is retried',
    },
    fields: { job: name },
  });
}
