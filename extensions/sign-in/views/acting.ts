/** What people do for themselves alone, while somebody acts as somebody else. */
import type { PageView } from '../view-models.js';
import { buttonLink, failure } from './notice.js';
import type { PageContent, PageContext } from './parts/layout.js';

export const actingView = (_view: PageView<'acting'>, { text, frame: { acting } }: PageContext): PageContent => ({
  ...failure({
    title: text('acting.title'),
    message: acting ? text('acting.message', { user: acting.user }) : text('acting.message.plain'),
    more: acting?.end !== undefined && buttonLink(acting.end.href, acting.end.text),
  }),
  showReference: false,
});
