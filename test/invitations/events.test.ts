/** Service specification, Events 2: all events of an invitation with a client name the client, events of a personal account too. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { captureMail, invite, invitingSeed, PASSWORD, personalTenant } from '../support/administration/invitations.js';
import { Agent, formOf, titleOf } from '../support/client/agent.js';
import { type IdpInUse, useIdp } from '../support/service/use-idp.js';
import { linkIn, mailTo } from '../support/sign-in/passwords.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { until } from '../support/time/until.js';

let upstream: UpstreamProvider;
const captured = captureMail();
const proving = useIdp({ seed: invitingSeed as never, personalTenant, mail: captured.mail });
const service = useIdp(async () => {
  upstream = await startUpstream();
  const connection = { id: 'social', name: 'Social', issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
  const connections = [{ ...connection, createUsersIn: 'Personal', requireVerifiedEmail: false, mapping: { userName: { claim: 'sub' } } }];
  return { seed: { ...invitingSeed, extensions: { connections } } as never, personalTenant };
});
beforeAll(() => upstream.register(service.issuer, ['social']));
afterAll(() => upstream.close());

const newName = () => `personal-${randomUUID()}@home.test`;
const CONFIRM = 'Link these accounts?';
const names = { givenName: 'Gina', familyName: 'Guest', password: PASSWORD };

/** Ways in which the invitation creates a personal account. Each returns its user name. */
const ways: Record<string, { readonly service: IdpInUse; readonly make: (url: string) => Promise<string> }> = {
  'the form, without mail': {
    service,
    async make(url) {
      const [agent, email] = [new Agent(), newName()];
      const form = await agent.follow(await agent.submit(await agent.get(url), { step: 'create' }));
      expect(titleOf(await agent.follow(await agent.submit(form, { ...names, email })))).toBe(CONFIRM);
      return email;
    },
  },
  'a mailed link, in the browser that began': {
    service: proving,
    async make(url) {
      const [agent, email] = [new Agent(), newName()];
      const form = await agent.follow(await agent.submit(await agent.get(url), { step: 'create' }));
      await agent.submit(form, { ...names, email });
      const page = await agent.get(linkIn(await mailTo(captured, email, 'registration')));
      expect(titleOf(await agent.follow(await agent.submit(page, {})))).toBe(CONFIRM);
      return email;
    },
  },
  'a mailed link, in another browser': {
    service: proving,
    async make(url) {
      const [agent, owner, email] = [new Agent(), new Agent(), newName()];
      const form = await agent.follow(await agent.submit(await agent.get(url), { step: 'create' }));
      await agent.submit(form, { ...names, email });
      const page = await owner.get(linkIn(await mailTo(captured, email, 'registration')));
      await owner.follow(await owner.submit(page, names));
      return email;
    },
  },
  'a first sign-in at a provider': {
    service,
    async make(url) {
      upstream.person = { sub: randomUUID() };
      const agent = new Agent();
      const identifier = await agent.follow(await agent.submit(await agent.get(url), { step: 'sign-in' }));
      const [, action = ''] = /formaction="([^"]+)"/.exec(identifier.body) ?? [];
      const left = await agent.follow(await agent.post(action, { ...formOf(identifier).fields, idp: 'social' }));
      expect(titleOf(await agent.follow(await agent.get(await atUpstream(upstream, left))))).toBe(CONFIRM);
      return upstream.person.sub;
    },
  },
};

test.each(Object.entries(ways))('all events of an account that is made by %s', async (_, { service: { idp }, make }) => {
  const events: IdpEvent[] = [];
  for (const type of ['PersonCreated', 'UserCreated'] as const) idp.events.on(type, (event) => void events.push(event));
  for (const [clientId, metadata] of [
    ['portal', { ClientId: 'portal', ClientName: 'The portal' }],
    [undefined, undefined],
  ] as const) {
    const invited = await invite(idp, { link: true, ...(clientId && { clientId }) });
    const userName = await make(invited.url);
    const person = await idp.tenant(personalTenant).users.findByUserName(userName);
    const own = () => events.filter(({ subject }) => subject === person?.id || subject === person?.user.id);
    await until(() => own().length >= 2);
    expect(own().map(({ data }) => (data as { metadata?: object }).metadata)).toEqual([metadata, metadata]);
  }
});
