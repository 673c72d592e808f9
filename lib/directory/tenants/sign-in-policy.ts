/** Sign-in policy of a tenant. If no method here can meet the policy, nobody signs in, because a weaker sign-in would violate it. */

import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { Tenant } from '../../store/records/records.js';
import { nodeTime } from '../../times/node-time.js';
import type { DirectoryContext, SignInMeans } from '../context.js';

export const PASSWORD = 'password';

/** Means of an instance without extensions. */
export const passwordsAlone: SignInMeans = {
  hasSecondFactor: false,
  offers: (method) => method === PASSWORD,
  methodOf: async () => undefined,
};

/**
 * Returns whether users of the tenant may be linked to accounts of other tenants, as parent or child accounts. Account links that exist
 * stay.
 * @example
 * ```ts
 * import { type Directory, mayLinkAccounts } from 'tenant-idp/extension';
 *
 * export async function tenantsThatLink({ tenants }: Directory): Promise<readonly string[]> {
 *   return (await tenants.find()).filter(mayLinkAccounts).map(({ name }) => name);
 * }
 * ```
 */
export const mayLinkAccounts = (tenant: Pick<Tenant, 'signIn'> | undefined): boolean => tenant?.signIn?.accountLinks !== false;

/** Returns the reason why nobody can sign in to the tenant; undefined if a user can. Returns a promise only if a method has to be looked up. */
export function unmetPolicy(
  { id, signIn: { methods, requireMfa } = {} }: Tenant,
  means: SignInMeans,
): string | undefined | Promise<string | undefined> {
  if (requireMfa && !means.hasSecondFactor) return 'signIn.requireMfa: no second factor is offered here';
  if (methods === undefined) return undefined;
  const offered = methods.map((method) => means.offers(method, id));
  const unmet = (isOffered: readonly boolean[]) => (isOffered.includes(true) ? undefined : 'signIn.methods: none of them is offered here');
  return offered.some((each) => each instanceof Promise) ? Promise.all(offered).then(unmet) : unmet(offered as readonly boolean[]);
}

/** Finds tenants whose policy no sign-in method can meet, and logs them. */
export interface PolicyWatch {
  /** Checks all tenants, and logs tenants whose policy no sign-in method can meet. */
  begin(): Promise<void>;
  /** Logs a refusal with its reason, once a minute. Call the method when a user wants to sign in to the tenant, or to continue a sign-in. */
  wanted(tenant: Tenant, reason: string | undefined): void;
  /** Returns whether the sign-in method exists now. */
  readonly offers: SignInMeans['offers'];
  problems(): readonly { readonly code: 'policy_unmet'; readonly collection: 'tenants'; readonly id: string }[];
}

const PAGE = 200;
const LOG_INTERVAL_MS = 60_000;

export function createPolicyWatch(
  { collections, caches, means }: Pick<DirectoryContext, 'collections' | 'caches' | 'means'>,
  logger: Logger,
): PolicyWatch {
  /** Time of the last logged refusal, by tenant. */
  const unmet = new Map<string, number>();

  const recheck = async (tid: string): Promise<void> => {
    const tenant = await collections.tenants.get(tid);
    if (tenant === undefined || (await unmetPolicy(tenant, means)) === undefined) unmet.delete(tid);
  };
  // Tenants that cannot be read now are read again at the next change.
  caches.watch('tenants', () => void Promise.all([...unmet.keys()].map(recheck)).catch(() => undefined));

  return {
    async begin() {
      const unmetTenants: { readonly tid: string; readonly reason: string }[] = [];
      for (let after: string | undefined; ; ) {
        const tenants = await collections.tenants.find({}, { limit: PAGE, ...present({ after }) });
        for (const tenant of tenants) {
          const reason = await unmetPolicy(tenant, means);
          if (reason !== undefined) unmetTenants.push({ tid: tenant.id, reason });
        }
        after = tenants.at(-1)?.id;
        if (tenants.length < PAGE) break;
      }
      for (const { tid } of unmetTenants) unmet.set(tid, nodeTime());
      if (unmetTenants.length > 0)
        logger.warn({ tenants: unmetTenants }, 'nobody can sign in to these tenants, because no sign-in method meets their policy');
    },

    wanted(tenant, reason) {
      if (reason === undefined) {
        // The method exists again.
        if (unmet.size > 0) unmet.delete(tenant.id);
        return;
      }
      if (nodeTime() - (unmet.get(tenant.id) ?? 0) < LOG_INTERVAL_MS) return;
      unmet.set(tenant.id, nodeTime());
      logger.warn({ tid: tenant.id, reason }, 'sign-in refused, because no sign-in method meets the policy of the tenant');
    },

    offers: (method, tid) => means.offers(method, tid),
    problems: () => [...unmet.keys()].map((id) => ({ code: 'policy_unmet', collection: 'tenants', id })),
  };
}
