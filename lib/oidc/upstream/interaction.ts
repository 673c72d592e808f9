import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import { get as insideOf, type ReadCheck, type ReadPrompt } from 'oidc-provider/lib/helpers/weak_cache.js';
import { type Class, membersOf } from './base-model.js';

/** An interaction, and the browser to which it is bound. */
export interface BoundInteraction {
  readonly uid: string;
  readonly browser?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly result?: object;
}

export interface InteractionHooks {
  /** Returns the browser to which this response binds a new interaction. */
  browserOf(ctx: KoaContextWithOIDC): string;
  /** Returns whether the request may resume this interaction. */
  mayResume(ctx: KoaContextWithOIDC, interaction: BoundInteraction): Promise<boolean>;
}

/** Reason of the prompt `login` for a session whose sign-in has ended. */
export const SIGN_IN_ENDED = 'account_gone';

/**
 * Returns whether an interaction asks for a sign-in in place of a sign-in that has ended. The interaction is then bound to no session.
 *
 * The service removes a session a moment after its sign-in has ended. provider.js and actions/authorization/resume.js refuse an interaction whose session
 * was removed.
 */
const isOfEndedSignIn = (payload: object | undefined): boolean =>
  (payload as { readonly prompt?: { readonly reasons?: readonly string[] } } | undefined)?.prompt?.reasons?.includes(SIGN_IN_ENDED) ===
  true;

/** Creates the class that binds an interaction to the browser in which the interaction began. actions/authorization/resume.js trusts a cookie. */
export function interactionClass(Base: Class, hooks: InteractionHooks): Class {
  return class extends Base {
    constructor(uid: string, payload?: object) {
      super(uid, isOfEndedSignIn(payload) ? { ...payload, session: undefined } : payload);
      if (payload !== undefined) this.browser = hooks.browserOf(Provider.ctx as KoaContextWithOIDC);
    }

    static get IN_PAYLOAD(): readonly string[] {
      return [...membersOf(Base), 'browser'];
    }

    static override async find(uid: string, ...rest: unknown[]): Promise<BoundInteraction | undefined> {
      const ctx = Provider.ctx;
      // biome-ignore lint/complexity/noThisInStatic: the base's own find, on this class
      const interaction: BoundInteraction | undefined = await super.find?.(uid, ...rest);
      if (!interaction || ctx?.oidc.route !== 'resume') return interaction;
      try {
        return (await hooks.mayResume(ctx, interaction)) ? interaction : undefined;
      } catch (error) {
        // The client gets the error: shared/authorization_error_handler.js reads its redirect URI from these parameters.
        Object.assign(ctx.oidc, { params: interaction.params });
        throw error;
      }
    }
  };
}

/**
 * Skips prompts and checks that ask for nothing. actions/authorization/interactions.js iterates over the prompts and their checks, and makes about five
 * promises for each check. Nearly all checks know immediately that they ask for nothing.
 */
export function skipWhatAsksNothing(provider: Provider): void {
  const { interactions } = insideOf(provider).configuration;
  const { policy } = interactions;
  interactions.policy = {
    [Symbol.iterator]: () => (Provider.ctx ? askingPrompts(policy, Provider.ctx) : policy[Symbol.iterator]()),
  };
}

/** Yields each prompt with the checks that did not return false immediately, each check with its answer. */
function* askingPrompts(policy: Iterable<ReadPrompt>, ctx: KoaContextWithOIDC): Generator<ReadPrompt> {
  for (const { name, details: ofPrompt, checks: all } of policy) {
    const checks: ReadCheck[] = [];
    for (const { reason, description, error, details, check } of all) {
      let again: ReadCheck['check'];
      try {
        const answer = check(ctx);
        if (answer === false) continue;
        again = () => answer;
      } catch (thrown) {
        // Throws the error to the reader, which waits for all checks of the prompt.
        again = () => {
          throw thrown;
        };
      }
      checks.push({ reason, description, error, details, check: again });
    }
    if (checks.length > 0) yield { name, details: ofPrompt, checks };
  }
}
