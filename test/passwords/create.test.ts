/** Issue 14, 4: create account where mail can be sent. The address is proven first, and no answer reveals whether there is an account. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { captureMail, invite, invitingSeed, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { redeem } from '../support/client/steps.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';
import { IN_ENGLISH, linkIn, mailTo } from '../support/sign-in/passwords.js';
import { heldCommits } from '../support/stores/held-commits.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const captured = captureMail();
const { artifacts, holdNext } = heldCommits(memoryArtifacts());
const service = useIdp({
  artifacts,
  seed: invitingSeed as never,
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
  passwords: { scryptCost: 2 ** 6, weak: ['aaaaaaaaaaaaaaaaaaaa'], leaked: async (password) => password.includes('leaked') },
});
let acme: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});
afterEach(backToPresent);

const password = 'long enough for anybody';
/** Password that the owner of the address chooses. Another person may have filled in the form. */
const OWNERS = 'chosen by the owner alone';
const pkce = createPkce();
const request = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, {
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    prompt: 'create',
    acr_values: `tenant:${acme}`,
    state: 's',
    ...parameters,
  });
const begin = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(request(parameters)));
const newcomer = (email: string) => ({ givenName: 'Nina', familyName: 'New', email, password });
const create = async (email: string, agent = new Agent()): Promise<Answer> => agent.submit(await begin(agent), newcomer(email));
const linkTo = async (email: string): Promise<string> => linkIn(await mailTo(captured, email, 'registration'));
const userOf = async (email: string) => service.idp.tenant(acme).users.findByUserName(email);

describe('14.4 create account, verified', () => {
  test('the account is made by the link, is verified and signed in, and the application gets its code', async () => {
    const agent = new Agent();
    const sent = await create('nina@new.test', agent);
    expect([sent.status, titleOf(sent)]).toEqual([200, 'Check your e-mail to go on']);
    expect(await userOf('nina@new.test')).toBeUndefined();
    const page = await agent.get(await linkTo('nina@new.test'));
    expect([page.status, titleOf(page), page.body.includes('nina@new.test')]).toEqual([200, 'Create your account?', true]);
    const answer = await agent.follow(await agent.submit(page, {}));
    const members = new URL(answer.location ?? 'http://none').searchParams;
    expect([members.get('state'), members.get('error')]).toEqual(['s', null]);
    const { json } = await redeem(service.issuer, { client: 'web', code: members.get('code') ?? '', verifier: pkce.verifier });
    const { user } = (await userOf('nina@new.test')) ?? {};
    expect(decodeJwt(json.id_token)).toMatchObject({ sub: user?.id, amr: ['pwd'], idp: 'local' });
    expect(user).toMatchObject({ emailVerified: true, status: 'active' });
    expect((await signIn(new Agent(), request({ prompt: 'login' }), 'nina@new.test', password)).location).toContain('code=');
  });

  test('PG-PREHIJACK, T3-REG-PREHIJACK: in another browser the bearer of the link says who they are and chooses the password', async () => {
    await create('other@new.test');
    const elsewhere = new Agent();
    const page = await elsewhere.get(await linkTo('other@new.test'));
    expect([page.status, titleOf(page)]).toEqual([200, 'Create your account?']);
    // The page shows the names from the form, but not the password.
    expect(formOf(page).fields).toMatchObject({ givenName: 'Nina', familyName: 'New', password: '' });
    expect(page.body).toMatch(
      /<input\b[^>]*autocomplete="username"[^>]*value="other@new\.test"|<input\b[^>]*value="other@new\.test"[^>]*autocomplete="username"/,
    );
    for (const [fields, problems] of [
      [{}, 1],
      [{ password: 'too short' }, 1],
      [{ password: 'aaaaaaaaaaaaaaaaaaaa' }, 1],
      [{ password: 'other@new.test' }, 1],
      [{ givenName: 'x'.repeat(201), familyName: 'x'.repeat(201), password: '' }, 3],
      [{ givenName: '', familyName: ' ', password: '' }, 1],
      [{ givenName: 'x'.repeat(201), password: OWNERS }, 1],
    ] as const) {
      const refused = await elsewhere.submit(page, fields);
      expect([refused.status, refused.body.match(/aria-invalid="true"/g)?.length]).toEqual([400, problems]);
    }
    expect(await userOf('other@new.test')).toBeUndefined();
    const done = await elsewhere.follow(await elsewhere.submit(page, { givenName: 'Olga', familyName: 'Owner', password: OWNERS }));
    expect([done.location, titleOf(done)]).toEqual([undefined, 'Your account is ready']);
    expect(await userOf('other@new.test')).toMatchObject({ givenName: 'Olga', familyName: 'Owner', user: { emailVerified: true } });
    const codeWith = async (given: string) =>
      (await signIn(new Agent(), request({ prompt: 'login' }), 'other@new.test', given)).location?.includes('code=') ?? false;
    expect([await codeWith(password), await codeWith(OWNERS)]).toEqual([false, true]);
  });

  test('T3-REG-PREHIJACK: two browsers at once make one account, with the password of the one that is told so', async () => {
    for (let round = 0; round < 6; round += 1) {
      const email = `two-${round}@new.test`;
      const here = new Agent();
      await create(email, here);
      const url = await linkTo(email);
      const elsewhere = new Agent();
      const [begun, other] = [await here.get(url), await elsewhere.get(url)];
      const answers = await Promise.all([here.submit(begun, {}), elsewhere.submit(other, { password: OWNERS })]);
      expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
      const winner = answers[0]?.status === 303 ? password : OWNERS;
      const loser = winner === password ? OWNERS : password;
      const codeWith = async (given: string) =>
        (await signIn(new Agent(), request({ prompt: 'login' }), email, given)).location?.includes('code=') ?? false;
      expect([await codeWith(winner), await codeWith(loser)]).toEqual([true, false]);
    }
  });

  test('GET never creates; of twenty at once one account comes; the link is over then', async () => {
    await create('race@new.test');
    const url = await linkTo('race@new.test');
    for (let times = 0; times < 3; times += 1) expect((await new Agent().get(url)).status).toBe(200);
    expect(await userOf('race@new.test')).toBeUndefined();
    const agents = Array.from({ length: 20 }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => agent.get(url)));
    const answers = await Promise.all(agents.map((agent, index) => agent.submit(pages[index] as Answer, { password })));
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    expect((await new Agent().get(url)).status).toBe(410);
  });

  test('a form that is sent twice is answered like the first, also before the link is over', async () => {
    await create('twice@new.test');
    const agent = new Agent();
    const page = await agent.get(await linkTo('twice@new.test'));
    const held = holdNext((writes) => writes.some(({ op, key }) => op === 'remove' && key.includes('sign-in.registrations')));
    const first = agent.submit(page, { password });
    const goOn = await held;
    // The second form differs, because the same form would wait for the first.
    const second = await agent.submit(page, { password, more: 'yes' });
    expect([second.status, titleOf(second)]).toEqual([200, 'Your account is ready']);
    goOn();
    expect((await first).status).toBe(303);
    expect(titleOf(await agent.submit(page, { password }))).toBe('Your account is ready');
  });

  test('G2 the answer is the same for names that are free, taken, disabled or invited; who has the account gets a mail', async () => {
    const { persons, users } = service.idp.tenant(acme);
    const made = await persons.create({
      givenName: 'Dis',
      familyName: 'Abled',
      email: 'disabled@new.test',
      user: { userName: 'disabled@new.test', status: 'active' },
    });
    await users.disable(made.user?.id as string);
    const { userName: invited } = await invite(service.idp);
    const names = ['free@new.test', 'alice@acme.test', 'disabled@new.test', invited];
    const answers = new Set<string>();
    for (const name of names) {
      const { status, body } = await create(name);
      const uid = /interaction\/([\w-]+)/.exec(body)?.[1] ?? '';
      answers.add(`${status} ${body.replaceAll(name, 'NAME').replaceAll(uid, 'UID')}`);
    }
    expect(answers.size).toBe(1);
    expect(linkIn(await mailTo(captured, 'free@new.test', 'registration'))).not.toBe('');
    for (const name of names.slice(1)) expect(linkIn(await mailTo(captured, name, 'account-exists'))).toBe('');
    expect((await signIn(new Agent(), request({ prompt: 'login' }))).location).toContain('code=');
  });

  test('of a tenant whose language is none of the service, the mail and its times are in the first', async () => {
    await service.idp.directory.tenants.update(acme, { locale: 'fr' });
    await create('french@new.test');
    const { locale, text } = await mailTo(captured, 'french@new.test', 'registration');
    expect([locale, text]).toEqual(['en', expect.stringMatching(IN_ENGLISH)]);
    await service.idp.directory.tenants.update(acme, { locale: null });
  });

  test('somebody who was faster: the link says that there is an account', async () => {
    await create('faster@new.test');
    const url = await linkTo('faster@new.test');
    await service.idp
      .tenant(acme)
      .persons.create({ givenName: 'Fa', familyName: 'Ster', user: { userName: 'faster@new.test', status: 'active' } });
    const agent = new Agent();
    const answer = await agent.submit(await agent.get(url), { password });
    expect([answer.status, titleOf(answer)]).toEqual([409, 'You have an account already']);
  });

  test('a link that expired, that is not ours, or whose form is another browser’s creates nothing', async () => {
    await create('late@new.test');
    const url = await linkTo('late@new.test');
    expect(titleOf(await new Agent().get(`${url}x`))).toBe('This link does not work');
    const page = await new Agent().get(url);
    expect((await new Agent().submit(page, { password })).status).toBe(403);
    passTime(86_401);
    expect([(await new Agent().get(url)).status, titleOf(await new Agent().get(url))]).toEqual([410, 'This link was used, or has expired']);
    expect(await userOf('late@new.test')).toBeUndefined();
  });

  test('all problems are told at once, and none of them is that a name is taken', async () => {
    const agent = new Agent();
    const page = await begin(agent);
    const wrong = await agent.submit(page, {
      givenName: 'x'.repeat(201),
      familyName: 'x'.repeat(201),
      email: 'alice@acme.test',
      password: 'aaaaaaaaaaaaaaaaaaaa',
    });
    expect([wrong.status, wrong.body.match(/aria-invalid="true"/g)?.length]).toEqual([400, 3]);
    expect(wrong.body).toContain('That password is easy to guess.');
    expect(formOf(wrong).fields).toMatchObject({ email: 'alice@acme.test', password: '' });
    const leaked = await agent.submit(wrong, { ...newcomer('alice@acme.test'), password: 'this one was leaked already' });
    expect(leaked.body).toContain('That password is known from a leak.');
  });
});

test('a password is judged where the host sets one as well, and the refusal names the rule', async () => {
  const { credentials } = service.idp.tenant(acme);
  const { user } = (await userOf('alice@acme.test')) ?? {};
  await expect(credentials.setPassword(user?.id ?? '', 'this one was leaked already')).rejects.toMatchObject({
    code: 'invalid_record',
    details: { path: '/password', rule: 'leaked' },
  });
});

test('design §6: nothing here was an error of the service', () => expectQuietLog(service));
