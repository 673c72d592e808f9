/** Texts that cost a parser more than their length, if the parser looks at each part of a text again for every other part. */

/** Pieces that are repeated to make a text, by their purpose. */
const badPieces: Readonly<Record<string, string>> = {
  'places to cut a name': '[. ',
  dots: '.',
  'letters that NFKC makes eighteen of': '\u{fdfa}',
  'combining marks out of order': '\u0301\u0316',
  'marks of halfwidth katakana': '\uff9e\u093c',
  'letters that compose': 'e\u0301',
  quotes: '"',
  'apostrophes and semicolons': "';",
  'escaped quotes': '\\"',
  backslashes: '\\',
  'percent signs': '%',
  'percent signs and digits': '%2',
  commas: ',',
  'commas and spaces': ' ,',
  'open brackets': '[',
  'open braces with names': '{"a":',
  'open parentheses': '(',
  spaces: ' ',
  'words and spaces': 'a ',
  colons: ':',
  'semicolons and spaces': '; ',
  'equals signs': 'a=',
  slashes: '/',
  'steps up': '../',
  'at signs': '@',
  stars: '*',
  'stars and words': '*a* ',
  hyphens: '-',
  underscores: '_',
  digits: '0',
  letters: 'a',
  'letters and dots': 'a.',
  'weights of languages': 'a;q=0.1,',
  'angle brackets': '<',
  'elements of XML': '<a>',
  references: '&#x;',
  'letters of right to left': '\u05d0a',
  pictures: '\u{1f468}\u200d',
};

/** Returns a text in which all letters are distinct, which is slow to write in Punycode. */
const distinctLetters = (length: number): string =>
  `https://${String.fromCodePoint(...Array.from({ length: Math.floor(length) }, (_, index) => 0x4e00 + (index % 20_000)))}/`;

/** Functions that return a text of a length. A piece is repeated between a letter and an end that most patterns do not match. */
export const badTexts: Readonly<Record<string, (length: number) => string>> = {
  ...Object.fromEntries(
    Object.entries(badPieces).map(([kind, piece]) => [kind, (length: number) => `a${piece.repeat(Math.ceil(length / piece.length))}\\ z`]),
  ),
  'distinct letters of a host': distinctLetters,
};
