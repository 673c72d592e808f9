/** A link that a person has begun: who they were then, until they have proven the other account as well. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  type Account,
  type ArtifactKind,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type OwnPage,
  type Proof,
} from '../../lib/extension-door.js';

/** How long ago a sign-in may be that changes links. */
const FRESH_SECONDS = 600;

/** Links that were begun, each in its browser. */
export const linkRequestKind: ArtifactKind = { name: 'linked-accounts.begun', lifetimeSeconds: FRESH_SECONDS, once: true };

/** The page, for who signs in to get to it. */
export const pageOf = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'linked-accounts:page', `${context.service.own}/linked-accounts`, FRESH_SECONDS);

interface LinkRequest {
  readonly signIn: Omit<BrowserSignIn, 'account'>;
  readonly proof: Proof;
  /** When, in seconds since the epoch. */
  readonly startedAt: number;
}

export function createLinkRequests({
  records: { artifact },
  http: { csrf },
  directory,
  signIn: { isSufficient, mayChange },
  service: { now },
}: ExtensionContext) {
  /** Returns the id of the record, which no other browser can find out. */
  const ticket = (ctx: Context, id: string): string => csrf.ticket(ctx, `linked-accounts ${id}`);
  /** The parent of the signed-in account, if the sign-in does not meet the parent's requirements. New account links are made with the parent. */
  async function unprovenParent(here: BrowserSignIn): Promise<Account | undefined> {
    const { parentUserId } = here.account.person.user;
    const parent = parentUserId === undefined ? undefined : await directory.accounts.findByOid(parentUserId);
    return parent && !(await isSufficient(parent, here)) ? parent : undefined;
  }
  return {
    unprovenParent,

    /** @returns its id, which opens nothing in another browser. */
    async start(ctx: Context, { account, ...signIn }: BrowserSignIn): Promise<string> {
      const id = randomUUID();
      const proof = await directory.credentials.proofOf(account, new Date(signIn.authTime * 1000));
      await artifact(linkRequestKind).put(ticket(ctx, id), { signIn, proof, startedAt: Math.floor(now() / 1000) } satisfies LinkRequest);
      return id;
    },

    /** The sign-in that began the link, if it still meets the requirements of its account and the browser has a newer sign-in. */
    async first(ctx: Context, id: string, here: BrowserSignIn): Promise<BrowserSignIn | undefined> {
      const record = (await artifact(linkRequestKind).read(ticket(ctx, id))) as LinkRequest | undefined;
      if (!record || here.authTime < record.startedAt) return undefined;
      const account = await directory.accounts.findByOid(record.signIn.oid);
      if (!account || !(await directory.credentials.holds(account, record.proof))) return undefined;
      const first = { ...record.signIn, account };
      return (await isSufficient(account, first)) && (await mayChange(first)) && !(await unprovenParent(first)) ? first : undefined;
    },

    /** Ends it; true for one caller. */
    end: async (ctx: Context, id: string): Promise<boolean> => (await artifact(linkRequestKind).take(ticket(ctx, id))) !== undefined,
  };
}
