/** The impersonation in a browser, for pages that show the impersonation and for actions that an impersonator cannot do. */

import type { Account } from '../../directory/index.js';
import type { Attribution } from '../../events.js';
import { present } from '../../present.js';
import type { SignedIn } from './requirement.js';

export interface CurrentImpersonation {
  /** The user that the browser is signed in as. */
  readonly account: Account;
  /** Account of the impersonator. */
  readonly actor: Account;
  /** URL of the page that ends the impersonation. Absent if no extension has one. */
  readonly endAt?: string;
}

/**
 * Returns the attribution of changes during a sign-in, for events: the user, and the impersonator if there is one.
 * @example
 * ```ts
 * import { attributionOf, type Extension } from 'tenant-idp/extension';
 *
 * export const renaming: Extension = {
 *   name: 'renaming',
 *   routes(router, { directory, http, signIn }) {
 *     router.postForm('/renaming', {
 *       open: async (ctx) => (await signIn.current(ctx)) ?? ctx.throw(401),
 *       subject: ({ oid }) => `renaming ${oid}`,
 *       again: (ctx) => ctx.throw(403),
 *       async take(ctx, here) {
 *         const { tenant, person } = here.account;
 *         const { persons } = directory.as(attributionOf(here, http.requestId(ctx))).forTenant(tenant.id);
 *         await persons.update(person.id, { givenName: 'Alice' });
 *         ctx.status = 204;
 *       },
 *     });
 *   },
 * };
 * ```
 */
export const attributionOf = ({ oid, act }: Pick<SignedIn, 'oid' | 'act'>, requestId?: string): Attribution => ({
  actor: `user:${oid}`,
  ...(act ? { act: `user:${act.oid}` } : {}),
  ...present({ requestId }),
});
