import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { createBounded } from '../../store/caches/bounded.js';
import type { OidcParts } from '../context.js';

/** Options that determine the names of cookies. */
export type CookieNaming = Pick<ResolvedOptions, 'secure' | 'mountPath' | 'cookies'>;

/**
 * Returns the name of a cookie for the whole origin, as `__Host-` requires. An identity provider under another path of the origin needs another name.
 * Browsers send cookies to every port of a host, so another service on the host needs another `cookies.prefix`. @see RFC 6265bis §4.1.3, §8.5
 */
export function cookieName(name: string, { secure, mountPath, cookies }: CookieNaming): string {
  const full = `${secure ? '__Host-' : ''}${cookies.prefix}idp.${name}`;
  return mountPath === '' ? full : `${full}.${Buffer.from(mountPath).toString('base64url')}`;
}

/** Returns the name of a cookie that is sent only to paths below the path of the issuer. @see RFC 6265bis §4.1.3 */
export const pathCookieName = (name: string, { secure, cookies }: Pick<CookieNaming, 'secure' | 'cookies'>): string =>
  `${secure ? '__Secure-' : ''}${cookies.prefix}idp.${name}`;

/** Sets the cookie of a session outside a request to oidc-provider. Null removes it. @param exp seconds since the epoch */
export function createSessionCookie({ secure }: Pick<ResolvedOptions, 'secure'>, provider: () => Provider) {
  const attributes = { httpOnly: true, sameSite: 'lax', secure, signed: true, overwrite: true } as const;
  return (ctx: Pick<Context, 'cookies'>, value: string | null, exp?: number): void =>
    void ctx.cookies.set(provider().cookieName('session'), value, { ...attributes, ...(exp ? { expires: new Date(exp * 1000) } : {}) });
}

/**
 * Creates the cookie of browsers with a recent impersonation. The cookie proves nothing. Pages look for an impersonation only in browsers with the cookie.
 */
export function createImpersonationHint(options: CookieNaming) {
  const name = cookieName('impersonation', options);
  const attributes = { httpOnly: true, sameSite: 'lax', secure: options.secure, signed: false, overwrite: true } as const;
  return {
    isSet: (ctx: Context): boolean => ctx.cookies.get(name, { signed: false }) !== undefined,
    /** @param expires @default until the browser is closed */
    set: (ctx: Context, expires?: Date): void => void ctx.cookies.set(name, '1', { ...attributes, ...(expires ? { expires } : {}) }),
    clear: (ctx: Context): void => void ctx.cookies.set(name, null, attributes),
  };
}

/** Minimum milliseconds for which a browser remembers its last sign-out. The service remembers lost answers for less time. */
const SIGN_OUT_KEPT_MS = 120_000;

/**
 * Creates the cookie that names the last sign-out of a browser. The sign-out ends sign-ins that the session has not got yet, and prevents that lost answers
 * of earlier sign-ins are repeated. The name is random, because the clocks of two nodes differ.
 */
export function createLastSignOut(options: CookieNaming & Pick<ResolvedOptions, 'lifetimes'>) {
  const name = cookieName('signed-out', options);
  const attributes = { httpOnly: true, sameSite: 'lax', secure: options.secure, signed: false, overwrite: true } as const;
  // A sign-in that no session has yet waits as long as its interaction.
  const maxAge = Math.max(SIGN_OUT_KEPT_MS, 2000 * options.lifetimes.interaction);
  return {
    of: (ctx: Pick<Context, 'cookies'>): string | undefined => ctx.cookies.get(name, { signed: false })?.slice(0, SIGN_OUT_LENGTH),
    set: (ctx: Pick<Context, 'cookies'>): void =>
      void ctx.cookies.set(name, randomBytes(SIGN_OUT_BYTES).toString('base64url'), { ...attributes, maxAge }),
  };
}

/** Length of the name of a sign-out, in bytes and in base64url. */
const [SIGN_OUT_BYTES, SIGN_OUT_LENGTH] = [12, 16];

/** Maximum cookies whose signatures are in memory; about 200 bytes each. */
const MAX_REMEMBERED = 1000;

export interface CookieKeys {
  /** Returns the signature of the newest key over the data. */
  sign(data: string): string;
  /** Returns the index of the key that made the signature, newest first; -1 if no key did. */
  index(data: string, signature: string): number;
  verify(data: string, signature: string): boolean;
}

/** @param secrets the newest secret first. */
export function createCookieKeys(secrets: readonly string[]): CookieKeys {
  const keys = secrets.map((secret) => createSecretKey(Buffer.from(secret)));
  const remembered = createBounded<readonly string[]>({ max: MAX_REMEMBERED });

  const signaturesOf = (data: string): readonly string[] => keys.map((key) => createHmac('sha1', key).update(data).digest('base64url'));
  const index = (data: string, signature: string): number => {
    const known = remembered.get(data);
    const signatures = known ?? signaturesOf(data);
    const found = signatures.findIndex((expected) => isEqual(expected, signature));
    if (!known && found >= 0) remembered.set(data, signatures);
    return found;
  };
  return {
    sign: (data) => (remembered.get(data) ?? signaturesOf(data))[0] ?? '',
    index,
    verify: (data, signature) => index(data, signature) >= 0,
  };
}

const isEqual = (expected: string, given: string): boolean =>
  expected.length === given.length && timingSafeEqual(Buffer.from(expected, 'latin1'), Buffer.from(given, 'latin1'));

/** Maximum characters of a value. Browsers keep 4096 bytes of a cookie, with its name and attributes. */
const MAX_LENGTH = 3800;

/** A cookie that only this service can read, and that is valid only for the record for which it was encrypted. */
export interface SealedCookie<T> {
  read(ctx: Context, record: string): T | undefined;
  /** Sets the cookie, unless the value is longer than browsers keep. Undefined removes it. */
  write(ctx: Context, record: string, path: string, value: T | undefined): void;
}

export function createSealedCookie<T>(
  { encrypt, decrypt }: OidcParts['sealer'],
  { name, purpose, keptMs }: { readonly name: string; readonly purpose: string; readonly keptMs: number },
): SealedCookie<T> {
  return {
    read(ctx, record) {
      const sealed = ctx.cookies.get(name, { signed: false }) ?? '';
      if (sealed === '') return undefined;
      try {
        return JSON.parse(decrypt(purpose, record, sealed)) as T;
      } catch {
        return undefined;
      }
    },
    write(ctx, record, path, value) {
      const sealed = value === undefined ? null : encrypt(purpose, record, JSON.stringify(value));
      if (sealed !== null && sealed.length > MAX_LENGTH) return;
      ctx.cookies.set(name, sealed, { signed: false, path, httpOnly: true, sameSite: 'lax', maxAge: keptMs, overwrite: true });
    },
  };
}
