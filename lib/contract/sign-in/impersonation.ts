/** Somebody who acts as somebody else in a browser: what pages say of it, and what nobody does in the name of another. */

import type { Account } from '../../directory/index.js';
import type { Attribution } from '../../events.js';
import { present } from '../../present.js';
import type { SignedIn } from './requirement.js';

export interface CurrentImpersonation {
  /** The user that the browser is signed in as. */
  readonly account: Account;
  /** Who acts as that user. */
  readonly actor: Account;
  /** Where that can be ended; absent where no extension says. */
  readonly endAt?: string;
}

/**
 * Who makes the changes of a sign-in, for its events: the user, and who acts as the user.
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
