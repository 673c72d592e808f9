/** Issue 44: texts of SQL stores: any text is stored, and sorted by its bytes as the contract sorts it. */
import { describe, expect, test } from '@jest/globals';
import { boundsOfKeys, keyOf, orderedNumber, orderedText } from '../../../adapters/sql/ordered-text.js';
import { rowOfText, textOfRow } from '../../../adapters/sql/row-text.js';
import { originalText, storableText } from '../../../adapters/sql/storable-text.js';
import { compareTexts } from '../../../lib/store/index-order.js';

/** Code units around every border that an escape could move. */
const units = [
  '',
  '\0',
  '\u0001',
  '\u0002',
  '\u0003',
  'a',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\ud800',
  '\ud801',
  '\udbff',
  '\udc00',
  '\udc01',
  '\udfff',
];
const texts = units.flatMap((one) => units.flatMap((two) => units.map((three) => one + two + three)));
const distinct = [...new Set(texts)];
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

describe('texts of SQL stores', () => {
  test('J4: every text is well-formed and without U+0000, and keeps its order', () => {
    const stored = distinct.map(orderedText);
    expect(stored.filter((text) => /\0|[\ud800-\udfff]/u.test(text))).toEqual([]);
    const sorted = distinct.toSorted(compareTexts).map(orderedText);
    expect(sorted).toEqual(stored.toSorted(byBytes));
    expect(new Set(stored).size).toBe(distinct.length);
  });

  test('J4: keys of two parts are in the order of their parts, and within the bounds of their first part alone', () => {
    const some = distinct.filter((_, index) => index % 23 === 0);
    const pairs = some.flatMap((one) => some.map((two) => [one, two] as const));
    const keyOfPair = (pair: readonly string[]) => keyOf(pair.map(orderedText));
    const inOrder = pairs.toSorted(([a, b], [c, d]) => compareTexts(a, c) || compareTexts(b, d)).map(keyOfPair);
    expect(inOrder).toEqual(inOrder.toSorted(byBytes));
    expect(new Set(inOrder).size).toBe(pairs.length);
    for (const one of some) {
      const { from, below } = boundsOfKeys([orderedText(one)]);
      const within = inOrder.filter((key) => byBytes(key, from) >= 0 && byBytes(key, below) < 0);
      expect(within).toEqual(some.toSorted(compareTexts).map((two) => keyOfPair([one, two])));
    }
    const all = boundsOfKeys([]);
    expect(distinct.filter((text) => byBytes(orderedText(text), all.from) < 0 || byBytes(orderedText(text), all.below) >= 0)).toEqual([]);
  });

  test('numbers keep their order', () => {
    const numbers = [
      -Number.MAX_VALUE,
      -1e20,
      -2,
      -1.5,
      -1,
      -Number.MIN_VALUE,
      0,
      Number.MIN_VALUE,
      0.5,
      1,
      1.5,
      2,
      1e20,
      Number.MAX_VALUE,
    ];
    const stored = numbers.map(orderedNumber);
    expect(stored).toEqual(stored.toSorted());
    expect(orderedNumber(-0)).toBe(orderedNumber(0));
  });

  test('J4: a value comes back as it was', () => {
    for (const text of [...distinct, '\u0001"a"', '\u0001']) {
      const stored = storableText(text);
      expect(/\0|[\ud800-\udfff]/u.test(stored)).toBe(false);
      expect(originalText(stored)).toBe(text);
    }
  });

  test('a row comes back as it was, with instants and with members of any name', () => {
    const attributes = JSON.parse('{"$instant":5,"$$instant":6,"a":{"$instant":7},"__proto__":{"b":1},"":null}') as object;
    const row = { id: 'a\0', at: new Date(-1), list: [new Date(1), [{ at: new Date(2) }]], attributes, text: '\ud800\0' };
    const read = rowOfText(orderedText('a\0'), 3, textOfRow(row));
    expect(read).toEqual({ ...row, version: 3 });
    expect(Object.keys(read)).toEqual([...Object.keys(row), 'version']);
  });

  test('M: a text that no adapter wrote is a row that the checks find unreadable', () => {
    for (const text of ['', 'x', '1', 'null', '[]', '{"a":'])
      expect(rowOfText('a', 1, text)).toEqual({ id: 'a', version: 1, unreadable: text });
  });
});
