/**
 * XT-CROWD, XT-REVIVE, XT-NONE: claims of one tenant's administrator hide no account of another tenant. No sign-in replaces an account that
 * the tenant of new users disabled. “None of these is mine” counts for one identity.
 */
import { describe, expect, test } from '@jest/globals';
import { Agent, type Answer, titleOf } from '../../support/client/agent.js';
import { CLAIMS, useNewcomers } from './newcomers.js';

const { accountOf, admins, back, by, choose, claimed, newcomer, none, service, signedIn, tid, user } = useNewcomers();

const UNAVAILABLE = 'Your account cannot be used now';

/** Records more claims at Globex than a page shows of one tenant. */
async function crowd(subject: string): Promise<readonly string[]> {
  const all: string[] = [];
  for (let index = 0; index < 12; index += 1) all.push(await claimed('Globex', subject, 'active', admins.helper));
  return all;
}
const disable = async (tenant: 'Acme' | 'Globex', oid: string) =>
  expect((await admins[tenant.toLowerCase()]?.post(`/tenants/${tid[tenant]}/users/${oid}/disable`))?.status).toBeLessThan(300);
const shown = (page: Answer, oids: readonly string[]) => oids.filter((oid) => page.body.includes(`value="${oid} `));
const usersIn = async (subject: string, tenant: string) =>
  (await service.idp.directory.accounts.ofIdentity({ idp: 'inst', subject })).filter((account) => account.tenant.id === tid[tenant]).length;

describe('XT-CROWD: twelve users of Globex have the identity of one of Initech', () => {
  test('the page shows ten, and the one of Initech', async () => {
    const sub = newcomer();
    const [many, one] = [await crowd(sub), await claimed('Initech', sub)];
    const agent = new Agent();
    const page = await by(agent);
    expect([titleOf(page), shown(page, many).length, shown(page, [one])]).toEqual([CLAIMS, 10, [one]]);
    expect(await signedIn(await choose(agent, page, one))).toBe(one);
  });

  const nowhere: Readonly<Record<string, readonly [client: string, crowd: (oids: readonly string[]) => Promise<unknown>]>> = {
    'are not of the client': ['acme-initech', async () => undefined],
    'are disabled': ['web', async (oids) => Promise.all(oids.map((oid) => disable('Globex', oid)))],
    'have privileges that their administrator does not hold': [
      'web',
      async (oids) => {
        const { groups, users } = service.idp.tenant(tid.Globex ?? '');
        const { id } = await groups.create({ name: `Operators ${oids[0]}`, permissionIds: ['idp.keys:write'] });
        for (const oid of oids) await users.setGroups(oid, { ids: [id] });
      },
    ],
  };
  test.each(Object.entries(nowhere))('where the twelve %s, they take no place on the page', async (_, [client, become]) => {
    const sub = newcomer();
    const many = await crowd(sub);
    await become(many);
    // The last account of the tenant with many claims is shown too.
    const [one, last] = [await claimed('Initech', sub), await claimed('Globex', sub)];
    const agent = new Agent();
    const page = await by(agent, client);
    const expected = client === 'web' ? [one, last] : [one];
    expect([titleOf(page), shown(page, many), shown(page, [one, last])]).toEqual([CLAIMS, [], expected]);
    expect(await usersIn(sub, 'Acme')).toBe(0);
    expect(await signedIn(await choose(agent, page, one), client)).toBe(one);
  });

  /** Creates an account of Acme that is linked to a claimed account of Initech. */
  async function linked(subject: string): Promise<string> {
    const [parent, child] = [await claimed('Initech', subject), await user('Acme')];
    await service.idp.tenant(tid.Acme ?? '').linking.link(child, { tid: tid.Initech ?? '', userId: parent });
    return child;
  }

  test('the page says of an account that is linked to the one of Initech that Initech recorded it', async () => {
    const child = await linked(newcomer());
    const page = await by(new Agent(), 'acme-globex');
    expect([shown(page, [child]), page.body.includes('Initech entered Inst as your way to sign in')]).toEqual([[child], true]);
    expect(page.body).not.toContain('Acme entered Inst');
  });

  test('the claim of Globex does not hide the linked account', async () => {
    const sub = newcomer();
    const [child, other] = [await linked(sub), await claimed('Globex', sub)];
    expect(shown(await by(new Agent(), 'acme-globex'), [child, other])).toEqual([child, other]);
  });
});

describe('XT-REVIVE: the tenant of new users recorded the identity, and disabled the user', () => {
  const inAcme = async (subject: string) => {
    const oid = await claimed('Acme', subject);
    await disable('Acme', oid);
    return oid;
  };

  test('a sign-in of all tenants is refused as one that is held to the tenant, and makes no user', async () => {
    const sub = newcomer();
    const oid = await inAcme(sub);
    for (const tenant of [undefined, 'Acme'])
      expect([tenant, titleOf(await by(new Agent(), 'web', tenant))]).toEqual([tenant, UNAVAILABLE]);
    expect(await usersIn(sub, 'Acme')).toBe(1);
    await admins.acme?.post(`/tenants/${tid.Acme}/users/${oid}/enable`);
    const agent = new Agent();
    expect(await signedIn(await choose(agent, await by(agent), oid))).toBe(oid);
  });

  test('“none of these is mine” makes no user either', async () => {
    const sub = newcomer();
    await inAcme(sub);
    await claimed('Globex', sub);
    const agent = new Agent();
    const page = await by(agent);
    expect([titleOf(page), titleOf(await none(agent, page)), await usersIn(sub, 'Acme')]).toEqual([CLAIMS, UNAVAILABLE, 1]);
  });

  test('a user who is linked to another tenant stays disabled', async () => {
    const sub = newcomer();
    const [child, parent] = [await claimed('Acme', sub), await user('Globex')];
    await service.idp.tenant(tid.Acme ?? '').linking.link(child, { tid: tid.Globex ?? '', userId: parent });
    await disable('Acme', child);
    expect([titleOf(await by(new Agent())), await usersIn(sub, 'Acme')]).toEqual([UNAVAILABLE, 1]);
  });

  test('a disabled user of another tenant keeps nobody from a new account', async () => {
    const sub = newcomer();
    await disable('Globex', await claimed('Globex', sub));
    const made = await signedIn(await by(new Agent()));
    expect(made).toBe(await accountOf(sub, 'Acme'));
    expect(made).toEqual(expect.any(String));
  });
});

describe('XT-NONE: the person says that none of the accounts is theirs', () => {
  test('the page is shown again where the provider answers for another identity', async () => {
    const first = newcomer();
    await claimed('Globex', first);
    const agent = new Agent();
    const page = await by(agent);
    const second = newcomer();
    const oid = await claimed('Globex', second);
    const again = await none(agent, page);
    expect([titleOf(again), shown(again, [oid]), await usersIn(second, 'Acme')]).toEqual([CLAIMS, [oid], 0]);
    // The answer for the second identity counts for the second identity.
    expect(await signedIn(await none(agent, again))).toBe(await accountOf(second, 'Acme'));
  });

  test.each(['', 'x'])('a form that does not say of which identity (%#) shows the page again', async (subject) => {
    const sub = newcomer();
    await claimed('Globex', sub);
    const agent = new Agent();
    const page = await by(agent);
    const again = await back(agent, await agent.submit(page, { choice: 'none', subject }));
    expect([titleOf(again), await usersIn(sub, 'Acme')]).toEqual([CLAIMS, 0]);
  });

  test('a form with a longer text than a page of the service has is refused, and the page can still be used', async () => {
    const sub = newcomer();
    await claimed('Globex', sub);
    const agent = new Agent();
    const page = await by(agent);
    expect((await agent.submit(page, { choice: 'none', subject: 'x'.repeat(15_000) })).status).toBe(400);
    expect(await usersIn(sub, 'Acme')).toBe(0);
    expect(await signedIn(await none(agent, page))).toBe(await accountOf(sub, 'Acme'));
  });
});
