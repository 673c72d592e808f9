import { defineClaims } from '../../lib/claims.js';

/** The first letter of each name: `Åsa Öberg` → `ÅÖ`. */
const initials = (...names: readonly string[]): string =>
  names
    .map((name) => Array.from(name.trim().normalize())[0] ?? '')
    .join('')
    .toUpperCase();

/** An empty text is no value. @see OpenID Connect Core §5.3.2 */
const text = (value: string): string | undefined => value || undefined;

export const profileClaims = defineClaims({
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
      description: 'Given name, a space, then surname',
      value: ({ person }) => text(`${person.givenName} ${person.familyName}`.trim()),
    },
    preferred_username: {
      scope: 'profile',
      type: 'string',
      description: 'Sign-in name, most commonly the e-mail address',
      value: ({ user }) => user.userName,
    },
    picture: {
      scope: 'profile',
      type: 'string',
      description: 'URL of a picture, or the initials when there is none',
      value: ({ person }) => person.pictureUrl ?? text(initials(person.givenName, person.familyName)),
    },
  },
});
