import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';

export interface StepHooks {
  /** Looks at a token request once its client authenticated, before anything else about it; what it throws becomes the endpoint's error. */
  token(ctx: KoaContextWithOIDC): Promise<void>;
  /** The last steps of endpoints, in place of oidc-provider's own, which is `theirs`; absent: its own. */
  readonly lastSteps: Readonly<
    Partial<Record<keyof typeof lastSteps, (ctx: KoaContextWithOIDC, theirs: () => Promise<void>) => Promise<void>>>
  >;
  /** Answers a backchannel authentication request once its client authenticated; absent: oidc-provider does. */
  readonly backchannel?: ((ctx: KoaContextWithOIDC) => Promise<void>) | undefined;
}

type Step = (ctx: never, next: () => Promise<void>) => unknown;
type Register = (name: string, path: string, ...steps: Step[]) => unknown;

const stepped = new WeakSet<object>();

/**
 * The names of what answers at the end of an endpoint: actions/introspection.js, actions/revocation.js, actions/userinfo.js,
 * actions/authorization/pushed_authorization_requests.js.
 */
const lastSteps = {
  introspection: 'renderTokenResponse',
  revocation: 'revokeToken',
  userinfo: 'respond',
  pushed_authorization_request: 'pushedAuthorizationRequestResponse',
} as const;

const isNamed = <Names extends object>(names: Names, name: string): name is keyof Names & string => Object.hasOwn(names, name);

/**
 * Adds a step to the token endpoint, after the one that authenticates the client, and puts ours in place of the last ones of other endpoints, and of all that
 * come after authentication at the backchannel authentication endpoint (actions/authorization/index.js). The
 * constructor of Provider registers grants before it registers routes, by the router: helpers/initialize_app.js, actions/token.js.
 */
export function placeSteps(provider: Provider, hooks: StepHooks): void {
  const { router } = insideOf(provider);
  if (stepped.has(router)) return;
  stepped.add(router);
  const step = async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await hooks.token(ctx);
    await next();
  };
  const placed = (name: string, steps: readonly Step[]): readonly Step[] => {
    if (name === 'token') {
      const at = steps.findIndex((each) => each.name === 'authenticateClient');
      if (at < 0) throw new TypeError('The token endpoint authenticates its clients in another way than this was written for.');
      return steps.toSpliced(at + 1, 0, step);
    }
    if (name === 'backchannel_authentication' && hooks.backchannel) {
      const at = steps.findIndex((each) => each.name === 'assembleAuthorizationParams');
      if (at < 0)
        throw new TypeError('The backchannel authentication endpoint reads its parameters in another way than this was written for.');
      return [...steps.slice(0, at), hooks.backchannel];
    }
    const last = isNamed(lastSteps, name) ? hooks.lastSteps[name] : undefined;
    if (!last || !isNamed(lastSteps, name)) return steps;
    const theirs = steps.at(-1) as ((ctx: KoaContextWithOIDC) => Promise<void>) | undefined;
    if (theirs?.name !== lastSteps[name]) throw new TypeError(`The ${name} endpoint ends in another way than this was written for.`);
    return steps.with(-1, (ctx: KoaContextWithOIDC) => last(ctx, () => theirs(ctx)));
  };
  for (const method of ['get', 'post'] as const) {
    const register: Register = router[method];
    router[method] = function (name, path, ...steps) {
      return register.call(this, name, path, ...placed(name, steps));
    };
  }
}
