/** SAML Core §3.2.2: the status that a service provider gets without a sign-in, and the cases in which it gets no Response. */
import { describe, expect, test } from '@jest/globals';
import { Agent, formOf, type Json } from '../../support/client/agent.js';
import { authnRequest, newId, redirectQuery } from '../../support/saml/inbound/sent-messages.js';
import { alice, bob, carol, signedInAt, signInOn, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl, statusFrom } from '../../support/saml/service-providers/asked.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';
import { failingStores } from '../../support/stores/failing-stores.js';

const service = useSamlService();
const open = (record: Readonly<Record<string, unknown>> = {}) => service.add({ record: { requireSignedRequests: false, ...record } });
const classes = 'urn:oasis:names:tc:SAML:2.0:ac:classes';
const format = (name: string) =>
  `urn:oasis:names:tc:SAML:${name === 'emailAddress' || name === 'unspecified' ? '1.1' : '2.0'}:nameid-format:${name}`;
const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings';
const wanted = (comparison: string, ...names: readonly string[]): string =>
  `<samlp:RequestedAuthnContext Comparison="${comparison}">${names.map((name) => `<saml:AuthnContextClassRef>${name}</saml:AuthnContextClassRef>`).join('')}</samlp:RequestedAuthnContext>`;
const subject = (value: string, attributes = ''): string =>
  `<saml:Subject><saml:NameID ${attributes}>${value}</saml:NameID></saml:Subject>`;
/** Returns the status of a request that is refused immediately. The Response names no user, and answers the request. */
const refusedAtOnce = async (asked: Parameters<typeof requestUrl>[1], record: Readonly<Record<string, unknown>> = {}) => {
  const sp = await open(record);
  const id = newId();
  const agent = new Agent();
  const answer = await agent.get(requestUrl(sp, { id, relayState: 'r', ...asked }));
  const { xml = '', relayState } = messageIn(answer) ?? {};
  expect([answer.status, relayState, formOf(answer).action]).toEqual([200, 'r', sp.acsUrl]);
  expect(xml).toContain(`InResponseTo="${id}"`);
  expect(xml).toContain('<ds:Signature ');
  expect(xml).not.toContain('Assertion ');
  expect(answer.headers.getSetCookie()).toEqual([]);
  return statusFrom(agent, sp, answer);
};

describe('SAML Core §3.4.1: refused before anybody signs in', () => {
  test.each([
    ['another binding', { attributes: `ProtocolBinding="${bindings}:HTTP-Artifact"` }, ['Responder', 'UnsupportedBinding']],
    ['PAOS', { attributes: `ProtocolBinding="${bindings}:PAOS"` }, ['Responder', 'UnsupportedBinding']],
    ['another format', { body: `<samlp:NameIDPolicy Format="${format('emailAddress')}"/>` }, ['Requester', 'InvalidNameIDPolicy']],
    ['an encrypted name', { body: `<samlp:NameIDPolicy Format="${format('encrypted')}"/>` }, ['Requester', 'InvalidNameIDPolicy']],
    [
      'a name of an affiliation',
      { body: '<samlp:NameIDPolicy SPNameQualifier="https://other.test"/>' },
      ['Requester', 'InvalidNameIDPolicy'],
    ],
    ['a sign-in that shows nothing, and anew', { attributes: 'IsPassive="true" ForceAuthn="1"' }, ['Responder', 'NoPassive']],
    ['a certificate', { body: wanted('exact', `${classes}:X509`) }, ['Responder', 'NoAuthnContext']],
    ['better than a second factor', { body: wanted('better', 'https://refeds.org/profile/mfa') }, ['Responder', 'NoAuthnContext']],
    [
      'better than something unknown',
      { body: wanted('better', `${classes}:Password`, `${classes}:X509`) },
      ['Responder', 'NoAuthnContext'],
    ],
    ['somebody unknown', { body: subject('0'.repeat(22), `Format="${format('persistent')}"`) }, ['Requester', 'UnknownPrincipal']],
    ['somebody of an unknown kind', { body: subject('CN=x', `Format="${format('X509SubjectName')}"`) }, ['Requester', 'UnknownPrincipal']],
  ] as const)('%s', async (_, asked, expected) => {
    expect(await refusedAtOnce(asked)).toEqual(expected);
  });

  test('these are accepted: the registered format, transient, the POST binding, its own name, AllowCreate, Scoping', async () => {
    const sp = await open({ nameId: { format: 'emailAddress' } });
    const agent = await signedInAt([sp]);
    for (const asked of [
      { body: `<samlp:NameIDPolicy Format="${format('emailAddress')}"/>` },
      { body: `<samlp:NameIDPolicy Format="${format('transient')}" AllowCreate="false"/>` },
      { body: `<samlp:NameIDPolicy Format="${format('unspecified')}" SPNameQualifier="${sp.entityId}"/>` },
      { attributes: `ProtocolBinding="${bindings}:HTTP-POST"` },
      {
        body: '<samlp:Scoping ProxyCount="0"><samlp:IDPList><samlp:IDPEntry ProviderID="https://other.test"/></samlp:IDPList></samlp:Scoping>',
      },
    ])
      expect(await statusFrom(agent, sp, requestUrl(sp, asked))).toEqual(['Success']);
  });
});

describe('SAML Core §3.2.2.2: refused by the sign-in', () => {
  test('NoPassive where nobody is signed in, or somebody has to do something; nothing is shown', async () => {
    const sp = await open();
    const passive = requestUrl(sp, { attributes: 'IsPassive="true"' });
    expect(await statusFrom(new Agent(), sp, passive)).toEqual(['Responder', 'NoPassive']);
    const agent = await signedInAt([sp]);
    const body = wanted('exact', 'https://refeds.org/profile/mfa');
    expect(await statusFrom(agent, sp, requestUrl(sp, { attributes: 'IsPassive="true"', body }))).toEqual(['Responder', 'NoPassive']);
  });

  test('RequestDenied where the person cancels', async () => {
    const sp = await open();
    const agent = new Agent();
    const page = await travel(agent, requestUrl(sp));
    const [, cancel = ''] = /formaction="([^"]*)" formnovalidate>Cancel</.exec(page.body) ?? [];
    expect(await statusFrom(agent, sp, await agent.post(cancel, formOf(page).fields))).toEqual(['Responder', 'RequestDenied']);
  });

  test('RequestDenied where the user has no address that is verified, and where the claim has no value', async () => {
    const sp = await open({ nameId: { format: 'emailAddress' } });
    const agent = await signedInAt([await open()], carol);
    expect(await statusFrom(agent, sp, requestUrl(sp))).toEqual(['Responder', 'RequestDenied']);
    // An administrator may give a user any name.
    const named = { userName: 'olga@elsewhere.test', emailVerified: true, status: 'active' as const };
    const person = { givenName: 'N', familyName: 'N', email: 'n@globex.test', user: named };
    const { user } = await service.idp.tenant(await service.tid('Globex')).persons.create(person);
    await service.idp.directory.credentials.seedPassword(user?.id ?? '', 'named');
    const byName = await open({ nameId: { format: 'emailAddress', claim: 'preferred_username' } });
    const renamed = await signedInAt([await open()], { userName: named.userName, password: 'named' });
    expect(await statusFrom(renamed, byName, requestUrl(byName))).toEqual(['Responder', 'RequestDenied']);
    const other = await open({ nameId: { format: 'emailAddress', claim: 'given_name' } });
    expect(await statusFrom(await signedInAt([await open()]), other, requestUrl(other))).toEqual(['Responder', 'RequestDenied']);
    const phone = await open({ nameId: { format: 'unspecified', claim: 'phone_number' } });
    expect(await statusFrom(agent, phone, requestUrl(phone))).toEqual(['Responder', 'RequestDenied']);
  });
});

describe('SAML Core §3.4.1: Subject', () => {
  test('a persistent name tells nobody on the sign-in page whose it is, and it is that user who signs in', async () => {
    const sp = await open();
    await signedInAt([sp]);
    const [profile] = [...sp.sessions.values()];
    const asked = { body: subject(profile?.nameID ?? '', `Format="${format('persistent')}" SPNameQualifier="${sp.entityId}"`) };
    const agent = new Agent();
    const page = await travel(agent, requestUrl(sp, asked));
    expect(page.body).toContain('name="identifier"');
    expect(page.body).not.toContain(bob.userName);
    const end = await signInOn(agent, page, alice);
    expect(end.body).toContain('refused');
    expect(sp.responses.at(-1)).toBeDefined();
    expect(await statusFrom(await signedInAt([sp]), sp, requestUrl(sp, asked))).toEqual(['Success']);
    expect(await statusFrom(await signedInAt([sp], alice), sp, requestUrl(sp, asked))).toEqual(['Requester', 'UnknownPrincipal']);
  });

  test('an e-mail address in whatever case; a transient name of this session', async () => {
    const sp = await open({ nameId: { format: 'emailAddress' } });
    const agent = await signedInAt([sp]);
    const address = { body: subject('BOB@globex.test', `Format="${format('emailAddress')}"`) };
    expect(await statusFrom(agent, sp, requestUrl(sp, address))).toEqual(['Success']);
    expect(await statusFrom(agent, sp, requestUrl(sp, { body: subject('alice@acme.test') }))).toEqual(['Requester', 'UnknownPrincipal']);
    const transient = await open({ nameId: { format: 'transient' } });
    await travel(agent, transient.loginUrl);
    const [profile] = [...transient.sessions.values()];
    const named = { body: subject(profile?.nameID ?? '', `Format="${format('transient')}"`) };
    expect(await statusFrom(agent, transient, requestUrl(transient, named))).toEqual(['Success']);
    expect(await statusFrom(await signedInAt([sp]), transient, requestUrl(transient, named))).toEqual(['Requester', 'UnknownPrincipal']);
  });
});

describe('no Response: a page here, with the reason', () => {
  const shown = async (url: string, agent = new Agent()) => {
    const { status, body } = await travel(agent, url);
    return [status, /Reason: ([a-z_]+)/.exec(body)?.[1]];
  };

  test('an address that is not registered, and an index', async () => {
    const sp = await open();
    expect(await shown(requestUrl(sp, { attributes: 'AssertionConsumerServiceURL="https://evil.test/acs"' }))).toEqual([
      400,
      'acs_not_registered',
    ]);
    expect(await shown(requestUrl(sp, { attributes: 'AssertionConsumerServiceIndex="7"' }))).toEqual([400, 'acs_not_registered']);
    const told = service.lines.filter(({ message }) => message === 'saml.request.refused');
    expect(told.at(-1)).toMatchObject({ fields: { reason: 'acs_not_registered', serviceProvider: sp.id } });
  });

  test('the log has the value that came and the one that was expected; the page has neither', async () => {
    const sp = await open();
    const { ssoUrl } = sp.idp;
    const cases: readonly (readonly [string, Partial<Parameters<typeof authnRequest>[0]>, Json])[] = [
      [
        'acs',
        { attributes: 'AssertionConsumerServiceURL="https://evil.test/acs"' },
        {
          place: 'AssertionConsumerServiceURL',
          received: 'https://evil.test/acs',
          expected: expect.stringMatching(/^one of http:.*acs$/),
          setting: expect.stringContaining('assertionConsumerServices'),
        },
      ],
      [
        'index',
        { attributes: 'AssertionConsumerServiceIndex="7"' },
        {
          place: 'AssertionConsumerServiceIndex',
          received: '7',
          expected: 'one of 0',
          setting: expect.stringContaining('assertionConsumerServices'),
        },
      ],
      [
        'destination',
        { destination: 'https://other-idp.test/sso' },
        {
          place: 'Destination',
          received: 'https://other-idp.test/sso',
          expected: ssoUrl,
          setting: expect.stringContaining('option issuer'),
        },
      ],
      [
        'entityID',
        { issuer: 'https://wrong.test/sp' },
        {
          place: 'Issuer',
          received: 'https://wrong.test/sp',
          expected: expect.stringContaining(`registered at ${service.issuer}/`),
          setting: expect.stringContaining('entityId'),
        },
      ],
    ];
    for (const [name, given, fields] of cases) {
      const xml = authnRequest({ id: newId(), issuer: sp.entityId, destination: ssoUrl, attributes: '', body: '', ...given });
      const { body } = await travel(new Agent(), `${ssoUrl}?${redirectQuery(xml, {})}`);
      const line = service.lines.findLast(({ message }) => message === 'saml.request.refused');
      expect([name, line?.fields]).toEqual([name, expect.objectContaining(fields)]);
      expect([name, /evil\.test|other-idp|wrong\.test/.test(body)]).toEqual([name, false]);
    }
  });

  test('of several addresses, the response goes to the one that the request names, else to the default', async () => {
    const acs = ['https://a.test/1', 'https://a.test/2', 'https://a.test/3'].map((url, index) => ({ url, index, isDefault: index === 1 }));
    const sp = await open({ assertionConsumerServices: acs });
    const agent = await signedInAt([await open()]);
    const to = async (attributes: string) =>
      formOf(await travel(agent, requestUrl(sp, { attributes }), ({ body }) => body.includes('SAMLResponse'))).action;
    expect(await to('')).toBe('https://a.test/2');
    expect(await to('AssertionConsumerServiceIndex="2"')).toBe('https://a.test/3');
    expect(await to('AssertionConsumerServiceURL="https://a.test/1"')).toBe('https://a.test/1');
  });

  test('a service provider that was disabled, or lost its address, while the person signed in', async () => {
    const sp = await open();
    const agent = new Agent();
    const page = await travel(agent, requestUrl(sp));
    await sp.register({ assertionConsumerServices: [{ url: 'https://elsewhere.test/acs' }] });
    const moved = await signInOn(agent, page, bob);
    expect([moved.status, moved.body]).toEqual([400, expect.stringContaining('acs_not_registered')]);
    await sp.register({ status: 'disabled' });
    expect(await shown(requestUrl(sp), agent)).toEqual([400, 'unknown_service_provider']);
  });
});

describe('a store that is away', () => {
  const { artifacts, directory, down } = failingStores();
  const failing = useSamlService({ artifacts, directory });

  test('is a page here that says to try again, and no answer to the service provider; the request is good once it is back', async () => {
    const sp = await failing.add({ record: { requireSignedRequests: false } });
    const agent = await signedInAt([sp]);
    const url = requestUrl(sp);
    down.artifacts = true;
    const { status, body, headers } = await agent.get(url);
    down.artifacts = false;
    expect([status, headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    expect(body).not.toContain('SAMLResponse');
    const back = await travel(agent, url, ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
    down.writes = true;
    const late = await agent.get(back.location ?? '');
    down.writes = false;
    expect([late.status, late.body.includes('SAMLResponse')]).toEqual([503, false]);
    expect(await statusFrom(agent, sp, back)).toEqual(['Success']);
    failing.logged.length = 0;
  });
});
