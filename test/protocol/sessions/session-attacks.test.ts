import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json, signIn } from '../../support/client/agent.js';
import { isActive, obtainCode, redeem, responseOf } from '../../support/client/steps.js';
import { expectNothingInternal, expectQuietLog } from '../../support/service/leaks.js';
import { postLogoutRedirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const service = useIdp();

const url = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
const sessionOf = (agent: Agent): Map<string, { value: string; path: string }> =>
  new Map([...agent.cookies].filter(([key]) => key.startsWith('idp.session')));
const holding = (cookies: Iterable<[string, { value: string; path: string }]>): Agent => {
  const agent = new Agent();
  for (const [key, cookie] of cookies) agent.cookies.set(key, cookie);
  return agent;
};
/** Signs in, and returns the browser and the tokens of the client. */
const signedIn = async (agent = new Agent(), client = 'web'): Promise<{ agent: Agent; tokens: Json }> => {
  const { json } = await redeem(service.issuer, await obtainCode(service.issuer, agent, client));
  return { agent, tokens: json };
};
const isSignedIn = async (agent: Agent): Promise<boolean> => responseOf(await agent.get(url({ prompt: 'none' }))).get('code') !== null;
const endSession = (agent: Agent, parameters: Record<string, string> = {}): Promise<Answer> =>
  agent.get(`${service.issuer}/connect/endsession?${new URLSearchParams(parameters)}`);

describe('F1: a session id that somebody knew before is not the one after', () => {
  test('F1: at the first sign-in', async () => {
    const attacker = new Agent();
    await attacker.follow(await attacker.get(url()));
    const planted = new Map(attacker.cookies);
    const victim = holding(planted);
    await signIn(victim, url());
    expect(await isSignedIn(victim)).toBe(true);
    expect(await isSignedIn(attacker)).toBe(false);
    expect(await isSignedIn(holding(planted))).toBe(false);
  });

  test('F1: when another person signs in over the attacker’s own session', async () => {
    const attacker = new Agent();
    await signIn(attacker, url(), 'bob@globex.test', 'bob');
    const planted = sessionOf(attacker);
    const victim = holding(planted);
    const page = await victim.follow(await victim.get(url({ prompt: 'login' })));
    const password = await victim.submit(page, { identifier: 'alice@acme.test' });
    const proven = await victim.submit(password, { password: 'alice' });
    expect(await isSignedIn(holding(planted))).toBe(false);
    expect(responseOf(await victim.follow(proven)).get('code')).not.toBeNull();
    expect(await isSignedIn(victim)).toBe(true);
    expect(await isSignedIn(holding(planted))).toBe(false);
  });

  test('F1: when the same person signs in again', async () => {
    const { agent } = await signedIn();
    const before = sessionOf(agent);
    await signIn(agent, url({ prompt: 'login' }));
    expect(await isSignedIn(agent)).toBe(true);
    expect(await isSignedIn(holding(before))).toBe(false);
  });

  test('F1: a cookie is nothing without its signature, nor with another’s', async () => {
    const { agent } = await signedIn();
    const session = [...sessionOf(agent)];
    const [[name, cookie], [signature, sign]] = session as [(typeof session)[0], (typeof session)[0]];
    const other = [...sessionOf((await signedIn()).agent)][1]?.[1].value as string;
    for (const forged of [
      [[name, cookie]],
      [
        [name, cookie],
        [signature, { ...sign, value: other }],
      ],
      [
        [name, cookie],
        [signature, { ...sign, value: '' }],
      ],
      [
        [name, { ...cookie, value: cookie.value.slice(0, 22) }],
        [signature, sign],
      ],
      [
        [name, { ...cookie, value: `${cookie.value.slice(0, -1)}${cookie.value.endsWith('A') ? 'B' : 'A'}` }],
        [signature, sign],
      ],
    ] as [string, { value: string; path: string }][][])
      expect(await isSignedIn(holding(forged))).toBe(false);
    expect(await isSignedIn(holding(session))).toBe(true);
  });

  test('F1: an interaction’s cookie is no session', async () => {
    const agent = new Agent();
    await agent.follow(await agent.get(url()));
    const [, cookie] = [...agent.cookies].find(([key]) => key.startsWith('idp.interaction ')) as [string, { value: string; path: string }];
    const [, sign] = [...agent.cookies].find(([key]) => key.startsWith('idp.interaction.sig')) as [string, { value: string; path: string }];
    expect(
      await isSignedIn(
        holding([
          ['idp.session /', { ...cookie, path: '/' }],
          ['idp.session.sig /', { ...sign, path: '/' }],
        ]),
      ),
    ).toBe(false);
  });
});

describe('F2: a session that ended stays ended', () => {
  test('F2: its cookie signs nobody in, its tokens are dead, its grants are no shortcut', async () => {
    const { agent, tokens } = await signedIn();
    const kept = sessionOf(agent);
    await agent.follow(await agent.submit(await endSession(agent), { logout: 'yes' }));
    for (const again of [agent, holding(kept)]) {
      expect(await isSignedIn(again)).toBe(false);
      await again.get(url());
      expect(await isSignedIn(again)).toBe(false);
    }
    expect(await isActive(service.issuer, tokens.access_token)).toBe(false);
  });

  test('F2: a code that was not redeemed before buys nothing after', async () => {
    const { agent } = await signedIn();
    const code = await obtainCode(service.issuer, agent);
    await agent.follow(await agent.submit(await endSession(agent), { logout: 'yes' }));
    expect((await redeem(service.issuer, code)).json.error).toBe('invalid_grant');
  });

  test('F2: when another person takes the browser over, what the first one’s clients got is dead', async () => {
    const { agent, tokens } = await signedIn();
    const answer = await signIn(agent, url({ prompt: 'login' }), 'bob@globex.test', 'bob');
    expect(responseOf(answer).get('code')).not.toBeNull();
    expect(await isActive(service.issuer, tokens.access_token)).toBe(false);
    const { json } = await redeem(service.issuer, await obtainCode(service.issuer, agent));
    expect(decodeJwt(json.id_token).sub).not.toBe(decodeJwt(tokens.id_token).sub);
  });

  test('F2: a linked account of the same person takes over and ends nothing', async () => {
    const { agent, tokens } = await signedIn();
    const answer = await signIn(agent, url({ prompt: 'login' }), 'alice@globex.test', 'alice');
    expect(responseOf(answer).get('code')).not.toBeNull();
    expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
    const { json } = await redeem(service.issuer, await obtainCode(service.issuer, agent));
    expect(decodeJwt(json.id_token)).toMatchObject({
      sub: decodeJwt(tokens.id_token).sub,
      tid: expect.not.stringMatching(String(decodeJwt(tokens.id_token).tid)),
    });
    await agent.follow(await agent.submit(await endSession(agent), { logout: 'yes' }));
    for (const { access_token: token } of [tokens, json]) expect(await isActive(service.issuer, token)).toBe(false);
  });
});

describe('F6: nobody is signed out who did not mean it', () => {
  test('F6: without a hint, with another’s, and with that of another session of theirs, it asks', async () => {
    const { agent } = await signedIn();
    const bob = new Agent();
    await signIn(bob, url(), 'bob@globex.test', 'bob');
    const hints = [
      undefined,
      (await signedIn(bob)).tokens.id_token,
      (await signedIn()).tokens.id_token,
      (await signedIn(new Agent(), 'jwt')).tokens.id_token,
    ];
    for (const hint of hints) {
      const page = await endSession(agent, hint ? { id_token_hint: hint } : {});
      expect({ status: page.status, location: page.location }).toEqual({ status: 200, location: undefined });
      expect(formOf(page).action).toBe(`${service.issuer}/connect/endsession/confirm`);
      expect(await isSignedIn(agent)).toBe(true);
    }
  });

  test('F6: the hint of this session needs no question', async () => {
    const { agent, tokens } = await signedIn();
    const answer = await endSession(agent, { id_token_hint: tokens.id_token, post_logout_redirect_uri: postLogoutRedirectUri, state: 's' });
    expect(answer).toMatchObject({ status: 303, location: `${postLogoutRedirectUri}?state=s` });
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('F6: a hint of a linked account is another’s', async () => {
    const family = new Agent();
    await signIn(family, url(), 'alice@globex.test', 'alice');
    const globex = (await redeem(service.issuer, await obtainCode(service.issuer, family))).json.id_token;
    const { agent, tokens } = await signedIn();
    expect(decodeJwt(globex).sub).toBe(decodeJwt(tokens.id_token).sub);
    expect((await endSession(agent, { id_token_hint: globex })).status).toBe(200);
    expect(await isSignedIn(agent)).toBe(true);
    expect(responseOf(await agent.get(url({ prompt: 'none', id_token_hint: globex }))).get('error')).toBe('login_required');
  });

  test('F6: a modified hint is an error, and changes nothing', async () => {
    const { agent, tokens } = await signedIn();
    const [header, payload, signature] = tokens.id_token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const altered = Buffer.from(JSON.stringify({ ...claims, sid: 'x' })).toString('base64url');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const modified = [
      'x',
      'a.b.c',
      `${header}.${altered}.${signature}`,
      `${none}.${payload}.`,
      `${none}.${payload}.${signature}`,
      `${header}.${payload}.`,
      `${tokens.id_token}x`,
      tokens.access_token,
    ];
    for (const hint of modified) {
      const answer = await endSession(agent, { id_token_hint: hint });
      expect(answer).toMatchObject({ status: 400, location: undefined });
      expectNothingInternal(
        answer.body,
        [hint.slice(0, 30)].filter((text) => text.length > 10),
      );
    }
    expect((await endSession(agent, { id_token_hint: tokens.id_token, client_id: 'jwt' })).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('F6: the answer to the question is a form of this session’s, once', async () => {
    const { agent } = await signedIn();
    const confirm = `${service.issuer}/connect/endsession/confirm`;
    const stranger = await signedIn();
    const foreign = formOf(await endSession(stranger.agent)).fields;
    const { fields } = formOf(await endSession(agent));
    for (const forged of [{}, { xsrf: '' }, foreign, { xsrf: `${fields.xsrf}x` }] as Record<string, string>[]) {
      expect((await agent.post(confirm, { ...forged, logout: 'yes' })).status).toBe(400);
      expect(await isSignedIn(agent)).toBe(true);
    }
    expect((await agent.get(`${confirm}?${new URLSearchParams({ ...fields, logout: 'yes' })}`)).status).toBeGreaterThanOrEqual(400);
    expect(await isSignedIn(agent)).toBe(true);
    // The answer to stay signed in also uses up the question.
    const { fields: asked } = formOf(await endSession(agent, { client_id: 'web' }));
    expect((await agent.post(confirm, asked)).status).toBe(303);
    expect((await agent.post(confirm, { ...asked, logout: 'yes' })).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(true);
  });
});

describe('F7: after a sign-out nobody lands at a foreign address', () => {
  const foreign = [
    'http://evil.example/',
    `${postLogoutRedirectUri}/`,
    `${postLogoutRedirectUri}?x=1`,
    `${postLogoutRedirectUri}#x`,
    'http://127.0.0.1:9@evil.example/signed-out',
    '//evil.example',
    'javascript:alert(1)',
    'http://127.0.0.1:9/callback',
  ];
  test('F7: with a client, it is refused; with none, ignored; signed in or not', async () => {
    const { agent, tokens } = await signedIn();
    for (const post_logout_redirect_uri of foreign) {
      for (const [browser, parameters] of [
        [agent, { id_token_hint: tokens.id_token }],
        [agent, { client_id: 'web' }],
        [new Agent(), { client_id: 'web' }],
        [new Agent(), { id_token_hint: tokens.id_token }],
      ] as [Agent, Record<string, string>][]) {
        const answer = await endSession(browser, { ...parameters, post_logout_redirect_uri, state: 's' });
        expect({ post_logout_redirect_uri, status: answer.status, location: answer.location }).toEqual({
          post_logout_redirect_uri,
          status: 400,
          location: undefined,
        });
      }
      const unnamed = await endSession(new Agent(), { post_logout_redirect_uri });
      expect(unnamed.location).toBe(`${service.issuer}/connect/endsession/success`);
      expect(formOf(await endSession(agent, { post_logout_redirect_uri })).fields).toEqual({
        xsrf: expect.any(String),
        csrf: expect.any(String),
      });
    }
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('F7: nor by an unknown client, two addresses, or the page after', async () => {
    const agent = new Agent();
    for (const query of [
      'client_id=nobody&post_logout_redirect_uri=http://evil.example/',
      `client_id=web&post_logout_redirect_uri=${encodeURIComponent(postLogoutRedirectUri)}&post_logout_redirect_uri=http://evil.example/`,
    ]) {
      const answer = await agent.get(`${service.issuer}/connect/endsession?${query}`);
      expect(answer).toMatchObject({ status: 400, location: undefined });
    }
    const success = await agent.get(
      `${service.issuer}/connect/endsession/success?post_logout_redirect_uri=http://evil.example/&client_id=web`,
    );
    expect(success.body).not.toContain('evil');
  });
});

test('F1–F7 leave nothing in the log', () => expectQuietLog(service));
