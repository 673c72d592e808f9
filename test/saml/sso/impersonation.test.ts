/** Impersonation: service providers refuse an impersonated user unless they are registered to allow it, and get the impersonator if they ask for `act`. */
import { describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, signIn } from '../../support/client/agent.js';
import { alice, bob, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl, statusFrom } from '../../support/saml/service-providers/asked.js';
import { travel } from '../../support/saml/service-providers/travel.js';
import { actAs } from '../../support/sign-in/impersonation.js';

const service = useSamlService({ extensions: [actAs({ lasts: 600_000 })], lifetimes: { impersonation: 900 } });
const allow = { impersonation: 'allow', requireSignedRequests: false };
/** Signs in as Alice, who then impersonates Bob. */
async function impersonation(agent = new Agent()): Promise<Agent> {
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const asked = authorizeUrl(service.issuer, { acr_values: 'impersonate', ...pkce });
  const first = await agent.follow(await agent.get(asked));
  const page = first.body.includes('name="user"') ? first : await signIn(agent, asked);
  await agent.follow(await agent.submit(page, { user: bob.userName }));
  return agent;
}
const endImpersonation = async (agent: Agent): Promise<string> =>
  JSON.parse((await agent.post(`${service.issuer}/idp/end-acting`, {})).body).next;

describe('impersonation', () => {
  test('is refused unless the service provider allows it', async () => {
    const sp = await service.add({ record: { requireSignedRequests: false } });
    expect(await statusFrom(await impersonation(), sp, requestUrl(sp))).toEqual(['Responder', 'RequestDenied']);
    expect(sp.sessions.size).toBe(0);
  });

  test('where it is allowed, the assertion is about the user, says who acts, and its session ends when acting does, which is before it has to', async () => {
    const sp = await service.add({
      record: {
        ...allow,
        attributes: [
          { name: 'act', claim: 'act' },
          { name: 'oid', claim: 'oid' },
        ],
      },
    });
    const agent = await impersonation();
    expect((await travel(agent, sp.loginUrl)).body).toContain('<h1>signed in as');
    const [profile] = [...sp.sessions.values()];
    const [oid, user] = [await service.oid(alice.userName), await service.oid(bob.userName)];
    const act = { oid, sub: oid, tid: await service.tid('Acme') };
    const { attributes } = profile as unknown as { readonly attributes: Readonly<Record<string, string>> };
    expect([JSON.parse(attributes.act ?? ''), attributes.oid]).toEqual([act, user]);
    const xml = Buffer.from(sp.responses.at(-1)?.SAMLResponse ?? '', 'base64').toString();
    const end = Date.parse(/SessionNotOnOrAfter="([^"]*)"/.exec(xml)?.[1] ?? '');
    expect(end).toBeLessThanOrEqual(Date.now() + 600_000);
    expect(end).toBeGreaterThan(Date.now() + 300_000);
  });

  test('a service provider that is changed to refuse it during the sign-in gets no assertion', async () => {
    const sp = await service.add({ record: allow });
    const agent = await impersonation();
    const late = await travel(agent, requestUrl(sp), ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
    await sp.register({ impersonation: 'refuse' });
    expect(await statusFrom(agent, sp, late)).toEqual(['Responder', 'RequestDenied']);
  });

  test('when acting ends, service providers of the user hear of it, and those of who acted do not', async () => {
    const own = await service.add();
    const sp = await service.add({ record: allow });
    const agent = await impersonation(await signedInAt([own], alice));
    await travel(agent, sp.loginUrl);
    expect([own.sessions.size, sp.sessions.size]).toEqual([1, 1]);
    const end = await travel(agent, await endImpersonation(agent), ({ location }) => location === 'https://app.test/');
    expect(end.location).toBe('https://app.test/');
    expect([own.sessions.size, sp.sessions.size]).toEqual([1, 0]);
    expect((await travel(agent, own.loginUrl)).body).toContain('<h1>signed in as');
  });

  test('a sign-out ends both, and goes by the service providers of both', async () => {
    const own = await service.add();
    const sp = await service.add({ record: allow });
    const agent = await impersonation(await signedInAt([own], alice));
    await travel(agent, sp.loginUrl);
    await travel(agent, sp.logoutUrl);
    expect(sp.loggedOut).toEqual([['Success']]);
    expect([own.sessions.size, sp.sessions.size]).toEqual([0, 0]);
  });
});
