import { defineClaims, fullName, initialOf, isName, type NamedPerson, shownName } from '../../lib/extension-door.js';

/** Returns the first letter of each name: `Åsa Öberg` → `ÅÖ`. Without a name, the first letter of the user name or of the address. */
const initials = (person: NamedPerson): string =>
  (fullName(person) === undefined ? [shownName(person)] : [person.givenName, person.familyName]).filter(isName).map(initialOf).join('');

/** Returns undefined for a blank text, because a claim without a value is left out. @see OpenID Connect Core §5.3.2 */
const text = (value: string | undefined): string | undefined => (isName(value) ? value : undefined);

export interface ProfileOptions {
  /** Whether `picture` of a person without a picture is the person's initials. */
  readonly initialsAsPicture: boolean;
}

export const profileClaims = ({ initialsAsPicture }: ProfileOptions) =>
  defineClaims({
    name: 'profile',
    claims: {
      family_name: {
        scope: 'profile',
        type: 'string',
        description: 'Surname',
        value: ({ person }) => text(person.familyName),
      },
      given_name: {
        scope: 'profile',
        type: 'string',
        description: 'Given name',
        value: ({ person }) => text(person.givenName),
      },
      name: {
        scope: 'profile',
        type: 'string',
        description: 'Given name, a space, then surname; or the one of them that the person has',
        value: ({ person }) => fullName(person),
      },
      preferred_username: {
        scope: 'profile',
        type: 'string',
        description: 'Sign-in name, most commonly the e-mail address',
        value: ({ user }) => user.userName,
      },
      locale: {
        scope: 'profile',
        type: 'string',
        description: 'Language that the person prefers, as a BCP 47 language tag',
        value: ({ person }) => person.locale,
      },
      picture: {
        scope: 'profile',
        type: 'string',
        description: 'URL of a picture, or the initials of a person without one',
        value: ({ person }) => person.pictureUrl ?? (initialsAsPicture ? text(initials(person)) : undefined),
      },
    },
  });
