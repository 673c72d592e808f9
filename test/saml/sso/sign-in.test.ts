/** SAML Profiles §4.1: web browser single sign-on, with @node-saml/node-saml as the service provider. */
import { describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { testKeyOf } from '../../support/saml/keys/test-keys.js';
import { alice, bob, carol, signedInAt, signInOn, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { hasMessage, messageIn, postAcross, travel } from '../../support/saml/service-providers/travel.js';
import { enrolOn } from '../../support/sign-in/factors.js';

const service = useSamlService();
const profileOf = ({ sessions }: { readonly sessions: ReadonlyMap<string, unknown> }) =>
  [...sessions.values()].at(-1) as Record<string, unknown>;
const formats = 'urn:oasis:names:tc:SAML';
const persistent = `${formats}:2.0:nameid-format:persistent`;
const classes = `${formats}:2.0:ac:classes`;

describe('SAML Profiles §4.1', () => {
  test.each(['redirect', 'post'] as const)(
    'a request by %s leads to the sign-in, and its answer back with the RelayState',
    async (binding) => {
      const sp = await service.add({ binding });
      const agent = new Agent();
      const page = await travel(agent, `${sp.loginUrl}?${new URLSearchParams({ relayState: '/deep?a=1&b="2"' })}`);
      expect(page.body).toContain(`Application ${new URL(sp.url).port}`);
      const end = await signInOn(agent, page, bob);
      expect(end.body).toContain('<h1>signed in as');
      expect(end.body).toContain('/deep?a=1&amp;b=&quot;2&quot;');
      expect(profileOf(sp)).toMatchObject({
        issuer: sp.idp.entityId,
        nameIDFormat: persistent,
        nameQualifier: sp.idp.entityId,
        spNameQualifier: sp.entityId,
        sessionIndex: expect.stringMatching(/^_/),
      });
    },
  );

  test('one sign-in is for all: a second service provider, and an application of OpenID Connect, ask for none', async () => {
    const [first, second] = [await service.add(), await service.add({ binding: 'post' })];
    const agent = await signedInAt([first]);
    expect((await travel(agent, second.loginUrl)).body).toContain('<h1>signed in as');
    const [one, other] = [profileOf(first), profileOf(second)];
    expect(one.nameID).not.toBe(other.nameID);
    expect(one.sessionIndex).not.toBe(other.sessionIndex);
    const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    expect(membersOf(await agent.get(authorizeUrl(service.issuer, { prompt: 'none', ...pkce })))).toHaveProperty('code');
  });

  test('§4.1.3.5 a request that is posted brings no cookie, and the sign-in that it leads to sees who is signed in', async () => {
    const sp = await service.add({ binding: 'post' });
    const agent = await signedInAt([sp]);
    const posted = await travel(agent, sp.loginUrl, ({ url, status }) => url === sp.idp.ssoUrl && status === 303);
    expect([posted.headers.get('cache-control'), posted.location]).toEqual(['no-store', expect.stringContaining('/connect/authorize?')]);
    expect(posted.headers.getSetCookie()).toEqual([]);
    expect((await travel(agent, posted)).body).toContain('<h1>signed in as');
  });

  test('a sign-in is answered once: neither its return nor its request works again', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const back = await travel(agent, sp.loginUrl, ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
    const { location = '' } = back;
    const both = await Promise.all([agent.get(location), agent.get(location)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    const again = await agent.get(location);
    expect([again.status, again.body]).toEqual([400, expect.stringContaining('This step is over')]);
    expect(hasMessage(again)).toBe(false);
    const stranger = await new Agent().get(location.replace(/reference=.*/, 'reference=x'));
    expect(stranger.status).toBe(400);
  });

  test('in another browser than that which signed in, nobody is signed in', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const { location = '' } = await travel(agent, sp.loginUrl, (answer) => answer.location?.includes('/idp/saml/sso/answer') ?? false);
    const { xml } = messageIn(await new Agent().get(location)) ?? {};
    expect(xml).toContain('AuthnFailed');
    expect(xml).not.toContain('Assertion');
  });

  test('the form goes to the service provider from a page with the strict headers of all pages', async () => {
    const sp = await service.add();
    const page = await travel(await signedInAt([sp]), sp.loginUrl, (answer) => answer.url.startsWith(service.issuer) && hasMessage(answer));
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'sha256-/);
    expect(page.headers.get('cache-control')).toBe('no-store');
  });
});

describe('SAML Core §2.7.3: attributes', () => {
  test('are those that are registered and no others: each value by itself, objects as JSON', async () => {
    const claims = ['sub', 'oid', 'tid', 'role', 'perm', 'email', 'email_verified', 'amr', 'idp', 'may_login', 'phone_number'];
    const sp = await service.add({ record: { attributes: claims.map((claim) => ({ name: `urn:test:${claim}`, claim })) } });
    await signedInAt([sp], alice);
    const { attributes } = profileOf(sp) as { readonly attributes: Record<string, unknown> };
    const oid = await service.oid(alice.userName);
    const [tid, globex] = [await service.tid('Acme'), await service.tid('Globex')];
    const linked = { oid: await service.oid('alice@globex.test'), tid: globex, companyname: 'Globex' };
    expect(attributes).toEqual({
      'urn:test:sub': oid,
      'urn:test:oid': oid,
      'urn:test:tid': tid,
      'urn:test:role': 'Sales',
      'urn:test:perm': expect.arrayContaining(['orders.view', 'orders.approve']),
      'urn:test:email': 'alice@acme.test',
      'urn:test:email_verified': 'true',
      'urn:test:amr': 'pwd',
      'urn:test:idp': 'local',
      'urn:test:may_login': JSON.stringify(linked),
      'urn:test:phone_number': '+4790000001',
    });
  });

  test('without registered attributes, none is released', async () => {
    const sp = await service.add();
    await signedInAt([sp], alice);
    expect(profileOf(sp).attributes).toBeUndefined();
    expect(Buffer.from(sp.responses.at(-1)?.SAMLResponse ?? '', 'base64').toString()).not.toContain('Attribute');
  });
});

describe('SAML Core §2.7.2: the session', () => {
  test('its index is the same at each response of a session; it ends when it is registered to, and not after the sign-in itself', async () => {
    const sp = await service.add({ record: { sessionLifetimeSeconds: 600 } });
    const agent = await signedInAt([sp]);
    const { sessionIndex } = profileOf(sp);
    await travel(agent, sp.loginUrl);
    expect(profileOf(sp).sessionIndex).toBe(sessionIndex);
    const end = (response: Readonly<Record<string, string>> | undefined) =>
      Date.parse(/SessionNotOnOrAfter="([^"]*)"/.exec(Buffer.from(response?.SAMLResponse ?? '', 'base64').toString())?.[1] ?? '') -
      Date.now();
    expect(end(sp.responses.at(-1))).toBeLessThanOrEqual(600_000);
    const long = await service.add({ record: { sessionLifetimeSeconds: 2_592_000 } });
    await travel(agent, long.loginUrl);
    expect(end(long.responses.at(-1))).toBeLessThanOrEqual(43_200_000);
    expect(end(long.responses.at(-1))).toBeGreaterThan(600_000);
  });
});

describe('SAML Core §3.4.1: what a request asks for', () => {
  test('ForceAuthn asks who is signed in to sign in again', async () => {
    const sp = await service.add();
    const forced = await service.add({ saml: { forceAuthn: true } });
    const agent = await signedInAt([sp]);
    const page = await travel(agent, forced.loginUrl);
    expect(page.body).not.toContain('<h1>signed in as');
    const end = await signInOn(agent, page, bob);
    expect(end.body).toContain('<h1>signed in as');
  });

  test('IsPassive shows no page, and signs in who is signed in', async () => {
    const passive = await service.add({ saml: { passive: true } });
    const agent = await signedInAt([await service.add()]);
    expect((await travel(agent, passive.loginUrl)).body).toContain('<h1>signed in as');
  });

  test.each([
    ['exact', [`${classes}:PasswordProtectedTransport`], `${classes}:PasswordProtectedTransport`],
    ['exact', [`${classes}:X509`, `${classes}:Password`], `${classes}:Password`],
    ['exact', [`${classes}:unspecified`], `${classes}:unspecified`],
    ['minimum', [`${classes}:unspecified`], `${classes}:PasswordProtectedTransport`],
    ['maximum', ['https://refeds.org/profile/mfa'], `${classes}:PasswordProtectedTransport`],
    ['better', [`${classes}:unspecified`], `${classes}:PasswordProtectedTransport`],
  ] as const)('RequestedAuthnContext %s %j is met by a password, as %s', async (racComparison, authnContext, answered) => {
    const sp = await service.add({ saml: { racComparison, authnContext: [...authnContext] } });
    await signedInAt([sp]);
    expect(Buffer.from(sp.responses.at(-1)?.SAMLResponse ?? '', 'base64').toString()).toContain(`>${answered}<`);
  });
});

describe('a second factor', () => {
  const refeds = 'https://refeds.org/profile/mfa';
  const microsoft = 'http://schemas.microsoft.com/claims/multipleauthn';
  const xmlOf = (responses: readonly Readonly<Record<string, string>>[]) =>
    Buffer.from(responses.at(-1)?.SAMLResponse ?? '', 'base64').toString();

  test('is proven where RequestedAuthnContext, or the registration, asks for it, also by who is signed in; the answer says so', async () => {
    const wanted = await service.add({ saml: { authnContext: [microsoft] } });
    const required = await service.add({ record: { requireMfa: true }, saml: { disableRequestedAuthnContext: true } });
    const plain = await service.add();
    // From now on, each sign-in of Carol asks for the second factor.
    const agent = await signedInAt([plain], carol);
    expect(xmlOf(plain.responses)).toContain('PasswordProtectedTransport<');
    const page = await travel(agent, wanted.loginUrl);
    expect(page.body).not.toContain('<h1>signed in as');
    const { response } = await enrolOn(agent, page);
    expect((await travel(agent, response)).body).toContain('<h1>signed in as');
    expect(xmlOf(wanted.responses)).toContain(`>${microsoft}<`);
    expect((await travel(agent, required.loginUrl)).body).toContain('<h1>signed in as');
    expect(xmlOf(required.responses)).toContain(`>${refeds}<`);
    // By default, the library asks for exactly a password.
    await travel(agent, plain.loginUrl);
    expect(xmlOf(plain.responses)).toContain('PasswordProtectedTransport<');
  });
});

describe('registered settings', () => {
  test('assertions are encrypted to the certificate, and messages signed', async () => {
    const { key, der } = await testKeyOf('decryption');
    const record = {
      encryption: 'aes256-gcm',
      encryptionCertificate: der,
      signResponse: true,
      attributes: [{ name: 'tid', claim: 'tid' }],
    };
    const sp = await service.add({ record, saml: { decryptionPvk: key, wantAuthnResponseSigned: true } });
    await signedInAt([sp]);
    expect(profileOf(sp).attributes).toEqual({ tid: await service.tid('Globex') });
    expect(Buffer.from(sp.responses.at(-1)?.SAMLResponse ?? '', 'base64').toString()).not.toContain('saml:Assertion ');
  });

  test('a response that was used is refused by the service provider, because it answers a request', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    expect(sp.sessions.size).toBe(1);
    expect((await postAcross(agent, sp.acsUrl, { ...sp.responses.at(-1) })).body).toContain('refused');
  });
});
