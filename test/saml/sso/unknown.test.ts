/** Messages of an unknown service provider: the page says so. The log names the service provider, and the entity to register it at. */
import { describe, expect, test } from '@jest/globals';
import { texts } from '../../../extensions/saml/texts/index.js';
import { Agent } from '../../support/client/agent.js';
import { authnRequest, logoutRequest, logoutResponse, postFields, redirectQuery } from '../../support/saml/inbound/sent-messages.js';
import { signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl } from '../../support/saml/service-providers/asked.js';
import { travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const line = () => service.lines.findLast(({ message }) => message === 'saml.request.refused')?.fields;
const base = (tid?: string): string => `${service.issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}`;
const word = (language: string, key: string): string => texts[language as keyof typeof texts]?.[key] ?? 'no such word';
const messages = { authnRequest, logoutRequest, logoutResponse };

describe('an unknown service provider', () => {
  test.each(Object.keys(texts))('is called unknown on the page: %s', async (language) => {
    const url = `${base()}/sso?${redirectQuery(authnRequest({ issuer: 'https://unknown.test', destination: `${base()}/sso` }))}`;
    const answer = await fetch(url, { headers: { 'accept-language': language, accept: 'text/html' } });
    const body = await answer.text();
    expect(answer.status).toBe(400);
    expect(body).toContain(word(language, 'saml.unknown.title'));
    expect(body).toContain(word(language, 'saml.unknown.text'));
    expect(body).toContain('unknown_service_provider');
    expect(body).not.toContain(word(language, 'saml.refused.title'));
    expect(body).not.toContain('unknown.test');
  });

  test('is named in the log, with where to register it: each message, by each binding, at each entity', async () => {
    const tid = await service.tid('Acme');
    for (const of of [undefined, tid])
      for (const [name, write] of Object.entries(messages))
        for (const issuer of ['https://unknown.test/metadata', 'grafana', 'x'.repeat(1024)]) {
          const endpoint = `${base(of)}/${name === 'authnRequest' ? 'sso' : 'slo'}`;
          const parameter = name === 'logoutResponse' ? 'SAMLResponse' : 'SAMLRequest';
          const xml = write({ issuer, destination: endpoint });
          const agent = new Agent();
          const byRedirect = await agent.get(`${endpoint}?${redirectQuery(xml, { parameter })}`);
          const first = line();
          const byPost = await agent.post(endpoint, postFields(xml, { parameter }));
          for (const [{ status, body }, fields] of [
            [byRedirect, first],
            [byPost, line()],
          ] as const) {
            expect([name, status, body.includes(word('en', 'saml.unknown.title'))]).toEqual([name, 400, true]);
            expect(fields).toMatchObject({
              reason: 'unknown_service_provider',
              place: 'Issuer',
              received: issuer,
              expected: expect.stringContaining(`POST ${of === undefined ? '' : `/tenants/${of}`}/saml-service-providers of the admin API`),
            });
          }
        }
  });

  test('whose Issuer is no name that could be registered is not copied into the log', async () => {
    for (const issuer of ['Ola Nordmann', 'æøå', 'x'.repeat(1025)]) {
      await new Agent().get(`${base()}/sso?${redirectQuery(authnRequest({ issuer, destination: `${base()}/sso` }))}`);
      expect(line()).toMatchObject({ reason: 'unknown_service_provider', received: 'a text that is not a URI' });
    }
  });

  test('that was disabled while the person signed in is unknown, and the log has its id', async () => {
    const sp = await service.add({ record: { requireSignedRequests: false } });
    const agent = await signedInAt([sp]);
    const back = await travel(agent, requestUrl(sp), ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
    await sp.register({ status: 'disabled' });
    const end = await travel(agent, back);
    expect([end.status, end.body.includes(word('en', 'saml.unknown.title'))]).toEqual([400, true]);
    expect(line()).toMatchObject({ reason: 'unknown_service_provider', serviceProvider: sp.id });
  });
});

test('a message that is refused for another reason has the page of before', async () => {
  const sp = await service.add();
  const { body } = await new Agent().get(requestUrl(sp));
  expect([body.includes(word('en', 'saml.refused.title')), body.includes('not_signed')]).toEqual([true, true]);
});
