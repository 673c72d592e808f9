/** The texts of the pages. */

export type { Locale } from '../../../lib/contract/locales.js';
export { isScopeText } from './catalogue.js';
export { localeNames, locales, negotiateLocale } from './locale.js';
export { catalogues, type Translate, translator } from './translator.js';
