import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn, titleOf } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
let acme: string;
let globex: string;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  const { directory } = service.idp;
  const tenants = await Promise.all(
    ['alice@acme.test', 'bob@globex.test'].map(async (name) => (await directory.accounts.candidates(name))[0]?.tenant.id ?? ''),
  );
  [acme, globex] = tenants as [string, string];
  await dave(acme, 'dave', 'the password of both');
  await dave(globex, 'dave', 'the password of both');
  await dave(acme, 'erin', 'the password in Acme');
  await dave(globex, 'erin', 'the password in Globex');
});

afterEach(backToPresent);

async function dave(tid: string, userName: string, password: string): Promise<void> {
  const person = await service.idp
    .tenant(tid)
    .persons.create({ givenName: 'Dave', familyName: 'Double', user: { userName, status: 'active' } });
  await service.idp.directory.credentials.seedPassword(person.user?.id ?? '', password);
}

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', state: 'of the client', ...parameters });
const begin = async (agent: Agent, parameters: Record<string, string> = {}): Promise<Answer> =>
  agent.follow(await agent.get(url(parameters)));
const isIdentifierPage = ({ status, body }: Answer) =>
  status === 200 && body.includes('name="identifier"') && !body.includes('type="password"');

describe('design §6: the pages', () => {
  test('design §6: identifier, password, and back to the client', async () => {
    const agent = new Agent();
    const identifier = await begin(agent);
    expect(isIdentifierPage(identifier)).toBe(true);
    expect(identifier.body).toContain('Web shop');
    const password = await agent.submit(identifier, { identifier: '  ALICE@acme.test ' });
    expect(password.body).toContain('type="password"');
    const { location = '' } = await agent.follow(await agent.submit(password, { password: 'alice' }));
    expect(new URL(location).searchParams.get('state')).toBe('of the client');
  });

  test('design §6: unknown, disabled and mistyped look the same, and the way on is open', async () => {
    const { person, tenant } = (await service.idp.directory.accounts.candidates('carol@acme.test'))[0] ?? {};
    await service.idp.tenant(tenant?.id ?? '').users.disable(person?.user.id ?? '');
    const pages: Answer[] = [];
    for (const [name, password] of [
      ['nobody@acme.test', 'x'],
      ['carol@acme.test', 'carol'],
      ['alice@acme.test', 'wrong'],
    ]) {
      const agent = new Agent();
      pages.push(await signIn(agent, url(), name, password));
    }
    await service.idp.tenant(tenant?.id ?? '').users.enable(person?.user.id ?? '');
    const plain = (page: Answer, name: string) =>
      page.body
        .replaceAll(name, 'NAME')
        .replace(/interaction\/[\w-]+/g, 'interaction/UID')
        .replace(/value="[\w-]{75}"/g, '')
        .replace(/<span class="person">[\s\S]*?<\/a>/, '');
    const [unknown, disabled, mistyped] = pages as [Answer, Answer, Answer];
    expect(pages.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(plain(disabled, 'carol@acme.test')).toBe(plain(unknown, 'nobody@acme.test'));
    expect(plain(mistyped, 'alice@acme.test')).toBe(plain(unknown, 'nobody@acme.test'));
  });

  test('design §6: nothing typed is asked for again', async () => {
    const agent = new Agent();
    const empty = await agent.submit(await begin(agent), { identifier: ' ' });
    expect([empty.status, empty.body.includes('aria-invalid="true"')]).toEqual([400, true]);
    const password = await agent.submit(await agent.submit(empty, { identifier: 'alice@acme.test' }), { password: '' });
    expect([password.status, password.body.includes('aria-invalid="true"')]).toEqual([400, true]);
  });

  test('design §6: a form that no page of this sign-in showed changes nothing', async () => {
    const agent = new Agent();
    const password = await agent.submit(await begin(agent), { identifier: 'alice@acme.test' });
    const { action, fields } = formOf(password);
    const signedIn = { ...fields, password: 'alice' };
    for (const [sent, headers] of [
      [{ ...signedIn, csrf: '' }, {}],
      [{ ...signedIn, csrf: 'A'.repeat(43) }, {}],
      [signedIn, { origin: 'https://evil.test' }],
      [signedIn, { 'sec-fetch-site': 'cross-site' }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const answer = await agent.post(action, sent, headers);
      expect([answer.status, answer.location]).toEqual([403, undefined]);
    }
    expect((await agent.follow(await agent.post(action, signedIn))).location).toContain('code=');
  });
});

describe('design §6: an interaction belongs to its browser', () => {
  test('design §6: another browser with its address begins the request anew, and changes nothing', async () => {
    const agent = new Agent();
    const page = await begin(agent);
    const password = await agent.submit(page, { identifier: 'alice@acme.test' });
    const form = formOf(password);
    const stranger = new Agent();
    const seen = await stranger.follow(await stranger.get(page.url));
    expect([seen.status, seen.url.startsWith(`${service.issuer}/idp/interaction/`), seen.url === page.url]).toEqual([200, true, false]);
    expect(seen.body).not.toContain(form.fields.csrf);
    const posted = await stranger.post(form.action, { ...form.fields, password: 'alice' });
    expect([posted.status, posted.location]).toEqual([400, undefined]);
    expect((await agent.follow(await agent.submit(password, { password: 'alice' }))).location).toContain('code=');
  });

  test('design §6: nor does one that has a sign-in of its own under way', async () => {
    const victim = new Agent();
    const page = await begin(victim);
    const stranger = new Agent();
    await begin(stranger);
    const cookies = [...stranger.cookies].find(([name]) => name.startsWith('idp.interaction '));
    if (cookies) stranger.cookies.set(`${cookies[0].split(' ')[0]} /`, { ...cookies[1], path: '/' });
    const seen = await stranger.follow(await stranger.get(page.url));
    expect([seen.status, seen.url === page.url]).toEqual([200, false]);
  });

  test('design §6: once it is over its pages lead nowhere', async () => {
    const agent = new Agent();
    const password = await agent.submit(await begin(agent), { identifier: 'alice@acme.test' });
    expect((await agent.follow(await agent.submit(password, { password: 'alice' }))).location).toContain('code=');
    try {
      passTime(61);
      const again = await agent.submit(password, { password: 'alice' });
      expect([again.status, again.location]).toEqual([400, undefined]);
    } finally {
      backToPresent();
    }
  });

  test('security A13: the way back into a finished sign-in gives no second response', async () => {
    const agent = new Agent();
    const password = await agent.submit(await begin(agent), { identifier: 'alice@acme.test' });
    const resume = (await agent.submit(password, { password: 'alice' })).location ?? '';
    expect((await agent.get(resume)).location).toContain('code=');
    for (const browser of [agent, new Agent()]) {
      const replay = await browser.follow(await browser.get(resume));
      expect([replay.status, replay.location]).toEqual([400, undefined]);
    }
  });
});

describe('design §6: an expired sign-in', () => {
  const halfAnHour = 30 * 60;

  test('design §6: "Start again" leads to the end, with the request as it was', async () => {
    const agent = new Agent();
    const page = await begin(agent, { custom: 'kept', scope: 'openid profile' });
    passTime(halfAnHour + 5);
    for (const name of [...agent.cookies.keys()]) if (/^idp\.(interaction|resume)/.test(name)) agent.cookies.delete(name);
    const expired = await agent.submit(page, { identifier: 'alice@acme.test' });
    expect([expired.status, expired.body.includes('Web shop')]).toEqual([400, true]);
    const again = /href="([^"]*\/restart)"/.exec(expired.body)?.[1];
    const { location = '' } = await signIn(agent, new URL(again ?? '', service.issuer).href);
    expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({
      code: expect.any(String),
      state: 'of the client',
      scope: 'openid profile',
      custom: 'kept',
    });
  });

  test('design §6: the same on the password page, and when the cookie is still there', async () => {
    const agent = new Agent();
    const password = await agent.submit(await begin(agent), { identifier: 'alice@acme.test' });
    passTime(halfAnHour + 5);
    const expired = await agent.submit(password, { password: 'alice' });
    expect(expired.status).toBe(400);
    const again = /href="([^"]*\/restart)"/.exec(expired.body)?.[1];
    expect((await signIn(agent, new URL(again ?? '', service.issuer).href)).location).toContain('code=');
  });

  test('design §6: nobody else can start it again', async () => {
    const page = await begin(new Agent());
    passTime(halfAnHour + 5);
    const answer = await new Agent().get(`${page.url}/restart`);
    expect([answer.status, answer.location]).toEqual([400, undefined]);
  });

  test('“wrong link” is not “took too long”, and tells a stranger nothing of what there was', async () => {
    const agent = new Agent();
    const page = await begin(agent);
    passTime(halfAnHour + 5);
    expect(titleOf(await agent.get(page.url))).toBe('This sign-in took too long');
    const never = page.url.replace(/[\w-]{4}$/, 'AAAA');
    const strange = [page.url, never, `${never}/restart`, page.url.slice(0, -2), `${page.url}x`];
    const bodies = await Promise.all(strange.map(async (link) => new Agent().get(link)));
    expect(bodies.slice(0, 3).map((answer) => [answer.status, titleOf(answer)])).toEqual(
      Array.from({ length: 3 }, () => [400, 'This link doesn’t work']),
    );
    expect(bodies.slice(3).map(titleOf)).not.toContain('This sign-in took too long');
    expect(bodies[0]?.body.replaceAll(page.url.slice(-21), 'uid')).toBe(bodies[1]?.body.replaceAll(never.slice(-21), 'uid'));
  });
});

describe('design §3: one user name in several tenants', () => {
  const choices = ({ body }: Answer) =>
    [...body.matchAll(/name="choice" value="([^"]*)"[\s\S]*?<strong>(.*?)<\/strong>/g)].map(([, value = '', name = '']) => ({
      value,
      name: name.replace(/<[^>]*>/g, ''),
    }));
  const tidOf = async (location: string | undefined): Promise<string> => {
    const code = new URL(location ?? '').searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, redirect_uri: 'http://127.0.0.1:9/callback', code_verifier: pkce.verifier };
    const { json } = await endpoints.token(fields);
    return (await endpoints.userinfo(json.access_token)).json.tid;
  };

  test('design §3: with the same password the user chooses the organisation', async () => {
    for (const [name, tid] of [
      ['Globex', globex],
      ['Acme', acme],
    ] as const) {
      const agent = new Agent();
      const page = await signIn(agent, url(), 'dave', 'the password of both');
      expect(
        choices(page)
          .map((choice) => choice.name)
          .sort(),
      ).toEqual(['Acme', 'Globex']);
      const { value } = choices(page).find((choice) => choice.name === name) ?? {};
      const { location } = await agent.follow(await agent.submit(page, { choice: value ?? '' }));
      expect(await tidOf(location)).toBe(tid);
    }
  });

  test('pages §3.2: the organisation that was last used comes first, and there is a way back that keeps the name', async () => {
    const agent = new Agent();
    const first = await signIn(agent, url(), 'dave', 'the password of both');
    const { value = '' } = choices(first).find((choice) => choice.name === 'Globex') ?? {};
    await agent.follow(await agent.submit(first, { choice: value }));
    const again = await signIn(agent, url({ prompt: 'login' }), 'dave', 'the password of both');
    expect(choices(again).map((choice) => choice.name)).toEqual(['Globex', 'Acme']);
    const back = await agent.submit(again, { back: 'yes' });
    expect([back.status, formOf(back).fields.identifier, choices(back)]).toEqual([200, 'dave', []]);
  });

  test('pages §3.2: from eight on, organisations are searched for, without JavaScript, and what was found can be chosen', async () => {
    const { directory } = service.idp;
    const tids: string[] = [];
    let parent: { tid: string; userId: string } | undefined;
    for (let at = 0; at < 8; at += 1) {
      const { id: tid } = await directory.tenants.create({ name: `Branch ${at}` });
      const { persons, linking } = service.idp.tenant(tid);
      const { user } = await persons.create({ givenName: 'Dora', familyName: 'Many', user: { userName: 'dora', status: 'active' } });
      const userId = user?.id ?? '';
      if (parent) await linking.link(userId, parent);
      else await directory.credentials.seedPassword(userId, 'the password of all of them');
      parent ??= { tid, userId };
      tids.push(tid);
    }
    const agent = new Agent();
    const page = await signIn(agent, url(), 'dora', 'the password of all of them');
    expect(choices(page)).toHaveLength(8);
    const found = await agent.submit(page, { search: 'branch 5', find: 'yes' });
    expect([found.status, choices(found).map(({ name }) => name)]).toEqual([200, ['Branch 5']]);
    const none = await agent.submit(found, { search: 'Globex', find: 'yes' });
    expect([choices(none), none.body.includes('None of your organisations matches.')]).toEqual([[], true]);
    const all = await agent.submit(none, { search: '', find: 'yes' });
    expect(choices(all)).toHaveLength(8);
    const chosen = choices(found)[0]?.value ?? '';
    const forged = await agent.submit(all, { all: `${chosen}x,${'0'.repeat(36)}.1.y`, find: 'yes' });
    expect([forged.status, choices(forged)]).toEqual([400, []]);
    expect(await tidOf((await agent.follow(await agent.submit(found, { choice: chosen }))).location)).toBe(tids[5]);
  });

  test('design §3: with different passwords the password decides', async () => {
    expect(await tidOf((await signIn(new Agent(), url(), 'erin', 'the password in Acme')).location)).toBe(acme);
    expect(await tidOf((await signIn(new Agent(), url(), 'erin', 'the password in Globex')).location)).toBe(globex);
  });

  test('design §3: `tenant:` decides, and the other organisation does not come up', async () => {
    const { location } = await signIn(new Agent(), url({ acr_values: `tenant:${globex}` }), 'dave', 'the password of both');
    expect(await tidOf(location)).toBe(globex);
    const refused = await signIn(new Agent(), url({ acr_values: `tenant:${globex}` }), 'erin', 'the password in Acme');
    expect([refused.status, refused.location]).toEqual([400, undefined]);
  });

  test('pages §3.2: who is signed in and not in the organisation that `tenant:` names is told so; a stranger, and a member, are not', async () => {
    const asked = url({ acr_values: `tenant:${acme}` });
    const { agent } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    const told = 'You are signed in as bob@globex.test and don’t have access to Acme.';
    expect((await agent.follow(await agent.get(asked))).body).toContain(told);
    const stranger = new Agent();
    expect((await stranger.follow(await stranger.get(asked))).body).not.toContain('have access');
    const { agent: member } = await obtainTokens(service.issuer, { userName: 'alice@acme.test', password: 'alice' });
    const again = url({ acr_values: `tenant:${acme}`, prompt: 'login' });
    expect((await member.follow(await member.get(again))).body).not.toContain('have access');
  });

  test('design §3: the tenants of the client decide, and `tenant:` cannot widen them', async () => {
    await service.idp.directory.clients.update('spa', { allowedTenants: [acme] });
    const { location } = await signIn(new Agent(), url({ client_id: 'spa' }), 'dave', 'the password of both');
    expect(location).toContain('code=');
    const other = await signIn(new Agent(), url({ client_id: 'spa', acr_values: `tenant:${globex}` }), 'dave', 'the password of both');
    expect(other.location ?? '').not.toContain('code=');
    const { agent } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    expect((await agent.get(url({ client_id: 'spa', prompt: 'none' }))).location).toContain('error=login_required');
  });

  test('design §3: nobody chooses an account whose password they did not give', async () => {
    const agent = new Agent();
    const page = await signIn(agent, url(), 'dave', 'the password of both');
    const [own] = choices(page);
    const bob = (await service.idp.directory.accounts.candidates('bob@globex.test'))[0]?.person.user.id;
    const [oid, at, token] = own?.value.split('.') ?? [];
    const forged = [
      `${bob}.${at}.${token}`,
      `${oid}.${Number(at) + 1}.${token}`,
      `${oid}.x.${token}`,
      `${oid}.${at}`,
      `${bob}.`,
      `${bob}`,
      '',
    ];
    for (const choice of forged) {
      const answer = await agent.submit(page, { choice });
      expect([answer.status, answer.location]).toEqual([400, undefined]);
    }
  });

  test('design §3: a choice is good in its own sign-in only', async () => {
    const agent = new Agent();
    const first = await signIn(agent, url(), 'dave', 'the password of both');
    const [choice] = choices(first);
    const other = await begin(agent);
    const answer = await agent.post(`${other.url}/organisation`, { csrf: formOf(other).fields.csrf ?? '', choice: choice?.value ?? '' });
    expect([answer.status, answer.location]).toEqual([400, undefined]);
  });
});
