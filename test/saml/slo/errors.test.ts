/** SAML Core §3.7: logout messages that are refused, and logout messages that end nothing. */
import { describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, signIn } from '../../support/client/agent.js';
import { logoutRequest, logoutResponse, newId, postFields, redirectQuery, signed } from '../../support/saml/inbound/sent-messages.js';
import { alice, bob, type RegisteredServiceProvider, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { postAcross, travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const keyOf = ({ key }: RegisteredServiceProvider) => ({ key: key.key, certificate: key.der }) as never;
const nameIdOf = ({ sessions }: RegisteredServiceProvider) => [...sessions.values()].at(-1);
interface Asked {
  readonly nameId?: string;
  readonly attributes?: string;
  readonly indexes?: readonly string[];
}
const requestUrl = (
  sp: RegisteredServiceProvider,
  { nameId = nameIdOf(sp)?.nameID ?? '', attributes = '', indexes = [] }: Asked = {},
): string => {
  const body = `<saml:NameID ${attributes}>${nameId}</saml:NameID>${indexes.map((index) => `<samlp:SessionIndex>${index}</samlp:SessionIndex>`).join('')}`;
  const xml = logoutRequest({ issuer: sp.entityId, destination: sp.idp.sloUrl, body });
  return `${sp.idp.sloUrl}?${redirectQuery(xml, { by: keyOf(sp) })}`;
};
const reasonIn = (body: string): string | undefined => /Reason: ([a-z_]+)/.exec(body)?.[1];
const answeredTo = async (agent: Agent, sp: RegisteredServiceProvider, url: string) => {
  await travel(agent, url);
  return sp.loggedOut.at(-1);
};

describe('SAML Core §3.7.3.2: whom a request is about', () => {
  test('is somebody of this session of this service provider, else UnknownPrincipal, and nothing ends', async () => {
    const [sp, other] = [await service.add(), await service.add()];
    const agent = await signedInAt([sp, other]);
    const ofAlice = await service.add();
    await signedInAt([ofAlice], alice);
    const wrong: Asked[] = [
      { nameId: 'somebody' },
      { nameId: nameIdOf(other)?.nameID ?? '' },
      { indexes: ['_other'] },
      { indexes: [nameIdOf(other)?.sessionIndex ?? ''] },
      { attributes: 'Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"' },
      { attributes: 'SPNameQualifier="https://other.test"' },
      { attributes: 'NameQualifier="https://other.test"' },
    ];
    for (const asked of wrong) expect(await answeredTo(agent, sp, requestUrl(sp, asked))).toEqual(['Requester', 'UnknownPrincipal']);
    expect((await travel(agent, sp.loginUrl)).body).toContain('<h1>signed in as');
    const { sessionIndex = '' } = nameIdOf(sp) ?? {};
    expect(await answeredTo(agent, sp, requestUrl(sp, { indexes: ['_other', sessionIndex] }))).toEqual(['Success']);
  });

  test('without a session here, the answer is Success; in a browser of somebody else, UnknownPrincipal', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const url = requestUrl(sp);
    const stranger = await signedInAt([await service.add()], alice);
    expect(await answeredTo(stranger, sp, requestUrl(sp))).toEqual(['Requester', 'UnknownPrincipal']);
    const nobody = new Agent();
    expect(await answeredTo(nobody, sp, url)).toEqual(['Success']);
    // R-1: the sign-out revokes the session that the browser has lost.
    expect([...nobody.cookies.keys()].join()).toContain('idp.signed-out');
    expect((await travel(agent, sp.loginUrl)).body).toContain('<h1>signed in as');
  });

  test('all sessions of the name, where the request names none', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    expect(await answeredTo(agent, sp, requestUrl(sp))).toEqual(['Success']);
  });

  test('not who was signed in before somebody else took over the browser', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp], alice);
    const { sessionIndex = '', nameID: nameId = '' } = nameIdOf(sp) ?? {};
    const ask = { prompt: 'login', code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    expect((await signIn(agent, authorizeUrl(service.issuer, ask), bob.userName, bob.password)).location).toContain('code=');
    const unknown = ['Requester', 'UnknownPrincipal'];
    expect(await answeredTo(agent, sp, requestUrl(sp, { nameId }))).toEqual(unknown);
    expect((await travel(agent, sp.loginUrl)).body).toContain('<h1>signed in as');
    const ofBob = nameIdOf(sp);
    expect(ofBob?.nameID).not.toBe(nameId);
    expect(ofBob?.sessionIndex).not.toBe(sessionIndex);
    for (const indexes of [[], [sessionIndex], [ofBob?.sessionIndex ?? '']])
      expect(await answeredTo(agent, sp, requestUrl(sp, { nameId, indexes }))).toEqual(unknown);
    expect(await answeredTo(agent, sp, requestUrl(sp, { indexes: [sessionIndex] }))).toEqual(unknown);
    expect((await travel(agent, sp.loginUrl)).body).toContain('<h1>signed in as');
    expect(nameIdOf(sp)?.sessionIndex).toBe(ofBob?.sessionIndex);
    expect(await answeredTo(agent, sp, requestUrl(sp, { indexes: [ofBob?.sessionIndex ?? ''] }))).toEqual(['Success']);
  });

  test('one that cannot be answered ends on a page', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const url = requestUrl(sp);
    const again = requestUrl(sp);
    const wrong = requestUrl(sp, { nameId: 'somebody' });
    await sp.register({ singleLogoutServices: [] });
    expect(reasonIn((await travel(agent, wrong)).body)).toBe('unknown_principal');
    expect((await travel(agent, url)).body).toContain('You are signed out');
    expect((await travel(agent, again)).body).toContain('You are signed out');
  });
});

describe('a step that was taken', () => {
  test('the address that a request leads to works once, and the one after the others as well', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const run = await travel(agent, sp.logoutUrl, ({ location }) => location?.includes('/slo/run') ?? false);
    const [one, other] = await Promise.all([agent.get(run.location ?? ''), agent.get(run.location ?? '')]);
    expect([one.status, other.status].sort()).toEqual([303, 400]);
    const done = [one, other].find(({ status }) => status === 303)?.location ?? '';
    expect(done).toContain('/slo/done');
    const last = await Promise.all([agent.get(done), agent.get(done)]);
    expect(last.map(({ status }) => status).sort()).toEqual([303, 400]);
    for (const path of ['run', 'done', 'next']) {
      const { status, body } = await agent.get(`${service.issuer}/idp/saml/slo/${path}?request=x&logout=x`);
      expect([status, body]).toEqual([400, expect.stringContaining('This step is over')]);
      expect((await agent.get(`${service.issuer}/idp/saml/slo/${path}`)).status).toBe(400);
    }
  });
});

describe('SAML Core §3.7.2: an answer', () => {
  const answerUrl = (sp: RegisteredServiceProvider, inResponseTo: string): string => {
    const xml = logoutResponse({ issuer: sp.entityId, destination: sp.idp.sloUrl, attributes: `InResponseTo="${inResponseTo}"` });
    return `${sp.idp.sloUrl}?${redirectQuery(xml, { by: keyOf(sp), parameter: 'SAMLResponse' })}`;
  };
  const leave = async (agent: Agent) => agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' });

  test('that nobody waits for, and one of another service provider, are refused; the right one still counts, once', async () => {
    const [sp, other] = [await service.add(), await service.add()];
    const agent = await signedInAt([sp]);
    const { body, status } = await agent.get(answerUrl(sp, newId()));
    expect([status, reasonIn(body)]).toEqual([400, 'not_pending']);
    const asked = await travel(agent, await leave(agent), ({ location }) => location?.startsWith(sp.sloUrl) ?? false);
    const { inflateRawSync } = await import('node:zlib');
    const xml = inflateRawSync(Buffer.from(new URL(asked.location ?? '').searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
    const id = / ID="([^"]*)"/.exec(xml)?.[1] ?? '';
    expect(reasonIn((await agent.get(answerUrl(other, id))).body)).toBe('not_pending');
    const answers = await Promise.all([agent.get(answerUrl(sp, id)), agent.get(answerUrl(sp, id))]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([303, 400]);
    const end = await travel(agent, answers.find((answer) => answer.status === 303) ?? '');
    expect(end.body).not.toContain(`Application ${new URL(sp.url).port}`);
  });

  test('unsigned messages of either kind end nothing', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const body = `<saml:NameID>${nameIdOf(sp)?.nameID}</saml:NameID>`;
    const xml = logoutRequest({ issuer: sp.entityId, destination: sp.idp.sloUrl, body });
    expect(reasonIn((await agent.get(`${sp.idp.sloUrl}?${redirectQuery(xml)}`)).body)).toBe('not_signed');
    expect(reasonIn((await postAcross(agent, sp.idp.sloUrl, postFields(xml))).body)).toBe('not_signed');
    const posted = await postAcross(agent, sp.idp.sloUrl, postFields(signed(xml.replace(/ID="[^"]*"/, `ID="${newId()}"`), keyOf(sp))));
    expect(posted.location).toContain('/slo/run');
    expect((await travel(agent, sp.loginUrl)).body).toContain('<h1>signed in as');
  });

  test('of a request and a response for another address, the log has both addresses and the setting to compare', async () => {
    const sp = await service.add();
    const agent = await signedInAt([sp]);
    const parts = { issuer: sp.entityId, destination: 'https://other-idp.test/slo' };
    const request = redirectQuery(logoutRequest({ ...parts, body: `<saml:NameID>${nameIdOf(sp)?.nameID}</saml:NameID>` }), {
      by: keyOf(sp),
    });
    const response = redirectQuery(logoutResponse({ ...parts, attributes: `InResponseTo="${newId()}"` }), {
      by: keyOf(sp),
      parameter: 'SAMLResponse',
    });
    for (const query of [request, response]) {
      expect(reasonIn((await agent.get(`${sp.idp.sloUrl}?${query}`)).body)).toBe('destination_mismatch');
      expect(service.lines.findLast(({ message }) => message === 'saml.request.refused')?.fields).toMatchObject({
        place: 'Destination',
        received: 'https://other-idp.test/slo',
        expected: sp.idp.sloUrl,
        setting: expect.stringContaining('option issuer'),
      });
    }
  });
});
