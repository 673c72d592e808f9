/** Languages of the pages: values of the option `locales`. */
export const locales = ['en', 'nb', 'sv', 'da', 'fi', 'de'] as const;
export type Locale = (typeof locales)[number];
