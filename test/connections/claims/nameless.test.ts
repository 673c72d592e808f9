/** E-D: providers that send few claims. Each sign-in is real, at a provider that sends `sub` alone, or one more claim. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../../support/administration/admin.js';
import { Agent, type Answer, authorizeUrl, createPkce, titleOf } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { useIdp } from '../../support/service/use-idp.js';
import { atUpstream, press, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';
import { CLAIMS } from './newcomers.js';

let upstream: UpstreamProvider;
let root: AdminClient;
let tid: string;
const ids = ['open', 'strict', 'bare', 'entra-like'] as const;
type Id = (typeof ids)[number];
const service = useIdp(async () => {
  upstream = await startUpstream();
  const common = { issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, createUsersIn: 'Acme' };
  const mapping = { userName: { claim: 'preferred_username' }, email: { claim: 'email' }, givenName: { claim: 'given_name' } };
  const connections = [
    { ...common, id: 'open', name: 'Open', requireVerifiedEmail: false },
    { ...common, id: 'strict', name: 'Strict' },
    { ...common, id: 'bare', name: 'Bare', requireVerifiedEmail: false, mapping: {} },
    { ...common, id: 'entra-like', name: 'Entra', requireVerifiedEmail: false, mapping },
  ];
  return { seed: { ...adminSeed, extensions: { connections } } as never, limits: { adminRequestsPerMinute: 100_000 } };
});
beforeAll(async () => {
  upstream.register(service.issuer, ids);
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  tid = (await tenantIds(root)).Acme ?? '';
});
afterAll(() => upstream?.close());

async function signIn(id: Id, person: UpstreamProvider['person'], agent = new Agent()): Promise<Answer> {
  upstream.person = person;
  const request = { code_challenge: createPkce().challenge, code_challenge_method: 'S256', acr_values: `idp:${id}` };
  const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, request)));
  const sent = page.location ? page : await press(agent, page, id);
  return agent.follow(await agent.get(await atUpstream(upstream, sent)));
}

const ownerOf = async (id: Id, subject: string) => {
  const accounts = await service.idp.directory.accounts.ofIdentity({ idp: id, subject });
  expect(accounts.length).toBe(1);
  return accounts[0]?.person;
};

/** Signs in twice, and returns the only user. */
async function created(id: Id, person: NonNullable<UpstreamProvider['person']>) {
  for (const _ of [1, 2])
    expect([id, person, membersOf(await signIn(id, person))]).toEqual([id, person, expect.objectContaining({ code: expect.any(String) })]);
  return ownerOf(id, person.sub);
}

const cases = ids.flatMap((id) =>
  id === 'strict'
    ? []
    : ([
        [id, {}],
        [id, { name: 'Madonna' }],
        [id, { given_name: 'Mae' }],
        [id, { family_name: 'Moe' }],
        [id, { preferred_username: `name-of-${id}` }],
        [id, { email: `${id}@mail.test` }],
        [id, { email: `verified-${id}@mail.test`, email_verified: true }],
        [id, { email: `no address of ${id}` }],
        [id, { preferred_username: '\u200b' }],
        [id, { preferred_username: 'x'.repeat(257) }],
        [id, { email: `vic\ufffdtim-${id}@mail.test` }],
      ] as const),
);

test.each(cases)('%s: a person of whom the provider tells %j signs in', async (id, claims) => {
  const sub = `s${cases.findIndex((one) => one[1] === claims)}`;
  const person = await created(id, { sub, ...claims });
  const told: Readonly<Record<string, string | boolean | undefined>> = claims;
  const mapped = { open: ['email'], bare: [], 'entra-like': ['preferred_username', 'email'], strict: [] }[id];
  const usable = mapped.map((claim) => told[claim]).find((value) => typeof value === 'string' && /^[a-z@ .-]{5,50}$/.test(value));
  expect(person?.user.userName).toBe(usable ?? `${id}.${sub}`);
  expect(JSON.stringify(person)).not.toContain('\ufffd');
  // Pages and lists show a name.
  expect((await root(`/tenants/${tid}/persons/${person?.id}`)).json.user.userName).toBe(person?.user.userName);
});

describe('subjects', () => {
  test('that differ in case alone, or are no user names, are several users', async () => {
    const subs = ['abc', 'ABC', 'Abc', 'a b', 'å', 'Å', 'x'.repeat(255), `${'x'.repeat(254)}y`, 'a/b', 'a|b'];
    const names = new Set<string>();
    for (const sub of subs) names.add((await created('open', { sub }))?.user.userName ?? '');
    expect(names.size).toBe(subs.length);
    for (const name of names) expect(name).toMatch(/^open\.[a-z0-9._-]{1,100}$/);
  });

  test('R-5: that look like the hash of another subject take no user name of its user', async () => {
    const victim = 'Victim|0042';
    const hash = createHash('sha256').update(victim).digest('hex').slice(0, 32);
    expect((await created('open', { sub: hash }))?.user.userName).not.toBe(`open.${hash}`);
    expect((await created('open', { sub: victim }))?.user.userName).toBe(`open.${hash}`);
  });

  test('R-5: whose user name another account has sign in by another user name, and the log says which', async () => {
    const before = service.lines.length;
    await created('entra-like', { sub: 'thief', preferred_username: 'open.foreseen' });
    const user = { userName: 'open.given' };
    expect((await root.post(`/tenants/${tid}/persons`, { givenName: 'Mae', familyName: 'Moe', user })).json).toHaveProperty('id');
    for (const sub of ['foreseen', 'given']) {
      const person = await created('open', { sub });
      expect(person?.user.userName).toMatch(/^open\.[0-9a-f]{32}$/);
      const told = service.lines.slice(before).filter(({ fields }) => fields.userName === `open.${sub}`);
      expect(told).toEqual([
        expect.objectContaining({
          level: 'warn',
          message:
            'a new user of a connection got another user name, because an account without this identity has the user name that the service derived from the subject',
        }),
      ]);
      expect(told[0]?.fields.given).toBe(person?.user.userName);
    }
  });

  test('R-5: of two concurrent first sign-ins one user is made, also where the user name is taken', async () => {
    await created('entra-like', { sub: 'thief-2', preferred_username: 'open.twice' });
    const both = await Promise.all([signIn('open', { sub: 'twice' }), signIn('open', { sub: 'twice' })]);
    expect(both.map((answer) => membersOf(answer))).toEqual([1, 2].map(() => expect.objectContaining({ code: expect.any(String) })));
    await ownerOf('open', 'twice');
  });

  test('that cannot be decoded open no account, because several would be one', async () => {
    expect(titleOf(await signIn('open', { sub: 'a\ufffdb' }))).toBe('Signing in with Open did not work');
    expect(service.lines.at(-1)?.fields.reason).toBe('the claim sub has characters that cannot be decoded. The provider must send UTF-8.');
  });
});

test('an invited user with the identity is activated by `sub` alone', async () => {
  const user = { userName: 'invited', externalIdentities: [{ idp: 'open', subject: 'invited-there' }] };
  expect((await root.post(`/tenants/${tid}/persons`, { user })).json).toHaveProperty('id');
  expect(membersOf(await signIn('open', { sub: 'invited-there' }))).toHaveProperty('code');
  expect((await ownerOf('open', 'invited-there'))?.user).toMatchObject({ userName: 'invited', status: 'active' });
});

test('the page of claimed accounts is shown to a person whose provider sends `sub` alone, and the account is signed in to', async () => {
  const globex = (await tenantIds(root)).Globex ?? '';
  const administrator = administer(service.issuer, await adminToken(service.issuer, 'globex'));
  const user = { userName: 'claimed', externalIdentities: [{ idp: 'open', subject: 'claimed-there' }] };
  const made = await administrator.post(`/tenants/${globex}/persons`, { user });
  const agent = new Agent();
  const page = await signIn('open', { sub: 'claimed-there' }, agent);
  expect(titleOf(page)).toBe(CLAIMS);
  const [, choice = ''] = new RegExp(`value="(${made.json.user.id} [^"]+)"`).exec(page.body) ?? [];
  expect(membersOf(await agent.follow(await agent.submit(page, { choice })))).toHaveProperty('code');
  expect((await ownerOf('open', 'claimed-there'))?.user).toMatchObject({ userName: 'claimed', status: 'active' });
});

describe('a connection that requires a verified address', () => {
  test.each([
    [
      {},
      'Your e-mail address is missing',
      /^the provider does not send an address in the claim email, .* set requireVerifiedEmail to false\.$/,
    ],
    [{ email_verified: true }, 'Your e-mail address is missing', /^the provider does not send an address in the claim email, /],
    [{ email: ' ', email_verified: true }, 'Your e-mail address is missing', /^the provider does not send an address in the claim email, /],
    [{ email: 'a@mail.test' }, 'Your e-mail address is not verified', /^the provider does not send email_verified: true, /],
  ])('says of %j what is missing, and the log says who can change it', async (claims, title, reason) => {
    const page = await signIn('strict', { sub: 'somebody', ...claims });
    expect([page.status, titleOf(page)]).toEqual([400, title]);
    expect(service.lines.at(-1)?.fields.reason).toMatch(reason);
    expect(await service.idp.directory.accounts.ofIdentity({ idp: 'strict', subject: 'somebody' })).toEqual([]);
  });
});
