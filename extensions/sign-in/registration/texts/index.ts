/** All words of registrations, by language. */
import type { ExtensionTexts } from '../../../../lib/extension-door.js';
import { catalogues } from '../../texts/index.js';
import { da } from './da.js';
import { de } from './de.js';
import { en } from './en.js';
import { fi } from './fi.js';
import { nb } from './nb.js';
import { sv } from './sv.js';

/** The form of “Create account”, part of which is on the page of the registration link. */
const ofForm = {
  givenName: 'create.givenName',
  familyName: 'create.familyName',
  givenNameInvalid: 'givenName.invalid',
  familyNameInvalid: 'familyName.invalid',
  rule: 'create.password',
  weak: 'password.weak',
  easy: 'password.easy',
  leaked: 'password.leaked',
} as const;

const own = { en, nb, sv, da, fi, de };
const withForm = (locale: keyof typeof own): Readonly<Record<string, string>> => ({
  ...own[locale],
  ...Object.fromEntries(Object.entries(ofForm).map(([name, key]) => [`sign-in.confirm.${name}`, catalogues[locale][key]])),
});

export const texts: ExtensionTexts = {
  en: withForm('en'),
  nb: withForm('nb'),
  sv: withForm('sv'),
  da: withForm('da'),
  fi: withForm('fi'),
  de: withForm('de'),
};
