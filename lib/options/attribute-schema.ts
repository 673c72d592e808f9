/**
 * The schema of the option `attributes`: checked at the start, and compiled by `ajv`, an optional peer dependency.
 *
 * The schema is the operator's own, as trusted as the code of the host, because `ajv` generates code from it.
 */
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { isObject, missing, type OptionPath, unknownName, valueAt, wrong } from '../config-problem.js';
import type { AttributeRules, InputProblem, OwnAttribute } from '../directory/index.js';
import type { ConfigProblem } from '../errors.js';
import { textFormats } from '../text/formats.js';
import { referenceToken } from '../text/json-pointer.js';
import { jsonTypes } from '../text/json-types.js';
import { MOST_MS, TimedPatterns } from './timed-patterns.js';

const ROOT: OptionPath = ['attributes', 'schema'];
/** Another check reports names that are not texts. */
const OWN: OptionPath = ['attributes', 'selfService'];
const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

type Schema = Readonly<Record<string, unknown>>;

/** Keywords whose value is a schema, a list of schemas, or an object of schemas by name. */
const keywordsOfOne = [
  'additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'items', 'not', 'propertyNames', 'then', 'unevaluatedItems',
  'unevaluatedProperties',
]; // biome-ignore format: a list
const keywordsOfLists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const keywordsOfNamed = ['$defs', 'dependentSchemas', 'patternProperties', 'properties'];
/** Keywords whose schemas apply to the same value as the schema itself. */
const keywordsOfSameValue = ['allOf', 'anyOf', 'dependentSchemas', 'else', 'if', 'not', 'oneOf', 'then'];
const keywords: readonly string[] = [
  ...keywordsOfOne, ...keywordsOfLists, ...keywordsOfNamed,
  'type', 'const', 'enum', 'format', 'pattern', 'required', 'dependentRequired', 'uniqueItems', 'multipleOf', 'maximum', 'exclusiveMaximum',
  'minimum', 'exclusiveMinimum', 'maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains', 'maxProperties',
  'minProperties', 'title', 'description', 'default', 'deprecated', 'readOnly', 'writeOnly', 'examples', 'contentEncoding',
  'contentMediaType', '$comment', '$id', '$ref', '$schema',
]; // biome-ignore format: a list
/** Keywords of references that the service does not support, because an OpenAPI document has no place for them. */
const otherReferences: readonly string[] = ['$anchor', '$dynamicAnchor', '$dynamicRef'];

interface Read {
  readonly problems: readonly ConfigProblem[];
  /** Rules of attributes. Undefined without the option, and if there are problems. */
  readonly rules?: AttributeRules;
}

/** Reads the option `attributes`. Another check reports a schema that is not an object. */
export async function readAttributes(options: unknown): Promise<Read> {
  const given = valueAt(options, ROOT);
  if (!isObject(given)) return { problems: [] };
  const read = jsonOf(given);
  if ('expected' in read) return { problems: [wrong(ROOT, read.expected, given)] };
  const { schema } = read;
  const all = [...placesIn(schema)];
  if (all.length > MOST_SCHEMAS)
    return { problems: [missing(ROOT, `at most ${MOST_SCHEMAS} schemas in the schema: it has ${all.length}`)] };
  const problems = [...all.filter(isSubschema).flatMap(problemsOf), ...problemsOfReferences(all)];
  if (problems.length > 0) return { problems };
  const { $schema: _, $id: __, ...plain } = schema;
  const names = valueAt(options, OWN);
  const own = (Array.isArray(names) ? names : []).map((name, index) => ownAttribute(plain, name, [...OWN, index]));
  const ofNames = own.flatMap((each) => ('path' in each ? [each] : []));
  if (ofNames.length > 0) return { problems: ofNames };
  return compiled(
    plain,
    own.flatMap((each) => ('path' in each ? [] : [each])),
  );
}

/** Maximum schemas in the schema. The code that `ajv` generates for more schemas overflows the stack. */
const MOST_SCHEMAS = 1000;
/** Maximum levels of objects and lists in the schema, because more levels overflow the stack too. */
const MOST_LEVELS = 100;

/** Returns the schema as JSON, or the expected form. */
function jsonOf(value: object): { readonly schema: Schema } | { readonly expected: string } {
  const tooDeep = { expected: `a JSON Schema of at most ${MOST_LEVELS} levels of objects and lists` };
  try {
    const json: unknown = JSON.parse(JSON.stringify(value));
    if (isObject(json)) return levelsOf(json) > MOST_LEVELS ? tooDeep : { schema: json };
  } catch (error) {
    // The stack overflowed.
    if (error instanceof RangeError) return tooDeep;
  }
  return { expected: 'a JSON Schema of values that JSON has: no cycles' };
}

/** Returns the levels of objects and lists. The count does not recurse, because the value may be nested deeper than the stack. */
function levelsOf(value: object): number {
  let count = 0;
  for (let level: readonly unknown[] = [value]; level.length > 0; count += 1)
    level = level.flatMap((each) => Object.values(each as object)).filter((each) => typeof each === 'object' && each !== null);
  return count;
}

/** A place in the schema that has a schema. */
interface Place<S = Schema | boolean> {
  readonly schema: S;
  readonly path: OptionPath;
  /** Place of the schema that applies this schema to its own value. Absent for a schema of a member or an item. */
  readonly of?: Place<Schema>;
}

/** Finds the schema and all schemas in it. */
function* placesIn(schema: unknown, path: OptionPath = ROOT, of?: Place<Schema>): Generator<Place> {
  if (typeof schema === 'boolean') yield { schema, path, ...(of && { of }) };
  if (!isObject(schema)) return;
  const place = { schema, path, ...(of && { of }) };
  yield place;
  for (const [keyword, value] of Object.entries(schema)) {
    const at = [...path, keyword];
    const holder = keywordsOfSameValue.includes(keyword) ? place : undefined;
    if (keywordsOfOne.includes(keyword)) yield* placesIn(value, at, holder);
    const isOfMany = keywordsOfLists.includes(keyword) ? Array.isArray(value) : keywordsOfNamed.includes(keyword) && isObject(value);
    if (isOfMany)
      for (const [name, each] of Object.entries(value as object))
        yield* placesIn(each, [...at, Array.isArray(value) ? Number(name) : name], holder);
  }
}

const isSubschema = (place: Place): place is Place<Schema> => isObject(place.schema);
const subschemas = (schema: unknown): readonly Place<Schema>[] => [...placesIn(schema)].filter(isSubschema);

const pointerOf = ({ path }: Place): string =>
  path
    .slice(ROOT.length)
    .map((part) => `/${referenceToken(String(part))}`)
    .join('');

const isReference = (value: unknown): value is string => typeof value === 'string' && /^#(?:\/|$)/.test(value);

/** Returns the JSON Pointer of a `$ref`; undefined for malformed percent-encoding. @see RFC 6901 §6 */
function targetOf($ref: string): string | undefined {
  try {
    return decodeURIComponent($ref.slice(1));
  } catch {
    return undefined;
  }
}

/**
 * Returns the problems of references. `ajv` compiles a reference to a member that is no schema, such as `#/__proto__`, and enforces nothing. A reference
 * that applies to its own value again never ends.
 */
function problemsOfReferences(all: readonly Place[]): readonly ConfigProblem[] {
  const places = new Map(all.map((place) => [pointerOf(place), place]));
  /** Places whose schemas a schema applies to its own value. */
  const applied = new Map<Place, Place[]>(all.map((place) => [place, []]));
  for (const place of all) if (place.of) applied.get(place.of)?.push(place);
  const referring = all.filter(isSubschema).flatMap((place) => {
    const { $ref } = place.schema;
    return isReference($ref) ? [{ place, $ref, target: places.get(targetOf($ref) ?? '-') }] : [];
  });
  for (const { place, target } of referring) if (target) applied.get(place)?.push(target);
  return referring.flatMap(({ place, $ref, target }) => {
    const path = [...place.path, '$ref'];
    if (!target) return [wrong(path, "a JSON Pointer to a schema within the schema, such as '#/$defs/badge'", $ref, true)];
    return reaches(applied, place)
      ? [wrong(path, "a JSON Pointer to another schema, such as '#/$defs/badge', that does not lead back here", $ref, true)]
      : [];
  });
}

/** Returns whether the schema of the place applies itself to its own value. */
function reaches(applied: ReadonlyMap<Place, readonly Place[]>, start: Place): boolean {
  const seen = new Set<Place>();
  const open = [...(applied.get(start) ?? [])];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (place === start) return true;
    if (!seen.has(place)) open.push(...(applied.get(place) ?? []));
    seen.add(place);
  }
  return false;
}

/** Names of members by which code may change the prototype of an object. The admin API refuses such members. */
const prototypeNames = ['__proto__', 'constructor'];

function problemsOf({ schema, path }: Place<Schema>): readonly ConfigProblem[] {
  const isRoot = path.length === ROOT.length;
  const typeOfRoot =
    isRoot && schema.type !== 'object' ? [wrong([...path, 'type'], "'object', because attributes are an object", schema.type, true)] : [];
  const names = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  const ofNames = names.flatMap((name) =>
    prototypeNames.includes(name)
      ? [
          missing(
            [...path, 'properties', name],
            "a name other than '__proto__' and 'constructor', because objects have members of these names",
          ),
        ]
      : [],
  );
  const ofKeywords = Object.entries(schema).flatMap(
    ([keyword, value]) => problemOfKeyword(keyword, value, [...path, keyword], isRoot) ?? [],
  );
  return [...typeOfRoot, ...ofNames, ...ofKeywords];
}

function problemOfKeyword(keyword: string, value: unknown, path: OptionPath, isRoot: boolean): ConfigProblem | undefined {
  if (otherReferences.includes(keyword)) return missing(path, "nothing, because a $ref is a JSON Pointer, such as '#/$defs/badge'");
  if (!keywords.includes(keyword)) return unknownName(path, keyword, keywords, 'a keyword of JSON Schema 2020-12');
  if ((keyword === '$schema' || keyword === '$id') && !isRoot) return missing(path, 'nothing, because only the root of the schema has it');
  if (keyword === '$schema' && value !== DRAFT) return wrong(path, `'${DRAFT}', or nothing`, value, true);
  if (keyword === 'type' && ![value].flat().every((name) => typeNames.includes(String(name))))
    return wrong(path, `one of ${typeNames.map((name) => `'${name}'`).join(', ')}, or an array of them`, value, true);
  if (keyword === '$ref' && !isReference(value))
    return wrong(path, "a JSON Pointer within the schema, such as '#/$defs/badge', because the service fetches no schema", value, true);
  if (keyword === 'format' && !(typeof value === 'string' && Object.hasOwn(textFormats, value)))
    return wrong(path, `one of ${Object.keys(textFormats).join(', ')}, or a pattern in its place`, value, true);
  return undefined;
}

const ownTypes: readonly unknown[] = ['string', 'number', 'integer', 'boolean'];

/** Returns the attribute that users may change, or the problem with its name. */
function ownAttribute({ properties: given }: Schema, name: unknown, path: OptionPath): OwnAttribute | ConfigProblem {
  const properties = isObject(given) ? given : {};
  // No form can have half of a character in the name of a field.
  const names = Object.keys(properties).filter((each) => !/\p{Cs}/u.test(each));
  const known = typeof name === 'string' && names.includes(name) ? name : undefined;
  if (known === undefined) return unknownName(path, String(name), names, 'a property of attributes.schema');
  const property = properties[known];
  const { type, title, enum: choices, maxLength } = isObject(property) ? property : {};
  const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
  const hasChoices = Array.isArray(choices) && choices.every(isScalar);
  if (!hasChoices && (choices !== undefined || !ownTypes.includes(type)))
    return wrong(path, "a property with the type 'string', 'number', 'integer' or 'boolean', or with an enum of such values", known, true);
  return {
    name: known,
    title: typeof title === 'string' && title.trim() !== '' ? title : known,
    type: hasChoices ? 'enum' : (type as OwnAttribute['type']),
    choices: hasChoices ? (choices as OwnAttribute['choices']) : [],
    ...(type === 'string' && !hasChoices && typeof maxLength === 'number' && { maxLength }),
  };
}

/** Maximum characters of a message of `ajv`. */
const MOST_MESSAGE = 300;

async function compiled(schema: Schema, selfService: AttributeRules['selfService']): Promise<Read> {
  const Ajv2020 = await loadAjv();
  if (Ajv2020 === undefined) return { problems: [missing(ROOT, 'the package ajv 8, which checks attributes: run npm install ajv@8')] };
  const patterns = new TimedPatterns();
  const ajv = new Ajv2020({
    strict: true,
    // The checks that are off here would refuse schemas that JSON Schema allows, and whose meaning is clear.
    strictRequired: false,
    strictTuples: false,
    allowMatchingProperties: true,
    allowUnionTypes: true,
    formats: textFormats,
    // Decimal digits that are compared, because 0.07 divided by 0.01 is not exactly 7.
    multipleOfPrecision: 6,
    code: { regExp: patterns.regExp },
    // A member that an object inherits, such as `constructor`, is not an attribute.
    ownProperties: true,
    logger: false,
  });
  if (ajv.validateSchema(schema) !== true) {
    const { path, expected } = problemIn(ajv.errors ?? []);
    return { problems: [missing([...ROOT, ...partsOf(path)], expected)] };
  }
  try {
    return { problems: [], rules: rulesOf(schema, ajv.compile(schema), patterns, selfService) };
  } catch (error) {
    if (error instanceof RangeError)
      return {
        problems: [missing(ROOT, `a schema of fewer than ${MOST_SCHEMAS} schemas, because the code for this one overflows the stack`)],
      };
    const message = error instanceof Error ? error.message : String(error);
    return { problems: [missing(ROOT, `a schema that ajv compiles in strict mode, which says: ${message.slice(0, MOST_MESSAGE)}`)] };
  }
}

/** Returns the parts of a JSON Pointer, with positions in lists as numbers. */
const partsOf = (pointer: string): OptionPath =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));

/** Returns the constructor; undefined if the package, or its version 8, is not installed. */
async function loadAjv() {
  try {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    return Ajv2020;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

const rulesOf = (
  schema: Schema,
  validate: ValidateFunction,
  patterns: TimedPatterns,
  selfService: AttributeRules['selfService'],
): AttributeRules => ({
  problemOf(attributes) {
    if (!patterns.within(() => validate(attributes))) return problemIn(validate.errors ?? []);
    return patterns.isOver ? { path: '', expected: `texts that the patterns of the schema match within ${MOST_MS} ms` } : undefined;
  },
  selfService,
  allowsNone: validate({}),
  schemaAt(pointer) {
    const copy = structuredClone(schema);
    for (const { schema: one } of subschemas(copy))
      if (typeof one.$ref === 'string') Object.assign(one, { $ref: pointer + one.$ref.slice(1) });
    return copy;
  },
});

/** Returns the problem that the errors of one value describe. The last error is the outermost, except that `if` names no cause. */
function problemIn(errors: readonly ErrorObject[]): InputProblem {
  const error = errors.findLast(({ keyword }) => keyword !== 'if');
  if (error === undefined) return { path: '', expected: "a value that 'attributes.schema' allows" };
  const { instancePath, keyword, params } = error;
  const member = memberKeys[keyword];
  const path = member === undefined ? instancePath : `${instancePath}/${referenceToken(String(params[member]))}`;
  return { path, expected: phrases[keyword]?.(params) ?? `a value that '${keyword}' of the schema allows` };
}

/** Parameter of the error that has the name of the member, by keyword, for errors about a member of the object. */
const memberKeys: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  dependentRequired: 'missingProperty',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
  propertyNames: 'propertyName',
};

type Params = Readonly<Record<string, unknown>>;

const limited =
  (bound: string, one: string, many = one) =>
  ({ limit }: Params): string =>
    `${bound} ${limit} ${limit === 1 ? one : many}`;

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });
/** Maximum values that an error lists. */
const MOST_VALUES = 20;

const typeNames = [...Object.keys(jsonTypes), 'null'];

/** Expectations by keyword. No text repeats the given value. */
const phrases: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => alternatives.format([type ?? []].flat().map((name) => jsonTypes[String(name)] ?? String(name))),
  const: ({ allowedValue }) => JSON.stringify(allowedValue),
  enum({ allowedValues }) {
    const values = (allowedValues as readonly unknown[]).map((value) => JSON.stringify(value));
    return `one of ${values.slice(0, MOST_VALUES).join(', ')}${values.length > MOST_VALUES ? ' …' : ''}`;
  },
  required: () => 'a value, which is required',
  dependentRequired: ({ property }) => `a value, which '${property}' requires`,
  additionalProperties: () => 'no member of this name',
  unevaluatedProperties: () => 'no member of this name',
  propertyNames: () => 'another name',
  'false schema': () => 'no value',
  format: ({ format }) => `a text of the format '${format}'`,
  pattern: ({ pattern }) => `a string that matches '${pattern}'`,
  minLength: limited('at least', 'character', 'characters'),
  maxLength: limited('at most', 'character', 'characters'),
  minItems: limited('at least', 'entry', 'entries'),
  maxItems: limited('at most', 'entry', 'entries'),
  items: limited('at most', 'entry', 'entries'),
  minProperties: limited('at least', 'member', 'members'),
  maxProperties: limited('at most', 'member', 'members'),
  uniqueItems: () => 'a list in which no entry is repeated: remove the repeated one',
  minimum: ({ limit }) => `a number of at least ${limit}`,
  maximum: ({ limit }) => `a number of at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `a number above ${limit}`,
  exclusiveMaximum: ({ limit }) => `a number below ${limit}`,
  multipleOf: ({ multipleOf }) => `a multiple of ${multipleOf}`,
};
