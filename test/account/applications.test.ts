/** The section `applications` of the account page: the access of applications, and its withdrawal. */
import { createHash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { recordedEvents } from '../support/administration/recorded-events.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn, titleOf } from '../support/client/agent.js';
import { isActive, redeem } from '../support/client/steps.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { allow, allowedTokens, silentError } from '../support/sign-in/consents.js';
import { cutSubject } from '../support/sign-in/cut-offs.js';
import { codeOf, enrol, submit } from '../support/sign-in/factors.js';
import { actAs } from '../support/sign-in/impersonation.js';
import { impersonationIn } from '../support/sign-in/impersonation-session.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const store = memoryDirectory();
const TASKS = "tasks/../1?&;'";
const NAME = 'Tasks & <b>“more”</b> עברית';
const asking = (id: string, name: string, metadata: object = {}) => ({
  id,
  name,
  secret: `${id}-secret`,
  metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'], ...metadata },
  allowedScopes: ['openid', 'email', 'phone', 'offline_access', 'orders.read'],
  requireConsent: true,
});
const service = useIdp({
  directory: store,
  extensions: [actAs({ lasts: 600_000 })],
  limits: { signInFailuresPerAddress: 100_000 },
  seed: {
    ...testSeed,
    clients: [
      ...testSeed.clients,
      asking(TASKS, NAME, { client_uri: 'https://tasks.example/start?a=1&b=2' }),
      asking('gone', 'Gone'),
      asking('off', 'Switched off'),
    ],
  } as never,
});
afterEach(backToPresent);

const at = (path = '') => `${service.issuer}/idp/account/applications${path}`;
/** Matches the address of the list after a form, with a notice of what the form has done. */
const noticed = (notice: string) => expect.stringContaining(at(`?done=${notice}.`));
let oid: string;
let tid: string;
beforeAll(async () => {
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  oid = account?.person.user.id ?? '';
  tid = account?.tenant.id ?? '';
});

async function signedIn(agent = new Agent(), userName = 'alice@acme.test', password = 'alice'): Promise<Agent> {
  const page = await agent.follow(await agent.get(at()));
  const asked = await agent.submit(page, { identifier: userName });
  await agent.follow(await agent.submit(asked, { password }));
  return agent;
}
const list = async (agent: Agent): Promise<Answer> => agent.follow(await agent.get(at()));
const nameOf = (client: string): string => createHash('sha256').update(client).digest('base64url');
/** Returns the clients of the list, which the page names by digests. */
const idsOf = ({ body }: Answer): readonly string[] => {
  const known = new Map([TASKS, 'web', 'off', 'gone', 'third-party'].map((client) => [nameOf(client), client]));
  return [...body.matchAll(/href="[^"]+\/applications\/([\w-]{43})"/g)].map(([, name = '']) => known.get(name) ?? name).sort();
};
const open = async (agent: Agent, client: string): Promise<Answer> => agent.follow(await agent.get(at(`/${nameOf(client)}`)));
const end = async (agent: Agent, page: Answer): Promise<Answer> => {
  const [, value = ''] = /name="end" value="([^"]*)"/.exec(page.body) ?? [];
  return agent.follow(await agent.submit(page, { end: value }));
};

describe('the list', () => {
  test('says that there is none, and is linked by the account page', async () => {
    const agent = await signedIn();
    expect((await list(agent)).body).toContain('No application has access to your account.');
    expect((await agent.get(`${service.issuer}/idp/account`)).body).toContain(`href="${at()}"`);
  });

  test('has consents, and clients without a consent that the user is signed in to; names are text', async () => {
    const agent = await signedIn();
    await allow(service.issuer, { agent, client: TASKS, scope: 'openid email' });
    await obtainTokens(service.issuer, { agent });
    const page = await list(agent);
    expect(idsOf(page)).toEqual([TASKS, 'web'].sort());
    expect(page.body).toContain('Tasks &amp; &lt;b&gt;');
    expect(page.body).not.toContain('<b>“more”');
    expect(page.body).toMatch(/You allowed access on \d+ \w+ \d{4}\./);
    expect(page.body).toMatch(/You signed in on \d+ \w+ \d{4}\./);
  });

  test('says of a client that is disabled, or was removed, that it is', async () => {
    const agent = await signedIn();
    const { clients, consents } = service.idp.directory;
    for (const client of ['off', 'gone']) await consents.allow(oid, client, ['openid']);
    await clients.update('off', { status: 'disabled' });
    await clients.remove('gone');
    // A consent may be written while its client is removed.
    await consents.allow(oid, 'gone', ['openid']);
    const page = await list(agent);
    expect(idsOf(page)).toEqual(['gone', 'off', TASKS, 'web'].sort());
    expect([page.body.includes('This application is switched off.'), page.body.includes('This application no longer exists.')]).toEqual([
      true,
      true,
    ]);
    for (const client of ['off', 'gone']) expect(titleOf(await end(agent, await open(agent, client)))).toBe('Applications');
    expect(idsOf(await list(agent))).toEqual([TASKS, 'web'].sort());
  });
});

describe('the page of an application', () => {
  test('has the scopes in words, the claims, the date and the address', async () => {
    await service.idp.directory.consents.allow(oid, TASKS, ['openid', 'email', 'orders.read'], ['phone_number']);
    const page = await open(await signedIn(), TASKS);
    for (const words of ['Know that it is you', 'orders.read', 'It also gets this data:', 'phone_number'])
      expect(page.body).toContain(words);
    // Pages keep “e-mail” in one line by markup.
    expect(page.body).toMatch(/See your .{1,60}mail.{0,20} address/);
    expect(page.body).toContain('href="https://tasks.example/start?a=1&amp;b=2"');
    expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });

  test('links no address of an older record that is no http(s) URL', async () => {
    const agent = await signedIn();
    const rows = store.collection('clients');
    for (const [index, uri] of ['javascript:alert(1)', 'data:text/html,x', 'no URL', 7].entries()) {
      const id = `odd-${index}`;
      await service.idp.directory.clients.create({ id, name: `Odd ${index}`, metadata: { client_uri: 'https://odd.example/' } });
      await rows.update(id, (row) => ({ ...row, metadata: { client_uri: uri } }) as never);
      await service.idp.directory.consents.allow(oid, id, ['openid']);
      await until(async () => !(await open(agent, id)).body.includes('https://odd.example/'));
      const page = await open(agent, id);
      expect([uri, titleOf(page), page.body.includes('About Odd'), page.body.includes('javascript:')]).toEqual([
        uri,
        `Odd ${index}`,
        false,
        false,
      ]);
      await end(agent, page);
    }
  });

  test('of an application that the user does not have is the list', async () => {
    const agent = await signedIn();
    for (const path of [`/${nameOf('third-party')}`, '/nowhere', '/__proto__', '/a%2Fb', '/a;b'])
      expect([path, (await agent.follow(await agent.get(at(path)))).url]).toEqual([path, at()]);
  });

  test('is in each language', async () => {
    const agent = await signedIn();
    const buttons = {
      en: 'Withdraw access',
      nb: 'Trekk tilbake tilgangen',
      sv: 'Återkalla åtkomsten',
      da: 'Træk adgangen tilbage',
      fi: 'Peruuta pääsy',
      de: 'Zugriff widerrufen',
    };
    for (const [language, words] of Object.entries(buttons)) {
      const { status, body } = await agent.request(at(`/${nameOf(TASKS)}`), {
        headers: { 'accept-language': language },
      });
      expect([language, status, body.includes(words)]).toEqual([language, 200, true]);
    }
  });
});

describe('“Withdraw access”', () => {
  test('ends the tokens of the client in all browsers; this browser and the other clients stay', async () => {
    const here = await allowedTokens(service.issuer, { client: TASKS });
    const there = await allowedTokens(service.issuer, { client: TASKS });
    const { tokens: ofWeb } = await obtainTokens(service.issuer, { agent: here.agent, scope: 'openid offline_access' });
    const done = await end(here.agent, await open(here.agent, TASKS));
    expect([done.url, done.status]).toEqual([noticed('withdrawn'), 200]);
    expect(done.body).toContain('The access is withdrawn.');
    expect(idsOf(done)).not.toContain(TASKS);
    for (const { tokens } of [here, there]) expect(await isActive(service.issuer, tokens.refresh_token, TASKS)).toBe(false);
    expect(await isActive(service.issuer, ofWeb.refresh_token)).toBe(true);
    expect(await silentError(service.issuer, here.agent, 'web')).toBeUndefined();
    expect(await silentError(service.issuer, here.agent, TASKS)).toMatch(/^(consent|interaction)_required$/);
    expect((await recordedEvents(store, 'ConsentWithdrawn')).at(-1)).toMatchObject({
      actor: `user:${oid}`,
      requestId: expect.any(String),
      data: { AggregateId: oid, ClientId: TASKS },
    });
  });

  test('needs no recent sign-in', async () => {
    const { agent } = await allow(service.issuer, { client: TASKS, scope: 'openid' });
    passTime(3_000);
    expect((await end(agent, await open(agent, TASKS))).url).toEqual(noticed('withdrawn'));
  });

  test('a form that is sent twice, and one of a second tab, change nothing more', async () => {
    const { agent } = await allow(service.issuer, { client: TASKS, scope: 'openid' });
    const [one, two] = [await open(agent, TASKS), await open(agent, TASKS)];
    const events = (await recordedEvents(store, 'ConsentWithdrawn')).length;
    const answers = await Promise.all([end(agent, one), end(agent, one), end(agent, two)]);
    expect(answers.map(({ status, body }) => [status, titleOf({ body } as Answer)])).toEqual([1, 2, 3].map(() => [200, 'Applications']));
    expect((await end(agent, two)).status).toBe(200);
    expect((await recordedEvents(store, 'ConsentWithdrawn')).length).toBe(events + 1);
  });

  test('by a form that is sent again ends access that was given in between', async () => {
    const { agent } = await allow(service.issuer, { client: TASKS, scope: 'openid' });
    const page = await open(agent, TASKS);
    await end(agent, page);
    const { tokens } = await allowedTokens(service.issuer, { client: TASKS, agent });
    const again = await end(agent, page);
    expect([again.url, idsOf(again).includes(TASKS)]).toEqual([noticed('withdrawn'), false]);
    expect(await isActive(service.issuer, tokens.refresh_token, TASKS)).toBe(false);
    expect(await service.idp.directory.consents.get(oid, TASKS)).toBeUndefined();
  });

  test('takes no form of another browser or site, and no form without a token', async () => {
    const { agent } = await allow(service.issuer, { client: TASKS, scope: 'openid' });
    const { fields } = formOf(await open(agent, TASKS));
    const posted = { ...fields, end: nameOf(TASKS) };
    for (const answer of [
      await agent.post(at(), { end: nameOf(TASKS) }),
      await agent.post(at(), { ...posted, csrf: `${fields.csrf}x` }),
      await agent.post(at(), posted, { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' }),
      await (await signedIn()).post(at(), posted),
    ])
      expect(answer.status).toBe(403);
    expect(await service.idp.directory.consents.get(oid, TASKS)).toBeDefined();
    expect((await agent.follow(await agent.post(at(), { ...fields, end: nameOf('third-party') }))).url).toBe(at());
  });
});

test('only the browser and the account whose form withdrew the access read so, and only after the form', async () => {
  const { agent } = await allow(service.issuer, { client: TASKS, scope: 'openid' });
  const { url, body } = await end(agent, await open(agent, TASKS));
  const says = async (from: Agent, address: string, headers = {}): Promise<boolean> =>
    (await from.request(address, { headers })).body.includes('The access is withdrawn.');
  expect([body.includes('The access is withdrawn.'), await says(agent, url)]).toEqual([true, true]);
  for (const address of [at('?done=withdrawn'), url.replace('withdrawn', 'signed-out'), `${url}x`, `${url}&done=withdrawn`])
    expect([address, await says(agent, address)]).toEqual([address, false]);
  for (const site of ['cross-site', 'same-site', 'none'])
    expect([site, await says(agent, url, { 'sec-fetch-site': site })]).toEqual([site, false]);
  expect(await says(await signedIn(), url)).toBe(false);
});

test('“Sign out there” ends a client without a consent, and says that it can sign in again', async () => {
  const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
  const page = await open(agent, 'web');
  expect([page.body.includes('Sign out there'), page.body.includes('without asking')]).toEqual([true, true]);
  const done = await end(agent, page);
  expect([done.url, idsOf(done).includes('web')]).toEqual([noticed('signed-out'), false]);
  expect(await isActive(service.issuer, tokens.refresh_token)).toBe(false);
  expect(await silentError(service.issuer, agent, 'web')).toBeUndefined();
});

test('an application is there when the sign-in to it is complete, and not after the password of a user who has a second factor', async () => {
  const userName = 'factor@acme.test';
  const { user } = await service.idp.tenant(tid).persons.create({ givenName: 'F', user: { userName, status: 'active' } });
  const of = { tid, userId: user?.id ?? '' };
  await service.idp.directory.credentials.seedPassword(of.userId, 'mine');
  const begin = (more: object) =>
    authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...more });
  const owner = new Agent();
  const { secret } = await enrol(owner, begin({ acr_values: 'mfa' }), userName, 'mine');
  const other = new Agent();
  const challenge = await signIn(other, begin({ client_id: 'spa', scope: 'openid offline_access' }), userName, 'mine');
  expect(titleOf(challenge)).toBe('Confirm that it is you');
  expect(idsOf(await list(owner))).toEqual(['web']);
  expect((await service.idp.sessions.clients(of)).map(({ clientId }) => clientId)).toEqual(['web']);
  expect((await submit(other, challenge, { code: codeOf(secret, 1) })).location).toContain('code=');
  expect((await service.idp.sessions.clients(of)).map(({ clientId }) => clientId).sort()).toEqual(['spa', 'web']);
});

test('a child account sees its own applications, and not those of its parent account', async () => {
  const child = await cutSubject(service.idp, 'child');
  const { consents } = service.idp.directory;
  await consents.allow(child.oid, 'third-party', ['openid']);
  await consents.allow(child.owner.oid, TASKS, ['openid']);
  const { agent, code } = await allow(service.issuer, {
    userName: child.userName,
    password: 'old',
    client: 'web',
    scope: 'openid',
    parameters: { acr_values: `tenant:${child.tenant}` },
  });
  await redeem(service.issuer, code);
  expect(idsOf(await list(agent))).toEqual(['third-party', 'web']);
  const page = await open(agent, 'third-party');
  expect((await agent.follow(await agent.submit(page, { end: nameOf(TASKS) }))).url).toBe(at());
  expect(await consents.get(child.owner.oid, TASKS)).toBeDefined();
  expect((await end(agent, page)).url).toEqual(noticed('withdrawn'));
  expect(await consents.get(child.oid, 'third-party')).toBeUndefined();
});

test('an impersonator sees nothing, and a disabled user signs in first', async () => {
  const { act } = impersonationIn(service);
  const { agent } = await act();
  for (const answer of [await agent.get(at()), await agent.get(at(`/${nameOf('web')}`)), await agent.post(at(), { end: nameOf('web') })])
    expect([answer.status, answer.body.includes('Not while you act as somebody else')]).toEqual([403, true]);
  const alice = await signedIn();
  await service.idp.tenant(tid).users.disable(oid);
  expect((await list(alice)).url).toContain('/interaction/');
  await service.idp.tenant(tid).users.enable(oid);
});
