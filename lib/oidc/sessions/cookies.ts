import type { ResolvedOptions } from '../../options/defaults.js';

/**
 * The name of a cookie that is sent to the whole origin, as `__Host-` demands; so another identity provider there, under another path, needs
 * another name. @see RFC 6265bis §4.1.3
 */
export function cookieName(name: string, { secure, mountPath }: Pick<ResolvedOptions, 'secure' | 'mountPath'>): string {
  const full = `${secure ? '__Host-' : ''}idp.${name}`;
  return mountPath === '' ? full : `${full}.${Buffer.from(mountPath).toString('base64url')}`;
}

/** The name of a cookie that is sent to paths below the issuer's alone. @see RFC 6265bis §4.1.3 */
export const pathCookieName = (name: string, { secure }: Pick<ResolvedOptions, 'secure'>): string =>
  `${secure ? '__Secure-' : ''}idp.${name}`;
