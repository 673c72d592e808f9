import Provider from 'oidc-provider';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeSeconds } from '../../times/node-time.js';
import { createId } from '../artifacts/ids.js';
import { type TaggedKind, taggedKinds } from '../artifacts/models.js';
import { isPairwise } from './client.js';

export type Payload = Record<string, unknown>;

interface PayloadModel {
  readonly jti: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly expiration?: number;
  readonly [member: string]: unknown;
}

/**
 * Returns the same payload as `getValueAndPayload` of models/formats/opaque.js, without a property descriptor for each member. `iat` is in the time that all nodes share.
 * `exp` is in the time of this node's clock, because oidc-provider compares it with that clock.
 */
function payloadOf(model: PayloadModel, now: () => number): Payload {
  const payload: Payload = { iat: model.iat || epochSeconds(now()) };
  const exp = model.exp || nodeSeconds() + (model.expiration ?? Number.NaN);
  if (exp) payload.exp = exp;
  for (const name of inPayload(model.constructor)) if (model[name] !== undefined) payload[name] = model[name];
  return payload;
}

/** {@link payloadOf} of a session, for a write without the events of models/base_model.js. */
export const sessionPayload = (session: object, now: () => number): Payload => payloadOf(session as PayloadModel, now);

/** A class of oidc-provider, or a subclass of the service. */
export type Class = {
  // biome-ignore lint/suspicious/noExplicitAny: a mixin's base
  new (...args: any[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: of whatever the class is
  find?(value: string, ...rest: unknown[]): Promise<any>;
};

/** Returns the names of the members that a class stores: a static getter, read once per class, on first use. Depends on models/payload.js. */
export const membersOf = (model: unknown): readonly string[] => (model as { IN_PAYLOAD: readonly string[] }).IN_PAYLOAD;

const payloads = new WeakMap<object, readonly string[]>();

/** Returns the list of a class. The list is read once, because each class of the chain builds the list again at each call. */
function inPayload(model: object): readonly string[] {
  const members = payloads.get(model) ?? membersOf(model);
  payloads.set(model, members);
  return members;
}

/** Replaces the ids of models/base_model.js by ids of the service, and writes records in the form of opaque tokens. */
export function customiseIds(provider: Provider, successorOf: SuccessorOf, now: () => number): void {
  for (const kind of taggedKinds) {
    Object.assign(provider[kind].prototype, {
      generateTokenId(this: { grantId?: string; format?: string }) {
        this.format = 'opaque';
        return mintId(kind, this, successorOf);
      },
    });
  }
  for (const kind of ['Grant', 'AuthorizationCode', 'PushedAuthorizationRequest', 'RefreshToken', 'Session'] as const)
    Object.assign(provider[kind].prototype, {
      async getValueAndPayload(this: PayloadModel) {
        return { value: this.jti, payload: payloadOf(this, now) };
      },
    });
}

/**
 * Stamps refresh tokens of oidc-provider with the time at which the first token of their rotation was issued, in the time that all nodes share. The
 * constructor of models/refresh_token.js uses the time of this node's clock only if `iiat` is absent.
 */
export function stampFirstIssue({ RefreshToken: { prototype } }: Provider, now: () => number): void {
  type Stamped = { readonly iat?: number; iiat?: number };
  const assign = (token: object, value: number | undefined): void =>
    void Object.defineProperty(token, 'iiat', { value, configurable: true, enumerable: true, writable: true });
  Object.defineProperty(prototype, 'iiat', {
    configurable: true,
    get(this: Stamped) {
      const issuedAt = this.iat || epochSeconds(now());
      assign(this, issuedAt);
      return issuedAt;
    },
    set(this: Stamped, value: number | undefined) {
      assign(this, value);
    },
  });
}

/** Returns the id of the refresh token that follows another refresh token. */
export type SuccessorOf = (refreshToken: string) => string;

function mintId(kind: TaggedKind, model: { grantId?: string }, successorOf: SuccessorOf): string {
  const ctx = Provider.ctx;
  if (kind === 'RefreshToken' && ctx?.oidc.entities.RotatedRefreshToken) return successorOf(ctx.oidc.entities.RotatedRefreshToken.jti);
  // Pairwise clients could compare their users by a slot that their tokens share.
  if (kind === 'Grant') return createId(kind, ctx?.oidc.client && isPairwise(ctx.oidc.client) ? undefined : ctx?.oidc.session?.uid);
  return createId(kind, model.grantId);
}
