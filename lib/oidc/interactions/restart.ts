import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { interactionPath, isInteractionUid } from '../../paths.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import type { OurSession } from '../accounts/login-context.js';
import { urlByReference } from '../authorize/pushed-requests.js';
import type { OidcParts } from '../context.js';
import { createSealedCookie, pathCookieName } from '../sessions/cookies.js';
import type { BoundInteraction } from '../upstream/interaction.js';

type Parameters = Readonly<Record<string, string>>;

/** An authorization request, and the browser that it was begun in. */
interface Begun {
  readonly parameters: Parameters;
  readonly browser?: string | undefined;
  /** When the pages were completed, in seconds since the epoch. */
  readonly doneAt?: number;
}

/** A day, in milliseconds: how long a sign-in that ran out can be begun anew from its own page. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Seconds after the completion of a sign-in in which a form of its pages restarts the request, instead of leading to the page “expired”. */
const MOMENT_SECONDS = 60;

/** In a request that was begun anew: a browser that keeps no cookies is not sent in circles. */
export const restartedParameter = '__restarted';

/** Those of an interaction, as they were asked for. */
export const parametersOf = ({ params }: { readonly params: Readonly<Record<string, unknown>> }): Parameters =>
  Object.fromEntries(Object.entries(params).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

/**
 * Begins the request of a sign-in anew. A live one is in the store. Of one that ran out the request stays with the browser it came from, encrypted
 * and bound to the sign-in's own path, so an abandoned one costs the service nothing.
 *
 * It is no more than a link to the authorization endpoint, which anyone can send, so any browser may follow it. Where the client has to push or
 * sign its requests there is no such link: there it takes the browser that the client sent here.
 */
export function createRestart({ options, keyring, browsers, now }: OidcParts, provider: () => Provider) {
  const cookie = createSealedCookie<Begun>(keyring, { name: pathCookieName('restart', options), purpose: 'restart', keptMs: KEPT_MS });

  async function waiting(uid: string): Promise<Begun | undefined> {
    const interaction = isInteractionUid(uid) ? await provider().Interaction.find(uid) : undefined;
    return interaction && { parameters: parametersOf(interaction), browser: (interaction as BoundInteraction).browser };
  }
  const begunHere = (ctx: Context, uid: string): Begun | undefined => (isInteractionUid(uid) ? cookie.read(ctx, uid) : undefined);
  const known = async (ctx: Context, uid: string): Promise<Begun | undefined> => begunHere(ctx, uid) ?? waiting(uid);

  async function mayBegin(ctx: Context, begun: Begun): Promise<boolean> {
    const client = await provider().Client.find(String(begun.parameters.client_id));
    if (!client) return false;
    const isForAnyone = !client.requirePushedAuthorizationRequests && !client.requireSignedRequestObject;
    return isForAnyone || browsers.isBoundHere(ctx, begun);
  }

  /** The same request again, by reference, as long as a pushed one. @see RFC 9126 §2.2 */
  async function begin(ctx: Context, begun: Begun, prompt?: string, acrValues?: string): Promise<string | undefined> {
    if (!(await mayBegin(ctx, begun))) return undefined;
    // Good once, and for minutes.
    const { login_hint_token: _, sso_token: __, prompt: asked, ...lasting } = begun.parameters;
    const next = prompt === undefined ? asked : withPrompt(asked, prompt);
    return urlByReference(provider(), options, String(lasting.client_id), {
      ...lasting,
      ...(next === undefined || next === '' ? {} : { prompt: next }),
      ...(acrValues === undefined ? {} : { acr_values: acrValues }),
      [restartedParameter]: 'yes',
    });
  }

  const pathOf = (uid: string): string => options.mountPath + interactionPath(options, uid);
  const isRecent = ({ doneAt = 0 }: Begun): boolean => now() / 1000 - doneAt <= MOMENT_SECONDS;

  return {
    remember(ctx: Context, uid: string, begun: Begun): void {
      if (cookie.read(ctx, uid)) return;
      const { login_hint_token: _, sso_token: __, ...lasting } = begun.parameters;
      cookie.write(ctx, uid, pathOf(uid), { ...begun, parameters: lasting });
    },

    /** Whether the sign-in was begun in this browser, within a day. Whoever else asks learns nothing of it. */
    wasHere: (ctx: Context, uid: string): boolean => begunHere(ctx, uid) !== undefined,

    /** Where the browser begins anew, and for which client; undefined when it cannot. */
    async offer(ctx: Context, uid: string): Promise<{ readonly url: string; readonly clientId: string } | undefined> {
      const begun = await known(ctx, uid);
      if (!begun || !(await mayBegin(ctx, begun))) return undefined;
      return { url: `${options.issuer}${interactionPath(options, uid)}/restart`, clientId: String(begun.parameters.client_id) };
    },

    async begin(ctx: Context, uid: string, prompt?: string, acrValues?: string): Promise<string | undefined> {
      const begun = await known(ctx, uid);
      return begun && begin(ctx, begun, prompt, acrValues);
    },

    /**
     * Returns the URL that restarts the request of a sign-in which was completed in this browser a moment ago. The browser sent a form of its pages again, twice
     * or after going back. The user is signed in, so the request needs no page. Undefined for any other sign-in that has ended.
     */
    async afterSignIn(ctx: Context, uid: string): Promise<string | undefined> {
      const begun = begunHere(ctx, uid);
      if (!begun || (await waiting(uid))) return undefined;
      const { accountId } = (await provider().Session.get(ctx)) as OurSession;
      return accountId !== undefined && isRecent(begun) ? begin(ctx, begun, 'resume') : undefined;
    },

    /** Notes in the browser that the pages were completed. */
    complete(ctx: Context, uid: string): void {
      const begun = begunHere(ctx, uid);
      if (begun) cookie.write(ctx, uid, pathOf(uid), { ...begun, doneAt: epochSeconds(now()) });
    },

    /** Returns whether the pending sign-in was restarted, so that its browser must have got cookies. Undefined if the sign-in is not pending. */
    async waits(uid: string): Promise<{ readonly isRestarted: boolean } | undefined> {
      const begun = await waiting(uid);
      return begun && { isRestarted: begun.parameters[restartedParameter] !== undefined };
    },

    /** The request of a sign-in that waits in another browser, for this one; undefined when it has been begun anew before. */
    async moveHere(ctx: Context, uid: string): Promise<string | undefined> {
      const begun = await waiting(uid);
      return begun && begun.parameters[restartedParameter] === undefined ? begin(ctx, begun) : undefined;
    },
  };
}

/** What asks for a sign-in gives way, but not to the choice of an account. What asks for anything else stays. */
function withPrompt(asked: string | undefined, prompt: string): string {
  const lasting = prompt === 'select_account' ? ['consent', 'login'] : ['consent'];
  return [...(prompt === 'resume' ? [] : [prompt]), ...(asked?.split(' ') ?? []).filter((each) => lasting.includes(each))].join(' ');
}
