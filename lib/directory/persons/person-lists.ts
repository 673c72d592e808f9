import { type Static, Type } from '@sinclair/typebox';
import type { Person, PersonWithUser } from '../../store/records/records.js';
import { comparedAddress, comparedUserNames } from '../../text/compared.js';
import { LONGEST_ADDRESS } from '../../text/email-address.js';
import { inputSchema, LINE_LENGTH, SHOWN_NAME_LENGTH, USER_NAME_LENGTH } from '../../text/schemas.js';
import type { DirectoryContext } from '../context.js';
import { type Along, createList, inOrder, type Listed, listQuery, ofStatus } from '../lists/list.js';
import type { PersonRows } from './person-rows.js';
import { hasUser } from './user-record.js';

const text = (maxLength: number) => Type.Optional(Type.String({ minLength: 1, maxLength }));
const personQuery = {
  ...listQuery,
  /** Start of the name that pages show, whatever its case. A list with this filter is sorted by name. */
  name: text(SHOWN_NAME_LENGTH),
  /** One of the person's addresses; case does not matter. */
  email: text(LONGEST_ADDRESS),
  /** User name; case does not matter. */
  userName: text(USER_NAME_LENGTH),
  externalId: text(LINE_LENGTH),
};
export const personQuerySchema = inputSchema(personQuery);
/** @interface */
export type PersonQuery = Static<typeof personQuerySchema>;

const userQuery = {
  ...personQuery,
  status: Type.Optional(Type.Union([Type.Literal('invited'), Type.Literal('active'), Type.Literal('disabled')])),
};
export const userQuerySchema = inputSchema(userQuery);
/** @interface */
export type UserQuery = Static<typeof userQuerySchema>;

const withUser: Along = { name: 'withUserInOrderOfName', createdAt: 'withUserInOrderOfCreation', within: ['yes'] };

export const createPersonList = (
  context: DirectoryContext,
  rows: PersonRows,
  tid: string,
): ((query?: PersonQuery) => Promise<Listed<Person>>) =>
  createList<Person, PersonQuery>(context, {
    ...partsOf(rows, tid),
    properties: personQuery,
    along: () => inOrder,
    fits,
  });

/** Returns the users, as their persons. */
export const createUserList = (
  context: DirectoryContext,
  rows: PersonRows,
  tid: string,
): ((query?: UserQuery) => Promise<Listed<PersonWithUser>>) =>
  createList<Person, UserQuery>(context, {
    ...partsOf(rows, tid),
    properties: userQuery,
    along: ({ status }) => (status === undefined ? withUser : ofStatus(status)),
    fits: (row, query) => hasUser(row) && fits(row, query) && (query.status === undefined || row.user.status === query.status),
  }) as (query?: UserQuery) => Promise<Listed<PersonWithUser>>;

const partsOf = (rows: PersonRows, tid: string) =>
  ({
    collection: 'persons',
    tid,
    range: rows.range,
    all: () => rows.find('byTenant', []),
    lookUp({ email, userName, externalId }: PersonQuery) {
      if (userName !== undefined) return rows.getByUserName(userName).then((person) => (person ? [person] : []));
      if (externalId !== undefined) return rows.find('byExternalId', [externalId]);
      return email === undefined ? undefined : byEmail(rows, comparedAddress(email));
    },
  }) as const;

async function byEmail(rows: PersonRows, key: string): Promise<readonly Person[]> {
  const [first, second] = await Promise.all([rows.find('byEmail', [key]), rows.find('bySecondEmail', [key])]);
  return [...first, ...second.filter(({ emailKey }) => emailKey !== key)];
}

const fits = ({ emailKey, secondEmailKey, externalId, user }: Person, query: PersonQuery): boolean =>
  (query.email === undefined || [emailKey, secondEmailKey].includes(comparedAddress(query.email))) &&
  (query.userName === undefined || (user !== undefined && comparedUserNames(query.userName).includes(user.userNameKey))) &&
  (query.externalId === undefined || externalId === query.externalId);
