import { IdpError } from '../../errors.js';
import type { PersonWithUser, User } from '../../store/records.js';
import type { DirectoryContext } from '../context.js';
import { type GroupRefs, groupRefs, resolveGroupIds } from '../groups/group-refs.js';
import type { Groups } from '../groups/groups.js';
import { userNameKey } from '../identifiers.js';
import { checkInput, type Patch, patched } from '../input.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createPersonRows } from './person-rows.js';
import { changedUser, hasUser, newUser, type UserFields, type UserInput, userInput, userPatch } from './user-record.js';

/** The users of a tenant. Each answer is the person's document, which holds the user. */
export interface Users {
  /**
   * Gives a person a user: an invited one, who cannot sign in, unless `status` says `active`.
   * @throws IdpError `not_found`, `person_has_user`, `invalid_record`, `user_name_taken`, `group_unknown`, `group_refs_mixed`.
   */
  create(personId: string, input: UserInput): Promise<PersonWithUser>;
  get(userId: string): Promise<PersonWithUser | undefined>;
  /** @throws IdpError `not_found`. */
  require(userId: string): Promise<PersonWithUser>;
  findByUserName(userName: string): Promise<PersonWithUser | undefined>;
  /** @throws IdpError `not_found`, `invalid_record`, `user_name_taken`. */
  update(userId: string, patch: Patch<UserFields>): Promise<PersonWithUser>;
  /** Makes these the user's groups. @throws IdpError `not_found`, `group_unknown`, `group_refs_mixed`; nothing is written then. */
  setGroups(userId: string, refs: GroupRefs): Promise<PersonWithUser>;
  /** Ends every sign-in of the user, tells the clients, and allows no other. @throws IdpError `not_found`. */
  disable(userId: string): Promise<PersonWithUser>;
  /** Gives a disabled user the status from before, `invited` or `active`. @throws IdpError `not_found`. */
  enable(userId: string): Promise<PersonWithUser>;
  /** Lets an invited user sign in; a disabled one once it is enabled. @throws IdpError `not_found`. */
  activate(userId: string): Promise<PersonWithUser>;
  /** Voids every sign-in before this moment, and tells the clients. @throws IdpError `not_found`. */
  signOutEverywhere(userId: string): Promise<PersonWithUser>;
}

export function createUsers(context: DirectoryContext, groups: Groups, tid: string): Users {
  const rows = createPersonRows(context, tid);

  const change = (userId: string, changes: Partial<User>, ...events: Parameters<typeof pendingEvent>[]) =>
    rows.updateByUser(userId, (row) => {
      const next = patched(row, { user: { ...row.user, ...changes } });
      return next === row ? row : withEvents(next, ...events.map((event) => pendingEvent(...event)));
    });

  return {
    get: rows.getByUser,
    require: rows.requireByUser,
    findByUserName: (userName) => rows.getByUserName(userNameKey(userName)),

    async create(personId, input) {
      checkInput(userInput, input);
      if (!(await rows.get(personId))) throw new IdpError('not_found');
      const user = newUser(input, input.groups ? await resolveGroupIds(groups, input.groups) : []);
      const person = await rows.update(personId, (row) => {
        if (row.user) throw new IdpError('person_has_user');
        const event = pendingEvent('UserCreated', tid, { AggregateId: user.id, PersonId: personId });
        return withEvents({ ...row, user, updatedAt: new Date() }, event);
      });
      if (!hasUser(person)) throw new IdpError('not_found');
      return person;
    },

    async update(userId, patch) {
      checkInput(userPatch, patch);
      const { id } = await rows.requireByUser(userId);
      return change(userId, changedUser(patch), ['PersonUpdated', tid, { AggregateId: id }]);
    },

    async setGroups(userId, refs) {
      checkInput(groupRefs, refs);
      await rows.requireByUser(userId);
      const groupIds = await resolveGroupIds(groups, refs);
      return change(userId, { groupIds }, ['UserGroupsChanged', tid, { AggregateId: userId, GroupIds: groupIds }]);
    },

    disable: (userId) =>
      context.withCutoff({ oid: userId }, (nextNotBefore) =>
        rows.updateByUser(userId, (row) => {
          if (row.user.status === 'disabled') return row;
          const now = new Date();
          const { status: statusBefore } = row.user;
          const user = { ...row.user, status: 'disabled' as const, statusBefore, notBefore: nextNotBefore(row.user) };
          return withEvents({ ...row, user, updatedAt: now }, pendingEvent('UserDisabled', tid, { AggregateId: userId }));
        }),
      ),
    enable: (userId) =>
      rows.updateByUser(userId, (row) => {
        const { statusBefore = 'active', ...user } = row.user;
        return user.status === 'disabled' ? { ...row, user: { ...user, status: statusBefore }, updatedAt: new Date() } : row;
      }),
    activate: (userId) =>
      rows.updateByUser(userId, (row) =>
        patched(row, { user: { ...row.user, [row.user.status === 'disabled' ? 'statusBefore' : 'status']: 'active' } }),
      ),
    signOutEverywhere: (userId) =>
      context.withCutoff({ oid: userId }, (nextNotBefore) =>
        rows.updateByUser(userId, (row) => ({ ...row, user: { ...row.user, notBefore: nextNotBefore(row.user) }, updatedAt: new Date() })),
      ),
  };
}
