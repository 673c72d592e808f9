/** Issue 17, 2: the job that refreshes metadata once a day. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Extension } from 'tenant-idp/extension';
import { saml } from 'tenant-idp/extensions/saml';
import { serviceProviders } from '../../../extensions/saml/service-providers/records.js';
import type { Json } from '../../support/client/agent.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { asAdministrator, samlOptions } from '../../support/saml/service/administration.js';
import { ofInstance } from '../../support/saml/service-providers/given.js';
import { plain } from '../../support/saml/service-providers/metadata.js';
import { nextProvider } from '../../support/saml/service-providers/metadata-urls.js';
import { startIdp } from '../../support/service/idp.js';
import { until } from '../../support/time/until.js';

const host = useDocumentHost();
/** Answers of the host, by path. */
const documents: Record<string, string | number> = {};

test('metadata that is due is read anew by a job, each after the other’s failure too', async () => {
  const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
  const options = { ...samlOptions, artifacts, directory };
  const ids: string[] = [];
  /** Makes all service providers due. */
  const due: Extension = {
    name: 'due',
    async start({ records: { collection, collectionOfAllTenants } }) {
      for (const { id, tid } of await collectionOfAllTenants(serviceProviders).list())
        await collection(serviceProviders, tid).update(id, (row) => ({ ...row, refreshAt: new Date(0) }));
    },
  };
  // Slow answers show how many documents the job requests at the same time.
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const document = documents[request.url ?? ''] ?? 404;
    setTimeout(() => (typeof document === 'number' ? response.writeHead(document).end() : response.end(document)), 50);
  };
  host.answerBy(answer);
  const begun = await startIdp({ ...options, extensions: [saml()] });
  const all = Array.from({ length: 10 }, nextProvider);
  for (const { at, entityId } of all) documents[at] = plain({ entityId });
  const administrator = await asAdministrator(begun.issuer, 'root');
  for (const { at } of all) ids.push((await administrator.post(ofInstance, { metadataUrl: host.url + at })).json.id);
  await begun.close();

  for (const [index, { at, entityId }] of all.entries())
    documents[at] = index % 2 === 0 ? plain({ entityId, acs: 'https://new.example/acs' }) : 503;
  const later = await startIdp({ ...options, extensions: [saml(), due] });
  try {
    const client = await asAdministrator(later.issuer, 'root');
    const read = async (): Promise<readonly Json[]> =>
      (await Promise.all(ids.map((id) => client(`${ofInstance}/${id}`)))).map(({ json }) => json);
    const rows = await until(read, (found) =>
      found.every(({ source, assertionConsumerServices: [acs] }) => source.problem !== undefined || acs.url === 'https://new.example/acs'),
    );
    expect(rows.map(({ source }) => source.problem !== undefined)).toEqual(all.map((_, index) => index % 2 === 1));
    expect(host.mostUnderWay).toBeLessThanOrEqual(4);
  } finally {
    await later.close();
  }
});
