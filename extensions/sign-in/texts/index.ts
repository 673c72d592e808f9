/** The texts of the pages. */
export { isScopeText } from './catalogue.js';
export { type Locale, localeNames, locales, negotiateLocale } from './locale.js';
export { catalogues, type Translate, translator } from './translator.js';
