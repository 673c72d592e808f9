/**
 * The clock of this node. The clock may differ from the time that all nodes share (`now` of the directory, the protocol and the context of extensions). Use
 * the clock only for:
 *
 * - the ends of artifacts, which `store/times/store-time` converts when it writes and reads them;
 * - what this node remembers for a while, and how long this node has waited.
 *
 * Use the shared time for everything that leaves the node, is stored in the directory or is compared with the time of another party.
 */
import { epochSeconds } from './epoch-seconds.js';

/** Returns the milliseconds since the epoch by this node's own clock. */
export const nodeTime = (): number => Date.now();

/** Returns the seconds since the epoch by this node's own clock, which oidc-provider uses. */
export const nodeSeconds = (): number => epochSeconds(Date.now());

/**
 * Returns the whole seconds by which the clock of this node is ahead of the time that all nodes share; negative if the clock is behind. Use this function
 * for a library that reads the clock of the node itself.
 * @example
 * ```ts
 * import { type ExtensionContext, secondsAhead } from 'tenant-idp/extension';
 *
 * const settings = ({ service }: ExtensionContext) => ({ clockSkewSeconds: -secondsAhead(service.now) });
 * ```
 */
export const secondsAhead = (now: () => number): number => Math.round((Date.now() - now()) / 1000);

/** Returns an instant of this node's clock in the time that all nodes share. Both instants are seconds since the epoch. */
export const inSharedTime = (nodeInstant: number, now: () => number): number => nodeInstant - secondsAhead(now);
