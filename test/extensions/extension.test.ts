/** design §2: an extension is one plain object. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Extension, ExtensionContext } from 'tenant-idp';
import { startIdp, type TestIdp } from '../support/idp.js';

const closed: string[] = [];

const greeting: Extension = {
  name: 'greeting',
  routes(router, { issuer }) {
    router.get('/idp/greeting', (ctx) => {
      ctx.body = { hello: issuer };
    });
  },
  discovery: ({ url }) => ({ greeting_endpoint: url('/idp/greeting') }),
  around: {
    introspection: () => async (ctx, next) => {
      await next();
      ctx.set('x-around', 'introspection');
    },
  },
  close: async () => void closed.push('greeting'),
};

describe('an extension', () => {
  let it: TestIdp;
  beforeAll(async () => {
    it = await startIdp({ extensions: [greeting] });
  });
  afterAll(() => it.close());

  test('design §2: adds routes, members of discovery, and middleware about an endpoint', async () => {
    const route = await fetch(`${it.issuer}/idp/greeting`);
    expect(await route.json()).toEqual({ hello: it.issuer });
    const discovery = await (await fetch(`${it.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({ greeting_endpoint: `${it.issuer}/idp/greeting` });
    const introspection = await fetch(`${it.issuer}/connect/introspect/`, { method: 'POST' });
    expect(introspection.headers.get('x-around')).toBe('introspection');
    const token = await fetch(`${it.issuer}/connect/token`, { method: 'POST' });
    expect(token.headers.get('x-around')).toBeNull();
  });
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

  test.each<[string, Extension[], RegExp]>([
    ['a route', [route('one', '/idp/same'), route('two', '/idp/same')], /GET \/idp\/same.*one and two/],
    ['a route of the protocol', [route('one', '/connect/token')], /\/connect\/token.*the protocol and one/],
    [
      'a member of discovery',
      [greeting, { name: 'other', discovery: greeting.discovery as never }],
      /greeting_endpoint.*greeting and other/,
    ],
    ['the pages', [pages('one')], /shows pages.*sign-in and one/],
    ['an endpoint that does not exist', [{ name: 'one', around: { nowhere: () => async () => {} } }], /in around of one.*nowhere/],
  ])('%s', async (_, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toThrow(message);
  });
});
