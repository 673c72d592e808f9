/** Too many attempts, whatever they were for. */
import type { PageView } from '../view-models.js';
import { clockMark } from './icons.js';
import type { PageContent, PageContext } from './layout.js';
import { failure } from './notice.js';

export const rateLimitedView = ({ minutes }: PageView<'rate-limited'>, { text }: PageContext): PageContent =>
  failure({
    title: text('rateLimited.title'),
    message: text('rateLimited.message', { duration: text.minutes(minutes) }),
    icon: clockMark,
  });
