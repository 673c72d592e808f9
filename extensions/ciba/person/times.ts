/** When something was, or will be: from now on a page, and by the clock in a mail, which is read whenever. */
import type { Locale, Text } from '../../../lib/extension-door.js';

/** `20 seconds ago`, `in 2 minutes`. A time to come is rather told too short. */
export const fromNow = (at: Date): Text => ({
  inLanguage(locale) {
    const seconds = Math.floor((at.getTime() - Date.now()) / 1000);
    const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    return Math.abs(seconds) < 120 ? format.format(seconds, 'second') : format.format(Math.trunc(seconds / 60), 'minute');
  },
});

/** The zone is said, because nobody knows the reader's. */
export const byTheClock = (locale: Locale | string | undefined, at: Date): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(at);
