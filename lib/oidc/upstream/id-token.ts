import { randomUUID } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import type Provider from 'oidc-provider';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { secondsAhead } from '../../times/node-time.js';
import type { Payload } from './base-model.js';

/**
 * Returns a logout token, signed and encrypted like the client's ID tokens. `Client.prototype.backchannelLogout` sends the same token, without a given
 * `sub`.
 */
export async function logoutToken(provider: Provider, client: Client, { sub, sid }: { sub: string; sid: string }): Promise<string> {
  const token = new provider.IdToken({}, { client, ctx: undefined } as never) as unknown as {
    set(claim: string, value: unknown): void;
    issue(options: { use: 'logout' }): Promise<string>;
  };
  const claims = { sub, sid, jti: randomUUID(), events: { 'http://schemas.openid.net/event/backchannel-logout': {} } };
  for (const [claim, value] of Object.entries(claims)) token.set(claim, value);
  return token.issue({ use: 'logout' });
}

/**
 * Stamps every JWT of the class (ID tokens, logout tokens, signed userinfo, introspection and authorization responses) with the time that all nodes share.
 * `sign` of helpers/jwt.js keeps an existing `iat`, and assigns `exp` by the node's own clock.
 */
export function stampSharedTime(provider: Provider, now: () => number): void {
  const { prototype } = provider.IdToken as unknown as { prototype: StampedToken };
  const { issue } = prototype;
  prototype.issue = function (options) {
    const { payload } = this;
    const ahead = secondsAhead(now);
    if (ahead === 0) return issue.call(this, options);
    const stamped = async (): Promise<Payload> => {
      const claims = { ...(await payload.call(this)) };
      if (options.use !== 'authorization') claims.iat ??= epochSeconds(now());
      let exp: unknown = claims.exp;
      return Object.defineProperty(claims, 'exp', {
        enumerable: true,
        get: () => exp,
        set(end: unknown) {
          exp = typeof end === 'number' ? end - ahead : end;
        },
      });
    };
    return issue.call(Object.create(this, { payload: { value: stamped } }), options);
  };
}

interface StampedToken {
  payload(): Promise<Payload>;
  issue(this: StampedToken, options: { readonly use: string }): Promise<string>;
}

/**
 * Refuses other JWTs as `id_token_hint`. An ID token has `sub` and `sid`, and no `typ`.
 *
 * Every other JWT of the service has a `typ`, with two exceptions:
 * - Signed userinfo has no `sid`.
 * - Signed authorization responses may contain any custom parameter except `sub`.
 * @see RFC 8725 §3.11
 */
export function refuseForeignHints(provider: Provider): void {
  const model = provider.IdToken as unknown as HintModel;
  const validate = model.validate.bind(model);
  model.validate = async (jwt, client) => {
    const { typ } = decodeProtectedHeader(jwt);
    if (typ !== undefined && typ !== 'JWT') throw new TypeError('not an ID token');
    const token = await validate(jwt, client);
    const { sub, sid } = token.payload;
    if (typeof sub !== 'string' || typeof sid !== 'string') throw new TypeError('not an ID token');
    return token;
  };
}

/** Returns the claims of the request's `id_token_hint`, also when the request is resumed, where checkIdTokenHint does not run. */
export async function idTokenHint(ctx: KoaContextWithOIDC): Promise<Payload | undefined> {
  const { entities, params, client, provider } = ctx.oidc;
  if (entities.IdTokenHint || typeof params?.id_token_hint !== 'string' || !client) return entities.IdTokenHint?.payload;
  const hint = await (provider.IdToken as unknown as HintModel).validate(params.id_token_hint, client);
  ctx.oidc.entity('IdTokenHint', hint as never);
  return hint.payload;
}

/** Returns the claims of an ID token that was issued to the client, expired or not; undefined for any other token. */
export async function claimsOfIdToken({ IdToken }: Pick<Provider, 'IdToken'>, client: Client, jwt: string): Promise<Payload | undefined> {
  try {
    return (await (IdToken as unknown as HintModel).validate(jwt, client)).payload as Payload;
  } catch {
    return undefined;
  }
}

interface HintModel {
  validate(jwt: string, client: Client): Promise<{ payload: { sub?: unknown; sid?: unknown } }>;
}

/** Returns an authorization response as a JWT, as response_modes/jwt.js makes it. @see JARM §2.1 */
export function signedResponse(ctx: KoaContextWithOIDC, payload: Payload): Promise<string> {
  const { IdToken } = ctx.oidc.provider as unknown as { IdToken: ResponseJwt };
  // The class leaves out names that helpers/_/merge.js does not copy.
  return Object.assign(new IdToken({}, { ctx }), { payload: async () => ({ ...payload }) }).issue({ use: 'authorization' });
}

type ResponseJwt = new (claims: object, context: { ctx: KoaContextWithOIDC }) => { issue(options: { use: string }): Promise<string> };
