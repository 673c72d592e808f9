/** Watches who looks at a text that must not be looked at: what folds it, and regular expressions over it. */

type Method = (this: unknown, ...args: unknown[]) => unknown;

const watched: readonly (readonly [object, readonly (string | symbol)[], 'this' | 'argument'])[] = [
  [String.prototype, ['normalize', 'toLowerCase', 'toUpperCase', 'localeCompare'], 'this'],
  [RegExp.prototype, ['exec', 'test', Symbol.replace, Symbol.match, Symbol.matchAll, Symbol.split, Symbol.search], 'argument'],
];

/** Calls of these methods with a text that has the mark in it and is longer than `bound`, while the work is done. */
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
