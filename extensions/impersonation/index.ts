/**
 * Impersonation: `impersonate` in `acr_values`, for users who have the permission that the option `impersonation` names.
 *
 * `rules` decides who may impersonate whom, and is applied at every use. `flow` starts an impersonation, for a user that `targets` finds. `end-page` ends
 * it. Each impersonation is a row of `records`. `lifecycle` writes the row and its event before any token, and ends the row before the sign-in. `upkeep`
 * ends impersonations that are due without a request. `operations` is the admin API, `notice` the mail to the impersonated user, and `banner` the script
 * that applications include.
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
    // Deliveries that wait are sent even after the option stops the notices.
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
