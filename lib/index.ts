/** The public door. */
export { type ClaimContext, type ClaimSet, type ClaimTarget, defineClaims, type LoginContext } from './claims.js';
export { createIdentityProvider } from './create-identity-provider.js';
export { ConfigError, type ConfigProblem, type ErrorCode, IdpError } from './errors.js';
export type { EventListener, EventMap, EventName, IdpEvent } from './events.js';
export type { Extension, ExtensionContext } from './extension.js';
export type { Health, IdentityProvider, RequestListener } from './identity-provider.js';
export type { Logger } from './logger.js';
export type { IdentityProviderOptions } from './options.js';
