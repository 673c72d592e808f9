/** Texts of the pages. */

export type { Locale } from '../../../lib/extension-door.js';
export { isScopeText } from './catalogue.js';
export { localeNames, locales, negotiateLocale } from './locale.js';
export { catalogues, type Translate, translator } from './translator.js';
