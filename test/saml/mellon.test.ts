/** Issue 17: a service provider of another code base, Apache with mod_auth_mellon, through the whole of a sign-in and both ways of a sign-out. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInstalled } from '../servers/installed.js';
import { Agent, type Answer } from '../support/client/agent.js';
import { asAdministrator } from '../support/saml/service/administration.js';
import { useSamlService } from '../support/saml/service/use-saml-service.js';
import { type Mellon, mellonPackages, startMellon } from '../support/saml/service-providers/mellon.js';
import { travel } from '../support/saml/service-providers/travel.js';

describeInstalled('mod_auth_mellon', mellonPackages, () => {
  const service = useSamlService();
  let mellon: Mellon;
  beforeAll(async () => {
    mellon = await startMellon(await (await fetch(`${service.issuer}/idp/saml/metadata`)).text());
    const admin = await asAdministrator(service.issuer, 'root');
    const { status, text } = await admin.post('/saml-service-providers', {
      name: 'Mellon',
      metadata: await (await fetch(mellon.metadataUrl)).text(),
      nameId: { format: 'persistent' },
      attributes: ['tid', 'role', 'perm'].map((claim) => ({ name: claim, claim })),
    });
    expect([status, status === 201 ? '' : text]).toEqual([201, '']);
  });
  afterAll(() => mellon?.stop());

  const isPage = ({ url, status }: Answer): boolean => url.startsWith(mellon.origin) && status === 200;
  /** Mellon marks its cookies as none of `SameSite`, so a browser sends them along with the response. */
  async function go(agent: Agent, from: Answer | string): Promise<Answer> {
    const atResponse = ({ body }: Answer): boolean => body.includes(`action="${mellon.origin}/mellon/postResponse"`);
    const answer = await travel(agent, from, atResponse);
    return atResponse(answer) ? travel(agent, await agent.submit(answer, {})) : answer;
  }
  /** The page that mellon guards, for somebody who signs in on the way to it. */
  async function enter(agent: Agent): Promise<Answer> {
    const page = await go(agent, `${mellon.origin}/private/`);
    if (isPage(page)) return page;
    const name = await agent.submit(page, { identifier: 'alice@acme.test' });
    return go(agent, await agent.submit(name, { password: 'alice' }));
  }
  /** Before it sends the browser here to ask. */
  const isIn = async (agent: Agent): Promise<boolean> => (await agent.get(`${mellon.origin}/private/`)).status === 200;
  const isSignedInHere = async (agent: Agent): Promise<boolean> => isPage(await go(agent, `${mellon.origin}/private/`));

  test('a signed request by Redirect, a response with several values of an attribute; who is signed in is not asked again', async () => {
    const agent = new Agent();
    const page = await enter(agent);
    expect(page.status).toBe(200);
    const nameId = page.headers.get('x-name-id');
    // Mellon asks for a transient one.
    expect(nameId).toMatch(/^_[\da-f]{40}$/);
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
    const question = await agent.get(`${service.issuer}/connect/endsession`);
    const end = await travel(agent, await agent.submit(question, { logout: 'yes' }));
    expect(end.url.startsWith(service.issuer)).toBe(true);
    expect(end.body).not.toContain('Mellon');
    expect(await isIn(agent)).toBe(false);
  });
});
