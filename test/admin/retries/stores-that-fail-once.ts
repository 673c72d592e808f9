/** Stores that fail within one request: at its n-th call, before or after the call is done, or from there on. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestListener } from 'node:http';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { CollectionSpec, DirectoryStore } from '../../../lib/store/directory-store.js';

/** `before`: the call is not done. `after`: it is done, and its answer is lost. `from`: neither it nor a later one is done. `hangs`: as `before`, without an answer. */
export type Way = 'before' | 'after' | 'from' | 'hangs';

export interface Plan {
  readonly at?: { readonly call: number; readonly way: Way };
  /** The calls that were made, by store and method. */
  readonly calls: string[];
  /** Calls are no longer the request's, or the store answers again. */
  isOver: boolean;
}

const HEADER = 'x-test-plan';

/** @returns stores, what plans a request, and what wraps the listener of a host so that a request with {@link Plan}'s header has the plan. */
export function storesThatFailOnce() {
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
          const { call = -1, way } = plan.at ?? {};
          const fails = plan.calls.length === call || (way === 'from' && plan.calls.length > call);
          if (!fails) return Reflect.apply(value, target, parameters) as unknown;
          if (way === 'hangs') return new Promise(() => {});
          if (way === 'after') await Reflect.apply(value, target, parameters);
          throw new Error(`call ${call} of the test fails`);
        };
      },
    });
  const rows = memoryDirectory();
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
    /** The rows, as no request sees them fail. */
    rows,
    /** Names of the collections. */
    names: () => specs.map(({ name }) => name),
    artifacts: failing('artifacts', memoryArtifacts()),
    directory,
    /** A plan, and the header by which a request has it. */
    plan(at?: Plan['at']): { readonly plan: Plan; readonly headers: Readonly<Record<string, string>> } {
      const id = String(plans.size);
      const plan: Plan = { ...(at && { at }), calls: [], isOver: false };
      plans.set(id, plan);
      return { plan, headers: { [HEADER]: id } };
    },
    host:
      (listener: RequestListener): RequestListener =>
      (req, res) => {
        const plan = plans.get(String(req.headers[HEADER]));
        if (!plan) return listener(req, res);
        // What goes on after the answer is not the request's, except for a store that stays away.
        res.once('finish', () => {
          if (plan.at?.way !== 'from') plan.isOver = true;
        });
        current.run(plan, () => listener(req, res));
      },
  };
}
