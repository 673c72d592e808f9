/** SAML Profiles §4.1: web browser single sign-on, as @node-saml/node-saml has it. */
import { describe, expect, test } from '@jest/globals';
import { Agent } from '../support/client/agent.js';
import { travel } from '../support/saml/travel.js';
import { bob, signInOn, useSamlService } from '../support/saml/use-saml-service.js';

const service = useSamlService();

describe('SAML Profiles §4.1', () => {
  test('first', async () => {
    const sp = await service.add();
    const agent = new Agent();
    const page = await travel(agent, `${sp.loginUrl}?relayState=deep`);
    expect(page.body).toContain('<form');
    const end = await signInOn(agent, page, bob);
    expect(end.body).toContain('signed in as');
    expect(end.body).toContain('deep');
    console.log([...sp.sessions.values()][0]);
  });
});
