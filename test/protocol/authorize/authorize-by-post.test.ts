import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  await service.idp.directory.clients.create({
    id: 'pushing',
    name: 'Pushes its requests',
    secret: 'pushing-secret',
    metadata: { redirect_uris: [redirectUri], require_pushed_authorization_requests: true },
    allowedScopes: ['openid'],
  });
  alice = new Agent();
  await signIn(alice, authorizeUrl(service.issuer, parameters));
});

const parameters = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid profile',
  state: 'of the client',
  code_challenge: createPkce().challenge,
  code_challenge_method: 'S256',
};
const endpoint = () => `${service.issuer}/connect/authorize`;
const post = (more: Record<string, string> = {}, agent = alice) => agent.post(endpoint(), { ...parameters, ...more });
const respond = async (more: Record<string, string> = {}, agent = alice): Promise<Answer> => agent.follow(await post(more, agent));
/** Returns the outcome without `session_state`, whose salt is random. */
const outcomeOf = ({ status, location }: Answer) => [status, location?.replace(/([?&])session_state=[^&]*/, '$1')];
const formType = 'application/x-www-form-urlencoded';
const postText = (body: string, headers: Record<string, string> = {}) =>
  alice.request(endpoint(), { method: 'POST', body, headers: { 'content-type': formType, ...headers } });

describe('design §5: POST', () => {
  test('design §5: is answered 303 to the same request by GET, by reference; nothing of it is in the URL', async () => {
    const { status, location = '', headers } = await post();
    expect([status, headers.get('cache-control')]).toEqual([303, 'no-store']);
    const { origin, pathname, searchParams } = new URL(location);
    expect([origin + pathname, [...searchParams.keys()].sort()]).toEqual([endpoint(), ['client_id', 'request_uri']]);
    expect(membersOf(await alice.follow(await alice.get(location)))).toEqual({
      code: expect.any(String),
      state: 'of the client',
      scope: 'openid profile',
      session_state: expect.any(String),
      iss: service.issuer,
    });
  });

  test('design §5: sets no cookie and needs none: those of the browser come along with the GET', async () => {
    const { location = '', headers } = await new Agent().post(endpoint(), parameters);
    expect(headers.getSetCookie()).toEqual([]);
    expect(membersOf(await alice.follow(await alice.get(location)))).toMatchObject({ code: expect.any(String) });
  });

  test('4.2 the pages follow for who is not signed in', async () => {
    const agent = new Agent();
    const page = await respond({}, agent);
    expect(isSignInPage(page)).toBe(true);
    const password = await agent.submit(page, { identifier: 'alice@acme.test' });
    expect(membersOf(await agent.follow(await agent.submit(password, { password: 'alice' })))).toMatchObject({ code: expect.any(String) });
  });

  test('4.2 custom parameters come back unmodified, and as many as by GET', async () => {
    const odd = { 'a b': 'c d', ærlig: '"><b>', 'a[b]': '&=#?+%25;/\n', __custom: '{"custom":{"planted":"yes"}}' };
    for (const mode of ['query', 'fragment', 'form_post'])
      expect(membersOf(await respond({ ...odd, response_mode: mode }))).toMatchObject({ ...odd, code: expect.any(String) });
    expect(await respond(odd).then(membersOf)).not.toHaveProperty('planted');
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`p${index}`, 'v']));
    expect(membersOf(await respond(many))).toMatchObject({ error: 'invalid_request', state: 'of the client' });
  });

  test.each([
    ['an unknown scope', { scope: 'openid nonsense' }],
    ['another redirect URI', { redirect_uri: 'https://elsewhere.test/' }],
    ['another client', { client_id: 'nobody' }],
    ['no client', { client_id: '' }],
    ['a response type it has not', { response_type: 'token' }],
    ['a challenge without its method', { code_challenge_method: '' }],
    ['a mode that does not exist', { response_mode: 'nonsense' }],
    ['a prompt that does not exist', { prompt: 'nonsense' }],
    ['a request by URL', { request_uri: 'https://elsewhere.test/' }],
    ['a request by value', { request: 'eyJhbGciOiJub25lIn0.e30.' }],
    ['prompt=none for nobody', { prompt: 'none' }],
  ])('design §5: %s fails as by GET', async (_, more) => {
    const given = Object.fromEntries(Object.entries({ ...parameters, ...more }).filter(([, value]) => value !== ''));
    const [byPost, byGet] = [new Agent(), new Agent()];
    const [posted, got] = [
      await byPost.follow(await byPost.post(endpoint(), given)),
      await byGet.follow(await byGet.get(`${endpoint()}?${new URLSearchParams(given)}`)),
    ];
    expect(outcomeOf(posted)).toEqual(outcomeOf(got));
    const code = ({ body }: Answer) => /<code>(\w+)<\/code>/.exec(body)?.[1];
    expect(code(posted)).toBe(code(got));
  });

  test('4.2 a parameter that is sent twice fails as by GET', async () => {
    const twice = `${new URLSearchParams(parameters)}&scope=openid`;
    const posted = await alice.follow(await postText(twice));
    const got = await alice.follow(await alice.get(`${endpoint()}?${twice}`));
    expect(outcomeOf(posted)).toEqual(outcomeOf(got));
  });

  test('RFC 9126 §5: does not stand in for the push of a client that has to push', async () => {
    expect(membersOf(await respond({ client_id: 'pushing' }))).toMatchObject({ error: 'invalid_request' });
  });

  test('design §10: longer than 8 KiB it is refused, as a query is, whether or not a reference takes it', async () => {
    expect(membersOf(await respond({ state: 'x'.repeat(4096) }))).toMatchObject({ code: expect.any(String) });
    expect((await post({ eid_user_visible_data: 'x'.repeat(9 * 1024) })).status).toBe(413);
    expect((await post({ state: 'x'.repeat(57 * 1024) })).status).toBe(413);
    expect((await post({ request: 'x'.repeat(9 * 1024) })).status).toBe(413);
  });

  test('OpenID Connect Core §3.1.2.1: it is a form', async () => {
    expect((await postText(JSON.stringify(parameters), { 'content-type': 'application/json' })).status).toBe(415);
    expect((await alice.follow(await postText(''))).status).toBeGreaterThanOrEqual(400);
  });

  test('RFC 9110 §8.4: in an encoding that it is not in it is refused', async () => {
    const body = new URLSearchParams(parameters).toString();
    for (const encoding of ['gzip', 'deflate', 'br']) expect((await postText(body, { 'content-encoding': encoding })).status).toBe(400);
    expect((await postText(body, { 'content-encoding': 'bogus' })).status).toBe(415);
  });

  test('RFC 9126 §7.3: the reference works once', async () => {
    const { location = '' } = await post();
    expect(membersOf(await alice.follow(await alice.get(location)))).toMatchObject({ code: expect.any(String) });
    const again = await alice.follow(await alice.get(location));
    expect([again.status, again.location]).toEqual([400, undefined]);
    expect(() => formOf(again)).toThrow();
  });
});
