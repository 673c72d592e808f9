import { describe, expect, test } from '@jest/globals';
import { comparedAddress, comparedText, comparedUserNames } from '../../lib/text/compared.js';
import { initialOf } from '../../lib/text/initials.js';
import { cleanCode, cleanText, type TextKind, textProblem } from '../../lib/text/kinds.js';

const kinds: readonly TextKind[] = ['personName', 'userName', 'address', 'line', 'text'];

const everyPoint = (property: RegExp): readonly string[] =>
  Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point)).filter((character) => property.test(character));

const nameOf = (character: string): string => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;

/** Characters of each sort that is invisible or no text. */
const sorts: Readonly<Record<string, readonly string[]>> = {
  'controls, C1 controls among them': everyPoint(/\p{Cc}/u).filter((character) => character !== '\n'),
  'separators of lines and paragraphs': ['\u2028', '\u2029'],
  'halves of characters': ['\ud800', '\udbff', '\udc00', '\udfff'],
  noncharacters: everyPoint(/\p{Noncharacter_Code_Point}/u),
  'marks of what could not be read': ['\ufffc', '\ufffd'],
  'marks of direction': everyPoint(/\p{Bidi_Control}/u),
  tags: everyPoint(/[\u{e0000}-\u{e007f}]/u),
  fillers: ['\u115f', '\u1160', '\u3164', '\uffa0', '\u17b4', '\u17b5'],
  'zero width': ['\u200b', '\u2060', '\ufeff', '\u00ad', '\u180e', '\u034f'],
};

test.each(Object.entries(sorts))('A06, N04: no kind takes %s, and each names the character and its place', (_, characters) => {
  expect(characters.length).toBeGreaterThan(1);
  for (const kind of kinds)
    for (const character of characters)
      expect([kind, textProblem(kind, `a𝒳${character}b`)]).toEqual([kind, { character: nameOf(character), position: 3 }]);
});

test('all that is ignorable by default is refused, but for what shapes its neighbours', () => {
  for (const character of everyPoint(/\p{Default_Ignorable_Code_Point}/u)) {
    const isShaping = /\u200c|\u200d|\p{Variation_Selector}/u.test(character);
    const refusing = kinds.filter((kind) => textProblem(kind, `a${character}b`) !== undefined);
    expect([nameOf(character), refusing]).toEqual([nameOf(character), isShaping ? ['userName', 'address'] : kinds]);
  }
});

test('the Braille pattern without dots is a letter of free text alone', () => {
  expect(kinds.filter((kind) => textProblem(kind, 'a\u2800b'))).toEqual(['personName', 'userName', 'address', 'line']);
});

const names = ['علی‌رضا', 'क्‍षिति', 'ශ්‍රී', '👨‍👩‍👧', '❤️‍🔥 Nora', '🇳🇴 Nora', '辻󠄀', 'Ångström', 'O’Neill', 'Nguyễn', '٣ \u0600١', '\ue000'];

test.each(names)('%s is a name, and stays as it is', (name) => {
  for (const kind of ['personName', 'line', 'text'] as const) {
    expect(textProblem(kind, name)).toBeUndefined();
    expect(cleanText(kind, name)).toBe(name);
  }
});

test.each(['\u200dAnna', 'An\u200d\u200dna', 'An\u200c\u200dna', 'A \u200cB', 'A\ufe0f\ufe0eB'])('%j shapes nothing', (name) => {
  expect(textProblem('personName', name)).toBeDefined();
  expect(textProblem('personName', cleanText('personName', name))).toBeUndefined();
});

describe('what people type and paste', () => {
  test.each([
    ['personName', '\ufeff Anna\u00a0\tMaria \u200b', 'Anna Maria'],
    ['personName', 'علی‌رضا\u200e', 'علی‌رضا'],
    ['personName', 'M\ufffdller', 'M\ufffdller'],
    ['line', 'Acme\u0085AS\u2028', 'Acme AS'],
    ['userName', '\u200bola\u200d@acme.test\u00a0', 'ola@acme.test'],
    ['address', '\u202aola@acme.test\u202c ', 'ola@acme.test'],
    ['address', 'ola＠acme。test', 'ola@acme.test'],
    ['address', 'O la@acme.test', 'O la@acme.test'],
    ['text', ' a\r\nb\u2028c\u0000d\u200be ', 'a\nb\nc de'],
  ] as const)('%s %j is %j', (kind, typed, clean) => {
    expect(cleanText(kind, typed)).toBe(clean);
    expect(cleanText(kind, clean)).toBe(clean);
  });

  test.each([
    '123456',
    ' 123 456 ',
    '123-456',
    '123–456',
    '１２３４５６',
    '١٢٣٤٥٦',
    '۱۲۳۴۵۶',
    '१२३४५६',
    '\u200e123\u00a0456\ufeff',
    '𑛐𑛑𑛚𑛛',
  ])('%j is a code', (typed) => {
    expect(cleanCode(typed)).toBe(typed === '𑛐𑛑𑛚𑛛' ? '0101' : '123456');
  });
});

test('N04: names that differ in what nobody sees are compared as one, and so are spellings of a domain', () => {
  for (const character of [...new Set(Object.values(sorts).flat())].filter((one) => /[\p{Default_Ignorable_Code_Point}]/u.test(one)))
    expect(comparedText(`twin${character}@acme.test`)).toBe('twin@acme.test');
  expect(comparedText('e\u034f\u0301')).toBe(comparedText('\u00e9'));
  const spellings = [
    'Ola@BÜCHER.example',
    'ola@bu\u0308cher.example',
    'ola@xn--bcher-kva.example',
    'OLA@XN--BCHER-KVA.EXAMPLE',
    'ola@bücher。example',
  ];
  expect(new Set(spellings.map(comparedAddress))).toEqual(new Set(['ola@xn--bcher-kva.example']));
  expect(comparedAddress('bücher')).toBe('bücher');
  expect(comparedUserNames('ola')).toEqual(['ola']);
  expect(comparedUserNames('ol\u200ba')).toEqual(['ol\u200ba', 'ola']);
});

test('E-C: names that differ in the number or the kind of spaces are compared as one', () => {
  const spaces = everyPoint(/\p{White_Space}/u);
  expect(spaces.length).toBeGreaterThan(20);
  for (const space of [...spaces, '  ', ' \u3000\t ', ' \u200b ']) {
    for (const compare of [comparedText, comparedAddress]) expect(compare(`two${space}spaces${space}`)).toBe('two spaces');
    expect(comparedUserNames(`two${space}spaces`).at(-1)).toBe('two spaces');
  }
  expect(comparedText('twospaces')).not.toBe(comparedText('two spaces'));
  expect(comparedUserNames('two  spaces')).toEqual(['two  spaces', 'two spaces']);
});

test.each([
  ['Åsa', 'Å'],
  ['a\u030asa', 'Å'],
  ['👨‍👩‍👧', '👨‍👩‍👧'],
  ['🇳🇴 Nora', '🇳🇴'],
  ['क्षिति', 'क्षि'],
  ['', ''],
  [`q${'\u0301'.repeat(200)}`, 'Q'],
])('N01: the initial of %j is %j', (name, initial) => {
  expect(initialOf(name)).toBe(initial);
});
