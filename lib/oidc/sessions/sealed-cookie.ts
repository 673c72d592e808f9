import type { Context } from 'koa';
import type { OidcParts } from '../context.js';

/** Browsers keep 4096 bytes of a cookie, its name and attributes included. */
const MAX_LENGTH = 3800;

/** A cookie that only this service can read, and that holds for the record it was sealed for alone. */
export interface SealedCookie<T> {
  read(ctx: Context, record: string): T | undefined;
  /** Sets nothing when the value is longer than browsers keep; undefined takes the cookie away. */
  write(ctx: Context, record: string, path: string, value: T | undefined): void;
}

/** @param kept milliseconds. */
export function createSealedCookie<T>(
  { encrypt, decrypt }: OidcParts['keyring'],
  { name, purpose, kept }: { readonly name: string; readonly purpose: string; readonly kept: number },
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
      ctx.cookies.set(name, sealed, { signed: false, path, httpOnly: true, sameSite: 'lax', maxAge: kept, overwrite: true });
    },
  };
}
