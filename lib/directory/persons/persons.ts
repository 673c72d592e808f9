/**
 * Persons and their users. Both are in one document: a person has at most one user.
 *
 * `user-record` holds the user within the person, `users` the service for users. `self-service` decides what users change in their own
 * person. National ids are encrypted, with a keyed hash for look-ups. `removal/person-removal` erases a person, and leaves a remainder until
 * its last events are dispatched.
 */
import { type Static, type TObject, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { personDefaults, personMembers } from '../../store/records/persons.js';
import type { PendingEvent, Person, UserInvitation } from '../../store/records/records.js';
import { isName, type NamedPerson, shownName } from '../../text/person-name.js';
import { inputSchema } from '../../text/schemas.js';
import { type AttributeChanges, changedAttributes, checkAttributes } from '../attributes.js';
import type { DirectoryContext, ExportReader } from '../context.js';
import { resolveGroupIds } from '../groups/group-refs.js';
import type { Groups } from '../groups/groups.js';
import { idFor } from '../identifiers.js';
import { type CheckCurrent, checkInput, defined, isRecord, newRecord, type Patch, patched, patchSchema, withDefaults } from '../input.js';
import { changedNationalId } from '../keyed-hashes/national-ids.js';
import type { Listed } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import type { Subsidiaries } from '../tenants/subsidiaries.js';
import type { Tenants } from '../tenants/tenants.js';
import { voucherFor } from '../vouchers.js';
import { withChangedEmail } from './email-addresses.js';
import type { PersonExport } from './person-export.js';
import { createPersonList, type PersonQuery } from './person-lists.js';
import { createPersonRows, type PersonRows } from './person-rows.js';
import { changedParts, checkOwnChanges, type OwnChanges } from './self-service.js';
import { holdUserId } from './user-ids.js';
import { type JudgeChild, newUser, userInput } from './user-record.js';

const newPersonMembers = withDefaults(personMembers, personDefaults);
const personFields = inputSchema(newPersonMembers);
const personPatch = patchSchema(inputSchema(personMembers));
/** @interface */
export type PersonFields = Static<typeof personFields>;
export type PersonPatch = Patch<Static<TObject<typeof personMembers>>>;

const personInput = inputSchema({
  id: Type.Optional(Type.String()),
  ...newPersonMembers,
  user: Type.Optional(userInput),
});
/** @interface */
export type PersonInput = Static<typeof personInput>;

export interface Persons {
  /**
   * Creates the person and, if given, their user, in one document with the events `PersonCreated` and `UserCreated`. The user is invited
   * unless its `status` is `active`.
   * @param by `self` for self-registration: accounts of `self` come after accounts of the same name that others created. `restore` for a
   * removed user that gets its id again. `seed` for a person who gets the user by another write. `connection` for a person of an upstream
   * provider. Otherwise the invitation of the user. Only `self` and `connection` may leave out attributes that the schema requires, because
   * neither a user nor a provider can give them.
   * @throws IdpError `invalid_record`, `user_name_taken`, `group_unknown`, `group_refs_mixed`; `not_found` when the tenant is unknown;
   * `conflict` when an id, the external id or the national id exists already. A user must not have the id of a client, of an API resource, or
   * of a removed user.
   */
  create(input: PersonInput, by?: 'self' | 'restore' | 'seed' | 'connection' | UserInvitation): Promise<Person>;
  get(id: string): Promise<Person | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<Person>;
  find(page: Page): Promise<readonly Person[]>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: PersonQuery): Promise<Listed<Person>>;
  findByNationalId(nationalId: string): Promise<Person | undefined>;
  /** Returns the national id in clear. @throws IdpError `not_found`, `undecipherable`. */
  readNationalId(id: string): Promise<string | undefined>;
  /**
   * Changes a person. `attributes` are replaced as a whole, and have to match the schema of the option `attributes`. A new `email` is
   * unverified.
   * @throws IdpError `not_found`, `invalid_record`, `conflict`.
   */
  update(id: string, patch: PersonPatch, check?: CheckCurrent<Person>): Promise<Person>;
  /**
   * Changes the person of a user for that user. Attribute the change to the user, by `directory.as`. The event `UserProfileChanged` causes a mail to the
   * user.
   * @throws IdpError `self_service_refused` if the tenant does not allow the change; `not_found`, `invalid_record`.
   */
  updateOwn(id: string, changes: OwnChanges, check?: CheckCurrent<Person>): Promise<Person>;
  /**
   * Returns all stored data of the person, for that person to read.
   * @param reader `person` leaves out what concerns other persons, for a download by the person. @default 'administrator'
   * @throws IdpError `not_found`, `undecipherable`.
   */
  export(id: string, reader?: ExportReader): Promise<PersonExport>;
  /**
   * Erases the person with their user, credentials, consents and invitations. Account links end first.
   * @param judge throws if the account link of one of the user's child accounts must not end
   * @throws IdpError `not_found`.
   */
  remove(id: string, judge?: JudgeChild): Promise<void>;
}

interface Parts {
  readonly tenants: Tenants;
  readonly groups: Groups;
  readonly subsidiaries: Subsidiaries;
  erase(tid: string, personId: string, judge?: JudgeChild): Promise<void>;
  exportOf(tid: string, personId: string, reader?: ExportReader): Promise<PersonExport>;
}

/** Members by which pages and lists name a person who has no user. */
const naming = ['givenName', 'familyName', 'email'] as const;

/** Returns the input with `none` in place of a blank name. */
export const withBlankNames = <Input extends PersonPatch, None extends null | undefined>(input: Input, none: None): Input =>
  Object.fromEntries(
    Object.entries(input).map(([member, value]) => {
      const isBlank = (member === 'givenName' || member === 'familyName') && typeof value === 'string' && !isName(value);
      return [member, isBlank ? none : value];
    }),
  ) as Input;

/** Text of the error for a person without a name, an address and a user. */
export const NAMING = 'at least one of givenName, familyName, email and user';

/** Checks that something names the person. @throws IdpError `invalid_record` @param path of the last such member, which the write removes */
function checkNamed(person: NamedPerson, path = ''): void {
  if (shownName(person) === '') throw new IdpError('invalid_record', { path, expected: NAMING });
}

/** The persons of one tenant. */
interface Scope extends Parts {
  readonly context: DirectoryContext;
  readonly rows: PersonRows;
  readonly nationalIds: ReturnType<DirectoryContext['nationalIds']['forTenant']>;
  readonly tid: string;
}

export function createPersons(context: DirectoryContext, parts: Parts, tid: string): Persons {
  const rows = createPersonRows(context, tid);
  const nationalIds = context.nationalIds.forTenant(tid);
  const scope: Scope = { ...parts, context, rows, nationalIds, tid };
  return {
    get: rows.get,
    require: (id) => requirePerson(scope, id),
    find: (page) => rows.find('byTenant', [], page),
    list: createPersonList(context, rows, tid),
    findByNationalId: (nationalId) => findByNationalId(scope, nationalId),
    async readNationalId(id) {
      const person = await requirePerson(scope, id);
      return person.nationalId === undefined ? undefined : nationalIds.open(id, person.nationalId);
    },
    create: (input, by) => create(scope, input, by),
    update: (id, patch, check) => update(scope, id, patch, check),
    updateOwn: (id, changes, check) => updateOwn(scope, id, changes, check),
    export: (id, reader) => parts.exportOf(tid, id, reader),
    remove: (id, judge) => parts.erase(tid, id, judge),
  };
}

async function requirePerson({ rows }: Scope, id: string): Promise<Person> {
  const person = await rows.get(id);
  if (person === undefined) throw new IdpError('not_found');
  return person;
}

async function findByNationalId({ rows, nationalIds }: Scope, nationalId: string): Promise<Person | undefined> {
  const holders = await Promise.all((await nationalIds.hashes(nationalId)).map((hash) => rows.find('byNationalId', [hash])));
  return holders.flat()[0];
}

async function checkReferences(scope: Scope, id: string, { subsidiaryId, nationalId }: PersonPatch): Promise<void> {
  if (subsidiaryId != null && !(await scope.subsidiaries.get(subsidiaryId))) {
    throw new IdpError('invalid_record', { path: '/subsidiaryId', expected: 'a subsidiary of the tenant' });
  }
  const holder = nationalId == null ? undefined : await findByNationalId(scope, nationalId);
  if (holder && holder.id !== id) throw new IdpError('conflict', { path: '/nationalId' });
}

async function create(scope: Scope, input: PersonInput, by: Parameters<Persons['create']>[1]): Promise<Person> {
  const { context, groups, nationalIds, rows, tid } = scope;
  const { now } = context;
  checkInput(personInput, input);
  const mayLackAttributes = by === 'self' || by === 'connection';
  if (input.attributes !== undefined || !mayLackAttributes)
    checkAttributes(context.attributes, input.attributes ?? personDefaults.attributes);
  await scope.tenants.require(tid);
  const { id: givenId, user: givenUser, nationalId, ...rest } = input;
  const given = withBlankNames(rest, undefined);
  if (by !== 'seed') checkNamed({ ...given, user: givenUser });
  const id = idFor(givenId);
  await checkReferences(scope, id, input);
  const groupIds = givenUser?.groups ? await resolveGroupIds(groups, givenUser.groups) : [];
  const invitation = typeof by === 'object' ? by : undefined;
  const vouchedBy = await voucherFor(context, tid);
  const user = givenUser && {
    ...newUser(givenUser, groupIds, vouchedBy),
    ...(by === 'self' && { isSelfRegistered: true as const }),
    ...(invitation && { invitation }),
  };
  const person = newRecord(now, id, {
    ...personDefaults,
    ...defined(given),
    ...(given.email !== undefined && { emailVouchedBy: by === 'self' ? ({ by: 'person' } as const) : vouchedBy }),
    ...(nationalId === undefined ? {} : await nationalIds.seal(id, nationalId)),
    ...(user && { user }),
    pendingEvents: [],
  });
  const events = [
    pendingEvent(now, 'PersonCreated', tid, { AggregateId: id }),
    ...(user ? [pendingEvent(now, 'UserCreated', tid, { AggregateId: user.id, PersonId: id })] : []),
    ...(user && invitation ? [pendingEvent(now, 'UserInvited', tid, { AggregateId: user.id, InvitationId: invitation.id })] : []),
  ];
  const write = () => rows.insert(withEvents(person, ...events));
  // The service drew the id of a self-registered user at random.
  if (user === undefined || givenUser?.id === undefined || by === 'self') return write();
  return holdUserId(
    context,
    { id: user.id, path: '/user/id', isRestored: by === 'restore' },
    { write, undo: () => undoCreation(scope, person, user.id) },
  );
}

/** Removes a person that was created with the id of an existing user. */
function undoCreation({ context, tid }: Scope, person: Pick<Person, 'id' | 'createdAt'>, userId: string): Promise<boolean> {
  const { id } = person;
  const isOwn = isRecord(person);
  const erased = pendingEvent(context.now, 'PersonErased', tid, { AggregateId: id });
  return context.collections.persons.retire(id, [erased], (row) => row.tid === tid && row.user?.id === userId && isOwn(row));
}

/** A change that users make to their own person. */
interface OwnChange {
  readonly attributes: AttributeChanges | undefined;
  /** Returns events in addition to `PersonUpdated`. */
  events(before: Person, next: Person): readonly PendingEvent[];
}

async function update(
  scope: Scope,
  id: string,
  patch: PersonPatch,
  check: CheckCurrent<Person> | undefined,
  own?: OwnChange,
): Promise<Person> {
  const { context, nationalIds, rows, tid } = scope;
  const { now } = context;
  checkInput(personPatch, patch);
  if (patch.attributes !== undefined) checkAttributes(context.attributes, patch.attributes);
  const person = await requirePerson(scope, id);
  await checkReferences(scope, id, patch);
  const vouchedBy = patch.email == null ? undefined : await voucherFor(context, tid, person);
  const { nationalId, ...rest } = patch;
  const sealed = nationalId == null ? nationalId : await nationalIds.seal(id, nationalId);
  const plain = withBlankNames(rest, null);
  const removed = naming.filter((name) => plain[name] === null);
  return rows.update(id, (row) => {
    check?.(row);
    const isOtherNumber = plain.phoneNumber !== undefined && (plain.phoneNumber ?? undefined) !== row.phoneNumber;
    const members = {
      ...(isOtherNumber && { phoneNumberVerified: false }),
      ...defined(plain),
      ...(own?.attributes && { attributes: changedAttributes(context.attributes, row.attributes, own.attributes) }),
      ...changedNationalId(row, sealed),
    };
    const next = withChangedEmail(now, row, patched(now, row, members), vouchedBy);
    const [last] = removed.filter((name) => row[name] !== undefined);
    if (last !== undefined) checkNamed(next, `/${last}`);
    return changed(row, next, pendingEvent(now, 'PersonUpdated', tid, { AggregateId: id }), ...(own?.events(row, next) ?? []));
  });
}

async function updateOwn(scope: Scope, id: string, changes: OwnChanges, check: CheckCurrent<Person> | undefined): Promise<Person> {
  const { tid } = scope;
  const { now, attributes: rules } = scope.context;
  checkOwnChanges(changes, await scope.tenants.require(tid), rules);
  const { attributes, ...members } = changes;
  return update(scope, id, members, check, {
    attributes,
    events: (before, next) =>
      next.user ? [pendingEvent(now, 'UserProfileChanged', tid, { AggregateId: next.user.id, Parts: changedParts(before, next) })] : [],
  });
}
