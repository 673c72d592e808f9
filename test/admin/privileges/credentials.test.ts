/**
 * Credentials that a user set in a sign-in or by a link of an administrator, and account links. Each credential that a page can set is
 * tried over HTTP with each state of the grant. After a grant, the credential counts only if the means behind it covers the privilege, or
 * an administrator who holds the privilege confirms the credential.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { lowAndHolder, type Member, ok, orgTenant, useAdministrators } from '../../support/administration/administrators.js';
import { captureMail, linkIn as invitationIn } from '../../support/administration/invitations.js';
import { createSoftwarePasskey } from '../../support/browser/software-passkey.js';
import { Agent, type Answer, authorizeUrl, signIn, titleOf } from '../../support/client/agent.js';
import { codeOf, copied, submit } from '../../support/sign-in/factors.js';
import { forget, linkIn, mailTo, pkce } from '../../support/sign-in/passwords.js';
import { atUpstream } from '../../support/sign-in/upstream-provider.js';

const PASSWORD = 'a password that is long';
const writers = ['low', 'holder'] as const;
type Writer = (typeof writers)[number];

const captured = captureMail();
const store = memoryDirectory();
const { service, by, tidOf, upstream, member, record } = useAdministrators({
  tenants: [orgTenant, { name: 'Home' }],
  administrators: lowAndHolder(['Org', 'Home']),
  connections: [{ id: 'up', tenant: 'Org', name: 'Up' }],
  directory: store,
  hostname: 'localhost',
  mail: captured.mail,
});

let org: string;
let home: string;
beforeAll(() => {
  [org, home] = [tidOf('Org'), tidOf('Home')];
});

const start = (acr?: string) => authorizeUrl(service.issuer, { ...pkce, ...(acr !== undefined && { acr_values: acr }) });
const isCode = ({ location }: Answer): boolean => location?.includes('code=') === true;
const outcome = (answer: Answer) => ({ isIn: isCode(answer), title: isCode(answer) ? '' : titleOf(answer) });
const viaUpstream = async (agent: Agent, begun: Answer): Promise<Answer> =>
  agent.follow(await agent.get(await atUpstream(upstream(), begun)));
const byPassword = async ({ userName }: Pick<Member, 'userName'>, password: string, acr?: string) =>
  outcome(await signIn(new Agent(), start(acr), userName, password));

/** Signs in by an identity that the administrator recorded, and opens the page of the user's factors. */
async function inByIdentity(writer: Writer, target: Member): Promise<{ readonly agent: Agent; readonly page: Answer }> {
  await record(by(writer), target, 'up');
  const agent = new Agent();
  expect(isCode(await viaUpstream(agent, await agent.follow(await agent.get(start('idp:up')))))).toBe(true);
  const page = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
  expect(titleOf(page)).toBe('Second factor and passkeys');
  return { agent, page };
}

async function usesPasskey(passkey: ReturnType<typeof createSoftwarePasskey>) {
  const agent = new Agent();
  return outcome(await passkey.proveOn(agent, await agent.follow(await agent.get(start('idp:passkey')))));
}

interface Put {
  /** Kind of the credential in lists of means. */
  readonly kind: string;
  readonly status?: 'invited';
  /** Title of the page that refuses the credential. */
  readonly title: string;
  set(writer: Writer, target: Member): Promise<{ use(): Promise<{ readonly title: string; readonly isIn: boolean }> }>;
}

/** Credentials. `set` sets one, and `use` signs in with this credential alone. */
const credentials = {
  'a passkey, added in a sign-in by an identity': {
    kind: 'factor',
    title: 'Your passkey must be confirmed first',
    async set(writer, target) {
      const { agent, page } = await inByIdentity(writer, target);
      const passkey = createSoftwarePasskey(service.issuer);
      expect(titleOf(await passkey.enrolOn(agent, page))).toBe('Second factor and passkeys');
      return { use: () => usesPasskey(passkey) };
    },
  },
  'a passkey, added in a sign-in by such a passkey': {
    kind: 'factor',
    title: 'Your passkey must be confirmed first',
    async set(writer, target) {
      const { agent, page } = await inByIdentity(writer, target);
      const [first, second] = [createSoftwarePasskey(service.issuer), createSoftwarePasskey(service.issuer)];
      await first.enrolOn(agent, page);
      const other = new Agent();
      expect(isCode(await first.proveOn(other, await other.follow(await other.get(start('idp:passkey')))))).toBe(true);
      const list = await second.enrolOn(other, await other.follow(await other.get(`${service.issuer}/idp/factors`)));
      expect(titleOf(list)).toBe('Second factor and passkeys');
      return { use: () => usesPasskey(second) };
    },
  },
  'a password, set by an invitation link': {
    kind: 'password',
    status: 'invited',
    title: 'Sign in to Web shop',
    async set(writer, { tid, userId, userName }) {
      const { id } = ok(await by(writer).post(`/tenants/${tid}/invitations`, { userId, send: false })).json as { readonly id: string };
      const url = String(ok(await by(writer)(`/tenants/${tid}/invitations/${id}/link`)).json.url);
      const agent = new Agent();
      await agent.follow(await agent.submit(await agent.get(url), { password: PASSWORD }));
      return { use: () => byPassword({ userName }, PASSWORD) };
    },
  },
  'a password, set by a link of “Forgotten password?”': {
    kind: 'password',
    title: 'Sign in to Web shop',
    async set(writer, { tid, personId, userId, userName }) {
      await service.idp.directory.credentials.seedPassword(userId, 'old');
      const mailbox = `written-${userId}@other.test`;
      ok(await by(writer).patch(`/tenants/${tid}/persons/${personId}`, { email: mailbox }));
      await forget(service.issuer, userName);
      const agent = new Agent();
      const page = await agent.get(linkIn(await mailTo(captured, mailbox, 'password-reset')));
      await agent.follow(await agent.submit(page, { password: PASSWORD }));
      return { use: () => byPassword({ userName }, PASSWORD) };
    },
  },
  'a password, set by a link that an administrator sent': {
    kind: 'password',
    title: 'Sign in to Web shop',
    async set(writer, { tid, userId, userName }) {
      ok(await by(writer).post(`/tenants/${tid}/users/${userId}/password-reset`));
      const agent = new Agent();
      const page = await agent.get(linkIn(await mailTo(captured, userName, 'password-reset')));
      await agent.follow(await agent.submit(page, { password: PASSWORD }));
      return { use: () => byPassword({ userName }, PASSWORD) };
    },
  },
  'a password, set by a link that root sent to an address that an administrator wrote': {
    kind: 'password',
    title: 'Sign in to Web shop',
    async set(writer, { tid, personId, userId, userName }) {
      const mailbox = `helped-${userId}@other.test`;
      ok(await by(writer).patch(`/tenants/${tid}/persons/${personId}`, { email: mailbox }));
      ok(await by('root').post(`/tenants/${tid}/users/${userId}/password-reset`));
      const agent = new Agent();
      const page = await agent.get(linkIn(await mailTo(captured, mailbox, 'password-reset')));
      await agent.follow(await agent.submit(page, { password: PASSWORD }));
      return { use: () => byPassword({ userName }, PASSWORD) };
    },
  },
  'a password, set by an invitation that root mailed to an address that an administrator wrote': {
    kind: 'password',
    status: 'invited',
    title: 'Sign in to Web shop',
    async set(writer, { tid, personId, userId, userName }) {
      const mailbox = `invited-${userId}@other.test`;
      ok(await by(writer).patch(`/tenants/${tid}/persons/${personId}`, { email: mailbox }));
      ok(await by('root').post(`/tenants/${tid}/invitations`, { userId, send: true }));
      const agent = new Agent();
      const page = await agent.get(invitationIn(await mailTo(captured, mailbox, 'invitation')));
      await agent.follow(await agent.submit(page, { password: PASSWORD }));
      return { use: () => byPassword({ userName }, PASSWORD) };
    },
  },
  'an account link that an administrator made': {
    kind: 'link',
    title: 'Sign in to Web shop',
    async set(writer, { tid, userId, userName }) {
      const parent = await member(home, { password: PASSWORD });
      ok(await by(writer).post(`/tenants/${tid}/users/${userId}/link/${parent.userId}`));
      return { use: () => byPassword({ userName }, PASSWORD) };
    },
  },
} as const satisfies Record<string, Put>;

describe.each(Object.keys(credentials) as (keyof typeof credentials)[])('T3-POS-IDENTITY: %s', (name) => {
  const { kind, title, set, ...rest }: Put = credentials[name];
  const put = async (writer: Writer) => {
    const target = await member(org, { status: rest.status });
    const { use } = await set(writer, target);
    const at = `/tenants/${org}/users/${target.userId}`;
    return {
      target,
      use,
      means: `${at}/means`,
      grant: (more: object) => by('root').post(`${at}/groups`, { names: ['Privileged'], ...more }),
      give: () => service.idp.tenant(org).users.addGroups(target.userId, { names: ['Privileged'] }),
    };
  };
  const kindsOf = (items: unknown) => (items as { readonly kind: string }[]).map((one) => one.kind);

  test('counts before a grant; the grant lists it, and confirms it', async () => {
    const { use, grant } = await put('low');
    expect(await use()).toMatchObject({ isIn: true });
    const refused = await grant({});
    expect([refused.status, refused.json.code, kindsOf(refused.json.means)]).toEqual([
      409,
      'means_unconfirmed',
      expect.arrayContaining([kind]),
    ]);
    expect((await grant({ confirm: true })).status).toBe(200);
    expect(await use()).toMatchObject({ isIn: true });
  });

  test('counts no more after a privilege is given past the API, until somebody who holds it confirms', async () => {
    const { target, use, give, means } = await put('low');
    await give();
    const lines = service.lines.length;
    expect(await use()).toEqual({ title, isIn: false });
    expect(service.lines.slice(lines).map(({ fields }) => fields.reason)).toContainEqual(expect.stringContaining('unconfirmed'));
    expect((await by('low').post(`${means}/confirm`)).json.code).toBe('grant_exceeds_own');
    expect(kindsOf((await by('low')(means)).json.items)).toContain(kind);
    expect(await use()).toEqual({ title, isIn: false });
    expect(kindsOf((await by('holder')(means)).json.items)).toContain(kind);
    expect((await by('holder').post(`${means}/confirm`)).status).toBe(200);
    expect((await by('low')(means)).json.items).toEqual([]);
    expect([target.userId !== '', await use()]).toEqual([true, { isIn: true, title: '' }]);
  });

  test('does not come back when the means behind it is removed', async () => {
    const { target, use, give } = await put('low');
    ok(await by('low').patch(`/tenants/${org}/users/${target.userId}`, { externalIdentities: [] }));
    await give();
    expect(await use()).toEqual({ title, isIn: false });
  });

  test('stays good if who made it possible held the privilege', async () => {
    const { use, grant } = await put('holder');
    expect((await grant({})).status).toBe(200);
    expect(await use()).toMatchObject({ isIn: true });
  });
});

describe('a factor that does not count', () => {
  /** Creates a user with a password, and an authenticator app that was added after a sign-in by an identity of `low`. */
  async function withStrangersApp() {
    const target = await member(org, { password: PASSWORD });
    const { agent, page } = await inByIdentity('low', target);
    const app = await submit(agent, page, { add: 'app' });
    const [secret = ''] = copied(app);
    const codes = copied(await submit(agent, app, { code: codeOf(secret) }));
    expect(codes).toHaveLength(10);
    return { target, secret, codes, give: () => service.idp.tenant(org).users.addGroups(target.userId, { names: ['Privileged'] }) };
  }

  test('neither locks the user out nor proves anything', async () => {
    const { target, secret, codes, give } = await withStrangersApp();
    expect(await byPassword(target, PASSWORD)).toEqual({ isIn: false, title: 'Confirm that it is you' });
    await give();
    expect(await byPassword(target, PASSWORD)).toMatchObject({ isIn: true });
    const agent = new Agent();
    const setUp = await signIn(agent, start('mfa'), target.userName, PASSWORD);
    expect(titleOf(setUp)).toBe('Set up a second factor');
    const [own = ''] = copied(setUp);
    expect(own).not.toBe(secret);
    for (const field of [{ code: codeOf(secret, 1) }, { recovery: codes[0] ?? '' }])
      expect(isCode(await submit(agent, setUp, field))).toBe(false);
  });

  test('gives way to the first one that the user adds', async () => {
    const { target, secret, give } = await withStrangersApp();
    await give();
    const agent = new Agent();
    const setUp = await signIn(agent, start('mfa'), target.userName, PASSWORD);
    const [own = ''] = copied(setUp);
    const codes = await submit(agent, setUp, { code: codeOf(own) });
    expect(copied(codes)).toHaveLength(10);
    expect(isCode(await submit(agent, codes, {}))).toBe(true);
    const { items } = (await by('root')(`/tenants/${org}/users/${target.userId}/factors`)).json as { items: { kind: string }[] };
    expect(items.map(({ kind }) => kind).toSorted()).toEqual(['recovery', 'totp']);
    expect((await by('root')(`/tenants/${org}/users/${target.userId}/means`)).json.items).toEqual([
      expect.objectContaining({ kind: 'identity' }),
    ]);
    expect(own).not.toBe(secret);
  });

  test('is shown on the user’s page, and is removed there with its voucher', async () => {
    const { target, give } = await withStrangersApp();
    await give();
    const agent = new Agent();
    await signIn(agent, start(), target.userName, PASSWORD);
    const page = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
    expect(page.body).toContain('Must be confirmed by an administrator');
    const id = /name="remove" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const done = await submit(agent, await submit(agent, page, { remove: id }), { removed: id });
    expect([done.status, done.body.includes(id)]).toEqual([200, false]);
    const items = (await by('root')(`/tenants/${org}/users/${target.userId}/means`)).json.items as { id?: string }[];
    expect(items.map((one) => one.id)).not.toContain(id);
  });
});

test('a passkey of such a sign-in is no proof for the next sign-in after it removed itself', async () => {
  const target = await member(org);
  const { agent, page } = await inByIdentity('low', target);
  const passkey = createSoftwarePasskey(service.issuer);
  const list = await passkey.enrolOn(agent, page);
  const id = /name="remove" value="([^"]+)"/.exec(list.body)?.[1] ?? '';
  const other = new Agent();
  await passkey.proveOn(other, await other.follow(await other.get(start('idp:passkey'))));
  const own = await other.follow(await other.get(`${service.issuer}/idp/factors`));
  const after = await submit(other, await submit(other, own, { remove: id }), { removed: id });
  expect(titleOf(after)).not.toBe('Second factor and passkeys');
});
