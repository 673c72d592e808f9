/** Issue 14, external sign-in: groups only if mapped, several connections of one tenant, and providers that require pushed requests. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Row } from '../../lib/store/directory-store.js';
import { Agent, type Answer, authorizeUrl, createPkce } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { atUpstream, press, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

const sales = '0197a000-0000-7000-8000-00000000b001';
const support = '0197a000-0000-7000-8000-00000000b002';
const byHand = '0197a000-0000-7000-8000-00000000b003';
const tid = '0197a000-0000-7000-8000-00000000b000';
const groups = [
  { id: sales, name: 'Sales' },
  { id: support, name: 'Support' },
  { id: byHand, name: 'By hand' },
];

const directory = memoryDirectory();
let upstream: UpstreamProvider;
let pushing: UpstreamProvider;
const service = useIdp(async () => {
  [upstream, pushing] = await Promise.all([
    startUpstream(),
    startUpstream('', {
      features: {
        devInteractions: { enabled: false },
        pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
      },
    }),
  ]);
  const common = { tenant: 'Contoso', clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, createUsersIn: 'Contoso' };
  const mapping = {
    email: { claim: 'email' },
    givenName: { claim: 'given_name', update: true },
    familyName: { claim: 'family_name' },
    groups: {
      claim: 'groups',
      update: true,
      values: [
        { value: 'sales', groupId: sales },
        { value: 'support', groupId: support },
      ],
    },
  };
  return {
    directory,
    seed: {
      ...testSeed,
      tenants: [...testSeed.tenants, { id: tid, name: 'Contoso', groups, signIn: { methods: ['connections'] } }],
      extensions: {
        connections: [
          { ...common, id: 'mapped', name: 'Mapped', issuer: upstream.issuer, mapping },
          { ...common, id: 'pushing', name: 'Pushing', issuer: pushing.issuer },
        ],
      },
    } as never,
  };
});
beforeAll(() => {
  upstream.register(service.issuer, ['mapped']);
  pushing.register(service.issuer, ['pushing']);
});
afterAll(() => Promise.all([upstream?.close(), pushing?.close()]));

const open = async (agent: Agent, acr: string): Promise<Answer> => {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  return agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, acr_values: acr })));
};
const through = async (idp: string, provider: UpstreamProvider): Promise<Answer> => {
  const agent = new Agent();
  return agent.follow(await agent.get(await atUpstream(provider, await open(agent, `idp:${idp}`))));
};
const somebody = {
  sub: 'ann',
  email: 'ann@contoso.test',
  email_verified: true,
  given_name: 'Ann',
  family_name: 'Other',
  preferred_username: 'other-name',
};
const ann = async () => {
  const person = await service.idp.tenant(tid).users.findByUserName('ann@contoso.test');
  if (!person) throw new Error('there is no Ann');
  return person;
};

test('a later sign-in changes only the fields marked so, never the user name, and groups only if mapped', async () => {
  upstream.person = { ...somebody, groups: ['sales', 'of the provider alone'] };
  expect(membersOf(await through('mapped', upstream))).toHaveProperty('code');
  expect((await ann()).user.groupIds).toEqual([sales]);
  await service.idp.tenant(tid).users.addGroups((await ann()).user.id, { ids: [byHand] });

  upstream.person = { ...somebody, groups: ['support'], given_name: 'Anna', family_name: 'Changed', email: 'changed@contoso.test' };
  expect(membersOf(await through('mapped', upstream))).toHaveProperty('code');
  const changed = await ann();
  expect([...changed.user.groupIds].sort()).toEqual([support, byHand].sort());
  expect(changed).toMatchObject({ givenName: 'Anna', familyName: 'Other', email: 'ann@contoso.test' });

  // A user for whom the provider sends no groups loses the mapped groups, and no other group.
  upstream.person = somebody;
  expect(membersOf(await through('mapped', upstream))).toHaveProperty('code');
  expect((await ann()).user.groupIds).toEqual([byHand]);
});

let count = 0;
test.each([
  ['none', {}, {}],
  ['one in `name`', { name: 'Solo' }, { givenName: 'Solo' }],
  ['one in `family_name`', { family_name: 'Öberg', name: 'Öberg' }, { familyName: 'Öberg' }],
  ['one in `given_name`', { given_name: 'Ann' }, { givenName: 'Ann' }],
  ['both in `name`', { name: ' Ann  von Berg' }, { givenName: 'Ann von', familyName: 'Berg' }],
  ['the surname, and both in `name`', { family_name: 'von Berg', name: 'Ann von Berg' }, { givenName: 'Ann', familyName: 'von Berg' }],
  ['blank ones', { given_name: ' ', family_name: '', name: '  ' }, {}],
  [
    'characters that nobody sees, and a lost letter',
    { given_name: '\u202eAnn\u200b', family_name: 'Ek\ufffd\u0085\u2028Dal' },
    { givenName: 'Ann', familyName: 'Ek Dal' },
  ],
  ['some of another type', { given_name: 7, family_name: ['x'], name: {} }, {}],
])('a provider that tells names so signs in a new user: %s', async (_, names, kept) => {
  const email = `names-${count++}@contoso.test`;
  upstream.person = { sub: email, email, email_verified: true, ...names };
  expect(membersOf(await through('mapped', upstream))).toHaveProperty('code');
  const made = await service.idp.tenant(tid).users.findByUserName(email);
  expect(
    made && {
      ...(made.givenName !== undefined && { givenName: made.givenName }),
      ...(made.familyName !== undefined && { familyName: made.familyName }),
    },
  ).toEqual(kept);

  // A later sign-in fills the member that the mapping marks, and no other.
  upstream.person = { sub: email, email, email_verified: true, given_name: 'Later', family_name: 'Later' };
  expect(membersOf(await through('mapped', upstream))).toHaveProperty('code');
  const later = await service.idp.tenant(tid).users.findByUserName(email);
  expect([later?.givenName, later?.familyName]).toEqual(['Later', (kept as { familyName?: string }).familyName]);
});

test('a provider that wants requests pushed gets them pushed', async () => {
  pushing.person = { ...somebody, sub: 'pushed', email: 'pushed@contoso.test' };
  expect(membersOf(await through('pushing', pushing))).toHaveProperty('code');
  expect([...(pushing.asked.at(-1)?.keys() ?? [])].sort()).toEqual(['client_id', 'request_uri']);
});

test('`idp:connections` leaves the choice among the connections of the tenant to the person', async () => {
  const agent = new Agent();
  const page = await open(agent, `idp:connections tenant:${tid}`);
  for (const name of ['Mapped', 'Pushing']) expect(page.body).toContain(name);
  pushing.person = { ...somebody, sub: 'pushed', email: 'pushed@contoso.test' };
  const begun = await press(agent, page, 'pushing');
  const done = await agent.follow(await agent.get(await atUpstream(pushing, begun)));
  expect(membersOf(done)).toHaveProperty('code');
});

test('M17: an identity of a user whose record cannot be read makes no other user', async () => {
  upstream.person = { ...somebody, sub: 'hidden', email: 'hidden@contoso.test' };
  expect(membersOf(await through('mapped', upstream))).toHaveProperty('code');
  const found = await service.idp.tenant(tid).users.findByUserName('hidden@contoso.test');
  await directory.collection<Row & Record<string, unknown>>('persons').update(found?.id ?? '', (row) => ({ ...row, givenName: 42 }));
  upstream.person = { ...somebody, sub: 'hidden', email: 'another@contoso.test' };
  expect((await through('mapped', upstream)).location).toBeUndefined();
  expect(await service.idp.tenant(tid).users.findByUserName('another@contoso.test')).toBeUndefined();
});
