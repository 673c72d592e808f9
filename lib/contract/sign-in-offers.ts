/** What people can sign in by and be asked for here: put together from all extensions. */

import type { SignInMeans } from '../directory/index.js';
import type { ConfigProblem } from '../errors.js';
import { ConfigError } from '../errors.js';
import type { Extension, ExtensionContext } from './extension.js';
import { type Demand, demands, type Requirement, requirementErrors } from './requirement.js';

export interface SignInOffers {
  /** In the order that they are asked in. */
  requirements(): readonly Requirement[];
  serves(demand: Demand): boolean;
  /** What the policy of a tenant can count on. */
  readonly means: SignInMeans;
}

export interface FilledOffers extends SignInOffers {
  /**
   * Asks the extensions, once the context is there; before that there is nothing.
   * @throws ConfigError `extension_conflict` with both names; `invalid_options`.
   */
  fill(context: ExtensionContext): Promise<void>;
}

export function createSignInOffers(extensions: readonly Extension[]): FilledOffers {
  let requirements: readonly Requirement[] = [];
  const serves = (demand: Demand): boolean => requirements.some((requirement) => requirement.serves === demand);
  return {
    requirements: () => requirements,
    means: {
      get hasSecondFactor() {
        return serves('mfa');
      },
      offers: (method) => method === 'password',
    },
    serves,
    async fill(context) {
      const owned = extensions.flatMap(({ name: owner, requirements: of }) =>
        (of?.(context) ?? []).map((requirement) => ({ owner, requirement })),
      );
      const invalid = owned.flatMap(({ owner, requirement }) => problemsOf(owner, requirement));
      if (invalid.length > 0) throw new ConfigError('invalid_options', invalid);
      const conflicts = [
        ...sharedClaims(owned, ({ requirement: { name } }) => [`the requirement ${name}`]),
        ...sharedClaims(owned, ({ requirement: { serves } }) => (serves ? [`what serves ${serves}`] : [])),
      ];
      if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
      requirements = ordered(owned.map(({ requirement }) => requirement));
    },
  };
}

/** One problem for each thing that two of them claim. */
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

const namePattern = /^[a-z][a-z0-9-]{0,59}$/;
/** Paths of the sign-in's own steps, and of what oidc-provider prompts for. */
const reserved = new Set(['login', 'consent', 'select_account', 'create', 'none', 'requirement']);

function problemsOf(owner: string, requirement: Requirement): readonly ConfigProblem[] {
  const { name, after = [], serves, check, error, silent, show } = requirement;
  const path = `extensions.${owner}.requirements${typeof name === 'string' ? `.${name}` : ''}`;
  const checks: readonly (readonly [string, string, boolean])[] = [
    ['name', 'lower-case letters, digits and hyphens', namePattern.test(name) && !reserved.has(name)],
    ['after', 'an array of names', Array.isArray(after) && after.every((each) => typeof each === 'string')],
    ['serves', demands.join(' or '), serves === undefined || demands.includes(serves)],
    ['check', 'a function', typeof check === 'function'],
    ['error', `one of ${requirementErrors.join(', ')}`, requirementErrors.includes(error)],
    ['silent', 'refuse or pass', silent === 'refuse' || silent === 'pass'],
    ['show', 'a function', typeof show === 'function'],
  ];
  return checks.flatMap(([member, expected, isRight]) => (isRight ? [] : [{ path: `${path}.${member}`, expected }]));
}

/** By `after`, and else as given. @throws ConfigError for a circle. */
function ordered(given: readonly Requirement[]): readonly Requirement[] {
  const isLast = ({ after = [] }: Requirement): boolean => after.includes('*');
  const before = (one: Requirement): readonly Requirement[] =>
    given.filter((other) => other !== one && (one.after?.includes(other.name) || (isLast(one) && !isLast(other))));
  const sorted: Requirement[] = [];
  for (let rest = [...given]; rest.length > 0; ) {
    const next = rest.find((one) => before(one).every((other) => sorted.includes(other)));
    if (next === undefined) {
      const names = rest.map(({ name }) => name).join(', ');
      throw new ConfigError('invalid_options', [
        { path: 'extensions', expected: 'an order of the requirements', received: `${names}, each after another` },
      ]);
    }
    sorted.push(next);
    rest = rest.filter((one) => one !== next);
  }
  return sorted;
}
