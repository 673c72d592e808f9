/** The sign-in after an acceptance, by the rules of every sign-in, and the redirect to the client of the invitation. */
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

/** State of the sign-in, which returns with the browser. The state contains no secret. */
export interface ReturnState {
  readonly tid: string;
  readonly clientId?: string;
  /** The invitation link of a user who signed in to a personal account. */
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
    /**
     * Signs the browser in as the user who accepted. With the proof of the user's credentials, no page is shown unless the sign-in has other requirements.
     */
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

    /** Sends the user to the sign-in at a provider of a recorded identity. The sign-in accepts the invitation. */
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

    /** Receives the browser after the sign-in. */
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
