import type { ParsedUrlQuery } from 'node:querystring';
import type { PostedForms } from '../../contract/sign-in/sign-in-request.js';
import { postedForm, redirectByGet } from '../../http/requests/posted-form.js';
import type { OidcDependencies } from '../context.js';
import { createOneTimeRecords } from './one-time-records.js';

/**
 * Creates the store of forms that other sites have browsers post to extensions. The form is stored, and the browser is redirected to a GET, because
 * browsers send `SameSite=Lax` cookies with a GET.
 */
export function createPostedForms(parts: Pick<OidcDependencies, 'artifacts' | 'sealer' | 'readForm' | 'options'>): PostedForms {
  const { issuer } = parts.options;
  const kept = createOneTimeRecords<{ readonly path: string; readonly form: ParsedUrlQuery }>(parts, {
    kind: 'PostedForm',
    purpose: 'posted form',
  });
  return {
    async sendOn(ctx, path, names) {
      const form = await postedForm(ctx, parts.readForm, 'minute', names);
      redirectByGet(ctx, `${issuer}${path}?${new URLSearchParams({ reference: await kept.keep({ path, form }) })}`);
    },
    async take(ctx) {
      const found = await kept.take(ctx.query.reference);
      return found?.path === ctx.path ? (found.form as Readonly<Record<string, string | readonly string[]>>) : undefined;
    },
  };
}
