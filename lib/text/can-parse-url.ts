/**
 * Returns whether the text is an absolute URL. `URL.canParse` is not used: in Node 20 it refuses URLs with letters from U+0080 to U+00FF once V8 has
 * optimised the code that calls it.
 * @see URL Standard §6.1
 * @example
 * ```ts
 * import { canParseUrl } from 'tenant-idp/extension';
 *
 * console.log(canParseUrl('https://b\u00fccher.example')); // true
 * ```
 */
export function canParseUrl(text: string, base?: string | URL): boolean {
  try {
    new URL(text, base);
    return true;
  } catch {
    return false;
  }
}
