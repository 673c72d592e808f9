import { v7, validate, version } from 'uuid';
import { IdpError } from '../errors.js';
import type { User } from '../store/records/records.js';
import { comparedAddress } from '../text/compared.js';
import { withoutUnseen } from '../text/kinds.js';
import { normalForm } from '../text/normal-form.js';

export const newId = (): string => v7();

/** Returns a new id that sorts by the given instant. */
export const newIdAt = (instant: Date): string => v7({ msecs: instant.getTime() });

/** Returns the time in an id, in milliseconds since the epoch; undefined for an id without a time. @see RFC 9562 §5.7 */
export const instantOfId = (id: string): number | undefined =>
  validate(id) && version(id) === 7 ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;

/** An id that no user has. The id stands in for missing users, so that a look-up takes the same time for an unknown name. */
export const NO_USER = '00000000-0000-0000-0000-000000000000';

export const isId = (id: string): boolean => validate(id);

/** Returns a given id in its stored form, or a new id. @throws IdpError `invalid_record` for an id that is not a UUID. */
export function idFor(given: string | undefined): string {
  if (given === undefined) return newId();
  if (!isId(given)) throw new IdpError('invalid_record', { path: '/id', expected: 'a UUID' });
  return given.toLowerCase();
}

/** Returns a user name in its form for comparison. */
export const userNameKey = comparedAddress;

/** Returns whether the text, such as an e-mail address, is the user's name. */
export const isNameOf = ({ userName }: Pick<User, 'userName'>, text: string | undefined): boolean =>
  text !== undefined && userNameKey(text) === userNameKey(userName);

/**
 * Returns the name or number of an organisation in its form for comparison. Users write it in any case and width, with or without spaces and full stops.
 * Invisible letters do not count.
 */
export const organisationKey = (text: string): string =>
  normalForm(withoutUnseen(text), 'NFKC')
    .toLowerCase()
    .replace(/[\s.]+/g, '');
