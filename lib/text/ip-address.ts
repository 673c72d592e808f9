import { isIP } from 'node:net';

/** Part of an address that the service stores with a sign-in, and shows. */
export type AddressPart = 'full' | 'truncated' | 'none';

/** An IPv4 address mapped into IPv6, in the form of URL parsers. @see RFC 4291 §2.5.5.2 */
const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/;

/** Returns an IPv6 address in its one form. The parser of URLs writes this form. @see RFC 5952 */
const inShortestForm = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/** Returns an address in one form: IPv6 as short as possible and without zone, and IPv4 unmapped. Undefined for another text. */
export function normalAddress(text: string): string | undefined {
  const [address = ''] = text.split('%', 1);
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined;
  const normal = inShortestForm(address);
  const [, high, low] = mapped.exec(normal) ?? [];
  if (high === undefined || low === undefined) return normal;
  return [high, low].flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 255]).join('.');
}

/**
 * Returns the block of an address: the IPv6 block whose prefix has this number of groups of 16 bits, such as `2001:db8:0:1::/64`. Returns an IPv4 address and
 * other text unchanged.
 */
export function ipv6Block(text: string, length: number): string {
  const address = normalAddress(text);
  if (address === undefined || isIP(address) === 4) return address ?? text;
  const [before = '', after] = address.split('::');
  const groups = before === '' ? [] : before.split(':');
  const last = after === undefined || after === '' ? [] : after.split(':');
  const zeros = Array<string>(after === undefined ? 0 : 8 - groups.length - last.length).fill('0');
  const prefix = [...groups, ...zeros, ...last].slice(0, length);
  return `${inShortestForm([...prefix, ...Array<string>(8 - length).fill('0')].join(':'))}/${length * 16}`;
}

/**
 * Returns the part of an address that may be stored and shown, as the option `sessions.address` says. `truncated` is the /24 of an IPv4 address and the /48
 * of an IPv6 address. Call this function before the address is stored, and again before it is shown, because the option may have changed since. Undefined:
 * store and show nothing.
 * @param address an address, or a part of an address that this function returned
 * @example
 * ```ts
 * import { shownAddress } from 'tenant-idp/extension';
 *
 * console.log(shownAddress('192.0.2.7', 'truncated')); // 192.0.2.0/24
 * ```
 */
export function shownAddress(address: string, part: AddressPart): string | undefined {
  const [, given = '', length] = /^([^/]+)(\/\d{1,3})?$/.exec(address) ?? [];
  const whole = normalAddress(given);
  // The function of the option `trustProxy` may return a text that is not an address.
  if (part === 'none' || whole === undefined) return undefined;
  if (part === 'full') return `${whole}${length ?? ''}`;
  return isIP(whole) === 6 ? ipv6Block(whole, 3) : whole.replace(/\d+$/, '0/24');
}
