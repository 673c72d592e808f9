/** For whom the browser signs in at the end of an invitation: to the pages, the client of the invitation or its organisation. */
import type { ExtensionContext, InternalClients } from '../../lib/extension-door.js';

const PREFIX = 'invitations:';

/** The id of the application of a tenant, or of a client in the tenant. */
export const applicationOf = (tid: string, clientId?: string): string => PREFIX + tid + (clientId === undefined ? '' : `/${clientId}`);

export function createApplications({ own, brandingOf }: ExtensionContext): InternalClients {
  return {
    async find(id) {
      const [tid = '', ...rest] = id.slice(PREFIX.length).split('/');
      const { tenant, client } = await brandingOf(tid, rest.length === 0 ? undefined : rest.join('/'));
      if (!tenant) return undefined;
      const styles = client?.styles ?? tenant.branding;
      return { name: client?.name ?? tenant.name, returnTo: `${own}/invitations/return`, ...(styles && { styles }) };
    },
  };
}
