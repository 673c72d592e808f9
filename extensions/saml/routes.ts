/** Endpoints of the instance's entity, and of each tenant's entity. */
import type { Context, ExtensionContext, ExtensionRouter } from '../../lib/extension-door.js';
import type { Entities, Entity } from './entities/entity.js';
import type { SamlKeys } from './entities/keys.js';
import { answerMetadata, metadataXml } from './entities/metadata.js';
import type { Settings } from './entities/settings.js';
import type { FrontDoor, ReceivedOf } from './front-door/front-door.js';
import type { AuthnRequest, LogoutRequest, LogoutResponse } from './messages/inbound.js';
import { RefusedMessage } from './messages/refused.js';
import type { ResolvedSamlOptions } from './options.js';
import type { Pages } from './pages.js';
import { donePath, type IncomingLogouts, runPath } from './slo/incoming.js';
import type { createOutgoing } from './slo/outgoing.js';
import { nextPath } from './slo/participant.js';
import type { createAnswer } from './sso/answer.js';
import { returnPath } from './sso/clients.js';
import type { createSignInStart } from './sso/sign-in-start.js';

export interface RouteParts {
  readonly context: Pick<ExtensionContext, 'service' | 'records' | 'directory' | 'http'>;
  readonly options: Pick<ResolvedSamlOptions, 'tenantEntities'>;
  readonly entities: Entities;
  readonly keys: Pick<SamlKeys, 'published'>;
  readonly settings: Pick<Settings, 'wantsSigned'>;
  readonly frontDoor: FrontDoor;
  readonly signInStart: ReturnType<typeof createSignInStart>;
  readonly answer: ReturnType<typeof createAnswer>;
  readonly incoming: Pick<IncomingLogouts, 'requested' | 'run' | 'done'>;
  readonly outgoing: ReturnType<typeof createOutgoing>;
  readonly pages: Pages;
}

export function samlRoutes(router: ExtensionRouter, parts: RouteParts): void {
  const { context, options, entities, keys, settings, frontDoor, signInStart, answer, incoming, outgoing, pages } = parts;
  const {
    service: { own, logger },
    records: { ofInstance },
    directory,
    http: { requestId },
  } = context;

  /** Shows a page for a refused message. The service provider gets no answer, because no part of the message is trusted. */
  async function guarded(ctx: Context, run: () => Promise<void>): Promise<void> {
    try {
      // Koa routes HEAD like GET, and HEAD would use up a one-time record.
      if (ctx.method !== 'GET' && ctx.method !== 'POST') throw new RefusedMessage('method');
      await run();
    } catch (error) {
      if (!(error instanceof RefusedMessage)) throw error;
      const { reason, place, mismatch, setting, serviceProviderId: serviceProvider, status } = error;
      logger.info({ requestId: requestId(ctx), reason, place, serviceProvider, ...mismatch, setting }, 'saml.request.refused');
      await pages.refused(ctx, reason, status);
    }
  }

  /** Returns the entity of the path. A tenant that is unknown or not active gets 404. */
  async function entityOf(ctx: Context): Promise<Entity> {
    const { tid } = ctx.params as { readonly tid?: string };
    if (tid === undefined) return entities.ofOwner(ofInstance);
    const tenant = options.tenantEntities ? await directory.tenants.get(tid) : undefined;
    return tenant?.status === 'active' ? entities.ofOwner(tenant.id) : ctx.throw(404);
  }

  async function singleSignOn(ctx: Context, entity: Entity): Promise<void> {
    const received = (await frontDoor.receive(ctx, entity, ['AuthnRequest'])) as ReceivedOf<AuthnRequest>;
    try {
      await signInStart.requested(ctx, entity, received);
    } catch (error) {
      if (error instanceof RefusedMessage) error.serviceProviderId = received.serviceProvider.id;
      throw error;
    }
  }

  async function singleLogout(ctx: Context, entity: Entity): Promise<void> {
    const received = await frontDoor.receive(ctx, entity, ['LogoutRequest', 'LogoutResponse']);
    if (received.message.kind === 'LogoutRequest') await incoming.requested(ctx, received as ReceivedOf<LogoutRequest>);
    else await outgoing.answered(ctx, received as ReceivedOf<LogoutResponse>);
  }

  const withEntity = (run: (ctx: Context, entity: Entity) => Promise<void>) => async (ctx: Context) => {
    const entity = await entityOf(ctx);
    await guarded(ctx, () => run(ctx, entity));
  };
  for (const base of [`${own}/saml`, `${own}/saml/t/:tid`]) {
    router.get(`${base}/metadata`, async (ctx: Context) => {
      const entity = await entityOf(ctx);
      const wantAuthnRequestsSigned = await settings.wantsSigned(entity.owner);
      answerMetadata(ctx, metadataXml(entity, await keys.published(), { wantAuthnRequestsSigned }));
    });
    router.get(`${base}/sso`, withEntity(singleSignOn));
    router.postWithoutCsrf(`${base}/sso`, withEntity(singleSignOn));
    router.get(`${base}/init`, withEntity(signInStart.initiated));
    router.get(`${base}/slo`, withEntity(singleLogout));
    router.postWithoutCsrf(`${base}/slo`, withEntity(singleLogout));
  }
  router.get(returnPath(own), (ctx: Context) => guarded(ctx, () => answer(ctx)));
  router.get(runPath(own), (ctx: Context) => guarded(ctx, () => incoming.run(ctx)));
  router.get(nextPath(own), (ctx: Context) => guarded(ctx, () => outgoing.next(ctx)));
  router.get(donePath(own), (ctx: Context) => guarded(ctx, () => incoming.done(ctx)));
}
