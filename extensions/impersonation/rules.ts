/**
 * Who may act as whom. An operator holds the permission in the target's tenant, by their own account there. The target is nobody who is privileged: neither
 * its own account nor one that is linked to it has the permission, or any of the admin API, in whichever tenant.
 */
import { type Account, type ExtensionContext, isUsable } from '../../lib/extension-door.js';

/** Whose account stands in the way. */
export type Obstacle = 'permission' | 'target';

export interface Rules {
  /** Those of these accounts that may act as others in their tenant. */
  operatorsAmong(accounts: readonly Account[]): Promise<readonly Account[]>;
  /** Why one may not act as the other; undefined where they may. Asked at the start, and at each use from then on. */
  obstacleTo(operator: Account, target: Account): Promise<Obstacle | undefined>;
}

export function createRules({
  directory,
  impersonation: { rules: impersonation },
}: Pick<ExtensionContext, 'directory' | 'impersonation'>): Rules {
  const { accounts, privileges } = directory;

  const isOperator = async (account: Account): Promise<boolean> => {
    if (!impersonation || !isUsable(account)) return false;
    const groups = await accounts.groups(account.person);
    return groups.some(({ permissionIds }) => permissionIds.includes(impersonation.permission));
  };

  return {
    async operatorsAmong(all) {
      const areOperators = await Promise.all(all.map(isOperator));
      return all.filter((_, index) => areOperators[index]);
    },

    async obstacleTo(operator, target) {
      if (operator.tenant.id !== target.tenant.id || !(await isOperator(operator))) return 'permission';
      if (!isUsable(target)) return 'target';
      // Both of one family have the same sub: one of them acted as themself.
      const family = await accounts.family(target.person);
      if (family.some(({ person }) => person.user.id === operator.person.user.id)) return 'target';
      // Past every cache, because another node may have granted a privilege a moment ago. What cannot be read counts as one.
      return (await privileges.of((target.owner ?? target).person)).length > 0 ? 'target' : undefined;
    },
  };
}
