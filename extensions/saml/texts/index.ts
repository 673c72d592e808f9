/** Page texts of the extension, by language. */
import type { ExtensionTexts } from '../../../lib/extension-door.js';
import { da } from './da.js';
import { de } from './de.js';
import { en } from './en.js';
import { fi } from './fi.js';
import { nb } from './nb.js';
import { sv } from './sv.js';

export const texts: ExtensionTexts = { en, nb, sv, da, fi, de };
