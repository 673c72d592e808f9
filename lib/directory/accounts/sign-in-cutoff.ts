/**
 * Cut-offs: changes that end sign-ins, such as disabling a user. Every change of this kind runs in `withCutoff`, so that its answer means that the
 * sign-ins have ended on every node.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caches } from '../../store/caches/cache.js';
import { collections } from '../../store/records/collections.js';
import type { ClientCutoff, CutoffTime, EndedAccess, NextNotBefore, SignInCutoff, WithCutoff } from '../context.js';
import type { Deliveries, Enqueued } from '../outbox/deliveries.js';
import type { RecentCutoffs } from './recent-cutoffs.js';

/** Kind of the delivery after which the listener checks again which sign-ins have ended. */
const KIND = 'void-sign-ins';

/**
 * Milliseconds after the change at which a cut-off is answered, whether its sign-ins have ended in the store or not. By then, no node answers from a
 * cached row that is older than the change.
 */
export const LATEST_ANSWER_MS = 3_000;

/** The store of sign-ins, as cut-offs use it. */
export interface SignIns {
  /** Ends the sign-ins of a cut-off. If a cut-off is returned, that cut-off is delivered later. If the method throws, the cut-off is delivered again. */
  end(cutoff: SignInCutoff): Promise<SignInCutoff | undefined>;
  /** Returns the time of the newest record that a cut-off is to end, in milliseconds since the epoch; 0 if there is none. */
  newest(ended: EndedAccess): Promise<number>;
}

/** Registers the store of sign-ins. */
export type OnSignInCutoff = (signIns: SignIns) => void;

export interface SignInCutoffs {
  /** @param complete completes the change of a cut-off of one client, whose node may have died before the change was complete */
  on(signIns: SignIns, complete: (cutoff: ClientCutoff) => Promise<void>): void;
  /** Ends the sign-ins of a cut-off now. */
  cutOff(cutoff: SignInCutoff): Promise<void>;
  readonly withCutoff: WithCutoff;
  readonly cutoffTime: CutoffTime;
}

export interface SignInCutoffsParts {
  readonly deliveries: Pick<Deliveries, 'enqueue' | 'handle'>;
  readonly caches: Pick<Caches, 'changed'>;
  readonly recent: Pick<RecentCutoffs, 'note'>;
  /** Returns the time by which sign-ins are stored. */
  readonly now: () => number;
}

export function createSignInCutoffs({ deliveries: { enqueue, handle }, caches, recent, now }: SignInCutoffsParts): SignInCutoffs {
  let signIns: SignIns | undefined;

  const cutoffTime: CutoffTime = async (ended) => Math.max(now(), (await signIns?.newest(ended).catch(() => 0)) ?? 0);

  /** Returns the start of the next second, because sign-in times have whole seconds. A sign-in in that second is the first valid sign-in. */
  const nextNotBefore =
    (time: number): NextNotBefore =>
    ({ notBefore }) =>
      new Date((Math.floor(Math.max(now(), time, notBefore?.getTime() ?? 0) / 1000) + 1) * 1000);

  /** Notes the cut-off of a user. The cut-off of one client is not noted, because it changes no answer about the user to other clients. */
  const noted = async (cutoff: Exclude<SignInCutoff, { readonly tid: string }>): Promise<void> => {
    if (!('clientId' in cutoff)) await recent.note(cutoff.oid);
  };

  return {
    on(given, complete) {
      signIns = given;
      handle(KIND, async ({ data }) => {
        const cutoff = data as unknown as SignInCutoff;
        // Caches may hold the former tenant, if a node crashed after its write and before it notified them.
        if ('tid' in cutoff) await caches.changed(collections.tenants.name, cutoff.tid);
        // The node that made the change may have died before it noted the cut-off, and before it notified the caches.
        else await noted(cutoff);
        if ('clientId' in cutoff) await complete(cutoff);
        const left = await given.end(cutoff);
        if (left) (await enqueue([{ kind: KIND, data: { ...left } }])).release();
      });
    },
    async cutOff(cutoff) {
      await signIns?.end(cutoff);
    },
    cutoffTime,
    async withCutoff(cutoff, change) {
      const endsUser = 'oid' in cutoff && !('clientId' in cutoff);
      const time = endsUser ? cutoffTime(cutoff) : undefined;
      const delivery = await enqueue([{ kind: KIND, data: { ...cutoff } }]);
      const changed = await change(nextNotBefore((await time) ?? 0));
      // The sign-ins of a whole tenant may be too many to wait for. The row of the tenant is on every node within a second.
      if ('tid' in cutoff || signIns === undefined) delivery.release();
      else await endBeforeAnswer(Promise.all([noted(cutoff), signIns.end(cutoff)]), delivery);
      return changed;
    },
  };
}

/**
 * Waits until the sign-ins have ended in the store, and removes the delivery. If the store is unavailable or slow, waits until every node knows the change
 * from the directory. The delivery then ends the sign-ins.
 */
async function endBeforeAnswer(ending: Promise<unknown>, delivery: Enqueued): Promise<void> {
  const waiting = new AbortController();
  const latest = sleep(LATEST_ANSWER_MS, false, waiting).catch(() => false);
  // The delivery repeats a failed attempt, and logs its failure.
  const isEnded = await Promise.race([ending.then(() => true).catch(() => latest), latest]);
  waiting.abort();
  if (!isEnded) return delivery.release();
  // A delivery that stays ends the same sign-ins again, which changes nothing.
  await delivery.withdraw().catch(() => undefined);
}
