/** Texts of instants on pages. */
import type { InLanguage } from '../../../lib/extension-door.js';

/** Returns a relative time, such as `20 seconds ago` or `in 2 minutes`. Future times are rounded down. @param now milliseconds since the epoch */
export const fromNow = (date: Date, now: number): InLanguage => ({
  inLanguage(locale) {
    const seconds = Math.floor((date.getTime() - now) / 1000);
    const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    return Math.abs(seconds) < 120 ? format.format(seconds, 'second') : format.format(Math.trunc(seconds / 60), 'minute');
  },
});
