/** Issue 14, 4: an invited person accepts by a sign-in at an upstream provider that knows them. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Extension, locales, redirectByGet } from 'tenant-idp/extension';
import { invite, invitingSeed, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const label = Object.fromEntries(locales.map((locale) => [locale, 'Sign in at Contoso'])) as never;
/** The upstream provider, which returns this subject for every user. */
const at = { subject: 'nobody' };
const contoso: Extension = {
  name: 'contoso',
  signInMethods: ({ directory, signIn: { interactions } }) => [
    {
      name: 'contoso',
      buttons: () => [{ idp: 'contoso', label }],
      async begin(ctx, interaction) {
        const identity = { idp: 'contoso', subject: at.subject };
        const [known] = await directory.accounts.ofIdentity(identity);
        if (!known) return ctx.throw(403);
        const person = await directory.acceptance.acceptIdentity(known.person, identity);
        const account = { ...known, person };
        const proof = await directory.credentials.proofOf(account, new Date());
        const target = await interactions.signIn(ctx, interaction, { oid: person.user.id, amr: ['external'], idp: 'contoso', proof });
        redirectByGet(ctx, target ?? (await interactions.abort(ctx, interaction)));
      },
    },
  ],
};
const service = useIdp({ seed: invitingSeed as never, extensions: [contoso], limits: { signInFailuresPerAddress: 100_000 } });
let acme: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
});

async function guest(idp = 'contoso') {
  const made = await invite(service.idp);
  const subject = `${idp} ${made.userName}`;
  await service.idp.tenant(acme).users.update(made.person.user.id, { externalIdentities: [{ idp, subject }] });
  return { ...made, subject };
}
const press = async (agent: Agent, page: Answer): Promise<Answer> => agent.follow(await agent.submit(page, { step: 'provider' }));

describe('14.4 acceptance by any method', () => {
  test('beside the password, a person whom a provider knows signs in there; that accepts the invitation', async () => {
    const { url, subject, person, invitation, tid } = await guest();
    const agent = new Agent();
    const page = await agent.get(url);
    expect([page.body.includes('Sign in another way'), page.body.includes('Choose a password')]).toEqual([true, true]);
    at.subject = subject;
    expect(titleOf(await press(agent, page))).toBe('Your account is ready');
    expect((await service.idp.tenant(tid).users.require(person.user.id)).user.status).toBe('active');
    expect((await service.idp.tenant(tid).invitations.require(invitation.id)).status).toBe('accepted');
    expect((await new Agent().get(url)).status).toBe(410);
  });

  test('a tenant without passwords offers the provider alone, and nobody is active before the sign-in', async () => {
    await service.idp.directory.tenants.update(acme, { signIn: { methods: ['contoso'] } });
    try {
      const { url, subject, person, tid } = await guest();
      const agent = new Agent();
      const page = await agent.get(url);
      expect([page.body.includes('Sign in another way'), page.body.includes('password')]).toEqual([true, false]);
      at.subject = 'nobody';
      expect((await press(agent, page)).status).toBe(403);
      expect((await service.idp.tenant(tid).users.require(person.user.id)).user.status).toBe('invited');
      at.subject = subject;
      expect(titleOf(await press(agent, await agent.get(url)))).toBe('Your account is ready');
    } finally {
      await service.idp.directory.tenants.update(acme, { signIn: null });
    }
  });

  test('a provider that does not know the person, that there is not, or that the tenant does not allow is not offered', async () => {
    const { url: unknown } = await invite(service.idp);
    const { url: absent } = await guest('fabrikam');
    const { url: forbidden } = await guest();
    await service.idp.directory.tenants.update(acme, { signIn: { methods: ['password'] } });
    for (const url of [unknown, absent, forbidden]) {
      const agent = new Agent();
      const page = await agent.get(url);
      expect(page.body).not.toContain('Sign in another way');
      expect((await agent.submit(page, { step: 'provider', password: '' })).status).toBe(400);
    }
    await service.idp.directory.tenants.update(acme, { signIn: null });
  });
});
