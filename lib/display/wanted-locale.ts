/** Which of the pages' languages a person reads. */
import { type Locale, locales } from './locales.js';

const aliases: ReadonlyMap<string, Locale> = new Map([
  ['no', 'nb'],
  ['nn', 'nb'],
]);

const isLocale = (value: string): value is Locale => (locales as readonly string[]).includes(value);

/** The page language for a language tag: its primary subtag, so `de-AT` reads `de`. @see RFC 4647 §3.4 */
function match(tag: string): Locale | undefined {
  const primary = tag.trim().toLowerCase().split(/[-_]/, 1)[0] ?? '';
  return isLocale(primary) ? primary : aliases.get(primary);
}

/** The tags of an Accept-Language header, most wanted first. @see RFC 9110 §12.5.4 */
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

/** Where a person's language may be known from; each absent when it is not. */
export interface LanguageSources {
  /** Space-separated language tags, most wanted first. @see OpenID Connect Core §3.1.2.1 */
  readonly uiLocales?: string | undefined;
  readonly acceptLanguage?: string | undefined;
  readonly tenantLocale?: string | undefined;
}

/**
 * The first of the languages in the order of the sources; undefined when none of them is wanted.
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
