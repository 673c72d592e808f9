/** Deep imports of oidc-provider, for which the package of its types has no types. */
declare module 'oidc-provider/lib/actions/end_session.js' {
  export const confirm: readonly ((...args: never[]) => unknown)[];
}

declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type { X509Certificate } from 'node:crypto';
  import type { interactionPolicy } from 'oidc-provider';

  /** Members of a check, and of a prompt, that the service reads. */
  export type ReadCheck = Pick<interactionPolicy.Check, 'reason' | 'description' | 'error' | 'details' | 'check'>;
  export type ReadPrompt = Pick<interactionPolicy.Prompt, 'name' | 'details'> & { readonly checks: Iterable<ReadCheck> };

  export function get(provider: object): {
    readonly configuration: {
      readonly responseTypes: string[];
      readonly dPoPSigningAlgValues: readonly string[];
      readonly features: {
        readonly dPoP: { readonly enabled: boolean };
        readonly mTLS: { readonly enabled: boolean; readonly getCertificate: (ctx: object) => X509Certificate | string | undefined };
      };
      readonly clockTolerance: number;
      readonly cookies: { readonly long: object };
      readonly ttl: {
        readonly Session: (ctx: object, session: object) => number;
        readonly AuthorizationCode: number | ((ctx: object) => number);
      };
      readonly interactions: { policy: Iterable<ReadPrompt> };
    };
    readonly router: Record<
      'get' | 'post',
      (name: string, path: string, ...steps: ((ctx: never, next: () => Promise<void>) => unknown)[]) => unknown
    >;
  };
}

declare module 'oidc-provider/lib/helpers/grants.js' {
  type Helper<Answer> = (provider: object, ctx: object, ...rest: never[]) => Answer;
  export const validateDpop: Helper<Promise<object | undefined>>;
  export const checkMtlsCert: Helper<unknown>;
  export const checkDpopRequired: (provider: object, ctx: object, proof: object | undefined) => void;
}

declare module 'oidc-provider/lib/helpers/grant_common.js' {
  export function issueTokens(
    provider: object,
    helpers: Readonly<Record<string, unknown>>,
    ctx: object,
    source: object,
    grant: object,
    about: { readonly gty: string; readonly entityLabel: string; readonly cert: unknown; readonly dPoP: object | undefined },
  ): Promise<void>;
}

declare module 'oidc-provider/lib/helpers/jwt.js' {
  export function verify(
    jwt: string,
    keystore: object,
    options: { readonly ignoreExpiration: true; readonly ignoreIssued: true; readonly ignoreNotBefore: true },
  ): Promise<{ readonly payload: Record<string, unknown> }>;
}

declare module 'oidc-provider/lib/helpers/validate_dpop.js' {
  export interface DpopProof {
    readonly thumbprint: string;
  }
  function validateDpop(provider: object, ctx: object, accessToken?: string): Promise<DpopProof | undefined>;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { validateDpop as default };
  export function checkDpopReplay(
    provider: object,
    ctx: object,
    proof: DpopProof,
    clientId: string,
    refusal?: new (description: string) => Error,
  ): Promise<void>;
}

declare module 'oidc-provider/lib/helpers/certificate_thumbprint.js' {
  import type { X509Certificate } from 'node:crypto';

  function thumbprintOf(certificate: X509Certificate | string): string;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { thumbprintOf as default };
}

declare module 'oidc-provider/lib/helpers/params.js' {
  class Params {
    constructor(names: ReadonlySet<string>, given: Readonly<Record<string, unknown>>);
  }

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { Params as default };
}

declare module 'oidc-provider/lib/helpers/err_out.js' {
  function errOut(error: Error): object;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { errOut as default };
}

declare module 'oidc-provider/lib/helpers/als.js' {
  import type { AsyncLocalStorage } from 'node:async_hooks';

  const als: AsyncLocalStorage<object>;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { als as default };
}

declare module 'oidc-provider/lib/actions/authorization/request_parameters.js' {
  type Step = (ctx: object, next: () => void) => unknown;
  export const assignDefaults: Step;
  export const checkPrompt: Step;
  export const checkExtraParams: Step;
  export function getAuthorizationParams(ctx: object): ReadonlySet<string>;
}

declare module 'oidc-provider/lib/actions/authorization/response_parameters.js' {
  type Step = (ctx: object, next: () => void) => unknown;
  export const checkResponseMode: Step;
  export const oauthRequired: Step;
  export const checkResponseType: Step;
  export const oidcRequired: Step;
  export const checkRedirectUri: Step;
}

declare module 'oidc-provider/lib/actions/authorization/scopes.js' {
  type Step = (ctx: object, next: () => void) => unknown;
  export const checkScope: Step;
  export const checkOpenidScope: Step;
}

declare module 'oidc-provider/lib/actions/authorization/sender_constraints.js' {
  export function checkPKCE(ctx: object, next: () => void): unknown;
}

declare module 'oidc-provider/lib/actions/authorization/claims.js' {
  export function assignClaims(ctx: object, next: () => void): unknown;
}

declare module 'oidc-provider/lib/actions/authorization/pushed_authorization_requests.js' {
  export function loadPushedAuthorizationRequest(ctx: object, next: () => void): Promise<unknown>;
}

declare module 'oidc-provider/lib/actions/authorization/process_request_object.js' {
  function processRequestObject(ctx: object, next: () => void): Promise<unknown>;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { processRequestObject as default };
}

declare module 'oidc-provider/lib/shared/check_resource.js' {
  function checkResource(ctx: object, next: () => void): Promise<unknown>;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { checkResource as default };
}

declare module 'oidc-provider/lib/shared/authorization_error_handler.js' {
  function authorizationErrorHandler(ctx: object, next: () => Promise<void>): Promise<void>;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { authorizationErrorHandler as default };
}

declare module 'oidc-provider/lib/shared/jwt_client_auth.js' {
  /** @param isAccepted whether an algorithm of the configuration may sign the assertion */
  function jwtClientAuth(ctx: object, keystore: object, isAccepted: (alg: string) => boolean): Promise<void>;

  // biome-ignore lint/style/noDefaultExport: the module's own
  export { jwtClientAuth as default };
}
