/** SAML Profiles §4.1.5: a sign-in that begins here, without an AuthnRequest. */
import { describe, expect, test } from '@jest/globals';
import { Agent, formOf } from '../../support/client/agent.js';
import { bob, signedInAt, signInOn, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { isFor } from '../../support/saml/service-providers/asked.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const allowed = { idpInitiated: { isAllowed: true } };
const initUrl = (parameters: Record<string, string>, tid?: string): string =>
  `${service.issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}/init?${new URLSearchParams(parameters)}`;
const refused = async (url: string): Promise<unknown> => {
  const { status, body } = await new Agent().get(url);
  return [status, /Reason: ([a-z_]+)/.exec(body)?.[1]];
};

describe('SAML Profiles §4.1.5', () => {
  test('by the entityID or the id of the service provider, with a RelayState: a response that answers no request', async () => {
    const sp = await service.add({ record: allowed });
    const agent = new Agent();
    const page = await travel(agent, initUrl({ sp: sp.entityId, RelayState: '/inbox' }));
    const end = await signInOn(agent, page, bob);
    expect(end.body).toMatch(/<h1>signed in as .*\/inbox/);
    expect(Buffer.from(sp.responses.at(-1)?.SAMLResponse ?? '', 'base64').toString()).not.toContain('InResponseTo');
    expect((await travel(agent, initUrl({ sp: sp.id }))).body).toContain('<h1>signed in as');
  });

  test('the RelayState that is registered goes along where the link has none', async () => {
    const sp = await service.add({ record: { idpInitiated: { isAllowed: true, relayState: '/home' } } });
    const agent = await signedInAt([sp]);
    const relayStateOf = async (parameters: Record<string, string>) =>
      messageIn(await travel(agent, initUrl({ sp: sp.id, ...parameters }), isFor(sp)))?.relayState;
    expect([await relayStateOf({}), await relayStateOf({ RelayState: '/other' })]).toEqual(['/home', '/other']);
  });

  test('where it is not allowed, and where there is none, the answer is the same page', async () => {
    const closed = await service.add();
    const ofAcme = await service.add({ tid: await service.tid('Acme'), record: allowed });
    const urls = [closed.entityId, closed.id, ofAcme.entityId, ofAcme.id, 'https://nobody.test', ''].map((sp) => initUrl({ sp }));
    for (const url of [...urls, `${initUrl({ sp: closed.id })}&sp=x`, initUrl({}), initUrl({ sp: closed.id }, await service.tid('Acme'))])
      expect(await refused(url)).toEqual([400, 'not_idp_initiated']);
  });

  test('a RelayState that is too long, or there twice', async () => {
    const sp = await service.add({ record: allowed });
    for (const url of [initUrl({ sp: sp.id, RelayState: 'x'.repeat(2049) }), `${initUrl({ sp: sp.id, RelayState: 'a' })}&RelayState=b`])
      expect(await refused(url)).toEqual([400, 'relay_state_too_long']);
  });

  test('a user who cancels sees a page here; the service provider gets nothing', async () => {
    const sp = await service.add({ record: allowed });
    const agent = new Agent();
    const page = await travel(agent, initUrl({ sp: sp.id }));
    const [, cancel = ''] = /formaction="([^"]*)" formnovalidate>Cancel</.exec(page.body) ?? [];
    const end = await travel(agent, await agent.post(cancel, formOf(page).fields));
    expect([end.status, end.body]).toEqual([403, expect.stringContaining('You were not signed in')]);
    expect(sp.responses).toEqual([]);
  });

  test('at the entity of a tenant, for its users', async () => {
    const tid = await service.tid('Globex');
    const sp = await service.add({ tid, record: allowed });
    const agent = new Agent();
    const end = await signInOn(agent, await travel(agent, initUrl({ sp: sp.entityId }, tid)), bob);
    expect(end.body).toContain('<h1>signed in as');
  });
});
