/**
 * The message of an authentication request, as the person sees it. Whoever sends it is a client, and may be a hostile one: no part of it becomes markup of
 * its own, and none changes place, its own letters or those beside it.
 *
 * `simpleMarkdownV1` knows paragraphs, headings, lists, bold and italic. Everything else is text: links, HTML, code, images, tables.
 * @see CIBA Core §7.1, threat D10
 */
import { type Html, html, isBlank, textProblem } from '../../../lib/extension-door.js';
import type { MessageFormat } from '../requests/record.js';

/** Characters, as Unicode counts them. */
export const MAX_MESSAGE_CHARACTERS = 256;

/**
 * What is not to be seen, or moves what is: controls, line and paragraph separators, marks and overrides of direction (UAX #9), tags, halves of characters,
 * and what will never be one.
 */
const unseen = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}\u{E0000}-\u{E007F}]/gu;

/** Whether a message can be shown as it is. Only formatted messages have lines. */
export function isPresentable(text: string, format: MessageFormat): boolean {
  const isShort = text.length <= 2 * MAX_MESSAGE_CHARACTERS && [...text].length <= MAX_MESSAGE_CHARACTERS;
  return isShort && !isBlank(text) && textProblem('text', text) === undefined && (format !== 'plaintext' || !text.includes('\n'));
}

/** The message as markup of ours. A record that somebody else wrote is shown too, with a mark for each character that has no place in it. */
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
      // An outline without gaps, whatever the message skips.
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

/** A pair of stars that waits for its other half. */
interface Opened {
  readonly stars: 1 | 2;
  /** What came before it. */
  readonly before: readonly Html[];
}

/** Bold, italic and text. Stars without another half are stars. */
function inline(line: string): readonly Html[] {
  const opened: Opened[] = [];
  let words: readonly Html[] = [];
  const close = (from: number): void => {
    const [pair, ...lost] = opened.splice(from) as [Opened, ...Opened[]];
    // Those that opened later have no other half.
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

/** Runs of stars and the text between them. A backslash makes a mark text. */
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

/** Letters that are written from right to left, with marks and the spaces and signs between them; digits are none. */
const rightToLeft =
  /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}](?:[\p{M}\s\p{P}]*[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}\p{M}])*/u;
const rightToLeftParts = new RegExp(`(${rightToLeft.source})`, 'u');

/**
 * Text whose parts keep their order. Words of another direction are set apart, because digits and Latin words beside them would otherwise change places.
 * @see Unicode Standard Annex #9 §3.3.4, §6.1
 */
function inOrder(text: string): readonly (Html | string)[] {
  return text.split(rightToLeftParts).map((part, index) => (index % 2 === 1 ? html`<bdi dir="rtl">${part}</bdi>` : part));
}
