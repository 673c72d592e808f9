/** The texts of the pages. */
export { isScopeText, type Texts } from './catalogue.js';
export { type LanguageSources, type Locale, localeNames, locales, negotiateLocale } from './locale.js';
export { catalogues, type Translate, translator } from './translator.js';
