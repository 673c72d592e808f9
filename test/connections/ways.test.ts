/** The person's ways to sign in: identities are connected and removed on their page, and nobody removes their last way. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { createSoftwarePasskey } from '../support/browser/software-passkey.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol } from '../support/sign-in/factors.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

let upstream: UpstreamProvider;
const mails = captureMail();
const ids = ['elsewhere', 'second'];
const service = useIdp(async () => {
  upstream = await startUpstream();
  const common = { issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
  return {
    hostname: 'localhost',
    mail: mails.mail,
    limits: { signInFailuresPerAddress: 100_000 },
    seed: {
      ...testSeed,
      extensions: {
        connections: [
          { ...common, id: 'elsewhere', name: 'Elsewhere', linkBySignIn: true },
          { ...common, id: 'second', name: 'Second', linkBySignIn: true },
          { ...common, id: 'closed', name: 'Closed' },
        ],
      },
    } as never,
  };
});
let acme: string;
const heard: IdpEvent[] = [];
beforeAll(async () => {
  upstream.register(service.issuer, [...ids, 'closed']);
  acme = await tenantNamed(service.idp, 'Acme');
  for (const type of ['UserIdentityAdded', 'UserIdentityRemoved'] as const)
    service.idp.events.on(type, (event) => void heard.push(event as IdpEvent));
});
afterAll(() => upstream?.close());
afterEach(backToPresent);

const page = () => `${service.issuer}/idp/identities`;
const pkce = createPkce();
const url = (more: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...more });

interface Person {
  readonly tid: string;
  readonly name: string;
  readonly oid: string;
}
/** Returns a user with their name as password, or without a password. */
async function person({
  identities = [],
  password = true,
  tid = acme,
}: {
  identities?: readonly string[];
  password?: boolean;
  tid?: string;
} = {}): Promise<Person> {
  const name = `w-${randomUUID().slice(0, 8)}@mail.test`;
  const externalIdentities = identities.map((idp) => ({ idp, subject: `${name} at ${idp}` }));
  const { user } = await service.idp.tenant(tid).persons.create({
    givenName: 'Way',
    familyName: 'In',
    email: name,
    user: { userName: name, status: 'active', emailVerified: true, externalIdentities },
  });
  const oid = user?.id as string;
  if (password) await service.idp.directory.credentials.seedPassword(oid, name);
  return { tid, name, oid };
}
const identitiesOf = async ({ tid, oid }: Person) =>
  (await service.idp.tenant(tid).users.require(oid)).user.externalIdentities.map(({ idp }) => idp).sort();
const actions = ({ body }: Answer, name: string) =>
  [...body.matchAll(new RegExp(`name="${name}" value="([^"]+)"`, 'g'))].map(([, value = '']) => value);

/** Opens the page after a sign-in with the password. */
async function byPassword(agent: Agent, { name }: Person): Promise<Answer> {
  const first = await agent.follow(await agent.get(page()));
  const asked = await agent.follow(await agent.submit(first, { identifier: name }));
  return agent.follow(await agent.submit(asked, { password: name }));
}
/** Opens the page after a sign-in at the provider. */
async function byIdentity(agent: Agent, { name }: Person, idp: string): Promise<Answer> {
  upstream.person = { sub: `${name} at ${idp}` };
  const begun = await agent.follow(await agent.get(url({ acr_values: `idp:${idp}` })));
  await agent.follow(await agent.get(await atUpstream(upstream, begun)));
  return agent.follow(await agent.get(page()));
}
/** Presses the button that connects, and returns the page of the provider's answer. */
async function connect(agent: Agent, list: Answer, sub: string, idp = 'elsewhere'): Promise<Answer> {
  upstream.person = { sub };
  const begun = await agent.follow(await agent.submit(list, { connect: idp }));
  return agent.follow(await agent.get(await atUpstream(upstream, begun)));
}
const isSignedIn = async (agent: Agent) => 'code' in membersOf(await agent.get(url({ prompt: 'none' })));

describe('connecting an identity', () => {
  test('a sign-in at the provider and a confirmation add it; this browser keeps its sign-in, and the identity signs in', async () => {
    const me = await person();
    const agent = new Agent();
    const list = await byPassword(agent, me);
    expect([titleOf(list), list.body.includes('Password'), actions(list, 'connect')]).toEqual(['Ways to sign in', true, ids]);
    const asked = await connect(agent, list, `${me.name} at elsewhere`);
    expect(titleOf(asked)).toBe('Connect these accounts?');
    expect(upstream.asked.at(-1)?.get('prompt')).toContain('login');
    expect(await identitiesOf(me)).toEqual([]);
    const after = await agent.follow(await agent.submit(asked, {}));
    expect([after.url, actions(after, 'remove').length, await identitiesOf(me)]).toEqual([page(), 1, ['elsewhere']]);
    expect(await isSignedIn(agent)).toBe(true);
    await until(() =>
      heard.some(({ type, data, actor }) => type === 'UserIdentityAdded' && data.AggregateId === me.oid && actor === `user:${me.oid}`),
    );
    const notice = await until(
      () => mails.mails.find(({ to, subject }) => to === me.name && subject === 'Another way to sign in was connected'),
      (mail) => mail !== undefined,
    );
    expect(notice?.text).not.toContain(me.name);
    const other = new Agent();
    expect((await byIdentity(other, me, 'elsewhere')).url).toBe(page());
    // The person connects an identity that the list already contains.
    const again = await connect(agent, await agent.follow(await agent.get(page())), `${me.name} at elsewhere`);
    expect([again.url, await identitiesOf(me)]).toEqual([page(), ['elsewhere']]);
  });

  test('an identity of somebody else, and a connection without linkBySignIn, are refused', async () => {
    const [me, other] = [await person(), await person({ identities: ['elsewhere'] })];
    const agent = new Agent();
    const list = await byPassword(agent, me);
    const refused = await connect(agent, list, `${other.name} at elsewhere`);
    expect([refused.status, titleOf(refused)]).toEqual([400, 'These accounts cannot be connected']);
    const { fields } = formOf(list);
    const closed = await agent.post(page(), { ...fields, connect: 'closed' });
    expect(closed.location).toBe(page());
    expect([await identitiesOf(me), await identitiesOf(other)]).toEqual([[], ['elsewhere']]);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('a person who cancels at the provider can try again, and keeps the sign-in', async () => {
    const me = await person();
    const agent = new Agent();
    upstream.person = undefined;
    const begun = await agent.follow(await agent.submit(await byPassword(agent, me), { connect: 'elsewhere' }));
    const cancelled = await agent.follow(await agent.get(await atUpstream(upstream, begun)));
    expect(titleOf(cancelled)).toBe('You cancelled at Elsewhere');
    expect([await isSignedIn(agent), await identitiesOf(me)]).toEqual([true, []]);
  });

  test('what the sign-in asked for ends with it: by sign-out, by an ended session, by a cut-off, by another account', async () => {
    const ends: Record<string, (agent: Agent, me: Person) => Promise<unknown>> = {
      'a sign-out': async (agent) => {
        const asked = await agent.get(`${service.issuer}/connect/endsession`);
        await agent.follow(await agent.submit(asked, { logout: 'yes' }));
      },
      'an ended session': async (_, { tid, oid }) => {
        const user = { tid, userId: oid };
        for (const { id } of await service.idp.sessions.list(user)) await service.idp.sessions.end(user, id);
      },
      'a cut-off': (_, { tid, oid }) => service.idp.tenant(tid).users.signOutEverywhere(oid),
      'another account': async (agent) => {
        const other = await person();
        await signIn(agent, url({ prompt: 'login' }), other.name, other.name);
      },
    };
    for (const [name, end] of Object.entries(ends)) {
      const me = await person();
      const agent = new Agent();
      const asked = await connect(agent, await byPassword(agent, me), `${me.name} at elsewhere`);
      await end(agent, me);
      await agent.submit(asked, {});
      // The same person signs in again in this browser: the request of the sign-in before stays ended.
      passTime(2);
      await signIn(agent, url({ prompt: 'login' }), me.name, me.name);
      await agent.submit(asked, {});
      backToPresent();
      expect([name, await identitiesOf(me)]).toEqual([name, []]);
    }
  });

  test('a sign-in of more than ten minutes, or without the factor of the person, connects and removes nothing', async () => {
    const me = await person({ identities: ['second'] });
    const agent = new Agent();
    const asked = await connect(agent, await byPassword(agent, me), `${me.name} at elsewhere`);
    passTime(601);
    expect((await agent.follow(await agent.submit(asked, {}))).url).toContain('/interaction/');
    backToPresent();
    const list = await byPassword(new Agent(), me);
    const elsewhere = new Agent();
    await enrol(elsewhere, url({ acr_values: 'mfa' }), me.name, me.name);
    // A sign-in at a provider needs no factor, but changes nothing without it.
    const late = new Agent();
    const challenge = await byIdentity(late, me, 'second');
    expect(titleOf(challenge)).toBe('Confirm that it is you');
    await late.post(page(), { ...formOf(list).fields, removed: actions(list, 'remove')[0] ?? '' });
    expect(await identitiesOf(me)).toEqual(['second']);
  });

  test('a linked account connects nothing: its parent account signs in to it', async () => {
    const globex = await tenantNamed(service.idp, 'Globex');
    const [child, parent] = [await person({ identities: ['second'] }), await person({ tid: globex })];
    await service.idp.tenant(acme).linking.link(child.oid, { tid: globex, userId: parent.oid });
    const agent = new Agent();
    await signIn(agent, url({ acr_values: `tenant:${acme}` }), parent.name, parent.name);
    const list = await agent.follow(await agent.get(page()));
    expect([list.url, actions(list, 'connect'), actions(list, 'remove').length]).toEqual([page(), [], 1]);
    expect(list.body).toContain('the account that this account is linked to');
    // An account's own identity is no way to sign in while the account is linked, so that the user can remove the identity.
    await agent.follow(await agent.submit(list, { removed: actions(list, 'remove')[0] ?? '' }));
    expect(await identitiesOf(child)).toEqual([]);
  });
});

describe('the last way to sign in', () => {
  test('is marked on the page, and a form that removes it is refused', async () => {
    const me = await person({ identities: ['elsewhere'], password: false });
    const agent = new Agent();
    const list = await byIdentity(agent, me, 'elsewhere');
    expect([list.body.includes('This is your only way to sign in.'), actions(list, 'remove')]).toEqual([true, []]);
    await service.idp.tenant(acme).users.addIdentity(me.oid, { idp: 'second', subject: `${me.name} at second` });
    const two = await agent.follow(await agent.get(page()));
    const [first = '', second = ''] = actions(two, 'remove');
    expect(actions(two, 'remove')).toHaveLength(2);
    await service.idp.tenant(acme).users.removeIdentity(me.oid, { idp: 'second', subject: `${me.name} at second` });
    const again = await byIdentity(agent, me, 'elsewhere');
    const refused = await agent.post(page(), { ...formOf(again).fields, removed: first });
    expect([refused.status, refused.body.includes('Your last way to sign in cannot be removed.')]).toEqual([409, true]);
    expect([second !== '', await identitiesOf(me)]).toEqual([true, ['elsewhere']]);
  });

  test('a password, an identity of a disabled connection, and one that the tenant does not allow count as they are now', async () => {
    const { users } = service.idp.tenant(acme);
    const me = await person({ identities: ['elsewhere', 'second'], password: false });
    const account = async () => (await service.idp.directory.accounts.findByOid(me.oid)) as never;
    const ways = async () => (await service.idp.directory.waysIn.of(await account())).map(({ kind, id }) => `${kind} ${id ?? ''}`);
    const identity = (idp: string) => `identity ${JSON.stringify([idp, `${me.name} at ${idp}`])}`;
    expect((await ways()).sort()).toEqual([identity('elsewhere'), identity('second')]);
    await service.idp.directory.tenants.update(acme, { signIn: { methods: ['password', 'second'] } });
    expect(await ways()).toEqual([identity('second')]);
    await service.idp.directory.credentials.seedPassword(me.oid, 'a password');
    expect((await ways()).sort()).toEqual([identity('second'), 'password ']);
    await service.idp.directory.tenants.update(acme, { signIn: null });
    await users.addIdentity(me.oid, { idp: 'gone', subject: 'of a connection that is gone' });
    expect(await ways()).toHaveLength(3);
  });

  test('two tabs that remove the last two identities: one stays', async () => {
    for (let round = 0; round < 5; round += 1) {
      const me = await person({ identities: ids, password: false });
      const tabs = await Promise.all(ids.map(async (idp) => ({ idp, agent: new Agent() })));
      const lists: Answer[] = [];
      for (const { agent, idp } of tabs) lists.push(await byIdentity(agent, me, idp));
      const answers = await Promise.all(
        tabs.map(({ agent }, index) =>
          agent.post(page(), { ...formOf(lists[index] as Answer).fields, removed: actions(lists[index] as Answer, 'remove')[index] ?? '' }),
        ),
      );
      expect(answers.every(({ status }) => status < 500)).toBe(true);
      expect(await identitiesOf(me)).toHaveLength(1);
    }
  });

  test('the pages of factors and of identities: a passkey and an identity are not both removed', async () => {
    for (let round = 0; round < 3; round += 1) {
      const me = await person({ identities: ['elsewhere'] });
      const passkey = createSoftwarePasskey(service.issuer);
      const agent = new Agent();
      await passkey.enrolOn(agent, await signIn(agent, url({ acr_values: 'mfa' }), me.name, me.name));
      await service.idp.directory.credentials.forget(me.oid);
      const factors = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
      const identities = await agent.follow(await agent.get(page()));
      expect([titleOf(factors), titleOf(identities)]).toEqual(['Second factor and passkeys', 'Ways to sign in']);
      const [factor = ''] = actions(factors, 'remove');
      const [identity = ''] = actions(identities, 'remove');
      const answers = await Promise.all([
        agent.post(`${service.issuer}/idp/factors`, { ...formOf(factors).fields, removed: factor }),
        agent.post(page(), { ...formOf(identities).fields, removed: identity }),
      ]);
      expect(answers.every(({ status }) => status < 500)).toBe(true);
      const account = await service.idp.directory.accounts.findByOid(me.oid);
      expect(await service.idp.directory.waysIn.of(account as never)).toHaveLength(1);
      expect(account?.person.user.leavingWays).toBeUndefined();
    }
  });

  test('a passkey that is the only way stays; with another way it goes', async () => {
    const me = await person();
    const passkey = createSoftwarePasskey(service.issuer);
    const agent = new Agent();
    await passkey.enrolOn(agent, await signIn(agent, url({ acr_values: 'mfa' }), me.name, me.name));
    await service.idp.directory.credentials.forget(me.oid);
    const list = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
    const refused = await agent.post(`${service.issuer}/idp/factors`, {
      ...formOf(list).fields,
      removed: actions(list, 'remove')[0] ?? '',
    });
    expect([refused.status, refused.body.includes('This is your only way to sign in.')]).toEqual([409, true]);
    await service.idp.directory.credentials.seedPassword(me.oid, me.name);
    await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
    const account = await service.idp.directory.accounts.findByOid(me.oid);
    expect((await service.idp.directory.waysIn.of(account as never)).map(({ kind }) => kind).sort()).toEqual(['factor', 'password']);
  });
});

test('design §6: nothing here was an error of the service', () => expectQuietLog(service));
