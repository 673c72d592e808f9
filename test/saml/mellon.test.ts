/** Issue 17: a service provider of another code base, Apache with mod_auth_mellon, through a whole sign-in and both directions of a sign-out. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInstalled } from '../servers/installed.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn } from '../support/client/agent.js';
import { asAdministrator } from '../support/saml/service/administration.js';
import { useSamlService } from '../support/saml/service/use-saml-service.js';
import { type Mellon, mellonPackages, startMellon } from '../support/saml/service-providers/mellon.js';
import { travel, travelWithCookies } from '../support/saml/service-providers/travel.js';

describeInstalled('mod_auth_mellon', mellonPackages, () => {
  const service = useSamlService();
  let mellon: Mellon;
  const running: Mellon[] = [];
  async function registered(format?: 'persistent'): Promise<Mellon> {
    const started = await startMellon(await (await fetch(`${service.issuer}/idp/saml/metadata`)).text(), format);
    running.push(started);
    const admin = await asAdministrator(service.issuer, 'root');
    const { status, text } = await admin.post('/saml-service-providers', {
      name: 'Mellon',
      metadata: await (await fetch(started.metadataUrl)).text(),
      nameId: { format: 'persistent' },
      attributes: ['email', 'tid', 'role', 'perm'].map((claim) => ({ name: claim, claim })),
    });
    expect([status, status === 201 ? '' : text]).toEqual([201, '']);
    return started;
  }
  beforeAll(async () => {
    mellon = await registered();
  });
  afterAll(() => Promise.all(running.map((each) => each.stop())));

  const { challenge } = createPkce();
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const isPage = ({ url, status }: Answer, { origin }: Mellon): boolean => url.startsWith(origin) && status === 200;
  /** Follows redirects and forms. Mellon sets cookies with `SameSite=None`, so browsers send them with the response. */
  const go = (agent: Agent, from: Answer | string, { origin } = mellon): Promise<Answer> => travelWithCookies(agent, from, origin);
  /** Opens the page that mellon guards, and signs the user in on the way. */
  async function enter(agent: Agent, at = mellon): Promise<Answer> {
    const page = await go(agent, `${at.origin}/private/`, at);
    if (isPage(page, at)) return page;
    const name = await agent.submit(page, { identifier: 'alice@acme.test' });
    return go(agent, await agent.submit(name, { password: 'alice' }), at);
  }
  /** Whether mellon shows its page without a redirect to the service. */
  const isIn = async (agent: Agent, { origin } = mellon): Promise<boolean> => (await agent.get(`${origin}/private/`)).status === 200;
  const isSignedInHere = async (agent: Agent, at = mellon): Promise<boolean> => isPage(await go(agent, `${at.origin}/private/`, at), at);
  /** Returns the page at the end of a sign-out that begins here. */
  async function signOutHere(agent: Agent): Promise<Answer> {
    const question = await agent.get(`${service.issuer}/connect/endsession`);
    return travel(agent, await agent.submit(question, { logout: 'yes' }));
  }

  test('a signed request by Redirect, a response with several values of an attribute; who is signed in is not asked again', async () => {
    const agent = new Agent();
    const page = await enter(agent);
    expect(page.status).toBe(200);
    const nameId = page.headers.get('x-name-id');
    // Mellon asks for a transient NameID.
    expect(nameId).toMatch(/^_[\da-f]{40}$/);
    expect(page.headers.get('x-user')).toBe('alice@acme.test');
    expect(page.headers.get('x-tid')).toBe(await service.tid('Acme'));
    expect(page.headers.get('x-roles')).toContain('Sales');

    agent.cookies.delete('mellon-cookie /');
    const again = await go(agent, `${mellon.origin}/private/`);
    expect([again.status, again.headers.get('x-name-id')]).toEqual([200, nameId]);
  });

  test('a sign-out that mellon begins ends the session here', async () => {
    const agent = new Agent();
    await enter(agent);
    const end = await travel(agent, `${mellon.origin}/mellon/logout?ReturnTo=${encodeURIComponent(`${mellon.origin}/`)}`);
    expect([end.url, end.status]).toEqual([`${mellon.origin}/`, 200]);
    expect(await isIn(agent)).toBe(false);
    expect(await isSignedInHere(agent)).toBe(false);
  });

  test('a sign-out that begins here ends the session at mellon, and its page names nobody who did not answer', async () => {
    const agent = new Agent();
    await enter(agent);
    const end = await signOutHere(agent);
    expect(end.url.startsWith(service.issuer)).toBe(true);
    expect(end.body).not.toContain('Mellon');
    expect(await isIn(agent)).toBe(false);
  });

  test('a user of two browsers has another transient NameID in each, so each sign-out here ends the session of its browser', async () => {
    const [first, second] = [new Agent(), new Agent()];
    const names = [await enter(first), await enter(second)].map(({ headers }) => headers.get('x-name-id'));
    expect(new Set(names).size).toBe(2);
    for (const [agent, other] of [
      [second, first],
      [first, undefined],
    ] as const) {
      const end = await signOutHere(agent);
      expect([end.url.startsWith(service.issuer), end.status, await isIn(agent)]).toEqual([true, 200, false]);
      if (other) expect(await isIn(other)).toBe(true);
    }
  });

  test('a sign-out of a session that began before the sign-in here began anew ends at mellon alone, which answers 400, as the page says', async () => {
    const agent = new Agent();
    await enter(agent);
    const ofMellon = agent.cookies.get('mellon-cookie /');
    agent.cookies.clear();
    if (ofMellon) agent.cookies.set('mellon-cookie /', ofMellon);
    // The user signs in again, without mellon.
    await signIn(agent, authorizeUrl(service.issuer, pkce));
    const end = await travel(agent, `${mellon.origin}/mellon/logout?ReturnTo=${encodeURIComponent(`${mellon.origin}/`)}`);
    expect([new URL(end.url).origin, end.status]).toEqual([mellon.origin, 400]);
    expect(await mellon.log()).toContain('Unable to process logout response. Lasso error: [304] Unknown principal on logout');
    expect(await isIn(agent)).toBe(false);
    expect(await isSignedInHere(agent)).toBe(true);
  });

  test('with a persistent NameID, mellon finds the session of another browser and answers 500, as the page says; the sign-in here has ended', async () => {
    const persistent = await registered('persistent');
    const [first, second] = [new Agent(), new Agent()];
    const names = [await enter(first, persistent), await enter(second, persistent)].map(({ headers }) => headers.get('x-name-id'));
    expect(new Set(names).size).toBe(1);
    const end = await signOutHere(second);
    expect([new URL(end.url).origin, end.status]).toEqual([persistent.origin, 500]);
    const lines = (await persistent.log()).split('\n').filter((line) => line.includes('Lasso error'));
    expect(lines).toEqual([expect.stringContaining('Error validating logout request. Lasso error: [304] Unknown principal on logout')]);
    second.cookies.delete('mellon-cookie /');
    expect(await isSignedInHere(second, persistent)).toBe(false);
  });
});
