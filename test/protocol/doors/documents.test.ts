/** Section 4.1: discovery and the key set are written once for each change, and every way to them gives the same answer. */
import { request } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import type { IdentityProvider } from 'tenant-idp';
import { authorizeUrl, basic, type Json, postForm } from '../../support/client/agent.js';
import { createAssertingClient } from '../../support/client/assertions.js';
import { startIdp, type TestIdp, type TestIdpOptions } from '../../support/service/idp.js';
import { testSeed } from '../../support/service/seed.js';

const discoveryPath = '/.well-known/openid-configuration';
const keySetPath = `${discoveryPath}/jwks`;

let opened: TestIdp[] = [];
const posting = {
  id: 'posting',
  name: 'Sends its secret in the form',
  secret: 'posting-secret',
  metadata: {
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_post',
  },
  allowedScopes: ['orders.read'],
};

/** Seed without users, because nobody signs in. */
const seed = { clients: testSeed.clients, apiResources: testSeed.apiResources };
const start = async (options: TestIdpOptions = {}): Promise<TestIdp> => {
  const service = await startIdp({ seed, ...options });
  opened.push(service);
  return service;
};
afterEach(async () => {
  for (const one of opened) await one.close();
  opened = [];
});

interface Reply {
  readonly status: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** Sends these headers and no others. */
const ask = (issuer: string, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const sent = request(issuer + path, { method, headers, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      const { date: _, ...others } = answer.headers;
      answer.on('end', () => resolve({ status: answer.statusCode, headers: others, body }));
    });
    sent.on('error', reject).end();
  });

const discoveryOf = async ({ issuer }: TestIdp): Promise<Json> => JSON.parse((await ask(issuer, discoveryPath)).body);

const inKoa = (idp: IdentityProvider) => {
  const app = new Koa();
  app.use(idp.middleware());
  return app.callback();
};

describe.each([discoveryPath, keySetPath])('4.1 %s', (path) => {
  test.each<[string, string, Record<string, string>]>([
    ['GET', 'GET', {}],
    ['HEAD', 'HEAD', {}],
    ['GET from another origin', 'GET', { origin: 'https://app.example.com' }],
    ['GET by who has another', 'GET', { 'if-none-match': '"another"' }],
    ['GET that wants no cache', 'GET', { 'cache-control': 'no-cache' }],
    ['GET for a date', 'GET', { 'if-modified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }],
    ['GET with a query', 'GET', {}],
  ])('%s is the same from oidc-provider, as kept, and in a Koa app', async (name, method, headers) => {
    const own = await start();
    const target = name.endsWith('query') ? `${path}?a=b` : path;
    const { body, ...written } = await ask(own.issuer, target, method === 'HEAD' ? {} : headers);
    const expected = method === 'HEAD' ? { ...written, body: '' } : { ...written, body };
    expect(await ask(own.issuer, target, headers, method)).toEqual(expected);
    expect(await ask(own.issuer, target, headers, method)).toEqual(expected);
    expect(written.status).toBe(200);
    expect(written.headers['content-length']).toBe(String(Buffer.byteLength(body)));

    const koa = await start({ host: inKoa });
    const replies = [await ask(koa.issuer, target, {}), await ask(koa.issuer, target, headers, method)];
    // Issuers differ in the port alone.
    const lengths = replies.map((reply) => reply.headers['content-length']);
    expect(lengths).toEqual([written.headers['content-length'], written.headers['content-length']]);
    const comparable = ({ status, headers: { etag: _, ...others } }: Pick<Reply, 'status' | 'headers'>) => ({ status, others });
    expect(replies[1] && comparable(replies[1])).toEqual(comparable(written));
  });

  test('HEAD by who comes first is told the same', async () => {
    const service = await start();
    const { headers } = await ask(service.issuer, path, {}, 'HEAD');
    expect(headers).toEqual((await ask(service.issuer, path)).headers);
  });

  test('spelled otherwise, as other paths of the service may be, it is the same document', async () => {
    const service = await start();
    const spelled = [`${path}/`, path.toUpperCase(), path];
    const replies = await Promise.all(spelled.map((target) => ask(service.issuer, target)));
    for (const reply of replies) expect(reply).toEqual(replies[2]);
    const condition = { 'if-none-match': String(replies[2]?.headers.etag) };
    for (const target of spelled) expect(await ask(service.issuer, target, condition)).toMatchObject({ status: 304, body: '' });
  });

  test('RFC 9110 §9.3.7: OPTIONS tells the methods', async () => {
    const service = await start();
    expect(await ask(service.issuer, path, {}, 'OPTIONS')).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } });
  });

  test('who has it is answered 304 without a body', async () => {
    const own = await start();
    const koa = await start({ host: inKoa });
    for (const service of [own, koa]) {
      const { headers } = await ask(service.issuer, path);
      const conditions = [{ 'if-none-match': String(headers.etag) }, { 'if-none-match': `"a", W/${headers.etag}` }];
      for (const condition of conditions) {
        const reply = await ask(service.issuer, path, condition);
        expect(reply).toMatchObject({
          status: 304,
          body: '',
          headers: { etag: headers.etag, vary: 'Origin', 'access-control-allow-origin': '*' },
        });
        expect(Object.keys(reply.headers)).not.toEqual(expect.arrayContaining(['content-type']));
      }
    }
  });

  test('a host’s own headers stay', async () => {
    const service = await start({
      host: (idp) => (req, res) => {
        res.setHeader('X-Host', 'yes');
        idp.callback()(req, res);
      },
    });
    for (const _ of ['written', 'kept'])
      expect((await ask(service.issuer, path)).headers).toMatchObject({ 'x-host': 'yes', vary: 'Origin' });
  });
});

test('design §2: middleware that an extension puts about the key set runs for each request', async () => {
  const service = await start({
    extensions: [
      {
        name: 'counting',
        around: {
          jwks: () => async (ctx, next) => {
            await next();
            ctx.set('x-around', 'jwks');
          },
        },
      },
    ],
  });
  for (const _ of ['written', 'kept']) expect((await ask(service.issuer, keySetPath)).headers['x-around']).toBe('jwks');
});

describe('4.1 discovery is written once for each change', () => {
  test('the same text while nothing changes, another with a scope, and the first again without it', async () => {
    const service = await start();
    const etag = async () => (await ask(service.issuer, discoveryPath)).headers.etag;
    const before = await etag();
    await service.idp.directory.clients.update('web', { name: 'Another name' });
    await service.idp.directory.apiResources.update('orders', { name: 'Another name' });
    expect(await etag()).toBe(before);
    await service.idp.directory.apiResources.create({ id: 'ledger', name: 'Ledger', scopes: ['ledger.read'] });
    expect((await discoveryOf(service)).scopes_supported).toContain('ledger.read');
    expect(await etag()).not.toBe(before);
    await service.idp.directory.apiResources.update('ledger', { status: 'disabled' });
    expect(await etag()).toBe(before);
  });

  test('design §5: `plain` is listed while an active client may use it', async () => {
    const service = await start();
    const methods = async () => (await discoveryOf(service)).code_challenge_methods_supported;
    expect(await methods()).toEqual(['S256']);
    await service.idp.directory.clients.update('web', { allowPlainPkce: true });
    expect(await methods()).toEqual(['S256', 'plain']);
    await service.idp.directory.clients.update('web', { status: 'disabled' });
    expect(await methods()).toEqual(['S256']);
  });

  test('new keys are in the key set, and leave discovery as it is', async () => {
    const service = await start({ keys: {} });
    const etags = async () => [
      (await ask(service.issuer, discoveryPath)).headers.etag,
      (await ask(service.issuer, keySetPath)).headers.etag,
    ];
    const [discovery, keySet] = await etags();
    await service.idp.keys.rotate({ now: true });
    const [sameDiscovery, otherKeySet] = await etags();
    expect([sameDiscovery === discovery, otherKeySet === keySet]).toEqual([true, false]);
  });

  test('the languages of the pages are listed', async () => {
    const service = await start({ locales: ['nb', 'en'] });
    expect((await discoveryOf(service)).ui_locales_supported).toEqual(['nb', 'en']);
  });
});

describe('design §5: what discovery says is so', () => {
  test('RFC 8414 §2: introspection and revocation take the methods that are listed, by each of which a client gets its answer', async () => {
    const asserting = await createAssertingClient();
    const clients = [...seed.clients, asserting.seed, posting];
    const service = await start({ seed: { ...seed, clients } });
    const document = await discoveryOf(service);
    const own = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
    expect(document.introspection_endpoint_auth_methods_supported).toEqual(own);
    expect(document.revocation_endpoint_auth_methods_supported).toEqual([...own, 'none']);
    for (const endpoint of ['introspection', 'revocation'])
      expect(document[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toContain('ES256');

    const by: Record<string, () => Promise<[Record<string, string>, Record<string, string>]>> = {
      client_secret_basic: async () => [{}, { authorization: basic('service', 'service-secret') }],
      client_secret_post: async () => [{ client_id: posting.id, client_secret: posting.secret }, {}],
      private_key_jwt: async () => [await asserting.sign(service.issuer), {}],
    };
    for (const authentication of Object.values(by)) {
      const send = async (path: string, fields: Record<string, string>) => {
        const [more, headers] = await authentication();
        return postForm(`${service.issuer}/connect/${path}`, { ...fields, ...more }, headers);
      };
      const { access_token: token } = (await send('token', { grant_type: 'client_credentials', scope: 'orders.read' })).json;
      expect((await send('introspect', { token })).json).toMatchObject({ active: true });
      expect((await send('revocation', { token })).status).toBe(200);
      expect((await send('introspect', { token })).json).toEqual({ active: false });
    }
  });

  test('OpenID Connect Core §3.1.2.1: each prompt that is listed is understood, and one that is not is refused', async () => {
    const service = await start();
    const { prompt_values_supported: prompts } = await discoveryOf(service);
    expect(prompts).toEqual(expect.arrayContaining(['none', 'login', 'consent']));
    const errorOf = async (prompt: string) => {
      const url = authorizeUrl(service.issuer, { prompt, code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' });
      const location = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
      return new URL(location, service.issuer).searchParams.get('error');
    };
    // Nobody is signed in, and nobody may create an account of their own here.
    const refused: Record<string, string> = { none: 'login_required', create: 'access_denied' };
    for (const prompt of prompts) expect([prompt, await errorOf(prompt)]).toEqual([prompt, refused[prompt] ?? null]);
    for (const prompt of ['create', 'select_account'].filter((name) => !prompts.includes(name)))
      expect([prompt, await errorOf(prompt)]).toEqual([prompt, 'invalid_request']);
  });
});
