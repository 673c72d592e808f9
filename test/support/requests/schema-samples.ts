/** Values drawn from JSON schemas: values that the schemas allow, and values that the schemas refuse. */
import type { Json } from '../client/agent.js';

/** Returns a generator of numbers from 0 to 1. The same seed gives the same numbers. @see mulberry32 */
export function drawing(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export const oneOf = <T>(draw: () => number, values: readonly T[]): T => values[Math.floor(draw() * values.length)] as T;

/** Values that no schema, or few schemas, allow. */
const odd: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e21,
  '',
  ' ',
  '\u0000',
  'x'.repeat(300),
  '𝒳\ufffe',
  [],
  {},
  [null],
  { $ne: 1 },
  '../../..',
  '%00',
  '9'.repeat(40),
];

export interface SampleOptions {
  readonly document: Json;
  readonly draw: () => number;
  /** Share of odd values, and of present optional members. */
  readonly oddness?: number;
  readonly fullness?: number;
  /** Ids to use for some of the texts. */
  readonly ids?: readonly string[];
}

export function sample(schema: Json, options: SampleOptions, name = ''): unknown {
  const { document, draw, oddness = 0, fullness = 0.5, ids = [] } = options;
  if (draw() < oddness) return oneOf(draw, odd);
  if (schema.$ref) return sample(document.components.schemas[schema.$ref.split('/').at(-1)], options, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.anyOf) return sample(oneOf(draw, schema.anyOf), options, name);
  if (schema.allOf) return sample(schema.allOf[0], options, name);
  switch (schema.type) {
    case 'object': {
      const required: readonly string[] = schema.required ?? [];
      const wanted = Object.entries(schema.properties ?? {}).filter(([member]) => required.includes(member) || draw() < fullness);
      const members = wanted.map(([member, inner]) => [member, sample(inner, options, member)]);
      if (draw() < oddness) members.push([oneOf(draw, ['password', 'x', '$set', 'id', 'tid']), 'x']);
      return Object.fromEntries(members);
    }
    case 'array':
      return Array.from({ length: schema.minItems ?? Math.floor(draw() * 3) }, () => sample(schema.items, options, name));
    case 'string':
      return text(schema, options, name);
    case 'integer':
      return (schema.minimum ?? 0) + Math.floor(draw() * 10);
    case 'boolean':
      return draw() < 0.5;
    case 'null':
      return null;
    default:
      return oneOf(draw, ['x', 1, { a: 1 }]);
  }

  function text({ format, pattern = '' }: Json, { draw: next }: SampleOptions, member: string): string {
    if (ids.length > 0 && next() < 0.4) return oneOf(next, ids);
    const number = Math.floor(next() * 1e9).toString(36);
    if (format === 'uuid' || /(^|\W)id$|Id$/.test(member)) return '01890a5d-ac96-774b-bcce-b302099a8057';
    if (format === 'date-time') return '2030-01-01T00:00:00Z';
    if (format === 'idn-email') return `${number}@acme.test`;
    if (pattern.startsWith('^https?')) return `https://acme.test/${number}`;
    if (pattern.startsWith('^#')) return '#112233';
    return member === 'locale' ? 'nb' : `s${number}`;
  }
}
