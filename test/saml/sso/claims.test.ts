/** XT-PREHIJACK by SAML: a sign-in that is bound to a tenant answers only service providers of that tenant. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Agent, titleOf } from '../../support/client/agent.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl, statusFrom } from '../../support/saml/service-providers/asked.js';
import { travel } from '../../support/saml/service-providers/travel.js';
import { atUpstream, press, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';

const service = useSamlService();
let upstream: UpstreamProvider;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.register(service.issuer, ['inst']);
  upstream.person = { sub: 'bob-there' };
  const root = await asAdministrator(service.issuer, 'root');
  const provider = { id: 'inst', name: 'Inst', issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
  expect((await root.post('/connections', provider)).status).toBe(201);
  const globex = await asAdministrator(service.issuer, 'globex');
  const path = `/tenants/${await service.tid('Globex')}/users/${await service.oid('bob@globex.test')}`;
  expect((await globex.patch(path, { externalIdentities: [{ idp: 'inst', subject: 'bob-there' }] })).status).toBe(200);
});
afterAll(() => upstream?.close());

test('a service provider of the tenant gets an answer; one of every tenant once the person said that the account is theirs', async () => {
  const ofTenant = await service.add({ tid: await service.tid('Globex'), record: { requireSignedRequests: false } });
  const ofAll = await service.add({ record: { requireSignedRequests: false } });
  const agent = new Agent();
  const page = await travel(agent, ofTenant.loginUrl);
  await travel(agent, await atUpstream(upstream, await press(agent, page, 'inst')));
  expect(ofTenant.sessions.size).toBe(1);
  const passive = { attributes: 'IsPassive="true"' };
  expect(await statusFrom(agent, ofTenant, requestUrl(ofTenant, passive))).toEqual(['Success']);
  expect(await statusFrom(agent, ofAll, requestUrl(ofAll, passive))).toEqual(['Responder', 'NoPassive']);
  const again = await travel(agent, ofAll.loginUrl);
  const claims = await travel(agent, await atUpstream(upstream, await press(agent, again, 'inst')));
  expect(titleOf(claims)).toBe('Is one of these accounts yours?');
  const [, choice = ''] = /name="choice" value="([^"]+)"/.exec(claims.body) ?? [];
  await travel(agent, await agent.submit(claims, { choice }));
  expect(ofAll.sessions.size).toBe(1);
  expect(await statusFrom(agent, ofAll, requestUrl(ofAll, passive))).toEqual(['Success']);
});
