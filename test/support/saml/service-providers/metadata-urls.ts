/** Service providers whose metadata is read from its URL: the host that answers there, and calls of an administrator. */
import { beforeAll } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import type { AdminClient } from '../../administration/admin.js';
import { useDocumentHost } from '../../client/receivers/document-host.js';
import { asAdministrator, useSaml } from '../service/administration.js';
import { ofInstance } from './given.js';

let made = 0;
/** Returns the entityID of a new service provider, and the path of its metadata. */
export const nextProvider = () => {
  made += 1;
  return { at: `/sp${made}`, entityId: `https://sp${made}.example` };
};

/** Starts a service, an administrator's client, and a host of metadata, for the tests of a file. */
export function useMetadataUrls() {
  const host = useDocumentHost();
  const service = useSaml(() => ({ extensions: [saml()] }));
  const administrator: { root?: AdminClient } = {};
  /** Answers of the host by path: a document, or a status without one. */
  const documents: Record<string, string | Buffer | number> = {};
  beforeAll(async () => {
    administrator.root = await asAdministrator(service.issuer, 'root');
    host.answerBy((request, response) => {
      const document = documents[request.url ?? ''] ?? 404;
      if (typeof document === 'number') response.writeHead(document, { location: '/elsewhere' }).end();
      else response.writeHead(200, { 'content-type': 'application/samlmetadata+xml' }).end(document);
    });
  });
  const root = (): AdminClient => administrator.root as AdminClient;
  return {
    service,
    host,
    documents,
    root,
    register: (at: string, more: object = {}) => root().post(ofInstance, { metadataUrl: host.url + at, ...more }),
    refresh: (id: string) => root().post(`${ofInstance}/${id}/refresh`),
    problemsOf: async (id: string): Promise<readonly string[]> =>
      (await service.idp.health()).problems.filter((problem) => problem.id === id).map(({ code }) => code),
    /** Returns the number of events about changes of the service provider. */
    updatesOf: async (id: string): Promise<number> =>
      (await service.idp.directory.eventFeed.read({ types: ['ServiceProviderUpdated'] })).events.filter(({ subject }) => subject === id)
        .length,
  };
}
