/** Logout requests to service providers, and their answers. @see SAML Profiles §4.4.3.3, §4.4.3.4 */
import { type Context, type ExtensionContext, redirectByGet } from '../../../lib/extension-door.js';
import type { Entities } from '../entities/entity.js';
import type { ReceivedOf } from '../front-door/front-door.js';
import type { LogoutResponse } from '../messages/inbound.js';
import { logoutRequestXml } from '../messages/logout.js';
import { RefusedMessage } from '../messages/refused.js';
import { statusUri } from '../messages/status.js';
import type { Pages } from '../pages.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import type { LogoutSequences } from './logout-sequence.js';
import { createLogoutSequenceCookie } from './logout-sequence-cookie.js';
import { logoutServiceOf, type SendLogout } from './messages.js';
import { nextPath } from './participant.js';

/** Milliseconds that a LogoutRequest is valid. */
const VALID_MS = 300_000;

export interface OutgoingParts {
  readonly context: Pick<ExtensionContext, 'http' | 'service'>;
  readonly activeServiceProviders: Pick<ActiveServiceProviders, 'get'>;
  readonly entities: Entities;
  readonly logoutSequences: LogoutSequences;
  readonly send: SendLogout;
  readonly pages: Pages;
}

export function createOutgoing({ context, activeServiceProviders, entities, logoutSequences, send, pages }: OutgoingParts) {
  const {
    service: { now, own, url, logger },
    http: { requestId },
  } = context;
  const cookie = createLogoutSequenceCookie(context);
  const onward = (handle: string): string => `${url(nextPath(own))}?${new URLSearchParams({ logout: handle })}`;

  return {
    /** Asks the next service provider, or redirects to the end of the logout. A browser that returns without an answer gets the next step. */
    async next(ctx: Context): Promise<void> {
      const { logout: handle } = ctx.query;
      if (typeof handle !== 'string' || handle === '') return pages.expired(ctx);
      let secrets = cookie.read(ctx, handle);
      for (;;) {
        const advance = await logoutSequences.advance(handle, secrets);
        if (!advance) return pages.expired(ctx);
        const { step, next, newSecret } = advance;
        if (newSecret !== undefined) {
          cookie.write(ctx, handle, newSecret);
          secrets = [newSecret];
        }
        if (!step) return redirectByGet(ctx, next);
        const serviceProvider = await activeServiceProviders.get(step.serviceProvider);
        const service = serviceProvider && logoutServiceOf(serviceProvider);
        // A service provider that was removed or disabled since the logout began counts as a service provider that did not answer.
        if (!serviceProvider || !service) continue;
        const { nameId, sessionIndex, requestId: id } = step;
        const { entityId } = entities.ofOwner(serviceProvider.tid);
        const issuedAt = now();
        return send(ctx, serviceProvider, service, 'SAMLRequest', (destination, signer) =>
          logoutRequestXml({ entityId, destination, issuedAt, nameId, sessionIndex, id, notOnOrAfter: issuedAt + VALID_MS }, signer),
        );
      }
    },

    /** Records an answer and continues the logout. @throws RefusedMessage `not_pending` if no request of this service provider waits for the answer */
    async answered(ctx: Context, { message, serviceProvider }: ReceivedOf<LogoutResponse>): Promise<void> {
      const { inResponseTo, status, subStatus } = message;
      const isDone = status === statusUri('Success') && subStatus !== statusUri('PartialLogout');
      const answered = await logoutSequences.answered(inResponseTo, serviceProvider.id, isDone);
      if (!answered) throw new RefusedMessage('not_pending');
      const { handle, user, session } = answered;
      const about = { user, session, inResponseTo };
      logger.info({ requestId: requestId(ctx), serviceProvider: serviceProvider.id, status, subStatus, ...about }, 'saml.logout.answered');
      redirectByGet(ctx, onward(handle));
    },
  };
}
