/** Applications that the browser signs in to at the end of an invitation. The sign-in pages show the client of the invitation, or its tenant. */
import type { ExtensionContext, InternalClients, LinkRef } from '../../lib/extension-door.js';
import { linkNameOf, linkRefOf } from './pages.js';

const PREFIX = 'invitations:';
const CREATE = 'create/';

/** Returns the id of the application of a tenant, or of a client in the tenant. */
export const applicationOf = (tid: string, clientId?: string): string => PREFIX + tid + (clientId === undefined ? '' : `/${clientId}`);

/** Returns the id of the application of a user who creates a personal account. The application exists while the invitation can be accepted. */
export const creationOf = (ref: LinkRef): string => `${PREFIX}${CREATE}${linkNameOf(ref)}`;

export function createApplications({
  service: { own, personalTenant },
  pages: { brandingOf },
  directory,
  limits: { rules },
}: ExtensionContext): InternalClients {
  const registration = { accounts: rules.invitationAccounts.of, forms: rules.invitationForms.of };
  return {
    async find(id) {
      const name = id.slice(PREFIX.length);
      const ref = name.startsWith(CREATE) ? linkRefOf(name.slice(CREATE.length)) : undefined;
      const opened = ref && (await directory.acceptance.open(ref));
      if (name.startsWith(CREATE) && (opened?.state !== 'pending' || opened.takes !== 'link' || personalTenant === undefined))
        return undefined;
      const [tid = '', ...rest] = opened
        ? [opened.tenant.id, ...(opened.clientId === undefined ? [] : [opened.clientId])]
        : name.split('/');
      const { tenant, client } = await brandingOf(tid, rest.length === 0 ? undefined : rest.join('/'));
      if (!tenant) return undefined;
      const styles = client?.styles ?? tenant.branding;
      const [clientId] = rest.length === 0 ? [] : [rest.join('/')];
      const eventMetadata = opened
        ? opened.eventMetadata
        : clientId !== undefined && { ClientId: clientId, ClientName: client?.name ?? clientId };
      return {
        name: client?.name ?? tenant.name,
        returnTo: `${own}/invitations/return`,
        isPage: true,
        ...(styles && { styles }),
        ...(opened && personalTenant !== undefined && { registration, allowedTenants: [personalTenant] }),
        ...(eventMetadata && { eventMetadata }),
      };
    },
  };
}
