import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, postForm } from '../support/client/agent.js';
import { rawRequest } from '../support/client/raw-request.js';
import { authorizationOf, obtainCode, responseOf } from '../support/client/steps.js';
import { expectNothingInternal, expectQuietLog } from '../support/service/leaks.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const alice = new Agent();
const service = useIdp();
beforeAll(async () => {
  await obtainCode(service.issuer, alice);
});

const url = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
const authorization = () => authorizationOf('web').authorization as string;
const endpoints = ['token', 'introspect', 'revocation', 'par', 'scope/introspect'];
const urlencoded = 'application/x-www-form-urlencoded';
const post = (path: string, body: string, type: string, headers: Record<string, string> = {}): Promise<Answer> =>
  new Agent({ accept: '*/*' }).request(`${service.issuer}/connect/${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': type, authorization: authorization(), ...headers },
  });

/** Expects an OAuth error that tells only the client what is wrong. */
function expectOAuthError({ status, body, headers }: Answer, allowed: readonly number[] = [400]): void {
  expect(allowed).toContain(status);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect(JSON.parse(body)).toMatchObject({ error: expect.stringMatching(/^[a-z_]+$/) });
  expectNothingInternal(body, ['web-secret']);
}

describe.each(endpoints)('bodies at /connect/%s', (path) => {
  test('another type than a form is refused', async () => {
    for (const [type, body] of [
      ['application/json', '{"token":"x"}'],
      ['application/json', '{"token":'],
      ['application/json', '{"__proto__":{"token":"x"}}'],
      ['text/plain', 'token=x'],
      ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="token"\r\n\r\nx\r\n--x--'],
      ['multipart/form-data', 'x'],
      ['bogus', 'token=x'],
      ['', 'token=x'],
    ] as const)
      expectOAuthError(await post(path, body, type), [400, 415]);
  });

  test('a form that is none is refused', async () => {
    for (const body of [
      '',
      '%',
      '%zz=%zz',
      '&&&===',
      '\0',
      'token',
      '=x',
      `${'a=1&'.repeat(2000)}`,
      `token[${'x]['.repeat(500)}]=1`,
      '__proto__=x&constructor=y',
      'token=x&token=y',
    ])
      expectOAuthError(await post(path, body, urlencoded));
  });

  test('a body of more than 56 KiB is refused', async () => {
    expectOAuthError(await post(path, `token=${'x'.repeat(57 * 1024)}`, urlencoded), [400, 413]);
  });

  test('a charset or an encoding that nobody knows is refused', async () => {
    for (const type of [`${urlencoded}; charset=utf-7`, `${urlencoded}; charset=bogus`]) {
      const answer = await post(path, 'token=x', type);
      expect(answer.status).toBeLessThan(500);
      expectNothingInternal(answer.body);
    }
    const answer = await post(path, 'token=x', urlencoded, { 'content-encoding': 'bogus' });
    expect(answer.status).toBeLessThan(500);
  });
});

describe('the authorization endpoint', () => {
  test.each(['query', 'fragment', 'form_post'])('a state of 2 KiB comes back unmodified, in %s', async (mode) => {
    const state = ['ø"<>&\'+%20 \t', 'x'.repeat(2000), '€=;'].join('');
    for (const more of [{}, { scope: 'nothing' }]) {
      const answer = await alice.get(url({ state, response_mode: mode, ...more }));
      const fields =
        mode === 'form_post'
          ? formOf(answer).fields
          : Object.fromEntries(new URLSearchParams(answer.location?.slice(redirectUri.length + 1)));
      expect(fields.state).toBe(state);
    }
  });

  test('what is not understood is refused where the client hears it', async () => {
    for (const [parameters, error] of [
      [{ response_type: 'bogus' }, 'unsupported_response_type'],
      [{ response_mode: 'bogus' }, 'unsupported_response_mode'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ max_age: 'x' }, 'invalid_request'],
      [{ max_age: '-1' }, 'invalid_request'],
      [{ id_token_hint: 'x' }, 'invalid_request'],
      [{ id_token_hint: 'a.b.c' }, 'invalid_request'],
      [{ scope: 'openid nothing' }, 'invalid_scope'],
      [{ scope: 'openid "' }, 'invalid_scope'],
      [{ request: 'a.b.c' }, 'invalid_request_object'],
      [{ request_uri: 'https://evil.example/request' }, 'invalid_request_uri'],
      [{ registration: '{}' }, 'registration_not_supported'],
      [{ claims: '{' }, undefined],
      [{ acr_values: 'tenant:'.repeat(500) }, undefined],
      [{ ui_locales: '../../etc/passwd' }, undefined],
      [{ login_hint: '\0'.repeat(100) }, undefined],
    ] as [Record<string, string>, string | undefined][]) {
      const answer = await alice.get(url(parameters));
      expect({ parameters, status: answer.status < 500 }).toEqual({ parameters, status: true });
      const text = `${answer.location} ${answer.body}`;
      if (error) expect({ parameters, text }).toEqual({ parameters, text: expect.stringContaining(error) });
      expectNothingInternal(answer.body);
    }
  });

  test('a pushed reference that is unknown, malformed or of another client is refused', async () => {
    const pushed = await postForm(
      `${service.issuer}/connect/par`,
      {
        client_id: 'web',
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      },
      authorizationOf('web'),
    );
    const urn = 'urn:ietf:params:oauth:request_uri:';
    for (const [client, reference] of [
      ['web', urn],
      ['web', `${urn}x`],
      ['web', `${urn}${'A'.repeat(44)}`],
      ['web', `${urn}../../x`],
      ['web', `${urn}%00`],
      ['jwt', pushed.json.request_uri],
      ['nobody', pushed.json.request_uri],
    ] as const) {
      const answer = await alice.get(
        `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client, request_uri: reference })}`,
      );
      expect(answer.status).toBeLessThan(500);
      expect(responseOf(answer).get('code')).toBeNull();
      expectNothingInternal(answer.body);
    }
  });
});

describe('any route', () => {
  const paths = [
    '/connect/authorize/%zz',
    '/connect/authorize/%00',
    '/connect/authorize/..%2f..%2f',
    `/connect/authorize/${'x'.repeat(5000)}`,
    '/connect/authorize/__proto__',
    `/connect/authorize/${'A'.repeat(43)}?client_id=web&response_type=code&redirect_uri=${encodeURIComponent(redirectUri)}&__custom=x`,
    '/idp/interaction/%E0%A4%A',
    '/idp/interaction/%zz/password',
    '/idp/interaction/..%2f..',
    `/idp/interaction/${'x'.repeat(5000)}`,
    '/idp/interaction/__proto__/restart',
    '/idp/',
    '/idp',
    '/connect/',
    '/CONNECT/TOKEN',
    '/connect/token/',
    '/connect//token',
    '//connect/token',
    '/connect/endsession/confirm',
    '/connect/endsession/success?client_id=__proto__',
    '/connect/endsession?id_token_hint=a.b.c',
    '/.well-known/openid-configuration/',
    '/.well-known/openid-configuration/jwks/x',
    '/.well-known/oauth-authorization-server',
    '/?%',
    '/connect/userinfo?%zz=%zz',
  ];
  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
    '%s of anything is answered, and is no accident',
    async (method) => {
      for (const path of [...paths, ...endpoints.map((name) => `/connect/${name}`), '/connect/userinfo', '/connect/authorize']) {
        const answer = await rawRequest(service.issuer, [`${method} ${path} HTTP/1.1`, 'Host: x', 'Accept: text/html']);
        expect({ method, path, ok: answer.status >= 200 && answer.status < 500 }).toEqual({ method, path, ok: true });
        expectNothingInternal(answer.body.replaceAll(path, ''));
      }
    },
  );

  test('hostile cookies and headers are no accident', async () => {
    const values = ['x', '', '"', '%', '__proto__', 'x'.repeat(4000), '../../x', 'a'.repeat(54), '{"$ne":1}'];
    for (const name of ['idp.session', 'idp.interaction', 'idp.resume', 'idp.restart', 'idp.session.sig'])
      for (const value of values)
        for (const path of [
          `/connect/authorize${new URL(url()).search}`,
          '/idp/interaction/AAAAAAAAAAAAAAAAAAAAA',
          '/idp/interaction/AAAAAAAAAAAAAAAAAAAAA/restart',
          '/connect/endsession',
          '/connect/authorize/AAAAAAAAAAAAAAAAAAAAA',
        ]) {
          const { status, body } = await rawRequest(service.issuer, [
            `GET ${path} HTTP/1.1`,
            'Host: x',
            `Cookie: ${name}=${value}; ${name}.sig=${value}`,
          ]);
          expect({ name, value, path, ok: status < 500 }).toEqual({ name, value, path, ok: true });
          expectNothingInternal(body);
        }
    for (const header of [
      'Accept: */*;q=x',
      'Accept-Language: *;q=\u00e9',
      'Content-Type: ;',
      'Authorization: \x01',
      'X-Forwarded-For: \u0001,,,',
      'Content-Encoding: x',
      'Transfer-Encoding: x',
      'Origin: \u00e9',
    ]) {
      const { status } = await rawRequest(service.issuer, [`GET /connect/authorize${new URL(url()).search} HTTP/1.1`, 'Host: x', header]);
      expect({ header, ok: status < 500 || status === 501 }).toEqual({ header, ok: true });
    }
  });
});

describe('the sign-in forms', () => {
  test('a form that is none, or too big, is refused with a page', async () => {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(url()));
    const { action, fields } = formOf(page);
    const csrf = fields.csrf as string;
    for (const body of [
      '',
      '%',
      `csrf=${csrf}&csrf=${csrf}&identifier=x`,
      `csrf=${csrf}&identifier=x&identifier=y`,
      `csrf=${csrf}&identifier[$ne]=x`,
      `csrf=${csrf}&identifier=${'x'.repeat(60 * 1024)}`,
    ]) {
      const answer = await agent.request(action, { method: 'POST', body, headers: { 'content-type': urlencoded } });
      expect([400, 403, 413]).toContain(answer.status);
      expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
      expectNothingInternal(
        answer.body,
        [csrf.slice(0, 20)].filter(() => answer.status === 403),
      );
    }
    expect((await agent.get(page.url)).status).toBe(200);
  });

  test('a form in an encoding that it is not in is refused', async () => {
    for (const encoding of ['gzip', 'deflate', 'br']) {
      const headers = { 'content-type': urlencoded, 'content-encoding': encoding };
      const { status, body } = await new Agent().request(`${service.issuer}/idp/interaction/x/identifier`, {
        method: 'POST',
        body: 'csrf=x',
        headers,
      });
      expect(status).toBe(400);
      expectNothingInternal(body);
    }
  });
});

test('none of it is in the log', () => expectQuietLog(service, ['web-secret']));
