/** The door for every request: oidc-provider authenticates the client and checks the form, and then the endpoint's handler answers. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Client } from '../../../store/records/records.js';
import type { Scopes } from '../../accounts/scopes.js';
import { clientOf } from '../../clients/clients.js';
import { checkCodeRequest } from '../../clients/pkce.js';
import type { OidcParts } from '../../context.js';
import { dpopProof } from '../../upstream/grant-types.js';
import { checkScopeBeside, clientCredentialsScope } from '../grants/asked-scope.js';
import type { GrantTypes } from '../grants/grant-types.js';
import { createKeepRefreshToken, type KeepRefreshToken, type SpentTokenRules } from '../grants/refresh-token.js';
import type { Introspect } from '../introspection.js';
import type { Revoke } from '../revocation.js';
import type { TokenRequest } from '../token-request.js';
import type { AnswerUserinfo } from '../userinfo.js';
import type { Redeem } from './redeem.js';

/** Handlers that answer in place of oidc-provider's handlers. */
export interface Handlers {
  readonly grantTypes: GrantTypes;
  readonly introspect: Introspect;
  readonly revoke: Revoke;
  readonly userinfo: AnswerUserinfo;
}

type Step = (ctx: KoaContextWithOIDC) => Promise<void>;

export interface ProviderDoor {
  /** Checks a token request as soon as its client has authenticated. */
  readonly admit: Step;
  /** Exchanges a grant. `theirs` is oidc-provider's own handler. */
  grant(name: string, ctx: KoaContextWithOIDC, theirs: () => Promise<void>): Promise<void>;
  /** The last step of endpoints, in place of oidc-provider's last step. An endpoint without a last step here has oidc-provider's own answer. */
  readonly lastSteps: Readonly<Partial<Record<'introspection' | 'revocation' | 'userinfo', Step>>>;
}

export interface ProviderDoorParts {
  readonly parts: OidcParts;
  readonly scopes: Scopes;
  readonly admit: SpentTokenRules['admit'];
  readonly redeem: Redeem;
  /** Handlers of the service. Undefined if oidc-provider answers by itself. */
  readonly handlers: Handlers | undefined;
}

export function createProviderDoor(door: ProviderDoorParts): ProviderDoor {
  const { parts, admit, redeem, handlers } = door;
  const keep = createKeepRefreshToken(parts);
  return {
    admit: (ctx) => admit(requestOf(parts, ctx)),

    async grant(name, ctx, theirs) {
      const request = requestOf(parts, ctx);
      const own = handlers?.grantTypes.get(name);
      if (own) ctx.body = await redeem(name, request, () => own(request));
      else {
        await checkForProvider(door, name, ctx, request);
        await redeem(name, request, async () => {
          await theirs();
          if (name === 'refresh_token' && parts.isFapi2(request.record)) await keepRefreshToken(keep, request);
        });
      }
    },

    lastSteps: handlers ? lastStepsOf(parts, handlers) : {},
  };
}

function requestOf({ adapters }: OidcParts, ctx: KoaContextWithOIDC): TokenRequest {
  const { client, params, body } = ctx.oidc;
  if (!client) throw new TypeError('the client did not authenticate');
  return {
    ctx,
    unit: adapters.unitOf(ctx),
    client,
    record: clientOf(client) as Client,
    parameters: { ...(params as TokenRequest['parameters']), scope: ((params?.scope ?? body?.scope) as string | undefined) || undefined },
    proof: () => dpopProof(ctx),
  };
}

/** Checks the scope, and the code, of a request that oidc-provider answers. */
async function checkForProvider(
  { parts, scopes }: ProviderDoorParts,
  name: string,
  ctx: KoaContextWithOIDC,
  request: TokenRequest,
): Promise<void> {
  const { record, parameters } = request;
  if (name !== 'client_credentials') checkScopeBeside(ctx, scopes, record, parameters.scope);
  else {
    const scope = clientCredentialsScope(ctx, scopes, record, parameters.scope);
    if (scope !== undefined && ctx.oidc.params) ctx.oidc.params.scope = scope;
  }
  if (name === 'authorization_code') await checkCode(parts, request);
}

/** Reads the code. oidc-provider gets the code from the unit of work, so that the request reads the code once. */
async function checkCode({ adapters }: OidcParts, { ctx, unit, client, record, parameters: { code } }: TokenRequest): Promise<void> {
  const found = code === undefined ? undefined : await adapters.tokens.find(unit, 'AuthorizationCode', code);
  if (found?.token.clientId === client.clientId) checkCodeRequest(ctx, client, record, found.token);
}

/** Puts the refresh token to use next into the answer, because oidc-provider would return the refresh token that was sent. */
async function keepRefreshToken(keep: KeepRefreshToken, request: TokenRequest): Promise<void> {
  const { ctx, parameters } = request;
  const refreshToken = await keep(request, parameters.refresh_token as string);
  ctx.body = { ...(ctx.body as object), refresh_token: refreshToken };
}

const lastStepsOf = (parts: OidcParts, { introspect, revoke, userinfo }: Handlers): ProviderDoor['lastSteps'] => ({
  async introspection(ctx) {
    const { client, unit, parameters } = requestOf(parts, ctx);
    ctx.body = await introspect({ ctx, unit, caller: client, token: parameters.token as string });
  },
  async revocation(ctx) {
    const { client, unit, parameters } = requestOf(parts, ctx);
    await revoke({ ctx, unit, caller: client, token: parameters.token as string });
    await unit.commit();
  },
  async userinfo(ctx) {
    const { client, accessToken, entities } = ctx.oidc;
    if (!client || !accessToken) throw new TypeError('no access token was found');
    const body = await userinfo({ ctx, client, token: accessToken, grant: entities.Grant as never });
    if (!body) throw new errors.InvalidToken('associated account not found');
    ctx.body = body;
  },
});
