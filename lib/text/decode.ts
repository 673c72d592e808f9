/**
 * Decoders that refuse input that they cannot read. The decoders of Node.js repair such input: a byte that is not UTF-8 becomes U+FFFD, and a lone `%`
 * stays.
 */
import { isUtf8 } from 'node:buffer';

/** Returns the text, without a byte order mark. Undefined for bytes that are not UTF-8. @see RFC 3629 §3 */
export function decodeUtf8(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** Returns whether each `%` begins a complete escape, and the escapes are UTF-8. @see RFC 3986 §2.1, URL Standard §5.1 */
export function isPercentEncoded(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns a form as text. Undefined for a form with bytes or escapes that are not UTF-8. */
export function decodeForm(bytes: Buffer): string | undefined {
  const text = decodeUtf8(bytes);
  return text !== undefined && isPercentEncoded(text) ? text : undefined;
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Returns the text that base64 encodes. Undefined for another alphabet, an impossible length, and bytes that are not UTF-8. @see RFC 4648 §4 */
export function decodeBase64(text: string): string | undefined {
  const digits = text.replace(/=+$/, '');
  const padding = text.length - digits.length;
  const isWhole = digits.length % 4 !== 1 && (padding === 0 || (digits.length + padding) % 4 === 0);
  return base64.test(text) && isWhole ? decodeUtf8(Buffer.from(digits, 'base64')) : undefined;
}
