/** Checks that a plugin's value has its declared JSON type. */
import type { ClaimTypes } from './contract.js';

type Check = (value: unknown) => boolean;

const isString: Check = (value) => typeof value === 'string';
const isListOf = (check: Check): Check => {
  return (value) => Array.isArray(value) && value.every(check);
};
const isStrings = isListOf(isString);

/** Returns whether the value is a plain object that JSON can express. A class instance, a cycle or a `bigint` cannot be expressed. */
const isJsonObject: Check = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
};

export const isOfClaimType: Readonly<Record<keyof ClaimTypes, Check>> = {
  string: isString,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  strings: isStrings,
  object: isJsonObject,
  objects: isListOf(isJsonObject),
  'string or strings': (value) => isString(value) || isStrings(value),
};
