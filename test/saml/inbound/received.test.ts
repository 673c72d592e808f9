/** Members of accepted messages: SAML Core §3.4.1, §3.7. Includes messages that other products wrote. */

import { beforeAll, describe, expect, test } from '@jest/globals';
import { SAML } from '@node-saml/node-saml';
import { acsOf } from '../../../extensions/saml/sso/acs.js';
import { sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { lax, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import { authnRequest, instant, logoutRequest, logoutResponse, newId, redirectQuery } from '../../support/saml/inbound/sent-messages.js';
import { pemOf } from '../../support/saml/keys/test-keys.js';

const door = useFrontDoor();
const format = (name: string) => `urn:oasis:names:tc:SAML:${name}`;

describe('SAML Core §3.4.1: AuthnRequest', () => {
  const read = (parts: Partial<Parameters<typeof authnRequest>[0]>) =>
    sendRedirect(door.at().sso, redirectQuery(authnRequest({ issuer: lax, ...parts })));

  test('with everything that is read', async () => {
    const id = newId();
    const issueInstant = instant(-5);
    const outcome = await read({
      id,
      issueInstant,
      attributes: `ForceAuthn="1" IsPassive=" true " ProtocolBinding="${format('2.0:bindings:HTTP-Artifact')}" AssertionConsumerServiceURL="${lax}/acs" ProviderName="Wiki" AttributeConsumingServiceIndex="7" Consent="${format('2.0:consent:unspecified')}"`,
      body: `<samlp:Extensions><any xmlns="u:any" a="b">text</any></samlp:Extensions>
        <saml:Subject>
          <saml:NameID Format="${format('1.1:nameid-format:emailAddress')}" NameQualifier="q" SPNameQualifier="${lax}"> alice@acme.test
          </saml:NameID>
        </saml:Subject>
        <samlp:NameIDPolicy Format="${format('2.0:nameid-format:persistent')}" SPNameQualifier="${lax}" AllowCreate="true"/>
        <saml:Conditions/>
        <samlp:RequestedAuthnContext Comparison="minimum">
          <saml:AuthnContextClassRef>${format('2.0:ac:classes:Password')}</saml:AuthnContextClassRef>
          <saml:AuthnContextClassRef>https://refeds.org/profile/mfa</saml:AuthnContextClassRef>
        </samlp:RequestedAuthnContext>
        <samlp:Scoping ProxyCount="0"/>`,
    });
    expect(outcome).toEqual({
      binding: 'redirect',
      isSigned: false,
      serviceProviderId: 'lax',
      acs: { url: `${lax}/acs`, index: 0 },
      message: {
        kind: 'AuthnRequest',
        id,
        issuer: lax,
        issuedAt: Date.parse(issueInstant),
        forceAuthn: true,
        isPassive: true,
        acsUrl: `${lax}/acs`,
        protocolBinding: format('2.0:bindings:HTTP-Artifact'),
        nameIdFormat: format('2.0:nameid-format:persistent'),
        spNameQualifier: lax,
        subject: { value: 'alice@acme.test', format: format('1.1:nameid-format:emailAddress'), nameQualifier: 'q', spNameQualifier: lax },
        requestedAuthnContext: {
          comparison: 'minimum',
          classRefs: [format('2.0:ac:classes:Password'), 'https://refeds.org/profile/mfa'],
          hasDeclarations: false,
        },
      },
    });
  });

  test('with nothing that may be left out', async () => {
    const id = newId();
    expect(await read({ id })).toMatchObject({ message: { kind: 'AuthnRequest', id, issuer: lax, forceAuthn: false, isPassive: false } });
    const { message } = (await read({})) as { readonly message: object };
    expect(Object.keys(message).sort()).toEqual(['forceAuthn', 'id', 'isPassive', 'issuedAt', 'issuer', 'kind']);
  });

  test.each([
    ['true', true],
    ['1', true],
    [' true ', true],
    ['&#x31;', true],
    ['false', false],
    ['0', false],
  ])('xs:boolean %j', async (value, forceAuthn) => {
    expect(await read({ attributes: `ForceAuthn="${value}"` })).toMatchObject({ message: { forceAuthn } });
  });

  test('RequestedAuthnContext: by default exact; declarations are told; nothing else', async () => {
    const asked = (content: string, attributes = '') =>
      read({ body: `<samlp:RequestedAuthnContext ${attributes}>${content}</samlp:RequestedAuthnContext>` });
    const classRef = '<saml:AuthnContextClassRef>a</saml:AuthnContextClassRef>';
    const declaration = '<saml:AuthnContextDeclRef>b</saml:AuthnContextDeclRef>';
    expect(await asked(classRef)).toMatchObject({
      message: { requestedAuthnContext: { comparison: 'exact', classRefs: ['a'], hasDeclarations: false } },
    });
    expect(await asked(declaration)).toMatchObject({ message: { requestedAuthnContext: { classRefs: [], hasDeclarations: true } } });
    for (const [content, attributes] of [
      ['', ''],
      [classRef + declaration, ''],
      [classRef, 'Comparison="most"'],
      [`${classRef}<saml:a/>`, ''],
    ] as const)
      expect(await asked(content, attributes)).toMatchObject({ reason: 'xml_structure', place: 'RequestedAuthnContext' });
  });

  test('a subject that is encrypted, or named in another way', async () => {
    for (const name of ['EncryptedID', 'BaseID'])
      expect(await read({ body: `<saml:Subject><saml:${name}/></saml:Subject>` })).toMatchObject({ reason: 'encrypted_id_unsupported' });
    const { message } = (await read({ body: '<saml:Subject><saml:SubjectConfirmation Method="a"/></saml:Subject>' })) as {
      readonly message: object;
    };
    expect(message).not.toHaveProperty('subject');
  });
});

describe('SAML Core §3.7: logout', () => {
  const send = (xml: string, parameter: 'SAMLRequest' | 'SAMLResponse') =>
    sendRedirect(door.at().slo, redirectQuery(xml, { by: door.keys.wiki, parameter }));
  const request = (body: string, attributes = '') =>
    send(logoutRequest({ issuer: wiki, destination: door.at().slo, body, attributes }), 'SAMLRequest');
  const response = (body: string, attributes = 'InResponseTo="_1"') =>
    send(logoutResponse({ issuer: wiki, destination: door.at().slo, body, attributes }), 'SAMLResponse');
  const name = '<saml:NameID>alice</saml:NameID>';

  test('a request, with sessions and without', async () => {
    expect(await request(name)).toMatchObject({
      isSigned: true,
      message: { kind: 'LogoutRequest', nameId: { value: 'alice' }, sessionIndexes: [] },
    });
    const sessions = '<samlp:SessionIndex>one</samlp:SessionIndex><samlp:SessionIndex> two </samlp:SessionIndex>';
    expect(await request(name + sessions, 'Reason="urn:a"')).toMatchObject({ message: { sessionIndexes: ['one', 'two'] } });
  });

  test.each([
    ['nobody', '', 'xml_structure'],
    ['two', name + name, 'xml_structure'],
    ['an empty name', '<saml:NameID> </saml:NameID>', 'xml_structure'],
    ['an element in the name', '<saml:NameID>alice<b/></saml:NameID>', 'xml_structure'],
    ['an encrypted name', '<saml:EncryptedID/>', 'encrypted_id_unsupported'],
    ['both', `${name}<saml:EncryptedID/>`, 'encrypted_id_unsupported'],
    ['a session before the name', `<samlp:SessionIndex>a</samlp:SessionIndex>${name}`, 'xml_structure'],
  ])('a request about %s', async (_name, body, reason) => {
    expect(await request(body)).toMatchObject({ reason, serviceProviderId: 'wiki' });
  });

  test('a response, with a second status and without', async () => {
    const status = (code: string) => `<samlp:Status>${code}<samlp:StatusMessage>no</samlp:StatusMessage></samlp:Status>`;
    expect(await response(status('<samlp:StatusCode Value="a"/>'))).toMatchObject({
      message: { kind: 'LogoutResponse', inResponseTo: '_1', status: 'a' },
    });
    const partial = status('<samlp:StatusCode Value="a"><samlp:StatusCode Value="b"/></samlp:StatusCode>');
    expect(await response(partial)).toMatchObject({ message: { status: 'a', subStatus: 'b' } });
  });

  test.each([
    ['no status', '', 'InResponseTo="_1"', 'xml_structure'],
    ['a status without a code', '<samlp:Status/>', 'InResponseTo="_1"', 'xml_structure'],
    ['a code without a value', '<samlp:Status><samlp:StatusCode/></samlp:Status>', 'InResponseTo="_1"', 'xml_structure'],
    ['nothing that it answers', '<samlp:Status><samlp:StatusCode Value="a"/></samlp:Status>', '', 'xml_structure'],
    ['something else that it answers', '<samlp:Status><samlp:StatusCode Value="a"/></samlp:Status>', 'InResponseTo="a b"', 'message_id'],
  ])('a response with %s', async (_name, body, attributes, reason) => {
    expect(await response(body, attributes)).toMatchObject({ reason });
  });
});

describe('SAML Metadata §2.2.3: which place is the default', () => {
  const places = (...defaults: readonly (boolean | undefined)[]) => ({
    assertionConsumerServices: defaults.map((isDefault, index) => ({
      url: `u:${index}`,
      index,
      ...(isDefault === undefined ? {} : { isDefault }),
    })),
  });
  test.each([
    ['the first that says so', places(undefined, true, true), 1],
    ['the first that does not say that it is not', places(false, undefined, undefined), 1],
    ['the first', places(false, false), 0],
  ])('%s', (_name, serviceProvider, index) => {
    expect(acsOf(serviceProvider).index).toBe(index);
  });
});

describe('as @node-saml/node-saml sends them', () => {
  let sp: { readonly redirect: SAML; readonly post: SAML; readonly plainPost: SAML };
  const user = { issuer: 'idp', nameID: 'alice', nameIDFormat: format('2.0:nameid-format:persistent'), sessionIndex: 'one' };
  beforeAll(() => {
    const privateKey = String(door.keys.wiki.key.export({ type: 'pkcs8', format: 'pem' }));
    const options = {
      issuer: wiki,
      callbackUrl: `${wiki}/acs`,
      entryPoint: door.at().sso,
      logoutUrl: door.at().slo,
      idpCert: pemOf(door.keys.shop.certificate),
      privateKey,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      wantAssertionsSigned: false,
    } as const;
    sp = {
      redirect: new SAML(options),
      post: new SAML({ ...options, authnRequestBinding: 'HTTP-POST' }),
      plainPost: new SAML({ ...options, authnRequestBinding: 'HTTP-POST', skipRequestCompression: true }),
    };
  });
  const queryOf = (url: string) => url.slice(url.indexOf('?') + 1);
  const signed = { serviceProviderId: 'wiki', isSigned: true };

  test('AuthnRequest by Redirect', async () => {
    const url = await sp.redirect.getAuthorizeUrlAsync('/back?to=1&page=é', undefined, {});
    expect(await sendRedirect(door.at().sso, queryOf(url))).toMatchObject({
      ...signed,
      relayState: '/back?to=1&page=é',
      acs: { url: `${wiki}/acs` },
    });
  });

  test.each(['post', 'plainPost'] as const)('AuthnRequest by %s, compressed unless it is told not to', async (kind) => {
    const { SAMLRequest } = await sp[kind].getAuthorizeMessageAsync('', undefined, {});
    const fields = { SAMLRequest: String(SAMLRequest), RelayState: 'state' };
    expect(await sendPost(door.at().sso, fields)).toMatchObject({ ...signed, binding: 'post', relayState: 'state' });
  });

  test('LogoutRequest and LogoutResponse', async () => {
    const request = await sp.redirect.getLogoutUrlAsync(user as never, 'state', {});
    expect(await sendRedirect(door.at().slo, queryOf(request))).toMatchObject({
      ...signed,
      message: { nameId: { value: 'alice' }, sessionIndexes: ['one'] },
    });
    const response = await new Promise<string>((resolve, reject) =>
      sp.redirect.getLogoutResponseUrl({ ...user, ID: '_1' } as never, 'state', {}, true, (error, url) =>
        error ? reject(error) : resolve(url ?? ''),
      ),
    );
    expect(await sendRedirect(door.at().slo, queryOf(response))).toMatchObject({
      ...signed,
      message: { kind: 'LogoutResponse', inResponseTo: '_1' },
    });
  });
});
