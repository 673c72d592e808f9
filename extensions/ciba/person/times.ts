/** Texts of instants: relative to now on a page, absolute in a mail, because a mail may be read much later. */
import type { InLanguage } from '../../../lib/extension-door.js';

/** Returns a relative time, such as `20 seconds ago` or `in 2 minutes`. Future times are rounded down. @param now milliseconds since the epoch */
export const fromNow = (date: Date, now: number): InLanguage => ({
  inLanguage(locale) {
    const seconds = Math.floor((date.getTime() - now) / 1000);
    const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    return Math.abs(seconds) < 120 ? format.format(seconds, 'second') : format.format(Math.trunc(seconds / 60), 'minute');
  },
});

/** Returns date and time to the second, because requests last minutes. The text names the time zone, because the reader's zone is unknown. */
export const byTheClock = (date: Date): InLanguage => ({
  inLanguage: (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(date),
});
