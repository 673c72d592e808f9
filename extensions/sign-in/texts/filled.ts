/** Returns a text with the values of its placeholders. A placeholder without a value becomes empty. */
export const filled = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
