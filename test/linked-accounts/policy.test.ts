/** `signIn.accountLinks` of a tenant: whether its users may be linked to accounts of other tenants, on every path that links. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { applySeed, type Seed } from '../../lib/directory/index.js';
import { adminClient, administer, adminToken } from '../support/administration/admin.js';
import { captureMail, invitingSeed, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, titleOf } from '../support/client/agent.js';
import { silentLogger, testDirectory } from '../support/service/test-directory.js';
import { useIdp } from '../support/service/use-idp.js';

const linker = adminClient('linker', ['*'], ['idp.links:write', 'idp.invitations:write', 'idp.tenants:write', 'idp.users:write']);
const service = useIdp({
  seed: { ...invitingSeed, clients: [...invitingSeed.clients, linker] } as never,
  personalTenant,
  mail: captureMail().mail,
});
let acme: string;
let globex: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  globex = await tenantNamed(service.idp, 'Globex');
});
const setPolicy = (tid: string, accountLinks?: boolean) =>
  service.idp.directory.tenants.update(tid, { signIn: accountLinks === undefined ? {} : { accountLinks } });
afterEach(async () => {
  await setPolicy(acme);
  await setPolicy(globex);
});

async function made(tid: string) {
  const name = `p-${randomUUID().slice(0, 8)}`;
  const { persons } = service.idp.tenant(tid);
  const userName = `${name}@policy.test`;
  const person = await persons.create({ givenName: name, familyName: 'Person', user: { userName, status: 'active' } });
  const oid = person.user?.id ?? '';
  await service.idp.directory.credentials.seedPassword(oid, name);
  return { tid, userName, password: name, oid, personId: person.id };
}
type Made = Awaited<ReturnType<typeof made>>;
const parentOf = async ({ tid, oid }: Made) => (await service.idp.tenant(tid).users.require(oid)).user.parentUserId;

async function prove(agent: Agent, at: Answer, { userName, password }: Made): Promise<Answer> {
  const asked = at.body.includes('name="password"') ? at : await agent.follow(await agent.submit(at, { identifier: userName }));
  return agent.follow(await agent.submit(asked, { password }));
}
const openList = async (agent: Agent, who: Made): Promise<Answer> =>
  prove(agent, await agent.follow(await agent.get(`${service.issuer}/idp/linked-accounts`)), who);
const closed = 'does not let its accounts be linked to accounts of other organisations';

/** Paths that link a parent and a child. Each returns `linked`, or the reason why not: a code, or the text of a page. */
const paths: Readonly<Record<string, (parent: Made, child: Made) => Promise<string>>> = {
  async 'code of a host'(parent, child) {
    const { linking } = service.idp.tenant(child.tid);
    return linking.link(child.oid, { tid: parent.tid, userId: parent.oid }).then(
      () => 'linked',
      ({ code }) => code,
    );
  },
  async 'the admin API'(parent, child) {
    const admin = administer(service.issuer, await adminToken(service.issuer, 'linker', linker.allowedScopes.join(' ')));
    const { status, json } = await admin.post(`/tenants/${child.tid}/users/${child.oid}/link/${parent.oid}`);
    return status === 200 ? 'linked' : json.code;
  },
  async 'the page of the person'(parent, child) {
    const agent = new Agent();
    // A list that was opened before the change of the policy still has this button.
    const list = await openList(agent, parent);
    const asked = await agent.follow(await agent.submit(list, { step: 'link' }));
    const confirm = await prove(agent, asked, child);
    if (!confirm.body.includes('name="parent"')) return confirm.body;
    return (await agent.submit(confirm, { parent: parent.oid })).location?.includes('?done=linked.') ? 'linked' : 'not linked';
  },
};

describe.each(Object.entries(paths))('by %s', (_name, link) => {
  test('users are linked, where no tenant says otherwise', async () => {
    const [parent, child] = [await made(acme), await made(globex)];
    expect([await link(parent, child), await parentOf(child)]).toEqual(['linked', parent.oid]);
  });

  test.each(['parent', 'child'] as const)('nobody is linked against the tenant of the %s; links that exist stay', async (side) => {
    const [parent, child, linked] = [await made(acme), await made(globex), await made(globex)];
    await paths['code of a host']?.(await made(acme), linked);
    const before = await parentOf(linked);
    await setPolicy(side === 'parent' ? acme : globex, false);
    expect(await link(parent, child)).toMatch(new RegExp(`link_not_allowed|${closed}`));
    expect([await parentOf(child), await parentOf(linked)]).toEqual([undefined, before]);
  });
});

test('the list of a person whose tenant links nobody says so, and has no button', async () => {
  const who = await made(acme);
  expect((await openList(new Agent(), who)).body).toContain('Link another account');
  await setPolicy(acme, false);
  const { body } = await openList(new Agent(), who);
  expect(body).not.toContain('Link another account');
  expect(body).toContain(closed);
});

describe('an invitation with `link`', () => {
  const invite = async (tid: string) => {
    const userName = `i-${randomUUID().slice(0, 8)}@policy.test`;
    const person = await service.idp
      .tenant(tid)
      .persons.create({ givenName: 'I', familyName: 'I', email: userName, user: { userName, status: 'invited' } });
    const { invitations } = service.idp.tenant(tid);
    const { id } = await invitations.create(person.user?.id ?? '', { send: false, link: true });
    return { url: (await invitations.link(id)).url, userId: person.user?.id ?? '' };
  };

  test('is refused where the tenant links nobody', async () => {
    await setPolicy(acme, false);
    await expect(invite(acme)).rejects.toMatchObject({ code: 'link_not_allowed' });
  });

  test('links nobody once the tenant says so, and the page says why', async () => {
    const { url, userId } = await invite(acme);
    const personal = await made(await tenantNamed(service.idp, 'Personal'));
    const agent = new Agent();
    const opened = await agent.follow(await agent.get(url));
    const confirm = await prove(agent, await agent.follow(await agent.submit(opened, { step: 'sign-in' })), personal);
    expect(confirm.body).toContain('value="link"');
    await setPolicy(acme, false);
    const refused = await agent.follow(await agent.submit(confirm, { step: 'link' }));
    expect([refused.status, titleOf(refused)]).toEqual([409, 'These accounts cannot be linked']);
    expect(refused.body).toContain('does not let its accounts be linked');
    expect((await service.idp.tenant(acme).users.require(userId)).user).toMatchObject({ status: 'invited' });
  });
});

test('the seed leaves a link that a tenant does not allow by now, and goes on', async () => {
  await using t = await testDirectory();
  const user = (name: string, more: object = {}) => ({ givenName: name, familyName: name, user: { userName: name, ...more } });
  const seedOf = (more: object): Seed => ({
    tenants: [
      { name: 'Parents', persons: [user('parent@seed.test')] },
      { name: 'Children', signIn: { accountLinks: false }, persons: [user('child@seed.test', more)] },
    ],
  });
  await applySeed(t.directory, seedOf({}), silentLogger);
  const linkedTo = { userName: 'parent@seed.test', tenant: 'Parents' };
  const told: unknown[] = [];
  await applySeed(t.directory, seedOf({ linkedTo }), { ...silentLogger, info: (fields: unknown) => void told.push(fields) });
  const [child] = await t.directory.accounts.candidates('child@seed.test');
  expect(child?.person.user.parentUserId).toBeUndefined();
  expect(told).toEqual([{ values: [expect.stringMatching(/^users:.* linkedTo$/)] }]);
});
