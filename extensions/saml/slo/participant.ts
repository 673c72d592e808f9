/**
 * Service providers as participants of a sign-out. Service providers are notified by the browser alone. So no service provider is notified of a session
 * that an administrator ends.
 */
import type { ExtensionContext, LogoutParticipant } from '../../../lib/extension-door.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import type { LogoutSequences } from './logout-sequence.js';
import { logoutServiceOf } from './messages.js';
import type { Participants } from './participants.js';

export const nextPath = (own: string): string => `${own}/saml/slo/next`;

export interface LogoutParts {
  readonly context: Pick<ExtensionContext, 'service'>;
  readonly activeServiceProviders: Pick<ActiveServiceProviders, 'get'>;
  readonly participants: Participants;
  readonly logoutSequences: LogoutSequences;
}

export function createLogoutParticipant({
  context: {
    service: { own, url },
  },
  activeServiceProviders,
  participants,
  logoutSequences,
}: LogoutParts): LogoutParticipant {
  return {
    async visit({ session }, next) {
      const staying = ((await participants.read(session))?.participants ?? []).filter(({ hasLeft }) => !hasLeft);
      if (staying.length === 0) return undefined;
      const reachable = new Set<string>();
      for (const id of new Set(staying.map(({ serviceProvider }) => serviceProvider))) {
        const serviceProvider = await activeServiceProviders.get(id);
        if (serviceProvider && logoutServiceOf(serviceProvider)) reachable.add(id);
      }
      const handle = await logoutSequences.begin({ session, participants: staying }, next, ({ serviceProvider }) =>
        reachable.has(serviceProvider),
      );
      await participants.ended(session, handle);
      return reachable.size === 0 ? undefined : `${url(nextPath(own))}?${new URLSearchParams({ logout: handle })}`;
    },

    async unanswered({ session }) {
      const { logout } = (await participants.read(session)) ?? {};
      return logout === undefined ? [] : ((await logoutSequences.unanswered(logout)) ?? []);
    },
  };
}
