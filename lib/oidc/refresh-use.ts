import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { isClient } from './clients.js';

/** What is kept of the request that spent a refresh token, beside the token. */
export interface RefreshUse {
  /** Digests of the address and of the agent that sent it: those who see the token again can compare, and nobody can tell them. */
  readonly sender: string;
  /** Seconds in which using it again is a retry; absent: as the options say. */
  readonly grace?: number;
}

type Sender = Pick<Context, 'ip' | 'get'>;

/** @param client the record of the client that the token is of. */
export function refreshUseOf(ctx: Sender, token: string, client: object | undefined): RefreshUse {
  const grace = isClient(client) ? client.lifetimes?.refreshTokenGrace : undefined;
  return { sender: senderOf(ctx, token), ...(grace === undefined ? {} : { grace }) };
}

/** Whether a token comes from another address and from another agent than before: a phone that changes networks keeps its agent. */
export function isFromElsewhere(ctx: Sender, token: string, { sender }: Partial<RefreshUse>): boolean {
  if (sender === undefined) return false;
  const before = sender.split('.');
  return senderOf(ctx, token)
    .split('.')
    .every((part, index) => part !== before[index]);
}

const senderOf = (ctx: Sender, token: string): string =>
  [ctx.ip, ctx.get('user-agent')].map((text) => hash('sha256', `${token} ${text}`, 'base64url').slice(0, 8)).join('.');
