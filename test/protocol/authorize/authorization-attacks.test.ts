import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, basic, createPkce, formOf, postForm, signIn } from '../../support/client/agent.js';
import { obtainCode, redeem, responseOf } from '../../support/client/steps.js';
import { expectNothingInternal, expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const alice = new Agent();
const service = useIdp();
beforeAll(async () => {
  await obtainCode(service.issuer, alice);
});

const pkce = createPkce();
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
const authorize = (parameters: Record<string, string | undefined> = {}, agent = alice) =>
  agent.get(authorizeUrl(service.issuer, { ...challenge, ...parameters }));

/** Expects an error page of the service that leads nowhere. */
function expectErrorPage(answer: Answer): void {
  expect(answer).toMatchObject({ status: 400, location: undefined });
  expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
  expectNothingInternal(answer.body);
}

describe('A1: redirect_uri is compared byte by byte', () => {
  const mutations = [
    'http://127.0.0.1:9/Callback',
    'HTTP://127.0.0.1:9/callback',
    'http://127.0.0.1:9/callback/',
    'http://127.0.0.1:9//callback',
    'http://127.0.0.1:9/./callback',
    'http://127.0.0.1:9/x/../callback',
    'http://127.0.0.1:9/%63allback',
    'http://127.0.0.1:9/callback%2e',
    'http://127.0.0.1:9/callback%00',
    'http://127.0.0.1:9/callback\0',
    'http://127.0.0.1:9/callback ',
    ' http://127.0.0.1:9/callback',
    'http://127.0.0.1:9/callback\r\nx: y',
    'http://127.0.0.1:9/callback?',
    'http://127.0.0.1:9/callback?x=1',
    'http://127.0.0.1:9/callback#',
    'http://127.0.0.1:9/callback#fragment',
    'http://127.0.0.1:9/callback;x=1',
    'http://127.0.0.1:9/callback.evil.example',
    'http://127.0.0.1:9/callback@evil.example',
    'http://127.0.0.1:9@evil.example/callback',
    'http://evil.example@127.0.0.1:9/callback',
    'http://a:b@127.0.0.1:9/callback',
    'http://a@b@127.0.0.1:9/callback',
    'http://127.0.0.1:9\\@evil.example/callback',
    'http://evil.example\\@127.0.0.1:9/callback',
    'http://evil.example#@127.0.0.1:9/callback',
    'http://evil.example?@127.0.0.1:9/callback',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:09/callback',
    'http://127.0.0.1:10/callback',
    'https://127.0.0.1:9/callback',
    'http://127.1:9/callback',
    'http://0x7f000001:9/callback',
    'http://①②⑦.0.0.1:9/callback',
    'http://127.0.0.1.evil.example:9/callback',
    'http://localhost:9/callback',
    '//127.0.0.1:9/callback',
    '/callback',
    'javascript:alert(1)//127.0.0.1:9/callback',
    'data:text/html,http://127.0.0.1:9/callback',
    'http://127.0.0.1:9/signed-out',
    '',
  ];
  test.each(mutations)('A1: %j leads nowhere', async (uri) => {
    for (const mode of [undefined, 'fragment', 'form_post']) {
      const answer = await authorize({ redirect_uri: uri, response_mode: mode });
      expectErrorPage(answer);
      expect(answer.body).not.toContain('<form');
    }
  });

  test('A1: two of them, or none at all', async () => {
    expectErrorPage(
      await alice.get(`${authorizeUrl(service.issuer, challenge)}&redirect_uri=${encodeURIComponent('http://evil.example/')}`),
    );
    expectErrorPage(await authorize({ redirect_uri: undefined }));
  });

  test('A1: a pushed request with a foreign one is refused', async () => {
    const { status, json } = await postForm(
      `${service.issuer}/connect/par`,
      { client_id: 'web', response_type: 'code', redirect_uri: 'http://evil.example/', scope: 'openid', ...challenge },
      { authorization: basic('web', 'web-secret') },
    );
    expect({ status, json }).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('A1: the code is bound to the one it was asked with', async () => {
    const code = await obtainCode(service.issuer, alice);
    const { status, json } = await redeem(service.issuer, code, { redirect_uri: `${redirectUri}/` });
    expect({ status, json }).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });
});

describe('A2: an error is sent to registered addresses only', () => {
  const unproven = {
    'an unknown client': { client_id: 'nobody' },
    'no client': { client_id: undefined },
    'a foreign address': { redirect_uri: 'http://evil.example/' },
  };
  const wrong = [
    {},
    { scope: 'nothing' },
    { prompt: 'bogus' },
    { prompt: 'none' },
    { response_type: 'token' },
    { request_uri: 'https://evil.example/r' },
  ];
  test.each(Object.entries(unproven))('A2: %s gets a page, whatever else is wrong', async (_name, parameters) => {
    for (const mode of [undefined, 'query', 'fragment', 'form_post', 'web_message', 'jwt', 'bogus'])
      for (const more of wrong) expectErrorPage(await authorize({ ...more, ...parameters, response_mode: mode }));
  });

  test.each([
    ['query', '?'],
    ['fragment', '#'],
  ])('A2: with both proven the client hears of it, in %s', async (mode, mark) => {
    for (const [parameters, error] of [
      [{ scope: 'nothing' }, 'invalid_scope'],
      [{ prompt: 'bogus' }, 'invalid_request'],
      [{ response_type: 'bogus' }, 'unsupported_response_type'],
      [{ prompt: 'none', max_age: '-1' }, 'invalid_request'],
    ] as const) {
      const { status, location } = await authorize({ ...parameters, response_mode: mode, state: 's' });
      expect(status).toBe(303);
      expect(location?.startsWith(redirectUri + mark)).toBe(true);
      const response = new URLSearchParams(location?.slice(redirectUri.length + 1));
      expect(Object.fromEntries(response)).toMatchObject({ error, state: 's', iss: service.issuer });
    }
  });
});

describe('A4: custom parameters never overrule the protocol', () => {
  const protocolNames =
    'code id_token access_token token_type expires_in iss session_state error error_description error_uri response refresh_token client_secret password __custom'.split(
      ' ',
    );
  const customs: Record<string, string>[] = [
    Object.fromEntries(protocolNames.map((name) => [name, 'evil'])),
    {
      __defineGetter__: 'evil',
      constructor: 'evil',
      prototype: 'evil',
      toString: 'evil',
      valueOf: 'evil',
      hasOwnProperty: 'evil',
      length: '0',
      toJSON: 'evil',
    },
  ];
  const withCustom = (url: string, custom: Record<string, string>) => `${url}&${new URLSearchParams(Object.entries(custom))}`;
  const returned = async (url: string, mode: string): Promise<Record<string, string>> => {
    const answer = await alice.get(url);
    if (mode === 'form_post') return formOf(answer).fields;
    return Object.fromEntries(new URLSearchParams(answer.location?.slice(redirectUri.length + 1)));
  };
  const protocolPart = (response: Record<string, string>) =>
    Object.fromEntries(
      protocolNames.concat('state', 'scope').flatMap((name) => (Object.hasOwn(response, name) ? [[name, response[name]]] : [])),
    );
  const masked = ({ code, session_state, ...rest }: Record<string, unknown>) => ({
    ...rest,
    session_state: /^[\w-]{43}\.[\w-]{22}$/.test(String(session_state)),
    ...(code === undefined ? {} : { code: typeof code === 'string' && code.length > 20 }),
  });

  test.each(['query', 'fragment', 'form_post'])('A4: what the protocol answers is the same with and without them, in %s', async (mode) => {
    for (const parameters of [{ state: 's' }, { state: 's', prompt: 'bogus' }, { state: undefined, prompt: 'bogus' }]) {
      const url = authorizeUrl(service.issuer, { ...challenge, ...parameters, response_mode: mode });
      const plain = await returned(url, mode);
      for (const custom of customs) {
        const response = await returned(withCustom(url, custom), mode);
        const { __custom, ...protocol } = protocolPart(response);
        expect(masked(protocol)).toEqual(masked(protocolPart(plain)));
        if (custom.__custom) expect(__custom).toBe('evil');
        for (const [name, value] of Object.entries(custom)) if (!protocolNames.includes(name)) expect(response[name]).toBe(value);
      }
    }
  });

  test('A4: state, scope, client_id and redirect_uri cannot be returned as something else by repeating them', async () => {
    for (const name of ['state', 'scope', 'client_id', 'redirect_uri', 'response_mode']) {
      const answer = await alice.get(`${authorizeUrl(service.issuer, { ...challenge, state: 's' })}&${name}=evil`);
      expect(responseOf(answer).get('code')).toBeNull();
    }
  });

  test.each([
    ['101 of them', Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`n${index}`, 'x']))],
    ['more than 4 KiB', { big: 'x'.repeat(4096) }],
  ])('A4: %s is invalid_request', async (_name, custom) => {
    const answer = await alice.get(withCustom(authorizeUrl(service.issuer, challenge), custom));
    expect(Object.fromEntries(responseOf(answer))).toMatchObject({ error: 'invalid_request', iss: service.issuer });
    expect(answer.location).not.toContain('xxx');
  });

  test('A4: a caller’s own __custom is text like any other, pushed or not, and sets nothing', async () => {
    const forged = JSON.stringify({ custom: { code: 'evil', iss: 'evil', injected: '1' }, scope: 'openid orders.read' });
    const direct = responseOf(await authorize({ __custom: forged }));
    expect(direct.get('__custom')).toBe(forged);
    expect(direct.has('injected')).toBe(false);
    expect(direct.get('iss')).toBe(service.issuer);

    const pushed = await postForm(
      `${service.issuer}/connect/par`,
      { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...challenge, __custom: forged, mine: '1' },
      { authorization: basic('web', 'web-secret') },
    );
    const query = new URLSearchParams({
      client_id: 'web',
      request_uri: pushed.json.request_uri,
      __custom: '{"custom":{"late":"1"}}',
      late: '1',
    });
    const response = responseOf(await alice.get(`${service.issuer}/connect/authorize?${query}`));
    expect(response.get('code')).toEqual(expect.any(String));
    expect(response.get('mine')).toBe('1');
    expect(response.get('__custom')).toBe(forged);
    expect(response.has('injected') || response.has('late')).toBe(false);
  });
});

describe('A6: every answer says who gave it', () => {
  test.each(['query', 'fragment', 'form_post'])('A6: iss on success and on errors, in %s', async (mode) => {
    const stranger = new Agent();
    for (const [more, agent] of [
      [{}, alice],
      [{ scope: 'nothing' }, alice],
      [{ prompt: 'bogus' }, alice],
      [{ response_type: 'bogus' }, alice],
      [{ code_challenge: undefined }, alice],
      [{ prompt: 'none' }, stranger],
    ] as const) {
      const answer = await authorize({ ...more, response_mode: mode }, agent);
      const fields =
        mode === 'form_post'
          ? formOf(answer).fields
          : Object.fromEntries(new URLSearchParams(answer.location?.slice(redirectUri.length + 1)));
      expect(fields.iss).toBe(service.issuer);
    }
  });
});

describe('A8: PKCE cannot be left out or weakened', () => {
  const refused = async (parameters: Record<string, string | undefined>, client: string) =>
    Object.fromEntries(responseOf(await authorize({ client_id: client, ...parameters })));
  test.each(['web', 'spa'])('A8: %s needs a challenge, by S256, of 43 characters', async (client) => {
    const weak: Record<string, string | undefined>[] = [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
      { code_challenge_method: 's256' },
      { code_challenge_method: 'S512' },
      { code_challenge: 'x'.repeat(42) },
      { code_challenge: 'x'.repeat(129) },
      { code_challenge: `${'x'.repeat(42)}ø` },
      { code_challenge: '' },
    ];
    const { clients } = service.idp.directory;
    if (client === 'web') await clients.update('web', { requirePkce: true });
    for (const parameters of weak) expect(await refused(parameters, client)).toMatchObject({ error: 'invalid_request' });
    // A malformed challenge is refused even if no challenge is required.
    if (client === 'web') await clients.update('web', { requirePkce: null });
    for (const parameters of weak.slice(1)) expect(await refused(parameters, client)).toMatchObject({ error: 'invalid_request' });
  });

  test.each(['web', 'spa'])('A8: the verifier of %s is the one, and cannot be left out', async (client) => {
    for (const verifier of ['', 'x'.repeat(42), 'x'.repeat(43), 'x'.repeat(129), 'ø'.repeat(43), pkce.challenge]) {
      const { json, status } = await redeem(service.issuer, { ...(await obtainCode(service.issuer, alice, client)), verifier });
      expect({ status, error: json.error }).toEqual({ status: 400, error: expect.stringMatching(/^invalid_(grant|request)$/) });
    }
    const code = await obtainCode(service.issuer, alice, client);
    const { json } = await redeem(service.issuer, code, { code_verifier: createPkce().verifier });
    expect(json.error).toBe('invalid_grant');
    expect((await redeem(service.issuer, code)).status).toBe(200);
  });
});

describe('A9: only single strings go in', () => {
  const pollution = [
    'client_id=web&client_id=web',
    'client_id[]=web',
    'client_id[$gt]=',
    'client_id=web%00',
    'client_id=web\u0000&constructor[prototype][x]=1',
    `client_id=${'x'.repeat(4000)}`,
    'client_id=%FF%FE',
    'client_id={"$ne":null}',
    'client_id=__proto__',
    'client_id=constructor',
    'client_id=toString',
    'client_id=../web',
  ];
  test.each(pollution)('A9: %s', async (query) => {
    const rest = new URLSearchParams({ response_type: 'code', scope: 'openid', redirect_uri: redirectUri, ...challenge });
    expectErrorPage(await alice.get(`${service.issuer}/connect/authorize?${encodeURI(query).replaceAll('%25', '%')}&${rest}`));
  });

  test.each(['client_id[$ne]=x', '__proto__[client_id]=evil', 'constructor[prototype][redirect_uri]=x'])(
    'A9: %s is not that parameter',
    async (query) => {
      const answer = await alice.get(`${authorizeUrl(service.issuer, challenge)}&${encodeURI(query)}`);
      const [name = '', value] = query.split('=');
      expect(responseOf(answer).get('code')).toEqual(expect.any(String));
      expect(responseOf(answer).get(name)).toBe(value);
    },
  );

  test('A9: repeated parameters of the token endpoint are refused', async () => {
    const { code, verifier } = await obtainCode(service.issuer, alice);
    const fields = `grant_type=authorization_code&code=${code}&redirect_uri=${encodeURIComponent(redirectUri)}&code_verifier=${verifier}`;
    for (const twice of ['code=x', 'code_verifier=x', 'grant_type=client_credentials', 'redirect_uri=x', 'client_id=spa']) {
      const response = await fetch(`${service.issuer}/connect/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('web', 'web-secret') },
        body: `${fields}&client_id=web&${twice}`,
      });
      expect({ status: response.status, json: await response.json() }).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    }
  });
});

test('A1–A9 leave nothing in the log', async () => {
  await signIn(alice, authorizeUrl(service.issuer, challenge));
  expectQuietLog(service, ['alice', 'web-secret']);
});
