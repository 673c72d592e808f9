/** Stores that fail within one request: at its n-th call, before or after the call is done, or from there on. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { CollectionSpec, DirectoryStore } from '../../../lib/store/directory-store.js';

/**
 * Ways in which a call fails. `before`: the call is not done. `after`: the call is done, and its answer is lost. `from`: neither the call
 * nor a later one is done. `hangs`: as `before`, without an answer. `hangs after`: as `after`, without an answer. `slow`: the call is done,
 * and answered after a moment. `late`: the call is done when the plan releases it.
 */
export type Way = 'before' | 'after' | 'from' | 'hangs' | 'hangs after' | 'slow' | 'late';

/** Call at which a store fails: the n-th call, or the n-th of this name. */
export interface Failure {
  readonly call: number;
  readonly name?: string;
  readonly way: Way;
}

export interface Plan {
  readonly at?: Failure;
  /** The calls that were made, by store and method. */
  readonly calls: string[];
  /** Whether calls no longer belong to the request, or the store answers again. */
  isOver: boolean;
  /** Makes the store do the late call. */
  release(): void;
  readonly released: Promise<void>;
}

/** Stores underneath: in memory by default. */
export interface GivenStores {
  readonly artifacts: ArtifactStore;
  readonly directory: DirectoryStore;
}

const HEADER = 'x-test-plan';
const SLOW_MS = 400;

/**
 * Returns stores, a function that plans a request, and a wrapper of a host's listener. A request has the {@link Plan} that its header
 * names.
 */
export function storesThatFailOnce(given: GivenStores = { artifacts: memoryArtifacts(), directory: memoryDirectory() }) {
  const current = new AsyncLocalStorage<Plan>();
  const plans = new Map<string, Plan>();
  const failing = <T extends object>(name: string, store: T): T =>
    new Proxy(store, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function' || ['collection', 'close', 'open', 'health'].includes(String(member))) return value;
        return async (...parameters: unknown[]) => {
          const plan = current.getStore();
          if (!plan || plan.isOver) return Reflect.apply(value, target, parameters) as unknown;
          plan.calls.push(`${name}.${String(member)}`);
          const { call = -1, name: failing, way } = plan.at ?? {};
          const made = `${name}.${String(member)}`;
          const nth = failing === undefined ? plan.calls.length : plan.calls.filter((one) => one === failing).length;
          const isMeant = failing === undefined || failing === made;
          const fails = (isMeant && nth === call) || (way === 'from' && nth > call);
          if (!fails) return Reflect.apply(value, target, parameters) as unknown;
          if (way === 'hangs') return new Promise(() => {});
          if (way === 'late') return plan.released.then(() => Reflect.apply(value, target, parameters) as unknown);
          const done: unknown = way === 'before' || way === 'from' ? undefined : await Reflect.apply(value, target, parameters);
          if (way === 'hangs after') return new Promise(() => {});
          if (way === 'slow') return sleep(SLOW_MS, done);
          throw new Error(`call ${call} of the test fails`);
        };
      },
    });
  const rows = given.directory;
  let specs: readonly CollectionSpec[] = [];
  const directory: DirectoryStore = {
    ...rows,
    open(given) {
      specs = given;
      return rows.open(given);
    },
    collection: (name) => failing(name, rows.collection(name)),
  };
  return {
    /** Rows underneath, which never fail. */
    rows,
    /** Returns the names of the collections. */
    names: () => specs.map(({ name }) => name),
    artifacts: failing('artifacts', given.artifacts),
    directory,
    /** Creates a plan, and the header by which a request has the plan. */
    plan(at?: Plan['at']): { readonly plan: Plan; readonly headers: Readonly<Record<string, string>> } {
      const id = String(plans.size);
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const plan: Plan = { ...(at && { at }), calls: [], isOver: false, release, released };
      plans.set(id, plan);
      return { plan, headers: { [HEADER]: id } };
    },
    host:
      (listener: RequestListener): RequestListener =>
      (req, res) => {
        const plan = plans.get(String(req.headers[HEADER]));
        if (!plan) return listener(req, res);
        // Work after the answer does not belong to the request, except if the store stays unavailable.
        res.once('finish', () => {
          if (plan.at?.way !== 'from') plan.isOver = true;
        });
        current.run(plan, () => listener(req, res));
      },
  };
}
