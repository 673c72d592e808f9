import { IdpError } from '../errors.js';
import type { Person } from '../store/records/records.js';
import type { InputProblem } from './input.js';

/** An attribute that users may change themselves, as the account page shows it. */
export interface OwnAttribute {
  /** Name of the property in the schema. */
  readonly name: string;
  /** Title in the schema, or else the name. */
  readonly title: string;
  /** `enum` for a property with a list of values, whatever their types are. */
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'enum';
  /** Values of an `enum`. */
  readonly choices: readonly (string | number | boolean)[];
  /** Maximum characters in the schema. Absent for another type than `string`, and without a maximum. */
  readonly maxLength?: number;
}

/** The schema of the attributes of persons: the option `attributes`. */
export interface AttributeRules {
  /** Returns the problem of attributes; undefined for attributes that match the schema. `path` is a JSON Pointer within the attributes. */
  problemOf(attributes: unknown): InputProblem | undefined;
  /** Attributes that users may change themselves: the option `attributes.selfService`. */
  readonly selfService: readonly OwnAttribute[];
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

/** Values of attributes by name. `null` removes an attribute. Other attributes stay. */
export type AttributeChanges = Readonly<Record<string, unknown>>;

/** Returns the attributes after the changes. @throws IdpError as {@link checkAttributes}, for the attributes as a whole */
export function changedAttributes(rules: AttributeRules | undefined, before: Person['attributes'], changes: AttributeChanges) {
  const attributes = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(changes))
    if (value === null) attributes.delete(name);
    else attributes.set(name, value);
  const next = Object.fromEntries(attributes);
  checkAttributes(rules, next);
  return next;
}
