/** After the acceptance: the browser is signed in by the rules of every sign-in, and goes where the client of the invitation says. */
import type { Context } from 'koa';
import {
  type ExtensionContext,
  type LinkRef,
  type OpenedInvitation,
  type Proof,
  type ProvenSignIn,
  present,
  redirectByGet,
} from '../../lib/extension-door.js';
import { applicationOf } from './applications.js';
import { linkNameOf, type Pages } from './pages.js';

/** What comes back with the browser. Nothing of it is secret. */
export interface ReturnState {
  readonly tid: string;
  readonly clientId?: string;
  /** The link of an invitation whose user signed in to a personal account. */
  readonly linking?: LinkRef;
}

export type Finish = ReturnType<typeof createFinish>;

export function createFinish(context: ExtensionContext, pages: Pages) {
  const {
    service: { own, url },
    directory,
    signIn: { require: requireSignIn, answer: signInAnswer, current: signedIn },
  } = context;

  return {
    /** Signs the browser in as the user who accepted; with their proof, without a page where nothing else is asked. */
    async signInUser(ctx: Context, opened: OpenedInvitation, proof: Proof | undefined, details: Partial<ProvenSignIn> = {}): Promise<void> {
      const { tenant, person, clientId, locale } = opened;
      const state: ReturnState = { tid: tenant.id, ...present({ clientId }) };
      const signIn = proof && { oid: person.user.id, amr: ['pwd'], idp: 'local', ...details, proof };
      await requireSignIn(ctx, {
        client: applicationOf(tenant.id, clientId),
        state: JSON.stringify(state),
        prompt: 'login',
        loginHint: person.user.userName,
        ...(signIn ? { signIn } : { acrValues: `tenant:${tenant.id}` }),
        ...present({ uiLocales: locale }),
      });
    },

    /** Has the user sign in at a provider that an identity was recorded for: that accepts the invitation. */
    async signInAtProvider(ctx: Context, { tenant, clientId, locale, providers: [only = '', ...others] }: OpenedInvitation): Promise<void> {
      const state: ReturnState = { tid: tenant.id, ...present({ clientId }) };
      await requireSignIn(ctx, {
        client: applicationOf(tenant.id, clientId),
        state: JSON.stringify(state),
        prompt: 'login',
        acrValues: [`tenant:${tenant.id}`, ...(others.length === 0 ? [`idp:${only}`] : [])].join(' '),
        ...present({ uiLocales: locale }),
      });
    },

    /** The browser comes back from the sign-in. */
    async arrive(ctx: Context): Promise<void> {
      const answer = await signInAnswer(ctx);
      if (!answer) {
        const here = await signedIn(ctx);
        return here ? pages.done(ctx, here.account.tenant.id, undefined, true) : pages.lost(ctx);
      }
      const { tid, clientId, linking } = JSON.parse(answer.state) as ReturnState;
      const isSignedIn = 'signedIn' in answer;
      if (linking) {
        if (!isSignedIn) return pages.lost(ctx);
        return redirectByGet(ctx, url(`${own}/invitations/confirm?${new URLSearchParams({ invitation: linkNameOf(linking) })}`));
      }
      const client = clientId === undefined ? undefined : await directory.clients.get(clientId);
      if (isSignedIn && client?.status === 'active' && client.postRegistrationUri !== undefined)
        return redirectByGet(ctx, client.postRegistrationUri);
      return pages.done(ctx, tid, clientId, isSignedIn);
    },
  };
}
