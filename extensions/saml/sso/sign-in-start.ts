/** Starts a sign-in for a request. A request that no sign-in can satisfy is refused immediately. */

import type { Context, ExtensionContext } from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import { checkRelayState } from '../bindings/carried.js';
import type { Entity } from '../entities/entity.js';
import type { ReceivedOf } from '../front-door/front-door.js';
import { type AuthnRequest, bindingOf, bindingUris } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { Status } from '../messages/status.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import { clientIdOf, type ServiceProvider } from '../service-providers/records.js';
import { acsOf } from './acs.js';
import { understoodContext, wantedContext } from './authn-context.js';
import type { NameIds } from './name-id.js';
import { formatFor } from './name-id-policy.js';
import { type PendingRequest, storePendingRequest } from './pending-request.js';
import type { Responses } from './responses.js';
import { statuses } from './statuses.js';

export interface SignInStartParts {
  readonly context: Pick<ExtensionContext, 'records' | 'signIn' | 'service'>;
  readonly activeServiceProviders: Pick<ActiveServiceProviders, 'get' | 'byEntityId'>;
  readonly nameIds: NameIds;
  readonly responses: Responses;
}

export function createSignInStart({ context, activeServiceProviders, nameIds, responses }: SignInStartParts) {
  /** Requires a sign-in. Nothing here reads a cookie, because browsers send no cookies with a POST from another site. */
  async function signIn(
    ctx: Context,
    { tid }: Entity,
    serviceProvider: ServiceProvider,
    request: PendingRequest,
    hint = '',
  ): Promise<void> {
    const acrValues = acrValuesOf(tid, serviceProvider, request);
    const prompt = request.isPassive ? 'none' : request.forceAuthn ? 'login' : undefined;
    await context.signIn.require(ctx, {
      client: clientIdOf(serviceProvider),
      state: await storePendingRequest(context, request),
      ...present({ prompt }),
      ...(acrValues === '' ? {} : { acrValues }),
      ...(hint === '' ? {} : { loginHint: hint }),
    });
  }

  return {
    /** Starts the sign-in that an AuthnRequest asks for. @throws RefusedMessage `acs_not_registered`, `acs_ambiguous`, `too_much_to_keep` */
    async requested(ctx: Context, entity: Entity, { message, serviceProvider, relayState }: ReceivedOf<AuthnRequest>): Promise<void> {
      const { id, forceAuthn, isPassive, protocolBinding = bindingUris.post, requestedAuthnContext, subject } = message;
      const { url } = acsOf(serviceProvider, message);
      const format = formatFor(serviceProvider, message, context);
      const request: PendingRequest = {
        serviceProvider: serviceProvider.id,
        id,
        acsUrl: url,
        receivedAt: context.service.now(),
        forceAuthn,
        isPassive,
        nameIdFormat: typeof format === 'string' ? format : serviceProvider.nameId.format,
        ...present({ relayState }),
        ...(requestedAuthnContext ? { wantedContext: understoodContext(requestedAuthnContext) } : {}),
        ...(subject ? { subject } : {}),
      };
      const refuse = (status: Status): Promise<void> => responses.refuse(ctx, serviceProvider, request, status);
      if (bindingOf(protocolBinding) !== 'post') return refuse(statuses.unsupportedBinding);
      if (typeof format !== 'string') return refuse(format);
      if (forceAuthn && isPassive) return refuse(statuses.noPassive);
      if (!wantedContext(request.wantedContext)) return refuse(statuses.noAuthnContext);
      const hint = subject ? await nameIds.loginHintOf(serviceProvider, subject) : '';
      return hint === undefined ? refuse(statuses.unknownPrincipal) : signIn(ctx, entity, serviceProvider, request, hint);
    },

    /**
     * Starts a sign-in without an AuthnRequest. The URL of this sign-in has the parameter `sp`, and optionally `RelayState`.
     * @throws RefusedMessage
     * @see SAML Profiles §4.1.5
     */
    async initiated(ctx: Context, entity: Entity): Promise<void> {
      const { sp, RelayState: given } = ctx.query;
      if (Array.isArray(given)) throw new RefusedMessage('relay_state_too_long');
      checkRelayState(given);
      const named =
        typeof sp === 'string' && sp !== ''
          ? ((await activeServiceProviders.byEntityId(entity.owner, sp)) ?? (await activeServiceProviders.get(sp)))
          : undefined;
      // A service provider of another owner gets the same refusal as a service provider that does not allow this.
      if (named?.tid !== entity.owner || !named.idpInitiated.isAllowed) throw notIdpInitiated(sp, entity);
      const relayState = given ?? named.idpInitiated.relayState;
      await signIn(ctx, entity, named, {
        serviceProvider: named.id,
        acsUrl: acsOf(named, {}).url,
        receivedAt: context.service.now(),
        forceAuthn: false,
        isPassive: false,
        nameIdFormat: named.nameId.format,
        ...(relayState === undefined || relayState === '' ? {} : { relayState }),
      });
    },
  };
}

/** Returns what the sign-in must have: a second factor, a tenant, a sign-in method. */
function acrValuesOf(tid: string | undefined, { idp, requireMfa }: ServiceProvider, request: PendingRequest): string {
  const { mfa = false } = wantedContext(request.wantedContext) ?? {};
  return [
    ...(mfa || requireMfa ? ['mfa'] : []),
    ...(tid === undefined ? [] : [`tenant:${tid}`]),
    ...(idp === undefined ? [] : [`idp:${idp}`]),
  ].join(' ');
}

function notIdpInitiated(sp: unknown, { entityId }: Entity): RefusedMessage {
  const received = typeof sp === 'string' ? sp : undefined;
  const expected = `a service provider of ${entityId} with idpInitiated.isAllowed`;
  return new RefusedMessage('not_idp_initiated', { place: 'sp', mismatch: { received, expected, isParty: true } });
}
