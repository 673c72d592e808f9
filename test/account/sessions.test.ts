/** Issue 46: on their account page, users see where they are signed in, and end one sign-in or all others. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { IdpEvent, UserSession } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { isActive, refresh } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, textOf } from '../support/sign-in/impersonating.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const firefox = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'x-forwarded-for': '203.0.113.7',
};
const safari = {
  'user-agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
  'x-forwarded-for': '2001:db8:1:2::7',
};

interface Entry {
  readonly id: string;
  readonly title: string;
  readonly badge: string;
  readonly lines: readonly string[];
  /** Name of the button for screen readers. */
  readonly button: string;
}

const plain = (markup = ''): string => markup.replaceAll(/<[^>]+>/g, '').trim();
const entriesOf = ({ body }: Answer): readonly Entry[] =>
  [...body.matchAll(/<li class="account entry">([\s\S]*?)<\/li>/g)].map(([, entry = '']) => ({
    id: /name="session" value="([^"]+)"/.exec(entry)?.[1] ?? '',
    title: plain(/<strong>([\s\S]*?)<\/strong>/.exec(entry)?.[1]),
    badge: plain(/<span class="badge">([\s\S]*?)<\/span>/.exec(entry)?.[1]),
    lines: [...entry.matchAll(/<span>([\s\S]*?)<\/span>/g)].map(([, line]) => plain(line)),
    button: /aria-label="([^"]+)"/.exec(entry)?.[1] ?? '',
  }));

const pageAt = (issuer: string) => `${issuer}/idp/account/sessions`;
const openedBy = async (agent: Agent, issuer: string) => agent.follow(await agent.get(pageAt(issuer)));
const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const silentBy = async (agent: Agent, issuer: string, more: Record<string, string> = {}) =>
  membersOf(await agent.get(authorizeUrl(issuer, { ...challenge, prompt: 'none', ...more })));

const artifacts = memoryArtifacts();
const service = useIdp({ ...operatorOptions, artifacts, trustProxy: 1 });
const events: IdpEvent<'SessionEnded' | 'UserSignedOut' | 'ImpersonationEnded'>[] = [];
let number = 0;
let me: { readonly userName: string; readonly tid: string; readonly oid: string };

beforeAll(() => {
  for (const name of ['SessionEnded', 'UserSignedOut', 'ImpersonationEnded'] as const)
    service.idp.events.on(name, (event) => void events.push(event));
});
beforeEach(async () => {
  events.length = 0;
  const tid = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
  number += 1;
  const userName = `sessions-${number}@acme.test`;
  const { user } = await service.idp
    .tenant(tid)
    .persons.create({ givenName: 'S', familyName: 'S', email: userName, user: { userName, emailVerified: true, status: 'active' } });
  me = { userName, tid, oid: user?.id ?? '' };
  await service.idp.directory.credentials.seedPassword(me.oid, 'mine');
});

const signedIn = (headers: Record<string, string>, more: Record<string, string> = {}) =>
  obtainTokens(service.issuer, {
    agent: new Agent({ ...headers }),
    userName: me.userName,
    password: 'mine',
    scope: 'openid offline_access',
    ...more,
  });
const listed = () => service.idp.sessions.list({ tid: me.tid, userId: me.oid });

describe('the page', () => {
  test('has this browser first, in words from the table, and never what the header says', async () => {
    const { agent } = await signedIn(firefox);
    passTime(60);
    await signedIn(safari);
    passTime(120);
    await signedIn({ 'user-agent': '<b>Firefox</b> (curl)' });
    try {
      const page = await openedBy(agent, service.issuer);
      const [here, program, phone, ...more] = entriesOf(page);
      expect([page.status, titleOf(page), more]).toEqual([200, 'Sessions', []]);
      expect(here).toMatchObject({
        title: 'Firefox on Windows',
        badge: 'This browser',
        button: expect.stringMatching(/^Sign out: Firefox, signed in on .+ \(UTC\)$/),
      });
      expect([program?.badge, phone?.badge]).toEqual(['', '']);
      expect(here?.lines).toEqual([
        expect.stringMatching(/^Signed in on .+ \(UTC\)$/),
        'IP address 203.0.113.0/24',
        'Applications: Web shop',
      ]);
      expect(program).toMatchObject({ title: 'Unknown browser', lines: expect.arrayContaining(['IP address 127.0.0.0/24']) });
      expect(phone).toMatchObject({
        title: 'Safari on iOS',
        lines: expect.arrayContaining([
          expect.stringMatching(/^Last used (1 minute ago|now)$/),
          'IP address 2001:db8:1::/48',
          'Applications: Web shop',
        ]),
      });
      for (const word of ['Mozilla', 'Gecko', 'curl', '203.0.113.7', 'account:sessions', service.issuer.split('//')[1] ?? '?'])
        expect(textOf(page)).not.toContain(word);
    } finally {
      backToPresent();
    }
  });

  test.each(['en', 'nb', 'sv', 'da', 'fi', 'de'])('is complete in the language %s', async (language) => {
    const { agent } = await signedIn({ ...firefox, 'accept-language': language });
    await signedIn(safari);
    const page = await openedBy(agent, service.issuer);
    expect([page.status, entriesOf(page).length]).toEqual([200, 2]);
    expect(textOf(page)).not.toMatch(/[{}]|account\./);
  });

  test('says when no other browser is signed in, and what the button ends then', async () => {
    const { agent } = await signedIn(firefox);
    const page = await openedBy(agent, service.issuer);
    expect(textOf(page)).toContain('No other browser is signed in. “Sign out everywhere else” also ends access');
    expect(page.body).toContain('name="others"');
  });

  test('is in the account page', async () => {
    const { agent } = await signedIn(firefox);
    expect((await agent.follow(await agent.get(`${service.issuer}/idp/account`))).body).toContain(`href="${pageAt(service.issuer)}"`);
  });
});

describe('what is stored', () => {
  test('is neither the header nor the whole address, and 40 bytes of the session at most', async () => {
    await signedIn(firefox);
    const [session] = (await artifacts.listByAccount(me.oid)).filter(({ key }) => key.startsWith('Session'));
    const { b, y, d, ...others } = JSON.parse(session?.value ?? '{}');
    expect([b, y, d]).toEqual(['fx', 'wi', '203.0.113.0/24']);
    expect((session?.value.length ?? 0) - JSON.stringify(others).length).toBeLessThanOrEqual(40);
  });

  test('is what the option allows', async () => {
    for (const [address, shown] of [
      ['full', '203.0.113.7'],
      ['none', undefined],
    ] as const) {
      const other = await startIdp({ trustProxy: 1, sessions: { address } });
      await obtainTokens(other.issuer, { agent: new Agent(firefox) });
      const [account] = await other.idp.directory.accounts.candidates('alice@acme.test');
      const [session] = await other.idp.sessions.list({ tid: account?.tenant.id ?? '', userId: account?.person.user.id ?? '' });
      expect(session).toMatchObject({ browser: 'Firefox', system: 'Windows' });
      expect(session?.address).toBe(shown);
      await other.close();
    }
  });

  test('changes with the next sign-in of the session', async () => {
    const { agent } = await signedIn(firefox);
    Object.assign(agent.headers, safari);
    await signIn(agent, authorizeUrl(service.issuer, { ...challenge, prompt: 'login' }), me.userName, 'mine');
    expect(await listed()).toEqual([expect.objectContaining({ browser: 'Safari', system: 'iOS', address: '2001:db8:1::/48' })]);
  });

  test('includes the last use, until the end of the session limits it', async () => {
    const { agent } = await signedIn(firefox);
    const [{ signedInAt } = { signedInAt: new Date() }] = await listed();
    const usedAfter = async (seconds: number) => {
      passTime(seconds);
      await silentBy(agent, service.issuer);
      const [session] = await listed();
      return session?.lastUsedAt && Math.round((session.lastUsedAt.getTime() - signedInAt.getTime()) / 60_000);
    };
    try {
      expect(await usedAfter(0)).toBe(0);
      expect(await usedAfter(1800)).toBe(30);
      passTime(2400);
      expect((await listed())[0]?.lastUsedAt?.getTime()).toBeLessThan(signedInAt.getTime() + 1_860_000);
      for (let hours = 1; hours <= 11; hours += 0.5) await usedAfter(hours * 3600);
      expect(await usedAfter(11.5 * 3600)).toBeUndefined();
    } finally {
      backToPresent();
    }
  });
});

describe('the end', () => {
  test('of one sign-in ends its tokens and no other, and is on record', async () => {
    const [mine, other, third] = [await signedIn(firefox), await signedIn(safari), await signedIn({})];
    const page = await openedBy(mine.agent, service.issuer);
    const phone = entriesOf(page).find(({ title }) => title === 'Safari on iOS');
    const after = await mine.agent.follow(await mine.agent.submit(page, { session: phone?.id ?? '' }));
    expect([after.status, entriesOf(after).map(({ id }) => id)]).toEqual([
      200,
      entriesOf(page).flatMap(({ id }) => (id === phone?.id ? [] : id)),
    ]);
    expect(await Promise.all([mine, other, third].map(({ tokens }) => isActive(service.issuer, tokens.access_token)))).toEqual([
      true,
      false,
      true,
    ]);
    expect((await refresh(service.issuer, other.tokens.refresh_token)).json.error).toBe('invalid_grant');
    expect(await silentBy(other.agent, service.issuer)).toMatchObject({ error: 'login_required' });
    expect(await silentBy(mine.agent, service.issuer)).toMatchObject({ code: expect.any(String) });
    await until(() => events.length > 0);
    expect(events).toEqual([
      expect.objectContaining({
        type: 'SessionEnded',
        actor: `user:${me.oid}`,
        data: expect.objectContaining({ AggregateId: me.oid, SessionId: phone?.id }),
      }),
    ]);
    // The second tab sends the same form.
    const again = await mine.agent.follow(await mine.agent.submit(page, { session: phone?.id ?? '' }));
    expect([again.status, entriesOf(again).length]).toEqual([200, 2]);
  });

  test('of all others keeps this browser with its tokens, also at the second time', async () => {
    const mine = await signedIn(firefox);
    for (const headers of [safari, {}]) {
      const other = await signedIn(headers);
      passTime(2);
      const page = await openedBy(mine.agent, service.issuer);
      const after = await mine.agent.follow(await mine.agent.submit(page, { others: 'yes' }));
      expect(entriesOf(after).map(({ title }) => title)).toEqual(['Firefox on Windows']);
      expect(await Promise.all([mine, other].map(({ tokens }) => isActive(service.issuer, tokens.access_token)))).toEqual([true, false]);
      expect((await refresh(service.issuer, other.tokens.refresh_token)).json.error).toBe('invalid_grant');
    }
    backToPresent();
    expect(await silentBy(mine.agent, service.issuer)).toMatchObject({ code: expect.any(String) });
    const signedOut = () => events.filter(({ type }) => type === 'UserSignedOut');
    await until(() => signedOut().length === 2);
    expect(signedOut().map(({ actor }) => actor)).toEqual([`user:${me.oid}`, `user:${me.oid}`]);
  });

  test('of all others, by a form that is sent again, ends a sign-in that was made in between', async () => {
    const mine = await signedIn(firefox);
    await signedIn(safari);
    const page = await openedBy(mine.agent, service.issuer);
    passTime(2);
    await mine.agent.submit(page, { others: 'yes' });
    passTime(4);
    const between = await signedIn(safari);
    passTime(6);
    const again = await mine.agent.follow(await mine.agent.submit(page, { others: 'yes' }));
    expect(entriesOf(again).map(({ title }) => title)).toEqual(['Firefox on Windows']);
    expect(await Promise.all([mine, between].map(({ tokens }) => isActive(service.issuer, tokens.access_token)))).toEqual([true, false]);
    backToPresent();
  });

  test('of all others ends a refresh token that outlived its session, although no other session is left', async () => {
    const elsewhere = await signedIn(safari);
    passTime(2 * 3600);
    try {
      const { agent } = await signedIn(firefox);
      const page = await openedBy(agent, service.issuer);
      expect([entriesOf(page).length, await isActive(service.issuer, elsewhere.tokens.refresh_token)]).toEqual([1, true]);
      const [, others = ''] = /name="others" value="([^"]+)"/.exec(page.body) ?? [];
      expect((await agent.submit(page, { others })).status).toBe(303);
      expect(await isActive(service.issuer, elsewhere.tokens.refresh_token)).toBe(false);
      expect((await silentBy(agent, service.issuer)).error).toBeUndefined();
    } finally {
      backToPresent();
    }
  });

  test('of this one is a sign-out', async () => {
    const mine = await signedIn(firefox);
    const page = await openedBy(mine.agent, service.issuer);
    const after = await mine.agent.follow(await mine.agent.submit(page, { session: entriesOf(page)[0]?.id ?? '' }));
    expect(titleOf(after)).toBe('You are signed out');
    expect(await isActive(service.issuer, mine.tokens.access_token)).toBe(false);
    expect(await silentBy(mine.agent, service.issuer)).toMatchObject({ error: 'login_required' });
    expect(await listed()).toEqual([]);
  });

  test('needs no recent sign-in', async () => {
    const mine = await signedIn(firefox);
    passTime(1800);
    try {
      const other = await signedIn(safari);
      const page = await openedBy(mine.agent, service.issuer);
      const phone = entriesOf(page).find(({ title }) => title === 'Safari on iOS');
      await mine.agent.submit(page, { session: phone?.id ?? '' });
      expect(await isActive(service.issuer, other.tokens.access_token)).toBe(false);
    } finally {
      backToPresent();
    }
  });

  test('is refused for the session of another user, and for a form of another browser or sign-in', async () => {
    const [mine, other] = [await signedIn(firefox), await signedIn(safari)];
    const carol = await obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol' });
    const [hers] = entriesOf(await openedBy(carol.agent, service.issuer));
    const page = await openedBy(mine.agent, service.issuer);
    await mine.agent.submit(page, { session: hers?.id ?? '' });
    const theirs = await openedBy(other.agent, service.issuer);
    const refused = [
      await mine.agent.submit(page, { others: 'yes', csrf: 'x' }),
      await mine.agent.post(pageAt(service.issuer), { ...formOf(theirs).fields, others: 'yes' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403]);
    for (const { tokens } of [mine, other, carol]) expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
  });
});

describe('linked accounts', () => {
  test('a child account sees and ends what is its own, and the parent account the same', async () => {
    const globex = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
    const { user } = await service.idp
      .tenant(globex)
      .persons.create({ givenName: 'C', familyName: 'C', user: { userName: `child-${number}@globex.test`, status: 'active' } });
    const child = user?.id ?? '';
    await service.idp.tenant(globex).linking.link(child, { tid: me.tid, userId: me.oid });
    const asChild = { acr_values: `tenant:${globex}` };
    const [parent, mine, other] = [
      await signedIn(firefox, { acr_values: `tenant:${me.tid}` }),
      await signedIn(firefox, asChild),
      await signedIn(safari, asChild),
    ];
    const idsOf = async (agent: Agent) => entriesOf(await openedBy(agent, service.issuer)).map(({ id }) => id);
    const [ofParent, ofChild] = [await idsOf(parent.agent), await idsOf(mine.agent)];
    expect([ofParent.length, ofChild.length]).toEqual([1, 2]);
    const page = await openedBy(mine.agent, service.issuer);
    await mine.agent.submit(page, { session: ofParent[0] ?? '' });
    await mine.agent.submit(page, { others: 'yes' });
    expect(await Promise.all([parent, mine, other].map(({ tokens }) => isActive(service.issuer, tokens.access_token)))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('a session lists the applications of the account that it has now', async () => {
    const globex = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
    const { agent } = await obtainTokens(service.issuer, { agent: new Agent(firefox), acr_values: `tenant:${me.tid}` });
    const [account] = await service.idp.directory.accounts.candidates('alice@globex.test');
    const url = authorizeUrl(service.issuer, { ...challenge, client_id: 'spa', acr_values: `tenant:${globex}` });
    const choice = await agent.follow(await agent.get(url));
    const answer = await agent.follow(await agent.submit(choice, { choice: account?.person.user.id ?? '' }));
    expect(membersOf(answer)).toMatchObject({ code: expect.any(String) });
    const sessions = await service.idp.sessions.list({ tid: globex, userId: account?.person.user.id ?? '' });
    expect(sessions.map(({ clientIds }) => clientIds)).toEqual([['spa']]);
  });
});

describe('impersonation', () => {
  test('the user sees it without the support agent, and ends it; the support agent does not get the page', async () => {
    const mine = await signedIn(firefox);
    const support = impersonatingAt(service);
    const { agent, response } = await support.act(me.userName, { reason: 'sessions' });
    const { access_token: token } = await support.redeem(response);
    const refused = await agent.follow(await agent.get(pageAt(service.issuer)));
    expect([refused.status, entriesOf(refused)]).toEqual([403, []]);
    const page = await openedBy(mine.agent, service.issuer);
    const [, acting] = entriesOf(page);
    expect(acting?.title).toBe('Support, signed in as you');
    expect(acting?.lines.filter((line) => /IP address|Last used/.test(line))).toEqual([]);
    expect(textOf(page)).not.toMatch(/otto/i);
    await mine.agent.submit(page, { session: acting?.id ?? '' });
    expect(await isActive(service.issuer, token)).toBe(false);
    await until(() => events.some(({ type }) => type === 'ImpersonationEnded'));
    expect(await support.now(agent)).not.toHaveProperty('act');
  });

  test('the export of the user has no address of the support agent', async () => {
    await signedIn(firefox);
    await impersonatingAt(service).act(me.userName, { reason: 'export' });
    const { persons } = service.idp.tenant(me.tid);
    const person = (await service.idp.directory.accounts.findByOid(me.oid))?.person.id ?? '';
    const { sessions = [] } = JSON.parse(JSON.stringify(await persons.export(person))).others as { sessions?: readonly UserSession[] };
    expect(sessions.filter(({ act }) => act).map(({ browser, address }) => [browser, address])).toEqual([[undefined, undefined]]);
    expect(sessions.filter(({ act }) => !act)).toEqual([expect.objectContaining({ browser: 'Firefox', address: '203.0.113.0/24' })]);
  });
});
