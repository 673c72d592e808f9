/** Linked accounts: one sign-in, a NameID for each account, and no data of tenants that the service provider may not know of. */
import { describe, expect, test } from '@jest/globals';
import { type Agent, type Answer, authorizeUrl, createPkce } from '../../support/client/agent.js';
import { alice, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const attributes = ['sub', 'oid', 'tid', 'may_login', 'secondary_emails'].map((claim) => ({ name: claim, claim }));
const last = ({ sessions }: { readonly sessions: ReadonlyMap<string, Readonly<Record<string, unknown>>> }) => [...sessions.values()].at(-1);
const choose = async (agent: Agent, page: Answer, userName: string): Promise<Answer> =>
  travel(agent, await agent.submit(page, { choice: await service.oid(userName) }));

describe('linked accounts', () => {
  test('the account of a tenant is chosen without another sign-in; each account has a name of its own, and both have one sub', async () => {
    const shared = await service.add({ record: { attributes } });
    const ofGlobex = await service.add({ tid: await service.tid('Globex'), record: { attributes } });
    const agent = await signedInAt([shared], alice);
    const acme = last(shared);
    const page = await travel(agent, ofGlobex.loginUrl);
    expect((await choose(agent, page, 'alice@globex.test')).body).toContain('<h1>signed in as');
    expect(last(ofGlobex)?.attributes).toMatchObject({
      sub: await service.oid('alice@acme.test'),
      oid: await service.oid('alice@globex.test'),
      tid: await service.tid('Globex'),
    });
    await travel(agent, shared.loginUrl);
    const globex = last(shared);
    expect(globex?.nameID).not.toBe(acme?.nameID);
    expect(globex?.sessionIndex).toBe(acme?.sessionIndex);
  });

  test('a service provider hears of linked accounts in its own tenants alone', async () => {
    const all = await service.add({ record: { attributes } });
    const few = await service.add({ record: { attributes, allowedTenants: [await service.tid('Acme')] } });
    const own = await service.add({ tid: await service.tid('Acme'), record: { attributes } });
    await signedInAt([all, few, own], alice);
    const [told, ...others] = [all, few, own].map((sp) => last(sp)?.attributes as Record<string, unknown>);
    expect(told).toMatchObject({
      may_login: expect.stringContaining('Globex'),
      secondary_emails: expect.stringContaining('alice@globex.test'),
    });
    for (const each of others) {
      expect(Object.keys(each ?? {}).sort()).toEqual(['oid', 'sub', 'tid']);
      expect(JSON.stringify(each)).not.toMatch(/globex/i);
    }
  });

  test('a logout reaches the service providers of both accounts, whichever of them asks', async () => {
    const [ofAcme, ofGlobex] = [
      await service.add({ tid: await service.tid('Acme') }),
      await service.add({ tid: await service.tid('Globex') }),
    ];
    const agent = await signedInAt([ofAcme], alice);
    await choose(agent, await travel(agent, ofGlobex.loginUrl), 'alice@globex.test');
    expect([ofAcme.sessions.size, ofGlobex.sessions.size]).toEqual([1, 1]);
    await travel(agent, ofAcme.logoutUrl);
    expect(ofAcme.loggedOut).toEqual([['Success']]);
    expect([ofAcme.sessions.size, ofGlobex.sessions.size]).toEqual([0, 0]);
    const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    expect((await agent.get(authorizeUrl(service.issuer, { prompt: 'none', ...pkce }))).location).toContain('login_required');
  });
});
