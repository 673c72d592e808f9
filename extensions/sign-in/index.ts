/** The sign-in pages, and the pages that the protocol shows. */
import type { Extension } from '../../lib/extension-door.js';
import { createWriteLetter } from './letter.js';
import { createShowPage } from './protocol-pages.js';
import { signInRoutes } from './routes.js';

export const signIn = (): Extension => ({ name: 'sign-in', routes: signInRoutes, pages: createShowPage, letters: createWriteLetter });
