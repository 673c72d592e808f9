/** Query and body of a request, checked against the schemas of its operation. */
import { type Context, createJsonReader, IdpError, type MountedOperation, problemsOf, referenceToken } from '../../lib/extension-door.js';

const readBody = createJsonReader(64);

/** Maximum problems that one answer lists. */
const MOST_PROBLEMS = 20;

type Schema = NonNullable<MountedOperation['body']>;

/** Returns the query. @throws IdpError `invalid_request` with the invalid parameters */
export function queryOf(ctx: Context, { query }: MountedOperation): Readonly<Record<string, unknown>> {
  const properties: Readonly<Record<string, Schema>> = query?.properties ?? {};
  const given = Object.fromEntries(
    Object.entries(ctx.query).map(([name, value]) => [name, Object.hasOwn(properties, name) ? converted(properties[name], value) : value]),
  );
  const problems = query
    ? problemsOf(query, given).map(({ path, expected }) => ({ parameter: path.slice(1), expected }))
    : Object.keys(given).map((parameter) => ({ parameter, expected: 'no parameter' }));
  if (problems.length > 0) throw new IdpError('invalid_request', { errors: problems.slice(0, MOST_PROBLEMS) });
  return given;
}

/** Converts a number or a boolean from its text in a URL. */
function converted(schema: Schema | undefined, value: unknown): unknown {
  if (schema?.type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  if (schema?.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** Returns the body. @throws IdpError `unsupported_media_type`, `invalid_request`; `invalid_record` with a pointer to each invalid place */
export async function bodyOf(ctx: Context, { body, respelled = (given) => given }: MountedOperation): Promise<unknown> {
  if (!body) return undefined;
  const given = respelled(await readBody(ctx));
  const problems = [...hostileParts(given), ...problemsOf(body, given)];
  const [first] = problems;
  if (first) throw new IdpError('invalid_record', { ...first, problems: problems.slice(0, MOST_PROBLEMS) });
  return given;
}

/** Returns problems of names that a store or JavaScript would interpret, at places where the body may have members of any name. */
function hostileParts(value: unknown, path = '', depth = 0): readonly { readonly path: string; readonly expected: string }[] {
  // Deeper nesting is refused by another check.
  if (typeof value !== 'object' || value === null || depth > 32) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const pointer = `${path}/${referenceToken(name)}`;
    const isHostile = !Array.isArray(value) && (/^\$|\0/.test(name) || ['__proto__', 'constructor', 'prototype'].includes(name));
    return isHostile ? [{ path: pointer, expected: 'another name' }] : hostileParts(member, pointer, depth + 1);
  });
}
