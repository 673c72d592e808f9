/** Input of callers, checked here against schemas. The services trust checked input. */
import { isDeepStrictEqual } from 'node:util';
import { type TObject, type TOptional, type TProperties, type TSchema, Type, TypeGuard } from '@sinclair/typebox';
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value';
import { expectedAccent } from '../display/contrast.js';
import { IdpError } from '../errors.js';
import type { Row } from '../store/directory-store.js';
import type { Branding, Stored } from '../store/records/records.js';
import { IMAGE_ADDRESS, isImageAddress } from '../text/image-address.js';
import { referenceToken } from '../text/json-pointer.js';
import { jsonTypes } from '../text/json-types.js';
import { isBlank, type TextKind, textProblem } from '../text/kinds.js';
import { isLinkAddress, LINK_ADDRESS } from '../text/link-address.js';
import { ownMember } from '../text/own-member.js';
import { ADDRESS, inputSchema, TEXT_KIND } from '../text/schemas.js';

/** A change of a record: an absent member stays, `null` removes an optional member. @see RFC 7396 */
export type Patch<Input> = {
  readonly [Key in keyof Input]?: Input[Key] | (undefined extends Input[Key] ? null : never);
};

/** Checks the record that a change is about to overwrite, and throws if the caller expected another record. The check may be called again. */
export type CheckCurrent<R> = (current: R) => void;

/** Signals that another write came between the check and the write. */
const changed = new Error('the record changed');

/**
 * Writes a record only over the version that was judged. If another write came between, the record is judged again.
 * @param write passes `check` on to the service, which calls it with the record that is about to be overwritten
 * @example
 * ```ts
 * import { type Directory, IdpError, type PersonWithUser, writeJudged } from 'tenant-idp/extension';
 *
 * export const enableOld = (directory: Directory, person: PersonWithUser, before: Date) =>
 *   writeJudged(
 *     person,
 *     ({ createdAt }) => {
 *       if (createdAt > before) throw new IdpError('not_found');
 *     },
 *     (check) => directory.forTenant(person.tid).users.enable(person.user.id, check),
 *   );
 * ```
 */
export async function writeJudged<R extends Pick<Row, 'version'>, Result>(
  row: R,
  judge: (row: R) => unknown,
  write: (check: CheckCurrent<R>, row: R) => Promise<Result>,
): Promise<Result> {
  for (let judged = row; ; ) {
    await judge(judged);
    const { version } = judged;
    const check: CheckCurrent<R> = (current) => {
      if (current.version === version) return;
      judged = current;
      throw changed;
    };
    try {
      return await write(check, judged);
    } catch (error) {
      if (error !== changed) throw error;
    }
  }
}

/** Members of a record in the form that creates it: members with a default are optional. */
type WithDefaults<Members extends TProperties, Defaults> = {
  [Name in keyof Members]: Name extends keyof Defaults ? TOptional<Members[Name]> : Members[Name];
};

/** Returns the members of the form that creates a record. Members with a default are optional. */
export const withDefaults = <Members extends TProperties, Defaults extends { readonly [Name in keyof Members]?: unknown }>(
  members: Members,
  defaults: Defaults,
) =>
  Object.fromEntries(
    Object.entries(members).map(([name, schema]) => [name, Object.hasOwn(defaults, name) ? Type.Optional(schema) : schema]),
  ) as WithDefaults<Members, Defaults>;

/** Returns the schema of a {@link Patch} for the other schema. */
export function patchSchema(schema: TObject): TObject {
  const properties = Object.entries(schema.properties).map(([name, property]) => [
    name,
    Type.Optional(TypeGuard.IsOptional(property) ? Type.Union([property, Type.Null()]) : property),
  ]);
  return inputSchema(Object.fromEntries(properties));
}

/** Expectation for a member that the schema does not have. */
const UNKNOWN = 'no member of this name';

/** Location of an invalid value, with the expected value. */
export interface InputProblem {
  /** A JSON pointer. */
  readonly path: string;
  /** Expected value. The text never repeats the given value. */
  readonly expected: string;
}

/** Maximum number of problems in one answer. */
const MOST_PROBLEMS = 20;

/**
 * Returns the problems of input, for the caller that sent it: the first problem of each place, twenty at most. Also checks that each text fits the kind in the
 * schema, and that every text and number can be stored.
 * @example
 * ```ts
 * import { IdpError, problemsOf, Type } from 'tenant-idp/extension';
 *
 * const Badge = Type.Object({ number: Type.String() }, { additionalProperties: false });
 * export function checkBadge(given: unknown): void {
 *   const problems = problemsOf(Badge, given);
 *   if (problems.length > 0) throw new IdpError('invalid_record', { ...problems[0], problems });
 * }
 * ```
 */
export function problemsOf(schema: TSchema, value: unknown): readonly InputProblem[] {
  const problems: InputProblem[] = [];
  for (const problemsOfRule of [formProblems(schema, value), textProblems(schema, value), unstorableParts(value)])
    for (const problem of problemsOfRule) {
      if (problems.length === MOST_PROBLEMS) return problems;
      // If a member is missing, typebox also reports that it is no string.
      if (!problems.some(({ path }) => path === problem.path)) problems.push(problem);
    }
  return problems;
}

/**
 * Returns the first problem of an answer. Texts are not checked by their kind, because a stored text may be older than a rule.
 * @example
 * ```ts
 * import { answerProblem, Type } from 'tenant-idp/extension';
 *
 * const Badge = Type.Object({ number: Type.String() }, { additionalProperties: false });
 * export const isBadge = (answer: unknown): boolean => answerProblem(Badge, answer) === undefined;
 * ```
 */
export function answerProblem(schema: TSchema, answer: unknown): InputProblem | undefined {
  const [first] = formProblems(schema, answer);
  // The name of an unknown member is a value of the record, so the path must not show it.
  return first?.expected === UNKNOWN ? { ...first, path: first.path.replace(/\/[^/]*$/, '') } : first;
}

/** Yields errors on demand, because a large value can have thousands. */
function* formProblems(schema: TSchema, value: unknown): Generator<InputProblem> {
  // The check is much cheaper than a search for errors.
  if (Value.Check(schema, value)) return;
  for (const { path, message } of schemaErrors(schema, value)) yield { path, expected: expectedOf(message) };
}

/**
 * Finds the errors of a value. An error of a union is replaced by the errors of the alternative that was meant, or by one error that names all
 * alternatives.
 */
export function* schemaErrors(schema: TSchema, value: unknown): Generator<ValueError> {
  for (const error of Value.Errors(schema, value)) yield* withAlternatives(error);
}

function* withAlternatives(error: ValueError): Generator<ValueError> {
  if (error.type !== ValueErrorType.Union) return yield error;
  const { anyOf } = error.schema as unknown as { readonly anyOf: readonly TSchema[] };
  const alternatives = anyOf
    .map((schema, index) => ({ schema, errors: error.errors[index] ?? [] }))
    // If null is valid, every text, number or object would be reported as not null, and no caller sends null by mistake.
    .filter(({ schema }) => schema.type !== 'null');
  const meant = alternatives.length === 1 ? alternatives : alternatives.filter(({ schema }) => schema.type === jsonTypeOf(error.value));
  const [only] = meant;
  if (only && meant.length === 1 && only.schema.const === undefined) {
    for (const inner of only.errors) yield* withAlternatives(inner);
    return;
  }
  const names = alternatives.map(({ schema }) =>
    schema.const === undefined ? (types[String(schema.type)] ?? String(schema.type)) : `'${schema.const}'`,
  );
  yield { ...error, message: `Expected ${new Intl.ListFormat('en', { type: 'disjunction' }).format(names)}` };
}

const jsonTypeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

interface SchemaParts {
  readonly [TEXT_KIND]?: TextKind | 'opaque';
  readonly anyOf?: readonly TSchema[];
  readonly allOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
}

/** Returns a problem for each text with a character that its kind refuses, and for each blank text. */
export function textProblems(schema: TSchema, value: unknown, path = ''): readonly InputProblem[] {
  const { [TEXT_KIND]: kind, anyOf = [], allOf = [], items, properties, patternProperties } = schema as SchemaParts;
  const branches = [...anyOf, ...allOf];
  const within = branches.flatMap((branch) => textProblems(branch, value, path));
  if (typeof value === 'string') return [...within, ...ofKind(kind, value, path)];
  if (typeof value !== 'object' || value === null) return within;
  const [byAnyName] = Object.values(patternProperties ?? {});
  const ofMembers = Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const inner = Array.isArray(value) ? items : (ownMember(properties ?? {}, name) ?? byAnyName);
    return inner ? textProblems(inner, member, `${path}/${referenceToken(name)}`) : [];
  });
  return [...within, ...ofMembers];
}

function ofKind(kind: TextKind | 'opaque' | undefined, text: string, path: string): readonly InputProblem[] {
  if (kind === undefined || kind === 'opaque' || text === '') return [];
  const problem = textProblem(kind, text);
  if (problem) return [{ path, expected: withoutCharacter(problem) }];
  // A person needs no name, so a blank name is not a problem.
  return isBlank(text) && kind !== 'personName' ? [{ path, expected: 'a text with at least 1 visible character' }] : [];
}

const withoutCharacter = ({ character, position }: NonNullable<ReturnType<typeof textProblem>>): string =>
  `a text without ${character}: remove the character at position ${position}`;

/** Maximum levels of nested objects and lists. */
const MOST_DEPTH = 32;

/** Returns problems of values that JSON and stores cannot represent: texts with half of a character, and numbers that are not finite. */
function unstorableParts(value: unknown, path = '', depth = 0): readonly InputProblem[] {
  if (typeof value === 'string') return halfCharacter(value, path);
  if (typeof value === 'number' && !Number.isFinite(value)) return [{ path, expected: 'a number below 1.8e308' }];
  if (typeof value !== 'object' || value === null) return [];
  if (depth === MOST_DEPTH) return [{ path, expected: `at most ${MOST_DEPTH} levels` }];
  return Object.entries(value).flatMap(([name, member]) => {
    const memberPath = `${path}/${referenceToken(name)}`;
    return [...halfCharacter(name, memberPath), ...unstorableParts(member, memberPath, depth + 1)];
  });
}

function halfCharacter(text: string, path: string): readonly InputProblem[] {
  const half = /\p{Cs}/u.exec(text);
  if (!half) return [];
  const character = `U+${half[0].charCodeAt(0).toString(16).toUpperCase()}`;
  return [
    {
      path: path.replace(/\p{Cs}/gu, '\ufffd'),
      expected: withoutCharacter({ character, position: [...text.slice(0, half.index)].length + 1 }),
    },
  ];
}

/** Returns the expectation in a sentence of typebox, such as "Expected required property". */
export function expectedOf(message: string): string {
  if (message === `Expected kind '${ADDRESS}'`) return 'an e-mail address: a name, @ and a domain';
  if (message === 'Expected required property') return 'a value, which is required';
  if (message === 'Unexpected property') return UNKNOWN;
  const expected = message.replace(/^Expected /, '');
  return types[expected] ?? phrases.reduce((text, [found, words]) => text.replace(found, words), expected);
}

/** Types in the words of typebox, and in the words of our errors. */
const types: Readonly<Record<string, string>> = {
  ...jsonTypes,
  'array elements to be unique': 'a list in which no entry is repeated: remove the repeated one',
};

const phrases: readonly (readonly [found: RegExp, words: string])[] = [
  [/^string length greater or equal to 1$/, 'at least 1 character'],
  [/^string length greater or equal to (\d+)$/, 'at least $1 characters'],
  [/^string length less or equal to (\d+)$/, 'at most $1 characters'],
  [/^array length to be greater or equal to 1$/, 'at least 1 entry'],
  [/^array length to be greater or equal to (\d+)$/, 'at least $1 entries'],
  [/^array length to be less or equal to (\d+)$/, 'at most $1 entries'],
  [/^integer to be greater or equal to (-?\d+)$/, 'a whole number of at least $1'],
  [/^integer to be less or equal to (-?\d+)$/, 'a whole number of at most $1'],
  [/^string to match /, 'a string that matches '],
];

/** @throws IdpError `invalid_record` with the path (a JSON pointer) and the expected value, never the given value. */
export function checkInput(schema: TSchema, value: unknown): void {
  const [problem] = problemsOf(schema, value);
  if (problem) throw new IdpError('invalid_record', { ...problem });
}

/** @throws IdpError `invalid_record` for an accent colour on which no text is readable, and for an address that no page can load or link. */
export function checkBranding(given: Branding | null | undefined, path: string): void {
  const { accentColor, logoUri, faviconUri, privacyUri, termsUri, helpUri } = given ?? {};
  const refuse = (name: keyof Branding, expected: string | undefined): void => {
    if (expected !== undefined) throw new IdpError('invalid_record', { path: `${path}/${name}`, expected });
  };
  refuse('accentColor', accentColor === undefined ? undefined : expectedAccent(accentColor));
  for (const [name, uri] of Object.entries({ logoUri, faviconUri }))
    refuse(name as keyof Branding, uri === undefined || isImageAddress(uri) ? undefined : IMAGE_ADDRESS);
  for (const [name, uri] of Object.entries({ privacyUri, termsUri, helpUri }))
    refuse(name as keyof Branding, uri === undefined || isLinkAddress(uri) ? undefined : LINK_ADDRESS);
}

/** Returns the fields of a new record. @param now the time that all nodes share */
export function newRecord<Fields extends object>(now: () => number, id: string, fields: Fields) {
  const at = new Date(now());
  return { ...fields, id, createdAt: at, updatedAt: at };
}

/** Returns whether a row is the new record, and not another record that got the same id. */
export const isRecord =
  ({ createdAt }: { readonly createdAt: Date }) =>
  (row: { readonly createdAt: Date }): boolean =>
    row.createdAt.getTime() === createdAt.getTime();

/**
 * Returns the record with the patch applied. A patch that changes nothing returns the same object, so nothing is written.
 * @param now the time that all nodes share
 */
export function patched<R extends Stored>(now: () => number, record: R, patch: Readonly<Record<string, unknown>>): R {
  const next: Record<string, unknown> = { ...(record as object) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name];
    else if (value !== undefined) next[name] = value;
  }
  return isDeepStrictEqual(next, { ...record }) ? record : ({ ...next, updatedAt: new Date(now()) } as unknown as R);
}

/** Returns the fields without undefined members. A caller treats undefined members as absent; a store would not. */
export const defined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
