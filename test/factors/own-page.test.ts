/** Factors of a user: their own page, the help desk, and the removal with the user, the person and the tenant. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { adminClient, adminScopes, adminToken } from '../support/administration/admin.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { refresh } from '../support/client/steps.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied, enrol, namedPeople, problemOf, submit } from '../support/sign-in/factors.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const names = Array.from({ length: 16 }, (_, index) => `person${index}`);
const [acme, globex] = testSeed.tenants;
const rows = memoryDirectory();
const service = useIdp({
  directory: rows,
  seed: {
    ...testSeed,
    permissions: [...testSeed.permissions, ...adminScopes.map((id) => ({ id, name: id }))],
    tenants: [
      {
        ...acme,
        groups: [
          ...(acme && 'groups' in acme ? acme.groups : []),
          { name: 'Administrators', permissions: ['idp.users:write', 'idp.factors:write'] },
        ],
        persons: [
          ...(acme?.persons ?? []),
          ...namedPeople(names),
          {
            givenName: 'Root',
            familyName: 'R',
            email: 'root@acme.test',
            user: { userName: 'root@acme.test', devPassword: 'root', groups: ['Administrators'] },
          },
        ],
      },
      globex,
    ],
    clients: [
      ...testSeed.clients,
      adminClient('desk', ['Acme'], ['idp.factors:read', 'idp.factors:write']),
      adminClient('foreign', ['Globex'], ['idp.factors:read', 'idp.factors:write']),
      adminClient('all', ['*'], ['idp.factors:read', 'idp.factors:write']),
    ],
  } as never,
});

const heard: IdpEvent[] = [];
let tid: string;
beforeAll(async () => {
  tid = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
  for (const type of ['FactorAdded', 'FactorRemoved'] as const)
    service.idp.directory.events.on(type, async (event) => void heard.push(event));
});
/** Returns the events of a user, in the order of each row. Events of two rows at the same moment may come in either order. */
const eventsOf = async (oid: string, count: number): Promise<readonly unknown[]> => {
  const of = () => heard.filter(({ data }) => data.AggregateId === oid);
  await until(() => of().length >= count);
  return of().map(({ type, data, actor }) => [type, (data as { Kind?: string }).Kind, actor]);
};

let next = 0;
let me: string;
let oid: string;
beforeEach(async () => {
  me = names[next++] ?? '';
  oid = (await service.idp.directory.accounts.candidates(me))[0]?.person.user.id ?? '';
  passTime(0);
});
afterEach(backToPresent);

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const mfa = () => url({ acr_values: 'mfa' });
const page = () => `${service.issuer}/idp/factors`;
const press = async (agent: Agent, on: Answer, name: string, value: string) => submit(agent, on, { [name]: value });
const idOf = ({ body }: Answer): string => /name="remove(?:d)?" value="([^"]+)"/.exec(body)?.[1] ?? '';
const withApp = async (agent = new Agent()) => {
  const made = await enrol(agent, mfa(), me, me);
  passTime(60);
  return { agent, ...made };
};

describe('the page of a person', () => {
  test('asks for a sign-in first; then an app is added, with recovery codes, and is a factor from the next sign-in on', async () => {
    const agent = new Agent();
    const first = await agent.follow(await agent.get(page()));
    const list = await submit(agent, await submit(agent, first, { identifier: me }), { password: me });
    expect([titleOf(list), list.url]).toEqual(['Second factor and passkeys', page()]);
    passTime(5);
    const setUp = await press(agent, list, 'add', 'app');
    const [secret = ''] = copied(setUp);
    expect(problemOf(await submit(agent, setUp, { code: '12' }))).toMatch(/^That code is not right/);
    const codes = await submit(agent, setUp, { code: codeOf(secret) });
    expect(copied(codes)).toHaveLength(10);
    expect((await agent.get(page())).body).toContain('Authenticator app');
    expect((await eventsOf(oid, 2)).toSorted()).toEqual([
      ['FactorAdded', 'recovery', `user:${oid}`],
      ['FactorAdded', 'totp', `user:${oid}`],
    ]);
    // The sign-in is older than the factor, and applications continue with the sign-in.
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
    passTime(60);
    expect(titleOf(await signIn(new Agent(), url(), me, me))).toBe('Confirm that it is you');
  });

  test('takes a sign-in of the last ten minutes, with the factor that is there', async () => {
    const { agent, secret } = await withApp();
    expect(titleOf(await agent.get(page()))).toBe('Second factor and passkeys');
    passTime(700);
    const again = await agent.follow(await agent.get(page()));
    const challenge = await submit(agent, again, { password: me });
    expect(titleOf(challenge)).toBe('Confirm that it is you');
    expect(titleOf(await submit(agent, challenge, { code: codeOf(secret) }))).toBe('Second factor and passkeys');
  });

  test('new recovery codes replace those from before', async () => {
    const { agent, codes: old } = await withApp();
    const shown = await press(agent, await agent.get(page()), 'add', 'codes');
    const fresh = copied(shown);
    expect(fresh.filter((code) => old.includes(code))).toEqual([]);
    const other = new Agent();
    const challenge = await signIn(other, mfa(), me, me);
    expect((await submit(other, challenge, { recovery: old[0] ?? '' })).status).toBe(400);
    expect(membersOf(await submit(other, challenge, { recovery: fresh[0] ?? '' }))).toHaveProperty('code');
  });

  test('a factor that is removed ends every other sign-in; this browser stays signed in, and the codes go with the last factor', async () => {
    const { agent } = await withApp();
    const { agent: elsewhere } = await (async () => {
      const other = new Agent();
      const challenge = await signIn(other, url({ scope: 'openid offline_access', acr_values: 'mfa' }), me, me);
      return { agent: other, challenge };
    })();
    const list = await agent.get(page());
    const confirm = await press(agent, list, 'remove', idOf(list));
    expect(titleOf(confirm)).toBe('Remove this factor?');
    passTime(65);
    const after = await press(agent, confirm, 'removed', idOf(confirm));
    expect([titleOf(after), after.body.includes('You have none yet')]).toEqual(['Second factor and passkeys', true]);
    expect(membersOf(await elsewhere.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
    expect((await eventsOf(oid, 4)).toSorted().slice(2)).toEqual([
      ['FactorRemoved', 'recovery', `user:${oid}`],
      ['FactorRemoved', 'totp', `user:${oid}`],
    ]);
  });

  test('G1: a form without its token changes nothing, and neither does one of another site', async () => {
    const { agent } = await withApp();
    const list = await agent.get(page());
    const refused = await agent.submit(list, { csrf: 'x', removed: idOf(list) });
    expect([refused.status, titleOf(refused)]).toEqual([403, 'Second factor and passkeys']);
    const stranger = await new Agent().post(formOf(list).action, { ...formOf(list).fields, removed: idOf(list) });
    expect(stranger.status).toBe(403);
    expect((await agent.get(page())).body).toContain('Authenticator app');
  });

  test('J1: two tabs that set an app up at the same time add one, and both show its recovery codes', async () => {
    const { agent } = await obtainTokens(service.issuer, { userName: me, password: me });
    const setUp = await agent.follow(await agent.get(`${page()}/app`));
    const [secret = ''] = copied(setUp);
    passTime(5);
    const answers = await Promise.all(Array.from({ length: 6 }, () => agent.submit(setUp, { code: codeOf(secret) })));
    // The browser may show any of the answers, so each answer has the codes that are valid.
    expect(new Set(answers.map((answer) => copied(answer).join())).size).toBe(1);
    expect(copied(answers[0] as Answer)).toHaveLength(10);
    const found = await rows.collection<{ id: string; version: number; userId?: string; kind?: string }>('factors.enrolled').find({});
    expect(found.filter(({ userId, kind }) => userId === oid && kind === 'totp')).toHaveLength(1);
  });
});

describe('the help desk', () => {
  const call = async (client: string, path: string, method = 'GET') => {
    const token = await adminToken(service.issuer, client, 'idp.factors:read idp.factors:write');
    const response = await fetch(`${service.issuer}/idp/api/v1/tenants/${tid}/users/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text), text };
  };

  test('lists the factors of a user, without what proves anything, and removes one, or all', async () => {
    const { tokens } = await obtainTokens(service.issuer, { userName: me, password: me, scope: 'openid offline_access' });
    const { agent, secret } = await withApp();
    const { json, text } = await call('desk', `${oid}/factors`);
    expect(json.items).toHaveLength(2);
    expect(json.items).toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: 'totp' }), expect.objectContaining({ kind: 'recovery', codesLeft: 10 })]),
    );
    expect(text).not.toContain(secret.replaceAll(' ', ''));
    const { id } = json.items.find(({ kind }: { kind: string }) => kind === 'totp');
    passTime(65);
    expect((await call('desk', `${oid}/factors/${id}`, 'DELETE')).status).toBe(204);
    expect((await call('desk', `${oid}/factors`)).json).toEqual({ items: [] });
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 400 });
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    expect(await eventsOf(oid, 4)).toContainEqual(['FactorRemoved', 'recovery', 'client:desk']);
    expect((await call('desk', `${oid}/factors/${id}`, 'DELETE')).status).toBe(404);
    expect((await call('desk', `${oid}/factors`, 'DELETE')).status).toBe(204);
  });

  test('H1: of another tenant, sees and removes nothing', async () => {
    await withApp();
    for (const [path, method] of [
      [`${oid}/factors`, 'GET'],
      [`${oid}/factors`, 'DELETE'],
      [`${oid}/factors/${randomUUID()}`, 'DELETE'],
    ] as const)
      expect((await call('foreign', path, method)).status).toBe(404);
    expect((await call('desk', `${oid}/factors`)).json.items).toHaveLength(2);
  });

  test('nobody weakens who may do more in the admin API than they may themselves', async () => {
    const root = (await service.idp.directory.accounts.candidates('root@acme.test'))[0]?.person.user.id ?? '';
    await enrol(new Agent(), mfa(), 'root@acme.test', 'root');
    expect(await call('desk', `${root}/factors`, 'DELETE')).toMatchObject({ status: 403, json: { code: 'factor_privileged' } });
    expect((await call('all', `${root}/factors`, 'DELETE')).status).toBe(204);
  });
});

describe('what is kept of factors', () => {
  const kept = async () =>
    (await rows.collection<{ id: string; version: number; userId?: string }>('factors.enrolled').find({})).filter(
      ({ userId }) => userId === oid,
    );

  test('J5: a dump holds no secret and no code', async () => {
    const { secret, codes } = await withApp();
    const dump = JSON.stringify(await kept());
    expect(dump).not.toContain(secret.replaceAll(' ', ''));
    for (const code of codes) expect(dump).not.toContain(code.replaceAll('-', ''));
  });

  test('a person is told of them, and they are erased with the person', async () => {
    await withApp();
    const { persons } = service.idp.tenant(tid);
    const [account] = await service.idp.directory.accounts.candidates(me);
    const told = JSON.stringify(await persons.export(account?.person.id ?? ''));
    expect(told).toContain('"kind":"totp"');
    expect(told).not.toMatch(/"secret"|"codes"/);
    backToPresent();
    await persons.remove(account?.person.id ?? '');
    await until(async () => (await kept()).length === 0);
  });

  test('they go with the user whose person stays', async () => {
    await withApp();
    backToPresent();
    await service.idp.tenant(tid).users.remove(oid);
    await until(async () => (await kept()).length === 0);
  });
});
