import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { standardExtensions } from '../../extensions/index.js';
import { catalogues, locales, negotiateLocale, translator } from '../../extensions/sign-in/texts/index.js';

/** Texts that are the same in English and in another language. */
const sameInAll = new Set([
  'da reference',
  'da create.email',
  'da invitations.create.email',
  'da passwords.forgotten.submit',
  'da passwords.email.submit',
  'da connections.reference',
  'da ciba.fact.tenant',
  'de ciba.fact.tenant',
  'sv ciba.fact.tenant',
  'de password.organisation',
  'de passwords.forgotten.organisation',
  'de error.code',
  'de factors.kind.passkey',
  'de connections.own.passkey',
  'nb account.signIns.application',
  'da account.signIns.application',
  'da account.data.download',
]);

const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();

describe('catalogues', () => {
  test.each(locales)('design §6: %s has every text, with the placeholders of the English one', (locale) => {
    expect(Object.keys(catalogues[locale])).toEqual(Object.keys(catalogues.en));
    for (const [key, text] of Object.entries(catalogues[locale])) {
      const english: Record<string, string> = catalogues.en;
      expect([key, text.trim() !== '', placeholders(text)]).toEqual([key, true, placeholders(english[key] ?? '')]);
    }
  });

  /** Texts that users read in each language: those of the pages, and those of the standard extensions. */
  const all = locales.map((locale) => ({
    ...catalogues[locale],
    ...Object.assign({}, ...standardExtensions().map(({ texts }) => texts?.[locale])),
  }));
  const [english = {}, ...others] = all as Record<string, string>[];

  test('issue 14: no text is the English one where it should be another, and placeholders agree', () => {
    expect(Object.keys(english).length).toBeGreaterThan(150);
    for (const [at, texts] of others.entries()) {
      const locale = locales[at + 1] as (typeof locales)[number];
      expect(Object.keys(texts).toSorted()).toEqual(Object.keys(english).toSorted());
      const same = Object.entries(texts).filter(([key, text]) => text === english[key] && !sameInAll.has(`${locale} ${key}`));
      expect(same.map(([key, text]) => `${locale} ${key}: ${text}`)).toEqual([]);
      for (const [key, text] of Object.entries(texts))
        expect([locale, key, placeholders(text)]).toEqual([locale, key, placeholders(english[key] ?? '')]);
    }
  });

  test('what a button will do is said with its condition, so that no text reads as done before the button is pressed', () => {
    const conditions = {
      en: /^(when|if)\b|\b(then|after)\b/i,
      nb: /^når\b|\b(etter det|deretter)\b/i,
      sv: /^när\b|\b(därefter|sedan)\b/i,
      da: /^når\b|\bderefter\b/i,
      fi: /^(kun|jos)\b|\bsen jälkeen\b/i,
      de: /^wenn\b|\bdanach\b/i,
    };
    const more = ['account.applications.signsOut', 'factors.remove.text', 'linked.unlink.text'];
    const keys = Object.keys(english).filter((key) => more.includes(key) || /^(?!.*\.(?:fact|mail)\.).*\.ends$/.test(key));
    expect(keys.length).toBeGreaterThanOrEqual(6);
    const unconditional = locales.flatMap((locale, at) =>
      keys.filter((key) => !conditions[locale].test(all[at]?.[key]?.split('. ')[0] ?? '')).map((key) => `${locale} ${key}`),
    );
    expect(unconditional).toEqual([]);
  });

  test('issue 14: no word stands in a view: what people read comes from the catalogues', () => {
    const files = ['', 'parts/'].flatMap((folder) => {
      const at = `extensions/sign-in/views/${folder}`;
      return readdirSync(at).flatMap((name) => (name.endsWith('.ts') ? [`${at}${name}`] : []));
    });
    expect(files.length).toBeGreaterThan(15);
    const literal = files.flatMap((file) => {
      const source = readFileSync(file, 'utf8').replace(/^(?:\/\*\*[\s\S]*?\*\/| *\/\/.*)$/gm, '');
      // Text between tags, and attributes that screen readers read. Values are in `${…}`.
      const between = [...source.matchAll(/>([^<>$`{}=;()]*[A-Za-z]{2}[^<>$`{}=;()]*)</g)].map(([, text = '']) => text.trim());
      const readOut = [...source.matchAll(/(?:aria-label|title|alt|placeholder)="([^"$]+)"/g)].map(([, text = '']) => text);
      return [...between, ...readOut].map((text) => `${file}: ${text}`);
    });
    expect(literal.filter((each) => !/: error(_description|_detail)?$/.test(each))).toEqual([]);
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
