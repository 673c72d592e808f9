/** The door by which every request can come: oidc-provider authenticates the client and checks the form; then the endpoint's handler answers. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Client } from '../../../store/records/records.js';
import type { Scopes } from '../../accounts/scopes.js';
import { LostWrite, lateRefusals } from '../../artifacts/lost-writes.js';
import { clientOf } from '../../clients/clients.js';
import { checkCodeRequest } from '../../clients/pkce.js';
import type { OidcParts } from '../../context.js';
import { dpopProof } from '../../upstream/grant-types.js';
import { checkScopeBeside, clientCredentialsScope } from '../grants/asked-scope.js';
import type { GrantTypes } from '../grants/grant-types.js';
import { createKeepRefreshToken, type SpentTokenRules } from '../grants/refresh-token.js';
import type { Introspect } from '../introspection.js';
import type { Revoke } from '../revocation.js';
import type { TokenRequest } from '../token-request.js';
import type { AnswerUserinfo } from '../userinfo.js';

/** What answers in place of oidc-provider. */
export interface Handlers {
  readonly grantTypes: GrantTypes;
  readonly introspect: Introspect;
  readonly revoke: Revoke;
  readonly userinfo: AnswerUserinfo;
}

type Step = (ctx: KoaContextWithOIDC) => Promise<void>;

export interface ProviderDoor {
  /** Looks at a token request as soon as its client authenticated. */
  readonly admit: Step;
  /** Runs a grant; `theirs` is oidc-provider's own handler. What it mints is stored before the answer exists, so of two uses of one credential one is refused. */
  grant(name: string, ctx: KoaContextWithOIDC, theirs: () => Promise<void>): Promise<void>;
  /** The last steps of endpoints, in place of oidc-provider's; without any, its own answer. */
  readonly lastSteps: Readonly<Partial<Record<'introspection' | 'revocation' | 'userinfo', Step>>>;
}

/** @param handlers undefined where oidc-provider answers by itself. */
export function createProviderDoor(
  parts: OidcParts,
  scopes: Scopes,
  { admit, refuseReplay }: SpentTokenRules,
  handlers: Handlers | undefined,
): ProviderDoor {
  const { adapters, isFapi2 } = parts;
  const keep = createKeepRefreshToken(parts);
  const requestOf = (ctx: KoaContextWithOIDC): TokenRequest => {
    const { client, params, body } = ctx.oidc;
    if (!client) throw new TypeError('the client did not authenticate');
    return {
      ctx,
      unit: adapters.unitOf(ctx),
      client,
      record: clientOf(client) as Client,
      parameters: { ...(params as TokenRequest['parameters']), scope: ((params?.scope ?? body?.scope) as string | undefined) || undefined },
      proof: () => dpopProof(ctx),
      isRetryAdmitted: true,
    };
  };

  /** What oidc-provider takes for the scope of a token request. */
  function checkAskedScope(name: string, ctx: KoaContextWithOIDC, { record, parameters }: TokenRequest): void {
    if (name !== 'client_credentials') {
      checkScopeBeside(ctx, scopes, record, parameters.scope);
      return;
    }
    const scope = clientCredentialsScope(ctx, scopes, record, parameters.scope);
    if (scope !== undefined && ctx.oidc.params) ctx.oidc.params.scope = scope;
  }

  /** Checks the code of a request that oidc-provider answers by itself. The request reads the code once. */
  async function checkCode({ ctx, unit, client, record, parameters: { code } }: TokenRequest): Promise<void> {
    const found = code === undefined ? undefined : await adapters.tokens.find(unit, 'AuthorizationCode', code);
    if (found?.token.clientId === client.clientId) checkCodeRequest(ctx, client, record, found.token);
  }

  /** Answers with the refresh token to go on with, where oidc-provider answers with the one that was sent. */
  async function keepRefreshToken(request: TokenRequest): Promise<void> {
    const { ctx, parameters } = request;
    const refreshToken = await keep(request, parameters.refresh_token as string);
    ctx.body = { ...(ctx.body as object), refresh_token: refreshToken };
  }

  return {
    admit: (ctx) => admit(requestOf(ctx)),

    async grant(name, ctx, theirs) {
      const own = handlers?.grantTypes.get(name);
      const request = requestOf(ctx);
      if (!own) checkAskedScope(name, ctx, request);
      if (!own && name === 'authorization_code') await checkCode(request);
      for (let attempt = 0; ; attempt += 1) {
        try {
          if (own) ctx.body = await own(request);
          else {
            await theirs();
            if (name === 'refresh_token' && isFapi2(request.record)) await keepRefreshToken(request);
          }
        } catch (error) {
          // It may have been used since the request began.
          if (error instanceof errors.InvalidGrant) await refuseReplay(request);
          throw error;
        }
        try {
          await request.unit.commit();
          return;
        } catch (error) {
          if (!(error instanceof LostWrite)) throw error;
          // Two refreshes at once: the second finds the first one's successor, within the grace. One whose grant was ended meanwhile finds nothing.
          if (name !== 'refresh_token' || attempt > 0) throw lateRefusals.redeem();
          request.unit.reset();
          await admit(request);
        }
      }
    },

    lastSteps: handlers
      ? {
          async introspection(ctx) {
            const { client, unit, parameters } = requestOf(ctx);
            ctx.body = await handlers.introspect({ ctx, unit, caller: client, token: parameters.token as string });
          },
          async revocation(ctx) {
            const { client, unit, parameters } = requestOf(ctx);
            await handlers.revoke({ ctx, unit, caller: client, token: parameters.token as string });
          },
          async userinfo(ctx) {
            const { client, accessToken, entities } = ctx.oidc;
            if (!client || !accessToken) throw new TypeError('no access token was found');
            const body = await handlers.userinfo({ ctx, client, token: accessToken, grant: entities.Grant as never });
            if (!body) throw new errors.InvalidToken('associated account not found');
            ctx.body = body;
          },
        }
      : {},
  };
}
