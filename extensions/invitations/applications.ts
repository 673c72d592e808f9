/** For whom the browser signs in at the end of an invitation: to the pages, the client of the invitation or its organisation. */
import type { ExtensionContext, InternalClient, InternalClients } from '../../lib/extension-door.js';

const PREFIX = 'invitations:';

/** The id of the application of a tenant, or of a client in the tenant. */
export const applicationOf = (tid: string, clientId?: string): string => PREFIX + tid + (clientId === undefined ? '' : `/${clientId}`);

/** Applications that are remembered. */
const MOST = 1000;

export function createApplications({ own, brandingOf }: ExtensionContext): InternalClients {
  /** The same object as long as nothing of it changes. */
  const known = new Map<string, InternalClient>();
  return {
    async find(id) {
      const [tid = '', ...rest] = id.slice(PREFIX.length).split('/');
      const { tenant, client } = await brandingOf(tid, rest.length === 0 ? undefined : rest.join('/'));
      if (!tenant) return undefined;
      const styles = client?.styles ?? tenant.branding;
      const found: InternalClient = {
        name: client?.name ?? tenant.name,
        returnTo: `${own}/invitations/return`,
        ...(styles && { styles }),
      };
      const key = JSON.stringify([id, found]);
      const same = known.get(key);
      if (same) return same;
      if (known.size >= MOST) known.clear();
      known.set(key, found);
      return found;
    },
  };
}
