/** An address of ours that leads nowhere. */
import type { PageView } from '../view-models.js';
import type { PageContent, PageContext } from './layout.js';
import { failure } from './notice.js';

export const notFoundView = (_view: PageView<'not-found'>, { text }: PageContext): PageContent =>
  failure({ title: text('notFound.title'), message: text('notFound.message') });
