/** Access to scope introspection: the callers, and the scopes and users that a caller may ask about. Service specification 4.11. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { basic, obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { expectNothingInternal, expectQuietLog } from '../../support/service/leaks.js';
import { useIdp } from '../../support/service/use-idp.js';
import { askingAt, everyScope, type Person, path } from './asking-for-scopes.js';

let endpoints: Endpoints;
let alice: Person;
let aliceAtGlobex: Person;
let bob: Person;
let carol: Person;

const service = useIdp();
const { ask, personOf } = askingAt(service);
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  [alice, aliceAtGlobex, bob, carol] = (await Promise.all(
    ['alice@acme.test', 'alice@globex.test', 'bob@globex.test', 'carol@acme.test'].map(personOf),
  )) as [Person, Person, Person, Person];
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
    const metadata = { grant_types: ['client_credentials'] };
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
