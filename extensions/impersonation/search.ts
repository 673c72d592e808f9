/** People whom an operator may act as, found in the operator's tenant by the indexes of lists. */
import { type Account, type Directory, IdpError, type PersonWithUser, present } from '../../lib/extension-door.js';
import type { Rules } from './rules.js';

/** People on a page, and characters that are looked for: names are no longer. */
const PAGE = 10;
const LONGEST = 200;

export interface FoundUsers {
  readonly users: readonly Account[];
  /** Leads to the next page. */
  readonly next?: string;
}

/** @param query the beginning of a name, a user name or an e-mail address; empty: everybody, by name */
export type Search = (operator: Account, query: string, after?: string) => Promise<FoundUsers>;

export function createSearch({ forTenant, accounts }: Directory, rules: Rules): Search {
  return async (operator, query, after) => {
    const { users } = forTenant(operator.tenant.id);
    const text = query.trim();
    if (text.length > LONGEST) return { users: [] };
    const byName = (cursor: string | undefined) =>
      users.list({
        status: 'active',
        limit: PAGE,
        ...(text === '' ? { sort: 'name' } : { name: text }),
        ...present({ after: cursor }),
      });
    // What came back is no page of this list: it begins anew.
    const nextPage = after === undefined ? undefined : await byName(after).catch(IdpError.unless('invalid_cursor'));
    const list = nextPage ?? (await byName(undefined));
    const exact =
      nextPage || text === ''
        ? []
        : await Promise.all([users.list({ status: 'active', userName: text }), users.list({ status: 'active', email: text, limit: PAGE })]);
    const all = new Map([...exact.flatMap(({ items }) => items), ...list.items].map((person) => [person.user.id, person]));
    const targets = await Promise.all([...all.values()].map((person) => allowed(operator, person)));
    return { users: targets.flatMap((account) => account ?? []), ...present({ next: list.next }) };
  };

  async function allowed(operator: Account, { user }: PersonWithUser): Promise<Account | undefined> {
    const target = await accounts.findByOid(user.id);
    return target && (await rules.obstacleTo(operator, target)) === undefined ? target : undefined;
  }
}
