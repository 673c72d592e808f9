import type { Context } from 'koa';
import { addressBlock } from '../../lib/extension-door.js';

/** Whom a password is hashed for: each waits behind himself when there is much to do. */
export const turnsOf = (ctx: Context): readonly string[] => [`address ${addressBlock(ctx.ip)}`];
