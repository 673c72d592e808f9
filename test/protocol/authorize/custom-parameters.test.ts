/**
 * Service specification 4.2, Custom parameters: additional parameters are returned unmodified, by every way of a request, in every response
 * mode, on success and on error.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { Agent, type Answer, authorizeUrl, createPkce, obtainTokens } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { discover } from '../../support/client/relying-party.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { type Parameters, sendBy, type Way, ways } from '../../support/client/ways.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const modes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'];
let client: SigningClient;
let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  client = await createSigningClient('all');
  await service.idp.directory.clients.create(client.record);
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const { challenge } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
const protocol = {
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 's',
  ...pkce,
};

/**
 * Returns the pairs of a response from its form, query or fragment. A signed response gives the members of its JWT, with lists unchanged.
 */
function pairsOf({ location, body }: Answer): [string, unknown][] {
  const inputs = [...body.matchAll(/<(?:input type="hidden"|textarea) name="([^"]*)"(?: value="([^"]*)"| hidden>\n([^<]*))/g)];
  const unescaped = (text = '') => text.replace(/&(?:quot|lt|gt|amp|#39);/g, (entity) => entities[entity as '&lt;']);
  const { search, hash } = new URL(location ?? redirectUri);
  const pairs = location === undefined ? inputs.map(([, name, value, text]) => [unescaped(name), unescaped(value ?? text)]) : undefined;
  const sent = pairs ?? [...new URLSearchParams(hash === '' ? search : hash.slice(1))];
  const [[name, response] = []] = sent;
  return name === 'response' ? Object.entries(decodeJwt(String(response))) : (sent as [string, string][]);
}
const entities = { '&quot;': '"', '&lt;': '<', '&gt;': '>', '&amp;': '&', '&#39;': "'" };

const send = async (way: Way, custom: Parameters, more: Record<string, string> = {}, agent = alice) =>
  agent.follow(await sendBy(way, { issuer: service.issuer, client, agent }, { ...protocol, ...more }, custom));

/** Names that the protocol itself uses in plain and in signed responses. */
const own = new Set('code state scope session_state iss error error_description aud exp'.split(' '));
const customOf = (answer: Answer) => pairsOf(answer).filter(([name]) => !own.has(name));
const errorOf = (answer: Answer) => Object.fromEntries(pairsOf(answer)).error;

const odd: Parameters = [
  ['cart', '1'],
  ['twice', 'b'],
  ['a b', 'c+d &=#%25'],
  ['twice', 'a'],
  ['empty', ''],
  ['"><script>', '<img src=x>'],
  ['twice', 'b'],
  ['__proto__', 'x'],
  ['constructor', 'y'],
  ['__proto__', 'z'],
  ['list', '1,2'],
  ['display', 'popup'],
  ['claims_locales', 'nb'],
];
/** Returns the parameters with repeated names together, in their order. */
const together = (parameters: Parameters, isSigned: boolean): [string, unknown][] =>
  [...new Set(parameters.map(([name]) => name))].flatMap((name): [string, unknown][] => {
    const values = parameters.flatMap(([each, value]) => (each === name ? [value] : []));
    return isSigned ? [[name, values.length === 1 ? values[0] : values]] : values.map((value) => [name, value]);
  });

describe.each(ways)('4.2 custom parameters of a request by %s', (way) => {
  test.each(modes)('4.2 come back as they came, repeated ones repeated in their order, by %s', async (mode) => {
    const isSigned = mode.endsWith('jwt');
    const answer = await send(way, odd, { response_mode: mode });
    expect(Object.fromEntries(pairsOf(answer))).toMatchObject({ code: expect.any(String), state: 's', scope: 'openid' });
    expect(customOf(answer)).toEqual(together(odd, isSigned));
    const refused = await send(way, odd, { response_mode: mode, prompt: 'none' }, new Agent());
    expect(errorOf(refused)).toBe('login_required');
    expect(customOf(refused)).toEqual(together(odd, isSigned));
  });

  test('4.2 come back through the pages', async () => {
    const agent = new Agent();
    const page = await agent.submit(await send(way, odd, {}, agent), { identifier: 'alice@acme.test' });
    expect(customOf(await agent.follow(await agent.submit(page, { password: 'alice' })))).toEqual(together(odd, false));
  });

  test('4.2 no secret comes back, nor what is the protocol’s and not custom', async () => {
    const not: Parameters = [
      ['password', 'x'],
      ['client.secret', 'x'],
      ['dpop_jkt', 'x'],
    ];
    expect(customOf(await send(way, [...not, ['cart', '1']]))).toEqual([['cart', '1']]);
  });

  test('4.2 parameters of features that are off come back', async () => {
    const off: Parameters = [
      ['claims', '{"userinfo":{"name":null}}'],
      ['resource', 'urn:x'],
      ['cart', '1'],
      ['resource', 'not a URI'],
      ['authorization_details', '[{"type":"payment"}]'],
    ];
    expect(customOf(await send(way, off))).toEqual(together(off, false));
  });

  test('4.2 parameters of features that are off are left out if they are too long, and refuse nothing', async () => {
    // The second value is short enough for a custom parameter, and too long for the record of a request.
    for (const value of ['x'.repeat(4097), '\n'.repeat(2000)])
      for (const name of ['claims', 'resource', 'authorization_details']) {
        const answer = await send(way, [[name, value], ...odd], { state: 's'.repeat(2500) });
        expect([pairsOf(answer).some(([each]) => each === 'code'), customOf(answer)]).toEqual([true, together(odd, false)]);
      }
  });

  test('design §5: a hundred names and 4 KiB come back, and one more of either is invalid_request', async () => {
    const names = (count: number): Parameters => Array.from({ length: count }, (_, index) => [`p${index}`, 'v']);
    const lists = names(100).flatMap((pair) => [pair, pair, pair]);
    for (const most of [names(100), lists, [['big', 'å'.repeat(2046)]] as Parameters])
      expect(customOf(await send(way, most))).toEqual(together(most, false));
    for (const more of [names(101), [['big', 'å'.repeat(2047)]] as Parameters, Array<readonly [string, string]>(1001).fill(['a', '1'])]) {
      const answer = await send(way, more);
      // An invalid pushed request is refused when it is pushed.
      if (/PAR|pushed/.test(way)) expect(answer.status).toBe(400);
      else expect([errorOf(answer), customOf(answer)]).toEqual(['invalid_request', []]);
    }
  });
});

test('4.2 `registration` is refused', async () => {
  expect(errorOf(await send('GET', [['registration', '{}']]))).toBe('registration_not_supported');
});

test('4.2 a request by GET may carry more parameters than node:querystring reads: it is refused, not cut short', async () => {
  const many: Parameters = Array.from({ length: 1100 }, () => ['a', '']);
  expect(errorOf(await send('GET', many))).toBe('invalid_request');
});

test('4.2 members of a request object that are no strings come back as their JSON text', async () => {
  const members = { number: 7, flag: true, nested: { a: ['b'] }, list: ['a', 2, { c: 'd' }], none: null };
  const request = await client.sign(service.issuer, { ...protocol, ...members });
  expect(
    customOf(await alice.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client.id, request })}`)),
  ).toEqual([
    ['number', '7'],
    ['flag', 'true'],
    ['nested', '{"a":["b"]}'],
    ['list', 'a'],
    ['list', '2'],
    ['list', '{"c":"d"}'],
  ]);
});

describe('4.2 custom parameters', () => {
  const named = {
    plain: 'value',
    'a b': 'c d',
    ærlig: 'blåbær',
    '"><script>alert(1)</script>': '"><img src=x>',
    "it's": "o'clock & <b>",
    'a[b]': '&=#?+%25;/',
    toString: 'a name of objects',
    hasOwnProperty: '1',
    submit: 'a name of forms',
    empty: '',
    __custom: '{"custom":{"planted":"yes"},"scope":"openid"}',
  };
  const respond = async (parameters: Record<string, string>, agent = alice): Promise<Answer> =>
    agent.follow(await agent.get(authorizeUrl(service.issuer, { ...pkce, state: 'of the client', ...parameters })));
  const responseTo = async (parameters: Record<string, string>, agent?: Agent) => membersOf(await respond(parameters, agent));
  const unsigned = ['query', 'fragment', 'form_post'];

  test.each(unsigned)('4.2 come back unmodified with a code, by %s', async (mode) => {
    expect(await responseTo({ ...named, response_mode: mode })).toEqual({
      ...named,
      code: expect.any(String),
      state: 'of the client',
      scope: 'openid',
      iss: service.issuer,
      session_state: expect.any(String),
    });
  });

  test.each(unsigned)('4.2 come back unmodified with an error, by %s', async (mode) => {
    expect(await responseTo({ ...named, response_mode: mode, prompt: 'none' }, new Agent())).toMatchObject({
      ...named,
      error: 'login_required',
    });
    expect(await responseTo({ ...named, response_mode: mode, scope: 'openid nonsense' })).toMatchObject({
      ...named,
      error: 'invalid_scope',
    });
  });

  test.each(unsigned)('4.2 come back unmodified through a pushed request, by %s', async (mode) => {
    const party = await discover(service.issuer);
    const pushed = { redirect_uri: redirectUri, scope: 'openid', response_mode: mode, ...pkce, ...named };
    const url = await openid.buildAuthorizationUrlWithPAR(party, pushed);
    expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
    expect(membersOf(await alice.follow(await alice.get(url.href)))).toMatchObject({ ...named, code: expect.any(String) });
  });

  test('4.2 come back through the pages, after a wrong password too', async () => {
    const agent = new Agent();
    const page = await agent.submit(await respond(named, agent), { identifier: 'alice@acme.test' });
    const again = await agent.submit(page, { password: 'wrong' });
    expect(membersOf(await agent.follow(await agent.submit(again, { password: 'alice' })))).toMatchObject({
      ...named,
      code: expect.any(String),
    });
  });

  test('4.2 the markup of the form_post page holds none of them as markup', async () => {
    const { body } = await respond({ ...named, response_mode: 'form_post' });
    expect(body).not.toContain('<img');
    expect(body.match(/<script/g)).toHaveLength(1);
  });

  test('security A4: never override a member of the response', async () => {
    const evil = { code: 'evil', iss: 'https://evil.test', error: 'evil', access_token: 'evil', id_token: 'evil', session_state: 'evil' };
    expect(await responseTo({ ...evil, error_description: 'evil' })).toEqual({
      code: expect.not.stringMatching(/^evil$/),
      state: 'of the client',
      scope: 'openid',
      iss: service.issuer,
      session_state: expect.not.stringMatching(/^evil$/),
    });
  });

  test('design §5: a hundred names fit, and 4 KiB; one more of either is invalid_request', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, 'v']));
    expect(await responseTo(many(100))).toMatchObject({ ...many(100), code: expect.any(String) });
    expect(await responseTo(many(101))).toMatchObject({ error: 'invalid_request', state: 'of the client' });
    expect(await responseTo({ big: 'x'.repeat(4093) })).toMatchObject({ big: 'x'.repeat(4093), code: expect.any(String) });
    expect(await responseTo({ big: 'x'.repeat(4094) })).toMatchObject({ error: 'invalid_request', state: 'of the client' });
    expect(await responseTo({ big: 'å'.repeat(2047) })).toMatchObject({ error: 'invalid_request' });
  });

  test('4.2 parameters the service understands are not returned', async () => {
    const known = {
      nonce: 'n',
      max_age: '1000',
      ui_locales: 'nb',
      login_hint: 'alice@acme.test',
      eid_user_visible_data: 'x',
    };
    expect(Object.keys(await responseTo({ ...known, acr_values: 'idp:local mfa:false unknown:x' })).sort()).toEqual([
      'code',
      'iss',
      'scope',
      'session_state',
      'state',
    ]);
  });
});
