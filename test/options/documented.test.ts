import { describe, expect, it } from '@jest/globals';
import type { Check, ObjectCheck, RangeCheck } from '../../lib/options/checks.js';
import { defaults } from '../../lib/options/defaults.js';
import { optionsShape } from '../../lib/options/schema.js';
import { declaredOptions as members } from './declared-options.js';

/** The members that the schema knows, and whether they may be absent. */
function validatedBy(check: Check, prefix = ''): { path: string; optional: boolean }[] {
  const { members: known = {}, required = {} } = check as Partial<ObjectCheck>;
  return Object.entries(known).flatMap(([name, member]) => [
    { path: `${prefix}${name}`, optional: required[name] === undefined },
    ...validatedBy(member, `${prefix}${name}.`),
  ]);
}

const byPath = (a: { path: string }, b: { path: string }): number => (a.path < b.path ? -1 : 1);

describe('design 1: each option is documented where it is declared, and validated', () => {
  it('declares and validates the same options', () => {
    expect(members.length).toBeGreaterThan(30);
    const declared = members.map(({ path, optional }) => ({ path, optional }));
    expect(declared.toSorted(byPath)).toEqual(validatedBy(optionsShape).toSorted(byPath));
  });

  it.each(members.map((member) => [member.path, member] as const))('%s has words and a default', (_path, member) => {
    expect(member.description).toMatch(/\w{3}/);
    expect(member.default !== undefined).toBe(member.optional);
  });

  it('documents the defaults that are used', () => {
    const documented = members.flatMap(({ path, default: text = '' }) => (/^[\d'[{]|^false$/.test(text) ? [[path, text]] : []));
    const used = documented.map(([path = '', text = '']) => {
      const value = path.split('.').reduce<unknown>((inner, name) => Reflect.get(Object(inner), name), defaults);
      const written =
        typeof value === 'number'
          ? value.toLocaleString('en').replaceAll(',', '_')
          : text === '{}'
            ? text
            : JSON.stringify(value).replaceAll('"', "'").replaceAll(',', ', ');
      return [path, written];
    });
    expect(documented.length).toBeGreaterThan(20);
    expect(used).toEqual(documented);
  });

  it('documents the ranges that are validated', () => {
    const numbers = members.filter(({ path }) => /^(lifetimes|limits|keys\.rotation)\./.test(path));
    const ranges = numbers.map(({ path, description }) => [path, ...(description.match(/([\d,]+) to ([\d,]+)\./)?.slice(1) ?? [])]);
    const validated = numbers.map(({ path }) => {
      const check = path.split('.').reduce<Check>((outer, name) => (outer as ObjectCheck).members[name] as Check, optionsShape);
      return [path, ...(check as RangeCheck).range.map((bound) => bound.toLocaleString('en'))];
    });
    expect(ranges).toEqual(validated);
  });
});
