import { type LanguageSources, type Locale, wantedLocale } from '../../../lib/extension-door.js';

/** Names of the languages, each in its own language. */
export const localeNames: Readonly<Record<Locale, string>> = {
  en: 'English',
  nb: 'Norsk bokmål',
  sv: 'Svenska',
  da: 'Dansk',
  fi: 'Suomi',
  de: 'Deutsch',
};

export const locales = Object.keys(localeNames) as readonly Locale[];

/**
 * Returns the first requested language that is available, in the order of the sources. If no requested language is available, returns the first available
 * language.
 */
export const negotiateLocale = (sources: LanguageSources, available: readonly Locale[] = locales): Locale =>
  wantedLocale(sources, available) ?? available[0] ?? 'en';
