import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Proof } from '../../directory/index.js';
import { sessionOf } from '../accounts/login-context.js';
import type { OidcParts } from '../context.js';
import { createLastSignOut } from '../sessions/cookies.js';
import type { BoundInteraction } from '../upstream/interaction.js';

/** A sign-in, as the pages recorded it. */
interface Login {
  readonly accountId: string;
  readonly ts: number;
  readonly proof?: Proof;
  /** The last sign-out of the browser when the user signed in. */
  readonly after?: string;
}

/**
 * Whether a request may resume an interaction: under its own path, in the browser that it began in, and with a sign-in that is still valid when the session
 * gets it. A sign-out of the user since then ends the sign-in.
 */
export function createResumeCheck({ browsers, directory, options }: Pick<OidcParts, 'browsers' | 'directory' | 'options'>) {
  const lastSignOut = createLastSignOut(options);
  return async (ctx: KoaContextWithOIDC, interaction: BoundInteraction): Promise<boolean> => {
    if (interaction.uid !== (ctx as unknown as Context).params.uid || !browsers.isBoundHere(ctx, interaction)) return false;
    const { login } = (interaction.result ?? {}) as { readonly login?: Login };
    const session = sessionOf(ctx);
    // Nothing has to be proven: there is no sign-in, or the session has it already, and a revocation ends the session.
    if (!login || (session.accountId === login.accountId && session.loginTs === login.ts)) return true;
    // The user signed out in this browser before the session got the sign-in.
    if (login.after !== lastSignOut.of(ctx as unknown as Context)) return false;
    const account = await directory.accounts.findByOid(login.accountId);
    return account !== undefined && login.proof !== undefined && directory.credentials.holds(account, login.proof);
  };
}
