import type { Context } from 'koa';
import type { OidcParts } from './dependencies.js';

/** 90 days, in milliseconds. */
const KEPT = 90 * 24 * 60 * 60 * 1000;
const MAX_ACCOUNTS = 5;

/**
 * Accounts that signed in from this browser, for the account chooser. The browser alone keeps them, as their ids, encrypted, and for the sign-in
 * pages alone: nothing can be read there, no tenant or client gets to see it, and it signs nobody in.
 */
export function createRememberedAccounts({ options, keyring }: Pick<OidcParts, 'options' | 'keyring'>) {
  const name = options.secure ? '__Secure-idp.accounts' : 'idp.accounts';
  const path = `${options.mountPath}${options.paths.own}/interaction`;

  const read = (ctx: Context): readonly string[] => {
    const cookie = ctx.cookies.get(name, { signed: false });
    if (!cookie) return [];
    try {
      return JSON.parse(keyring.decrypt('remembered accounts', name, cookie)) as string[];
    } catch {
      return [];
    }
  };
  const write = (ctx: Context, oids: readonly string[]): void => {
    const value = oids.length > 0 ? keyring.encrypt('remembered accounts', name, JSON.stringify(oids)) : null;
    ctx.cookies.set(name, value, { signed: false, path, httpOnly: true, sameSite: 'lax', maxAge: KEPT, overwrite: true });
  };

  return {
    /** Ids, the latest first. */
    read,
    add: (ctx: Context, oid: string): void => write(ctx, [oid, ...read(ctx).filter((known) => known !== oid)].slice(0, MAX_ACCOUNTS)),
    remove: (ctx: Context, oid: string): void =>
      write(
        ctx,
        read(ctx).filter((known) => known !== oid),
      ),
  };
}
