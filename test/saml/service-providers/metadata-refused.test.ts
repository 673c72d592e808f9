/** Issue 17, 2: unusable metadata of service providers, and the errors for it. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { asAdministrator, useSaml } from '../../support/saml/service/administration.js';
import { plain } from '../../support/saml/service-providers/metadata.js';

const service = useSaml(() => ({ extensions: [saml()] }));
let root: AdminClient;
let acmeId: string | undefined;
beforeAll(async () => {
  root = await asAdministrator(service.issuer, 'root');
  acmeId = (await tenantIds(root)).Acme;
});

const register = (metadata: string, more: object = {}) =>
  root.post('/saml-service-providers', { metadata, allowedTenants: [acmeId], ...more });

describe('metadata is refused, and where it is wrong is told:', () => {
  const idp = '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/>';
  const without = (part: RegExp, to = '') => plain().replace(part, to);
  const deep = `${'<a>'.repeat(40)}${'</a>'.repeat(40)}`;

  test.each<[string, () => string, string, RegExp]>([
    ['no XML', () => 'https://sp.example/metadata', 'document', /well-formed/],
    ['JSON', () => '{"entityID":"x"}', 'document', /well-formed/],
    ['XML that ends too early', () => plain().slice(0, -10), 'document', /well-formed/],
    ['two roots', () => plain() + plain(), 'document', /well-formed/],
    ['a DTD', () => `<!DOCTYPE md:EntityDescriptor>${plain()}`, 'document', /DTD/],
    ['an entity', () => `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>${plain({ entityId: '&a;' })}`, 'document', /DTD/],
    ['an entity of nobody', () => plain({ entityId: 'https://sp.example/&nbsp;' }), 'document', /entity/],
    ['CDATA', () => plain({ inside: '<![CDATA[x]]>' }), 'document', /CDATA/],
    ['a processing instruction within', () => plain({ inside: '<?php a?>' }), 'document', /processing/],
    ['an ID twice', () => plain({ around: 'ID="a"', flags: 'ID="a"' }), 'document', /once/],
    ['40 elements deep', () => plain({ inside: deep }), 'document', /deep/],
    ['5000 elements', () => plain({ inside: '<a/>'.repeat(5000) }), 'document', /5000/],
    ['a page', () => '<html><body>Sign in</body></html>', 'document', /EntityDescriptor/],
    ['another namespace', () => plain().replaceAll('SAML:2.0:metadata', 'SAML:2.0:assertion'), 'document', /EntityDescriptor/],
    ['an aggregate of nothing', () => '<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"/>', 'document', /EntityDescriptor/],
    ['no entityID', () => without(/entityID="[^"]*"/), 'EntityDescriptor/@entityID', /visible/],
    ['an entityID with a space', () => plain({ entityId: 'my app' }), 'EntityDescriptor/@entityID', /visible/],
    ['an entityID of 1025 characters', () => plain({ entityId: 'x'.repeat(1025) }), 'EntityDescriptor/@entityID', /1024/],
    ['an identity provider’s', () => without(/<md:SPSSODescriptor.*SPSSODescriptor>/, idp), 'document', /SPSSODescriptor/],
    [
      'SAML 1.1 alone',
      () => plain().replace('SAML:2.0:protocol', 'SAML:1.1:protocol'),
      'SPSSODescriptor[0]/@protocolSupportEnumeration',
      /2\.0/,
    ],
    ['two descriptors', () => without(/(<md:SPSSODescriptor.*SPSSODescriptor>)/, '$1$1'), 'document', /there are 2/],
    ['no ACS', () => without(/<md:Assertion[^>]*>/), 'SPSSODescriptor[0]', /HTTP-POST/],
    ['ACS by Artifact alone', () => plain().replace('HTTP-POST', 'HTTP-Artifact'), 'SPSSODescriptor[0]', /HTTP-POST/],
    ['an http ACS', () => plain({ acs: 'http://sp.example/acs' }), 'SPSSODescriptor[0]/AssertionConsumerService[0]/@Location', /https/],
    [
      'an ACS with credentials',
      () => plain({ acs: 'https://a:b@sp.example' }),
      'SPSSODescriptor[0]/AssertionConsumerService[0]/@Location',
      /credentials/,
    ],
    ['a script as ACS', () => plain({ acs: 'javascript:alert(1)' }), 'SPSSODescriptor[0]/AssertionConsumerService[0]/@Location', /https/],
    ['an ACS without Location', () => without(/Location="[^"]*"/), 'SPSSODescriptor[0]/AssertionConsumerService[0]/@Location', /URL/],
    [
      'an ACS of 1025 characters',
      () => plain({ acs: `https://sp.example/${'x'.repeat(1007)}` }),
      'SPSSODescriptor[0]/AssertionConsumerService[0]/@Location',
      /1024/,
    ],
    ['AuthnRequestsSigned="si"', () => plain({ flags: 'AuthnRequestsSigned="si"' }), 'SPSSODescriptor[0]/@AuthnRequestsSigned', /boolean/],
    [
      'signed requests without a key',
      () => plain({ flags: 'AuthnRequestsSigned="true"' }),
      'SPSSODescriptor[0]',
      /KeyDescriptor for signing/,
    ],
    [
      'a validUntil that has passed',
      () => plain({ around: 'validUntil="2020-01-01T00:00:00Z"' }),
      'EntityDescriptor/@validUntil',
      /in the future/,
    ],
    [
      'a descriptor that is over',
      () => plain({ flags: 'validUntil="2020-01-01T00:00:00Z"' }),
      'SPSSODescriptor[0]/@validUntil',
      /in the future/,
    ],
    ['a validUntil of no day', () => plain({ around: 'validUntil="2090-02-30T00:00:00Z"' }), 'EntityDescriptor/@validUntil', /instant/],
  ])('%s', async (_, metadata, place, expected) => {
    const { status, json } = await register(metadata());
    expect([status, json.code, json.errors?.length]).toEqual([422, 'metadata_invalid', 1]);
    const [error] = json.errors;
    expect([error.pointer, error.expected.split(': ')[0]]).toEqual(['/metadata', place]);
    expect(error.expected).toMatch(expected);
  });

  test('all places at once', async () => {
    const { json } = await register(plain({ entityId: 'my app', acs: 'http://sp.example', flags: 'WantAssertionsSigned="si"' }));
    expect(json.errors.map(({ expected }: Json) => expected.split(': ')[0])).toEqual([
      'EntityDescriptor/@entityID',
      'SPSSODescriptor[0]/AssertionConsumerService[0]/@Location',
      'SPSSODescriptor[0]/@WantAssertionsSigned',
    ]);
  });

  test('with assertions that it wants signed, and an administrator who does not', async () => {
    const { json } = await register(plain({ flags: 'WantAssertionsSigned="1"' }), { signAssertion: false, signResponse: true });
    expect(json).toMatchObject({ code: 'invalid_record', errors: [{ pointer: '/signAssertion' }] });
  });

  test('for what the administrator asks of it beyond the document', async () => {
    const { json } = await register(plain(), { requireSignedRequests: true });
    expect(json).toMatchObject({ code: 'invalid_record', errors: [{ pointer: '/signingCertificates' }] });
  });
});
