/** Health: whether the service can serve, and which records it cannot use. */
import type { ArtifactStore } from '../artifact-store.js';
import type { DirectoryStore } from '../directory-store.js';
import { ReadOnlyError } from './write-probe.js';

/** State of a store. `read-only`: the store answers reads and takes no writes, so nobody can sign in. */
export type StoreHealth = 'up' | 'read-only' | 'down';

/** A problem of one record, or of background work. Everything else works. The operator has to fix the cause. */
export interface HealthProblem {
  /** A stable name for what is wrong; docs/operate.md lists them. */
  readonly code: string;
  /** The collection of the record, or the name of the work. */
  readonly collection: string;
  /** Id of the record; empty for work that fails as a whole. */
  readonly id: string;
  /** A JSON Pointer to the malformed part, to the reference that leads nowhere, or to the derived member. */
  readonly path?: string;
  /** The tenant that an unreadable record names. */
  readonly tid?: string;
}

/** The health of the service. */
export interface Health {
  /** `up` while both stores are `up`. Send no requests to a node whose health is `down`, and leave the node running. */
  readonly status: 'up' | 'down';
  readonly artifacts: StoreHealth;
  readonly directory: StoreHealth;
  /** Problems that this node found since its start. Problems do not change `status`. Empty when there are none. */
  readonly problems: readonly HealthProblem[];
}

export interface HealthOptions {
  readonly artifacts: Pick<ArtifactStore, 'health'>;
  readonly directory: Pick<DirectoryStore, 'health'>;
  /** Sources of current problems, one for each part of the service. */
  readonly problems: readonly (() => readonly HealthProblem[] | Promise<readonly HealthProblem[]>)[];
}

export const createHealth =
  ({ artifacts, directory, problems }: HealthOptions): (() => Promise<Health>) =>
  async () => {
    const [artifactStore, directoryStore] = await Promise.all([healthOf(artifacts), healthOf(directory)]);
    return {
      status: artifactStore === 'up' && directoryStore === 'up' ? 'up' : 'down',
      artifacts: artifactStore,
      directory: directoryStore,
      problems: directoryStore !== 'down' ? (await Promise.all(problems.map((source) => source()))).flat() : [],
    };
  };

const healthOf = (store: Pick<ArtifactStore, 'health'>): Promise<StoreHealth> =>
  store.health().then(
    () => 'up' as const,
    (error: unknown) => (error instanceof ReadOnlyError ? ('read-only' as const) : ('down' as const)),
  );
