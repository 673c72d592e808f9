import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { basic, type Json, obtainTokens, postForm } from '../support/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../support/endpoints.js';
import { IN_TIME } from '../support/in-time.js';
import { startInstances } from '../support/instances.js';
import { expectNothingInternal, expectQuietLog } from '../support/leaks.js';
import { rawRequest } from '../support/raw-request.js';
import { useIdp } from '../support/use-idp.js';

let endpoints: Endpoints;
let alice: Person;
let aliceAtGlobex: Person;
let bob: Person;
let carol: Person;

interface Person {
  readonly oid: string;
  readonly tid: string;
}

const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  [alice, aliceAtGlobex, bob, carol] = (await Promise.all(
    ['alice@acme.test', 'alice@globex.test', 'bob@globex.test', 'carol@acme.test'].map(personOf),
  )) as [Person, Person, Person, Person];
});

async function personOf(userName: string): Promise<Person> {
  const [account] = await service.idp.directory.accounts.candidates(userName);
  if (!account) throw new Error(`no ${userName}`);
  return { oid: account.person.user.id, tid: account.tenant.id };
}

const path = '/connect/scope/introspect';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
}

/** By GET, with the parameters in the query and the credentials in a header. */
async function ask(parameters: Record<string, string>, caller = 'orders', headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${service.issuer}${path}?${new URLSearchParams(parameters)}`, {
    headers: { ...credentialsOf(caller), ...headers },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: text === '' ? undefined : JSON.parse(text) };
}

/** By GET with a form, which no `fetch` sends. */
const askWithForm = (fields: Record<string, string>, lines: string[] = [], query = '') =>
  rawRequest(
    service.issuer,
    [`GET ${path}${query} HTTP/1.1`, 'Host: x', 'Content-Type: application/x-www-form-urlencoded', ...lines],
    new URLSearchParams(fields).toString(),
  );

const everyScope = 'openid profile email phone org roles perms address';

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

describe('Authentication: an API resource or a client, Basic or in the body', () => {
  const url = () => `${service.issuer}${path}?${new URLSearchParams({ sub: bob.oid })}`;
  const status = async (headers: Record<string, string>) => (await fetch(url(), { headers })).status;

  test('Authentication: both, both ways', async () => {
    for (const [id, secret] of [
      ['orders', 'orders-secret'],
      ['web', 'web-secret'],
    ] as const) {
      expect(await status({ authorization: basic(id, secret) })).toBe(200);
      expect(await postForm(service.issuer + path, { sub: bob.oid, client_id: id, client_secret: secret })).toMatchObject({ status: 200 });
    }
  });

  test('RFC 9110 §15.5.2: whoever is not, gets 401 with WWW-Authenticate, the same for all', async () => {
    await service.idp.directory.clients.create({ id: 'retired', name: 'Retired', secret: 'retired-secret', status: 'disabled' });
    const jwks = { keys: [] };
    const metadata = { token_endpoint_auth_method: 'private_key_jwt', jwks };
    await service.idp.directory.clients.create({ id: 'keyed', name: 'Keyed', secret: 'keyed-secret', metadata });
    const wrong = [
      {},
      { authorization: basic('orders', 'wrong') },
      { authorization: basic('nobody', 'orders-secret') },
      { authorization: basic('retired', 'retired-secret') },
      { authorization: basic('keyed', 'keyed-secret') },
      { authorization: basic('spa', '') },
      { authorization: basic('orders', '') },
      { authorization: basic('', 'orders-secret') },
      { authorization: 'Bearer orders-secret' },
    ] as Record<string, string>[];
    const answers = await Promise.all(
      wrong.map(async (headers) => {
        const response = await fetch(url(), { headers });
        return [response.status, response.headers.get('www-authenticate'), response.headers.get('cache-control'), await response.text()];
      }),
    );
    const [first] = answers;
    expect(first).toEqual([
      401,
      `Basic realm="${service.issuer}", charset="UTF-8"`,
      'no-store',
      expect.stringContaining('"invalid_client"'),
    ]);
    for (const answer of answers) expect(answer).toEqual(first);
    for (const malformed of ['!!!', Buffer.from('orders').toString('base64')])
      expect(await status({ authorization: `Basic ${malformed}` })).toBe(400);
    expect(await postForm(service.issuer + path, { sub: bob.oid, client_id: 'spa' })).toMatchObject({ status: 401 });
    expect(await postForm(service.issuer + path, { sub: bob.oid, client_id: 'web', client_secret: 'wrong' })).toMatchObject({
      status: 401,
    });
  });

  test('design §5: credentials in the query are refused, right ones too', async () => {
    for (const query of [
      { client_id: 'web', client_secret: 'web-secret' },
      { client_secret: 'web-secret' },
      { client_assertion: 'x' },
      { client_id: 'web' },
    ] as Record<string, string>[])
      expect(await ask({ sub: bob.oid, ...query }, 'web')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('RFC 6749 §2.3: of one kind', async () => {
    const post = (fields: Record<string, string>) => postForm(service.issuer + path, { sub: bob.oid, ...fields }, credentialsOf('web'));
    expect(await post({ client_id: 'web' })).toMatchObject({ status: 200 });
    for (const fields of [{ client_id: 'web', client_secret: 'web-secret' }, { client_id: 'orders' }] as Record<string, string>[])
      expect(await post(fields)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('RFC 6749 §2.3.1: form-encoded in Basic', async () => {
    const secret = 'p:w+rd %41';
    await service.idp.directory.apiResources.create({ id: 'odd:one', name: 'Odd', secret, scopes: [] });
    expect(await status({ authorization: basic('odd:one', secret) })).toBe(200);
    expect(await status({ authorization: `Basic ${Buffer.from(`odd%3Aone:${secret}`).toString('base64')}` })).toBe(401);
    expect(await status({ authorization: `Basic ${Buffer.from('orders:%E0%A4%A').toString('base64')}` })).toBe(400);
  });

  test('design §3: by either of two live secrets', async () => {
    const { apiResources } = service.idp.directory;
    const { secret = '' } = await apiResources.create({ id: 'rotating', name: 'Rotating', scopes: [] });
    const { secret: next } = await apiResources.rotateSecret('rotating');
    for (const live of [secret, next]) expect(await status({ authorization: basic('rotating', live) })).toBe(200);
    await apiResources.rotateSecret('rotating');
    expect(await status({ authorization: basic('rotating', secret) })).toBe(401);
  });
});

describe('4.11 what a caller may ask for', () => {
  test('4.11 a client is limited to its allowed scopes', async () => {
    const metadata = { grant_types: ['client_credentials'], response_types: [], redirect_uris: [] };
    const narrow = { id: 'narrow', name: 'Narrow', secret: 'narrow-secret', metadata, allowedScopes: ['openid', 'profile'] };
    await service.idp.directory.clients.create(narrow);
    expect((await ask({ sub: bob.oid, scope: 'openid profile' }, 'narrow')).json).toMatchObject({ name: 'Bob Brown' });
    for (const scope of ['email', 'openid profile email', 'perms', ''])
      expect(await ask({ sub: bob.oid, scope }, 'narrow')).toMatchObject({ status: 403, json: { error: 'insufficient_scope' } });
    await service.idp.directory.clients.update('narrow', { allowedScopes: ['perms'] });
    expect(await ask({ sub: bob.oid }, 'narrow')).toMatchObject({ status: 200 });
  });

  test('4.11 an API resource can request any scope', async () => {
    const { status, json } = await ask({ sub: alice.oid, tid: alice.tid, scope: everyScope }, 'invoices');
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(expect.arrayContaining(['name', 'email', 'phone_number', 'orgid', 'may_login', 'role', 'perm']));
  });

  test('Default claims: a client with email first gets one address', async () => {
    const { persons, users } = service.idp.tenant(bob.tid);
    const person = await users.require(bob.oid);
    await persons.update(person.id, { secondEmail: 'bob@home.test' });
    expect((await ask({ sub: bob.oid, scope: 'email' }, 'web')).json.email).toEqual(['bob@globex.test', 'bob@home.test']);
    await service.idp.directory.clients.update('web', { email: 'first' });
    expect((await ask({ sub: bob.oid, scope: 'email' }, 'web')).json.email).toBe('bob@globex.test');
    expect((await ask({ sub: bob.oid, scope: 'email' }, 'orders')).json.email).toEqual(['bob@globex.test', 'bob@home.test']);
    await service.idp.directory.clients.update('web', { email: 'all' });
  });
});

describe('design §5: whom `sub` and `tid` name', () => {
  const who = async (parameters: Record<string, string>, caller?: string) => {
    const { status, json } = await ask({ scope: 'openid', ...parameters }, caller);
    return status === 200 ? json : json.error;
  };

  test('a sub that linked accounts share, with tid', async () => {
    expect(await who({ sub: alice.oid, tid: alice.tid })).toEqual({ sub: alice.oid, tid: alice.tid, oid: alice.oid });
    expect(await who({ sub: alice.oid, tid: aliceAtGlobex.tid })).toEqual({
      sub: alice.oid,
      tid: aliceAtGlobex.tid,
      oid: aliceAtGlobex.oid,
    });
  });

  test('a sub that linked accounts share, without tid: tid_required', async () => {
    expect(await ask({ sub: alice.oid })).toMatchObject({ status: 400, json: { error: 'tid_required' } });
  });

  test('an oid, with or without tid', async () => {
    const child = { sub: alice.oid, tid: aliceAtGlobex.tid, oid: aliceAtGlobex.oid };
    expect(await who({ sub: aliceAtGlobex.oid })).toEqual(child);
    expect(await who({ sub: aliceAtGlobex.oid, tid: aliceAtGlobex.tid })).toEqual(child);
    expect(await who({ sub: bob.oid })).toEqual({ sub: bob.oid, tid: bob.tid });
  });

  test('nobody: unknown, of another tenant, not an id, and outside the tenants of the caller, all to the byte', async () => {
    await service.idp.directory.apiResources.create({
      id: 'globex-only',
      name: 'For Globex',
      secret: 'globex-only-secret',
      scopes: [],
      allowedTenants: [bob.tid],
    });
    const { allowedTenants, ...client } = { id: 'acme-only', name: 'For Acme', secret: 'acme-only-secret', allowedTenants: [alice.tid] };
    await service.idp.directory.clients.create({ ...client, allowedTenants, allowedScopes: ['openid'] });
    expect(await who({ sub: bob.oid }, 'globex-only')).toEqual({ sub: bob.oid, tid: bob.tid });
    expect(await who({ sub: carol.oid }, 'acme-only')).toEqual({ sub: carol.oid, tid: carol.tid });
    const nobody: [Record<string, string>, string][] = [
      [{ sub: randomUUID() }, 'orders'],
      [{ sub: bob.oid, tid: alice.tid }, 'orders'],
      [{ sub: bob.oid, tid: randomUUID() }, 'orders'],
      [{ sub: bob.oid, tid: 'acme' }, 'orders'],
      [{ sub: aliceAtGlobex.oid, tid: alice.tid }, 'orders'],
      [{ sub: 'bob@globex.test' }, 'orders'],
      [{ sub: 'x'.repeat(5000) }, 'orders'],
      [{ sub: "\u0000'$" }, 'orders'],
      [{ sub: bob.oid }, 'acme-only'],
      [{ sub: bob.oid, tid: bob.tid }, 'acme-only'],
      [{ sub: aliceAtGlobex.oid }, 'acme-only'],
      [{ sub: carol.oid }, 'globex-only'],
      [{ sub: alice.oid, tid: alice.tid }, 'globex-only'],
    ];
    const headersOf = (headers: Headers) => [...headers].filter(([name]) => name !== 'date');
    const [unknown, ...others] = await Promise.all(nobody.map(([parameters, caller]) => ask({ scope: 'openid', ...parameters }, caller)));
    expect(unknown).toMatchObject({ status: 404, json: { error: 'not_found' } });
    for (const other of others) {
      expect([other.status, other.text, headersOf(other.headers)]).toEqual([404, unknown?.text, headersOf(unknown?.headers as Headers)]);
      expectNothingInternal(other.text);
    }
  });

  test('a shared sub is the account that is there for the caller, when only one is', async () => {
    expect(await who({ sub: alice.oid }, 'globex-only')).toEqual({ sub: alice.oid, tid: aliceAtGlobex.tid, oid: aliceAtGlobex.oid });
    expect(await who({ sub: alice.oid }, 'acme-only')).toEqual({ sub: alice.oid, tid: alice.tid, oid: alice.oid });
  });

  test('nobody: a disabled user, and all of a disabled tenant', async () => {
    const { users } = service.idp.tenant(carol.tid);
    await users.disable(carol.oid);
    expect(await who({ sub: carol.oid })).toBe('not_found');
    await users.enable(carol.oid);
    expect(await who({ sub: carol.oid })).toMatchObject({ sub: carol.oid });
    await service.idp.directory.tenants.disable(bob.tid);
    expect(await who({ sub: bob.oid })).toBe('not_found');
    expect(await who({ sub: alice.oid })).toMatchObject({ tid: alice.tid });
    await service.idp.directory.tenants.enable(bob.tid);
    expect(await who({ sub: bob.oid })).toMatchObject({ sub: bob.oid });
  });

  test('to a pairwise client, its own pseudonyms, which are turned back', async () => {
    const { tokens } = await obtainTokens(service.issuer, { client: 'pairwise', secret: 'pairwise-secret', scope: 'openid org' });
    const { json: userinfo } = await endpoints.userinfo(tokens.access_token);
    expect(userinfo.sub).not.toBe(alice.oid);
    expect((await ask({ sub: userinfo.sub, tid: userinfo.tid, scope: 'openid org' }, 'pairwise')).json).toEqual(userinfo);
    const [other] = userinfo.may_login;
    expect(await who({ sub: other.oid }, 'pairwise')).toEqual({ sub: userinfo.sub, tid: other.tid, oid: other.oid });
    expect(await who({ sub: userinfo.sub }, 'pairwise')).toBe('tid_required');
    for (const [sub, caller] of [
      [alice.oid, 'pairwise'],
      [userinfo.sub, 'web'],
      [userinfo.sub, 'orders'],
      [`${userinfo.sub}=`, 'pairwise'],
      [userinfo.sub.replace(/^./, (first: string) => (first === 'A' ? 'B' : 'A')), 'pairwise'],
    ])
      expect(await who({ sub, tid: userinfo.tid }, caller)).toBe('not_found');
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
    while ((await seen()).length === 2 && Date.now() - changedAt < 5000) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await seen()).toEqual(['orders.view']);
    expect(Date.now() - changedAt).toBeLessThan(IN_TIME);
    await nodes.close();
  });
});

describe('design §1: introspectScopes, in process', () => {
  test('answers what the endpoint answers', async () => {
    for (const [query, caller] of [
      [{ sub: bob.oid }, 'orders'],
      [{ sub: alice.oid, tid: aliceAtGlobex.tid, scope: everyScope }, 'orders'],
      [{ sub: alice.oid, tid: aliceAtGlobex.tid, scope: everyScope }, 'web'],
    ] as const) {
      const { json } = await ask(query, caller);
      expect(await service.idp.introspectScopes({ ...query, client: caller })).toEqual(json);
    }
  });

  test('without a client answers every identity scope about everybody', async () => {
    const claims = await service.idp.introspectScopes({ sub: alice.oid, tid: alice.tid, scope: everyScope });
    expect(claims).toEqual((await ask({ sub: alice.oid, tid: alice.tid, scope: everyScope })).json);
  });

  test('refuses what the endpoint refuses', async () => {
    const { introspectScopes } = service.idp;
    for (const [query, code] of [
      [{ sub: bob.oid, scope: 'orders.read' }, 'invalid_scope'],
      [{ sub: bob.oid, scope: 'email', client: 'service' }, 'insufficient_scope'],
      [{ sub: bob.oid, client: 'nobody' }, 'invalid_client'],
      [{ sub: bob.oid, client: 'retired' }, 'invalid_client'],
      [{ sub: bob.oid, client: 'acme-only', scope: 'openid' }, 'not_found'],
      [{ sub: randomUUID() }, 'not_found'],
      [{ sub: alice.oid }, 'tid_required'],
    ] as const)
      await expect(introspectScopes(query)).rejects.toMatchObject({ name: 'IdpError', code });
  });
});

test('4.11 of all that, nothing is in the log', () => expectQuietLog(service));
