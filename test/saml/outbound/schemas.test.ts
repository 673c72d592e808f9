/** Issue 17: sent messages and metadata validate against the schemas of OASIS and W3C. */
import { beforeAll, expect, test } from '@jest/globals';
import { createEntities } from '../../../extensions/saml/entities/entity.js';
import { metadataXml } from '../../../extensions/saml/entities/metadata.js';
import { logoutRequestXml, logoutResponseXml } from '../../../extensions/saml/messages/logout.js';
import { responseXml } from '../../../extensions/saml/messages/response.js';
import { describeInstalled } from '../../servers/installed.js';
import { type TestKey, testKeyOf } from '../../support/saml/keys/test-keys.js';
import { acsUrl, errorParts, idpEntityId, persistent, signed, successOf } from '../../support/saml/outbound/messages.js';
import { schemaPackages, validate } from '../../support/saml/outbound/schemas.js';

let key: TestKey;
let next: TestKey;
beforeAll(async () => {
  key = await testKeyOf('idp.example.com');
  next = await testKeyOf('next.example.com');
});

const all = { ...signed, signResponse: true };
const success = (assertion = {}, serviceProvider: typeof signed = signed) =>
  responseXml(successOf(assertion), { signer: key.signer, serviceProvider });

const logout = { entityId: idpEntityId, destination: acsUrl };
const entities = createEntities({
  service: { url: (path) => `https://idp.example.com${path}`, own: '/idp' },
  records: { ofInstance: '*' },
});
const metadata = (owner: string, wantAuthnRequestsSigned: boolean) =>
  metadataXml(
    entities.ofOwner(owner),
    [
      { id: '1', certificate: key.der, state: 'active' },
      { id: '2', certificate: next.der, state: 'next' },
    ],
    { wantAuthnRequestsSigned },
  );

describeInstalled('the schemas of OASIS', schemaPackages, () => {
  test.each<[string, () => string]>([
    ['a Response', () => success()],
    ['a Response that is signed twice', () => success({}, all)],
    ['a Response without attributes, with an end of the session', () => success({ attributes: [], sessionNotOnOrAfter: Date.now() })],
    [
      'a Response with all that a NameID may have, and names of all formats',
      () =>
        success({
          nameId: { ...persistent, nameQualifier: idpEntityId, spNameQualifier: 'https://sp' },
          attributes: (['uri', 'basic', 'unspecified'] as const).map((format) => ({
            name: `n ${format}`,
            format,
            friendlyName: 'N',
            values: [''],
          })),
        }),
    ],
    ['an encrypted Response', () => success({}, { ...all, encryption: 'aes256-gcm', encryptionCertificate: key.der })],
    ['an error Response', () => responseXml(errorParts, { signer: key.signer, serviceProvider: signed })],
    [
      'an error Response of one level',
      () => responseXml({ ...errorParts, status: { code: 'VersionMismatch' } }, { signer: key.signer, serviceProvider: signed }),
    ],
    [
      'a LogoutRequest',
      () =>
        logoutRequestXml(
          { ...logout, issuedAt: Date.now(), id: '_1', nameId: persistent, sessionIndex: 's', notOnOrAfter: Date.now() },
          key.signer,
        ),
    ],
    [
      'a LogoutRequest for Redirect',
      () => logoutRequestXml({ ...logout, issuedAt: Date.now(), id: '_1', nameId: persistent, sessionIndex: 's', notOnOrAfter: 0 }),
    ],
    [
      'a LogoutResponse',
      () => logoutResponseXml({ ...logout, issuedAt: Date.now(), inResponseTo: '_1', status: { code: 'Success' } }, key.signer),
    ],
    [
      'a LogoutResponse for Redirect',
      () =>
        logoutResponseXml({
          ...logout,
          issuedAt: Date.now(),
          inResponseTo: '_1',
          status: { code: 'Requester', subCode: 'UnknownPrincipal', message: 'who?' },
        }),
    ],
    ['metadata of the instance', () => metadata('*', false)],
    ['metadata of a tenant', () => metadata('0197a000-0000-7000-8000-000000000001', true)],
  ])('%s', (_, write) => validate(write()));

  test('the schemas find faults: an attribute that is not a date, an element out of order', () => {
    expect(() => validate(success().replace(/NotBefore="[^"]+"/, 'NotBefore="now"'))).toThrow(/dateTime/);
    expect(() => validate(metadata('*', false).replace(/<md:NameIDFormat>.*<\/md:NameIDFormat>/, ''))).not.toThrow();
    expect(() => validate(metadata('*', false).replace('<md:KeyDescriptor use="signing">', '<md:KeyDescriptor use="other">'))).toThrow(
      /use/,
    );
    expect(() => validate(success().replace(/(<samlp:Status>.*<\/samlp:Status>)(.*)(<\/samlp:Response>)/, '$2$1$3'))).toThrow(/Assertion/);
  });
});
