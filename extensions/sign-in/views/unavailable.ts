/** Page for an unavailable store, or for more requests than the service can handle. */
import type { PageView } from '../view-models.js';
import { failure } from './notice.js';
import type { PageContent, PageContext } from './parts/layout.js';

export const unavailableView = (_view: PageView<'unavailable'>, { text }: PageContext): PageContent =>
  failure({ title: text('unavailable.title'), message: text('unavailable.message') });
