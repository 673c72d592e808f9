/** Steps of oidc-provider, each with the actions of the rooms in that step. */
import type { IncomingMessage } from 'node:http';
import { isLiveSecret } from '../directory/index.js';
import type { Client } from '../store/records/records.js';
import { checkSignOut, checkUris } from './authorize/checks.js';
import { carryParameters } from './authorize/parameters.js';
import { createPushedAnswer } from './authorize/pushed-requests.js';
import { createResponder } from './authorize/response.js';
import { repeatRefusal } from './clients/assertions.js';
import { noteCaller, requireClientAuthentication } from './clients/authentication.js';
import { callerOf, clientOf, createFindRecord } from './clients/clients.js';
import { createProfileCheck } from './clients/fapi.js';
import type { OidcParts } from './context.js';
import { createResumeCheck } from './interactions/resume-check.js';
import type { Rooms } from './rooms.js';
import { wrapToken } from './tokens/access-token-jwt.js';
import { createProviderDoor } from './tokens/doors/provider-door.js';
import type { ProviderHooks } from './upstream/provider.js';

/**
 * Returns the parameters of a request. Userinfo returns all granted claims, so `scope` is removed, because oidc-provider would let the parameter narrow the
 * claims.
 */
export const parameters: ProviderHooks['parameters'] = (route, given, of) =>
  route === 'userinfo' ? { ...given, scope: undefined } : wrapToken(route, carryParameters(route, given, of));

/** @param addressOf returns the address of a request's client, behind trusted proxies. */
export function createHooks(rooms: Rooms, addressOf: (req: IncomingMessage) => string): Omit<ProviderHooks, 'acr'> {
  const { parts, scopes, impersonations, accessTokens, requestUris, completed, signInRequests, recorder, handlers, assertionAudiences } =
    rooms;
  const door = createProviderDoor(rooms);
  const checkProfile = createProfileCheck(parts);
  return {
    authenticated(ctx) {
      noteCaller(ctx, ctx.oidc.client);
      checkProfile(ctx);
    },
    token: door.admit,
    grant: door.grant,
    lastSteps: handlers ? { ...door.lastSteps, pushed_authorization_request: createPushedAnswer(parts) } : {},
    backchannel: backchannelOf(rooms),
    respond: createResponder(parts, signInRequests.answer, completed, recorder),
    parameters,
    check(ctx) {
      checkUris(ctx);
      checkSignOut(ctx);
      requireClientAuthentication(ctx);
      requestUris.check(ctx);
    },
    assertionAudiences(ctx) {
      repeatRefusal(ctx);
      return assertionAudiences(ctx.oidc);
    },
    scopes: (ctx) => scopes.known(ctx),
    held(ctx, client, granted) {
      const record = clientOf(client);
      return record ? scopes.held(ctx, record, granted) : [];
    },
    structuredToken: accessTokens,
    successorOf: (token) => parts.adapters.tokens.successorOf(token),
    now: parts.now,
    interactions: {
      browserOf: (ctx) => parts.browsers.begin(ctx),
      mayResume: createResumeCheck(parts),
    },
    sessions: impersonations.hooks,
    clients: clientHooksOf(parts),
    addressOf,
  };
}

const backchannelOf = ({ answerClient }: Rooms): ProviderHooks['backchannel'] =>
  answerClient &&
  (async (ctx) => {
    const { client, body } = ctx.oidc;
    if (!client) throw new TypeError('the client did not authenticate');
    ctx.body = await answerClient({ ctx, client, record: clientOf(client) as Client, parameters: body ?? {} });
  });

const clientHooksOf = (parts: OidcParts): ProviderHooks['clients'] => ({
  record: createFindRecord(parts),
  keysAt: (uri) => parts.clientKeySets.at(uri),
  compareSecret: (client, secret) => isLiveSecret(callerOf(client)?.secrets ?? [], secret, parts.now()),
  mayBeLocal: !parts.options.production,
});
