/**
 * Schemas of answers that every stored row fits. The limits of a schema apply when a row is written, and a stored row may be older than a limit. The schema
 * of an answer therefore keeps the types of the request's schema, without the limits. A row can still fail, for example if the row refers to a removed
 * record. A list leaves out such a row and names the row (`readablePage`).
 */
import type { TSchema } from '@sinclair/typebox';

/** Members of a schema that limit values. The format of instants stays, because the service itself writes instants. */
const limits: ReadonlySet<string> = new Set([
  'minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties',
]); // biome-ignore format: a list
/** Members of a schema whose own members are schemas by arbitrary names. */
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
/** Members of a schema that hold values. */
const values: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'required']);

const carried = new WeakMap<object, TSchema>();

/** Returns the schema without its limits. The same schema always gives the same result. */
export function withoutLimits<Schema extends TSchema>(schema: Schema): Schema {
  const known = carried.get(schema);
  if (known) return known as Schema;
  const next: Record<string | symbol, unknown> = {};
  for (const key of Reflect.ownKeys(schema)) {
    const member: unknown = Reflect.get(schema, key);
    if (typeof key === 'string' && (limits.has(key) || (key === 'format' && member !== 'date-time'))) continue;
    next[key] = typeof key === 'symbol' || values.has(key) ? member : looser(key, member);
  }
  carried.set(schema, next as unknown as TSchema);
  return next as unknown as Schema;
}

function looser(key: string, member: unknown): unknown {
  if (typeof member !== 'object' || member === null) return member;
  if (Array.isArray(member)) return member.map((each) => looser('', each));
  if (!named.has(key)) return withoutLimits(member as TSchema);
  return Object.fromEntries(Object.entries(member).map(([name, inner]) => [name, looser('', inner)]));
}
