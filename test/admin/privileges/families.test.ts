/** Means of linked accounts, over HTTP: account links that an administrator or a sign-in of lesser authority made, and confirmations of a part of a family. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AdminAnswer, AdminClient } from '../../support/administration/admin.js';
import { adminClient, administer, adminScopes, adminSeed, adminToken, tenantIds } from '../../support/administration/admin.js';
import { Agent, type Answer, authorizeUrl, signIn, titleOf } from '../../support/client/agent.js';
import { useIdp } from '../../support/service/use-idp.js';
import { submit } from '../../support/sign-in/factors.js';
import { pkce } from '../../support/sign-in/passwords.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';

/** The privilege. `low` administers the tenants as well, and lacks it. */
const GRANTED = 'idp.exports:read';
/** A privilege of a parent, which `holder` lacks. */
const OF_PARENT = 'idp.clients:write';
const PASSWORD = 'a password that is long';
const scopesOf = { root: adminScopes, low: [], holder: [], local: [] } as Record<string, readonly string[]>;
scopesOf.low = adminScopes.filter((one) => one !== GRANTED && one !== OF_PARENT);
scopesOf.holder = adminScopes.filter((one) => one !== OF_PARENT);
scopesOf.local = scopesOf.holder;

let upstream: UpstreamProvider;
const service = useIdp(async () => {
  upstream = await startUpstream();
  const connection = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, issuer: upstream.issuer };
  return {
    seed: {
      ...adminSeed,
      tenants: [
        ...adminSeed.tenants,
        { name: 'Org', groups: [{ name: 'Privileged', permissions: [GRANTED] }] },
        { name: 'Home', groups: [{ name: 'Privileged', permissions: [GRANTED] }] },
        { name: 'Third' },
      ],
      clients: [
        ...adminSeed.clients,
        adminClient('low', ['Org', 'Home', 'Third'], scopesOf.low),
        adminClient('holder', ['Org', 'Home', 'Third'], scopesOf.holder),
        adminClient('local', ['Org'], scopesOf.local),
      ],
      extensions: { connections: [{ ...connection, id: 'up', tenant: 'Org', name: 'Up' }] },
    } as never,
    limits: { adminRequestsPerMinute: 1_000_000, signInFailuresPerAddress: 100_000 },
  };
});
afterAll(() => upstream?.close());

let tids: Readonly<Record<string, string>>;
const clients = new Map<string, AdminClient>();
const by = (name: string): AdminClient => clients.get(name) as AdminClient;
beforeAll(async () => {
  upstream.register(service.issuer, ['up']);
  for (const name of Object.keys(scopesOf))
    clients.set(name, administer(service.issuer, await adminToken(service.issuer, name, scopesOf[name]?.join(' '))));
  tids = await tenantIds(by('root'));
});
const tidOf = (tenant: string): string => tids[tenant] ?? '';

let count = 0;
async function member(tenant: string) {
  count += 1;
  const email = `member-${count}@org.test`;
  const tid = tidOf(tenant);
  const made = await service.idp.tenant(tid).persons.create({ givenName: 'M', familyName: 'M', email, user: { userName: email } });
  const userId = made.user?.id ?? '';
  await service.idp.tenant(tid).users.activate(userId);
  await service.idp.directory.credentials.seedPassword(userId, PASSWORD);
  return { tid, personId: made.id, userId, email, at: `/tenants/${tid}/users/${userId}` };
}
type Member = Awaited<ReturnType<typeof member>>;
const ok = (answer: AdminAnswer) => {
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
};
const give = ({ tid, userId }: Member) => service.idp.tenant(tid).users.addGroups(userId, { names: ['Privileged'] });
const kindsOf = (items: unknown) => (items as { kind: string; userId: string }[]).map(({ kind, userId }) => `${kind} ${userId}`).toSorted();

const start = (more: Record<string, string> = {}) => authorizeUrl(service.issuer, { ...pkce, ...more });
const isCode = ({ location }: Answer): boolean => location?.includes('code=') === true;
const opens = async ({ email }: Member): Promise<boolean> => isCode(await signIn(new Agent(), start(), email, PASSWORD));

describe('an account link that a lesser administrator made', () => {
  async function family() {
    const [parent, child, sibling] = [await member('Home'), await member('Org'), await member('Third')];
    for (const one of [child, sibling]) ok(await by('low').post(`${one.at}/link/${parent.userId}`));
    return { parent, child, sibling };
  }

  test('opens the child no more after a grant, while the parent and the sibling stay open', async () => {
    const { parent, child, sibling } = await family();
    await give(child);
    expect(await Promise.all([parent, child, sibling].map(opens))).toEqual([true, false, true]);
    expect(kindsOf((await by('low')(`${child.at}/means`)).json.items)).toEqual([`link ${child.userId}`]);
    ok(await by('holder')(`${child.at}/means`));
    expect((await by('holder').post(`${child.at}/means/confirm`)).json).toEqual({
      items: [{ kind: 'link', tid: child.tid, userId: child.userId, id: parent.userId }],
      left: [],
      hasMoreElsewhere: false,
    });
    expect(await Promise.all([parent, child, sibling].map(opens))).toEqual([true, true, true]);
  });

  test.each(['parent', 'sibling'] as const)('opens the child from no session of the %s', async (name) => {
    const { child, ...others } = await family();
    const agent = new Agent();
    expect(isCode(await signIn(agent, start(), others[name].email, PASSWORD))).toBe(true);
    const ask = async () => agent.follow(await agent.get(start({ acr_values: `tenant:${child.tid}` })));
    const choice = await ask();
    expect([titleOf(choice), choice.body.includes(child.userId)]).toEqual(['Choose an account', true]);
    await give(child);
    const refused = await ask();
    expect([titleOf(refused), refused.body.includes(child.userId)]).toEqual(['Sign in to Web shop', false]);
    // The page from before the grant opens it no more either.
    expect(isCode(await submit(agent, choice, { choice: child.userId }))).toBe(false);
  });

  test('is made anew by who holds the privilege: an unlinked child has no voucher of the link that ended', async () => {
    const { parent, child } = await family();
    ok(await by('low').remove(`${child.at}/link/${parent.userId}`));
    ok(await by('holder').post(`${child.at}/link/${parent.userId}`));
    await give(child);
    expect(await opens(child)).toBe(true);
  });
});

test('an account link that somebody made on a page, signed in by an identity of a lesser administrator, counts for no more', async () => {
  const [parent, child] = [await member('Home'), await member('Org')];
  const subject = `subject of ${child.userId}`;
  ok(await by('low').patch(child.at, { externalIdentities: [{ idp: 'up', subject }] }));
  upstream.person = { sub: subject };
  const agent = new Agent();
  const begun = await agent.follow(await agent.get(start({ acr_values: 'idp:up' })));
  expect(isCode(await agent.follow(await agent.get(await atUpstream(upstream, begun))))).toBe(true);
  const asked = await agent.follow(await agent.get(`${service.issuer}/idp/linked-accounts/link`));
  const confirm = await submit(agent, await submit(agent, asked, { identifier: parent.email }), { password: PASSWORD });
  const done = await submit(agent, confirm, { parent: parent.userId });
  expect([titleOf(done), done.url]).toEqual(['Linked accounts', expect.stringContaining('done=linked')]);
  await give(child);
  expect(await opens(child)).toBe(false);
  expect(kindsOf((await by('low')(`${child.at}/means`)).json.items)).toContain(`link ${child.userId}`);
});

describe('a confirmation of a child whose parent the caller may not become', () => {
  async function family() {
    const [parent, child] = [await member('Home'), await member('Org')];
    ok(await by('low').patch(`/tenants/${parent.tid}/persons/${parent.personId}`, { email: `written-${parent.userId}@other.test` }));
    ok(await by('low').post(`${child.at}/link/${parent.userId}`));
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
    ok(await by(name)(`${child.at}/means`));
    const { status, json } = await by(name).post(`${child.at}/means/confirm`);
    expect([status, kindsOf(json.items)]).toEqual([200, [`link ${child.userId}`]]);
    expect([kindsOf(json.left), json.hasMoreElsewhere]).toEqual([isSeen ? [`address ${parent.userId}`] : [], !isSeen]);
    expect(await opens(child)).toBe(true);
    expect(kindsOf((await by('root')(`${child.at}/means`)).json.items)).toEqual([`address ${parent.userId}`]);
  });

  test('by who holds too little for the child as well confirms nothing', async () => {
    const { parent, child } = await family();
    ok(await by('low')(`${child.at}/means`));
    expect((await by('low').post(`${child.at}/means/confirm`)).json.code).toBe('grant_exceeds_own');
    expect(kindsOf((await by('root')(`${child.at}/means`)).json.items)).toEqual([`address ${parent.userId}`, `link ${child.userId}`]);
  });
});
