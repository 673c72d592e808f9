/** What a request brings, checked against the schemas of its operation. */
import { FormatRegistry } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Context, createJsonReader, IdpError, type MountedOperation, referenceToken } from '../../lib/extension-door.js';

const readBody = createJsonReader(64);

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  uri: (text) => URL.canParse(text),
};

/** Lets schemas name formats, which typebox refuses until somebody says what they are. */
export function registerFormats(): void {
  for (const [name, check] of Object.entries(formats)) if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, check);
}

/** Problems that one answer tells, at most. */
const MOST_PROBLEMS = 20;
/** Objects and lists within each other, in a body. */
const MOST_DEPTH = 32;

type Schema = NonNullable<MountedOperation['body']>;

/** @throws IdpError `invalid_request` with the parameters that are wrong. */
export function queryOf(ctx: Context, { query }: MountedOperation): Readonly<Record<string, unknown>> {
  const properties: Readonly<Record<string, Schema>> = query?.properties ?? {};
  const given = Object.fromEntries(
    Object.entries(ctx.query).map(([name, value]) => [name, Object.hasOwn(properties, name) ? converted(properties[name], value) : value]),
  );
  const problems = query
    ? [...Value.Errors(query, given)].map(({ path, message }) => ({ parameter: path.slice(1), expected: message }))
    : Object.keys(given).map((parameter) => ({ parameter, expected: 'no parameter' }));
  if (problems.length > 0) throw new IdpError('invalid_request', { errors: problems.slice(0, MOST_PROBLEMS) });
  return given;
}

/** A number or a flag as a URL has it. */
function converted(schema: Schema | undefined, value: unknown): unknown {
  if (schema?.type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  if (schema?.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** @throws IdpError `unsupported_media_type`, `invalid_request`; `invalid_record` with a pointer to each place that is wrong. */
export async function bodyOf(ctx: Context, { body }: MountedOperation): Promise<unknown> {
  if (!body) return undefined;
  const given = await readBody(ctx);
  const problems = [...hostileParts(given), ...[...Value.Errors(body, given)].map(({ path, message }) => ({ path, expected: message }))];
  const [first] = problems;
  if (first) throw new IdpError('invalid_record', { ...first, problems: problems.slice(0, MOST_PROBLEMS) });
  return given;
}

/** Names that mean something to a store or to JavaScript, wherever the body has members of any name, and what is nested deeper than stores take. */
function hostileParts(value: unknown, path = '', depth = 0): readonly { readonly path: string; readonly expected: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  if (depth === MOST_DEPTH) return [{ path, expected: `at most ${MOST_DEPTH} levels` }];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = `${path}/${referenceToken(name)}`;
    const isHostile = !Array.isArray(value) && (/^\$|\0/.test(name) || ['__proto__', 'constructor', 'prototype'].includes(name));
    return isHostile ? [{ path: at, expected: 'another name' }] : hostileParts(member, at, depth + 1);
  });
}
