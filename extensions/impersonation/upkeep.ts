/** Upkeep of impersonations outside their pages: whether a sign-in may continue, the end by time or by rule, and the retention of rows. */

import type { ExtensionContext, ImpersonationRule, Job } from '../../lib/extension-door.js';
import { present } from '../../lib/extension-door.js';
import { idOf, type Lifecycle } from './lifecycle.js';
import { type ImpersonationRow, impersonations } from './records.js';

/** Seconds between two runs. Applications are notified at most this late of an end that no request causes. */
const INTERVAL_SECONDS = 2;
const PAGE = 100;

export const impersonationRule = (lifecycle: Lifecycle): ImpersonationRule => ({
  async mayGoOn({ name, oid }) {
    const row = await lifecycle.find(idOf(name) ?? '');
    return row?.targetOid === oid && (await lifecycle.endOf(row)) === undefined;
  },
  async ending(name, { isAsked, requestId }) {
    const row = await lifecycle.find(idOf(name) ?? '');
    if (!row || row.endedAt) return;
    const by = { actor: `user:${row.operator.oid}`, ...present({ requestId }) };
    if (isAsked) await lifecycle.close(row.tid, row.id, 'operator', by);
    else await lifecycle.close(row.tid, row.id, (await lifecycle.endOf(row)) ?? 'sign-out');
  },
});

export function jobs(context: ExtensionContext, lifecycle: Lifecycle): readonly Job[] {
  const {
    records: { collection, collectionOfAllTenants },
    service: { lifetimes, logger, now },
  } = context;
  const rows = () => collectionOfAllTenants(impersonations);

  async function endDue(row: ImpersonationRow): Promise<void> {
    try {
      const end = await lifecycle.endOf(row);
      if (end !== undefined) await lifecycle.end(row.tid, row.id, end);
    } catch (err) {
      logger.error({ err, impersonation: row.id }, 'the service could not end an impersonation, and retries');
    }
  }

  return [
    {
      name: 'impersonation.ends',
      intervalSeconds: INTERVAL_SECONDS,
      async run({ signal }) {
        for (let after: string | undefined; !signal.aborted; ) {
          const page = await rows().find('byOpen', ['yes'], { limit: PAGE, ...present({ after }) });
          for (const row of page) if (!signal.aborted) await endDue(row);
          after = page.at(-1)?.id;
          if (page.length < PAGE) return;
        }
      },
    },
    {
      name: 'impersonation.retention',
      intervalSeconds: 600,
      async run({ signal }) {
        const below = new Date(now() - lifetimes.events * 1000);
        for (;;) {
          const page = await rows().range({ index: 'byEnd', within: [], below, limit: PAGE });
          for (const { tid, id } of page) if (!signal.aborted) await collection(impersonations, tid).remove(id);
          if (signal.aborted || page.length < PAGE) return;
        }
      },
    },
  ];
}
