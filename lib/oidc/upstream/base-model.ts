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
 * Returns the same as `getValueAndPayload` of models/formats/opaque.js, without a property descriptor for each member. `iat` is in the time that all nodes share.
 * `exp` is in the time of this node's clock, because oidc-provider compares it with that clock.
 */
async function valueAndPayload(model: PayloadModel, now: () => number): Promise<{ value: string; payload: Payload }> {
  const payload: Payload = { iat: model.iat || epochSeconds(now()) };
  const exp = model.exp || nodeSeconds() + (model.expiration ?? Number.NaN);
  if (exp) payload.exp = exp;
  for (const name of inPayload(model.constructor)) if (model[name] !== undefined) payload[name] = model[name];
  return { value: model.jti, payload };
}

/** A class that oidc-provider makes, or one of ours that extends it. */
export type Class = {
  // biome-ignore lint/suspicious/noExplicitAny: a mixin's base
  new (...args: any[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: of whatever the class is
  find?(value: string, ...rest: unknown[]): Promise<any>;
};

/** Names of the members that a class keeps: a static getter, read once per class, on first use. models/payload.js */
export const membersOf = (model: unknown): readonly string[] => (model as { IN_PAYLOAD: readonly string[] }).IN_PAYLOAD;

const payloads = new WeakMap<object, readonly string[]>();

/** The list is put together anew by each class of the chain, so it is asked for once. */
function inPayload(model: object): readonly string[] {
  const members = payloads.get(model) ?? membersOf(model);
  payloads.set(model, members);
  return members;
}

/** Ids of ours in place of those of models/base_model.js, and records that are written as opaque ones are. */
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
      getValueAndPayload(this: PayloadModel) {
        return valueAndPayload(this, now);
      },
    });
}

/**
 * Refresh tokens that oidc-provider issues say when the first of their line was issued in the time that all nodes share. The constructor of
 * models/refresh_token.js takes the time of this node's clock only where `iiat` is absent.
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

/** The id of the refresh token that follows another. */
export type SuccessorOf = (refreshToken: string) => string;

function mintId(kind: TaggedKind, model: { grantId?: string }, successorOf: SuccessorOf): string {
  const ctx = Provider.ctx;
  if (kind === 'RefreshToken' && ctx?.oidc.entities.RotatedRefreshToken) return successorOf(ctx.oidc.entities.RotatedRefreshToken.jti);
  // Pairwise clients could compare their tokens by the slot they share, and so their users.
  if (kind === 'Grant') return createId(kind, ctx?.oidc.client && isPairwise(ctx.oidc.client) ? undefined : ctx?.oidc.session?.uid);
  return createId(kind, model.grantId);
}
