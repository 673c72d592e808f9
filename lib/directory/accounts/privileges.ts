/**
 * Privileges, and which callers may grant or reach them. A privilege is a permission of the admin API or of impersonation. The permission
 * counts together with the tenant in which an account has it: `idp.users:write` of one tenant has no effect in another.
 *
 * The rules read the store, past every cache, because another node may have granted a permission a moment ago. A record that cannot be read
 * counts as a privilege that no caller holds.
 */

import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { Page } from '../../store/directory-store.js';
import { positionBehind } from '../../store/index-order.js';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import type { Group, Person, PersonWithUser } from '../../store/records/records.js';
import type { Authority, DirectoryContext, Privilege } from '../context.js';
import { MOST_SINGLE_READS } from '../read-many.js';

/** Groups of a tenant, by their ids. */
export interface GroupsOfTenant {
  readonly tid: string;
  readonly groupIds: readonly string[];
}

export interface Privileges {
  /** Returns the privileges that these groups give to their members. */
  ofGroups(groups: readonly Pick<Group, 'tid' | 'permissionIds'>[]): readonly Privilege[];
  /** Returns the privileges that the groups with these ids give to their members, as stored now. */
  ofGroupIds(groups: GroupsOfTenant): Promise<readonly Privilege[]>;
  /**
   * Returns the privileges that a sign-in as the person opens. For a parent account, the result includes the privileges of its linked
   * accounts. For a child account, the result has only the privileges of the child account.
   */
  of(person: PersonWithUser): Promise<readonly Privilege[]>;
  /**
   * Returns whether the caller may do something that could let another user sign in as the person. Examples are to write an address or an
   * identity, mail a link, remove a factor, or enable the user. The caller must administer the tenant of each privilege of {@link of}, and hold
   * its permission. A caller of all tenants always may.
   */
  mayBecome(caller: Authority, person: PersonWithUser): Promise<boolean>;
  /**
   * Returns whether the caller may change how all users of a tenant sign in. Each group of the tenant counts, with members or without,
   * because users join a group later.
   */
  mayBecomeAnyone(caller: Authority, tid: string): Promise<boolean>;
  /**
   * Returns whether the caller may create or change a client with `trustedLoginHint`, which signs in every user of the tenants that it may
   * serve. The caller must administer all tenants. The caller must also hold each scope of the admin API that a group of any tenant gives, with
   * members or without.
   */
  mayTrustHints(caller: Authority): Promise<boolean>;
  /**
   * Returns whether the caller may put a user into the groups. Only a caller of all tenants gives privileges to a linked user.
   * @param user absent for a new user
   */
  mayGrant(caller: Authority, groups: GroupsOfTenant, user?: PersonWithUser['user']): Promise<boolean>;
  /**
   * Returns whether the caller may take the groups away from a user, linked or not, or remove them. A connection or a job may give the groups
   * back later.
   */
  mayTake(caller: Authority, groups: GroupsOfTenant): Promise<boolean>;
  /** Returns whether the caller may take these permissions out of a group. */
  mayTakePermissions(caller: Authority, group: Pick<Group, 'tid' | 'permissionIds'>): boolean;
  /**
   * Checks the child account of a new account link, because the parent account will sign in as the child account. @throws IdpError `link_privileged` for a
   * person who has any privilege.
   */
  checkNone(person: PersonWithUser): Promise<void>;
}

const PAGE = 200;
/** Groups whose linked members are looked for at the same time. */
const AT_ONCE = 20;

/** @param others permissions that count as the permissions of the admin API do */
export const createPrivileges = (context: PrivilegeParts, others: readonly string[] = []): Privileges =>
  new StoredPrivileges(context, others);

type PrivilegeParts = Pick<DirectoryContext, 'collections' | 'isPrivileged'>;

class StoredPrivileges implements Privileges {
  readonly #isPrivileged: PrivilegeParts['isPrivileged'];
  readonly #others: readonly string[];
  readonly #groups: PrivilegeParts['collections']['groups'];
  readonly #allGroups: ReturnType<PrivilegeParts['collections']['groups']['withUnreadable']>;
  readonly #allPersons: ReturnType<PrivilegeParts['collections']['persons']['withUnreadable']>;

  constructor({ collections, isPrivileged }: PrivilegeParts, others: readonly string[]) {
    this.#isPrivileged = isPrivileged;
    this.#others = others;
    this.#groups = collections.groups;
    this.#allGroups = collections.groups.withUnreadable();
    this.#allPersons = collections.persons.withUnreadable();
  }

  ofGroups(groups: readonly Pick<Group, 'tid' | 'permissionIds'>[]): readonly Privilege[] {
    return groups.flatMap(({ tid, permissionIds }) =>
      permissionIds.filter(this.#isPrivileged).map((permissionId) => ({ tid, permissionId })),
    );
  }

  #ofRow(group: Group): readonly Privilege[] {
    return this.#allGroups.isReadable(group) ? this.ofGroups([group]) : [{ tid: group.tid }];
  }

  /** Reads many groups by one call of the store. Ids that the tenant's rows do not have are read one by one, because a damaged row may have no tenant. */
  async ofGroupIds(given: GroupsOfTenant): Promise<readonly Privilege[]> {
    const { tid, groupIds } = given;
    if (groupIds.length <= MOST_SINGLE_READS) return this.#ofFewGroups(given);
    const wanted = new Set(groupIds);
    const own = (await this.#allGroups.find({ byTenant: [tid] })).filter(({ id }) => wanted.delete(id));
    const others = wanted.size > MOST_SINGLE_READS ? [{ tid }] : await this.#ofFewGroups({ tid, groupIds: [...wanted] });
    return [...own.flatMap((group) => this.#ofRow(group)), ...others];
  }

  async #ofFewGroups({ tid, groupIds }: GroupsOfTenant): Promise<readonly Privilege[]> {
    const privileges = await Promise.all(
      groupIds.map(async (id) => {
        const group = await this.#groups.get(id);
        if (group) return group.tid === tid ? this.ofGroups([group]) : [];
        return (await this.#groups.unreadable(id)) ? [{ tid }] : [];
      }),
    );
    return privileges.flat();
  }

  /**
   * Returns a privilege that no caller holds for each unreadable child account. The look-up by parent account may miss a damaged child
   * account; the parent account's list has it.
   */
  async #ofHidden({ tid, user }: PersonWithUser, children: readonly Person[]): Promise<readonly Privilege[]> {
    const hidden = (user.childUserIds ?? []).filter((id) => !children.some((child) => child.user?.id === id));
    const rows = await Promise.all(hidden.map((id) => this.#allPersons.find({ byUser: [id] })));
    return rows.flatMap(([row]) => (row && this.#allPersons.isReadable(row) ? [] : [{ tid }]));
  }

  of(person: PersonWithUser): Promise<readonly Privilege[]> {
    return this.#ofPerson(person);
  }

  async #ofPerson(person: PersonWithUser): Promise<readonly Privilege[]> {
    if (!this.#allPersons.isReadable(person)) return [{ tid: person.tid }];
    const isChild = person.user.parentUserId !== undefined;
    const children = isChild ? [] : await this.#allPersons.find({ byParent: [person.user.id] });
    const ofFamily = [person, ...children].map((row: Person) => {
      const groupIds = this.#allPersons.isReadable(row) ? row.user?.groupIds : undefined;
      return groupIds === undefined ? [{ tid: row.tid }] : this.ofGroupIds({ tid: row.tid, groupIds });
    });
    return (await Promise.all([...ofFamily, this.#ofHidden(person, children)])).flat();
  }

  /** Returns whether a parent account in the tenant has a child account in the group, which may be of any tenant. */
  async #hasChildOf(tid: string, group: Group): Promise<boolean> {
    for await (const children of pages((page) => this.#allPersons.find({ ofGroupLinked: [group.id, 'yes'] }, page)))
      for (const { user } of children) {
        const [parent] = await this.#allPersons.find({ byUser: [String(user?.parentUserId)] });
        if (parent?.tid === tid) return true;
      }
    return false;
  }

  async mayBecome(caller: Authority, person: PersonWithUser): Promise<boolean> {
    return caller.ofAllTenants || isHeld(caller, await this.#ofPerson(person));
  }

  async mayBecomeAnyone(caller: Authority, tid: string): Promise<boolean> {
    if (caller.ofAllTenants) return true;
    const own = await this.#allGroups.find({ byTenant: [tid] });
    if (
      !isHeld(
        caller,
        own.flatMap((group) => this.#ofRow(group)),
      )
    )
      return false;
    // Only a caller of all tenants can create such groups and put linked users into them, so no other caller can make this list long.
    for (const where of [{ withAdminScope: ['yes'] }, ...this.#others.map((id) => ({ byPermission: [id] }))])
      for await (const groups of pages((page) => this.#allGroups.find(where, page))) {
        const exceeding = groups.filter((group) => group.tid !== tid && !isHeld(caller, this.#ofRow(group)));
        while (exceeding.length > 0) {
          const answers = await Promise.all(exceeding.splice(0, AT_ONCE).map((group) => this.#hasChildOf(tid, group)));
          if (answers.includes(true)) return false;
        }
      }
    return true;
  }

  async mayTrustHints(caller: Authority): Promise<boolean> {
    if (!caller.ofAllTenants) return false;
    const isOfAdminApi = ({ permissionId }: Privilege): boolean => permissionId === undefined || isAdminScope(permissionId);
    for await (const groups of pages((page) => this.#allGroups.find({ withAdminScope: ['yes'] }, page)))
      if (!isHeld(caller, groups.flatMap((group) => this.#ofRow(group)).filter(isOfAdminApi))) return false;
    return true;
  }

  async mayGrant(caller: Authority, given: GroupsOfTenant, user?: PersonWithUser['user']): Promise<boolean> {
    if (caller.ofAllTenants) return true;
    const granted = await this.ofGroupIds(given);
    return user?.parentUserId === undefined ? isHeld(caller, granted) : granted.length === 0;
  }

  async mayTake(caller: Authority, groups: GroupsOfTenant): Promise<boolean> {
    return caller.ofAllTenants || isHeld(caller, await this.ofGroupIds(groups));
  }

  mayTakePermissions(caller: Authority, group: Pick<Group, 'tid' | 'permissionIds'>): boolean {
    return caller.ofAllTenants || isHeld(caller, this.ofGroups([group]));
  }

  /** Checks that the person has no privilege. The check is an arrow function, because callers pass it on. */
  readonly checkNone = async (person: PersonWithUser): Promise<void> => {
    if ((await this.#ofPerson(person)).length > 0) throw new IdpError('link_privileged');
  };
}

/** Compares privileges with the privileges of a caller. A permission of another tenant does not count. */
const isHeld = ({ administers, holds }: Authority, privileges: readonly Privilege[]): boolean =>
  privileges.every(({ tid, permissionId }) => permissionId !== undefined && administers(tid) && holds(permissionId));

async function* pages<R extends { readonly id: string }>(read: (page: Page) => Promise<readonly R[]>): AsyncGenerator<readonly R[]> {
  for (let after: string | undefined; ; ) {
    const rows = await read({ limit: PAGE, ...present({ after }) });
    yield rows;
    after = positionBehind(rows, after);
    if (rows.length < PAGE || after === undefined) return;
  }
}
