import { beforeAll, describe, expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json, obtainTokens } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { startIdp } from '../../support/service/idp.js';
import { postLogoutRedirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { latentArtifacts } from '../../support/stores/latent-artifacts.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
const service = useIdp();
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

const offline = { scope: 'openid offline_access' };
const signedIn = (parameters: Record<string, unknown> = {}) => obtainTokens(service.issuer, { ...offline, ...parameters });
const endSession = (parameters: Record<string, string> = {}) => `${service.issuer}/connect/endsession?${new URLSearchParams(parameters)}`;
const back = { post_logout_redirect_uri: postLogoutRedirectUri, state: 'of the client' };

/** Returns the answer to prompt=none: a code if there is a session, and `login_required` otherwise. */
async function silentAnswer(agent: Agent, client = 'web'): Promise<string> {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const { location = '' } = await agent.get(authorizeUrl(service.issuer, { client_id: client, prompt: 'none', ...challenge }));
  const { searchParams } = new URL(location);
  return searchParams.get('error') ?? (searchParams.has('code') ? 'code' : 'nothing');
}

async function expectAlive(agent: Agent, tokens: Json, client = 'web') {
  expect([await isActive(endpoints, tokens.access_token, client), await silentAnswer(agent)]).toEqual([true, 'code']);
}

async function expectSignedOut(agent: Agent, tokens: Json, client = 'web') {
  expect(await silentAnswer(agent)).toBe('login_required');
  expect(await isActive(endpoints, tokens.access_token, client)).toBe(false);
  expect(await endpoints.userinfo(tokens.access_token)).toMatchObject({ status: 401 });
  if (tokens.refresh_token)
    expect(await endpoints.refresh(tokens.refresh_token, client)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
}

const isQuestion = ({ status, body }: Answer) => status === 200 && body.includes('name="logout"');

describe('OpenID Connect RP-Initiated Logout §2: by POST', () => {
  const url = () => `${service.issuer}/connect/endsession`;
  const post = (agent: Agent, fields: Record<string, string>) => agent.post(url(), fields);

  test('4.8 the browser goes on by GET, without cookies so far, and what was posted is in no URL', async () => {
    const { agent, tokens } = await signedIn();
    const fields = { id_token_hint: tokens.id_token, ...back };
    // A form of another site is sent without cookies.
    const posted = await post(new Agent(), fields);
    expect([posted.status, posted.headers.get('cache-control')]).toEqual([303, 'no-store']);
    expect(posted.location).toMatch(/\/connect\/endsession\?reference=[\w-]{43}$/);
    await expectAlive(agent, tokens);
    const { location } = await agent.follow(await agent.get(posted.location ?? ''));
    expect(location).toBe(`${postLogoutRedirectUri}?state=of+the+client`);
    await expectSignedOut(agent, tokens);
  });

  test('4.8 without a hint it is asked, and with nothing at all too', async () => {
    const { agent, tokens } = await signedIn();
    for (const fields of [{}, { client_id: 'web', ...back }, { unknown: 'x' }] as Record<string, string>[]) {
      const page = await agent.follow(await post(agent, fields));
      expect(isQuestion(page)).toBe(true);
    }
    await expectAlive(agent, tokens);
    const page = await agent.follow(await post(agent, { client_id: 'web', ...back }));
    const { location } = await agent.follow(await agent.submit(page, { logout: 'yes' }));
    expect(location).toBe(`${postLogoutRedirectUri}?state=of+the+client`);
    await expectSignedOut(agent, tokens);
  });

  test('4.8 what is wrong is told as of a GET', async () => {
    const { agent, tokens } = await signedIn();
    const wrong: Record<string, string>[] = [
      { id_token_hint: 'x' },
      { id_token_hint: tokens.id_token, post_logout_redirect_uri: 'http://evil.example/' },
      { id_token_hint: tokens.id_token, client_id: 'spa' },
      { client_id: 'nobody' },
    ];
    for (const fields of wrong) {
      const [posted, got] = [await agent.follow(await post(agent, fields)), await agent.get(endSession(fields))];
      expect([posted.status, posted.location]).toEqual([400, undefined]);
      expect(posted.status).toBe(got.status);
    }
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const twice = await agent.request(url(), { method: 'POST', headers: type, body: 'state=a&state=b' });
    expect((await agent.follow(twice)).status).toBe(400);
    const json = await agent.request(url(), { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    expect(json.status).toBe(415);
    expect((await post(agent, { state: 'x'.repeat(17 * 1024) })).status).toBe(413);
    await expectAlive(agent, tokens);
  });

  test('the reference works once, whoever follows it, and for a minute; then it is a request without parameters', async () => {
    const { agent, tokens } = await signedIn();
    const reference = async () => (await post(agent, { id_token_hint: tokens.id_token, ...back })).location ?? '';
    const spent = await reference();
    const answers = await Promise.all(Array.from({ length: 8 }, () => new Agent().get(spent)));
    expect(answers.filter(({ location }) => location?.startsWith(postLogoutRedirectUri))).toHaveLength(1);
    const late = await reference();
    passTime(61);
    for (const gone of [spent, late, `${url()}?reference=x`, `${url()}?reference=a&reference=b`])
      expect(isQuestion(await agent.get(`${gone}&${new URLSearchParams({ id_token_hint: tokens.id_token, ...back })}`))).toBe(true);
    backToPresent();
    await expectAlive(agent, tokens);
    const unread = await reference();
    await agent.request(unread, { method: 'HEAD' });
    expect((await agent.follow(await agent.get(unread))).location).toContain(postLogoutRedirectUri);
    await expectSignedOut(agent, tokens);
  });

  test('exactly one of many that follow the reference at once has what was posted', async () => {
    const other = await startIdp({ artifacts: latentArtifacts(memoryArtifacts(), 100) });
    const { tokens } = await obtainTokens(other.issuer);
    const { location = '' } = await new Agent().post(`${other.issuer}/connect/endsession`, { id_token_hint: tokens.id_token, ...back });
    const answers = await Promise.all(Array.from({ length: 20 }, () => new Agent().get(location)));
    await other.close();
    expect(answers.filter((answer) => answer.location?.startsWith(postLogoutRedirectUri))).toHaveLength(1);
  });

  test('nothing of it is kept in the clear', async () => {
    const artifacts = memoryArtifacts();
    const written: string[] = [];
    const watched = {
      ...artifacts,
      commit: (writes: Parameters<typeof artifacts.commit>[0]) => {
        written.push(JSON.stringify(writes));
        return artifacts.commit(writes);
      },
    };
    const other = await startIdp({ artifacts: watched });
    const { location = '' } = await new Agent().post(`${other.issuer}/connect/endsession`, {
      id_token_hint: 'the ID token',
      state: 'the state',
    });
    await other.close();
    expect(written.join()).toContain('SignOutRequest');
    for (const text of ['the ID token', 'the state', new URL(location).searchParams.get('reference')])
      expect(written.join()).not.toContain(text);
  });
});

describe('4.8 with an ID token of this session', () => {
  test('4.8 the browser goes straight back with the state, and the session and all its tokens are dead', async () => {
    const { agent, tokens } = await signedIn();
    const other = await signedIn({ agent, client: 'jwt', secret: 'jwt-secret' });
    const { location } = await agent.follow(await agent.get(endSession({ id_token_hint: tokens.id_token, ...back })));
    expect(location).toBe(`${postLogoutRedirectUri}?state=of+the+client`);
    await expectSignedOut(agent, tokens);
    await expectSignedOut(agent, other.tokens, 'jwt');
  });

  test('4.8 the page that says so has the styles of the client, whether it was asked or not', async () => {
    await service.idp.directory.clients.update('web', { styles: { accentColor: '#7a1f5c' } });
    const { agent, tokens } = await signedIn();
    const done = await agent.follow(await agent.get(endSession({ id_token_hint: tokens.id_token })));
    const { agent: other } = await signedIn();
    const asked = await other.follow(await other.get(endSession({ client_id: 'web' })));
    const confirmed = await other.follow(await other.submit(asked, { logout: 'yes' }));
    const stayed = await (await signedIn()).agent.get(endSession({ client_id: 'web' }));
    for (const page of [done, asked, confirmed, stayed]) {
      expect([page.status, page.body.includes('#7a1f5c'), page.body.includes('Web shop')]).toEqual([200, true, true]);
    }
    expect(new URL(done.url).pathname).toBe('/connect/endsession/success');
    expect(new URL(confirmed.url).pathname).toBe('/connect/endsession/success');
    const nobodys = await new Agent().get(endSession());
    expect((await new Agent().follow(nobodys)).body).not.toContain('#7a1f5c');
  });

  test('4.8 by the URL that a client library builds', async () => {
    const { agent, tokens } = await signedIn();
    const party = await discover(service.issuer);
    const url = openid.buildEndSessionUrl(party, { id_token_hint: tokens.id_token, ...back });
    expect((await agent.follow(await agent.get(url.href))).location).toContain(postLogoutRedirectUri);
    await expectSignedOut(agent, tokens);
  });

  test('4.8 an expired ID token will do, and one that was refreshed', async () => {
    const { agent, tokens } = await signedIn();
    const refreshed = (await endpoints.refresh(tokens.refresh_token)).json;
    const { location } = await agent.follow(await agent.get(endSession({ id_token_hint: refreshed.id_token, ...back })));
    expect(location).toContain(postLogoutRedirectUri);
    await expectSignedOut(agent, refreshed);
  });

  test('4.8 without a redirect there is a page that says so', async () => {
    const { agent, tokens } = await signedIn();
    const page = await agent.follow(await agent.get(endSession({ id_token_hint: tokens.id_token })));
    expect([page.status, page.location]).toEqual([200, undefined]);
    expect(isQuestion(page)).toBe(false);
    expect(() => formOf(page)).toThrow();
    await expectSignedOut(agent, tokens);
  });

  test('4.8 of another session: a question, and nothing ended meanwhile', async () => {
    const { tokens: foreign } = await signedIn();
    const { agent, tokens } = await signedIn({ userName: 'bob@globex.test', password: 'bob' });
    expect(isQuestion(await agent.get(endSession({ id_token_hint: foreign.id_token, ...back })))).toBe(true);
    await expectAlive(agent, tokens);
  });

  test('4.8 of another session of the same user: a question as well', async () => {
    const { tokens: foreign } = await signedIn();
    const { agent, tokens } = await signedIn();
    expect(isQuestion(await agent.get(endSession({ id_token_hint: foreign.id_token, ...back })))).toBe(true);
    await expectAlive(agent, tokens);
  });
});

describe('4.8 without an ID token', () => {
  test('4.8 there is a question; "Sign out" ends the session and goes back', async () => {
    const { agent, tokens } = await signedIn();
    const page = await agent.get(endSession({ client_id: 'web', ...back }));
    expect(isQuestion(page)).toBe(true);
    expect(page.body).toContain('Web shop');
    await expectAlive(agent, tokens);
    const { location } = await agent.follow(
      await agent.submit(await agent.get(endSession({ client_id: 'web', ...back })), { logout: 'yes' }),
    );
    expect(location).toBe(`${postLogoutRedirectUri}?state=of+the+client`);
    await expectSignedOut(agent, tokens);
  });

  test('4.8 "Stay signed in" keeps the session', async () => {
    const { agent, tokens } = await signedIn();
    const other = await signedIn({ agent, client: 'jwt', secret: 'jwt-secret' });
    await agent.follow(await agent.submit(await agent.get(endSession()), {}));
    await expectAlive(agent, tokens);
    await expectAlive(agent, other.tokens, 'jwt');
  });

  test('4.8 "Stay signed in" towards one client leaves the others alone', async () => {
    const { agent } = await signedIn();
    const other = await signedIn({ agent, client: 'jwt', secret: 'jwt-secret' });
    const { location } = await agent.follow(await agent.submit(await agent.get(endSession({ client_id: 'web', ...back })), {}));
    expect(location).toBe(`${postLogoutRedirectUri}?state=of+the+client`);
    await expectAlive(agent, other.tokens, 'jwt');
  });

  test('4.8 the question cannot be answered from elsewhere', async () => {
    const { agent, tokens } = await signedIn();
    const { action } = formOf(await agent.get(endSession()));
    const forged = await agent.post(action, { xsrf: 'guessed', logout: 'yes' });
    expect(forged.status).toBe(400);
    await expectAlive(agent, tokens);
  });

  test('4.8 without a session there is nothing to ask', async () => {
    const { location } = await new Agent().get(endSession({ client_id: 'web', ...back }));
    expect(location).toBe(`${postLogoutRedirectUri}?state=of+the+client`);
    const page = await new Agent().follow(await new Agent().get(endSession()));
    expect([page.status, isQuestion(page)]).toEqual([200, false]);
  });
});

describe('4.8 invalid parameters', () => {
  test.each([
    ['a redirect URI that is not registered', { client_id: 'web', post_logout_redirect_uri: 'https://evil.test/' }],
    ['a longer one', { client_id: 'web', post_logout_redirect_uri: `${postLogoutRedirectUri}/more` }],
    ['an unknown client', { client_id: 'nobody', post_logout_redirect_uri: postLogoutRedirectUri }],
    ['something that is no ID token', { id_token_hint: 'nonsense' }],
    ['a JWT of somebody else', { id_token_hint: 'eyJhbGciOiJub25lIn0.eyJhdWQiOiJ3ZWIifQ.' }],
  ])('4.8 %s: an error page, and nothing ended', async (_, parameters) => {
    const { agent, tokens } = await signedIn();
    const page = await agent.get(endSession(parameters as Record<string, string>));
    expect([page.status, page.location]).toEqual([400, undefined]);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.body).not.toContain('href="https://evil.test');
    await expectAlive(agent, tokens);
  });

  test('4.8 an ID token of another client than client_id: an error page', async () => {
    const { agent, tokens } = await signedIn();
    const page = await agent.get(endSession({ id_token_hint: tokens.id_token, client_id: 'jwt', ...back }));
    expect([page.status, page.location]).toEqual([400, undefined]);
    await expectAlive(agent, tokens);
  });
});

test('4.8 a redirect URI that no client vouches for is not followed, signed in or not', async () => {
  for (const target of ['https://evil.test/', postLogoutRedirectUri]) {
    expect((await new Agent().get(endSession({ post_logout_redirect_uri: target }))).location ?? '').not.toContain(target);
    const { agent } = await signedIn();
    const page = await agent.get(endSession({ post_logout_redirect_uri: target }));
    const { location = '', body } = page.status === 200 ? await agent.follow(await agent.submit(page, { logout: 'yes' })) : page;
    expect(location + body).not.toContain(target);
  }
});

test('4.8 the next sign-in in this browser is a session of its own', async () => {
  const { agent, tokens } = await signedIn();
  await agent.follow(await agent.get(endSession({ id_token_hint: tokens.id_token })));
  const again = await signedIn({ agent });
  await expectAlive(agent, again.tokens);
  expect(await isActive(endpoints, tokens.access_token)).toBe(false);
});

describe('4.8 every combination of hint, client, redirect and state', () => {
  const hints = ['none', 'of this session', 'of another session'] as const;
  const clients = [undefined, 'web', 'jwt'];
  const redirects = [undefined, postLogoutRedirectUri, 'https://evil.test/'];
  const states = [undefined, 'x & y'];
  const combinations = hints.flatMap((hint) =>
    clients.flatMap((client_id) =>
      redirects.flatMap((post_logout_redirect_uri) => states.map((state) => ({ hint, client_id, post_logout_redirect_uri, state }))),
    ),
  );

  test.each([true, false])('4.8 each ends as it says, signed in: %p', async (isSignedIn) => {
    const { tokens: foreign } = await signedIn();
    let current = isSignedIn ? await signedIn() : undefined;
    for (const combination of combinations) {
      const { hint, ...given } = combination;
      if (isSignedIn) current ??= await signedIn();
      const agent = current?.agent ?? new Agent();
      const own = current?.tokens.id_token ?? foreign.id_token;
      const id_token_hint = { none: undefined, 'of this session': own, 'of another session': foreign.id_token }[hint];
      const parameters = Object.entries({ ...given, id_token_hint }).filter(([, value]) => value !== undefined);
      const start = endSession(Object.fromEntries(parameters) as Record<string, string>);
      const client = hint === 'none' ? given.client_id : 'web';
      const contradicts = hint !== 'none' && given.client_id === 'jwt';
      const isRefused = contradicts || (client !== undefined && given.post_logout_redirect_uri === 'https://evil.test/');
      const goesBack = client !== undefined && given.post_logout_redirect_uri === postLogoutRedirectUri;
      const first = await agent.get(start);
      if (isRefused) {
        expect([combination, first.status, first.location]).toEqual([combination, 400, undefined]);
        continue;
      }
      const asks = isSignedIn && hint !== 'of this session';
      expect([combination, isQuestion(first)]).toEqual([combination, asks]);
      const last = await agent.follow(asks ? await agent.submit(first, { logout: 'yes' }) : first);
      const back = given.state === undefined ? postLogoutRedirectUri : `${postLogoutRedirectUri}?state=x+%26+y`;
      expect([combination, last.location, last.status]).toEqual([combination, goesBack ? back : undefined, goesBack ? 303 : 200]);
      expect([combination, await silentAnswer(agent)]).toEqual([combination, 'login_required']);
      current = undefined;
    }
    if (current) await expectAlive(current.agent, current.tokens);
  });
});
