/** Watches for code that looks at a text without permission: methods that fold the text, and regular expressions over the text. */

type Method = (this: unknown, ...args: unknown[]) => unknown;

const watched: readonly (readonly [object, readonly (string | symbol)[], 'this' | 'argument'])[] = [
  [String.prototype, ['normalize', 'toLowerCase', 'toUpperCase', 'localeCompare'], 'this'],
  [RegExp.prototype, ['exec', 'test', Symbol.replace, Symbol.match, Symbol.matchAll, Symbol.split, Symbol.search], 'argument'],
];

/** Returns the calls of these methods during the work with a text that contains the mark and is longer than `bound`. */
export async function looksAt(mark: string, bound: number, work: () => Promise<unknown>): Promise<readonly string[]> {
  const looks: string[] = [];
  const undo = watched.flatMap(([prototype, names, where]) =>
    names.map((name) => {
      const original = Reflect.get(prototype, name) as Method;
      const watching: Method = function (...args) {
        const text = where === 'this' ? this : args[0];
        if (typeof text === 'string' && text.length > bound && text.includes(mark))
          looks.push(`${String(name)}${where === 'argument' ? ` by ${this}` : ''}: ${text.length} characters`);
        return original.apply(this, args);
      };
      Object.defineProperty(prototype, name, { value: watching, configurable: true, writable: true });
      return () => Object.defineProperty(prototype, name, { value: original, configurable: true, writable: true });
    }),
  );
  try {
    await work();
    return looks;
  } finally {
    for (const restore of undo) restore();
  }
}
