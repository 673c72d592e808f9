/** Service specification 4.11: requests and answers of scope introspection. `scope-introspection-access` covers callers and users. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { basic, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { rawRequest } from '../../support/client/raw-request.js';
import { startInstances } from '../../support/service/instances.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { useIdp } from '../../support/service/use-idp.js';
import { EVERYWHERE } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';
import { askingAt, everyScope, type Person, path } from './asking-for-scopes.js';

let endpoints: Endpoints;
let alice: Person;
let bob: Person;
let carol: Person;

const service = useIdp();
const { ask, personOf } = askingAt(service);
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  [alice, bob, carol] = (await Promise.all(['alice@acme.test', 'bob@globex.test', 'carol@acme.test'].map(personOf))) as [
    Person,
    Person,
    Person,
  ];
});

/** Asks by GET with a form, which `fetch` never sends. */
const askWithForm = (fields: Record<string, string>, lines: string[] = [], query = '') =>
  rawRequest(
    service.issuer,
    [`GET ${path}${query} HTTP/1.1`, 'Host: x', 'Content-Type: application/x-www-form-urlencoded', ...lines],
    new URLSearchParams(fields).toString(),
  );

describe('4.11 the endpoint', () => {
  test('4.11 is in discovery', async () => {
    const discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
    expect(discovery.scope_introspection_endpoint).toBe(`${service.issuer}/connect/scope/introspect`);
  });

  test('4.11 answers a JSON object of user claims', async () => {
    const { status, headers, json } = await ask({ sub: carol.oid, scope: 'openid profile email' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(json).toEqual({
      sub: carol.oid,
      tid: carol.tid,
      name: 'Carol Clark',
      given_name: 'Carol',
      family_name: 'Clark',
      preferred_username: 'carol@acme.test',
      picture: 'CC',
      email: 'carol@acme.test',
      email_verified: false,
    });
  });

  test('4.11 answers the claims that userinfo answers', async () => {
    const scope = everyScope;
    for (const [userName, password] of [
      ['alice@acme.test', 'alice'],
      ['alice@globex.test', 'alice'],
      ['bob@globex.test', 'bob'],
    ] as const) {
      const { tokens } = await obtainTokens(service.issuer, { userName, password, scope });
      const { json: userinfo } = await endpoints.userinfo(tokens.access_token);
      const { json } = await ask({ sub: userinfo.sub, tid: userinfo.tid, scope }, 'web');
      expect(json).toEqual(userinfo);
    }
  });

  test('4.11 `sub` is required', async () => {
    for (const parameters of [{}, { sub: '' }, { scope: 'perms' }] as Record<string, string>[])
      expect(await ask(parameters)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('4.11 `scope` is optional: perms', async () => {
    const perms = { sub: alice.oid, tid: alice.tid, oid: alice.oid, perm: ['orders.approve', 'orders.view'] };
    const [omitted, empty] = [await ask({ sub: alice.oid, tid: alice.tid }), await ask({ sub: alice.oid, tid: alice.tid, scope: '' })];
    expect(omitted.json).toEqual(perms);
    expect(empty.text).toBe(omitted.text);
  });

  test('4.11 `scope` is space-separated; one given twice counts once', async () => {
    const { json } = await ask({ sub: bob.oid, scope: 'profile  email profile' });
    expect(json).toMatchObject({ name: 'Bob Brown', email: 'bob@globex.test' });
    expect(json).not.toHaveProperty('perm');
  });

  test.each(['orders.read', 'openid orders.read', 'unknown', 'offline_access', 'openid\tprofile', '__proto__'])(
    '4.11 identity scopes only: %j is invalid_scope, whoever asks',
    async (scope) => {
      for (const caller of ['orders', 'web', 'service'])
        expect(await ask({ sub: bob.oid, scope }, caller)).toMatchObject({ status: 400, json: { error: 'invalid_scope' } });
    },
  );
});

describe('4.11 the parameters', () => {
  const wanted = () => ({ sub: bob.oid, tid: bob.tid, scope: 'profile' });
  const body = { client_id: 'orders', client_secret: 'orders-secret' };

  test('4.11 are in the query of a GET', async () => {
    expect(await ask(wanted())).toMatchObject({ status: 200, json: { name: 'Bob Brown' } });
  });

  test('4.11 are form-encoded although the method is GET', async () => {
    const lines = [`Authorization: ${basic('orders', 'orders-secret')}`];
    for (const answer of [await askWithForm(wanted(), lines), await askWithForm({ ...wanted(), ...body })]) {
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toMatchObject({ sub: bob.oid, name: 'Bob Brown' });
    }
    const mixed = await askWithForm(body, [], `?${new URLSearchParams(wanted())}`);
    expect([mixed.status, JSON.parse(mixed.body).name]).toEqual([200, 'Bob Brown']);
  });

  test('4.11 are in the form of a POST', async () => {
    const url = service.issuer + path;
    for (const answer of [await postForm(url, wanted(), credentialsOf('orders')), await postForm(url, { ...wanted(), ...body })])
      expect(answer).toMatchObject({ status: 200, json: { name: 'Bob Brown' } });
  });

  test('RFC 6749 §3.1: are given once', async () => {
    const url = `${service.issuer}${path}?sub=${bob.oid}`;
    const answers = [
      await fetch(`${url}&sub=${bob.oid}`, { headers: credentialsOf('orders') }),
      await fetch(`${url}&scope=perms&scope=perms`, { headers: credentialsOf('orders') }),
      await fetch(url, {
        method: 'POST',
        headers: { ...credentialsOf('orders'), 'content-type': 'application/x-www-form-urlencoded' },
        body: `sub=${bob.oid}`,
      }),
      await fetch(service.issuer + path, {
        method: 'POST',
        headers: { ...credentialsOf('orders'), 'content-type': 'application/x-www-form-urlencoded' },
        body: `sub[$ne]=${bob.oid}`,
      }),
    ];
    for (const response of answers) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: 'invalid_request' });
    }
  });

  test('RFC 9110 §15.5.6: are sent by GET or POST', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(service.issuer + path, { method, headers: credentialsOf('orders') });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'HEAD, GET, POST']);
    }
  });

  test('RFC 9110 §15.5.14: are no more than fits', async () => {
    expect(await postForm(service.issuer + path, { sub: 'x'.repeat(100_000) }, credentialsOf('orders'))).toMatchObject({ status: 413 });
  });
});

describe('design §5: the answer', () => {
  const parameters = () => ({ sub: alice.oid, tid: alice.tid, scope: 'openid roles perms' });

  test('is not stored, errors neither', async () => {
    for (const answer of [await ask(parameters()), await ask({}), await ask({ sub: randomUUID() }), await ask({}, 'nobody')])
      expect([answer.headers.get('cache-control'), answer.headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
  });

  test('has a strong ETag, the same for the same claims and no others', async () => {
    const tag = async (more: Record<string, string> = {}, caller?: string) =>
      (await ask({ ...parameters(), ...more }, caller)).headers.get('etag');
    const first = await tag();
    expect(first).toMatch(/^"[\w-]{43}"$/);
    expect(await tag()).toBe(first);
    expect(await tag({}, 'web')).toBe(first);
    expect(await tag({ scope: 'openid roles' })).not.toBe(first);
    expect((await ask({ sub: randomUUID() })).headers.get('etag')).toBeNull();
  });

  test('is 304 without a body to whoever has it', async () => {
    const etag = (await ask(parameters())).headers.get('etag') ?? '';
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await ask(parameters(), 'orders', { 'if-none-match': condition });
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', etag]);
      expect([answer.headers.get('cache-control'), answer.headers.get('content-type')]).toEqual(['no-store', null]);
    }
    expect(await ask(parameters(), 'orders', { 'if-none-match': '"other"' })).toMatchObject({ status: 200 });
    expect(await ask(parameters(), 'orders', { 'if-none-match': '' })).toMatchObject({ status: 200 });
    const posted = await postForm(service.issuer + path, parameters(), { ...credentialsOf('orders'), 'if-none-match': etag });
    expect([posted.status, posted.headers.get('etag')]).toEqual([200, etag]);
  });

  test('is 304 to nobody who may not have it', async () => {
    const headers = { 'if-none-match': '*' };
    expect(await ask(parameters(), 'nobody', headers)).toMatchObject({ status: 401 });
    expect(await ask({ ...parameters(), sub: randomUUID() }, 'orders', headers)).toMatchObject({ status: 404 });
    expect(await ask(parameters(), 'service', headers)).toMatchObject({ status: 403 });
  });
});

describe('4.11 the claims are current', () => {
  test('4.11 a change of groups, and of what a group may, shows in the next call', async () => {
    const { groups, users } = service.idp.tenant(bob.tid);
    const parameters = { sub: bob.oid, scope: 'roles perms' };
    const before = await ask(parameters);
    const { id } = await groups.create({ name: 'Buyers', permissionIds: ['orders.view'] });
    await users.setGroups(bob.oid, { ids: [id] });
    const after = await ask(parameters, 'orders', { 'if-none-match': before.headers.get('etag') ?? '' });
    expect(after).toMatchObject({ status: 200, json: { role: ['Buyers'], perm: ['orders.view'] } });
    await groups.update(id, { name: 'Chief buyers', permissionIds: ['orders.approve'] });
    expect((await ask(parameters)).json).toMatchObject({ role: ['Chief buyers'], perm: ['orders.approve'] });
    await users.setGroups(bob.oid, { ids: [] });
    expect((await ask(parameters)).text).toBe(before.text);
  });

  test('4.11 on every node, within two seconds', async () => {
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    const nodes = await startInstances(2, () => ({ artifacts, directory }));
    const [first, second] = nodes.idps as [typeof service.idp, typeof service.idp];
    const tenant = (await first.directory.tenants.find()).find(({ name }) => name === 'Acme');
    const [account] = await first.directory.accounts.candidates('alice@acme.test');
    const query = { sub: account?.person.user.id ?? '', tid: tenant?.id ?? '' };
    expect(await second.introspectScopes(query)).toMatchObject({ perm: ['orders.approve', 'orders.view'] });
    const { groups } = first.tenant(query.tid);
    const sales = await groups.findByName('Sales');
    await groups.update(sales?.id ?? '', { permissionIds: ['orders.view'] });
    const changedAt = Date.now();
    const seen = async () => (await second.introspectScopes(query)).perm as string[];
    await until(async () => (await seen()).length === 1);
    expect(await seen()).toEqual(['orders.view']);
    expect(Date.now() - changedAt).toBeLessThan(EVERYWHERE);
    await nodes.close();
  });
});

test('4.11 of all that, nothing is in the log', () => expectQuietLog(service));
