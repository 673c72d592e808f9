/** Settings of a service provider that SAML does not have: the sign-in method and the styles of the pages. Also the log lines of a sign-in. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { defineClaims } from 'tenant-idp';
import { releasedAttributes } from '../../../extensions/saml/sso/attributes.js';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { Agent } from '../../support/client/agent.js';
import { newId } from '../../support/saml/inbound/sent-messages.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { bob, carol, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl, statusFrom } from '../../support/saml/service-providers/asked.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';
import { type Upstream, upstreamMethod } from '../../support/sign-in/upstream-method.js';

const upstream: Upstream = { subject: 'bob', seen: [] };
const claim = (value: readonly string[]) =>
  ({ scope: 'hr', type: 'strings', description: 'Of the HR system', in: ['saml'], value: () => value }) as const;
const hr = defineClaims({ name: 'hr', claims: { gaps: claim(['one', '', 'two']), texts: claim(['']), none: claim([]) } });
const service = useSamlService({ claims: [hr], extensions: [upstreamMethod('eid', upstream)] });
const open = (record: Readonly<Record<string, unknown>> = {}) => service.add({ record: { requireSignedRequests: false, ...record } });
let root: AdminClient;
beforeAll(async () => {
  root = await asAdministrator(service.issuer, 'root');
  const users = service.idp.tenant(await service.tid('Globex')).users;
  await users.update(await service.oid(bob.userName), { externalIdentities: [{ idp: 'eid', subject: 'bob' }] });
});

const ofInstance = '/saml-service-providers';
const given = (name: string, more: object) => ({
  entityId: `https://${name}.example`,
  assertionConsumerServices: [{ url: `https://${name}.example/acs` }],
  ...more,
});

describe('idp of a service provider', () => {
  test('is a way of signing in that there is; null takes it away', async () => {
    const acme = `/tenants/${(await tenantIds(root)).Acme}/saml-service-providers`;
    for (const path of [ofInstance, acme])
      for (const idp of ['nowhere', 'password']) {
        const { status, json } = await root.post(path, given('refused', { idp }));
        expect([status, json.errors?.[0]?.pointer]).toEqual([422, '/idp']);
      }
    for (const idp of ['local', 'eid']) {
      const { json } = await root.post(ofInstance, given(idp, { idp }));
      expect(json.idp).toBe(idp);
      expect((await root.patch(`${ofInstance}/${json.id}`, { idp: 'nowhere' })).json.errors[0].pointer).toBe('/idp');
      const fewer = await root.patch(`${ofInstance}/${json.id}`, { idp: null });
      expect([fewer.status, 'idp' in fewer.json]).toEqual([200, false]);
    }
  });

  test('leads to it at once, also who is signed in otherwise; a passive request is answered NoPassive', async () => {
    const [plain, asking] = [await open(), await open({ idp: 'eid', attributes: [{ name: 'idp', claim: 'idp' }] })];
    expect((await travel(new Agent(), asking.loginUrl)).body).toContain('<h1>signed in as');
    const agent = await signedInAt([plain]);
    expect(await statusFrom(agent, asking, requestUrl(asking, { attributes: 'IsPassive="true"' }))).toEqual(['Responder', 'NoPassive']);
    upstream.seen.length = 0;
    expect((await travel(agent, asking.loginUrl)).body).toContain('<h1>signed in as');
    expect(upstream.seen).toEqual([expect.objectContaining({ idp: 'eid' })]);
    expect([...asking.sessions.values()].at(-1)?.attributes).toEqual({ idp: 'eid' });
    const local = await open({ idp: 'local' });
    expect((await travel(agent, local.loginUrl)).body).not.toContain('<h1>signed in as');
    expect((await travel(await signedInAt([plain]), local.loginUrl)).body).toContain('<h1>signed in as');
  });

  test('is looked at again when the browser comes back: a sign-in by another is NoAuthnContext', async () => {
    const sp = await open();
    const agent = await signedInAt([sp]);
    const back = await travel(agent, requestUrl(sp), ({ location }) => location?.includes('/idp/saml/sso/answer') ?? false);
    await sp.register({ idp: 'eid' });
    expect(await statusFrom(agent, sp, back)).toEqual(['Responder', 'NoAuthnContext']);
  });
});

describe('styles of a service provider', () => {
  test('are on the sign-in page; members are merged, and null takes one or all away', async () => {
    const sp = await open({ styles: { accentColor: '#0b6e4f', radius: 3 } });
    const page = async () => (await travel(new Agent(), requestUrl(sp))).body;
    expect(await page()).toContain('#0b6e4f');
    await sp.register({ styles: { accentColor: null, font: 'serif' } });
    const { json } = await root(`${ofInstance}/${sp.id}`);
    expect(json.styles).toEqual({ radius: 3, font: 'serif' });
    expect(await page()).not.toContain('#0b6e4f');
    await sp.register({ styles: null });
    expect((await root(`${ofInstance}/${sp.id}`)).json).not.toHaveProperty('styles');
  });

  test('G7: nothing but what a client may have, and an accent that reads', async () => {
    for (const [styles, pointer] of [
      [{ accentColor: 'red' }, '/styles/accentColor'],
      [{ accentColor: '#ffff00' }, '/styles/accentColor'],
      [{ logoUri: 'http://cdn.example/logo.svg' }, '/styles/logoUri'],
      [{ radius: 25 }, '/styles/radius'],
    ] as const) {
      const { status, json } = await root.post(ofInstance, given('styled', { styles }));
      expect([status, JSON.stringify(json.errors)]).toEqual([422, expect.stringContaining(pointer)]);
    }
  });
});

describe('SAML Core §2.7.3.1: an attribute without a value is left out', () => {
  const attributesOf = (names: readonly string[]) => names.map((name) => ({ name, claim: name }));

  test('empty texts are no values', async () => {
    const sp = await open({ attributes: attributesOf(['gaps', 'texts', 'none', 'tid']) });
    await signedInAt([sp]);
    expect([...sp.sessions.values()].at(-1)?.attributes).toEqual({ gaps: ['one', 'two'], tid: await service.tid('Globex') });
  });

  test('null is none, alone and within a list; zero and false are', async () => {
    const found = { alone: null, within: ['one', null, undefined], nulls: [null], zero: 0, no: [false] };
    const claims = { named: async () => found } as never;
    const provider = { id: 'sp', attributes: attributesOf(Object.keys(found)) } as never;
    expect(await releasedAttributes({ claims }, provider, { amr: [], idp: 'local' } as never)).toEqual([
      { name: 'within', values: ['one'] },
      { name: 'zero', values: ['0'] },
      { name: 'no', values: ['false'] },
    ]);
  });
});

describe('log lines', () => {
  const linesOf = (name: string) => service.lines.filter(({ message }) => message === name).map(({ fields }) => fields);

  test('of a response: whose it is, the session and the request where they are known, and no name', async () => {
    const sp = await open({ nameId: { format: 'emailAddress' } });
    const [first, second] = [newId(), newId()];
    await statusFrom(new Agent(), sp, requestUrl(sp, { id: first, attributes: 'IsPassive="true"' }));
    const refused = linesOf('saml.response').at(-1) ?? {};
    expect(refused).toMatchObject({ serviceProvider: sp.id, status: 'Responder', subStatus: 'NoPassive', inResponseTo: first });
    expect([refused.user, refused.session]).toEqual([undefined, undefined]);
    const agent = await signedInAt([sp]);
    expect(await statusFrom(agent, sp, requestUrl(sp, { id: second }))).toEqual(['Success']);
    const user = await service.oid(bob.userName);
    const made = linesOf('saml.response').at(-1);
    expect(made).toMatchObject({ serviceProvider: sp.id, status: 'Success', inResponseTo: second, user, session: expect.any(String) });
    const sessions = await service.idp.sessions.list({ tid: await service.tid('Globex'), userId: user });
    expect(sessions.map(({ id }) => id)).toContain(made?.session);
    expect(JSON.stringify(made)).not.toMatch(/globex\.test|</);
    const denied = await signedInAt([await open()], carol);
    expect(await statusFrom(denied, sp, requestUrl(sp))).toEqual(['Responder', 'RequestDenied']);
    expect(linesOf('saml.response').at(-1)).toMatchObject({ user: await service.oid(carol.userName), session: expect.any(String) });
  });

  test('of a logout: the same, of the answer that we give and of those that we get', async () => {
    const [first, other] = [await service.add(), await service.add()];
    const agent = await signedInAt([first, other]);
    const { session } = linesOf('saml.response').at(-1) ?? {};
    const asked: string[] = [];
    await travel(agent, first.logoutUrl, (answer) => {
      const { xml = '' } = messageIn(answer) ?? {};
      if (xml.includes('LogoutRequest')) asked.push(/ ID="([^"]*)"/.exec(xml)?.[1] ?? '');
      return false;
    });
    const about = { user: await service.oid(bob.userName), session };
    expect(asked).toHaveLength(2);
    expect(linesOf('saml.logout.response').at(-1)).toMatchObject({ ...about, serviceProvider: first.id, inResponseTo: asked[0] });
    expect(linesOf('saml.logout.answered').at(-1)).toMatchObject({ ...about, serviceProvider: other.id, inResponseTo: asked[1] });
    expect(session).toEqual(expect.any(String));
  });
});
