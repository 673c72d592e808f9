/** Marks a value that is written as JSON. */
const MARK = '\u0001';
/** Matches a value that a server would refuse, or that begins with the mark. With the flag `u`, a surrogate matches only if it has no partner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark is one
const unstorable = /^\u0001|\0|[\ud800-\udfff]/u;

/** Returns a text that every server stores. {@link originalText} is the way back. */
export const storableText = (text: string): string => (unstorable.test(text) ? MARK + JSON.stringify(text) : text);

export const originalText = (stored: string): string => (stored.startsWith(MARK) ? (JSON.parse(stored.slice(1)) as string) : stored);
