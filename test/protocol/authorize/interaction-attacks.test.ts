import { afterEach, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn } from '../../support/client/agent.js';
import { authorizationOf, isActive, obtainCode, redeem, responseOf } from '../../support/client/steps.js';
import { expectNothingInternal, expectQuietLog } from '../../support/service/leaks.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

const service = useIdp();

afterEach(backToPresent);

const url = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
/** Returns the identifier page of a new sign-in. */
const begin = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(url(parameters)));
const hasCode = (answer: Answer) => responseOf(answer).get('code') !== null;

describe('A12: a sign-in belongs to the browser that began it', () => {
  test('A12: its page, its forms and its resume URL are dead elsewhere, and nothing changed', async () => {
    const attacker = new Agent();
    const victim = new Agent();
    await obtainCode(service.issuer, victim);
    const page = await begin(attacker);
    const { action, fields } = formOf(page);
    const uid = new URL(page.url).pathname.split('/').at(-1) as string;

    const before = [...victim.cookies];
    const attempts = [
      await victim.post(action, { ...fields, identifier: 'alice@acme.test' }),
      await victim.post(`${page.url}/password`, { ...fields, identifier: 'alice@acme.test', password: 'alice' }),
      await victim.post(`${page.url}/account`, { ...fields, choice: 'x' }),
      await victim.post(`${page.url}/create`, { ...fields, email: 'new@acme.test', password: 'long enough for anybody' }),
      await victim.post(`${page.url}/organisation`, { ...fields, choice: 'x' }),
      await victim.post(`${page.url}/consent`, { ...fields, decision: 'allow' }),
    ];
    for (const answer of attempts) {
      expect(answer).toMatchObject({ status: 400, location: undefined });
      expectNothingInternal(answer.body, ['alice@acme.test']);
    }
    // The answer is a new request by reference, as from a link. It shows nothing of the first request.
    const begunAnew = expect.stringMatching(/\/connect\/authorize\?client_id=web&request_uri=[\w%-]+$/);
    for (const path of ['', '?restart=yes', '/restart'])
      expect(await victim.get(page.url + path)).toMatchObject({
        status: 303,
        location: begunAnew,
        body: expect.not.stringContaining('csrf'),
      });
    expect(await victim.get(`${service.issuer}/connect/authorize/${uid}`)).toMatchObject({ status: 303, location: page.url });
    expect([...victim.cookies]).toEqual(before);

    // The attacker's sign-in signs nobody in.
    const resumed = await attacker.follow(await attacker.get(`${service.issuer}/connect/authorize/${uid}`));
    expect(resumed.location).toBeUndefined();
  });

  test('A12: the URL cannot name another sign-in of the same browser', async () => {
    const agent = new Agent();
    const [first, second] = [await begin(agent), await begin(agent)];
    const { fields } = formOf(second);
    const crossed = await agent.post(`${first.url}/password`, { ...fields, identifier: 'alice@acme.test', password: 'alice' });
    expect(crossed.status).toBe(403);
    // Sends the cookie of the second sign-in at the path of the first sign-in.
    const cookie = [...agent.cookies].find(([key, { path }]) => key.startsWith('idp.interaction ') && second.url.endsWith(path))?.[1]
      .value as string;
    for (const [key, { path }] of agent.cookies)
      if (key.startsWith('idp.interaction') && first.url.endsWith(path))
        agent.cookies.set(key, { value: key.includes('.sig') ? 'x' : cookie, path });
    expect(await agent.get(first.url)).toMatchObject({ status: 303, location: expect.stringContaining('/connect/authorize?') });
  });

  test('A12: a sign-in of one session does not go on in another', async () => {
    const agent = new Agent();
    await obtainCode(service.issuer, agent);
    const page = await begin(agent, { prompt: 'login' });
    for (const key of agent.cookies.keys()) if (key.startsWith('idp.session')) agent.cookies.delete(key);
    const other = new Agent();
    await obtainCode(service.issuer, other, 'web');
    for (const [key, cookie] of other.cookies) if (key.startsWith('idp.session')) agent.cookies.set(key, cookie);
    const second = await agent.submit(page, { identifier: 'alice@acme.test' });
    const resumed = await agent.follow(await agent.submit(second, { password: 'alice' }));
    expect(hasCode(resumed)).toBe(false);
    expect(resumed.location).toBeUndefined();
  });
});

describe('A13: a sign-in that is asked for happens', () => {
  test('A13: a resume URL works once', async () => {
    const agent = new Agent();
    const password = await agent.submit(await begin(agent), { identifier: 'alice@acme.test' });
    const kept = new Map(agent.cookies);
    const { location } = await agent.submit(password, { password: 'alice' });
    const resume = location as string;
    const twin = new Agent();
    const stranger = new Agent();
    for (const [key, cookie] of kept) {
      twin.cookies.set(key, cookie);
      if (!key.includes('idp.browser')) stranger.cookies.set(key, cookie);
    }
    expect(stranger.cookies.size).toBeLessThan(twin.cookies.size);
    const answers = await Promise.all(Array.from({ length: 10 }, () => agent.get(resume)));
    const codes = new Set(answers.flatMap((answer) => responseOf(answer).get('code') ?? []));
    expect((await agent.follow(await agent.get(resume))).status).toBe(400);
    // A browser that lost the answer gets another code. Nobody can be such a browser without its cookies.
    expect(responseOf(await twin.follow(await twin.get(resume))).get('code')).not.toBeNull();
    expect((await stranger.follow(await stranger.get(resume))).status).toBe(400);
    expect({ codes: codes.size, errors: answers.filter(({ status }) => status >= 500).length }).toEqual({ codes: 1, errors: 0 });
  });

  test('A13: prompt=login asks although there is a session, in each of two tabs', async () => {
    const agent = new Agent();
    await obtainCode(service.issuer, agent);
    const [one, two] = [await begin(agent, { prompt: 'login' }), await begin(agent, { prompt: 'login' })];
    const done = await agent.follow(await agent.submit(await agent.submit(one, { identifier: 'alice@acme.test' }), { password: 'alice' }));
    expect(hasCode(done)).toBe(true);
    const uid = new URL(two.url).pathname.split('/').at(-1);
    const skipped = await agent.follow(await agent.get(`${service.issuer}/connect/authorize/${uid}`));
    expect(hasCode(skipped)).toBe(false);
    expect(skipped.body).toContain('name="identifier"');
  });

  test('A13: nothing that is posted to another step stands for a sign-in', async () => {
    const agent = new Agent();
    await obtainCode(service.issuer, agent);
    const page = await begin(agent, { prompt: 'login', scope: 'openid profile' });
    const { fields } = formOf(page);
    const consented = await agent.follow(await agent.post(`${page.url}/consent`, { ...fields, decision: 'allow' }));
    expect(hasCode(consented)).toBe(false);
    const chosen = await begin(agent, { prompt: 'login' });
    const organisation = await agent.post(`${chosen.url}/organisation`, { ...formOf(chosen).fields, choice: 'x.y' });
    expect(organisation).toMatchObject({ status: 400, location: undefined });
  });

  test.each([60, 3600])('A13: max_age is kept, and auth_time is the new one, %i s after the sign-in', async (seconds) => {
    const agent = new Agent();
    const code = await obtainCode(service.issuer, agent);
    const before = JSON.parse(Buffer.from((await redeem(service.issuer, code)).json.id_token.split('.')[1], 'base64url').toString());
    passTime(seconds - 5);
    expect(hasCode(await agent.follow(await agent.get(url({ max_age: String(seconds) }))))).toBe(true);
    passTime(seconds + 5);
    expect(hasCode(await agent.follow(await agent.get(url({ max_age: String(seconds) }))))).toBe(false);
    const again = await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', { max_age: String(seconds) }));
    const after = JSON.parse(Buffer.from(again.json.id_token.split('.')[1], 'base64url').toString());
    expect(after.auth_time).toBeGreaterThanOrEqual(before.auth_time + seconds);
  });

  test('A13: prompt=none never answers for a session that is too old', async () => {
    const agent = new Agent();
    await obtainCode(service.issuer, agent);
    passTime(100);
    expect(responseOf(await agent.get(url({ prompt: 'none', max_age: '60' }))).get('error')).toBe('login_required');
  });
});

describe('A14: what is on the way is neither repeated, nor cached, nor told on', () => {
  test('A14: headers of every answer', async () => {
    const agent = new Agent();
    const identifier = await begin(agent);
    const password = await agent.submit(identifier, { identifier: 'alice@acme.test' });
    const wrong = await agent.submit(password, { password: 'wrong' });
    const signedIn = await agent.submit(password, { password: 'alice' });
    const callback = await agent.get(signedIn.location as string);
    const consent = await agent.follow(await agent.get(url({ client_id: 'third-party', scope: 'openid profile' })));
    const posted = await agent.get(url({ response_mode: 'form_post' }));
    const logout = await agent.get(`${service.issuer}/connect/endsession`);
    const confirm = await agent.submit(logout, { logout: 'yes' });
    const pages = {
      identifier,
      password,
      wrong,
      consent,
      posted,
      logout,
      'signed out': await agent.follow(confirm),
      'authorization error': await agent.get(url({ client_id: 'nobody' })),
      'expired sign-in': await agent.get(`${service.issuer}/idp/interaction/AAAAAAAAAAAAAAAAAAAAA`),
      'expired restart': await agent.get(`${service.issuer}/idp/interaction/AAAAAAAAAAAAAAAAAAAAA/restart`),
      'expired resume': await agent.follow(await agent.get(`${service.issuer}/connect/authorize/AAAAAAAAAAAAAAAAAAAAA`)),
      'end session error': await agent.get(`${service.issuer}/connect/endsession?id_token_hint=x`),
      'confirm without a question': await agent.post(`${service.issuer}/connect/endsession/confirm`, { logout: 'yes' }),
      'forged form': await new Agent().post(`${identifier.url}/password`, { identifier: 'x', password: 'x' }),
    };
    for (const [name, { headers, status, body }] of Object.entries(pages)) {
      expect({ name, status: status < 500, html: /^text\/html/.test(headers.get('content-type') ?? '') }).toEqual({
        name,
        status: true,
        html: true,
      });
      expect({ name, csp: headers.get('content-security-policy') }).toEqual({
        name,
        csp: expect.stringMatching(/^default-src 'none'; .*base-uri 'none'; frame-ancestors 'none'$/),
      });
      expect({
        name,
        frame: headers.get('x-frame-options'),
        sniff: headers.get('x-content-type-options'),
        referrer: headers.get('referrer-policy'),
        cache: headers.get('cache-control'),
      }).toEqual({ name, frame: 'DENY', sniff: 'nosniff', referrer: 'no-referrer', cache: 'no-store' });
      expect(body).not.toContain('unsafe-inline');
      expectNothingInternal(body);
    }

    const redirects = { begin: await agent.get(url()), signedIn, callback, confirm, error: await agent.get(url({ scope: 'nothing' })) };
    for (const [name, { status, headers }] of Object.entries(redirects))
      expect({ name, status, cache: headers.get('cache-control') }).toEqual({
        name,
        status: 303,
        cache: expect.stringContaining('no-store'),
      });
  });

  test.each(['token', 'introspect', 'revocation', 'par'])('A14: /connect/%s is not cached, succeeding or failing', async (path) => {
    for (const headers of [{}, authorizationOf('web')] as Record<string, string>[]) {
      const response = await new Agent().post(`${service.issuer}/connect/${path}`, { token: 'x' }, headers);
      expect({ cache: response.headers.get('cache-control'), pragma: response.headers.get('pragma') }).toEqual({
        cache: 'no-store',
        pragma: 'no-cache',
      });
    }
  });

  test('A14: userinfo is not cached', async () => {
    const response = await fetch(`${service.issuer}/connect/userinfo`);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

test('A12–A14 leave nothing in the log, and honest sign-ins work', async () => {
  const { json } = await redeem(service.issuer, await obtainCode(service.issuer, new Agent()));
  expect(await isActive(service.issuer, json.access_token)).toBe(true);
  expect(hasCode(await signIn(new Agent(), url()))).toBe(true);
  expectQuietLog(service);
});
