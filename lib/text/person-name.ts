/** Names of a person as pages, lists, claims and mails show them. No name is required, and a blank name counts as no name. */
import { isBlank } from './kinds.js';

/** The names that a person may have. */
export interface PersonNames {
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
}

/** A person's names, and what pages show for a person without a name. */
export interface NamedPerson extends PersonNames {
  readonly email?: string | undefined;
  readonly user?: { readonly userName: string } | undefined;
}

/**
 * Returns whether a text is a name that is not blank.
 * @example
 * ```ts
 * import { isName } from 'tenant-idp/extension';
 *
 * export const names = ['Alice', ' ', undefined].filter(isName); // ['Alice']
 * ```
 */
export const isName = (text: unknown): text is string => typeof text === 'string' && !isBlank(text);

/**
 * Returns the given name, a space and the surname, or only the name that the person has. Undefined for a person who has neither name.
 * @example
 * ```ts
 * import { fullName } from 'tenant-idp/extension';
 *
 * export const names = [fullName({ givenName: 'Alice', familyName: 'Adams' }), fullName({ familyName: 'Adams' }), fullName({})];
 * // ['Alice Adams', 'Adams', undefined]
 * ```
 */
export function fullName({ givenName, familyName }: PersonNames): string | undefined {
  const names = [givenName, familyName].filter(isName).map((name) => name.trim());
  return names.length === 0 ? undefined : names.join(' ');
}

/**
 * Returns the name that pages show and lists sort by: the full name, else the user name, else the address. Empty for a person who has no name, user name or
 * address.
 * @example
 * ```ts
 * import { shownName } from 'tenant-idp/extension';
 *
 * export const greeting = shownName({ email: 'alice@example.com', user: { userName: 'alice' } }); // 'alice'
 * ```
 */
export const shownName = (person: NamedPerson): string => fullName(person) ?? [person.user?.userName, person.email].find(isName) ?? '';

/**
 * Returns the full name with the user name in brackets, to distinguish accounts; only the user name for a person without a name.
 * @example
 * ```ts
 * import { accountName, type PersonWithUser, type ViewPart } from 'tenant-idp/extension';
 *
 * export const line = (person: PersonWithUser): ViewPart => ({ part: 'text', text: { plain: accountName(person) } });
 * ```
 */
export function accountName(person: PersonNames & { readonly user: { readonly userName: string } }): string {
  const name = fullName(person);
  return name === undefined ? person.user.userName : `${name} (${person.user.userName})`;
}

/**
 * Returns the name for the greeting of a mail: the given name, else the name that pages show.
 * @example
 * ```ts
 * import { greetedName, type LetterPart, type PersonWithUser } from 'tenant-idp/extension';
 *
 * export const greeting = (person: PersonWithUser): LetterPart => ({
 *   part: 'text',
 *   text: { key: 'nickname.mail.greeting', values: { name: greetedName(person) } },
 * });
 * ```
 */
export const greetedName = (person: NamedPerson): string => (isName(person.givenName) ? person.givenName.trim() : shownName(person));
