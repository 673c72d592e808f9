/** SAML Profiles §4.4: single logout from a service provider and from the service, across service providers and OpenID Connect clients. */
import { describe, expect, test } from '@jest/globals';
import { type Agent, authorizeUrl, createPkce, obtainTokens } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { callLoopback, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { introspect } from '../../support/client/steps.js';
import { alice, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';
import { redirectUri } from '../../support/service/seed.js';

const service = useSamlService({ outgoing: callLoopback });
const isSignedIn = async (agent: Agent): Promise<boolean> => {
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  return 'code' in membersOf(await agent.get(authorizeUrl(service.issuer, { prompt: 'none', ...pkce })));
};
const leave = async (agent: Agent) => agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' });

describe.each(['redirect', 'post'] as const)('SAML Profiles §4.4 by %s', (binding) => {
  test('a service provider signs the person out everywhere, and hears of the success with its RelayState', async () => {
    const [first, second, third] = [await service.add({ binding }), await service.add({ binding }), await service.add()];
    const agent = await signedInAt([first, second, third]);
    const end = await travel(agent, `${first.logoutUrl}?${new URLSearchParams({ relayState: 'bye' })}`);
    expect(end.body).toContain('<h1>signed out</h1><p>bye</p>');
    expect(first.loggedOut).toEqual([['Success']]);
    expect([first, second, third].map(({ sessions }) => sessions.size)).toEqual([0, 0, 0]);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('a sign-out here goes by all service providers, and ends on the page that names nobody', async () => {
    const [first, second] = [await service.add({ binding }), await service.add({ binding })];
    const agent = await signedInAt([first, second]);
    const end = await travel(agent, await leave(agent));
    expect(end.body).toContain('You are signed out');
    for (const { url, sessions } of [first, second]) {
      expect(end.body).not.toContain(`Application ${new URL(url).port}`);
      expect(sessions.size).toBe(0);
    }
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('PartialLogout where one fails; the page names it', async () => {
    const [first, failing] = [await service.add({ binding }), await service.add({ binding, onLogout: 'fail' })];
    const agent = await signedInAt([first, failing]);
    await travel(agent, first.logoutUrl);
    expect(first.loggedOut).toEqual([['Success', 'PartialLogout']]);
    const other = await signedInAt([failing]);
    const end = await travel(other, await leave(other));
    expect(end.body).toContain(`Application ${new URL(failing.url).port}`);
  });
});

describe('sessions and grants that end, and when', () => {
  test('§4.4.4 our session, grants and the notices of OpenID Connect are done before the browser goes anywhere', async () => {
    const receiver = await startLogoutReceiver();
    try {
      const metadata = { redirect_uris: [redirectUri], backchannel_logout_uri: receiver.url };
      await service.idp.directory.clients.create({ id: 'told', name: 'T', secret: 'told-secret', metadata, allowedScopes: ['openid'] });
      const silent = await service.add({ onLogout: 'stay-silent' });
      const first = await service.add();
      const agent = await signedInAt([first, silent], alice);
      const { tokens } = await obtainTokens(service.issuer, { agent, client: 'told', secret: 'told-secret' });
      const stuck = await travel(agent, first.logoutUrl);
      expect(stuck.body).toBe('nothing happens here');
      await receiver.received(1);
      expect((await introspect(service.issuer, tokens.access_token)).json.active).toBe(false);
      expect(await isSignedIn(agent)).toBe(false);
    } finally {
      receiver.close();
    }
  });

  test('a user who goes back from a service provider that does not answer continues at the next, and none is asked twice', async () => {
    const [silent, next] = [await service.add({ onLogout: 'stay-silent' }), await service.add()];
    const agent = await signedInAt([silent, next]);
    const step = await travel(agent, await leave(agent), ({ location }) => location?.startsWith(silent.sloUrl) ?? false);
    expect((await travel(agent, step)).body).toBe('nothing happens here');
    const end = await travel(agent, step.url);
    expect(end.body).toContain('You are signed out');
    expect(end.body).toContain(`Application ${new URL(silent.url).port}`);
    expect(end.body).not.toContain(`Application ${new URL(next.url).port}`);
    expect(next.sessions.size).toBe(0);
    expect((await travel(agent, step.url)).body).toContain('You are signed out');
  });

  test('one without an address for it counts as one that did not answer', async () => {
    const mute = await service.add({ record: { singleLogoutServices: [] } });
    const first = await service.add();
    const agent = await signedInAt([first, mute]);
    await travel(agent, first.logoutUrl);
    expect(first.loggedOut).toEqual([['Success', 'PartialLogout']]);
    const other = await signedInAt([mute]);
    expect((await travel(other, await leave(other))).body).toContain(`Application ${new URL(mute.url).port}`);
  });

  test('one that was removed meanwhile as well, by its name', async () => {
    const gone = await service.add();
    const agent = await signedInAt([gone]);
    await gone.register({ status: 'disabled' });
    expect((await travel(agent, await leave(agent))).body).toContain(`Application ${new URL(gone.url).port}`);
  });

  test('responses go to the address for responses', async () => {
    const first = await service.add();
    await first.register({ singleLogoutServices: [{ binding: 'redirect', url: first.sloUrl, responseUrl: `${first.sloUrl}?r=1` }] });
    const agent = await signedInAt([first]);
    const last = await travel(agent, first.logoutUrl, ({ location }) => location?.includes('SAMLResponse=') ?? false);
    expect(last.location).toContain(`${first.sloUrl}?r=1&SAMLResponse=`);
  });

  test('a sign-out goes on to where the client wanted it to', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp], alice);
    const { tokens } = await obtainTokens(service.issuer, { agent });
    const query = { id_token_hint: tokens.id_token, post_logout_redirect_uri: 'http://127.0.0.1:9/signed-out', state: 's' };
    const end = await travel(
      agent,
      `${service.issuer}/connect/endsession?${new URLSearchParams(query)}`,
      ({ location }) => location?.startsWith('http://127.0.0.1:9/') ?? false,
    );
    expect(end.location).toBe('http://127.0.0.1:9/signed-out?state=s');
    expect(sp.sessions.size).toBe(0);
  });

  test('§3.7.1 a request has the name, the session and an end; it is signed, and for this service provider', async () => {
    const sp = await service.add({ binding: 'post' });
    const agent = await signedInAt([sp]);
    const [profile] = [...sp.sessions.values()];
    const page = await travel(
      agent,
      await leave(agent),
      (answer) => answer.url.startsWith(service.issuer) && messageIn(answer) !== undefined,
    );
    const { xml = '' } = messageIn(page) ?? {};
    expect(xml).toContain(`>${profile?.nameID}<`);
    expect(xml).toContain(`<samlp:SessionIndex>${profile?.sessionIndex}<`);
    expect(xml).toContain(`Destination="${sp.sloUrl}"`);
    expect(xml).toMatch(/NotOnOrAfter="/);
    expect(xml).toContain('<ds:Signature ');
  });
});

describe('two at once', () => {
  test('two tabs of one service provider, and two service providers, begin a logout at the same time: nothing is left', async () => {
    const [first, second] = [await service.add(), await service.add()];
    const agent = await signedInAt([first, second]);
    // Both requests are sent before either is answered.
    const [one, other] = await Promise.all(
      [first, second].map(({ logoutUrl }) => travel(agent, logoutUrl, ({ location }) => location?.includes('/slo/run') ?? false)),
    );
    await Promise.all([travel(agent, one ?? ''), travel(agent, other ?? '')]);
    expect([first.sessions.size, second.sessions.size]).toEqual([0, 0]);
    expect([...first.loggedOut, ...second.loggedOut].map(([code]) => code)).toEqual(['Success', 'Success']);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('a sign-out here while somebody signs in for a service provider: either nobody is signed in there, or it hears of it', async () => {
    for (let round = 0; round < (process.env.PROVE ? 30 : 4); round += 1) {
      const [first, late] = [await service.add(), await service.add()];
      const agent = await signedInAt([first]);
      const back = await travel(agent, late.loginUrl, ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
      const question = await agent.get(`${service.issuer}/connect/endsession`);
      const [gone] = await Promise.all([agent.submit(question, { logout: 'yes' }), travel(agent, back)]);
      await travel(agent, gone);
      expect([late.sessions.size, first.sessions.size]).toEqual([0, 0]);
    }
  });
});

describe('SAML Metadata §2.2.2: a service provider whose metadata offers Redirect and POST', () => {
  const slo = (binding: string, url: string, more = '') =>
    `<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-${binding}" Location="${url}"${more}/>`;

  test.each([
    ['redirect', 'Redirect first', (url: string) => slo('Redirect', url) + slo('POST', url)],
    ['redirect', 'POST first', (url: string) => slo('POST', url) + slo('Redirect', url)],
    ['post', 'Redirect first', (url: string) => slo('Redirect', url) + slo('POST', url)],
    ['post', 'POST first', (url: string) => slo('POST', url) + slo('Redirect', url)],
    ['post', 'addresses for responses', (url: string) => slo('POST', url) + slo('Redirect', `${url}?q`, ` ResponseLocation="${url}"`)],
  ] as const)('that signs out by %s, %s: answers and requests go by Redirect', async (binding, _, services) => {
    const given = await service.add({ binding });
    const { entityId, acsUrl, sloUrl, key } = given;
    const metadata =
      `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">` +
      `<md:SPSSODescriptor AuthnRequestsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">` +
      `<md:KeyDescriptor><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${key.der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>` +
      `${services(sloUrl)}<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${acsUrl}" index="0"/>` +
      '</md:SPSSODescriptor></md:EntityDescriptor>';
    await given.register({ metadata, overridden: [] });
    const other = await service.add();
    const agent = await signedInAt([given, other]);
    const answered = await travel(
      agent,
      given.logoutUrl,
      ({ location = '' }) => location.startsWith(sloUrl) && location.includes('SAMLResponse='),
    );
    expect(answered.location).toContain(`${sloUrl}?SAMLResponse=`);
    expect(answered.location).toContain('&Signature=');
    await travel(agent, answered);
    expect(given.loggedOut).toEqual([['Success']]);
    const again = await signedInAt([given, other]);
    const asked = await travel(again, other.logoutUrl, ({ location = '' }) => location.startsWith(sloUrl));
    expect(asked.location).toContain('SAMLRequest=');
  });
});
