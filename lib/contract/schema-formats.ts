/** Formats of texts that schemas name. If a schema names an unknown format, the start fails, because Typebox rejects every value of an unknown format. */
import { FormatRegistry, type TSchema } from '@sinclair/typebox';
import type { ConfigProblem } from '../errors.js';
import { textFormats } from '../text/formats.js';

for (const [name, check] of Object.entries(textFormats)) if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, check);

/** Members of a schema that hold values. */
const values: readonly string[] = ['const', 'default', 'enum', 'examples'];

/** Members of a schema whose own members are schemas by arbitrary names. For example, a property may be called `default`. */
const named: readonly string[] = ['properties', 'patternProperties'];

const formatsIn = (schema: object): readonly string[] =>
  Object.entries(schema).flatMap(([name, member]) => {
    // The format of a number is an annotation, which nothing checks.
    if (name === 'format' && typeof member === 'string') return Reflect.get(schema, 'type') === 'string' ? [member] : [];
    if (typeof member !== 'object' || member === null || values.includes(name)) return [];
    return named.includes(name) ? Object.values(member as Readonly<Record<string, object>>).flatMap(formatsIn) : formatsIn(member);
  });

/** Schemas whose formats are all known. Most schemas are constants of a module. Each instance checks these schemas again at its start. */
const checked = new WeakSet<TSchema>();

/** Returns a problem with the schema at `path` if it names an unregistered format. Other checks refuse a value that is not a schema. */
export function formatProblems(schema: TSchema | undefined, path: string): readonly ConfigProblem[] {
  if (typeof schema !== 'object' || schema === null || checked.has(schema)) return [];
  const unknown = formatsIn(schema).find((name) => !FormatRegistry.Has(name));
  if (unknown === undefined) {
    checked.add(schema);
    return [];
  }
  const known = [...FormatRegistry.Entries().keys()].join(', ');
  return [{ path, expected: `a format of ${known} in place of '${unknown}', or a pattern` }];
}
