/**
 * Upstream: the only room that depends on undocumented parts of oidc-provider. `createHookedProvider` creates an oidc-provider with all extension points
 * filled in.
 *
 * Each class of oidc-provider that the service changes has a file of its name. Each entry names the parts of oidc-provider that the entry depends on. A
 * test of the same name in `test/oidc/upstream` pins these parts, so that an upgrade that changes them fails in the test and not in production.
 */
import Provider, { type Configuration, type KoaContextWithOIDC, type TokenEndpointGrantContext } from 'oidc-provider';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import { IdpError } from '../../errors.js';
import { secondsAhead } from '../../times/node-time.js';
import { accessTokenClass, type StructuredTokens } from './access-token.js';
import { type Class, customiseIds, type Payload, type SuccessorOf, stampFirstIssue } from './base-model.js';
import { type ClientHooks, customiseClient } from './client.js';
import { customiseGrant, type Held } from './grant.js';
import { refuseForeignHints, stampSharedTime } from './id-token.js';
import { type InteractionHooks, interactionClass, skipWhatAsksNothing } from './interaction.js';
import { type ContextHooks, contextClass } from './oidc-context.js';
import { type AddressOf, pinUrlsToIssuer } from './request.js';
import { placeSteps, type StepHooks } from './router.js';
import { type SessionHooks, sessionClass } from './session.js';

type Names = string | readonly string[] | ReadonlySet<string>;

/** Hooks of oidc-provider's classes into the rest of the service. */
export interface ProviderHooks extends ContextHooks, StepHooks {
  /** Runs the handler of a grant type. An error becomes the token endpoint's error. */
  grant(name: string, ctx: KoaContextWithOIDC, handle: () => Promise<void>): Promise<void>;
  /** Sends an authorization response, success or error. */
  respond(
    mode: string,
    ctx: KoaContextWithOIDC,
    redirectUri: string,
    payload: Payload,
    send: (payload: Payload) => Promise<void>,
  ): Promise<void>;
  readonly held: Held;
  readonly structuredToken: StructuredTokens;
  readonly successorOf: SuccessorOf;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly interactions: InteractionHooks;
  readonly sessions: SessionHooks;
  readonly clients: ClientHooks;
  readonly addressOf: AddressOf;
}

/** Creates an oidc-provider whose extension points call the hooks. */
export function createHookedProvider(issuer: string, configuration: Configuration, hooks: ProviderHooks): Provider {
  class HookedProvider extends Provider {
    // The constructor of Provider calls both methods, for its own modes and grants.
    override registerResponseMode(name: string, handler: Parameters<Provider['registerResponseMode']>[1]): void {
      super.registerResponseMode(name, (ctx, redirectUri, payload) => {
        // response_modes/jwt.js requires the parameters.
        (ctx.oidc as unknown as { assume(params: Payload): void }).assume(ctx.query);
        return hooks.respond(name, ctx, redirectUri, payload, async (out) => handler.call(this, ctx, redirectUri, out));
      });
    }

    override registerGrantType<Params extends object>(
      name: string,
      handler: (ctx: TokenEndpointGrantContext<Params>) => Promise<void> | void,
      ...rest: Names[]
    ): void {
      super.registerGrantType<Params>(name, (ctx) => hooks.grant(name, ctx, async () => handler(ctx)), ...rest);
      placeSteps(this, hooks);
    }
  }
  override(HookedProvider, 'OIDCContext', (Base) => contextClass(Base, hooks));
  override(HookedProvider, 'Session', (Base) => sessionClass(Base, hooks.sessions));
  override(HookedProvider, 'Interaction', (Base) => interactionClass(Base, hooks.interactions));
  override(HookedProvider, 'AccessToken', (Base) => accessTokenClass(Base, hooks.structuredToken, hooks.now));
  override(HookedProvider, 'ClientCredentials', (Base) => accessTokenClass(Base, hooks.structuredToken, hooks.now));

  const provider = new HookedProvider(issuer, configuration);
  pinUrlsToIssuer(provider, hooks.addressOf);
  customiseIds(provider, hooks.successorOf, hooks.now);
  stampFirstIssue(provider, hooks.now);
  customiseClient(provider, hooks.clients);
  customiseGrant(provider, hooks.held);
  allowMoreTypes(provider);
  refuseForeignHints(provider);
  stampSharedTime(provider, hooks.now);
  tolerateOwnClock(provider, hooks.now);
  skipWhatAsksNothing(provider);
  return provider;
}

/** Methods whose effect would be lost when signing keys rotate, or that change which handlers answer. */
const changes = [
  'use',
  'on',
  'once',
  'addListener',
  'prependListener',
  'prependOnceListener',
  'registerGrantType',
  'registerResponseMode',
] as const;

/** Ends the time in which a host may change the instance. Each later attempt throws IdpError `provider_started`. */
export function seal(provider: Provider): void {
  for (const name of changes)
    Object.defineProperty(provider, name, {
      value() {
        throw new IdpError('provider_started', { method: name });
      },
    });
}

/**
 * Calls a function for each response of the authorization endpoint. Members that the function adds to `out` are sent. `out` is the second argument of
 * `authorization.success`.
 */
export const onAuthorizationResponse = (provider: Provider, add: (ctx: KoaContextWithOIDC, out: Payload) => void): void => {
  (provider as unknown as { on(event: string, listener: (ctx: KoaContextWithOIDC, out?: Payload) => void): void }).on(
    'authorization.success',
    (ctx, out) => out && add(ctx, out),
  );
};

/** Replaces a class that Provider creates on first use, behind a getter of its prototype. */
function override(target: typeof Provider, name: string, make: (base: Class) => Class): void {
  const { get } = Object.getOwnPropertyDescriptor(Provider.prototype, name) as { get: () => Class };
  Object.defineProperty(target.prototype, name, {
    configurable: true,
    get(this: object) {
      const replaced = make(get.call(this));
      // oidc-provider names records after their class.
      Object.defineProperty(replaced, 'name', { value: name });
      // Each request reads the class several times.
      Object.defineProperty(this, name, { value: replaced });
      return replaced;
    },
  });
}

/**
 * Adds the seconds by which the node's clock differs to the tolerance of oidc-provider. oidc-provider compares the times of JWTs and records with the
 * node's clock. With the tolerance, oidc-provider refuses nothing that is valid by the time that all nodes share.
 *
 * `checkClientAssertion` and `checkRequestObject` check the times of JWTs by the time that all nodes share. The store does the same for records.
 */
function tolerateOwnClock(provider: Provider, now: () => number): void {
  const { configuration } = insideOf(provider);
  const { clockTolerance } = configuration;
  Object.defineProperty(configuration, 'clockTolerance', { get: () => clockTolerance + Math.abs(secondsAhead(now)) });
}

/**
 * Allows two more response types:
 * - `token`: the constructor refuses it, but its handler still exists, in helpers/process_response_types.js.
 * - `none` is for internal clients and has no handler, because the response is only success or error.
 */
function allowMoreTypes(provider: Provider): void {
  const { responseTypes } = insideOf(provider).configuration;
  if (responseTypes.includes('id_token token')) responseTypes.push('token');
  if (!responseTypes.includes('none')) responseTypes.push('none');
}
