/** design §2: an extension is one plain object. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { ConfigError, Extension } from 'tenant-idp';
import type { CallerState, ExtensionContext } from 'tenant-idp/extension';
import { type Account, addressBlock, defineOperation, type InternalClient, Type } from 'tenant-idp/extension';
import { basic, postForm } from '../support/client/agent.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { formTypes } from '../support/requests/both-doors.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';

const closed: string[] = [];

const greeting: Extension = {
  name: 'greeting',
  routes(router, { service: { issuer } }) {
    router.get('/idp/greeting', (ctx) => {
      ctx.body = { hello: issuer };
    });
  },
  discovery: ({ service: { url } }) => ({ greeting_endpoint: url('/idp/greeting') }),
  around: {
    introspection: () => async (ctx, next) => {
      await next();
      ctx.set('x-around', 'introspection');
    },
  },
  close: async () => void closed.push('greeting'),
};

describe('an extension', () => {
  const service = useIdp({ extensions: [greeting] });

  test('design §2: adds routes, members of discovery, and middleware about an endpoint', async () => {
    const route = await fetch(`${service.issuer}/idp/greeting`);
    expect(await route.json()).toEqual({ hello: service.issuer });
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({ greeting_endpoint: `${service.issuer}/idp/greeting` });
    const introspection = await fetch(`${service.issuer}/connect/introspect/`, { method: 'POST' });
    expect(introspection.headers.get('x-around')).toBe('introspection');
    const token = await fetch(`${service.issuer}/connect/token`, { method: 'POST' });
    expect(token.headers.get('x-around')).toBeNull();
  });
});

test('design §2: an extension learns who authenticated, and gets JWTs signed and claims about accounts', async () => {
  const learned: unknown[] = [];
  const learning: Extension = {
    name: 'learning',
    around: {
      introspection:
        ({ keys, claims, directory }) =>
        async (ctx, next) => {
          await next();
          const { caller } = ctx.state as CallerState;
          const [account] = await directory.accounts.candidates('bob@globex.test');
          if (!caller || !account) return void learned.push('nobody');
          const signed = await Promise.all(['RS256', 'ES256'].map((alg) => keys.sign('learned+jwt', { by: alg }, alg as 'RS256')));
          learned.push(
            caller.id,
            keys.algorithms,
            signed.map(decodeProtectedHeader),
            signed.map((jwt) => decodeJwt(jwt)),
          );
          learned.push(await claims.about(account, new Set(['profile']), 'userinfo', caller), claims.scopes.has('perms'));
        },
    },
  };
  const service = await startIdp({ extensions: [learning] });
  const ask = (headers: Record<string, string>) => postForm(`${service.issuer}/connect/introspect`, { token: 'x' }, headers);
  await ask({});
  expect(learned.splice(0)).toEqual(['nobody']);
  // The content type decides whether the service answers with oidc-provider or without it.
  for (const type of formTypes) {
    await ask({ ...credentialsOf('orders'), 'content-type': type });
    expect(learned.splice(0)).toEqual([
      'orders',
      ['RS256', 'ES256'],
      [
        { alg: 'RS256', typ: 'learned+jwt', kid: 'test-rs256' },
        { alg: 'ES256', typ: 'learned+jwt', kid: 'test-es256' },
      ],
      [{ by: 'RS256' }, { by: 'ES256' }],
      expect.objectContaining({ sub: expect.any(String), tid: expect.any(String), name: 'Bob Brown' }),
      true,
    ]);
  }
  await service.close();
});

describe('house §5: what an application of another protocol is told', () => {
  let context: ExtensionContext | undefined;
  const told = (): ExtensionContext => context as ExtensionContext;
  const application: InternalClient = { name: 'An application', returnTo: '/other/back' };
  const limited = { ...application, allowedTenants: [''] };
  const other: Extension = {
    name: 'other',
    clients: () => ({ find: (id) => ({ 'other:all': application, 'other:limited': limited })[id] }),
    start(given) {
      context = given;
    },
  };
  const service = useIdp({ extensions: [other], oid: 'linked', lifetimes: { sessionAbsolute: 7200 } });
  const account = async (name: string): Promise<Account> => {
    const [found] = await service.idp.directory.accounts.candidates(name);
    return found as Account;
  };
  const act = { oid: '1', sub: '1', tid: '2' };

  test('claims by name: those that go to the target, of the protocol’s own those that are asked for, and no others', async () => {
    const bob = await account('bob@globex.test');
    const { oid, tid } = { oid: bob.person.user.id, tid: bob.tenant.id };
    const { named } = told().claims;
    const names = new Set(['sub', 'oid', 'tid', 'email', 'role', 'act', 'idp', 'no-such-claim']);
    expect(await named(bob, names, 'saml')).toEqual({ sub: oid, oid, tid, email: 'bob@globex.test', role: [] });
    const signedIn = { oid, amr: ['pwd'], idp: 'local', authTime: 1, provenAt: {}, act };
    expect(await named(bob, names, 'saml', 'other:all', signedIn)).toEqual({ sub: oid, oid, tid, email: 'bob@globex.test', role: [], act });
    expect(await named(bob, new Set(['tid']), 'saml')).toEqual({ tid });
    expect(await named(bob, new Set(['email']), 'access_token')).toEqual({});
  });

  test('linked accounts are told of where the client may know of their tenants; a pairwise client sees its own ids', async () => {
    const alice = await account('alice@acme.test');
    const linked = await account('alice@globex.test');
    const { named } = told().claims;
    const names = new Set(['sub', 'may_login']);
    const mayLogin = [{ oid: linked.person.user.id, tid: linked.tenant.id, companyname: 'Globex' }];
    expect(await named(alice, names, 'saml', 'other:all')).toEqual({ sub: alice.person.user.id, may_login: mayLogin });
    limited.allowedTenants = [alice.tenant.id];
    expect(await named(alice, names, 'saml', 'other:limited')).not.toHaveProperty('may_login.0');
    const { sub } = await named(alice, names, 'userinfo', 'pairwise');
    expect(sub).toMatch(/^[\w-]{22}$/);
    await expect(named(alice, names, 'saml', 'other:none')).rejects.toThrow(TypeError);
  });

  test('which claims there are, and where each may go', () => {
    const { declared } = told().claims;
    expect(declared).toContainEqual(expect.objectContaining({ name: 'name', type: 'string', targets: expect.arrayContaining(['saml']) }));
    expect(declared).not.toContainEqual(expect.objectContaining({ name: 'sub' }));
  });

  test('pseudonyms lead back in their own sector alone, and are not those of a client of that name', async () => {
    const oid = (await account('bob@globex.test')).person.user.id;
    const { of, oidOf } = told().claims.pseudonyms ?? {};
    const pseudonym = of?.('other https://sp.test', oid) ?? '';
    expect(pseudonym).toBe(of?.('other https://sp.test', oid));
    expect(oidOf?.('other https://sp.test', pseudonym)).toBe(oid);
    expect(oidOf?.('other https://elsewhere.test', pseudonym)).not.toBe(oid);
    expect(oidOf?.('other https://sp.test', 'no pseudonym')).toBeUndefined();
    const metadata = { redirect_uris: ['https://other.test/callback'], subject_type: 'pairwise' };
    const named = { id: 'named', name: 'Named', secret: 'named-secret', metadata };
    const { client } = await service.idp.directory.clients.create(named);
    const pairwise = await told().claims.identifierOf(oid, client);
    expect(pairwise).not.toBe(oid);
    expect(of?.('other.test', oid)).not.toBe(pairwise);
  });

  test('there are none in a sector that does not begin with the name of the extension', () => {
    const { of, oidOf } = told().claims.pseudonyms ?? {};
    const refused = new TypeError(
      "The extension 'other' has the sector 'saml https://sp.test', which does not begin with its name. Begin it with 'other '.",
    );
    expect(() => of?.('saml https://sp.test', 'any')).toThrow(refused);
    expect(() => oidOf?.('saml https://sp.test', 'any')).toThrow(refused);
  });

  test('outside production, a service without a salt has those of a salt that it made; how long a sign-in lasts', async () => {
    expect(told().service.lifetimes.session).toBe(7200);
    let plain: ExtensionContext | undefined;
    const start: Extension['start'] = (given) => {
      plain = given;
    };
    await (await startIdp({ extensions: [{ name: 'plain', start }], subjectSalt: undefined as never, seed: {} })).close();
    expect(plain).toHaveProperty('claims.pseudonyms');
  });
});

test('house §5: a counter is the extension’s own: neither another extension nor the service counts by the same', async () => {
  const secretOfOrders = JSON.stringify(['secret', 'orders', addressBlock('127.0.0.1')]);
  const counting = (name: string): Extension => ({
    name,
    routes: (router, { limits: { attempts } }) =>
      void router.get(`/${name}/:times`, async (ctx) => {
        for (let times = Number(ctx.params.times); times > 0; times -= 1) ctx.body = await attempts(secretOfOrders, 60_000);
      }),
  });
  const { issuer, close } = await startIdp({ extensions: [counting('one'), counting('two')] });
  const countOf = async (path: string) => ((await (await fetch(issuer + path)).json()) as { count: number }).count;
  expect([await countOf('/one/50'), await countOf('/two/1'), await countOf('/one/1')]).toEqual([50, 1, 51]);
  const wrong = { authorization: basic('orders', 'wrong') };
  expect((await postForm(`${issuer}/connect/introspect`, { token: 'x' }, wrong)).status).toBe(401);
  await close();
});

test('design §2: an extension is closed with the identity provider', async () => {
  const { close } = await startIdp({ extensions: [greeting] });
  closed.length = 0;
  await close();
  expect(closed).toEqual(['greeting']);
});

describe('design §2: two that claim the same are refused at start, with both names', () => {
  const route = (name: string, path: string): Extension => ({ name, routes: (router) => void router.get(path, () => {}) });
  const pages = (name: string): Extension => ({ name, pages: (_context: ExtensionContext) => () => {} });
  const letters = (name: string): Extension => ({ name, letters: () => () => ({}) as never });

  test.each<[string, Extension[], RegExp]>([
    ['a route', [route('one', '/idp/same'), route('two', '/idp/same')], /GET \/idp\/same.*one and two/],
    ['a route whose parameter has another name', [route('one', '/a/:x/b'), route('two', '/a/:y/b')], /GET \/a\/:y\/b.*one and two/],
    ['a route in other letters', [route('one', '/a/:x/b'), route('two', '/A/:x/B/')], /GET \/A\/:x\/B\/.*one and two/],
    ['a route of the service', [route('one', '/idp/Invitations/:any')], /GET \/idp\/Invitations\/:any.*invitations and one/],
    ['a route of the protocol', [route('one', '/connect/token')], /\/connect\/token.*the protocol and one/],
    [
      'a member of discovery',
      [greeting, { name: 'other', discovery: greeting.discovery as never }],
      /greeting_endpoint.*greeting and other/,
    ],
    ...['issuer', 'jwks_uri', 'token_endpoint', 'pushed_authorization_request_endpoint', 'backchannel_authentication_endpoint'].map(
      (member): [string, Extension[], RegExp] => [
        `${member} in discovery`,
        [{ name: 'one', discovery: () => ({ [member]: 'https://elsewhere.test' }) }],
        new RegExp(`one owner of ${member} in discovery, got the service and one`),
      ],
    ),
    ['the pages', [pages('one')], /shows pages.*sign-in and one/],
    ['the letters', [letters('one')], /writes letters.*sign-in and one/],
    ...['redirect_uris', 'client_secret', 'grant_types', 'backchannel_logout_uri', 'client_name'].map(
      (member): [string, Extension[], RegExp] => [
        `${member} of client metadata`,
        [{ name: 'one', clientMetadata: { [member]: () => undefined } }],
        new RegExp(`one owner of client metadata ${member}, got the service and one`),
      ],
    ),
    ...(
      [
        ['ClientCreated', 'the service'],
        ['ConnectionCreated', 'connections'],
        ['WebhookCreated', 'events'],
        ['FactorAdded', 'factors'],
      ] as const
    ).map(([event, owner]): [string, Extension[], RegExp] => [
      `the event ${event}`,
      [{ name: 'one', events: [event] }],
      new RegExp(`one owner of the event ${event}, got ${owner} and one`),
    ]),
    ['an endpoint that does not exist', [{ name: 'one', around: { nowhere: () => async () => {} } }], /extensions\[0\]\.around\.nowhere/],
  ])('%s', async (_, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toThrow(message);
  });
});

describe('a path that the protocol answers is refused to an extension, however it is spelled', () => {
  test.each([
    '/connect/token',
    '/connect/token/',
    '/CONNECT/Token',
    '/connect/ciba',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/jwks',
    '/.well-known/oauth-authorization-server',
    '/connect/endsession/confirm',
    '/connect/endsession/success',
    '/connect/authorize/x',
    '/connect/authorize/:uid',
  ])('%s', async (path) => {
    const extension: Extension = { name: 'one', routes: (router) => void router.postWithoutCsrf(path, () => {}) };
    await expect(startIdp({ extensions: [extension] })).rejects.toMatchObject({
      code: 'extension_conflict',
      problems: [{ path: 'extensions', expected: `one owner of POST ${path}`, received: 'the protocol and one' }],
    });
  });

  test('a path beside them is not', async () => {
    const beside: Extension = {
      name: 'one',
      routes(router) {
        for (const path of ['/connect/authorize/x/y', '/connect/tokens', '/.well-known/:name'])
          router.get(path, (ctx) => {
            ctx.body = { path };
          });
      },
    };
    const { issuer, close } = await startIdp({ extensions: [beside] });
    const answers = await Promise.all(
      ['/connect/authorize/x/y', '/.well-known/another', '/.well-known/openid-configuration'].map(
        async (path) => (await fetch(issuer + path)).json() as Promise<{ path?: string; issuer?: string }>,
      ),
    );
    expect(answers.map((answer) => answer.path ?? answer.issuer)).toEqual(['/connect/authorize/x/y', '/.well-known/:name', issuer]);
    await close();
  });
});

test('an extension that was started is closed where a route is refused', async () => {
  closed.length = 0;
  const token: Extension = { name: 'one', routes: (router) => void router.postWithoutCsrf('/connect/token', () => {}) };
  await expect(startIdp({ extensions: [greeting, token] })).rejects.toMatchObject({ code: 'extension_conflict' });
  expect(closed).toEqual(['greeting']);
});

test('house §5: two extensions with the same method and path of the admin API are refused at start, by both names', async () => {
  const badgesAt = (name: string, path: string): Extension => ({
    name,
    resources: () => [
      defineOperation({
        method: 'GET',
        path: path as '/tenants/{tid}/badges/{id}',
        scope: 'idp.badges:read',
        summary: 'A badge',
        answer: Type.Object({}),
        handle: () => ({}),
      }),
    ],
  });
  // The names of parameters make no difference.
  const extensions = [badgesAt('badges', '/tenants/{tid}/badges/{id}'), badgesAt('medals', '/tenants/{tenant}/badges/{badge}')];
  await expect(startIdp({ extensions })).rejects.toMatchObject({
    code: 'extension_conflict',
    problems: [{ path: 'extensions', expected: expect.stringContaining('GET /tenants/{}/badges/{}'), received: 'badges and medals' }],
  });
  // An extension cannot duplicate an operation of the service either.
  await expect(startIdp({ extensions: [badgesAt('mine', '/tenants/{tid}/persons')] })).rejects.toMatchObject({
    code: 'extension_conflict',
    problems: [{ path: 'extensions', expected: expect.stringContaining('GET /tenants/{}/persons'), received: 'admin and mine' }],
  });
});

test('house §5: a format that nobody knows is refused at start, in a seed and in each part of an operation', async () => {
  const Day = Type.Object({ day: Type.String({ format: 'day' }) });
  const problemsOf = (extension: Omit<Extension, 'name'>) =>
    startIdp({ extensions: [{ name: 'one', ...extension }] }).then(
      () => [],
      ({ problems }: ConfigError) => problems.map(({ path, expected }) => [path, expected]),
    );
  const expected = expect.stringMatching(/^a format of .*uuid in place of 'day', or a pattern$/);
  expect(await problemsOf({ seed: { form: Day, pieces: () => [] } })).toEqual([['extensions[0].seed.form', expected]]);
  const operation = defineOperation({
    method: 'POST',
    path: '/tenants/{tid}/days',
    scope: 'idp.days:write',
    summary: 'A day',
    query: Day,
    body: Day,
    answer: Day,
    handle: () => ({ day: '' }),
  });
  expect(await problemsOf({ resources: () => [operation] })).toEqual(
    ['query', 'body', 'answer'].map((member) => [`extensions.one.resources[0].${member}`, expected]),
  );
});
