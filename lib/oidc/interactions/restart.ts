import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { interactionPath, isInteractionUid } from '../../paths.js';
import { present } from '../../present.js';
import { type CompletedRequests, type PostedAnswer, parametersOf } from '../authorize/completed-requests.js';
import { urlByReference } from '../authorize/pushed-requests.js';
import type { OidcParts } from '../context.js';
import { createSealedCookie, pathCookieName, type SealedCookie } from '../sessions/cookies.js';
import type { BoundInteraction } from '../upstream/interaction.js';

type Parameters = Readonly<Record<string, string>>;

/** An authorization request, and the browser in which it began. */
interface Begun {
  readonly parameters: Parameters;
  readonly browser?: string | undefined;
}

/** Milliseconds in which an expired sign-in can be restarted from its own page: a day. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Maximum age of the sign-in, in seconds, when a completed request is restarted, whatever its `max_age`. */
const COMPLETED_SECONDS = 120;

/** Parameter of a restarted request, so that a browser without cookies is not redirected in circles. */
export const restartedParameter = '__restarted';

/**
 * Restarts the request of a sign-in. The request of a pending sign-in is in the store. The request of an expired sign-in is in the browser in which the
 * sign-in began. The browser's copy is encrypted and bound to the sign-in's own path, so that an abandoned sign-in costs the service nothing.
 *
 * The result is a URL of the authorization endpoint. Any browser may follow the URL, because anybody can send such a request. If the client has to push or
 * sign its requests, the sign-in restarts only in the browser that the client sent to the service.
 */
export class Restart {
  readonly #options: OidcParts['options'];
  readonly #browsers: OidcParts['browsers'];
  readonly #provider: () => Provider;
  readonly #completed: CompletedRequests;
  readonly #cookie: SealedCookie<Begun>;

  constructor({ options, sealer, browsers }: OidcParts, provider: () => Provider, completed: CompletedRequests) {
    this.#options = options;
    this.#browsers = browsers;
    this.#provider = provider;
    this.#completed = completed;
    this.#cookie = createSealedCookie<Begun>(sealer, { name: pathCookieName('restart', options), purpose: 'restart', keptMs: KEPT_MS });
  }

  remember(ctx: Context, uid: string, begun: Begun): void {
    if (this.#cookie.read(ctx, uid)) return;
    const { login_hint_token: _, sso_token: __, ...lasting } = begun.parameters;
    this.#cookie.write(ctx, uid, this.#pathOf(uid), { ...begun, parameters: lasting });
  }

  /** Returns whether the sign-in began in this browser, within a day. Other browsers learn nothing about the sign-in. */
  wasHere(ctx: Context, uid: string): boolean {
    return this.#begunHere(ctx, uid) !== undefined;
  }

  /** Returns the URL that restarts the sign-in, and its client; undefined if the sign-in cannot be restarted. */
  async offer(ctx: Context, uid: string): Promise<{ readonly url: string; readonly clientId: string } | undefined> {
    const begun = await this.#requestOf(ctx, uid);
    if (!begun || !(await this.#mayBegin(ctx, begun))) return undefined;
    return { url: `${this.#options.issuer}${interactionPath(this.#options, uid)}/restart`, clientId: String(begun.parameters.client_id) };
  }

  async begin(ctx: Context, uid: string, prompt?: string, acrValues?: string): Promise<string | undefined> {
    const begun = await this.#requestOf(ctx, uid);
    return begun && this.#begin(ctx, begun, prompt, acrValues);
  }

  /**
   * Returns the URL that restarts a request which was completed in this browser a moment ago. The browser sent a form of its pages again, went back, or
   * lost the answer. The user is signed in, so the request needs no page.
   *
   * Returns the URL or the form of the answer if the user cancelled. Returns undefined for any other sign-in that has ended.
   */
  async afterSignIn(ctx: Context, uid: string): Promise<string | PostedAnswer | undefined> {
    const found = await this.#completed.takeUp(ctx, uid);
    if (!found || 'answer' in found) return found?.answer;
    const { parameters, browser, isSignIn } = found;
    return this.#begin(ctx, { parameters: isSignIn ? withSignIn(parameters) : parameters, browser }, 'resume');
  }

  /** Returns the URL that completes a sign-in of this browser whose pages are done; undefined for any other sign-in. */
  async resumeOf(ctx: Context, uid: string): Promise<string | undefined> {
    const found = (await this.#provider().Interaction.find(uid)) as (BoundInteraction & { readonly returnTo: string }) | undefined;
    return found?.result !== undefined && this.#browsers.isBoundHere(ctx, found) ? found.returnTo : undefined;
  }

  /** Returns whether a sign-in is no longer pending. */
  async isOver(uid: string): Promise<boolean> {
    return isInteractionUid(uid) && (await this.#waiting(uid)) === undefined;
  }

  /** Returns whether the pending sign-in was restarted, so that its browser must have got cookies. Undefined if the sign-in is not pending. */
  async waits(uid: string): Promise<{ readonly isRestarted: boolean } | undefined> {
    const begun = await this.#waiting(uid);
    return begun && { isRestarted: begun.parameters[restartedParameter] !== undefined };
  }

  /**
   * Returns the URL that restarts the request of a sign-in which waits in this browser for a session. The session has ended, or another account has taken
   * the session over. Undefined for any other sign-in.
   */
  async withoutSession(ctx: Context, uid: string): Promise<string | undefined> {
    const found = isInteractionUid(uid) ? await this.#provider().Interaction.find(uid) : undefined;
    if (found?.session?.uid === undefined || !this.#browsers.isBoundHere(ctx, found as BoundInteraction)) return undefined;
    const session = await this.#provider().Session.findByUid(found.session.uid);
    if (session && session.accountId === found.session.accountId) return undefined;
    return this.#begin(ctx, { parameters: parametersOf(found), browser: (found as BoundInteraction).browser });
  }

  /** Returns the URL for the request of a sign-in that waits in another browser; undefined if the request was restarted before. */
  async moveHere(ctx: Context, uid: string): Promise<string | undefined> {
    const begun = await this.#waiting(uid);
    return begun && begun.parameters[restartedParameter] === undefined ? this.#begin(ctx, begun) : undefined;
  }

  async #waiting(uid: string): Promise<Begun | undefined> {
    const interaction = isInteractionUid(uid) ? await this.#provider().Interaction.find(uid) : undefined;
    return interaction && { parameters: parametersOf(interaction), browser: (interaction as BoundInteraction).browser };
  }

  #begunHere(ctx: Context, uid: string): Begun | undefined {
    return isInteractionUid(uid) ? this.#cookie.read(ctx, uid) : undefined;
  }

  async #requestOf(ctx: Context, uid: string): Promise<Begun | undefined> {
    return this.#begunHere(ctx, uid) ?? this.#waiting(uid);
  }

  async #mayBegin(ctx: Context, begun: Begun): Promise<boolean> {
    const client = await this.#provider().Client.find(String(begun.parameters.client_id));
    if (!client) return false;
    const isForAnyone = !client.requirePushedAuthorizationRequests && !client.requireSignedRequestObject;
    return isForAnyone || this.#browsers.isBoundHere(ctx, begun);
  }

  /** Returns the URL of the same request, by reference, with the lifetime of a pushed request. @see RFC 9126 §2.2 */
  async #begin(ctx: Context, begun: Begun, prompt?: string, acrValues?: string): Promise<string | undefined> {
    if (!(await this.#mayBegin(ctx, begun))) return undefined;
    // Hint tokens can be used once, and are valid for minutes. Therefore the restarted request has none.
    const { login_hint_token: _, sso_token: __, prompt: asked, ...lasting } = begun.parameters;
    const next = prompt === undefined ? asked : withPrompt(asked, prompt);
    return urlByReference(this.#provider(), this.#options, String(lasting.client_id), {
      ...lasting,
      ...(next === undefined || next === '' ? {} : { prompt: next }),
      ...present({ acr_values: acrValues }),
      [restartedParameter]: 'yes',
    });
  }

  #pathOf(uid: string): string {
    return this.#options.mountPath + interactionPath(this.#options, uid);
  }
}

/** Raises `max_age` for a request for which the user signed in, because another sign-in was never asked for. */
const withSignIn = (parameters: Parameters): Parameters =>
  parameters.max_age === undefined
    ? parameters
    : { ...parameters, max_age: String(Math.max(Number(parameters.max_age), COMPLETED_SECONDS)) };

/** Returns `prompt` without the part that asks for a sign-in, unless the restart asks for the choice of an account. Other parts stay. */
function withPrompt(asked: string | undefined, prompt: string): string {
  const lasting = prompt === 'select_account' ? ['consent', 'login'] : ['consent'];
  return [...(prompt === 'resume' ? [] : [prompt]), ...(asked?.split(' ') ?? []).filter((each) => lasting.includes(each))].join(' ');
}
