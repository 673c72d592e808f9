/** Messages for tests of the messages that the service sends. */
import type { Assertion, ResponseParts, ResponsePolicy } from '../../../../extensions/saml/messages/response.js';

export const idpEntityId = 'https://idp.example.com/idp/saml/metadata';
export const spEntityId = 'https://sp.example.com/metadata?a=1&b=2';
export const acsUrl = 'https://sp.example.com/acs?a=1&b="2"';

export const persistent = { value: 'pseudonym', format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' } as const;

export const signed: ResponsePolicy['serviceProvider'] = { signAssertion: true, signResponse: false, encryption: 'none' };

export const assertionOf = (parts: Partial<Assertion> = {}): Assertion => {
  const now = Date.now();
  return {
    nameId: persistent,
    audience: spEntityId,
    sessionIndex: 'session-1',
    authnInstant: now - 60_000,
    authnContextClassRef: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
    attributes: [
      { name: 'tid', values: ['acme'] },
      { name: 'urn:oid:2.5.4.42', friendlyName: 'givenName', values: ['Zoë'] },
      { name: 'role', values: ['admin', 'editor'] },
    ],
    notBefore: now - 60_000,
    notOnOrAfter: now + 300_000,
    ...parts,
  };
};

export const successOf = (assertion: Partial<Assertion> = {}, parts: Partial<ResponseParts> = {}): ResponseParts => ({
  entityId: idpEntityId,
  destination: acsUrl,
  inResponseTo: '_request',
  issuedAt: Date.now(),
  status: { code: 'Success' },
  assertion: assertionOf(assertion),
  ...parts,
});

export const errorParts: ResponseParts = {
  entityId: idpEntityId,
  destination: acsUrl,
  inResponseTo: '_request',
  issuedAt: Date.now(),
  status: { code: 'Responder', subCode: 'NoPassive', message: 'nobody is signed in & nobody was asked' },
};
