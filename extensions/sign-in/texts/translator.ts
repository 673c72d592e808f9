import type { Locale } from '../../../lib/extension-door.js';
import type { Placeholder, TextKey, Texts } from './catalogue.js';
import { da } from './da.js';
import { de } from './de.js';
import { en } from './en.js';
import { fi } from './fi.js';
import { filled } from './filled.js';
import { nb } from './nb.js';
import { sv } from './sv.js';

export const catalogues: Readonly<Record<Locale, Texts>> = { en, nb, sv, da, fi, de };

type Values<Key extends TextKey> = [Placeholder<Key>] extends [never] ? [] : [values: Readonly<Record<Placeholder<Key>, string>>];

export interface Translate {
  /** Returns the text with its placeholders filled. The result is plain text, to be escaped. */
  <Key extends TextKey>(key: Key, ...values: Values<Key>): string;
  /** Returns whole minutes in words, at least one: `5 minutes`. */
  minutes(count: number): string;
}

export function translator(locale: Locale): Translate {
  const texts = catalogues[locale];
  const translate = (key: TextKey, values: Readonly<Record<string, string>> = {}): string => filled(texts[key], values);
  const minutes = (count: number): string =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: 'minute', unitDisplay: 'long' }).format(Math.max(1, Math.ceil(count)));
  return Object.assign(translate, { minutes }) as Translate;
}
