import type { Context } from 'koa';
import { interactionsPath } from '../../paths.js';
import type { OidcParts } from '../context.js';
import { createSealedCookie, pathCookieName } from '../sessions/cookies.js';

/** Milliseconds for which a browser remembers an account: 90 days. */
const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
const MAX_ACCOUNTS = 5;

/**
 * Creates the memory of accounts that signed in from this browser, for the account chooser. Only the browser stores the ids of the accounts, encrypted.
 * Only the sign-in pages use the ids. No tenant or client can read the ids, the ids sign nobody in, and the ids are valid in this browser alone.
 */
export function createRememberedAccounts({ options, sealer, browsers }: Pick<OidcParts, 'options' | 'sealer' | 'browsers'>) {
  const name = pathCookieName('accounts', options);
  const path = options.mountPath + interactionsPath(options);
  const cookie = createSealedCookie<readonly string[]>(sealer, { name, purpose: 'remembered accounts', keptMs: KEPT_MS });

  const ofBrowser = (ctx: Context): string => `${name} ${browsers.browserOf(ctx)}`;
  const read = (ctx: Context): readonly string[] => cookie.read(ctx, ofBrowser(ctx)) ?? [];
  const write = (ctx: Context, oids: readonly string[]): void =>
    cookie.write(ctx, ofBrowser(ctx), path, oids.length > 0 ? oids : undefined);
  const others = (ctx: Context, oid: string): readonly string[] => read(ctx).filter((known) => known !== oid);

  return {
    /** Returns ids, the latest id first. */
    read,
    add: (ctx: Context, oid: string): void => write(ctx, [oid, ...others(ctx, oid)].slice(0, MAX_ACCOUNTS)),
    remove: (ctx: Context, oid: string): void => write(ctx, others(ctx, oid)),
  };
}
