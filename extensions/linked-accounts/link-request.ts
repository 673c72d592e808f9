/** Account links that a user has started. The record has the first sign-in until the user has proven the other account as well. */
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
  RECENT_SIGN_IN_SECONDS,
} from '../../lib/extension-door.js';

/** Started account links, each for one browser. */
export const linkRequestKind: ArtifactKind = { name: 'linked-accounts.begun', lifetimeSeconds: RECENT_SIGN_IN_SECONDS, once: true };

/** Returns the page as an application that users sign in to. */
export const pageOf = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'linked-accounts:page', `${context.service.own}/linked-accounts`, 'credentialChange');

interface LinkRequest {
  readonly signIn: Omit<BrowserSignIn, 'account'>;
  readonly proof: Proof;
  /** When the account link was started, in seconds since the epoch. */
  readonly startedAt: number;
}

export function createLinkRequests({
  records: { artifact },
  http: { csrf },
  directory,
  signIn: { isSufficient, mayChange, proofOf },
  service: { now },
}: ExtensionContext) {
  /** Returns the id of the record, which no other browser can find out. */
  const ticket = (ctx: Context, id: string): string => csrf.ticket(ctx, `linked-accounts ${id}`);
  /**
   * Returns the parent account of the signed-in account if the sign-in does not meet the requirements of the parent account. A new account link is made
   * with the parent account.
   */
  async function unprovenParent(here: BrowserSignIn): Promise<Account | undefined> {
    const { parentUserId } = here.account.person.user;
    const parent = parentUserId === undefined ? undefined : await directory.accounts.findByOid(parentUserId);
    return parent && !(await isSufficient(parent, here)) ? parent : undefined;
  }
  return {
    unprovenParent,

    /** Starts an account link. Returns the id of the started account link. In another browser, the id is useless. */
    async start(ctx: Context, { account, ...signIn }: BrowserSignIn): Promise<string> {
      const id = randomUUID();
      // The second sign-in of the account link may replace this sign-in in the browser. Any other end of this sign-in ends the account link.
      const proof = await proofOf(ctx, { ...signIn, account }, { lifetimeSeconds: linkRequestKind.lifetimeSeconds, survivesSwitch: true });
      await artifact(linkRequestKind).put(ticket(ctx, id), { signIn, proof, startedAt: Math.floor(now() / 1000) } satisfies LinkRequest);
      return id;
    },

    /**
     * Returns the sign-in that started the account link, if the sign-in still meets the requirements of its account and the browser has a newer sign-in.
     */
    async first(ctx: Context, id: string, here: BrowserSignIn): Promise<BrowserSignIn | undefined> {
      const record = (await artifact(linkRequestKind).read(ticket(ctx, id))) as LinkRequest | undefined;
      if (!record || here.authTime < record.startedAt) return undefined;
      const account = await directory.accounts.findByOid(record.signIn.oid);
      if (!account || !(await directory.credentials.holds(account, record.proof))) return undefined;
      const first = { ...record.signIn, account };
      return (await isSufficient(account, first)) && (await mayChange(first)) && !(await unprovenParent(first)) ? first : undefined;
    },

    /** Ends the started account link. Only one call returns true. */
    end: async (ctx: Context, id: string): Promise<boolean> => (await artifact(linkRequestKind).take(ticket(ctx, id))) !== undefined,
  };
}
