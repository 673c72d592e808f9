/** SAML Core §3.4.1.1: the requested format of the NameID, and the status if it is not the registered one. */
import { describe, expect, test } from '@jest/globals';
import { nameIdUris } from '../../../extensions/saml/messages/name-id.js';
import { Agent } from '../../support/client/agent.js';
import { logoutRequest, newId, redirectQuery } from '../../support/saml/inbound/sent-messages.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { bob, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { type Asked, isFor, requestUrl } from '../../support/saml/service-providers/asked.js';
import { given } from '../../support/saml/service-providers/given.js';
import { plain } from '../../support/saml/service-providers/metadata.js';
import { statusCodesOf } from '../../support/saml/service-providers/node-saml.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
type Format = keyof typeof nameIdUris;
const formats = Object.keys(nameIdUris) as Format[];
const nameIdOf = (format: Format) => ({ format, ...(format === 'unspecified' ? { claim: 'preferred_username' } : {}) });
const open = (nameId: object, tid?: string) =>
  service.add({ record: { requireSignedRequests: false, nameId }, ...(tid === undefined ? {} : { tid }) });
const policy = (uri: string): string => `<samlp:NameIDPolicy Format="${uri}"/>`;
/** Returns the codes and the message of the status, and the NameID with its format. */
async function answerTo(agent: Agent, sp: Parameters<typeof requestUrl>[0] & { readonly acsUrl: string }, asked: Asked) {
  const { xml = '' } = messageIn(await travel(agent, requestUrl(sp, asked), isFor(sp))) ?? {};
  const [, format, value] = /<saml:NameID Format="([^"]*)"[^>]*>([^<]*)</.exec(xml) ?? [];
  const [, message = ''] = /<samlp:StatusMessage>([^<]*)</.exec(xml) ?? [];
  return { codes: statusCodesOf(xml), message, format, value };
}
/** Returns the log line of the last answer. */
const told = () => service.lines.findLast(({ message }) => message === 'saml.response')?.fields;

describe('nameId.ifAnotherIsAsked', () => {
  test.each(formats)(
    '%s is registered: each other format is refused by default, and answered with it where the record says so',
    async (format) => {
      const refusing = await open(nameIdOf(format));
      const answering = await open({ ...nameIdOf(format), ifAnotherIsAsked: 'answer' });
      const agent = await signedInAt([refusing, answering]);
      const unknown = 'urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName';
      for (const asked of [...formats, unknown] as const) {
        const uri = asked in nameIdUris ? nameIdUris[asked as Format] : asked;
        const isServed = [format, 'transient', 'unspecified'].includes(asked);
        const answeredAs = asked === 'transient' ? 'transient' : format;
        const served = { codes: ['Success'], format: nameIdUris[answeredAs] };
        const body = policy(uri);
        const refused = {
          codes: ['Requester', 'InvalidNameIDPolicy'],
          message: expect.stringContaining('nameId.ifAnotherIsAsked to answer'),
        };
        expect([asked, await answerTo(agent, refusing, { body })]).toEqual([asked, expect.objectContaining(isServed ? served : refused)]);
        if (!isServed)
          expect(told()).toMatchObject({ serviceProvider: refusing.id, statusMessage: expect.stringContaining('nameId.ifAnotherIsAsked') });
        expect([asked, await answerTo(agent, answering, { body })]).toEqual([asked, expect.objectContaining(served)]);
      }
    },
  );

  test('an encrypted NameID, and one of another party, are refused whatever the record says', async () => {
    const sp = await open({ format: 'persistent', ifAnotherIsAsked: 'answer' });
    const agent = await signedInAt([sp]);
    const refused = ['Requester', 'InvalidNameIDPolicy'];
    const encrypted = await answerTo(agent, sp, { body: policy('urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted') });
    expect(encrypted).toMatchObject({ codes: refused, message: expect.stringContaining('encryption of the service provider') });
    const ofOther = await answerTo(agent, sp, { body: '<samlp:NameIDPolicy SPNameQualifier="https://other.test"/>' });
    expect(ofOther).toMatchObject({ codes: refused, message: expect.stringContaining('SPNameQualifier') });
  });

  test('a sign-in that begins here has the registered format', async () => {
    const sp = await service.add({
      record: { idpInitiated: { isAllowed: true }, nameId: { format: 'emailAddress', ifAnotherIsAsked: 'answer' } },
    });
    const agent = await signedInAt([sp]);
    const { xml = '' } = messageIn(await travel(agent, `${service.issuer}/idp/saml/init?sp=${sp.id}`, isFor(sp))) ?? {};
    expect(xml).toContain(`<saml:NameID Format="${nameIdUris.emailAddress}">${bob.userName}<`);
  });

  test.each([
    ['refuse', 'Requester'],
    ['answer', 'Success'],
  ] as const)('a service provider that signs out with the format that it asked for: %s', async (ifAnotherIsAsked, code) => {
    const sp = await service.add({ record: { nameId: { format: 'emailAddress', ifAnotherIsAsked } } });
    const agent = await signedInAt([sp]);
    const { sloUrl } = sp.idp;
    const leave = async (value: string) => {
      const body = `<saml:NameID Format="${nameIdUris.persistent}">${value}</saml:NameID>`;
      const xml = logoutRequest({ id: newId(), issuer: sp.entityId, destination: sloUrl, body });
      const by = { key: sp.key.key, certificate: sp.key.der } as never;
      const end = await travel(
        agent,
        `${sloUrl}?${redirectQuery(xml, { by })}`,
        ({ location }) => location?.includes('SAMLResponse=') ?? false,
      );
      return statusCodesOf(messageIn(end)?.xml ?? '')[0];
    };
    expect(await leave('alice@acme.test')).toBe('Requester');
    expect(await leave(bob.userName)).toBe(code);
  });

  test('a Subject in the format that was asked for is the user of that name, and no other', async () => {
    const sp = await open({ format: 'persistent', ifAnotherIsAsked: 'answer' });
    const agent = await signedInAt([sp]);
    const { value = '' } = await answerTo(agent, sp, {});
    const subject = (name: string) => `<saml:Subject><saml:NameID Format="${nameIdUris.emailAddress}">${name}</saml:NameID></saml:Subject>`;
    expect((await answerTo(agent, sp, { body: subject(value) })).codes).toEqual(['Success']);
    expect((await answerTo(new Agent(), sp, { body: `${subject(value)}`, attributes: 'IsPassive="true"' })).codes).toEqual([
      'Responder',
      'NoPassive',
    ]);
    expect((await answerTo(agent, sp, { body: subject('alice@acme.test') })).codes).toEqual(['Requester', 'UnknownPrincipal']);
    const strict = await open({ format: 'persistent' });
    const { value: own = '' } = await answerTo(agent, strict, {});
    expect((await answerTo(agent, strict, { body: subject(own) })).codes).toEqual(['Requester', 'UnknownPrincipal']);
  });

  test('is set, changed and unset by the admin API, and keeps the format', async () => {
    const root = await asAdministrator(service.issuer, 'root');
    const { json } = await root.post('/saml-service-providers', given({ nameId: { format: 'transient', ifAnotherIsAsked: 'answer' } }));
    expect(json.nameId).toEqual({ format: 'transient', ifAnotherIsAsked: 'answer' });
    const change = async (ifAnotherIsAsked: string | null) =>
      (await root.patch(`/saml-service-providers/${json.id}`, { nameId: { ifAnotherIsAsked } })).json;
    expect((await change('refuse')).nameId).toEqual({ format: 'transient', ifAnotherIsAsked: 'refuse' });
    expect((await change(null)).nameId).toEqual({ format: 'transient' });
    expect((await change('ask')).errors[0].pointer).toBe('/nameId/ifAnotherIsAsked');
  });
});

describe('an e-mail address at the entity of all tenants', () => {
  const ways = [
    /allowedTenants/,
    /\/tenants\/\{tid\}\/saml-service-providers/,
    /tenantEntities/,
    /nameId\.format to persistent/,
    /subjectSalt/,
  ];

  test('a request is refused with all ways out, in the status message and in the log; none is told where it does not apply', async () => {
    const sp = await open({ format: 'persistent' });
    const agent = await signedInAt([sp]);
    const body = policy(nameIdUris.emailAddress);
    const { codes, message } = await answerTo(agent, sp, { body });
    expect(codes).toEqual(['Requester', 'InvalidNameIDPolicy']);
    for (const way of ways) expect([message, told()?.statusMessage]).toEqual([expect.stringMatching(way), expect.stringMatching(way)]);
    const tid = await service.tid('Globex');
    await sp.register({ allowedTenants: [tid] });
    const ofTenant = await open({ format: 'persistent' }, tid);
    for (const other of [sp, ofTenant]) {
      const refused = await answerTo(agent, other, { body });
      expect(refused).toEqual(
        expect.objectContaining({ codes, message: expect.stringContaining('Set nameId.format of the service provider to emailAddress') }),
      );
      expect(refused.message).not.toMatch(/allowedTenants|\{tid\}/);
    }
  });

  test('each way out works', async () => {
    const tid = await service.tid('Globex');
    const named = await open({ format: 'emailAddress' });
    const ofTenant = await open({ format: 'emailAddress' }, tid);
    const agent = await signedInAt([named, ofTenant]);
    for (const sp of [named, ofTenant])
      expect(await answerTo(agent, sp, { body: policy(nameIdUris.emailAddress) })).toMatchObject({
        codes: ['Success'],
        value: bob.userName,
      });
    const persistent = await open({ format: 'persistent' });
    expect((await answerTo(agent, persistent, { body: policy(nameIdUris.persistent) })).codes).toEqual(['Success']);
  });

  test('a record is refused with them, by hand and from metadata', async () => {
    const root = await asAdministrator(service.issuer, 'root');
    const format = `<md:NameIDFormat>${nameIdUris.emailAddress}</md:NameIDFormat>`;
    for (const record of [given({ nameId: { format: 'emailAddress' } }), { metadata: plain({ inside: format }) }]) {
      const { status, json } = await root.post('/saml-service-providers', record);
      expect([status, json.errors?.[0]?.pointer]).toEqual([422, '/allowedTenants']);
      for (const way of ways.slice(1)) expect(JSON.stringify(json.errors[0])).toMatch(way);
    }
  });
});
