/** SAML Profiles §4.4.3.3: a logout belongs to one browser, also if somebody else learns one of its URLs. */
import { describe, expect, test } from '@jest/globals';
import { Agent, type Answer } from '../../support/client/agent.js';
import { logoutResponse, postFields, redirectQuery, signed } from '../../support/saml/inbound/sent-messages.js';
import {
  alice,
  type RegisteredServiceProvider,
  signedInAt,
  signInOn,
  useSamlService,
} from '../../support/saml/service/use-saml-service.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const leave = async (agent: Agent) => agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' });
const isNext = ({ location }: Answer): boolean => location?.includes('/idp/saml/slo/next') ?? false;
/** Stops when the browser is sent to the service provider with a request. */
const askedAt =
  ({ sloUrl }: RegisteredServiceProvider) =>
  ({ location }: Answer): boolean =>
    location?.startsWith(sloUrl) ?? false;
const isOver = ({ status, body, location, headers }: Answer): void => {
  expect([status, location, headers.getSetCookie()]).toEqual([400, undefined, []]);
  expect(body).toContain('This step is over');
  expect(body).not.toContain('SAMLRequest');
};

/** Answers from the service provider's own server, with the request that the browser brought. */
async function answeredBy(server: Agent, { idp, entityId, key }: RegisteredServiceProvider, asked: Answer, binding: string) {
  const id = / ID="([^"]*)"/.exec(messageIn(asked)?.xml ?? '')?.[1] ?? '';
  const by = { key: key.key, certificate: key.der } as never;
  const xml = logoutResponse({ issuer: entityId, destination: idp.sloUrl, attributes: `InResponseTo="${id}"` });
  if (binding === 'redirect') return server.get(`${idp.sloUrl}?${redirectQuery(xml, { by, parameter: 'SAMLResponse' })}`);
  return server.post(idp.sloUrl, postFields(signed(xml, by), { parameter: 'SAMLResponse' }));
}

describe('the way of a logout', () => {
  test.each(['redirect', 'post'])(
    'a service provider that answers by %s from its own server gets no request of the next',
    async (binding) => {
      const [malicious, next] = [await service.add(), await service.add()];
      const agent = await signedInAt([malicious, next]);
      const asked = await travel(agent, await leave(agent), askedAt(malicious));
      // The server has its own logout, and the cookie of that logout.
      const server = await signedInAt([malicious], alice);
      await travel(server, await leave(server), askedAt(malicious));
      const onward = await answeredBy(server, malicious, asked, binding);
      expect([onward.status, isNext(onward)]).toEqual([303, true]);
      isOver(await server.get(onward.location ?? ''));
      isOver(await new Agent().get(onward.location ?? ''));
      expect(next.sessions.size).toBe(1);
      const end = await travel(agent, onward.location ?? '');
      expect(end.body).toContain('You are signed out');
      expect(end.body).not.toContain(`Application ${new URL(next.url).port}`);
      expect(next.sessions.size).toBe(0);
      isOver(await server.get(onward.location ?? ''));
    },
  );

  test('of two browsers at the first step at the same time one goes on', async () => {
    const [first, next] = [await service.add(), await service.add()];
    const agent = await signedInAt([first, next]);
    const { location = '' } = await travel(agent, await leave(agent), isNext);
    const both = [agent, new Agent()];
    const answers = await Promise.all(both.map((each) => each.get(location)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400]);
    const taken = answers.findIndex(({ status }) => status === 303);
    isOver(answers[1 - taken] as Answer);
    isOver(await (both[1 - taken] as Agent).get(location));
    expect(askedAt(next)(await (both[taken] as Agent).get(location))).toBe(true);
  });

  test('the cookie is for that way alone, and no script or page of another site has it', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const { headers, url } = await travel(agent, await leave(agent), askedAt(sp));
    const [cookie = '', ...others] = headers.getSetCookie();
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^idp\.saml-logout\.[\w-]{22}=[\w-]{43}; path=\/idp\/saml\/slo\/next; expires=[^;]*; samesite=lax; httponly$/i);
    const value = cookie.slice(cookie.indexOf('=') + 1, cookie.indexOf(';'));
    // A sibling subdomain can add a cookie of the same name. The cookie neither grants access nor blocks it.
    const name = cookie.slice(0, cookie.indexOf('='));
    const at = (sent: string) => new Agent({ cookie: sent }).get(url);
    isOver(await at(`${name}=${'x'.repeat(43)}`));
    isOver(await at(`${name}=`));
    expect((await at(`${name}=${'x'.repeat(43)}; ${name}=${value}`)).status).toBe(303);
  });

  test('a browser can be on several', async () => {
    const [silent, next] = [await service.add({ onLogout: 'stay-silent' }), await service.add()];
    const agent = await signedInAt([silent, next]);
    const step = await travel(agent, await leave(agent), askedAt(silent));
    const other = await service.add();
    await signInOn(agent, await travel(agent, other.loginUrl), alice);
    expect((await travel(agent, await leave(agent))).body).toContain('You are signed out');
    expect([other.sessions.size, next.sessions.size]).toEqual([0, 1]);
    expect((await travel(agent, step.url)).body).toContain('You are signed out');
    expect(next.sessions.size).toBe(0);
  });
});
