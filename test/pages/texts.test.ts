import { describe, expect, test } from '@jest/globals';
import { catalogues, locales, negotiateLocale, translator } from '../../extensions/sign-in/texts/index.js';

const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();

describe('catalogues', () => {
  test.each(locales)('design §6: %s has every text, with the placeholders of the English one', (locale) => {
    expect(Object.keys(catalogues[locale])).toEqual(Object.keys(catalogues.en));
    for (const [key, text] of Object.entries(catalogues[locale])) {
      const english: Record<string, string> = catalogues.en;
      expect([key, text.trim() !== '', placeholders(text)]).toEqual([key, true, placeholders(english[key] ?? '')]);
    }
  });

  test('a value is put in as it is, even when it looks like a placeholder', () => {
    expect(translator('en')('signIn.title', { client: '{client} $& $1' })).toBe('Sign in to {client} $& $1');
  });

  test('minutes are whole, at least one, and inflected', () => {
    expect([0, 1, 1.2, 15].map((count) => translator('en').minutes(count))).toEqual(['1 minute', '1 minute', '2 minutes', '15 minutes']);
    expect(translator('de').minutes(15)).toBe('15 Minuten');
    expect(translator('fi').minutes(15)).toBe('15 minuuttia');
  });
});

describe('negotiateLocale', () => {
  test('pages §3.1: ui_locales, Accept-Language, tenant, English, in this order', () => {
    const sources = { uiLocales: 'nb', acceptLanguage: 'da', tenantLocale: 'fi' };
    expect(negotiateLocale(sources)).toBe('nb');
    expect(negotiateLocale({ ...sources, uiLocales: 'fr' })).toBe('da');
    expect(negotiateLocale({ acceptLanguage: 'fr, it', tenantLocale: 'fi' })).toBe('fi');
    expect(negotiateLocale({})).toBe('en');
    expect(negotiateLocale(sources, ['de', 'fi'])).toBe('fi');
    expect(negotiateLocale({ uiLocales: 'nb' }, ['de', 'fi'])).toBe('de');
  });

  test.each([
    ['de-AT', 'de'],
    ['no', 'nb'],
    ['nn-NO', 'nb'],
    ['NB-no', 'nb'],
    ['fr-CA sv-FI', 'sv'],
    ['  da ', 'da'],
    ['constructor __proto__ fi', 'fi'],
  ])('4.2 ui_locales %j is read as %s', (uiLocales, locale) => {
    expect(negotiateLocale({ uiLocales })).toBe(locale);
  });

  test.each([
    ['en;q=0.2, de;q=0.9, fr', 'de'],
    ['sv;q=0, da;q=0.1', 'da'],
    ['*', 'en'],
    ['de;q=abc;x, fi', 'de'],
    [',;;,=', 'en'],
    [`${'x,'.repeat(100_000)}de`, 'en'],
  ])('RFC 9110 §12.5.4: Accept-Language %#', (acceptLanguage, locale) => {
    expect(negotiateLocale({ acceptLanguage })).toBe(locale);
  });
});
