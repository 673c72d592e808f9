/** Formats of texts that schemas name. */
import { canParseUrl } from './can-parse-url.js';
import { isEmailAddress } from './email-address.js';

const isDate = (text: string): boolean => {
  const instant = Date.parse(`${text}T00:00:00Z`);
  // `Date` accepts some days that no calendar has.
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(`${text}T`);
};

/** Checks of the formats, by name. @see JSON Schema Validation §7.3 */
export const textFormats: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text),
  'date-time': (text) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && isDate(text.slice(0, 10)) && !Number.isNaN(Date.parse(text)),
  email: isEmailAddress,
  'idn-email': isEmailAddress,
  uri: (text) => canParseUrl(text),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
};
