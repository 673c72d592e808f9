import { type DataForm, formOf } from '../../lib/store/row-contract.js';

/** Copies that this file created. Copies never change, so the next version of a row shares unchanged parts. */
const copies = new WeakSet<object>();

/**
 * Returns a deeply frozen copy of a row's value. Later changes by the writer do not reach the store. A reader cannot change the value for other readers.
 * Members that are undefined are left out. A `Date` is copied, because it cannot be frozen.
 * @throws TypeError for a value that is not plain data, because other stores cannot store such a value.
 */
export const frozenCopy = <T>(value: T): T => formOf(value, form) as T;

const form: DataForm = {
  instant: (value) => new Date(value),
  object: (members) => remembered(Object.fromEntries(members)),
  array: remembered,
  isFormed: (value) => copies.has(value),
};

function remembered(value: object): object {
  copies.add(value);
  return Object.freeze(value);
}
