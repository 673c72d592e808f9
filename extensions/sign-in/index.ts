/** The sign-in pages, and the pages that the protocol shows. */
import type { Extension } from '../../lib/extension-door.js';
import { signInRoutes } from './routes.js';
import { createShowPage } from './show.js';

export const signIn = (): Extension => ({ name: 'sign-in', routes: signInRoutes, pages: createShowPage });
