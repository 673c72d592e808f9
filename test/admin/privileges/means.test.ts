/**
 * Means that were put in place before a privilege was granted. Each means is tried over HTTP with each writer and each grant. Afterwards, a
 * means opens the account only if its writer held the privilege, or an administrator who holds the privilege confirmed the means.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Person } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';

import type { AdminAnswer, AdminClient } from '../../support/administration/admin.js';
import {
  GRANTED,
  lowAndHolder,
  type Member,
  ok,
  orgTenant,
  subjectOf,
  useAdministrators,
} from '../../support/administration/administrators.js';
import { captureMail } from '../../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../../support/client/agent.js';
import { forget, linkIn, mailTo as mailOfKind, NEW_PASSWORD, pkce } from '../../support/sign-in/passwords.js';
import { atUpstream } from '../../support/sign-in/upstream-provider.js';
import { until } from '../../support/time/until.js';

const PASSWORD = 'a password that is long';
const writers = ['low', 'holder', 'root'] as const;
type Writer = (typeof writers)[number];

/** Tenants without privileges at first, in which `low` may make connections. */
const plain = ['Plain 0', 'Plain 1', 'Plain 2', 'Plain 3', 'Plain 4', 'Plain 5', 'Plain 6'];

const captured = captureMail();
const store = memoryDirectory();
const { service, by, tidOf, upstream, providerFields, record, ...administrators } = useAdministrators({
  tenants: [orgTenant, { name: 'Home' }, ...plain.map((name) => ({ name }))],
  administrators: lowAndHolder(['Org', 'Home', ...plain]),
  connections: [
    { id: 'up', tenant: 'Org', name: 'Up', linkBySignIn: true },
    { id: 'home', tenant: 'Home', name: 'Home' },
  ],
  directory: store,
  mail: captured.mail,
});

let org: string;
let home: string;
const connectionIds = Array.from({ length: 20 }, (_, index) => `made-${index}`);
beforeAll(() => {
  upstream().register(service.issuer, ['up', 'home', ...connectionIds]);
  [org, home] = [tidOf('Org'), tidOf('Home')];
});

let count = 0;
const member = (tid: string, status: 'active' | 'invited') => administrators.member(tid, { status });
const mailTo = async (address: string, pattern: RegExp): Promise<string> =>
  String(await until(() => pattern.exec(captured.mails.findLast(({ to }) => to === address)?.text ?? '')?.[0]));
/** Lists the means of a user to the writer, who then confirms them. */
const confirm = async (writer: AdminClient, path: string): Promise<AdminAnswer> => {
  ok(await writer(path));
  return writer.post(`${path}/confirm`);
};

const linked = async (url: string, isIn: () => Promise<boolean>) => {
  const agent = new Agent();
  const page = await agent.get(url);
  let uses = 0;
  return {
    use: async (): Promise<{ readonly title: string; readonly isIn: boolean }> => {
      uses += 1; // The same content would be answered as before.
      const answer = await agent.follow(await agent.submit(page, { password: `${PASSWORD}${uses}` }));
      return { title: titleOf(answer), isIn: await isIn() };
    },
  };
};
const statusOf = async ({ tid, userId }: Member) => (await service.idp.tenant(tid).users.require(userId)).user.status;
const invite = async (writer: AdminClient, { tid, userId }: Member, send: boolean) =>
  ok(await writer.post(`/tenants/${tid}/invitations`, { userId, send })).json as unknown as { readonly id: string };
const invitationLink = (target: Member, url: string) => linked(url, async () => (await statusOf(target)) === 'active');

const at = (idp: string) => async (): Promise<{ readonly title: string; readonly isIn: boolean }> => {
  const agent = new Agent();
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, acr_values: `idp:${idp}` })));
  const done: Answer = await agent.follow(await agent.get(await atUpstream(upstream(), begun)));
  return { title: done.location === undefined ? titleOf(done) : '', isIn: done.location?.includes('code=') === true };
};
/** Gives the person an address, and the user a password to forget. */
const address = async (writer: AdminClient, { tid, personId, userId }: Member, email = `written-${userId}@other.test`) => {
  await service.idp.directory.credentials.seedPassword(userId, 'old');
  ok(await writer.patch(`/tenants/${tid}/persons/${personId}`, { email }));
  return email;
};
const persons = () => store.collection<Person>('persons');
const resetsTo = (email: string) => captured.mails.filter(({ to, kind }) => to === email && kind === 'password-reset');
const refusals = (userId: string) =>
  service.lines.filter(({ fields, message }) => fields.user === userId && message.startsWith('the service sent no password reset'));
/** Asks for a link by “Forgotten password?”, and uses the link if one comes. */
const forgotten = (target: Member, email: string) => async (): Promise<{ readonly title: string; readonly isIn: boolean }> => {
  const [mails, lines] = [resetsTo(email).length, refusals(target.userId).length];
  const answer = await forget(service.issuer, target.userName);
  expect([answer.status, titleOf(answer)]).toEqual([200, 'Check your e-mail']);
  await until(() => resetsTo(email).length > mails || refusals(target.userId).length > lines);
  const [mail] = resetsTo(email).slice(mails);
  if (!mail) return { title: 'no mail', isIn: false };
  const agent = new Agent();
  const done = await agent.follow(await agent.submit(await agent.get(linkIn(mail)), { password: NEW_PASSWORD }));
  const signedIn = await signIn(new Agent(), authorizeUrl(service.issuer, pkce), target.userName, NEW_PASSWORD);
  return { title: titleOf(done), isIn: signedIn.location?.includes('code=') === true };
};

/** Means. `write` puts one in place, and `use` uses it. */
const means = {
  'the link of an invitation, fetched': {
    kind: 'invitation',
    status: 'invited',
    title: 'This link must be confirmed first',
    async write(writer, target) {
      const { id } = await invite(writer, target, false);
      return invitationLink(target, String(ok(await writer(`/tenants/${target.tid}/invitations/${id}/link`)).json.url));
    },
  },
  'the link of an invitation, mailed': {
    kind: 'invitation',
    status: 'invited',
    title: 'This link must be confirmed first',
    async write(writer, target) {
      await invite(writer, target, true);
      return invitationLink(target, await mailTo(target.userName, /https?:\S+\/invitations\/\S+/));
    },
  },
  'the link of an invitation that somebody who holds all made, sent again': {
    kind: 'invitation',
    status: 'invited',
    title: 'This link must be confirmed first',
    async write(writer, target) {
      const { id } = await invite(by('root'), target, false);
      ok(await writer.post(`/tenants/${target.tid}/invitations/${id}/resend`));
      return invitationLink(target, await mailTo(target.userName, /https?:\S+\/invitations\/\S+/));
    },
  },
  'the link of an invitation that somebody who holds all made, seen': {
    kind: 'invitation',
    status: 'invited',
    title: 'This link must be confirmed first',
    async write(writer, target) {
      const { id } = await invite(by('root'), target, false);
      return invitationLink(target, String(ok(await writer(`/tenants/${target.tid}/invitations/${id}/link`)).json.url));
    },
  },
  'a reset of the password': {
    kind: 'reset',
    status: 'active',
    title: 'This link must be confirmed first',
    async write(writer, target) {
      ok(await writer.post(`/tenants/${target.tid}/users/${target.userId}/password-reset`));
      const url = await mailTo(target.userName, /https?:\S+\/password\/\S+/);
      return linked(url, () => service.idp.directory.credentials.isSet(target.userId));
    },
  },
  'an identity': {
    kind: 'identity',
    status: 'active',
    title: 'Your account at Up must be confirmed first',
    async write(writer, target) {
      await record(writer, target, 'up');
      return { use: at('up') };
    },
  },
  'an identity of an invited user': {
    kind: 'identity',
    status: 'invited',
    title: 'Your account at Up must be confirmed first',
    async write(writer, target) {
      await record(writer, target, 'up');
      return { use: at('up') };
    },
  },
  'an address': {
    kind: 'address',
    status: 'active',
    title: 'no mail',
    write: async (writer, target) => ({ use: forgotten(target, await address(writer, target)) }),
  },
} as const satisfies Record<string, Put>;

interface Put {
  readonly kind: string;
  readonly status: 'active' | 'invited';
  /** Title of the page that refuses the means. */
  readonly title: string;
  write(writer: AdminClient, target: Member): Promise<{ use(): Promise<{ readonly title: string; readonly isIn: boolean }> }>;
}

/** Ways to give the privilege. `grant` uses the admin API. `give` needs no confirmation, like host code and a seed. */
const grants = {
  'a group of the user': async ({ tid, userId }: Member) => ({
    grant: (writer: AdminClient, more: object) => writer.post(`/tenants/${tid}/users/${userId}/groups`, { names: ['Privileged'], ...more }),
    give: () => service.idp.tenant(tid).users.addGroups(userId, { names: ['Privileged'] }),
  }),
  'a permission of a group that the user is in': async ({ tid, userId }: Member) => {
    count += 1;
    const { groups, users } = service.idp.tenant(tid);
    const { id } = await groups.create({ name: `Group ${count}` });
    await users.addGroups(userId, { ids: [id] });
    return {
      grant: (writer: AdminClient, more: object) => writer.patch(`/tenants/${tid}/groups/${id}`, { permissionIds: [GRANTED], ...more }),
      give: () => groups.update(id, { permissionIds: [GRANTED] }),
    };
  },
};

const cases = Object.keys(means).flatMap((name) =>
  Object.keys(grants).map((grant) => [name as keyof typeof means, grant as keyof typeof grants] as const),
);

describe.each(cases)('T3-PRIV-INVITED, T3-POS-IDENTITY: %s, then %s', (name, way) => {
  const { kind, status, title, write } = means[name];
  const put = async (writer: Writer) => {
    const target = await member(org, status);
    const { use } = await write(by(writer), target);
    return { target, use, at: `/tenants/${org}/users/${target.userId}/means`, ...(await grants[way](target)) };
  };

  test('a grant lists what somebody who lacks it wrote, and confirms it', async () => {
    const { target, use, grant } = await put('low');
    const refused = await grant(by('root'), {});
    expect([refused.status, refused.json.code]).toEqual([409, 'means_unconfirmed']);
    expect(refused.json.means).toEqual([expect.objectContaining({ kind, tid: org, userId: target.userId })]);
    expect((await grant(by('root'), { confirm: true })).status).toBe(200);
    expect(await use()).toMatchObject({ isIn: true });
  });

  test('what is given past the API stops what was written before, until somebody who holds it confirms', async () => {
    const { target, use, give, at } = await put('low');
    await give();
    expect(await use()).toEqual({ title, isIn: false });
    expect((await by('low').post(`${at}/confirm`)).json.code).toBe('grant_exceeds_own');
    expect((await by('low')(at)).json.items).toEqual([expect.objectContaining({ kind, userId: target.userId })]);
    expect((await confirm(by('holder'), at)).status).toBe(200);
    expect((await by('low')(at)).json.items).toEqual([]);
    expect(await use()).toMatchObject({ isIn: true });
  });

  test.each(['holder', 'root'] as const)('what %s wrote stays good', async (writer) => {
    const { use, grant } = await put(writer);
    expect((await grant(by('root'), {})).status).toBe(200);
    expect(await use()).toMatchObject({ isIn: true });
  });
});

describe('a family', () => {
  async function family(writer: Writer) {
    const [parent, child] = [await member(home, 'active'), await member(org, 'active')];
    await service.idp.tenant(org).linking.link(child.userId, { tid: home, userId: parent.userId });
    await record(by(writer), parent, 'home');
    return { parent, child, give: () => service.idp.tenant(org).users.addGroups(child.userId, { names: ['Privileged'] }) };
  }

  test('the privilege of a child stops an identity of its parent, and the grant lists it', async () => {
    const { parent, child } = await family('low');
    const path = `/tenants/${org}/users/${child.userId}/groups`;
    const refused = await by('root').post(path, { names: ['Privileged'] });
    expect([refused.status, refused.json.means]).toEqual([
      409,
      [{ kind: 'identity', tid: home, userId: parent.userId, idp: 'home', subject: subjectOf(parent.userId) }],
    ]);
    expect((await by('root').post(path, { names: ['Privileged'], confirm: true })).status).toBe(200);
    expect(await at('home')()).toMatchObject({ isIn: true });
  });

  test('without a confirmation the parent’s identity opens neither account', async () => {
    const { parent, give } = await family('low');
    await give();
    expect(await at('home')()).toEqual({ title: 'Your account at Home must be confirmed first', isIn: false });
    expect((await confirm(by('holder'), `/tenants/${home}/users/${parent.userId}/means`)).status).toBe(200);
    expect(await at('home')()).toMatchObject({ isIn: true });
  });

  test('somebody who held the permission in both tenants vouched for both', async () => {
    const { give } = await family('holder');
    await give();
    // The holder’s voucher covers the tenants of the linked accounts at that time.
    expect(await at('home')()).toMatchObject({ isIn: true });
  });
});

test('a means without a writer on record counts', async () => {
  const target = await member(org, 'active');
  await record(by('low'), target, 'up');
  await service.idp.tenant(org).users.addGroups(target.userId, { names: ['Privileged'] });
  expect((await at('up')()).isIn).toBe(false);
  const { id } = await service.idp.tenant(org).persons.require(target.personId);
  await service.idp.directory.forTenant(org).users.update(target.userId, { externalIdentities: [] });
  await service.idp.tenant(org).users.update(target.userId, { externalIdentities: [{ idp: 'up', subject: subjectOf(target.userId) }] });
  expect([id, (await at('up')()).isIn]).toEqual([target.personId, true]);
});

describe('an address', () => {
  const give = ({ tid, userId }: Member) => service.idp.tenant(tid).users.addGroups(userId, { names: ['Privileged'] });
  const listed = async ({ tid, userId }: Member) => (await by('low')(`/tenants/${tid}/users/${userId}/means`)).json.items;

  test('of a person whom an administrator made carries its voucher, and keeps it in a write that leaves the address alone', async () => {
    const made: Member[] = [];
    for (const writer of ['low', 'root'] as const) {
      count += 1;
      const email = `made-${count}@org.test`;
      const body = { givenName: 'M', familyName: 'D', email, user: { userName: email } };
      const { json } = ok(await by(writer).post(`/tenants/${org}/persons`, body));
      const { id: userId } = json.user as { id: string };
      const target = { tid: org, personId: json.id as string, userId, userName: email, path: `/tenants/${org}/users/${userId}` };
      await service.idp.tenant(org).users.activate(target.userId);
      await service.idp.directory.credentials.seedPassword(target.userId, 'old');
      const other = writer === 'low' ? 'root' : 'low';
      const path = `/tenants/${org}/persons/${target.personId}`;
      ok(await by(other).patch(path, { givenName: 'O', familyName: 'D', email }));
      made.push(target);
    }
    for (const target of made) await give(target);
    const [low, root] = made as [Member, Member];
    expect(await listed(low)).toEqual([{ kind: 'address', tid: org, userId: low.userId, address: low.userName }]);
    expect(await listed(root)).toEqual([]);
    expect(await forgotten(low, low.userName)()).toEqual({ title: 'no mail', isIn: false });
    expect(await forgotten(root, root.userName)()).toMatchObject({ isIn: true });
  });

  test('that is spelled otherwise is another one', async () => {
    const target = await member(org, 'active');
    await address(by('low'), target, target.userName.toUpperCase());
    await give(target);
    expect(await forgotten(target, target.userName.toUpperCase())()).toEqual({ title: 'no mail', isIn: false });
  });

  test('counts after the person, signed in, proved it', async () => {
    const target = await member(org, 'active');
    const email = await address(by('low'), target);
    const agent = new Agent();
    await signIn(agent, authorizeUrl(service.issuer, pkce), target.userName, 'old');
    const url = linkIn(await mailOfKind(captured, email, 'email-proof'));
    await agent.follow(await agent.submit(await agent.get(url), {}));
    await give(target);
    expect(await listed(target)).toEqual([]);
    expect(await forgotten(target, email)()).toMatchObject({ isIn: true });
  });

  test.each([
    [
      'a link of “Forgotten password?”',
      'active',
      async (target: Member) => {
        const email = await address(by('low'), target);
        expect(await forgotten(target, email)()).toMatchObject({ isIn: true });
        return email;
      },
    ],
    [
      'the link of an invitation',
      'invited',
      async (target: Member) => {
        const email = `invited-${target.userId}@other.test`;
        ok(await by('low').patch(`/tenants/${org}/persons/${target.personId}`, { email }));
        await invite(by('low'), target, true);
        const { use } = await invitationLink(target, await mailTo(email, /https?:\S+\/invitations\/\S+/));
        expect(await use()).toMatchObject({ isIn: true });
        return email;
      },
    ],
  ] as const)('counts for no more after somebody chose a password by %s that went there', async (_, status, choose) => {
    const target = await member(org, status);
    const email = await choose(target);
    await give(target);
    expect(await listed(target)).toEqual(['address', 'password'].map((kind) => expect.objectContaining({ kind, userId: target.userId })));
    expect(await forgotten(target, email)()).toEqual({ title: 'no mail', isIn: false });
    await by('holder')(`/tenants/${org}/users/${target.userId}/means`);
    ok(await by('holder').post(`/tenants/${org}/users/${target.userId}/means/confirm`));
    expect(await forgotten(target, email)()).toMatchObject({ isIn: true });
  });

  test.each([
    ['that low had sent', async (target: Member) => ok(await by('low').post(`/tenants/${org}/users/${target.userId}/password-reset`))],
    ['that somebody asked for', (target: Member) => forget(service.issuer, target.userName)],
  ])('that low wrote does not count after the use of a reset link %s', async (_, send) => {
    const target = await member(org, 'active');
    const email = await address(by('low'), target);
    await send(target);
    const agent = new Agent();
    const page = await agent.get(linkIn(await mailOfKind(captured, email, 'password-reset')));
    await agent.follow(await agent.submit(page, { password: NEW_PASSWORD }));
    await give(target);
    expect(await listed(target)).toContainEqual({ kind: 'address', tid: org, userId: target.userId, address: email });
    expect(await forgotten(target, email)()).toEqual({ title: 'no mail', isIn: false });
  });

  test('that was proven by a link of low, and is no longer the address of the person, is listed and shown, and does not count', async () => {
    const target = await member(org, 'active');
    const path = `/tenants/${org}/users/${target.userId}`;
    const user = await service.idp.tenant(org).users.update(target.userId, { userName: `written-${target.userId}@other.test` });
    const email = await address(by('low'), { ...target, userName: user.user.userName });
    ok(await by('low').post(`${path}/password-reset`));
    const agent = new Agent();
    const page = await agent.get(linkIn(await mailOfKind(captured, email, 'password-reset')));
    await agent.follow(await agent.submit(page, { password: NEW_PASSWORD }));
    ok(await by('root').patch(`/tenants/${org}/persons/${target.personId}`, { email: `checked-${target.userId}@org.test` }));
    expect((await by('root')(path)).json.provenEmail).toBe(email);
    await give(target);
    expect(await listed(target)).toContainEqual({ kind: 'address', tid: org, userId: target.userId, address: email });
    expect((await forgotten({ ...target, userName: email }, email)()).title).toBe('no mail');
  });

  test('that was written after an invitation gets no link that opens more than its writer held', async () => {
    const target = await member(org, 'invited');
    await invite(by('root'), target, true);
    ok(await by('low').patch(`/tenants/${org}/persons/${target.personId}`, { email: `later-${target.userId}@other.test` }));
    await give(target);
    expect(await listed(target)).toEqual(['invitation', 'address'].map((kind) => expect.objectContaining({ kind, userId: target.userId })));
  });

  test('that the person proved before stays where mail goes, with its own voucher', async () => {
    const target = await member(org, 'active');
    await service.idp.tenant(org).users.update(target.userId, { emailVerified: true });
    const written = await address(by('low'), target);
    await give(target);
    expect(await listed(target)).toEqual([{ kind: 'address', tid: org, userId: target.userId, address: written }]);
    expect(await forgotten(target, target.userName)()).toMatchObject({ isIn: true });
    expect(resetsTo(written)).toEqual([]);
  });

  test('of a link that was mailed before the grant opens nothing afterwards, until somebody confirms', async () => {
    const target = await member(org, 'active');
    const email = await address(by('low'), target);
    await forget(service.issuer, target.userName);
    const link = linkIn(await mailOfKind(captured, email, 'password-reset'));
    await give(target);
    const agent = new Agent();
    expect(titleOf(await agent.get(link))).toBe('This link must be confirmed first');
    expect(await listed(target)).toEqual(['reset', 'address'].map((kind) => expect.objectContaining({ kind, userId: target.userId })));
    ok(await confirm(by('holder'), `/tenants/${org}/users/${target.userId}/means`));
    expect(titleOf(await agent.get(link))).toBe('Choose a new password');
  });

  test('is no hindrance to a reset that somebody has sent who holds the permissions, but gets none that was written since', async () => {
    const target = await member(org, 'active');
    const email = await address(by('low'), target);
    await give(target);
    ok(await by('holder').post(`/tenants/${org}/users/${target.userId}/password-reset`));
    const link = linkIn(await mailOfKind(captured, email, 'password-reset'));
    expect(titleOf(await new Agent().get(link))).toBe('Choose a new password');
    const request = { requestId: 'queued', by: { actor: 'client:holder' }, address: target.userName };
    expect(await service.idp.directory.passwordResets.begin(target.userId, request)).toBeUndefined();
  });

  test('of a parent is compared with the privileges of its child', async () => {
    const [parent, child] = [await member(home, 'active'), await member(org, 'active')];
    await service.idp.tenant(org).linking.link(child.userId, { tid: home, userId: parent.userId });
    const email = await address(by('low'), parent);
    const refused = await by('root').post(`/tenants/${org}/users/${child.userId}/groups`, { names: ['Privileged'] });
    expect([refused.status, refused.json.means]).toEqual([409, [{ kind: 'address', tid: home, userId: parent.userId, address: email }]]);
    await give(child);
    expect(await forgotten(parent, email)()).toEqual({ title: 'no mail', isIn: false });
  });

  test('of a row without a voucher counts', async () => {
    const target = await member(org, 'active');
    const email = await address(by('low'), target);
    await give(target);
    await persons().update(target.personId, ({ emailVouchedBy, ...row }: Person) => {
      expect(emailVouchedBy).toMatchObject({ by: 'tenant' });
      return row;
    });
    expect(await forgotten(target, email)()).toMatchObject({ isIn: true });
  });
});

test('a process that ends between the grant and the confirmation leaves a means that does not count, until the request is repeated', async () => {
  const target = await member(org, 'active');
  const email = await address(by('low'), target);
  const path = `/tenants/${org}/users/${target.userId}/groups`;
  expect((await by('root').post(path, { names: ['Privileged'] })).status).toBe(409);
  await service.idp.tenant(org).users.addGroups(target.userId, { names: ['Privileged'] });
  expect(await forgotten(target, email)()).toEqual({ title: 'no mail', isIn: false });
  expect((await by('root').post(path, { names: ['Privileged'], confirm: true })).status).toBe(200);
  expect(await forgotten(target, email)()).toMatchObject({ isIn: true });
});

test('a grant without privileges, or that repeats one, asks nothing', async () => {
  const target = await member(org, 'active');
  await record(by('low'), target, 'up');
  const path = `/tenants/${org}/users/${target.userId}/groups`;
  const { id } = await service.idp.tenant(org).groups.create({ name: 'Plain' });
  expect((await by('low').post(path, { ids: [id] })).status).toBe(200);
  expect((await by('root').post(path, { names: ['Privileged'] })).status).toBe(409);
  expect((await by('root').post(path, { names: ['Privileged'], confirm: true })).status).toBe(200);
  expect((await by('root').post(path, { names: ['Privileged'] })).status).toBe(200);
});

test('a grant and an identity that are written at the same time: the grant is refused, or the identity does not count', async () => {
  const outcomes = new Set<string>();
  for (let round = 0; round < 12; round += 1) {
    const target = await member(org, 'active');
    const path = `/tenants/${org}/users/${target.userId}`;
    const identity = { externalIdentities: [{ idp: 'up', subject: subjectOf(target.userId) }] };
    const writes = [() => by('low').patch(path, identity), () => by('root').post(`${path}/groups`, { names: ['Privileged'] })] as const;
    const [recorded, granted] = await (round % 2 === 0
      ? Promise.all([writes[0](), writes[1]()])
      : Promise.all([writes[1](), writes[0]()]).then(([one, other]) => [other, one] as const));
    upstream().person = { sub: subjectOf(target.userId) };
    const isIn = recorded.status === 200 && (await at('up')()).isIn;
    outcomes.add(`${recorded.status} ${granted.status} ${isIn}`);
  }
  expect([...outcomes].filter((one) => one.endsWith('200 true'))).toEqual([]);
});

describe('T3-POS-CONNGROUP: a mapping to a group', () => {
  /** Creates a connection that creates users in a group of its own. */
  async function mapping(writer: Writer, creator: Writer = 'root') {
    count += 1;
    const org = tidOf(String(plain.pop()));
    const id = connectionIds.pop() as string;
    const { id: groupId } = await service.idp.tenant(org).groups.create({ name: `Staff ${count}` });
    const groups = { claim: 'groups', update: true, values: [{ value: 'staff', groupId }] };
    const claims = {
      userName: { claim: 'email' },
      email: { claim: 'email' },
      givenName: { claim: 'given_name' },
      familyName: { claim: 'family_name' },
    };
    const made = await by(creator).post(`/tenants/${org}/connections`, {
      ...{ ...providerFields(), id, name: id },
      ...{ createUsersIn: org, requireVerifiedEmail: false, mapping: claims },
    });
    expect(made.status).toBe(201);
    expect((await by(writer).patch(`/tenants/${org}/connections/${id}`, { mapping: { ...claims, groups } })).status).toBe(200);
    let newcomers = 0;
    const group = `/tenants/${org}/groups/${groupId}`;
    return {
      org,
      id,
      groupId,
      group,
      claims: { ...claims, groups },
      grant: (more: object = {}) => by('root').patch(group, { permissionIds: [GRANTED], ...more }),
      /** Returns whether a new user signs in, and whether the user is in the group. */
      async comes(sub = `${id} ${++newcomers}`) {
        upstream().person = { sub, email: `${sub.replace(' ', '-')}@org.test`, given_name: 'New', family_name: 'Comer', groups: ['staff'] };
        const { isIn } = await at(id)();
        const [account] = await service.idp.directory.accounts.ofIdentity({ idp: id, subject: sub });
        return [isIn, account?.person.user.groupIds.includes(groupId)];
      },
    };
  }

  test('gives nobody a group that exceeds what its writer held; the sign-in goes on', async () => {
    const { org, id, group, grant, groupId, comes } = await mapping('low');
    expect(await comes()).toEqual([true, true]);
    const refused = await grant();
    expect([refused.status, refused.json.means]).toEqual([409, expect.arrayContaining([{ kind: 'connection', tid: org, id }])]);
    await service.idp.tenant(org).groups.update(groupId, { permissionIds: [GRANTED] });
    expect(await comes()).toEqual([true, false]);
    // `holder` holds the permission, and confirms without another grant.
    expect((await by('low').patch(group, { confirm: true })).json.code).toBe('grant_exceeds_own');
    expect((await by('holder').patch(group, { confirm: true })).status).toBe(409);
    expect((await by('holder').patch(group, { confirm: true })).status).toBe(200);
    expect(await comes()).toEqual([true, true]);
  });

  test('A-11: a write that maps a privileged group which nobody gets says so, until somebody who holds the privileges confirms it', async () => {
    const { org, id, claims, grant, comes } = await mapping('root');
    const connection = `/tenants/${org}/connections/${id}`;
    const hint = [{ path: '/mapping/groups/values/0/groupId', reason: expect.stringContaining('"confirm": true') }];
    // `low` holds less, and changes the settings.
    ok(await by('low').patch(connection, { scopes: ['profile', 'email', 'more'] }));
    expect(ok(await by('root')(connection)).json.warnings).toBeUndefined();
    await service.idp.tenant(org).groups.update(claims.groups.values[0]?.groupId ?? '', { permissionIds: [GRANTED] });
    const before = ok(await by('root')(connection));
    const other = { ...claims, phoneNumber: { claim: 'phone_number' } };
    const ifMatch = { 'if-match': before.headers.get('etag') ?? '' };
    expect(ok(await by('root').patch(connection, { mapping: other }, ifMatch)).json.warnings).toEqual(hint);
    expect(ok(await by('root')(connection)).json.warnings).toEqual(hint);
    const created = { ...providerFields(), name: 'Another', mapping: claims, createUsersIn: org, requireVerifiedEmail: false };
    expect((await by('holder').post(`/tenants/${org}/connections`, created)).json.warnings).toBeUndefined();
    expect(await comes()).toEqual([true, false]);
    expect((await grant({ confirm: true })).status).toBe(409);
    ok(await grant({ confirm: true }));
    expect(ok(await by('root')(connection)).json.warnings).toBeUndefined();
    expect(await comes()).toEqual([true, true]);
  });

  test('is confirmed with the grant', async () => {
    const { grant, comes } = await mapping('low');
    expect((await grant()).status).toBe(409);
    expect((await grant({ confirm: true })).status).toBe(200);
    expect(await comes()).toEqual([true, true]);
  });

  test('of somebody who held the permission stays good, and a change that leaves it alone leaves its voucher', async () => {
    const { org, id, claims, grant, comes } = await mapping('holder');
    const other = { ...claims, phoneNumber: { claim: 'phone_number' } };
    expect((await by('low').patch(`/tenants/${org}/connections/${id}`, { mapping: other, name: 'Renamed' })).status).toBe(200);
    expect((await grant()).status).toBe(200);
    expect(await comes()).toEqual([true, true]);
  });

  test('gives a user who is made anew with the same identity no group that the writer of the identity did not hold', async () => {
    const { org, id, grant, comes } = await mapping('root');
    expect((await grant()).status).toBe(200);
    expect(await comes(`${id} again`)).toEqual([true, true]);
    const [account] = await service.idp.directory.accounts.ofIdentity({ idp: id, subject: `${id} again` });
    await service.idp.tenant(org).persons.remove(String(account?.person.id));
    const user = { userName: 'again@org.test', externalIdentities: [{ idp: id, subject: `${id} again` }] };
    expect((await by('low').post(`/tenants/${org}/persons`, { givenName: 'A', familyName: 'G', user })).status).toBe(201);
    expect(await comes(`${id} again`)).toEqual([true, false]);
  });

  test('of the address: the writers of the mapping vouch for what it writes', async () => {
    const { org, id, groupId, claims, comes } = await mapping('root');
    const sub = `${id} moved`;
    expect(await comes(sub)).toEqual([true, true]);
    ok(await by('low').patch(`/tenants/${org}/connections/${id}`, { mapping: { ...claims, email: { claim: 'email', update: true } } }));
    const email = `elsewhere-${id}@org.test`;
    upstream().person = { sub, email, given_name: 'New', family_name: 'Comer', groups: ['staff'] };
    expect((await at(id)()).isIn).toBe(true);
    await service.idp.tenant(org).groups.update(groupId, { permissionIds: [GRANTED] });
    const [account] = await service.idp.directory.accounts.ofIdentity({ idp: id, subject: sub });
    const userId = account?.person.user.id;
    const listed = await by('low')(`/tenants/${org}/users/${userId}/means`);
    expect(listed.json.items).toEqual([
      { kind: 'address', tid: org, userId, address: email },
      { kind: 'connection', tid: org, userId, id },
    ]);
  });

  test('of a connection whose settings somebody with less changed counts for what both held', async () => {
    const { org, id, grant, comes } = await mapping('holder');
    expect(
      (await by('low').patch(`/tenants/${org}/connections/${id}`, { subjectClaim: 'sub', scopes: ['profile', 'email', 'more'] })).status,
    ).toBe(200);
    expect((await grant()).json.means).toEqual([{ kind: 'connection', tid: org, id }]);
    expect((await grant({ confirm: true })).status).toBe(200);
    expect(await comes()).toEqual([true, true]);
  });
});
