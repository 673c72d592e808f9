import type { Filter, IndexDescription } from 'mongodb';
import type { IndexSpec } from '../../lib/store/directory-store.js';
import { escapedName, type RowDocument } from './row-document.js';

/** One declared index, kept by the server, so that nodes which do not know it yet keep it as well. */
export class RowIndex {
  readonly description: IndexDescription;
  readonly #fields: readonly string[];

  constructor(name: string, { fields, unique = false }: IndexSpec) {
    this.#fields = fields.map((field) => field.split('.').map(escapedName).join('.'));
    const keys = this.#fields.map((field) => [field, 1] as const);
    this.description = {
      name,
      // With the id last, pages of the look-up are read in order.
      key: new Map<string, 1>(unique ? keys : [...keys, ['_id', 1]]),
      ...(unique ? { unique } : {}),
      // Comparisons hold within a type: they match a string, or an array with a string. So rows without a value are left out.
      partialFilterExpression: Object.fromEntries(this.#fields.map((field) => [field, { $gte: '' }])),
    };
  }

  /** @throws TypeError when more than one of the fields is an array. MongoDB refuses it as well; servers like it may not. */
  check(document: RowDocument): void {
    const arrays = this.#fields.filter((field) => Array.isArray(valueAt(document, field)));
    if (arrays.length > 1) throw new TypeError('A row has more than one array among the fields of an index.');
  }

  /** @throws TypeError unless there is one text for each field. */
  lookUp(values: readonly unknown[]): Filter<RowDocument> {
    if (values.length !== this.#fields.length || !values.every((value) => typeof value === 'string')) {
      throw new TypeError(`This index is looked up with ${this.#fields.length} strings.`);
    }
    return Object.fromEntries(this.#fields.map((field, index) => [field, values[index]]));
  }
}

const valueAt = (document: RowDocument, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined,
      document,
    );
