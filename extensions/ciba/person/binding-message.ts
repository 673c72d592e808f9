/**
 * The binding message of an authentication request, as the user sees it. A hostile client may send a message. So no part of the message is used as HTML,
 * and no part changes the order of letters, in the message or around it.
 *
 * `simpleMarkdownV1` has paragraphs, headings, lists, bold and italic. Links, HTML, code, images and tables stay text.
 * @see CIBA Core §7.1, threat D10
 */
import { type Html, html, isBlank, textProblem } from '../../../lib/extension-door.js';
import type { MessageFormat } from '../requests/record.js';

/** Maximum Unicode characters of a message. */
export const MAX_MESSAGE_CHARACTERS = 256;

/**
 * Characters that are invisible or move visible characters: controls, line and paragraph separators, marks and overrides of direction (UAX #9), tags,
 * surrogates and noncharacters.
 */
const unseen = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}\u{E0000}-\u{E007F}]/gu;

/** Returns whether a message can be shown unchanged. Only formatted messages may have several lines. */
export function isPresentable(text: string, format: MessageFormat): boolean {
  const isShort = text.length <= 2 * MAX_MESSAGE_CHARACTERS && [...text].length <= MAX_MESSAGE_CHARACTERS;
  return isShort && !isBlank(text) && textProblem('text', text) === undefined && (format !== 'plaintext' || !text.includes('\n'));
}

/** A short code, such as `4711` or `KX-42`: capitals and digits in groups, without words to read. */
const code = /^(?=.{2,12}$)[\p{Lu}\p{N}]+(?:[ -][\p{Lu}\p{N}]+)*$/u;

/** Returns whether the message is a short code, which users compare more easily in large letters. */
export const isCode = (text: string, format: MessageFormat): boolean => format === 'plaintext' && code.test(text);

/** Returns the message as HTML. A stored message that breaks the rules is shown too, with `U+FFFD` in place of each forbidden character. */
export function renderMessage(text: string, format: MessageFormat): Html {
  const lines = text.split('\n').map((line) => line.replace(unseen, '\u{FFFD}'));
  return format === 'simpleMarkdownV1' ? html`${blocksOf(lines).map(renderBlock)}` : html`<p>${inOrder(lines.join(' '))}</p>`;
}

interface Heading {
  readonly is: 'heading';
  readonly level: number;
  readonly line: string;
}

interface Lines {
  readonly is: 'list' | 'paragraph';
  readonly lines: string[];
}

const headingLine = /^(#{1,3}) +(.*\S)/;
const itemLine = /^[-*+] +(.*\S)/;

function blocksOf(lines: readonly string[]): readonly (Heading | Lines)[] {
  const blocks: (Heading | Lines)[] = [];
  let open: Lines | undefined;
  for (const line of lines) {
    const [, marks = '', heading] = headingLine.exec(line) ?? [];
    const [, item] = itemLine.exec(line) ?? [];
    if (heading !== undefined) {
      // Levels are adapted, so that the outline has no gaps.
      const levels = blocks.flatMap((block) => (block.is === 'heading' ? [block.level] : []));
      blocks.push({ is: 'heading', level: Math.min(marks.length, (levels.at(-1) ?? 0) + 1), line: heading });
      open = undefined;
    } else if (line.trim() === '') {
      open = undefined;
    } else {
      const is = item === undefined ? 'paragraph' : 'list';
      const block: Lines = open?.is === is ? open : { is, lines: [] };
      if (block !== open) blocks.push(block);
      block.lines.push(item ?? line.trim());
      open = block;
    }
  }
  return blocks;
}

function renderBlock(block: Heading | Lines): Html {
  if (block.is !== 'heading') {
    return block.is === 'list'
      ? html`<ul>${block.lines.map((line) => html`<li>${inline(line)}</li>`)}</ul>`
      : html`<p>${block.lines.map((line, index) => html`${index > 0 && html`<br>`}${inline(line)}`)}</p>`;
  }
  const words = inline(block.line);
  switch (block.level) {
    case 1:
      return html`<h2>${words}</h2>`;
    case 2:
      return html`<h3>${words}</h3>`;
    default:
      return html`<h4>${words}</h4>`;
  }
}

/** An opening pair of stars that has no closing pair yet. */
interface Opened {
  readonly stars: 1 | 2;
  /** The words before the pair. */
  readonly before: readonly Html[];
}

/** Returns a line with bold and italic parts. Stars without a closing pair stay text. */
function inline(line: string): readonly Html[] {
  const opened: Opened[] = [];
  let words: readonly Html[] = [];
  const close = (from: number): void => {
    const [pair, ...lost] = opened.splice(from) as [Opened, ...Opened[]];
    // Pairs that opened later have no closing pair.
    const [first = words, ...rest] = [...lost.map(({ before }) => before), words];
    const inside = [...first, ...lost.flatMap(({ stars }, index) => [html`${'*'.repeat(stars)}`, ...(rest[index] ?? [])])];
    words = [...pair.before, pair.stars === 2 ? html`<strong>${inside}</strong>` : html`<em>${inside}</em>`];
  };
  for (const { text, stars, canOpen, canClose } of tokensOf(line)) {
    if (text !== undefined) {
      words = [...words, html`${inOrder(text)}`];
      continue;
    }
    let left = stars;
    while (left > 0 && canClose) {
      const from = opened.findLastIndex((pair) => pair.stars <= left);
      if (from < 0) break;
      left -= opened[from]?.stars ?? 0;
      close(from);
    }
    while (left > 0 && canOpen) {
      const size = left > 1 ? 2 : 1;
      opened.push({ stars: size, before: words });
      words = [];
      left -= size;
    }
    if (left > 0) words = [...words, html`${'*'.repeat(left)}`];
  }
  return [...opened.flatMap(({ stars, before }) => [...before, html`${'*'.repeat(stars)}`]), ...words];
}

interface Token {
  readonly text?: string;
  readonly stars: number;
  readonly canOpen: boolean;
  readonly canClose: boolean;
}

/** Returns the runs of stars and the text between them. A mark after a backslash is text. */
function tokensOf(line: string): readonly Token[] {
  const tokens: Token[] = [];
  let text = '';
  const endText = (): void => {
    if (text !== '') tokens.push({ text, stars: 0, canOpen: false, canClose: false });
    text = '';
  };
  for (let position = 0; position < line.length; ) {
    const [marks, escaped] = /^(?:\\([\\*#+-])|\*+)/.exec(line.slice(position)) ?? [];
    if (marks === undefined) {
      text += line[position++];
    } else if (escaped !== undefined) {
      text += escaped;
      position += marks.length;
    } else {
      const [before = ' ', after = ' '] = [line[position - 1], line[position + marks.length]];
      endText();
      tokens.push({ stars: marks.length, canOpen: /\S/.test(after), canClose: /\S/.test(before) });
      position += marks.length;
    }
  }
  endText();
  return tokens;
}

/** Letters that are written from right to left, with the marks, spaces and punctuation between them, without digits. */
const rightToLeft =
  /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}](?:[\p{M}\s\p{P}]*[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}\p{M}])*/u;
const rightToLeftParts = new RegExp(`(${rightToLeft.source})`, 'u');

/**
 * Returns text whose parts keep their order. Right-to-left words are isolated, because adjacent digits and Latin words would otherwise change places.
 * @see Unicode Standard Annex #9 §3.3.4, §6.1
 */
function inOrder(text: string): readonly (Html | string)[] {
  return text.split(rightToLeftParts).map((part, index) => (index % 2 === 1 ? html`<bdi dir="rtl">${part}</bdi>` : part));
}
