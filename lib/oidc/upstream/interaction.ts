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
  /** Whether the request may resume this interaction. */
  mayResume(ctx: KoaContextWithOIDC, interaction: BoundInteraction): Promise<boolean>;
}

/** Reason of the prompt `login` for a session whose sign-in has ended. */
export const SIGN_IN_ENDED = 'account_gone';

/**
 * The service removes a session a moment after its sign-in has ended. provider.js and actions/authorization/resume.js refuse an interaction whose session is
 * gone, so an interaction that asks for a sign-in in place of the ended one is bound to no session.
 */
const isOfEndedSignIn = (payload: object | undefined): boolean =>
  (payload as { readonly prompt?: { readonly reasons?: readonly string[] } } | undefined)?.prompt?.reasons?.includes(SIGN_IN_ENDED) ===
  true;

/** Binds an interaction to the browser in which it began. actions/authorization/resume.js trusts a cookie. */
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
        // The application gets the error: shared/authorization_error_handler.js reads its redirect URI here.
        Object.assign(ctx.oidc, { params: interaction.params });
        throw error;
      }
    }
  };
}

/**
 * Skips prompts and checks that ask for nothing. actions/authorization/interactions.js iterates over the prompts of the policy and the checks of each, and
 * makes about five promises for each check. Nearly all checks know immediately that they ask for nothing.
 */
export function skipWhatAsksNothing(provider: Provider): void {
  const { interactions } = insideOf(provider).configuration;
  const { policy } = interactions;
  interactions.policy = {
    [Symbol.iterator]: () => (Provider.ctx ? askingPrompts(policy, Provider.ctx) : policy[Symbol.iterator]()),
  };
}

/** Yields the prompts with those of their checks that did not return false immediately, each with its answer. */
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
        // For the reader that waits for all checks of the prompt.
        again = () => {
          throw thrown;
        };
      }
      checks.push({ reason, description, error, details, check: again });
    }
    if (checks.length > 0) yield { name, details: ofPrompt, checks };
  }
}
