/** Sign-in methods and requirements of all extensions. */

import type { Awaitable } from '../../awaitable.js';
import type { SignInMeans } from '../../directory/index.js';
import type { ConfigProblem } from '../../errors.js';
import { ConfigError } from '../../errors.js';
import type { Extension } from '../extension.js';
import type { ContextOf } from '../extension-context.js';
import { sharedClaims } from '../shared-claims.js';
import { type Demand, demands, type Requirement, requirementErrors } from '../sign-in/requirement.js';
import type { SignInMethod } from '../sign-in/sign-in-method.js';

export interface SignInOffers {
  /** Returns requirements, in the order in which users meet them. */
  requirements(): readonly Requirement[];
  serves(demand: Demand): boolean;
  readonly methods: () => readonly SignInMethod[];
  /** Returns the current method of an identity provider; undefined if there is no such method. Returns a promise only if the method has to be looked up. */
  methodOf(idp: string, tid?: string): Awaitable<SignInMethod | undefined>;
  /** Methods and factors that the policy of a tenant can require. */
  readonly means: SignInMeans;
}

export interface FilledOffers extends SignInOffers {
  /**
   * Asks the extensions for their methods and requirements, after the contexts of the extensions exist. Before this call, there are no methods or
   * requirements.
   * @throws ConfigError `extension_conflict` with both names; `invalid_options`.
   */
  fill(contextOf: ContextOf): Promise<void>;
}

export function createSignInOffers(extensions: readonly Extension[]): FilledOffers {
  let requirements: readonly Requirement[] = [];
  let methods: readonly SignInMethod[] = [];
  const serves = (demand: Demand): boolean => requirements.some((requirement) => requirement.serves === demand);
  const methodOf: SignInOffers['methodOf'] = (idp, tid) => {
    const own = methods.find(({ name }) => name === idp);
    if (own) return own;
    const serving = methods.filter(({ serves: isServed }) => isServed !== undefined);
    if (serving.length === 0) return undefined;
    return Promise.all(serving.map(async (method) => ((await method.serves?.(idp, tid)) ? method : undefined))).then((found) =>
      found.find(Boolean),
    );
  };
  return {
    requirements: () => requirements,
    methods: () => methods,
    methodOf,
    means: {
      get hasSecondFactor() {
        return serves('mfa');
      },
      offers(name, tid) {
        if (name === 'password') return true;
        const method = methodOf(name, tid);
        return method instanceof Promise ? method.then((found) => found !== undefined) : method !== undefined;
      },
      async methodOf(idp, tid) {
        const method = await methodOf(idp, tid);
        return method?.isLocal ? undefined : method?.name;
      },
    },
    serves,
    async fill(contextOf) {
      const all = extensions.flatMap(({ name: owner, requirements: of }) =>
        (of?.(contextOf(owner)) ?? []).map((requirement) => ({ owner, requirement })),
      );
      const owned = all.filter(
        (one) =>
          !one.requirement.givesWay ||
          !all.some((other) => other.owner !== one.owner && other.requirement.serves === one.requirement.serves),
      );
      const ways = extensions.flatMap(({ name: owner, signInMethods: of }) =>
        (of?.(contextOf(owner)) ?? []).map((method) => ({ owner, method })),
      );
      const invalid = [
        ...owned.flatMap(({ owner, requirement }) => problemsOf(owner, requirement)),
        ...ways.flatMap(({ owner, method }) => problemsOfMethod(owner, method)),
      ];
      if (invalid.length > 0) throw new ConfigError('invalid_options', invalid);
      const conflicts = [
        ...sharedClaims(owned, ({ requirement: { name } }) => [`the requirement ${name}`]),
        ...sharedClaims(owned, ({ requirement: { serves } }) => (serves ? [`what serves ${serves}`] : [])),
      ];
      conflicts.push(...sharedClaims(ways, ({ method: { name } }) => [`the sign-in method ${name}`]));
      if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
      methods = ways.map(({ method }) => method);
      requirements = ordered(owned.map(({ requirement }) => requirement));
    },
  };
}

const namePattern = /^[a-z][a-z0-9-]{0,59}$/;
/** Names of the sign-in's own steps, and of oidc-provider's prompts. */
const reserved = new Set(['login', 'consent', 'select_account', 'create', 'none', 'requirement']);

function problemsOf(owner: string, requirement: Requirement): readonly ConfigProblem[] {
  const { name, after = [], serves, givesWay, check, mayChange, error, silent, show } = requirement;
  const path = `extensions.${owner}.requirements${typeof name === 'string' ? `.${name}` : ''}`;
  const checks: readonly (readonly [string, string, boolean])[] = [
    ['name', "lower-case letters, digits and hyphens, such as 'accept-terms'", namePattern.test(name) && !reserved.has(name)],
    [
      'after',
      "an array of names of requirements, such as ['mfa']",
      Array.isArray(after) && after.every((each) => typeof each === 'string'),
    ],
    ['serves', `one of ${demands.join(', ')}`, serves === undefined || demands.includes(serves)],
    [
      'givesWay',
      'true or false, for one that serves a demand',
      givesWay === undefined || (serves !== undefined && typeof givesWay === 'boolean'),
    ],
    ['check', 'a function: (context) => …', typeof check === 'function'],
    [
      'mayChange',
      'a function, for one that serves mfa: (context) => …',
      mayChange === undefined || (serves === 'mfa' && typeof mayChange === 'function'),
    ],
    ['error', `one of ${requirementErrors.join(', ')}`, requirementErrors.includes(error)],
    ['silent', "'refuse' or 'pass'", silent === 'refuse' || silent === 'pass'],
    ['show', 'a function: (context) => …', typeof show === 'function'],
  ];
  return checks.flatMap(([member, expected, isRight]) => (isRight ? [] : [{ path: `${path}.${member}`, expected }]));
}

/** Form of a name in `acr_values`. */
const methodPattern = /^[!-~]{1,200}$/;
const ownMethods = new Set(['local', 'password']);

function problemsOfMethod(owner: string, { name, serves, isLocal, buttons, idpOf, begin }: SignInMethod): readonly ConfigProblem[] {
  const path = `extensions.${owner}.signInMethods${typeof name === 'string' ? `.${name}` : ''}`;
  const optional = (value: unknown): boolean => value === undefined || typeof value === 'function';
  const checks: readonly (readonly [string, string, boolean])[] = [
    ['name', "a name without spaces, other than password and local, such as 'passkey'", methodPattern.test(name) && !ownMethods.has(name)],
    ['serves', 'a function: (context) => …', optional(serves)],
    ['isLocal', 'true or false', isLocal === undefined || typeof isLocal === 'boolean'],
    ['buttons', 'a function: (context) => …', optional(buttons)],
    ['idpOf', 'a function: (context) => …', optional(idpOf)],
    ['begin', 'a function: (context) => …', typeof begin === 'function'],
  ];
  return checks.flatMap(([member, expected, isRight]) => (isRight ? [] : [{ path: `${path}.${member}`, expected }]));
}

/** Sorts requirements by `after`, and keeps the given order otherwise. @throws ConfigError for a circle. */
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
        {
          path: 'extensions',
          expected: 'an order of the requirements: remove a name from `after` of one of them',
          received: `${names}, each after another`,
        },
      ]);
    }
    sorted.push(next);
    rest = rest.filter((one) => one !== next);
  }
  return sorted;
}
