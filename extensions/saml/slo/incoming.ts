/** Logout requests of service providers, and their answers. @see SAML Profiles §4.4.3.1, SAML Core §3.7.3.2 */
import { type ArtifactKind, type Context, type ExtensionContext, present, redirectByGet } from '../../../lib/extension-door.js';
import type { Entities } from '../entities/entity.js';
import type { ReceivedOf } from '../front-door/front-door.js';
import { storeUnderHandle } from '../handles.js';
import type { LogoutRequest } from '../messages/inbound.js';
import { logoutResponseXml } from '../messages/logout.js';
import { RefusedMessage } from '../messages/refused.js';
import { type Status, unknownPrincipal } from '../messages/status.js';
import type { Pages } from '../pages.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import type { ServiceProvider } from '../service-providers/records.js';
import type { LogoutSequences } from './logout-sequence.js';
import { logoutServiceOf, type SendLogout } from './messages.js';
import type { Participants } from './participants.js';

/** A logout request that waits for the browser's cookies, and then for its answer. */
interface PendingLogout extends Pick<LogoutRequest, 'id' | 'nameId' | 'sessionIndexes'> {
  /** Id of the service provider. */
  readonly serviceProvider: string;
  readonly relayState?: string;
  /** Name of the session that ended, and id of its user. */
  readonly session?: string;
  readonly user?: string;
}

/** Stored logout requests. The lifetime is longer than a logout at other service providers takes. */
export const pendingLogouts: ArtifactKind = { name: 'saml.leaving', lifetimeSeconds: 3600, once: true };

const base = (own: string): string => `${own}/saml/slo`;
/** Paths to which the browser brings its cookies, and to which it returns after the sign-out at other service providers. */
export const runPath = (own: string): string => `${base(own)}/run`;
export const donePath = (own: string): string => `${base(own)}/done`;

export interface IncomingParts {
  readonly context: Pick<ExtensionContext, 'records' | 'service' | 'signIn' | 'sessions' | 'http'>;
  readonly activeServiceProviders: Pick<ActiveServiceProviders, 'get'>;
  readonly entities: Entities;
  readonly participants: Participants;
  readonly logoutSequences: LogoutSequences;
  readonly send: SendLogout;
  readonly pages: Pages;
}

/** Handles logouts that service providers request. */
export class IncomingLogouts {
  readonly #parts: IncomingParts;

  constructor(parts: IncomingParts) {
    this.#parts = parts;
  }

  /** Stores the request and redirects to a GET. Browsers send cookies with that GET, but not with a POST from another site. */
  async requested(ctx: Context, { message, serviceProvider, relayState }: ReceivedOf<LogoutRequest>): Promise<void> {
    const { own } = this.#parts.context.service;
    const { id, nameId, sessionIndexes } = message;
    const request = { serviceProvider: serviceProvider.id, id, nameId, sessionIndexes, ...present({ relayState }) };
    redirectByGet(ctx, await this.#urlFor(runPath(own), request));
  }

  /** Ends the session of the browser if the request is about its user. @throws RefusedMessage */
  async run(ctx: Context): Promise<void> {
    const { context, participants } = this.#parts;
    const { signIn, sessions, service } = context;
    const pending = await this.#take(ctx);
    if (!pending) return;
    const { request, serviceProvider } = pending;
    const here = await signIn.toEnd(ctx);
    if (!here) {
      await sessions.signOut(ctx, {});
      return this.#answer(ctx, serviceProvider, request, { code: 'Success' });
    }
    const { session, oid: user } = here;
    if (!(await participants.isAbout(here, serviceProvider, request)))
      return this.#answer(ctx, serviceProvider, { ...request, session, user }, unknownPrincipal);
    await participants.leave(session, serviceProvider);
    const canAnswer = logoutServiceOf(serviceProvider) !== undefined;
    const next = await this.#urlFor(donePath(service.own), { ...request, session, user });
    // Without an address for the answer, the sign-out ends on a page. If a concurrent request ended the session, that request notifies the other service
    // providers.
    const onward = await sessions.signOut(ctx, { session, ...(canAnswer ? { next } : {}) });
    redirectByGet(ctx, onward ?? next);
  }

  /** Answers the service provider after all other service providers were asked. @throws RefusedMessage */
  async done(ctx: Context): Promise<void> {
    const pending = await this.#take(ctx);
    if (!pending) return;
    const { request, serviceProvider } = pending;
    const isPartial = await this.#isPartial(request.session);
    return this.#answer(ctx, serviceProvider, request, { code: 'Success', ...(isPartial ? { subCode: 'PartialLogout' as const } : {}) });
  }

  async #urlFor(path: string, request: PendingLogout): Promise<string> {
    const { records, service } = this.#parts.context;
    const handle = await storeUnderHandle(records, pendingLogouts, request);
    return `${service.url(path)}?${new URLSearchParams({ request: handle })}`;
  }

  /**
   * Returns a stored request once, with its service provider. Shows a page and returns undefined if the request has expired.
   * @throws RefusedMessage `unknown_service_provider` if the service provider was removed or disabled
   */
  async #take(ctx: Context): Promise<{ readonly request: PendingLogout; readonly serviceProvider: ServiceProvider } | undefined> {
    const { context, activeServiceProviders, pages } = this.#parts;
    const { request: handle } = ctx.query;
    const isHandle = typeof handle === 'string' && handle !== '';
    const request = isHandle ? ((await context.records.artifact(pendingLogouts).take(handle)) as PendingLogout | undefined) : undefined;
    if (!request) {
      await pages.expired(ctx);
      return undefined;
    }
    const serviceProvider = await activeServiceProviders.get(request.serviceProvider);
    if (!serviceProvider) throw new RefusedMessage('unknown_service_provider', { serviceProviderId: request.serviceProvider });
    return { request, serviceProvider };
  }

  async #answer(ctx: Context, serviceProvider: ServiceProvider, request: PendingLogout, status: Status): Promise<void> {
    const { context, entities, send, pages } = this.#parts;
    const { logger, now } = context.service;
    const { id, relayState, user, session } = request;
    const { code, subCode } = status;
    const about = { user, session, inResponseTo: id };
    logger.info(
      { requestId: context.http.requestId(ctx), serviceProvider: serviceProvider.id, status: code, subStatus: subCode, ...about },
      'saml.logout.response',
    );
    const service = logoutServiceOf(serviceProvider);
    if (!service) return code === 'Success' ? pages.signedOut(ctx) : pages.refused(ctx, 'unknown_principal');
    const { entityId } = entities.ofOwner(serviceProvider.tid);
    await send(
      ctx,
      serviceProvider,
      service,
      'SAMLResponse',
      (destination, signer) => logoutResponseXml({ entityId, destination, issuedAt: now(), inResponseTo: id, status }, signer),
      relayState,
    );
  }

  /** Returns whether another service provider did not confirm its sign-out. */
  async #isPartial(session: string | undefined): Promise<boolean> {
    const { participants, logoutSequences } = this.#parts;
    const { logout } = (session === undefined ? undefined : await participants.read(session)) ?? {};
    return logout !== undefined && (await logoutSequences.unanswered(logout))?.length !== 0;
  }
}
