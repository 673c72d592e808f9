/** Design §8, threat L5: log lines of requests at info: the client, the refusal and its reason, and no secret. */
import { inspect } from 'node:util';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, obtainTokens, postForm } from '../support/client/agent.js';
import { authorizationOf, introspect, obtainCode, redeem, refresh, revoke, userinfo } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import type { Line } from '../support/service/kept-log.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({ path: '/login', trustProxy: 1 });

beforeEach(() => {
  service.lines.length = 0;
});

const told = (message: string): Line[] => service.lines.filter((line) => line.message === message);
const requestId = expect.stringMatching(/^[\da-f]{12}$/);
const request = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });

describe('design §8: refused requests', () => {
  test('a client that did not prove who it is: the id that it sent, and the reason', async () => {
    const wrong = { authorization: `Basic ${Buffer.from('web:not-the-secret').toString('base64')}` };
    await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, wrong);
    await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('nobody'));
    const [known, unknown] = told('request refused');
    expect(known).toMatchObject({
      level: 'info',
      fields: { requestId, status: 401, error: 'invalid_client', endpoint: 'token', client: 'web', path: '/connect/token', method: 'POST' },
    });
    expect(known?.fields.reason).toMatch(/secret/);
    expect(unknown?.fields).toMatchObject({ error: 'invalid_client', client: 'nobody', reason: 'the client is unknown' });
  });

  test('an authorization request, by redirect and by page; the page has the id of the line', async () => {
    await new Agent().get(request({ scope: 'openid no-such-scope', acr_values: 'tenant:somewhere' }));
    const page = await new Agent().get(request({ redirect_uri: 'https://elsewhere.test/' }));
    const [redirected, shown] = told('request refused');
    expect(redirected?.fields).toMatchObject({ requestId, error: 'invalid_scope', client: 'web', tenant: 'somewhere' });
    expect(shown?.fields).toMatchObject({ requestId, error: 'invalid_redirect_uri', client: 'web' });
    expect(page.body).toContain(shown?.fields.requestId);
  });

  test('scope introspection', async () => {
    await postForm(`${service.issuer}/connect/scope/introspect`, { sub: 'nobody' }, authorizationOf('orders'));
    expect(told('request refused')[0]?.fields).toMatchObject({ requestId, status: 404, error: 'not_found', client: 'orders' });
  });

  test('behind a trusted proxy its request id is taken, if it is one', async () => {
    const ask = (id: string) =>
      postForm(`${service.issuer}/connect/token`, { grant_type: 'x' }, { ...authorizationOf('web'), 'x-request-id': id });
    await ask('0af7651916cd43dd8448eb211c80319c');
    await ask('two words');
    await ask('x'.repeat(65));
    expect(told('request refused').map(({ fields }) => fields.requestId)).toEqual([
      '0af7651916cd43dd8448eb211c80319c',
      requestId,
      requestId,
    ]);
    const open = await startIdp();
    await postForm(`${open.issuer}/connect/token`, { grant_type: 'x' }, { ...authorizationOf('web'), 'x-request-id': 'of-somebody-else' });
    expect(open.lines.filter(({ message }) => message === 'request refused').map(({ fields }) => fields.requestId)).toEqual([requestId]);
    await open.close();
  });
});

describe('design §8: sign-ins', () => {
  test('good ones and bad ones, with client and tenant, and no name that was typed', async () => {
    const agent = new Agent();
    const identifier = await agent.follow(await agent.get(request()));
    const password = await agent.submit(identifier, { identifier: 'carol@acme.test' });
    const again = await agent.submit(password, { password: 'not hers' });
    await agent.submit(again, { password: 'carol' });
    expect(told('sign-in refused')).toEqual([
      {
        level: 'info',
        fields: { requestId, reason: 'credentials.mismatch', client: 'web', tenant: undefined },
        message: 'sign-in refused',
      },
    ]);
    expect(told('signed in')).toMatchObject([
      {
        level: 'info',
        fields: { requestId, client: 'web', tenant: expect.any(String), user: expect.any(String), amr: ['pwd'], idp: 'local' },
      },
    ]);
    expect(inspect(service.lines, { depth: 9 })).not.toMatch(/carol|not hers/);
  });
});

describe('design §8: requests below the path of the issuer that reach no route', () => {
  test('are told once for each path, without what may be a token; others are not', async () => {
    const paths = ['/connect/tokne?code=canary', '/connect/tokne', '/reset/4f9d8e7c6b5a49382716', '/'];
    for (const path of paths) expect((await fetch(service.issuer + path)).status).toBe(404);
    expect((await fetch(new URL('/elsewhere', service.issuer))).status).toBe(404);
    expect(told('no route answers this path').map(({ level, fields }) => [level, fields])).toEqual([
      ['info', { method: 'GET', path: '/login/connect/tokne' }],
      ['info', { method: 'GET', path: '/login/reset/…' }],
      ['info', { method: 'GET', path: '/login/' }],
    ]);
  });
});

describe('L5: canaries of what is secret', () => {
  test('are in no line at any level, however they are sent', async () => {
    const secrets: string[] = ['web-secret', 'alice'];
    const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    const { verifier, challenge } = createPkce();
    const code = await obtainCode(service.issuer, agent, 'web', { scope: 'openid offline_access' });
    secrets.push(tokens.access_token, tokens.refresh_token, tokens.id_token, verifier, challenge, code.code, code.verifier);
    for (const { value } of [...agent.cookies.values()] as unknown as { value: string }[]) if (value?.length > 16) secrets.push(value);
    const canary = (name: string) => {
      const secret = `canary-${name}-5e0c1f`;
      secrets.push(secret);
      return secret;
    };
    const form = async (path: string, fields: Record<string, string>, headers: Record<string, string> = authorizationOf('web')) =>
      postForm(`${service.issuer}${path}`, fields, headers);

    await redeem(service.issuer, { ...code, verifier: canary('verifier').padEnd(43, 'x') });
    await redeem(service.issuer, code);
    await redeem(service.issuer, code);
    await refresh(service.issuer, canary('refresh'));
    await refresh(service.issuer, tokens.refresh_token);
    await introspect(service.issuer, canary('token'));
    await revoke(service.issuer, canary('revoked'));
    await userinfo(service.issuer, canary('bearer'));
    const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` });
    await form('/connect/token', { grant_type: 'client_credentials' }, basic('web', canary('secret')));
    await form('/connect/token', { grant_type: 'client_credentials' }, basic(canary('secret-as-id-which-is-as-long-as-secrets-are'), 'x'));
    await form('/connect/token', { grant_type: 'client_credentials', client_id: 'web', client_secret: canary('posted') }, {});
    await form('/connect/token', { grant_type: 'client_credentials', client_assertion: canary('assertion'), client_id: 'web' }, {});
    await form('/connect/token', { grant_type: canary('grant-type') });
    await form('/connect/par', { client_id: 'web', request: canary('request-object') });
    await form('/connect/scope/introspect', { sub: canary('sub') }, basic('orders', canary('api-secret')));
    await fetch(`${service.issuer}/connect/token?client_secret=${canary('in-query')}`);
    await fetch(`${service.issuer}/connect/nowhere/${canary('in-path-that-nobody-serves')}?token=${canary('unrouted-query')}`);
    for (const name of [
      'state',
      'nonce',
      'login_hint',
      'id_token_hint',
      'request',
      'request_uri',
      'login_hint_token',
      'scope',
      'prompt',
      'claims',
    ])
      await new Agent().get(request({ [name]: canary(name) }));
    await new Agent().get(request({ redirect_uri: `https://elsewhere.test/?${canary('redirect')}` }));
    const browser = new Agent();
    const page = await browser.follow(await browser.get(request()));
    const password = await browser.submit(page, { identifier: canary('typed-in-the-wrong-field') });
    await browser.submit(password, { password: canary('password') });
    await browser.submit(password, { password: 'x', csrf: canary('csrf') });
    await browser.get(`${service.issuer}/idp/interaction/${canary('uid')}`);
    secrets.push(/[?&/]([\w-]{20,})/.exec(page.url)?.[1] ?? 'no uid');

    expect(service.lines.length).toBeGreaterThan(20);
    const text = inspect(service.lines, { depth: 20, maxStringLength: null, maxArrayLength: null, showHidden: true });
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });
});
