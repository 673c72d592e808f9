import { type LanguageSources, type Locale, wantedLocale } from '../../../lib/extension-door.js';

/** The pages' languages, by their own names. */
export const localeNames: Readonly<Record<Locale, string>> = {
  en: 'English',
  nb: 'Norsk bokmål',
  sv: 'Svenska',
  da: 'Dansk',
  fi: 'Suomi',
  de: 'Deutsch',
};

export const locales = Object.keys(localeNames) as readonly Locale[];

/** The first of the languages that is wanted, in the order of the sources; the first of all when none is. */
export const negotiateLocale = (sources: LanguageSources, available: readonly Locale[] = locales): Locale =>
  wantedLocale(sources, available) ?? available[0] ?? 'en';
