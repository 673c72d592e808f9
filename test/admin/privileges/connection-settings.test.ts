/** Settings of a connection that an administrator changed before a privilege was granted, for each way to record an identity. */
import { describe, expect, test } from '@jest/globals';
import { documented } from '../../support/administration/admin.js';
import { type Member, ok, subjectOf } from '../../support/administration/administrators.js';
import { HELD_BY_LOW, isIn, outcome, useMeans, type Writer } from '../../support/administration/means.js';
import { Agent, type Answer, type Json, titleOf } from '../../support/client/agent.js';
import { atUpstream, press } from '../../support/sign-in/upstream-provider.js';

const { service, by, newTenant, member, connection, group, signIn, upstream } = useMeans(['instance']);
const users = (tid: string) => service.idp.tenant(tid).users;
/** Settings without an effect on sign-ins, so that a sign-in shows whether the connection counts. */
const settings = { scopes: ['profile', 'email', 'more'] };
const unconfirmed = expect.stringMatching(/^Your account at .* must be confirmed first$/);

/** Lists the means of a user to the writer, who then confirms them. */
async function confirm(writer: Writer, means: string) {
  ok(await by(writer)(means));
  return by(writer).post(`${means}/confirm`);
}

type Made = Pick<Member, 'userId'> & { readonly subject: string };

/** Ways to record an identity of a connection by a writer who vouches for all privileges. */
const identities: Readonly<Record<string, (tid: string, idp: string) => Promise<Made>>> = {
  async 'that an operator recorded'(tid, idp) {
    const { userId } = await member(tid);
    const identity = { idp, subject: subjectOf(userId) };
    ok(await by('root').patch(`/tenants/${tid}/users/${userId}`, { externalIdentities: [identity] }));
    return { userId, subject: identity.subject };
  },
  async 'that an administrator with the permission recorded'(tid, idp) {
    const { userId } = await member(tid);
    const identity = { idp, subject: subjectOf(userId) };
    ok(await by('holder').patch(`/tenants/${tid}/users/${userId}`, { externalIdentities: [identity] }));
    return { userId, subject: identity.subject };
  },
  async 'that host code or a seed recorded'(tid, idp) {
    const { userId } = await member(tid);
    await users(tid).update(userId, { externalIdentities: [{ idp, subject: subjectOf(userId) }] });
    return { userId, subject: subjectOf(userId) };
  },
  async 'that the person connected'(tid, idp) {
    const target = await member(tid);
    await linkHere(idp, subjectOf(target.userId), target);
    return { userId: target.userId, subject: subjectOf(target.userId) };
  },
  async 'that a new user came with'(tid, idp) {
    const subject = `newcomer of ${idp}`;
    expect(outcome(await signIn(idp, subject))).toBe('in');
    const [account] = await service.idp.directory.accounts.ofIdentity({ idp, subject });
    expect(account?.person.tid).toBe(tid);
    return { userId: String(account?.person.user.id), subject };
  },
};

/** Connects an identity by a sign-in with the password. */
async function linkHere(idp: string, subject: string, { userName }: Member) {
  const agent = new Agent();
  const refused = await signIn(idp, subject, agent, { email: userName });
  const page = await agent.follow(await agent.submit(refused, { step: 'link' }));
  const password = await agent.submit(page, { identifier: userName });
  const confirm = await agent.follow(await agent.submit(password, { password: 'password' }));
  expect(isIn(await agent.follow(await agent.submit(confirm, {})))).toBe(true);
}

async function scene(way: string, creator: Writer, changer?: Writer) {
  const tid = newTenant();
  const idp = await connection(tid, creator);
  const made = await (identities[way] as (typeof identities)[string])(tid, idp);
  if (changer) ok(await by(changer).patch(`/tenants/${tid}/connections/${idp}`, settings));
  const of = await group(tid);
  await of.add(made.userId);
  return { tid, idp, ...of, ...made, means: `/tenants/${tid}/users/${made.userId}/means` };
}

describe.each(Object.keys(identities))('T3-POS-IDENTITY: an identity %s, of a connection that somebody with less changed', (way) => {
  test('opens no privilege that comes afterwards, until somebody who holds it confirms the connection', async () => {
    const { tid, idp, userId, subject, give, means } = await scene(way, 'root', 'low');
    expect(outcome(await signIn(idp, subject))).toBe('in');
    await give();
    expect(outcome(await signIn(idp, subject))).toEqual(unconfirmed);
    const listed = { kind: 'connection', tid, userId, id: idp };
    expect((await by('low')(means)).json.items).toEqual([listed]);
    expect((await confirm('low', means)).json.code).toBe('grant_exceeds_own');
    ok(await confirm('holder', means));
    expect((await by('low')(means)).json.items).toEqual([]);
    expect(outcome(await signIn(idp, subject))).toBe('in');
  });

  test('is listed by the grant, which confirms it', async () => {
    const { tid, idp, userId, subject, grant } = await scene(way, 'root', 'low');
    const refused = await grant();
    expect([refused.status, refused.json.code, refused.json.means]).toEqual([
      409,
      'means_unconfirmed',
      [{ kind: 'connection', tid, userId, id: idp }],
    ]);
    ok(await grant({ confirm: true }));
    expect(outcome(await signIn(idp, subject))).toBe('in');
  });

  test.each(['holder', 'root'] as const)('counts where %s changed the settings, and nobody with less', async (changer) => {
    const { idp, subject, grant } = await scene(way, 'holder', changer);
    ok(await grant());
    expect(outcome(await signIn(idp, subject))).toBe('in');
  });
});

test('of a parent: the privilege of its child counts, and the grant lists the connection', async () => {
  const { tid, idp, userId, subject } = await scene('that an operator recorded', 'root', 'low');
  const other = newTenant();
  const child = await member(other);
  await service.idp.tenant(other).linking.link(child.userId, { tid, userId });
  const { id, path, give } = await group(other);
  await service.idp.tenant(other).users.addGroups(child.userId, { ids: [id] });
  const listed = [{ kind: 'connection', tid, userId, id: idp }];
  expect((await by('root').patch(path, { permissionIds: ['idp.exports:read'] })).json.means).toEqual(listed);
  await give();
  expect(outcome(await signIn(idp, subject))).toEqual(unconfirmed);
  const means = `/tenants/${other}/users/${child.userId}/means`;
  expect((await by('holder')(means)).json.items).toEqual(listed);
  ok(await confirm('holder', means));
  expect(outcome(await signIn(idp, subject))).toBe('in');
});

/** New value of each member in the form of a connection, and whether the member cannot decide which user signs in. */
const members: Readonly<Record<string, { readonly value: unknown; readonly isHarmless?: true }>> = {
  name: { value: 'Other', isHarmless: true },
  hasButton: { value: false, isHarmless: true },
  endSession: { value: true, isHarmless: true },
  clientAuth: { value: 'client_secret_post', isHarmless: true },
  keyAlgorithm: { value: 'ES256', isHarmless: true },
  clientId: { value: 'another' },
  createUsersIn: { value: null, isHarmless: true },
  scopes: { value: ['more'] },
  subjectClaim: { value: 'oid' },
  requiredClaims: { value: [{ claim: 'hd', value: 'x' }] },
  requireVerifiedEmail: { value: true },
  mapping: { value: { email: { claim: 'mail' } } },
  linkBySignIn: { value: false },
  mfa: { value: { amr: ['mfa'], acr: [] } },
  parameters: { value: [{ name: 'hd', value: 'x' }] },
  renamed: { value: [{ name: 'eid_call_initiator', as: 'caller' }] },
  status: { value: 'disabled', isHarmless: true },
};

test('each member of a connection is known here, except the domains, which operators give', async () => {
  const { operations, document } = await documented(service.issuer);
  const change = operations.find(({ method, path }) => method === 'PATCH' && path === '/tenants/{tid}/connections/{id}');
  const [content] = Object.values((change?.operation.requestBody.content ?? {}) as Record<string, Json>);
  const name = String(content?.schema.$ref).split('/').at(-1) ?? '';
  const schema = content?.schema.properties ? content.schema : document.components.schemas[name];
  expect(Object.keys(schema.properties).sort()).toEqual([...Object.keys(members), 'domains'].sort());
});

test.each(Object.entries(members))(
  'a change of `%s` limits the identities of others, unless it signs nobody in',
  async (name, { value, isHarmless }) => {
    const { tid, idp, userId, grant } = await scene('that an operator recorded', 'root');
    const changed = await by('low').patch(`/tenants/${tid}/connections/${idp}`, { [name]: value });
    expect([changed.status, changed.text]).toEqual([200, expect.any(String)]);
    const listed = (await grant()).json.means ?? [];
    expect(listed).toEqual(isHarmless ? [] : [{ kind: 'connection', tid, userId, id: idp }]);
  },
);

describe('a confirmation', () => {
  test('of a mapping to a group by somebody with less than the writers of the settings leaves what these vouched for', async () => {
    const { tid, idp, subject, grant } = await scene('that an operator recorded', 'root');
    const { id: groupId } = await service.idp.tenant(tid).groups.create({ name: 'Mapped' });
    const { mapping } = ok(await by('root')(`/tenants/${tid}/connections/${idp}`)).json;
    const groups = { claim: 'groups', values: [{ value: 'staff', groupId }] };
    ok(await by('lowest').patch(`/tenants/${tid}/connections/${idp}`, { mapping: { ...mapping, groups } }));
    await service.idp.tenant(tid).groups.update(groupId, { permissionIds: [HELD_BY_LOW] });
    const path = `/tenants/${tid}/groups/${groupId}`;
    // The first request lists the means that the second one confirms.
    expect((await by('low').patch(path, { confirm: true })).json.means).toEqual([{ kind: 'connection', tid, id: idp }]);
    ok(await by('low').patch(path, { confirm: true }));
    expect(outcome(await signIn(idp, 'another', new Agent(), { groups: ['staff'] }))).toBe('in');
    const [newcomer] = await service.idp.directory.accounts.ofIdentity({ idp, subject: 'another' });
    expect(newcomer?.person.user.groupIds).toEqual([groupId]);
    ok(await grant());
    expect(outcome(await signIn(idp, subject))).toBe('in');
  });

  test('by holders of different permissions makes the connection count for what each of them held', async () => {
    const { tid, idp, subject, userId, give } = await scene('that an operator recorded', 'root', 'lowest');
    const other = await (identities['that host code or a seed recorded'] as (typeof identities)[string])(tid, idp);
    const group = await service.idp.tenant(tid).groups.create({ name: 'Other', permissionIds: [HELD_BY_LOW] });
    await users(tid).addGroups(other.userId, { ids: [group.id] });
    expect(outcome(await signIn(idp, other.subject))).toEqual(unconfirmed);
    ok(await confirm('low', `/tenants/${tid}/users/${other.userId}/means`));
    expect(outcome(await signIn(idp, other.subject))).toBe('in');
    await give();
    expect(outcome(await signIn(idp, subject))).toEqual(unconfirmed);
    ok(await confirm('other', `/tenants/${tid}/users/${userId}/means`));
    expect([outcome(await signIn(idp, subject)), outcome(await signIn(idp, other.subject))]).toEqual(['in', 'in']);
  });
});

test('an identity that somebody with less recorded counts after the person connects it in a sign-in that an operator vouched for', async () => {
  const tid = newTenant();
  const own = await connection(tid);
  const target = await member(tid);
  const subject = subjectOf(target.userId);
  const identity = { idp: own, subject: 'own' };
  ok(await by('root').patch(`/tenants/${tid}/users/${target.userId}`, { externalIdentities: [identity] }));
  ok(await by('low').patch(`/tenants/${tid}/users/${target.userId}`, { externalIdentities: [identity, { idp: 'instance', subject }] }));
  const agent = new Agent();
  const claimed = await signIn('instance', subject, agent, { email: target.userName });
  const back = async (sent: Answer) => agent.follow(await agent.get(await atUpstream(upstream(), sent)));
  const refused = await back(await agent.submit(claimed, { choice: 'none' }));
  const page = await agent.follow(await agent.submit(refused, { step: 'link' }));
  upstream().person = { sub: 'own' };
  const confirm = await back(await press(agent, page, own));
  expect(titleOf(confirm)).toBe('Connect these accounts?');
  expect(outcome(await agent.follow(await agent.submit(confirm, {})))).toBe('in');
  const { add, give } = await group(tid);
  await add(target.userId);
  await give();
  expect((await by('low')(`/tenants/${tid}/users/${target.userId}/means`)).json.items).toEqual([]);
  expect(outcome(await signIn('instance', subject))).toBe('in');
});
