import { isDate } from 'node:util/types';

/** Copies that this file created. Copies never change, so the next version of a row shares unchanged parts. */
const copies = new WeakSet<object>();

/**
 * Returns a deeply frozen copy of a row's value. Later changes by the writer do not reach the store. A reader cannot change the value for other readers.
 * Members that are undefined are left out. A `Date` is copied, because it cannot be frozen.
 * @throws TypeError for a value that is not plain data, because other stores cannot store such a value.
 */
export function frozenCopy<T>(value: T): T {
  return copy(value, '') as T;
}

function copy(value: unknown, path: string): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (isDate(value) && Number.isFinite(value.getTime())) return new Date(value);
  if (typeof value === 'object' && copies.has(value)) return value;
  if (Array.isArray(value)) return remembered(value.map((element, index) => copy(element, `${path}[${index}]`)));
  if (isPlainObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    // `fromEntries` defines members, so a member named `__proto__` stays a member.
    return remembered(Object.fromEntries(members.map(([name, member]) => [name, copy(member, `${path}.${name}`)])));
  }
  throw new TypeError(`A row has a value that is not plain data at '${path.replace(/^\./, '')}'. Write values of JSON, and dates.`);
}

function remembered(value: object): object {
  copies.add(value);
  return Object.freeze(value);
}

/** Checks the length of the prototype chain, which is the same for objects of every realm. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
