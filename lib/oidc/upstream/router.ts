import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';

export interface StepHooks {
  /** Notes the client of a request after the client authenticated. */
  authenticated(ctx: KoaContextWithOIDC): void;
  /** Checks a token request after its client authenticated, before everything else. An error becomes the endpoint's error. */
  token(ctx: KoaContextWithOIDC): Promise<void>;
  /** Last steps of endpoints, in place of oidc-provider's own last step, which is `theirs`. An endpoint without a step here keeps oidc-provider's step. */
  readonly lastSteps: Readonly<
    Partial<Record<keyof typeof lastSteps, (ctx: KoaContextWithOIDC, theirs: () => Promise<void>) => Promise<void>>>
  >;
  /** Answers a backchannel authentication request after its client authenticated. Absent: oidc-provider answers. */
  readonly backchannel?: ((ctx: KoaContextWithOIDC) => Promise<void>) | undefined;
}

type Step = (ctx: never, next: () => Promise<void>) => unknown;
type Register = (name: string, path: string, ...steps: Step[]) => unknown;

const stepped = new WeakSet<object>();

/**
 * Names of the functions at the end of an endpoint: actions/introspection.js, actions/revocation.js, actions/userinfo.js,
 * actions/authorization/pushed_authorization_requests.js.
 */
const lastSteps = {
  introspection: 'renderTokenResponse',
  revocation: 'revokeToken',
  userinfo: 'respond',
  pushed_authorization_request: 'pushedAuthorizationRequestResponse',
} as const;

const isNamed = <Names extends object>(names: Names, name: string): name is keyof Names & string => Object.hasOwn(names, name);

/** Returns the error for an unexpected function. A bundler that renames functions causes it, as well as another version of oidc-provider. */
const otherwise = (what: string): TypeError =>
  new TypeError(
    `In oidc-provider, ${what} by an unknown function. Install its required version, and leave it out of the bundle or keep the names of functions.`,
  );

/** Endpoints whose clients authenticate, all by the step of shared/client_auth.js. */
export const authenticated: ReadonlySet<string> = new Set([
  'token',
  'introspection',
  'revocation',
  'pushed_authorization_request',
  'backchannel_authentication',
]);

/**
 * Adds a step after the step that authenticates the client. Replaces the last steps of other endpoints. Replaces all steps after authentication at the
 * backchannel authentication endpoint (actions/authorization/index.js).
 *
 * The constructor of Provider registers grants first, and then registers routes by the router: helpers/initialize_app.js, actions/token.js.
 */
export function placeSteps(provider: Provider, hooks: StepHooks): void {
  const { router } = insideOf(provider);
  if (stepped.has(router)) return;
  stepped.add(router);
  const noted = (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    hooks.authenticated(ctx);
    return next();
  };
  const admitted = async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    hooks.authenticated(ctx);
    await hooks.token(ctx);
    await next();
  };
  const placed = (name: string, given: readonly Step[]): readonly Step[] => {
    if (!authenticated.has(name)) return withLast(name, given);
    const at = given.findIndex((each) => each.name === 'authenticateClient');
    if (at < 0) throw otherwise(`the ${name} endpoint authenticates its clients`);
    return withLast(name, given.toSpliced(at + 1, 0, name === 'token' ? admitted : noted));
  };
  const withLast = (name: string, steps: readonly Step[]): readonly Step[] => {
    if (name === 'backchannel_authentication' && hooks.backchannel) {
      const at = steps.findIndex((each) => each.name === 'assembleAuthorizationParams');
      if (at < 0) throw otherwise('the backchannel authentication endpoint reads its parameters');
      return [...steps.slice(0, at), hooks.backchannel];
    }
    const last = isNamed(lastSteps, name) ? hooks.lastSteps[name] : undefined;
    if (!last || !isNamed(lastSteps, name)) return steps;
    const theirs = steps.at(-1) as ((ctx: KoaContextWithOIDC) => Promise<void>) | undefined;
    if (theirs?.name !== lastSteps[name]) throw otherwise(`the ${name} endpoint ends`);
    return steps.with(-1, (ctx: KoaContextWithOIDC) => last(ctx, () => theirs(ctx)));
  };
  for (const method of ['get', 'post'] as const) {
    const register: Register = router[method];
    router[method] = function (name, path, ...steps) {
      return register.call(this, name, path, ...placed(name, steps));
    };
  }
}
