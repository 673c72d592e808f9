import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction as ProviderInteraction } from 'oidc-provider';
import type { Interaction, KnownAccount } from '../../contract/sign-in/interaction.js';
import { type Account, isUsable } from '../../directory/index.js';
import { reachableAccounts, signInAs } from '../accounts/linked-accounts.js';
import type { OurSession } from '../accounts/login-context.js';
import { type IsComplete, ofSession } from '../accounts/requirements.js';
import { keyOf } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';
import { giveSession } from '../sessions/begun-sign-ins.js';
import { isSameSignIn } from '../sessions/sessions.js';
import { createRememberedAccounts } from './remembered-accounts.js';

/** Creates the functions that return and select the accounts of a browser, for the account chooser. */
export function createAccountChoice(parts: OidcParts, provider: () => Provider, isComplete: IsComplete) {
  const { directory } = parts;
  const remembered = createRememberedAccounts(parts);
  const sessionOf = (ctx: Context) => provider().Session.get(ctx) as Promise<OurSession>;
  /** Returns the accounts of the sign-in that may answer the request, as of the time when it arrived. */
  const offeredBy = ({ prompt }: ProviderInteraction): readonly string[] => (prompt.details.oids as string[] | undefined) ?? [];
  /** Returns the accounts that the sign-in of a browser may see and select. Until the sign-in is complete, returns only the account of the session. */
  async function open(session: OurSession, { client }: Pick<Interaction, 'client'>): Promise<readonly Account[]> {
    const reachable = await reachableAccounts(parts, session);
    const current = reachable.find((account) => idOf(account) === session.accountId);
    if (!current || reachable.length === 1 || (await isComplete(current, ofSession(session), client))) return reachable;
    return [current];
  }
  return {
    remember: remembered.add,
    forget: remembered.remove,
    remembered: remembered.read,

    /** Returns the accounts of the sign-in in tenants whose users may sign in here. */
    own: async (ctx: Context, interaction: Interaction): Promise<readonly Account[]> =>
      (await open(await sessionOf(ctx), interaction)).filter(({ tenant }) => interaction.tids?.includes(tenant.id) ?? true),

    async known(ctx: Context, details: ProviderInteraction, interaction: Interaction): Promise<readonly KnownAccount[]> {
      const { tids } = interaction;
      const reachable = await open(await sessionOf(ctx), interaction);
      const ids = new Set(reachable.map(idOf));
      const offered = offeredBy(details);
      // An account that the request itself names is not searched among the remembered accounts.
      const before = details.prompt.reasons.includes('select_account_prompt') ? remembered.read(ctx) : [];
      const others = await Promise.all(before.map((oid) => (ids.has(oid) ? undefined : directory.accounts.findByOid(oid))));
      return [
        ...reachable.filter((account) => offered.includes(idOf(account))).map((account) => ({ account, isSignedIn: true })),
        ...others.flatMap((account) =>
          account && isUsable(account) && (tids?.includes(account.tenant.id) ?? true) ? [{ account, isSignedIn: false }] : [],
        ),
      ];
    },

    /**
     * Makes a linked account the account of the session, and returns the account. The sign-in is recorded in the history of this account too. No session ends.
     * Undefined if the change needs a sign-in.
     */
    async select(ctx: Context, details: ProviderInteraction, interaction: Interaction, oid: string): Promise<Account | undefined> {
      const session = await sessionOf(ctx);
      const { uid, accountId } = session;
      if (!offeredBy(details).includes(oid)) return undefined;
      const chosen = (await open(session, interaction)).find((account) => idOf(account) === oid);
      if (!chosen) return undefined;
      if (!session.act) remembered.add(ctx, oid);
      if (accountId === oid) return chosen;
      const changed = await giveSession(parts, keyOf('Session', uid), (now) =>
        isSameSignIn(now, session) ? { ...now, ...signInAs(now, chosen), unrecorded: true } : undefined,
      );
      if (!changed) return undefined;
      details.session = { uid, accountId: oid } as NonNullable<typeof details.session>;
      await details.persist();
      return chosen;
    },
  };
}

const idOf = ({ person }: Account): string => person.user.id;
