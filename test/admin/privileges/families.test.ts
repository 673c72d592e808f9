/**
 * Means of linked accounts, over HTTP: account links made by an administrator or a sign-in of lesser authority, and confirmations of some
 * accounts.
 */
import { describe, expect, test } from '@jest/globals';
import { adminClient } from '../../support/administration/admin.js';
import {
  GRANTED,
  type Member,
  ok,
  orgTenant,
  privileged,
  scopesWithout,
  useAdministrators,
} from '../../support/administration/administrators.js';
import { Agent, type Answer, authorizeUrl, signIn, titleOf } from '../../support/client/agent.js';
import { submit } from '../../support/sign-in/factors.js';
import { pkce } from '../../support/sign-in/passwords.js';
import { atUpstream } from '../../support/sign-in/upstream-provider.js';

/** A privilege of a parent, which `holder` lacks. */
const OF_PARENT = 'idp.clients:write';
const PASSWORD = 'a password that is long';
const tenants = [orgTenant, { name: 'Home', groups: [privileged] }, { name: 'Third' }];
const names = tenants.map(({ name }) => name);

const { service, by, tidOf, upstream, record, ...administrators } = useAdministrators({
  tenants,
  administrators: [
    adminClient('low', names, scopesWithout(GRANTED, OF_PARENT)),
    adminClient('holder', names, scopesWithout(OF_PARENT)),
    adminClient('local', ['Org'], scopesWithout(OF_PARENT)),
  ],
  connections: [{ id: 'up', tenant: 'Org', name: 'Up' }],
});
const member = (tenant: string) => administrators.member(tidOf(tenant), { password: PASSWORD });
const give = ({ tid, userId }: Member) => service.idp.tenant(tid).users.addGroups(userId, { names: ['Privileged'] });
const kindsOf = (items: unknown) => (items as { kind: string; userId: string }[]).map(({ kind, userId }) => `${kind} ${userId}`).toSorted();

const start = (more: Record<string, string> = {}) => authorizeUrl(service.issuer, { ...pkce, ...more });
const isCode = ({ location }: Answer): boolean => location?.includes('code=') === true;
const opens = async ({ userName }: Member): Promise<boolean> => isCode(await signIn(new Agent(), start(), userName, PASSWORD));

describe('an account link that a lesser administrator made', () => {
  async function family() {
    const [parent, child, sibling] = [await member('Home'), await member('Org'), await member('Third')];
    for (const one of [child, sibling]) ok(await by('low').post(`${one.path}/link/${parent.userId}`));
    return { parent, child, sibling };
  }

  test('opens the child no more after a grant, while the parent and the sibling stay open', async () => {
    const { parent, child, sibling } = await family();
    await give(child);
    expect(await Promise.all([parent, child, sibling].map(opens))).toEqual([true, false, true]);
    expect(kindsOf((await by('low')(`${child.path}/means`)).json.items)).toEqual([`link ${child.userId}`]);
    ok(await by('holder')(`${child.path}/means`));
    expect((await by('holder').post(`${child.path}/means/confirm`)).json).toEqual({
      items: [{ kind: 'link', tid: child.tid, userId: child.userId, id: parent.userId }],
      left: [],
      hasMoreElsewhere: false,
    });
    expect(await Promise.all([parent, child, sibling].map(opens))).toEqual([true, true, true]);
  });

  test.each(['parent', 'sibling'] as const)('opens the child from no session of the %s', async (name) => {
    const { child, ...others } = await family();
    const agent = new Agent();
    expect(isCode(await signIn(agent, start(), others[name].userName, PASSWORD))).toBe(true);
    const ask = async () => agent.follow(await agent.get(start({ acr_values: `tenant:${child.tid}` })));
    const choice = await ask();
    expect([titleOf(choice), choice.body.includes(child.userId)]).toEqual(['Choose an account', true]);
    await give(child);
    const refused = await ask();
    expect([titleOf(refused), refused.body.includes(child.userId)]).toEqual(['Sign in to Web shop', false]);
    // The page from before the grant does not open the child either.
    expect(isCode(await submit(agent, choice, { choice: child.userId }))).toBe(false);
  });

  test('is made anew by who holds the privilege: an unlinked child has no voucher of the link that ended', async () => {
    const { parent, child } = await family();
    ok(await by('low').remove(`${child.path}/link/${parent.userId}`));
    ok(await by('holder').post(`${child.path}/link/${parent.userId}`));
    await give(child);
    expect(await opens(child)).toBe(true);
  });
});

test('an account link that somebody made on a page, signed in by an identity of a lesser administrator, counts for no more', async () => {
  const [parent, child] = [await member('Home'), await member('Org')];
  await record(by('low'), child, 'up');
  const agent = new Agent();
  const begun = await agent.follow(await agent.get(start({ acr_values: 'idp:up' })));
  expect(isCode(await agent.follow(await agent.get(await atUpstream(upstream(), begun))))).toBe(true);
  const asked = await agent.follow(await agent.get(`${service.issuer}/idp/linked-accounts/link`));
  const confirm = await submit(agent, await submit(agent, asked, { identifier: parent.userName }), { password: PASSWORD });
  const done = await submit(agent, confirm, { parent: parent.userId });
  expect([titleOf(done), done.url]).toEqual(['Linked accounts', expect.stringContaining('done=linked.')]);
  await give(child);
  expect(await opens(child)).toBe(false);
  expect(kindsOf((await by('low')(`${child.path}/means`)).json.items)).toContain(`link ${child.userId}`);
});

describe('a confirmation of a child whose parent the caller may not become', () => {
  async function family() {
    const [parent, child] = [await member('Home'), await member('Org')];
    ok(await by('low').patch(`/tenants/${parent.tid}/persons/${parent.personId}`, { email: `written-${parent.userId}@other.test` }));
    ok(await by('low').post(`${child.path}/link/${parent.userId}`));
    const { id } = await service.idp.tenant(parent.tid).groups.create({ name: `Clients ${parent.userId}`, permissionIds: [OF_PARENT] });
    await service.idp.tenant(parent.tid).users.addGroups(parent.userId, { ids: [id] });
    await give(child);
    return { parent, child };
  }

  test.each([
    ['holder', true],
    ['local', false],
  ])('by %s confirms the child’s own means, and says what is left', async (name, isSeen) => {
    const { parent, child } = await family();
    ok(await by(name)(`${child.path}/means`));
    const { status, json } = await by(name).post(`${child.path}/means/confirm`);
    expect([status, kindsOf(json.items)]).toEqual([200, [`link ${child.userId}`]]);
    expect([kindsOf(json.left), json.hasMoreElsewhere]).toEqual([isSeen ? [`address ${parent.userId}`] : [], !isSeen]);
    expect(await opens(child)).toBe(true);
    expect(kindsOf((await by('root')(`${child.path}/means`)).json.items)).toEqual([`address ${parent.userId}`]);
  });

  test('by who holds too little for the child as well confirms nothing', async () => {
    const { parent, child } = await family();
    ok(await by('low')(`${child.path}/means`));
    expect((await by('low').post(`${child.path}/means/confirm`)).json.code).toBe('grant_exceeds_own');
    expect(kindsOf((await by('root')(`${child.path}/means`)).json.items)).toEqual([`address ${parent.userId}`, `link ${child.userId}`]);
  });
});
