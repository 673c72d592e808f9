/**
 * The front door: receives every message of a service provider, or refuses it for a reason in the table `refused`.
 *
 * `bindings/` takes the message from the request, `proof` verifies its signature, and `reading/` reads it. `times` and `replay` refuse old and replayed
 * messages. A refusal is shown on a page and never sent, because no part of the message is trusted.
 */
import type { Context, ExtensionContext } from '../../../lib/extension-door.js';
import type { Carried } from '../bindings/carried.js';
import { readPost } from '../bindings/post.js';
import { readRedirect } from '../bindings/redirect.js';
import type { Entity } from '../entities/entity.js';
import type { Settings } from '../entities/settings.js';
import type { Binding, InboundMessage } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import { readAuthnRequest } from '../reading/authn-request.js';
import { readLogoutRequest, readLogoutResponse } from '../reading/logout.js';
import { issuerOf, type Kind, kindOf, type ReadMessage } from '../reading/message.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import type { ServiceProvider } from '../service-providers/records.js';
import { MalformedXml } from '../xml/malformed.js';
import { BadSignature } from '../xml/signature.js';
import { decodedText, parseStrict } from '../xml/strict.js';
import { createProve } from './proof.js';
import { createReplayMemory } from './replay.js';
import { checkTimes } from './times.js';

/** A message that was accepted. */
export interface Received {
  readonly message: InboundMessage;
  readonly serviceProvider: ServiceProvider;
  readonly binding: Binding;
  /** `RelayState` of at most 2,048 bytes. Only the answer uses the value. The value is neither a URL nor HTML. */
  readonly relayState?: string;
  /** Whether the message is signed. Only an AuthnRequest may be unsigned. */
  readonly isSigned: boolean;
}

/** An accepted message of one kind. */
export type ReceivedOf<Message extends InboundMessage> = Received & { readonly message: Message };

export interface FrontDoorParts {
  readonly activeServiceProviders: Pick<ActiveServiceProviders, 'byEntityId'>;
  /** Settings of entities. An entity that requires signed requests also refuses requests of service providers without a signing certificate. */
  readonly settings: Pick<Settings, 'wantsSigned'>;
  readonly clockSkewSeconds: number;
}

export interface FrontDoor {
  /**
   * Returns the message of a GET or POST to an endpoint of the entity.
   * @param kinds that the endpoint accepts
   * @throws RefusedMessage
   */
  receive(ctx: Context, entity: Entity, kinds: readonly Kind[]): Promise<Received>;
}

const readers: Readonly<Record<Kind, (root: Element) => ReadMessage>> = {
  AuthnRequest: readAuthnRequest,
  LogoutRequest: readLogoutRequest,
  LogoutResponse: readLogoutResponse,
};

export function createFrontDoor(
  context: ExtensionContext,
  { activeServiceProviders, settings, clockSkewSeconds }: FrontDoorParts,
): FrontDoor {
  const prove = createProve(context);
  const isFirst = createReplayMemory(context, clockSkewSeconds);

  async function serviceProviderOf({ owner, entityId, tid }: Entity, issuer: string): Promise<ServiceProvider> {
    const found = await activeServiceProviders.byEntityId(owner, issuer);
    if (found) return found;
    const path = `${tid === undefined ? '' : `/tenants/${tid}`}/saml-service-providers`;
    const expected = `the entityID of an active service provider that is registered at ${entityId}: register it by POST ${path} of the admin API, or set its status to active`;
    throw new RefusedMessage('unknown_service_provider', { place: 'Issuer', mismatch: { received: issuer, expected, isParty: true } });
  }

  async function received(
    ctx: Context,
    entity: Entity,
    kinds: readonly Kind[],
    carried: Carried,
    known: (id: string) => void,
  ): Promise<Received> {
    const xml = decodedText(carried.bytes);
    const root = parseStrict(xml);
    const kind = kindOf(root);
    const parameter = kind === 'LogoutResponse' ? 'SAMLResponse' : 'SAMLRequest';
    if (!kinds.includes(kind) || parameter !== carried.parameter) throw new RefusedMessage('message_kind');
    const serviceProvider = await serviceProviderOf(entity, issuerOf(root));
    known(serviceProvider.id);

    const signed = await prove(ctx, serviceProvider, carried, xml, root);
    const mustBeSigned = kind !== 'AuthnRequest' || serviceProvider.requireSignedRequests;
    if (!signed && (mustBeSigned || (await settings.wantsSigned(entity.owner)))) throw new RefusedMessage('not_signed');

    const read = readers[kind](signed ?? root);
    if (read.message.issuer !== serviceProvider.entityId)
      throw new RefusedMessage('signature_reference', { mismatch: { received: read.message.issuer, expected: serviceProvider.entityId } });
    checkDestination(read, kind === 'AuthnRequest' ? entity.ssoUrl : entity.sloUrl, signed !== undefined);
    checkTimes(read, context.service.now(), clockSkewSeconds);
    // The replay check comes last, so that a message that is refused for another reason does not use up its ID.
    if (!(await isFirst(serviceProvider.id, read.message))) throw new RefusedMessage('replayed');
    const { binding, relayState } = carried;
    return { message: read.message, serviceProvider, binding, ...(relayState ? { relayState } : {}), isSigned: signed !== undefined };
  }

  return {
    async receive(ctx, entity, kinds) {
      let serviceProviderId: string | undefined;
      try {
        // HEAD asks for no action, but would use up the message.
        if (ctx.method !== 'GET' && ctx.method !== 'POST') throw new RefusedMessage('method');
        const carried = ctx.method === 'POST' ? await readPost(ctx) : readRedirect(ctx);
        return await received(ctx, entity, kinds, carried, (id) => {
          serviceProviderId = id;
        });
      } catch (error) {
        const refused = refusalOf(error);
        if (!refused) throw error;
        if (serviceProviderId !== undefined) refused.serviceProviderId = serviceProviderId;
        throw refused;
      }
    },
  };
}

/** Checks the address of a message. A signed message must have an address. @see SAML Bindings §3.4.5.2, §3.5.5.2 */
function checkDestination({ destination }: ReadMessage, url: string, isSigned: boolean): void {
  const about = { place: 'Destination', mismatch: { received: destination, expected: url } };
  if (destination === undefined && isSigned) throw new RefusedMessage('destination_missing', about);
  if (destination !== undefined && destination !== url) throw new RefusedMessage('destination_mismatch', about);
}

function refusalOf(error: unknown): RefusedMessage | undefined {
  if (error instanceof RefusedMessage) return error;
  if (error instanceof MalformedXml) return new RefusedMessage(error.reason, { place: error.place });
  return error instanceof BadSignature ? new RefusedMessage(error.reason) : undefined;
}
