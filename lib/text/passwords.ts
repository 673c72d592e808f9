/** Characters of passwords. @see NIST SP 800-63B-4 §3.1.1.2 */
import { normalForm } from './normal-form.js';

/** Maximum characters, after normalisation. */
export const PASSWORD_LENGTH = 128;

export const normalised = (password: string): string => normalForm(password, 'NFC');

/** Returns whether a password has more characters than any password that the service accepts. */
export const isTooLongPassword = (password: string): boolean => [...normalised(password)].length > PASSWORD_LENGTH;
