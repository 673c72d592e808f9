/** Page for a link to a sign-in that this browser does not know. The page does not reveal whether the sign-in exists. */
import type { PageView } from '../view-models.js';
import { failure } from './notice.js';
import type { PageContent, PageContext } from './parts/layout.js';

export const wrongLinkView = (_view: PageView<'wrong-link'>, { text }: PageContext): PageContent =>
  failure({ title: text('wrongLink.title'), message: text('wrongLink.message') });
