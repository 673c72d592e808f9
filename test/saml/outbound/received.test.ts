/** Issue 17: messages as service providers receive them validate against the schemas of OASIS and W3C. */
import { expect, test } from '@jest/globals';
import { describeInstalled } from '../../servers/installed.js';
import { Agent, type Answer } from '../../support/client/agent.js';
import { schemaPackages, validate } from '../../support/saml/outbound/schemas.js';
import { type RegisteredServiceProvider, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { requestUrl } from '../../support/saml/service-providers/asked.js';
import { statusCodesOf } from '../../support/saml/service-providers/node-saml.js';
import { messageIn, travel } from '../../support/saml/service-providers/travel.js';

describeInstalled('the schemas of OASIS, at a service provider', schemaPackages, () => {
  const service = useSamlService();

  /** Returns the messages that the service sends on the way. */
  async function sentOnTheWay(agent: Agent, from: Answer | string): Promise<readonly string[]> {
    const sent: string[] = [];
    await travel(agent, from, (answer) => {
      const { xml } = (answer.url.startsWith(service.issuer) && messageIn(answer)) || {};
      if (xml !== undefined) sent.push(xml);
      return false;
    });
    return sent;
  }
  const elementOf = (xml: string): string => /<samlp:(\w+)/.exec(xml)?.[1] ?? '';
  const responseTo = ({ responses }: RegisteredServiceProvider): string =>
    Buffer.from(responses.at(-1)?.SAMLResponse ?? '', 'base64').toString();

  test('a Response', async () => {
    const record = { attributes: ['tid', 'oid'].map((claim) => ({ name: `urn:test:${claim}`, claim })) };
    for (const sp of [await service.add(), await service.add({ record })]) {
      await signedInAt([sp]);
      expect(statusCodesOf(responseTo(sp))).toEqual(['Success']);
      validate(responseTo(sp));
    }
  });

  test('an error Response', async () => {
    const sp = await service.add({ record: { requireSignedRequests: false } });
    await travel(new Agent(), requestUrl(sp, { attributes: 'IsPassive="true"' }));
    expect(statusCodesOf(responseTo(sp))).toEqual(['Responder', 'NoPassive']);
    validate(responseTo(sp));
  });

  test.each(['redirect', 'post'] as const)('a LogoutRequest, and a LogoutResponse with each status, by %s', async (binding) => {
    const [sp, other] = [await service.add({ binding }), await service.add({ binding })];
    for (const onLogout of ['answer', 'fail'] as const) {
      other.onLogout = onLogout;
      const sent = await sentOnTheWay(await signedInAt([sp, other]), sp.logoutUrl);
      expect(sent.map(elementOf)).toEqual(['LogoutRequest', 'LogoutResponse']);
      for (const xml of sent) validate(xml);
    }
    expect(sp.loggedOut).toEqual([['Success'], ['Success', 'PartialLogout']]);
  });
});
