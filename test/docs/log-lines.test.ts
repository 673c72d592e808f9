/**
 * Every line at warn and error is in the table of docs/operate.md: what happened, what the service does now, and what the operator does.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../../', import.meta.url);

/**
 * Messages of calls of `logger.warn`, `logger.error` and `logger[level]`, and `messages` of background work: texts with a space, which no
 * other literal of these calls has.
 */
const messagesOf = (source: string): readonly string[] =>
  [...source.matchAll(/logger\s*(?:\.(?:warn|error)|\[[^\]]*\])\(|\bmessages: \{/g)]
    .flatMap(({ index, 0: { length } }) => literalsAt(source, index + length))
    .filter((text) => text.includes(' '));

/** Returns the literals in single quotes among the arguments of a call. */
function literalsAt(source: string, start: number): readonly string[] {
  const found: string[] = [];
  let depth = 1;
  let opened: number | undefined;
  for (let at = start; depth > 0; at += 1) {
    const char = source[at] as string;
    if (opened !== undefined) {
      if (char === '\\') at += 1;
      else if (char === source[opened]) {
        if (char === "'") found.push(source.slice(opened + 1, at));
        opened = undefined;
      }
    } else if ('\'"`'.includes(char)) opened = at;
    else if ('([{'.includes(char)) depth += 1;
    else if (')]}'.includes(char)) depth -= 1;
  }
  return found;
}

const files = ['lib', 'extensions', 'adapters'].flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8')),
);
/** Pattern of texts with two sentences, which state the action themselves. */
const whole = /\. [A-Z]|\.$|\. $/;
const written = new Set(files.flatMap(messagesOf).filter((message) => !whole.test(message)));
const page = readFileSync(new URL('docs/operate.md', root), 'utf8');
const [, section = ''] = /### Lines at warn and error\n([\s\S]*?)\n## /.exec(page) ?? [];
const rows = [...section.matchAll(/^\| `([^`]+)` \| (.+) \| (.+) \|$/gm)].map(([, message = '', now = '', action = '']) => ({
  message,
  now,
  action,
}));

test('the table has each line, and no other', () => {
  expect(written.size).toBeGreaterThan(40);
  expect(rows.map(({ message }) => message).sort()).toEqual([...written].sort());
});

test('each row says what the service does now, and what to do', () => {
  for (const row of rows) expect({ ...row, isWhole: row.now.length > 10 && row.action.length > 5 }).toMatchObject({ isWhole: true });
});
