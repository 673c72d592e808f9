/** Mark before a value that is written as JSON. */
const MARK = '\u0001';
/**
 * Pattern of a value that a server would refuse, or that begins with the mark. Because of the flag `u`, a surrogate matches only if the surrogate has no
 * partner.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark is a control character
const unstorable = /^\u0001|\0|[\ud800-\udfff]/u;

/** Returns a text that every server stores. {@link originalText} converts the text back. */
export const storableText = (text: string): string => (unstorable.test(text) ? MARK + JSON.stringify(text) : text);

export const originalText = (stored: string): string => (stored.startsWith(MARK) ? (JSON.parse(stored.slice(1)) as string) : stored);
