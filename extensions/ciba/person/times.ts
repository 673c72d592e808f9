/** When something was, or will be: from now on a page, and by the clock in a mail, which is read whenever. */
import type { InLanguage } from '../../../lib/extension-door.js';

/** `20 seconds ago`, `in 2 minutes`. Times to come are rounded down. @param now milliseconds since the epoch */
export const fromNow = (date: Date, now: number): InLanguage => ({
  inLanguage(locale) {
    const seconds = Math.floor((date.getTime() - now) / 1000);
    const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    return Math.abs(seconds) < 120 ? format.format(seconds, 'second') : format.format(Math.trunc(seconds / 60), 'minute');
  },
});

/** To the second, because requests last minutes; the zone is said, because nobody knows the reader's. */
export const byTheClock = (date: Date): InLanguage => ({
  inLanguage: (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(date),
});
