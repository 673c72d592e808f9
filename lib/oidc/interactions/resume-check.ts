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
 * Creates the check that returns whether a request may resume an interaction. All of these have to hold:
 * - The request has the path of the interaction.
 * - The interaction began in the browser of the request.
 * - The sign-in is still valid when the session gets the sign-in. A sign-out of the user since then ends the sign-in.
 */
export function createResumeCheck({ browsers, directory, options }: Pick<OidcParts, 'browsers' | 'directory' | 'options'>) {
  const lastSignOut = createLastSignOut(options);
  return async (ctx: KoaContextWithOIDC, interaction: BoundInteraction): Promise<boolean> => {
    if (interaction.uid !== (ctx as unknown as Context).params.uid || !browsers.isBoundHere(ctx, interaction)) return false;
    const { login } = (interaction.result ?? {}) as { readonly login?: Login };
    const session = sessionOf(ctx);
    // The interaction has no sign-in, or the session has that sign-in already. Nothing else is checked, because a revocation ends the session.
    if (!login || (session.accountId === login.accountId && session.loginTs === login.ts)) return true;
    // The user signed out in this browser before the session got the sign-in.
    if (login.after !== lastSignOut.of(ctx as unknown as Context)) return false;
    const account = await directory.accounts.findByOid(login.accountId);
    return account !== undefined && login.proof !== undefined && directory.credentials.holds(account, login.proof);
  };
}
