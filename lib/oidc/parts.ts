/** Creates the parts that all rooms share, once, from the dependencies. */
import { createModelAdapters } from './artifacts/model-adapter.js';
import { createStoredForm } from './artifacts/stored-form.js';
import { TokenRecords } from './artifacts/token-records.js';
import { codeRequestOf } from './authorize/parameters.js';
import { clientOf } from './clients/clients.js';
import { createProfileRule } from './clients/fapi.js';
import { createInternalClients } from './clients/internal-clients.js';
import { createPseudonyms } from './clients/pairwise.js';
import { createChallengeRule } from './clients/pkce.js';
import { routes } from './configuration.js';
import type { OidcDependencies, OidcParts } from './context.js';
import { endIfCutOff, endIfWithdrawn } from './sessions/begun-sign-ins.js';
import { createBrowserState } from './sessions/browser-state.js';
import { refreshUseOf } from './tokens/grants/refresh-token.js';

export function createParts(dependencies: OidcDependencies, keys: OidcParts['keys']): OidcParts {
  const { options, artifacts, sealer } = dependencies;
  const { lifetimes } = options;
  const [successorKey] = sealer.derive('refresh token successor');
  const form = createStoredForm(sealer, (uid) => `${options.issuer}${routes.authorization}/${uid}`);
  const ofTokens = {
    spentCode: Math.max(lifetimes.accessToken, lifetimes.jwtAccessToken),
    spentRequest: lifetimes.interaction,
    grant: lifetimes.refreshTokenAbsolute,
    grace: lifetimes.refreshTokenGrace,
  };
  const internalClients = createInternalClients(options.issuer, dependencies.clientsOfExtensions);
  const parts: OidcParts = {
    ...dependencies,
    keys,
    adapters: createModelAdapters({
      artifacts,
      form,
      lifetimes: ofTokens,
      tokens: new TokenRecords(form, ofTokens, successorKey),
      useOf: (ctx, token) => refreshUseOf(ctx, token, clientOf(ctx.oidc.client)),
      accessTokenOf: (ctx) => clientOf(ctx.oidc.client)?.lifetimes.accessToken,
      codeRequestOf,
      checkBegun: async ({ signIns, grants }) =>
        (await endIfCutOff(parts, signIns)) ?? (await endIfWithdrawn(parts, [...signIns, ...grants])),
    }),
    browserState: createBrowserState(dependencies),
    challengeRule: createChallengeRule(dependencies.logger),
    internalClients,
    isFapi2: createProfileRule(options, internalClients),
    pseudonyms: options.subjectSalt === undefined ? undefined : createPseudonyms(options.subjectSalt),
  };
  return parts;
}
