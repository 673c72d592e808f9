/**
 * Phrases of `expected` in a ConfigError. The message is `path: expected PHRASE, got …`, so a phrase names what is allowed, or gives an
 * example of it. The lists are made twice: by giving each option and each member a bad value, and by reading the sources for phrases that
 * need more than one bad value.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { TSchema } from '@sinclair/typebox';
import type { ConfigError, ConfigProblem } from 'tenant-idp';
import { mongoDirectory } from 'tenant-idp/adapters/mongo';
import { saml } from 'tenant-idp/extensions/saml';
import ts from 'typescript';
import { checkOptions } from '../../adapters/redis/client-options.js';
import { findClaimProblems } from '../../lib/claims/declarations.js';
import { findArtifactProblems } from '../../lib/contract/artifacts.js';
import { findExtensionProblems } from '../../lib/contract/assembly/checks.js';
import { findCollectionProblems } from '../../lib/contract/collections.js';
import { findOperationProblems } from '../../lib/contract/resources.js';
import { findSeedFormProblems, seedSchema } from '../../lib/directory/seed/schema.js';
import { featureStandings } from '../../lib/options/features.js';
import { resolveOptions } from '../../lib/options/resolve.js';
import { declaredOptions } from '../options/declared-options.js';
import { answersOf, phrasesIn } from './phrases.js';

/** Patterns of phrases that state the allowed values: a range, names, a source, a reason to leave the member out, or an example. */
const helps = [
  /\d/,
  /['"`].+['"`]/,
  /\bone of \w|\bsome of \w|\bone owner of\b/,
  /: \S|\bwith \w+/,
  /\btrue\b|\bfalse\b/,
  /\bmade by define\w+/,
  /\bas \w+ of \w+ returns\b/,
  /^nothing\b.*(?:because|but with)/,
  /\bin place of\b/,
  /, which is required$/,
  // Types of JSON, of which a schema allows every value.
  /^(?:a string|a number|a whole number|null)$/,
];

const faultsOf = ({ path, expected }: Pick<ConfigProblem, 'path' | 'expected'>): readonly string[] => [
  ...(path === '' ? ['names no path'] : []),
  ...(helps.some((help) => help.test(expected)) ? [] : ['names no allowed value and gives no example']),
  ...(/\bexpect/i.test(expected) ? ['says “expected”, as the message does'] : []),
  ...(/\b(?:in)?valid\b|\bbad\b|\bwrong\b|\bmalformed\b|\bincorrect\b/i.test(expected)
    ? ['says that something is bad, and not what is right']
    : []),
  ...(/[.!?,;:]$|\s$|^\s|\s{2}/.test(expected) ? ['ends in a sign, in the middle of the message'] : []),
  ...(/^(?:[A-Z][a-z]+ (?!of\b)|$)/.test(expected) ? ['begins a sentence'] : []),
  ...(/\bundefined\b|\[object |function \(/.test(expected) ? ['shows a value of the program'] : []),
];

const linesOf = (problems: readonly Pick<ConfigProblem, 'path' | 'expected'>[]): readonly string[] => [
  ...new Set(problems.flatMap((problem) => faultsOf(problem).map((fault) => `${problem.path}: expected ${problem.expected} — ${fault}`))),
];

/** Values of each type that are invalid nearly everywhere. */
const badValues = [
  null,
  0,
  -1,
  1.5,
  Number.NaN,
  1e9,
  '',
  ' ',
  'nonsense ',
  true,
  [],
  [null],
  [''],
  [{}],
  ['a', 'a'],
  {},
  { zzzzzz: 1 },
  () => undefined,
];

const setAt = ([name = '', ...rest]: readonly string[], value: unknown): object => ({
  [name]: rest.length === 0 ? value : setAt(rest, value),
});

const problemsOf = (act: () => unknown): readonly ConfigProblem[] => {
  try {
    act();
    return [];
  } catch (error) {
    return (error as ConfigError).problems ?? [];
  }
};

const shaped = { issuer: 'https://id.example' };
const issuers = ['id.example', 'https://a:b@id.example', 'https://id.example?a', 'https://id.example/', 'https://ID.example'];

test('each option, with each bad value, says what is allowed', () => {
  const problems = declaredOptions.flatMap(({ path }) =>
    badValues.flatMap((value) => problemsOf(() => resolveOptions({ ...shaped, ...setAt(path.split('.'), value) }, {}))),
  );
  expect(
    new Set(
      problems
        .map(({ path }) => path.replace(/\[.*|\.zzzzzz/, ''))
        .filter((path) => declaredOptions.some((option) => option.path === path)),
    ).size,
  ).toBe(declaredOptions.length);
  const ofIssuers = issuers.flatMap((issuer) => problemsOf(() => resolveOptions({ issuer }, {})));
  expect(ofIssuers.length).toBe(issuers.length);
  expect(linesOf([...problems, ...ofIssuers, ...problemsOf(() => resolveOptions({}, { NODE_ENV: 'production' }))])).toEqual([]);
});

test('each feature and each of its members, with each bad value, says what is allowed', () => {
  const problems = Object.entries(featureStandings).flatMap(([name, standing]) =>
    ['', 'enabled', 'zzzzzz', ...('members' in standing ? Object.keys(standing.members) : [])].flatMap((member) =>
      badValues.flatMap((value) =>
        problemsOf(() =>
          resolveOptions({ ...shaped, features: { [name]: member === '' ? value : { enabled: true, [member]: value } } }, {}),
        ),
      ),
    ),
  );
  expect(new Set(problems.map(({ path }) => path.split('.')[1])).size).toBe(Object.keys(featureStandings).length);
  expect(linesOf(problems)).toEqual([]);
});

const standard = { extensions: [], claims: [], endpoints: ['token'], clientMetadata: [] };
const invalidOf = (options: object): readonly ConfigProblem[] => findExtensionProblems(options, standard).invalid ?? [];
/** Returns the names of members from the phrase about an unknown member. */
const namesIn = ([problem]: readonly ConfigProblem[]): readonly string[] => problem?.expected.split(': ')[1]?.split(', ') ?? [];

test('each member of an extension, of what it declares, and of claims, with each bad value, says what is allowed', () => {
  const declaration = /interface Extension \{\n([\s\S]*?)\n\}/.exec(readFileSync('lib/contract/extension.ts', 'utf8'))?.[1] ?? '';
  const members = [...declaration.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name = '']) => name);
  expect(members.length).toBeGreaterThan(30);
  const ofExtensions = members.flatMap((member) =>
    badValues.flatMap((value) => invalidOf({ extensions: [{ name: 'mine', [member]: value }] })),
  );
  expect(new Set(ofExtensions.map(({ path }) => /^extensions\[0\]\.(\w+)/.exec(path)?.[1])).size).toBeGreaterThanOrEqual(members.length);

  const declared = (find: (value: unknown) => readonly ConfigProblem[]) => {
    const names = namesIn(find({ name: 'mine.rows', lifetimeSeconds: 1, row: { type: 'object', properties: {} }, zzzzzzzzzzzz: 1 }));
    expect(names.length).toBeGreaterThan(4);
    return names.flatMap((name) =>
      badValues.flatMap((value) => find({ name: 'mine.rows', row: { type: 'object', properties: {} }, [name]: value })),
    );
  };
  const ofIndexes = badValues.flatMap((value) =>
    ['fields', 'order', 'ofAllTenants'].flatMap((member) =>
      findCollectionProblems(
        {
          name: 'mine.rows',
          row: { type: 'object', properties: { a: {} } },
          indexes: { byA: { fields: ['a'], [member]: value } },
        } as never,
        'mine',
        ['at'],
      ),
    ),
  );
  const claim = { scope: 'hr', type: 'string', description: 'Desk', value: () => '1' };
  const ofSets = ['name', 'scopes', 'needs', 'load', 'timeoutMs', 'onError', 'claims', 'zzzzzz'].flatMap((member) =>
    badValues.flatMap((value) =>
      findClaimProblems([{ name: 'hr', claims: { desk: claim }, [member]: value } as never], { 'no claim': false }),
    ),
  );
  const ofClaims = ['scope', 'type', 'description', 'in', 'apiResources', 'value', 'zzzzzz'].flatMap((member) =>
    badValues.flatMap((value) => findClaimProblems([{ name: 'hr', claims: { desk: { ...claim, [member]: value } } } as never], {})),
  );
  const ofOperations = ['method', 'path', 'scope', 'reach', 'handle'].flatMap((member) =>
    ['tenant', 'nonsense ', 1, undefined].flatMap((value) =>
      findOperationProblems([{ method: 'GET', path: '/a', [member]: value } as never], 'mine', new Set()),
    ),
  );
  const problems = [
    ...ofExtensions,
    ...declared((value) => findCollectionProblems(value as never, 'mine', ['at'])),
    ...declared((value) => findArtifactProblems(value as never, 'mine', ['at'])),
    ...[ofIndexes, ofSets, ofClaims, ofOperations].flatMap((found) => {
      expect(found.length).toBeGreaterThan(10);
      return found;
    }),
  ];
  expect(linesOf(problems)).toEqual([]);
});

interface SchemaParts {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

/** Returns values in which one member is bad: for each member of a schema, and of the schemas in it. */
function badSeeds(schema: TSchema, wrap: (value: unknown) => unknown): readonly unknown[] {
  const { properties = {}, items, anyOf = [] } = schema as SchemaParts;
  return [
    ...badValues.map(wrap),
    ...[{ a: '\u202e' }, 'x'.repeat(5000), Array.from({ length: 1001 }, String)].map(wrap),
    ...Object.entries(properties).flatMap(([name, inner]) => badSeeds(inner, (value) => wrap({ [name]: value }))),
    ...(items ? badSeeds(items, (value) => wrap([value])) : []),
    ...anyOf.flatMap((inner) => badSeeds(inner, wrap)),
  ];
}

test('each member of the seed, with each bad value, says what is allowed', () => {
  const problems = badSeeds(seedSchema, (value) => value).flatMap((seed) => [...findSeedFormProblems(seed)]);
  expect(new Set(problems.map(({ path }) => path)).size).toBeGreaterThan(100);
  expect(linesOf(problems)).toEqual([]);
});

test('each option of SAML and of the adapters, with each bad value, says what is allowed', () => {
  const reported = (options: unknown): readonly Pick<ConfigProblem, 'path' | 'expected'>[] => {
    const found: { path: string; expected: string }[] = [];
    saml(options as never).check?.(({ path = [], expected }) => void found.push({ path: ['extensions[0]', ...path].join('.'), expected }));
    return found;
  };
  const samlOptions = ['entityId', 'keys', 'tenantEntities', 'wantAuthnRequestsSigned', 'clockSkewSeconds', 'zzzzzz'];
  const ofSaml = samlOptions.flatMap((name) => badValues.flatMap((value) => reported({ [name]: value })));
  const options = {
    enableOfflineQueue: true,
    keyPrefix: 'a',
    enableAutoPipelining: true,
    commandTimeout: 1,
    socketTimeout: 1,
    autoResendUnfulfilledCommands: true,
  };
  const clients = [
    { isCluster: false, options },
    { isCluster: true, options: { ...options, redisOptions: options } },
  ];
  const ofRedis = clients.flatMap((client) => problemsOf(() => checkOptions(client as never, '{')));
  const ofMongo = [{ db: 1 }, { db: { collection: () => ({}) }, prefix: ' ' }].flatMap((given) =>
    problemsOf(() => mongoDirectory(given as never)),
  );
  for (const found of [ofSaml, ofRedis, ofMongo]) expect(found.length).toBeGreaterThan(1);
  expect(linesOf([...ofSaml, ...ofRedis, ...ofMongo])).toEqual([]);
});

/** Position of the phrase among the arguments of functions that make a ConfigProblem. */
const phraseAt: Readonly<Record<string, number>> = { wrong: 1, missing: 1, listOfNamed: 0, record: 0 };

test('each phrase in the sources says what is allowed', () => {
  // Problems of other kinds (answers of APIs, logs) have other sentences.
  const phrases = phrasesIn(
    ['lib', 'adapters', 'extensions'],
    (node) => {
      if (ts.isNewExpression(node) && node.expression.getText() === 'IdpError') return 'skip';
      if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === 'expected') return [node.initializer];
      if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) return [node.arguments[phraseAt[node.expression.text] ?? -1]];
      // A check of a value returns the phrase.
      const isCheck = ts.isVariableDeclaration(node) && node.type && /ValueCheck/.test(node.type.getText()) && node.initializer;
      return isCheck ? answersOf(isCheck) : [];
    },
    (source) => /\bConfig(?:Problem|Error)\b|ReportProblem|ValueCheck/.test(source),
  );
  expect(phrases.length).toBeGreaterThan(90);
  expect(linesOf(phrases.map(({ file, text }) => ({ path: file, expected: text })))).toEqual([]);
});
