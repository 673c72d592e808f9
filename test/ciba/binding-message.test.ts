/** The message of an authentication request as markup. Chromium looks at it in `hostile-messages`. @see CIBA Core §7.1 */
import { describe, expect, test } from '@jest/globals';
import { isCode, isPresentable, renderMessage } from '../../extensions/ciba/person/binding-message.js';
import type { MessageFormat } from '../../extensions/ciba/requests/record.js';
import { hostileMessages } from '../support/requests/hostile-messages.js';

const markdown = (text: string): string => String(renderMessage(text, 'simpleMarkdownV1'));
const plain = (text: string): string => String(renderMessage(text, 'plaintext'));

describe('service specification 4.10: eid_user_visible_data_format describes binding_message', () => {
  test.each([
    ['one line', '<p>one line</p>'],
    ['one\ntwo\n\nthree', '<p>one<br>two</p><p>three</p>'],
    ['**bold** and *italic*', '<p><strong>bold</strong> and <em>italic</em></p>'],
    ['**bold with *italic* in it**', '<p><strong>bold with <em>italic</em> in it</strong></p>'],
    ['***both***', '<p><strong><em>both</em></strong></p>'],
    ['# One\n## Two\n### Three', '<h2>One</h2><h3>Two</h3><h4>Three</h4>'],
    ['### An outline has no gaps', '<h2>An outline has no gaps</h2>'],
    ['- one\n* two\n+ three', '<ul><li>one</li><li>two</li><li>three</li></ul>'],
    ['Pay:\n- *100* NOK\nnow', '<p>Pay:</p><ul><li><em>100</em> NOK</li></ul><p>now</p>'],
    ['2 * 3 * 4', '<p>2 * 3 * 4</p>'],
    ['**open and *closed*', '<p>**open and <em>closed</em></p>'],
    ['*crossed **over* here**', '<p><em>crossed **over</em> here**</p>'],
    ['\\*text\\* \\# \\\\', '<p>*text* # \\</p>'],
    ['\\- no list', '<p>- no list</p>'],
    ['_under_ `code` ~gone~', '<p>_under_ `code` ~gone~</p>'],
    ['[link](https://a.example) <b>html</b>', '<p>[link](https://a.example) &lt;b&gt;html&lt;/b&gt;</p>'],
    ['', ''],
  ])('simpleMarkdownV1: %j', (text, expected) => expect(markdown(text)).toBe(expected));

  test('plaintext has no marks', () => expect(plain('# **a** - *b*')).toBe('<p># **a** - *b*</p>'));
});

describe('threat D10: a message is safe as it stands', () => {
  test('words of another direction are set apart from the digits beside them', () => {
    expect(plain('Pay 5 \u05d0 1000 NOK')).toBe('<p>Pay 5 <bdi dir="rtl">\u05d0</bdi> 1000 NOK</p>');
    expect(plain('\u05d0\u05d1 \u05d2, 12')).toBe('<p><bdi dir="rtl">\u05d0\u05d1 \u05d2</bdi>, 12</p>');
  });

  test('of a hundred hostile messages, none has an element or an attribute beside ours', () => {
    const ours = /<\/?(?:p|br|h[234]|ul|li|strong|em)>|<bdi dir="rtl">|<\/bdi>/g;
    for (const message of hostileMessages)
      for (const rendered of [markdown(message), plain(message)])
        expect([message, /[<>]/.test(rendered.replace(ours, ''))]).toEqual([message, false]);
  });

  test('none has a character that is unseen or moves others, even where a record has', () => {
    const moving = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}\u{E0000}-\u{E007F}]/u;
    for (const message of hostileMessages)
      for (const rendered of [markdown(message), plain(message)]) expect([message, moving.test(rendered)]).toEqual([message, false]);
  });

  const both: readonly MessageFormat[] = ['plaintext', 'simpleMarkdownV1'];
  test.each([
    ['W4SCT', both],
    ['x'.repeat(256), both],
    ['\u{1f600}'.repeat(256), both],
    ['\u05d0 1 \u0627', both],
    ['# Pay\n- 100', ['simpleMarkdownV1']],
    ['x'.repeat(257), []],
    ['', []],
    [' \u00a0 ', []],
    ['a\u202eb', []],
    ['a\u2066b\u2069', []],
    ['a\u200fb', []],
    ['a\u061cb', []],
    ['a\tb', []],
    ['a\rb', []],
    ['a\u0000b', []],
    ['a\u0085b', []],
    ['a\u2028b', []],
    ['a\u{e0041}b', []],
    ['a\ud83d', []],
    ['a\uffff', []],
    ['\u200b\u2060', []],
    ['\u3164 \u2800', []],
  ] as const)('%j can be sent as %j', (text, formats) => expect(both.filter((format) => isPresentable(text, format))).toEqual(formats));
});

describe('issue 46: a short code', () => {
  test.each(['4711', 'W4SCT', 'KX-42', '12 34 56', 'ÅÄ1'])('%s is one', (text) => {
    expect([isCode(text, 'plaintext'), isCode(text, 'simpleMarkdownV1')]).toEqual([true, false]);
  });

  test.each(['7', 'Pay 5', 'hello', '12345 67890 12', '4711.', '-12', '12 ', ''])('%j is none', (text) => {
    expect(isCode(text, 'plaintext')).toBe(false);
  });
});
