import { describe, expect, it } from '@jest/globals';
import { declaredOptions } from './declared-options.js';

/** Returns a value as the comment of its option has it. */
const written = (value: unknown): string =>
  typeof value === 'number'
    ? value.toLocaleString('en').replaceAll(',', '_')
    : JSON.stringify(value).replaceAll('"', "'").replaceAll(',', ', ');

const isLiteral = (text: string): boolean => /^[\d'[{]|^(?:true|false)$/.test(text);

describe('design 1: the comment of an option says what its declaration says', () => {
  it.each(declaredOptions.map((option) => [option.path, option] as const))('%s has words and a default', (_path, option) => {
    expect(option.description).toMatch(/\w{3}/);
    expect(option.default !== undefined).toBe(option.check.required === undefined);
  });

  it('names the defaults that are used', () => {
    const named = declaredOptions.flatMap(({ path, default: text = '' }) => (isLiteral(text) ? [[path, text]] : []));
    // The default logger is described in words.
    const used = declaredOptions.flatMap(({ path, check }) =>
      check.default === undefined || path === 'logger' ? [] : [[path, written(check.default)]],
    );
    expect(named).toEqual(used);
    expect(named.length).toBeGreaterThan(40);
  });

  it('names the ranges that are checked', () => {
    const ranges = declaredOptions.flatMap(({ path, expected, description }) => {
      const [, minimum, maximum] = /from (\d+) to (\d+)/.exec(expected) ?? [];
      const range = [minimum, maximum].map((bound) => Number(bound).toLocaleString('en')).join(' to ');
      return minimum === undefined ? [] : [{ path, range, isNamed: description.includes(range) }];
    });
    expect(ranges.filter(({ isNamed }) => !isNamed)).toEqual([]);
    expect(ranges.length).toBeGreaterThan(25);
  });
});
