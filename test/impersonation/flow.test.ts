/** Service specification 4.2, 2.3: impersonation by the pages that operators use. Threat G8. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { IdpEvent } from 'tenant-idp';
import { type Answer, formOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { introspect, refresh, userinfo } from '../support/client/steps.js';
import { postLogoutRedirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, textOf, valueFor } from '../support/sign-in/impersonating.js';
import { until } from '../support/time/until.js';

const service = useIdp(operatorOptions);
const events: IdpEvent[] = [];
let support: ReturnType<typeof impersonatingAt>;
beforeAll(() => {
  support = impersonatingAt(service);
  for (const name of ['ImpersonationStarted', 'ImpersonationEnded'] as const)
    service.idp.events.on(name, (event) => void events.push(event));
});
const known = async (name: string) => {
  const [account] = await service.idp.directory.accounts.candidates(name);
  const { id: oid = '', parentUserId: sub = oid } = account?.person.user ?? {};
  return { oid, sub, tid: account?.tenant.id ?? '' };
};
/** Returns a page without the parts that differ between sign-ins. */
const comparable = ({ body, url }: Answer): string =>
  body
    .replaceAll(new URL(url).pathname.split('/').at(-1) ?? '', 'UID')
    .replace(/name="csrf" value="[^"]*"/g, '')
    .replace(/(name="after" value=")[^"]*/g, '$1')
    .replace(/nonce[-=]"?[^"' ]*/g, '');

describe('specification 4.2', () => {
  test('impersonate in acr_values triggers the impersonation flow', async () => {
    const { page } = await support.chooser();
    expect([page.status, textOf(page)]).toEqual([200, expect.stringContaining('Act as somebody else')]);
    const { response } = await support.act('carol@acme.test');
    expect(decodeJwt((await support.redeem(response)).id_token).sub).toBe((await known('carol@acme.test')).oid);
  });

  test('amr imp is additional to how the operator signed in', async () => {
    const { response } = await support.act('carol@acme.test');
    expect(decodeJwt((await support.redeem(response)).id_token)).toMatchObject({ amr: ['pwd', 'imp'], idp: 'local' });
  });

  test('act is a JSON object with oid, sub and tid of the impersonating user, all three always', async () => {
    const act = await known('otto@acme.test');
    const tokens = await support.redeem((await support.act('carol@acme.test')).response);
    expect(decodeJwt(tokens.id_token).act).toEqual(act);
    expect((await introspect(service.issuer, tokens.access_token)).json.act).toEqual(act);
    expect((await userinfo(service.issuer, tokens.access_token)).json.act).toEqual(act);
    // An operator who impersonates by a linked account: `act` names that account, with the `sub` that linked accounts share.
    const linked = await known('olga@globex.test');
    expect(linked.sub).not.toBe(linked.oid);
    const { response } = await support.act('bob@globex.test', { operator: 'olga@acme.test' });
    expect(decodeJwt((await support.redeem(response)).id_token)).toMatchObject({ tid: linked.tid, act: linked });
  });
});

describe('issue 15: how it begins', () => {
  test('prompt=none is interaction_required', async () => {
    const { agent } = await support.chooser();
    expect(membersOf(await support.silently(agent, { acr_values: 'impersonate' }))).toMatchObject({ error: 'interaction_required' });
  });

  test('nothing begins that would be refused once somebody acts: prompt=consent', async () => {
    const { agent } = await support.chooser();
    const answer = await agent.follow(await agent.get(support.url({ acr_values: 'impersonate', prompt: 'consent' })));
    expect(membersOf(answer)).toMatchObject({ error: 'access_denied' });
  });

  test('who holds the permission in no tenant that may sign in is denied', async () => {
    for (const [operator, parameters] of [
      ['carol@acme.test', {}],
      ['otto@acme.test', { acr_values: `impersonate tenant:${(await known('otto@acme.test')).tid}` }],
      ['olga@acme.test', { acr_values: `impersonate tenant:${(await known('olga@acme.test')).tid}` }],
    ] as const) {
      const { page } = await support.chooser(operator, parameters);
      const error = page.location === undefined ? undefined : membersOf(page).error;
      expect([operator, error]).toEqual([operator, operator.startsWith('otto') ? undefined : 'access_denied']);
    }
  });

  test('people are found by name, user name or e-mail, in the tenants of the permission alone, and none who is privileged', async () => {
    const { agent, page } = await support.chooser();
    const found = async (query: string) => textOf(await agent.submit(page, { step: 'who', query }));
    for (const query of ['carol', 'CAROL@acme.test', 'Carol Cl']) expect(await found(query)).toContain('Carol Clark');
    for (const query of ['bob', 'bob@globex.test', 'admin@acme.test', 'second@acme.test', 'otto', 'no such person', 'x'.repeat(200)])
      expect(await found(query)).toContain('We found nobody');
  });

  test('a name, user name or address of the maximum length finds its user, and a longer text nobody', async () => {
    const { tid } = await known('otto@acme.test');
    const { persons, users } = service.idp.tenant(tid);
    const domain = (length: number) =>
      `${'d'.repeat(63)}.`
        .repeat(4)
        .slice(0, length - 5)
        .replace(/\.$/, 'd')
        .concat('.test');
    const email = `${'long'.repeat(16)}@${domain(254 - 65)}`;
    const names = { givenName: `Longest ${'x'.repeat(192)}`, familyName: 'y'.repeat(200) };
    const userName = 'u'.repeat(256);
    const { user } = await persons.create({ ...names, email, user: { userName } });
    await users.activate(user?.id ?? '');
    const { agent, page } = await support.chooser();
    for (const query of [email, userName, `${names.givenName} ${names.familyName}`]) {
      const answer = await agent.submit(page, { step: 'who', query });
      expect([query.length, valueFor(answer, userName)]).toEqual([query.length, user?.id]);
    }
    const tooLong = await agent.submit(page, { step: 'who', query: 'x'.repeat(402) });
    expect([tooLong.status, textOf(tooLong)]).toEqual([400, expect.stringContaining('Enter at most 401 characters.')]);
  });

  test('the list goes on page by page, as it was searched', async () => {
    const { tid } = await known('otto@acme.test');
    const { persons } = service.idp.tenant(tid);
    for (let number = 10; number < 25; number += 1)
      await persons.create({ givenName: 'Many', familyName: `P${number}`, user: { userName: `many${number}` } });
    const all = await service.idp.tenant(tid).users.list({ name: 'Many', limit: 50 });
    for (const { user } of all.items) await service.idp.tenant(tid).users.activate(user.id);
    const { agent, page } = await support.chooser();
    const first = await agent.submit(page, { step: 'who', query: 'many' });
    const next = /name="after"[^>]*value="([^"]*)"|value="([^"]*)"[^>]*name="after"/.exec(first.body);
    const second = await agent.submit(first, { after: next?.[1] ?? next?.[2] ?? '', query: 'edited meanwhile' });
    const names = (answer: Answer) => [...new Set(answer.body.match(/many\d\d/g))];
    expect([names(first).length, names(second).length]).toEqual([10, 5]);
    expect(new Set([...names(first), ...names(second)]).size).toBe(15);
    // A value that is no cursor leads to the first page.
    expect(names(await agent.submit(first, { after: 'nonsense' }))).toEqual(names(first));
  });

  test('impersonate:<user id> only preselects: nothing starts without the posted reason', async () => {
    const { oid } = await known('carol@acme.test');
    const before = events.length;
    const { agent, page } = await support.chooser('otto@acme.test', { acr_values: `impersonate:${oid}` });
    expect(textOf(page)).toContain('Act as Carol Clark');
    expect(await support.now(agent)).not.toHaveProperty('act');
    const empty = await agent.submit(page, { step: 'start', reason: ' ' });
    expect([empty.status, textOf(empty)]).toEqual([400, expect.stringContaining('Give a reason')]);
    expect(events.length).toBe(before);
    const response = await agent.follow(await agent.submit(page, { step: 'start', reason: 'Ticket 1' }));
    expect(decodeJwt((await support.redeem(response)).id_token)).toMatchObject({ sub: oid });
  });

  test('a pairwise client names users by its own pseudonyms', async () => {
    const parameters = { client_id: 'pairwise', acr_values: 'impersonate' };
    const first = await support.act('carol@acme.test', { parameters });
    const { sub } = decodeJwt((await support.redeem(first.response, 'pairwise')).id_token);
    const { oid } = await known('carol@acme.test');
    expect(sub).not.toBe(oid);
    const titles = async (id: string | undefined) =>
      textOf((await support.chooser('otto@acme.test', { ...parameters, acr_values: `impersonate:${id}` })).page);
    expect(await titles(sub)).toContain('Act as Carol Clark');
    expect(await titles(oid)).toContain('Act as somebody else');
  });

  test('G8: a crafted id of nobody, of another tenant or of who is privileged gives the bytes of an absent one', async () => {
    const ids = await Promise.all(['bob@globex.test', 'admin@acme.test', 'second@acme.test', 'otto@acme.test'].map(known));
    const absent = comparable((await support.chooser()).page);
    for (const id of [...ids.map(({ oid }) => oid), '00000000-0000-4000-8000-000000000000', '<b>', '%00'])
      expect(comparable((await support.chooser('otto@acme.test', { acr_values: `impersonate:${id}` })).page)).toBe(absent);
  });

  test('a reason is required, bounded and of one line, and is kept as it was meant', async () => {
    const { agent, page } = await support.chooser();
    const why = await support.choose(agent, page, 'carol@acme.test');
    for (const [fields, problem] of [
      [{ reason: '', minutes: '5' }, 'Give a reason'],
      [{ reason: 'x'.repeat(501), minutes: '5' }, 'Give a reason'],
      [{ reason: '\u200b\u3164\u2800', minutes: '5' }, 'Give a reason'],
      [{ reason: 'lost\ufffdletter', minutes: '5' }, 'Give a reason'],
      [{ reason: 'Ticket "1" <b>', minutes: '31' }, 'whole minutes'],
      [{ reason: 'Ticket "1" <b>', minutes: '0' }, 'whole minutes'],
      [{ reason: 'Ticket "1" <b>', minutes: '1e1' }, 'whole minutes'],
    ] as const) {
      const again = await agent.submit(why, { step: 'start', ...fields });
      expect([again.status, textOf(again)]).toEqual([400, expect.stringContaining(problem)]);
      expect(formOf(again).fields).toMatchObject({
        minutes: fields.minutes,
        ...(fields.reason.startsWith('\u200b') ? {} : { reason: fields.reason }),
      });
    }
    const response = await agent.follow(await agent.submit(why, { step: 'start', reason: '\u200bTicket\n"1" <b>\u00a0', minutes: ' ５' }));
    const { id_token: token } = await support.redeem(response);
    expect(decodeJwt(token)).toHaveProperty('act');
    const started = await until(
      () => events.findLast(({ type }) => type === 'ImpersonationStarted'),
      (event) => event?.data && 'Reason' in event.data && event.data.Reason === 'Ticket "1" <b>',
    );
    const { StartedAt = '', EndsAt = '' } = (started?.data ?? {}) as { StartedAt?: string; EndsAt?: string };
    expect(Date.parse(EndsAt) - Date.parse(StartedAt)).toBe(300_000);
  });

  test('the event has both identities, the reason, the client and the times', async () => {
    const [operator, target] = await Promise.all([known('otto@acme.test'), known('carol@acme.test')]);
    await support.act('carol@acme.test', { reason: 'All of it' });
    const event = await until(() => events.find(({ data }) => 'Reason' in data && data.Reason === 'All of it'));
    expect(event).toMatchObject({
      type: 'ImpersonationStarted',
      subject: target.oid,
      tid: target.tid,
      actor: `user:${operator.oid}`,
      requestid: expect.any(String),
      data: {
        AggregateId: target.oid,
        OperatorId: operator.oid,
        OperatorSub: operator.sub,
        OperatorTenantId: operator.tid,
        ClientId: 'web',
        StartedAt: expect.any(String),
        EndsAt: expect.any(String),
      },
    });
  });

  test('G1: a form without its token starts nothing, and a GET never does', async () => {
    const { agent, page } = await support.chooser();
    const why = await support.choose(agent, page, 'carol@acme.test');
    const { action, fields } = formOf(why);
    const form = { ...fields, step: 'start', reason: 'forged' };
    expect((await agent.post(action, { ...form, csrf: 'x' })).status).toBe(403);
    expect((await agent.get(`${action}?${new URLSearchParams(form)}`)).status).toBe(405);
    expect(await support.now(agent)).not.toHaveProperty('act');
    expect(events.some(({ data }) => 'Reason' in data && data.Reason === 'forged')).toBe(false);
  });

  test('a form that is posted twice at once starts it once', async () => {
    const { agent, page } = await support.chooser();
    const why = await support.choose(agent, page, 'carol@acme.test');
    const both = await Promise.all([1, 2].map(() => agent.submit(why, { step: 'start', reason: 'Twice' })));
    const answers: Answer[] = [];
    for (const answer of both) if (answer.status === 303) answers.push(await agent.follow(answer));
    expect(answers.filter(({ location }) => location && new URL(location).searchParams.has('code')).length).toBeGreaterThan(0);
    expect(await support.now(agent)).toHaveProperty('act');
    await until(() => events.some(({ data }) => 'Reason' in data && data.Reason === 'Twice'));
    await support.end(agent);
    await until(() => events.some(({ type, data }) => type === 'ImpersonationEnded' && 'Reason' in data && data.Reason === 'Twice'));
    expect(events.filter(({ data }) => 'Reason' in data && data.Reason === 'Twice').map(({ type }) => type)).toEqual([
      'ImpersonationStarted',
      'ImpersonationEnded',
    ]);
  });
});

describe('issue 15: while it lasts', () => {
  test('it is not nested: impersonate is met, another user is refused', async () => {
    const { agent } = await support.act('carol@acme.test');
    const [carol, alice] = await Promise.all(['carol@acme.test', 'alice@acme.test'].map(known));
    for (const [acr, outcome] of [
      ['impersonate', 'code'],
      [`impersonate:${carol?.oid}`, 'code'],
      [`impersonate:${alice?.oid}`, 'error'],
    ] as const)
      expect([acr, outcome in membersOf(await support.silently(agent, { acr_values: acr }))]).toEqual([acr, true]);
    expect(membersOf(await support.silently(agent, { acr_values: `impersonate:${alice?.oid}` }))).toMatchObject({ error: 'access_denied' });
  });

  test('there is no refresh token, and exp of every token is at most the end', async () => {
    const scope = 'openid offline_access profile';
    const { response } = await support.act('carol@acme.test', { parameters: { scope }, minutes: '1' });
    const end = Math.ceil(Date.now() / 1000) + 60;
    const tokens = await support.redeem(response);
    expect(tokens).not.toHaveProperty('refresh_token');
    expect((await refresh(service.issuer, tokens.access_token)).json).toMatchObject({ error: 'invalid_grant' });
    expect(decodeJwt(tokens.id_token).exp).toBeLessThanOrEqual(end);
    expect((await introspect(service.issuer, tokens.access_token)).json.exp).toBeLessThanOrEqual(end);
  });

  test('a second tab of the operator starts no other one', async () => {
    const { agent, page } = await support.chooser();
    const tab = await support.choose(agent, page, 'carol@acme.test');
    await support.act('alice@acme.test', { agent });
    const before = events.length;
    const answer = await agent.follow(await agent.submit(tab, { step: 'start', reason: 'from the other tab' }));
    expect(membersOf(await agent.follow(await agent.get(page.url))).code).toBeDefined();
    expect(decodeJwt((await support.redeem(await support.silently(agent))).id_token).sub).toBe((await known('alice@acme.test')).oid);
    expect(textOf(answer)).toContain('Otto Test acts as Alice Adams');
    expect(events.slice(before).some(({ data }) => 'Reason' in data && data.Reason === 'from the other tab')).toBe(false);
  });

  test('one page says who acts as whom until when, and ends it by a posted form', async () => {
    const { agent } = await support.chooser();
    const self = await support.now(agent);
    const { response } = await support.act('carol@acme.test', { agent });
    const tokens = await support.redeem(response);
    const page = await agent.get(`${service.issuer}/idp/impersonation`);
    expect(textOf(page)).toContain('Otto Test acts as Carol Clark (carol@acme.test) of Acme.');
    expect((await agent.post(page.url, { csrf: 'x' })).status).toBe(403);
    expect(await support.now(agent)).toHaveProperty('act');
    await agent.submit(page, {});
    expect(await support.now(agent)).toMatchObject({ sub: self.sub });
    expect(await support.now(agent)).not.toHaveProperty('act');
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect(textOf(await agent.get(`${service.issuer}/idp/impersonation`))).toContain('You are acting as yourself');
  });

  test('the end leads back to addresses that the client registered, and to no other', async () => {
    const { agent } = await support.act('carol@acme.test');
    const asked = (client: string, to: string) =>
      agent.get(`${service.issuer}/idp/impersonation?${new URLSearchParams({ client_id: client, return_to: to })}`);
    for (const to of [
      'https://evil.test/',
      'javascript:alert(1)',
      '//evil.test',
      'http://127.0.0.1:9@evil.test/',
      'http://user:pass@127.0.0.1:9/',
      'http://127.0.0.1:90/',
    ])
      expect(formOf(await asked('web', to)).fields).not.toHaveProperty('return_to');
    expect(formOf(await asked('nobody', postLogoutRedirectUri)).fields).not.toHaveProperty('return_to');
    const page = await asked('web', 'http://127.0.0.1:9/page?x=1');
    expect((await agent.submit(page, { return_to: 'https://evil.test/' })).location).toBe(`${service.issuer}/idp/impersonation?ended=web`);
    const { agent: other } = await support.act('carol@acme.test');
    const own = await other.get(
      `${service.issuer}/idp/impersonation?${new URLSearchParams({ client_id: 'web', return_to: postLogoutRedirectUri })}`,
    );
    expect((await other.submit(own, {})).location).toBe(postLogoutRedirectUri);
  });

  test('session_state changes at start and end', async () => {
    const { agent } = await support.chooser();
    const state = async () => membersOf(await support.silently(agent)).session_state?.split('.')[0];
    const states = [await state()];
    await support.act('carol@acme.test', { agent });
    states.push(await state());
    await support.end(agent);
    states.push(await state());
    expect(new Set(states).size).toBe(3);
  });
});

test('the person of several tenants chooses one first', async () => {
  const { users, groups } = service.idp.tenant((await known('olga@acme.test')).tid);
  const group = await groups.findByName('Support');
  const { oid } = await known('olga@acme.test');
  await users.setGroups(oid, { ids: [group?.id ?? ''] });
  const { agent, page } = await support.chooser('olga@acme.test');
  expect(textOf(page)).toContain('Choose an organisation');
  const { tid } = await known('bob@globex.test');
  const inGlobex = await agent.submit(page, { tid });
  expect(valueFor(inGlobex, 'bob@globex.test')).toBeDefined();
  expect(valueFor(inGlobex, 'carol@acme.test')).toBeUndefined();
  await users.setGroups(oid, { ids: [] });
});
