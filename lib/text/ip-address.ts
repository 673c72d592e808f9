import { isIP } from 'node:net';

/** Part of an address that the service stores with a sign-in, and shows. */
export type AddressPart = 'full' | 'truncated' | 'none';

/** Returns the block of an IPv6 address whose prefix has this number of groups of 16 bits: `2001:db8:0:1::/64`. */
export function ipv6Block(address: string, length: number): string {
  const [before = '', after] = address.split('::');
  const groups = before === '' ? [] : before.split(':');
  const last = after === undefined || after === '' ? [] : after.split(':');
  const zeros = Array<string>(after === undefined ? 0 : 8 - groups.length - last.length).fill('0');
  return `${[...groups, ...zeros, ...last].slice(0, length).join(':')}::/${length * 16}`;
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
  const [, whole = ''] = /^([^/]+)(?:\/\d{1,3})?$/.exec(address) ?? [];
  const version = isIP(whole);
  // The function of the option `trustProxy` may return a text that is not an address.
  if (part === 'none' || version === 0) return undefined;
  if (part === 'full') return address;
  return version === 6 ? ipv6Block(whole, 3) : whole.replace(/\d+$/, '0/24');
}
