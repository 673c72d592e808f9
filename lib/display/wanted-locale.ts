/** Selects the language of the pages for a user. */
import { type Locale, locales } from './locales.js';

const aliases: ReadonlyMap<string, Locale> = new Map([
  ['no', 'nb'],
  ['nn', 'nb'],
]);

const isLocale = (value: string): value is Locale => (locales as readonly string[]).includes(value);

/** Returns the page language of a language tag by its primary subtag: `de` for `de-AT`. @see RFC 4647 §3.4 */
function match(tag: string): Locale | undefined {
  const primary = tag.trim().toLowerCase().split(/[-_]/, 1)[0] ?? '';
  return isLocale(primary) ? primary : aliases.get(primary);
}

/** Returns the tags of an Accept-Language header, most preferred first. @see RFC 9110 §12.5.4 */
function acceptedTags(header: string): string[] {
  return header
    .slice(0, 1000)
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';');
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/i.exec(parameter)?.[1]).find(Boolean);
      return { tag, weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ tag }) => tag);
}

/** Sources of a user's language. Absent sources are unknown. */
export interface LanguageSources {
  /** Space-separated language tags, most preferred first. @see OpenID Connect Core §3.1.2.1 */
  readonly uiLocales?: string | undefined;
  readonly acceptLanguage?: string | undefined;
  readonly tenantLocale?: string | undefined;
}

/**
 * Returns the first available language in the order of the sources; undefined if no source names an available language.
 * @param available languages of the service: `locales` of the context.
 * @example
 * ```ts
 * import { wantedLocale } from 'tenant-idp/extension';
 *
 * console.log(wantedLocale({ acceptLanguage: 'fr, no;q=0.8' }, ['en', 'nb'])); // nb
 * ```
 */
export function wantedLocale(
  { uiLocales, acceptLanguage, tenantLocale }: LanguageSources,
  available: readonly Locale[],
): Locale | undefined {
  for (const tag of [...(uiLocales ?? '').split(' '), ...acceptedTags(acceptLanguage ?? ''), tenantLocale ?? '']) {
    const locale = match(tag);
    if (locale && available.includes(locale)) return locale;
  }
  return undefined;
}
