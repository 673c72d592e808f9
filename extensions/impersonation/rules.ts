/**
 * Rules of who may impersonate whom. The operator has the permission by their own account in the target's tenant. The target is not privileged. Neither the
 * target's account nor a linked account has the permission, or a permission of the admin API, in any tenant.
 */
import { type Account, type ExtensionContext, isUsable } from '../../lib/extension-door.js';

/** Account that prevents an impersonation: the operator's account (`permission`), or the target's account. */
export type Obstacle = 'permission' | 'target';

export interface Rules {
  /** Returns the accounts that may impersonate users of their tenant. */
  operatorsAmong(accounts: readonly Account[]): Promise<readonly Account[]>;
  /** Returns why the operator may not impersonate the target; undefined if the operator may. Applied at the start and at each later use. */
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
      // Linked accounts have the same `sub`, so the operator would impersonate themself.
      const family = await accounts.family(target.person);
      if (family.some(({ person }) => person.user.id === operator.person.user.id)) return 'target';
      // Privileges are read without caches, because another node may have just granted a privilege. A record that cannot be read counts as a privilege.
      return (await privileges.of((target.owner ?? target).person)).length > 0 ? 'target' : undefined;
    },
  };
}
