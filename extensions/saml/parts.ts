/** Parts that the members of the extension share. The parts are created once for each service. */
import type { ExtensionContext } from '../../lib/extension-door.js';
import { createEntities } from './entities/entity.js';
import { createSamlKeys } from './entities/keys.js';
import { createSettings } from './entities/settings.js';
import { createFrontDoor } from './front-door/front-door.js';
import type { ResolvedSamlOptions } from './options.js';
import { createPages } from './pages.js';
import { createRefresh } from './registration/refresh.js';
import { createRegistrar } from './registration/registrar.js';
import { createWrites } from './registration/writes.js';
import { createActiveServiceProviders } from './service-providers/active-service-providers.js';
import { IncomingLogouts } from './slo/incoming.js';
import { createLogoutSequences } from './slo/logout-sequence.js';
import { createSendLogout } from './slo/messages.js';
import { createOutgoing } from './slo/outgoing.js';
import { createParticipants } from './slo/participants.js';
import { createAnswer } from './sso/answer.js';
import { createNameIds } from './sso/name-id.js';
import { createResponses } from './sso/responses.js';
import { createSignInStart } from './sso/sign-in-start.js';

export function createParts(context: ExtensionContext, options: ResolvedSamlOptions) {
  const { entityId, tenantEntities } = options;
  const entities = createEntities(context, entityId);
  const keys = createSamlKeys(context, options);
  const settings = createSettings(context, options);
  const activeServiceProviders = createActiveServiceProviders(context);
  const registrar = createRegistrar(context);
  const writes = createWrites(context);
  const pages = createPages(context);
  const participants = createParticipants(context);
  const logoutSequences = createLogoutSequences(context);
  const shared = {
    context,
    options,
    entities,
    tenantEntities,
    keys,
    settings,
    activeServiceProviders,
    pages,
    participants,
    logoutSequences,
  };
  const nameIds = createNameIds(context);
  const responses = createResponses(shared);
  const send = createSendLogout(context, keys);
  return {
    ...shared,
    registrar,
    writes,
    refresh: createRefresh(context, registrar, writes),
    frontDoor: createFrontDoor(context, { activeServiceProviders, settings, ...options }),
    signInStart: createSignInStart({ ...shared, nameIds, responses }),
    answer: createAnswer({ ...shared, nameIds, responses }),
    incoming: new IncomingLogouts({ ...shared, send }),
    outgoing: createOutgoing({ ...shared, send }),
  };
}
