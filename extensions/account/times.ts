/** Texts of times on the account page. */
import type { InLanguage } from '../../lib/extension-door.js';

/** Seconds of each unit, longest first. */
const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Returns a past time as a text such as `5 minutes ago`, or `now` for the last minute. @param now milliseconds since the epoch */
export const timeAgo = (at: Date, now: number): InLanguage => ({
  inLanguage(locale) {
    const seconds = Math.max(0, Math.floor((now - at.getTime()) / 1000));
    const [unit, length] = units.find(([, each]) => seconds >= each) ?? ['second', Number.POSITIVE_INFINITY];
    return new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(Math.ceil(-seconds / length), unit);
  },
});
