/**
 * Impersonations as somebody else: `impersonate` in `acr_values`, for who holds the permission that the option `impersonation` names.
 *
 * `rules` says who may act as whom, and is asked at every use. `flow` has the pages of the beginning, `end-page` the one of the end. Each impersonation is a
 * row of `records`, kept by `lifecycle`: it is there before any token, with its event, and ends before its sign-in does. `upkeep` ends what nobody comes
 * back for. `operations` is the admin API, `notice` the mail to who is acted as, and `banner` what applications show.
 */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { bannerRoutes } from './banner.js';
import { endPageRoutes } from './end-page.js';
import { createRequirement, Flow } from './flow.js';
import { createLifecycle } from './lifecycle.js';
import { createSendNotice, listenForStarts, NOTICE, sentNotices } from './notice.js';
import { impersonationOperations } from './operations.js';
import { impersonations } from './records.js';
import { createRules } from './rules.js';
import { texts } from './texts/index.js';
import { impersonationRule, jobs } from './upkeep.js';

/** The parts of one service. */
const partsOf = perContext((context) => {
  const rules = createRules(context);
  const lifecycle = createLifecycle(context, rules);
  const flow = new Flow({ context, lifecycle, rules });
  return { lifecycle, flow, requirement: createRequirement(context, rules, flow) };
});

export function impersonation(): Extension {
  return {
    name: 'impersonation',
    collections: [impersonations],
    events: ['ImpersonationStarted', 'ImpersonationEnded'],
    artifacts: [sentNotices],
    texts,
    requirements: (context) => (context.impersonation.rules ? [partsOf(context).requirement] : []),
    endImpersonationAt: ({ impersonation, service: { own, url } }) => (impersonation.rules ? url(`${own}/impersonation`) : undefined),
    impersonation: (context) => impersonationRule(partsOf(context).lifecycle),
    routes(router, context) {
      partsOf(context).flow.routes(router);
      endPageRoutes(router, context, partsOf(context).lifecycle);
      if (context.impersonation.rules) bannerRoutes(router, context);
    },
    resources: (context) => impersonationOperations(context, partsOf(context).lifecycle),
    // What waits is sent where users are not told any more, too.
    deliveries: (context) => (context.work.mail ? { [NOTICE]: createSendNotice(context, context.work.mail) } : {}),
    start(context) {
      if (context.impersonation.rules?.notify) listenForStarts(context);
    },
    jobs: (context) => jobs(context, partsOf(context).lifecycle),
    async health({ impersonation, directory }) {
      if (!impersonation.rules || (await directory.permissions.get(impersonation.rules.permission))) return [];
      return [{ code: 'impersonation_permission_missing', id: impersonation.rules.permission }];
    },
  };
}
