/** Languages that the pages speak: the option `locales` takes them, and texts are written in them. */
export const locales = ['en', 'nb', 'sv', 'da', 'fi', 'de'] as const;
export type Locale = (typeof locales)[number];
