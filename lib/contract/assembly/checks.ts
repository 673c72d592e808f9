/** Checks of extensions and their claim sets, as a compiler would make them, and of conflicts between extensions. */

import type { TSchema } from '@sinclair/typebox';
import type { ClaimMapping, ClaimSet } from '../../claims/contract.js';
import { claimScopes, findClaimConflicts, findClaimProblems, identityScopes } from '../../claims/declarations.js';
import {
  type FoundProblems,
  formatPath,
  isFunction,
  isObject,
  type OptionPath,
  unknownMembers,
  valueAt,
  wrong,
} from '../../config-problem.js';
import { type ConfigProblem, type ErrorEntry, errorTable } from '../../errors.js';
import { eventNames } from '../../events.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import { findArtifactProblems } from '../artifacts.js';
import { findCollectionProblems } from '../collections.js';
import type { Extension } from '../extension.js';
import { type AccountGroup, accountGroups, findSectionConflicts, findSectionProblems } from '../pages/account-section.js';
import { findAdditionConflicts, findPageProblems } from '../pages/page-additions.js';
import { formatProblems } from '../schema-formats.js';
import { sharedClaims } from '../shared-claims.js';
import type { ReportProblem } from '../work.js';

type Check = readonly [expected: string, holds: (value: unknown) => boolean];

/** @param parameters of the function, as a developer would write them. */
const callback = (parameters = 'context'): Check => [`a function: (${parameters}) => …`, isFunction];
const isGrantTypes = (value: unknown): boolean =>
  isObject(value) && Object.entries(value).every(([name, create]) => canParseUrl(name) && isFunction(create));

/** Checks that each code has a status of a refusal or a failure, and that each code is one word in a log. */
function isErrorCodes(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value as Readonly<Record<string, Partial<ErrorEntry> | undefined>>).every(([code, entry]) => {
    const { status, description } = entry ?? {};
    const isStatus = Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599;
    return /^[a-z][a-z0-9_]*$/.test(code) && isStatus && typeof description === 'string' && description !== '';
  });
}

const members: Readonly<Record<keyof Extension, Check>> = {
  name: [
    "a name of lower-case letters, digits and hyphens, which begins with a letter, such as 'my-shop'",
    (value) => typeof value === 'string' && /^[a-z][a-z0-9-]*$/.test(value),
  ],
  routes: callback('router, context'),
  errors: ["'problem', 'oauth' or 'page'", (value) => ['problem', 'oauth', 'page'].includes(value as string)],
  errorCodes: ['an object of { status, description } by code, made by defineErrors', isErrorCodes],
  collections: ['an array of collections, each made by defineCollection', Array.isArray],
  seed: ['a form and pieces, made by defineSeed', (value) => isObject(value) && isFunction(valueAt(value, ['pieces']))],
  check: callback('report'),
  start: callback(),
  health: callback(),
  deliveries: callback(),
  jobs: callback(),
  events: [
    "an array of names of events, such as ['BadgeIssued']",
    (value) => Array.isArray(value) && value.every((name) => /^[A-Z][A-Za-z]*$/.test(String(name))),
  ],
  artifacts: ["an array of kinds of artifacts, such as [{ name: 'shop.carts', lifetimeSeconds: 600 }]", Array.isArray],
  claims: [
    "an array of claim sets, such as [{ name: 'hr', claims: {} }]",
    (value) => Array.isArray(value) && value.every((set) => isObject(set)),
  ],
  pages: callback(),
  letters: callback(),
  discovery: callback(),
  requirements: callback(),
  resources: callback(),
  signInMethods: callback(),
  around: [
    'an object of functions by endpoint, such as { token: (context) => … } or { token: { concerns: (headers) => …, middleware: (context) => … } }',
    (value) => isObject(value) && Object.values(value).every((one) => isFunction(one) || isConcerned(one)),
  ],
  configure: callback(),
  clients: callback(),
  endImpersonationAt: callback(),
  impersonation: callback(),
  logoutParticipant: callback(),
  texts: ["an object of catalogues by language, such as { en: { 'shop.title': 'Shop' } }", isObject],
  pageAdditions: [
    "an array of additions with a name and a text, such as [{ name: 'help', text: 'shop.help' }]",
    (value) => Array.isArray(value) && value.every((one) => ['name', 'text'].every((member) => typeof valueAt(one, [member]) === 'string')),
  ],
  accountSections: [
    `an array of sections with name, title, summary and href, and a group of ${accountGroups.join(', ')}: [{ name, title, summary, href, group: 'more' }]`,
    (value) =>
      Array.isArray(value) &&
      value.every(
        (one) =>
          ['name', 'title', 'summary'].every((member) => typeof valueAt(one, [member]) === 'string') &&
          isFunction(valueAt(one, ['href'])) &&
          (valueAt(one, ['isFor']) === undefined || isFunction(valueAt(one, ['isFor']))) &&
          [undefined, ...accountGroups].includes(valueAt(one, ['group']) as AccountGroup | undefined),
      ),
  ],
  clientMetadata: [
    'an object of functions by name, such as { badge_uri: (value) => … }',
    (value) => isObject(value) && Object.values(value).every(isFunction),
  ],
  grantTypes: ["an object of functions by absolute URI, such as { 'urn:example:badge': (context) => … }", isGrantTypes],
  clientProblems: callback(),
  clientEndpoints: [
    'an object with a function: { backchannel_authentication: (context) => … }',
    (value) =>
      isObject(value) && Object.entries(value).every(([name, create]) => name === 'backchannel_authentication' && isFunction(create)),
  ],
  close: callback(),
};

/** Names that the service itself claims, before any option is read. */
export interface Standard {
  readonly extensions: readonly Extension[];
  readonly claims: readonly ClaimSet[];
  /** Names of the protocol's endpoints. */
  readonly endpoints: readonly string[];
  /** Names of client metadata that the service knows or refuses. */
  readonly clientMetadata: readonly string[];
}

/** Returns all problems of the options `extensions`, `claims` and `claimMapping`. */
export function findExtensionProblems(options: unknown, standard: Standard): FoundProblems {
  const given = listAt(options, 'extensions');
  const { sets, mapping } = claimsOf(options, standard);
  const all = [...standard.extensions, ...given] as readonly Extension[];
  return {
    invalid: [
      ...given.flatMap((extension, index) => problemsOf(extension, ['extensions', index], standard.endpoints)),
      ...given.flatMap((extension) => (isWellFormed(extension) ? [...findPageProblems(extension), ...findSectionProblems(extension)] : [])),
      ...findClaimProblems(sets, mapping),
    ],
    conflicts: [
      ...findTakenNames(given, standard.extensions),
      ...findSoleConflicts(all),
      ...findAdditionConflicts(all.filter(isWellFormed)),
      ...findSectionConflicts(all.filter(isWellFormed)),
      ...findNameConflicts(all, standard.clientMetadata),
      ...findClaimConflicts(sets, mapping),
    ],
  };
}

/** Returns the identity scopes that the options declare. Options that cannot be read are left out. */
export function findIdentityScopes(options: unknown, standard: Standard): ReadonlySet<string> {
  const { sets, mapping } = claimsOf(options, standard);
  return identityScopes(claimScopes(sets, mapping));
}

function claimsOf(options: unknown, standard: Standard): { readonly sets: readonly ClaimSet[]; readonly mapping: ClaimMapping } {
  const extensions = [...standard.extensions, ...listAt(options, 'extensions')];
  const ofExtensions = extensions.flatMap((extension) => listAt(extension, 'claims'));
  const mapping = valueAt(options, ['claimMapping']);
  return {
    sets: [...standard.claims, ...ofExtensions, ...listAt(options, 'claims')] as readonly ClaimSet[],
    mapping: isObject(mapping) ? (mapping as ClaimMapping) : {},
  };
}

const isConcerned = (one: unknown): boolean => ['concerns', 'middleware'].every((member) => isFunction(valueAt(one, [member])));

function problemsOf(extension: object, path: OptionPath, endpoints: readonly string[]): readonly ConfigProblem[] {
  const wrongMembers = Object.entries(members).flatMap(([name, [expected, holds]]) => {
    const value = valueAt(extension, [name]);
    return value === undefined || holds(value) ? [] : [wrong([...path, name], expected, value)];
  });
  const around = valueAt(extension, ['around']);
  return [
    ...unknownMembers(extension, path, Object.keys(members), 'a member of extensions that exists'),
    ...wrongMembers,
    ...formatProblems(valueAt(extension, ['seed', 'form']) as TSchema | undefined, formatPath([...path, 'seed', 'form'])),
    ...reportedBy(extension, path),
    ...declaredData(extension).flatMap(({ member, index, value, find }) =>
      find(value, valueAt(extension, ['name']), [...path, member, index]),
    ),
    ...(isObject(around) ? unknownMembers(around, [...path, 'around'], endpoints, 'an endpoint that exists') : []),
  ];
}

/** Returns the problems that an extension reports about its own options. */
function reportedBy(extension: object, path: OptionPath): readonly ConfigProblem[] {
  const check = valueAt(extension, ['check']);
  const problems: ConfigProblem[] = [];
  if (typeof check !== 'function') return problems;
  const report: ReportProblem = ({ path: within = [], ...problem }) =>
    void problems.push({ ...problem, path: formatPath([...path, ...within]) });
  try {
    check.call(extension, report);
  } catch (error) {
    problems.push({
      path: formatPath([...path, 'check']),
      expected: 'a check that reports each problem and throws nothing: (report) => …',
      received: error instanceof Error ? `a thrown ${error.name}` : 'something thrown',
    });
  }
  return problems;
}

/** Returns the collections and kinds of artifacts of an extension, each with the function that checks it. */
const declaredData = (extension: object) =>
  (
    [
      ['collections', findCollectionProblems],
      ['artifacts', findArtifactProblems],
    ] as const
  ).flatMap(([member, find]) => {
    const list = valueAt(extension, [member]);
    return Array.isArray(list) ? list.map((value: unknown, index) => ({ member, index, value, find })) : [];
  });

const isWellFormed = (extension: object): extension is Extension =>
  (['name', 'texts', 'pageAdditions', 'accountSections'] as const).every((name) => {
    const value = valueAt(extension, [name]);
    return value === undefined ? name !== 'name' : members[name][1](value);
  });

/**
 * Refuses the name of one of the service's own extensions. An extension with such a name would own the routes of the service's extension, and would answer
 * in its place.
 */
const findTakenNames = (given: readonly object[], standard: readonly Extension[]): readonly ConfigProblem[] =>
  given.flatMap((extension, index) => {
    const name = valueAt(extension, ['name']);
    if (!standard.some((own) => own.name === name)) return [];
    const at = formatPath(['extensions', index]);
    return [{ path: `${at}.name`, expected: `one owner of the name ${name}`, received: `the service and ${at}` }];
  });

/** Members that exactly one extension must have. */
const soleMembers = [
  ['pages', 'one extension that shows pages: leave out the others, or add one'],
  ['letters', 'one extension that writes letters: leave out the others, or add one'],
] as const;

const findSoleConflicts = (extensions: readonly Extension[]): readonly ConfigProblem[] =>
  soleMembers.flatMap(([member, expected]) => {
    const owners = extensions.filter((extension) => extension[member] !== undefined).map(({ name }) => name);
    if (owners.length === 1) return [];
    return [{ path: 'extensions', expected, received: owners.join(' and ') || 'none' }];
  });

/** The service, as the first owner of names. */
const service = { name: 'the service', events: eventNames, errorCodes: errorTable };

/** Returns a problem for each name that has two owners: names of extensions, and names that extensions declare. */
const findNameConflicts = (extensions: readonly Extension[], ownMetadata: readonly string[]): readonly ConfigProblem[] =>
  sharedClaims(
    [
      { ...service, clientMetadata: Object.fromEntries(ownMetadata.map((name) => [name, () => undefined])) } as Extension,
      ...extensions,
    ].map((extension) => ({ owner: extension.name, extension })),
    ({ owner, extension }) => [
      ...namesIn(extension.errorCodes).map((code) => `the error ${code}`),
      ...declaredData(extension).map(({ member, value }) => `${member} ${String(valueAt(value, ['name']))}`),
      ...(Array.isArray(extension.events) ? extension.events : []).map((event) => `the event ${event}`),
      ...(extension.clients ? [`the applications ${owner}:`] : []),
      ...(extension.logoutParticipant ? [`the logout notices of ${owner}`] : []),
      ...namesIn(extension.grantTypes).map((name) => `the grant type ${name}`),
      ...namesIn(extension.clientEndpoints).map((name) => `the endpoint ${name}`),
      ...namesIn(extension.clientMetadata).map((name) => `client metadata ${name}`),
    ],
  );

const namesIn = (value: unknown): readonly string[] => (isObject(value) ? Object.keys(value) : []);

/** Returns the objects of a list. Another check reports the list's other values. */
const listAt = (value: unknown, name: string): readonly object[] => {
  const list = valueAt(value, [name]);
  return Array.isArray(list) ? list.filter(isObject) : [];
};
