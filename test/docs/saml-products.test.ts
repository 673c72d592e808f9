/** docs/saml-products.md: the admin API accepts each request body of the page. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { testKeyOf } from '../support/saml/keys/test-keys.js';
import { asAdministrator } from '../support/saml/service/administration.js';
import { useSamlService } from '../support/saml/service/use-saml-service.js';
import { pageAt } from './pages.js';

const page = pageAt('docs/saml-products.md');
const blocks = page.codeBlocks.filter(({ language }) => language === 'json').map(({ section, code }) => [section, code] as const);

describe('the settings of products and libraries', () => {
  let metadata: Server;
  let key: Awaited<ReturnType<typeof testKeyOf>>;
  beforeAll(async () => {
    key = await testKeyOf('product');
    metadata = createServer((request, response) => {
      const entityId = `https://product.example.com${request.url}`;
      response.setHeader('content-type', 'application/samlmetadata+xml');
      response.end(
        `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}"><md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${key.der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${entityId}/acs" index="0"/></md:SPSSODescriptor></md:EntityDescriptor>`,
      );
    });
    await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void metadata.close());
  const origin = () => `127.0.0.1:${(metadata.address() as AddressInfo).port}`;
  const service = useSamlService({ outgoing: { allowHosts: ['127.0.0.1'] } });

  test('are of five products and six libraries, each by its heading', () => {
    const products = ['GitLab', 'Slack', 'Grafana', 'Jenkins', 'Salesforce'];
    const libraries = page.table('Libraries', 'Library').map(([library]) => library);
    expect(libraries).toHaveLength(6);
    expect(blocks.map(([product]) => product)).toEqual([...products, ...libraries]);
  });

  test.each(blocks)('%s', async (product, json) => {
    const admin = await asAdministrator(service.issuer, 'acme');
    const { metadataUrl, ...given } = JSON.parse(json) as { readonly metadataUrl?: string };
    // The test serves the metadata, because the product does not run here. Each product has its own address, because two products may have
    // the same path.
    const at = metadataUrl === undefined ? {} : { metadataUrl: `http://${origin()}/${product}${new URL(metadataUrl).pathname}` };
    const {
      status,
      json: made,
      text,
    } = await admin.post(`/tenants/${await service.tid('Acme')}/saml-service-providers`, { ...given, ...at });
    expect([status, status === 201 ? '' : text]).toEqual([201, '']);
    expect(made).toMatchObject(given);
  });
});
