import { IdpError } from '../errors.js';
import type { InputProblem } from './input.js';

/** The schema of the attributes of persons: the option `attributes`. */
export interface AttributeRules {
  /** Returns the problem of attributes; undefined for attributes that match the schema. `path` is a JSON Pointer within the attributes. */
  problemOf(attributes: unknown): InputProblem | undefined;
  /** Whether the schema requires no attribute. */
  readonly allowsNone: boolean;
  /**
   * Returns the schema for a document that has the schema at `pointer`, such as `#/components/schemas/PersonAttributes`. References point to that place. Each
   * call returns another copy.
   */
  schemaAt(pointer: string): Readonly<Record<string, unknown>>;
}

/** @throws IdpError `invalid_record` with the path of the attribute, for attributes that do not match the schema */
export function checkAttributes(rules: AttributeRules | undefined, attributes: unknown): void {
  const problem = rules?.problemOf(attributes);
  if (problem) throw new IdpError('invalid_record', { ...problem, path: `/attributes${problem.path}` });
}
