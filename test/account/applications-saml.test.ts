/** SAML service providers in the sections `sessions` and `applications` of the account page. */
import { describe, expect, test } from '@jest/globals';
import { type Answer, titleOf } from '../support/client/agent.js';
import { asAdministrator } from '../support/saml/service/administration.js';
import { alice, bob, signedInAt, useSamlService } from '../support/saml/service/use-saml-service.js';

const service = useSamlService();
const at = (path: string): string => `${service.issuer}/idp/account/${path}`;
/** Returns the links to pages of applications, by their names. */
const linksIn = ({ body }: Answer): ReadonlyMap<string, string> =>
  new Map(
    [...body.matchAll(/href="([^"]+\/applications\/[\w-]{43})"[^>]*>(?:<[^>]+>)*([^<]+)/g)].map(([, href = '', name = '']) => [name, href]),
  );

describe('a SAML service provider that the user is signed in to', () => {
  test('is among the applications, as it is at the session, and the page says where the user signs out', async () => {
    const sp = await service.add({ record: { name: 'Expense desk' } });
    const agent = await signedInAt([sp]);
    expect((await agent.follow(await agent.get(at('sessions')))).body).toContain('Applications: Expense desk');
    const list = await agent.follow(await agent.get(at('applications')));
    expect([...linksIn(list).keys()]).toEqual(['Expense desk']);
    const page = await agent.follow(await agent.get(linksIn(list).get('Expense desk') ?? ''));
    expect([titleOf(page), page.body.includes('To sign out, open Expense desk and sign out there.')]).toEqual(['Expense desk', true]);
    expect(page.body).not.toContain('name="end"');
    // A form with the button, as an earlier page had it, ends nothing, and the page confirms nothing.
    const [, name = ''] = /applications\/([\w-]{43})$/.exec(page.url) ?? [];
    const posted = await agent.follow(await agent.submit(page, { end: name }));
    expect([posted.url, [...linksIn(posted).keys()]]).toEqual([at('applications'), ['Expense desk']]);
    const user = { tid: await service.tid('Globex'), userId: await service.oid(bob.userName) };
    const [{ clientId = '' } = {}] = await service.idp.sessions.clients(user);
    expect(clientId).toBe(`saml:${sp.id}`);
    expect(await service.idp.sessions.endClient(user, clientId)).toBe(false);
  });

  test('is left out after its removal, and pages of the service are no applications', async () => {
    const sp = await service.add({ record: { name: 'Short-lived' } });
    const agent = await signedInAt([sp], alice);
    await agent.follow(await agent.get(at('applications')));
    const user = { tid: await service.tid('Acme'), userId: await service.oid(alice.userName) };
    expect(await service.idp.sessions.clients(user)).toMatchObject([{ clientId: `saml:${sp.id}`, isInternal: true }]);
    await (await asAdministrator(service.issuer, 'root')).remove(`/saml-service-providers/${sp.id}`);
    expect(await service.idp.sessions.clients(user)).toEqual([]);
    expect((await agent.follow(await agent.get(at('applications')))).body).toContain('No application has access to your account.');
    expect((await agent.follow(await agent.get(at('sessions')))).body).not.toContain('Applications:');
  });
});
