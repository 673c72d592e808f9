import type { ConfigProblem } from '../errors.js';

/** Returns a problem, with both names, for each claim that two owners declare. */
export function sharedClaims<Item extends { readonly owner: string }>(
  items: readonly Item[],
  claimsOf: (item: Item) => readonly string[],
): readonly ConfigProblem[] {
  const owners = new Map<string, string>();
  return items.flatMap((item) =>
    claimsOf(item).flatMap((claim) => {
      const first = owners.get(claim);
      owners.set(claim, first ?? item.owner);
      return first === undefined ? [] : [{ path: 'extensions', expected: `one owner of ${claim}`, received: `${first} and ${item.owner}` }];
    }),
  );
}
