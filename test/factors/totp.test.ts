/** Service specification 4.2, mfa: a code of an authenticator app, and recovery codes, in addition to the password. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, obtainTokens, postForm, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { introspect, refresh } from '../support/client/steps.js';
import { cheapPasswords, redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied, enrol, enrolOn, namedPeople, postTo, problemOf, submit } from '../support/sign-in/factors.js';
import { backToPresent, passTime } from '../support/time/clock.js';

/** Names of users: one user for each test, so that no test meets the factors of another test. */
const names = Array.from({ length: 30 }, (_, index) => `person${index}`);
const [acme, ...otherTenants] = testSeed.tenants;
const service = useIdp({
  seed: {
    ...testSeed,
    tenants: [
      {
        ...acme,
        persons: [...(acme?.persons ?? []), ...namedPeople(names)],
      },
      ...otherTenants,
    ],
  } as never,
  passwords: cheapPasswords,
});

let next = 0;
let me: string;
beforeEach(() => {
  me = names[next++] ?? '';
  passTime(0);
});
afterEach(backToPresent);

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const mfa = (parameters: Record<string, string> = {}) => url({ acr_values: 'mfa', ...parameters });
const signMeIn = (agent: Agent, at: string) => signIn(agent, at, me, me);
const redeemed = async (response: Answer) => {
  const fields = { grant_type: 'authorization_code', code: membersOf(response).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('web'))).json;
};
/** Enrols an app. The step of its last code has ended. */
const withApp = async (agent = new Agent()) => {
  const made = await enrol(agent, mfa(), me, me);
  passTime(60);
  return { agent, ...made };
};
const CHALLENGE = 'Confirm that it is you';

describe('4.2: `mfa` requires multi-factor', () => {
  test('who has no second factor sets one up at the sign-in: app, code, recovery codes, and on to the application', async () => {
    const agent = new Agent();
    const page = await signMeIn(agent, mfa());
    expect(titleOf(page)).toBe('Set up a second factor');
    const [secret = ''] = copied(page);
    expect(page.body).toMatch(/<svg class="qr" role="img" aria-label="[^"]+"/);
    const wrong = await submit(agent, page, { code: codeOf(secret, 7) });
    expect([wrong.status, copied(wrong)]).toEqual([400, [secret]]);
    const empty = await submit(agent, wrong, { code: ' ' });
    expect(problemOf(empty)).toBe('Enter the 6-digit code.');
    const shown = await submit(agent, empty, { code: ` ${codeOf(secret).slice(0, 3)} ${codeOf(secret).slice(3)} ` });
    expect([titleOf(shown), new Set(copied(shown)).size]).toEqual(['Save your recovery codes', 10]);
    // A reload shows the same codes.
    expect(copied(await agent.get(shown.url))).toEqual(copied(shown));
    const tokens = await redeemed(await submit(agent, shown, {}));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ amr: ['pwd', 'mfa'], idp: 'local', acr: 'mfa' });
    expect((await introspect(service.issuer, tokens.access_token)).json).toMatchObject({ active: true, amr: ['pwd', 'mfa'] });
    expect(membersOf(await agent.get(mfa({ prompt: 'none' })))).toHaveProperty('code');
  });

  test('a form that is sent twice at once adds one app, and its recovery codes are seen whichever answer is shown', async () => {
    const agent = new Agent();
    const page = await signMeIn(agent, mfa());
    const code = codeOf(copied(page)[0] ?? '');
    const pages = await Promise.all(Array.from({ length: 6 }, () => submit(agent, page, { code })));
    expect(pages.map(titleOf)).toEqual(Array(6).fill('Save your recovery codes'));
    expect(new Set(pages.map((one) => copied(one).join())).size).toBe(1);
    const [recovery = ''] = copied(pages[0] as Answer);
    expect(membersOf(await submit(agent, pages[0] as Answer, {}))).toHaveProperty('code');
    passTime(60);
    const other = new Agent();
    expect(membersOf(await postTo(other, await signMeIn(other, mfa()), '/factors/code', { recovery }))).toHaveProperty('code');
  });

  test('`amr` `mfa` is additional: the next sign-in takes the password and a code', async () => {
    const { secret } = await withApp();
    const agent = new Agent();
    const page = await signMeIn(agent, mfa());
    expect(titleOf(page)).toBe(CHALLENGE);
    const tokens = await redeemed(await submit(agent, page, { code: codeOf(secret) }));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ amr: ['pwd', 'mfa'] });
  });

  test('a session of one factor steps up; with prompt=none that is an error; grants from before say no more than they did', async () => {
    const { agent, tokens: before } = await obtainTokens(service.issuer, { userName: me, password: me, scope: 'openid offline_access' });
    expect(membersOf(await agent.get(mfa({ prompt: 'none' })))).toMatchObject({ error: 'interaction_required' });
    const { response } = await enrolOn(agent, await agent.follow(await agent.get(mfa())));
    const [first, second] = [before, await redeemed(response)].map(({ id_token }) => decodeJwt(id_token));
    expect([second?.amr, second?.auth_time]).toEqual([['pwd', 'mfa'], first?.auth_time]);
    const refreshed = await refresh(service.issuer, before.refresh_token);
    expect((await introspect(service.issuer, refreshed.json.access_token)).json).toMatchObject({ amr: ['pwd'] });
  });

  test('who has a factor is asked for it by every application, because a stolen password would do otherwise', async () => {
    const { secret, agent: enrolled } = await withApp();
    const agent = new Agent();
    const page = await signMeIn(agent, url());
    expect(titleOf(page)).toBe(CHALLENGE);
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'interaction_required' });
    expect(decodeJwt((await redeemed(await submit(agent, page, { code: codeOf(secret) }))).id_token)).toMatchObject({
      amr: ['pwd', 'mfa'],
    });
    expect(membersOf(await enrolled.get(url({ prompt: 'none' })))).toHaveProperty('code');
  });

  test('a first factor takes a recent sign-in: whoever took over an old session sets up none of their own', async () => {
    const { agent } = await obtainTokens(service.issuer, { userName: me, password: me });
    passTime(3600);
    const page = await agent.follow(await agent.get(mfa()));
    expect([page.status, page.body.includes('name="identifier"')]).toEqual([200, true]);
    const again = await submit(agent, await submit(agent, page, { identifier: me }), { password: me });
    expect(titleOf(again)).toBe('Set up a second factor');
  });

  test('linked users use the factors of the account whose credential signs in', async () => {
    const { secret } = await enrol(new Agent(), mfa(), 'alice@acme.test', 'alice');
    passTime(60);
    const agent = new Agent();
    const page = await signIn(agent, mfa(), 'alice@globex.test', 'alice');
    expect(titleOf(page)).toBe(CHALLENGE);
    const { id_token } = await redeemed(await submit(agent, page, { code: codeOf(secret) }));
    expect(decodeJwt(id_token)).toMatchObject({ amr: ['pwd', 'mfa'] });
  });
});

describe('G4: codes', () => {
  test('each is good once, the one that set the app up too, and one from before the last is not', async () => {
    const { secret } = await enrol(new Agent(), mfa(), me, me);
    const agent = new Agent();
    const page = await signMeIn(agent, mfa());
    const reused = await submit(agent, page, { code: codeOf(secret) });
    expect([reused.status, problemOf(reused)]).toEqual([400, 'That code was already used. Wait for the next.']);
    expect(membersOf(await submit(agent, reused, { code: codeOf(secret, 1) }))).toHaveProperty('code');
    const other = new Agent();
    const behind = await submit(other, await signMeIn(other, mfa()), { code: codeOf(secret) });
    expect(problemOf(behind)).toBe('That code was already used. Wait for the next.');
  });

  test('J1: sent in twenty sign-ins at the same time, signs in one', async () => {
    const { secret } = await withApp();
    const agents = Array.from({ length: 20 }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => signMeIn(agent, mfa())));
    // Ten of the attempts are within the limit of the account.
    const answers = await Promise.all(agents.map((agent, index) => submit(agent, pages[index] as Answer, { code: codeOf(secret) })));
    expect(answers.filter(({ location }) => location?.includes('code='))).toHaveLength(1);
  });

  test.each([-2, 2])('of %i steps off are wrong; the clock of a phone may be a step off', async (steps) => {
    const { secret } = await withApp();
    const agent = new Agent();
    const page = await submit(agent, await signMeIn(agent, mfa()), { code: codeOf(secret, steps) });
    expect(problemOf(page)).toMatch(/^That code is not right/);
    expect(membersOf(await submit(agent, page, { code: codeOf(secret, steps / 2) }))).toHaveProperty('code');
  });

  test('five wrong ones end the challenge, also at the same time; the right one comes too late, and a new challenge is open', async () => {
    const { secret } = await withApp();
    const agent = new Agent();
    const page = await signMeIn(agent, mfa());
    const wrong = await Promise.all(
      Array.from({ length: 20 }, (_, guess) => submit(agent, page, { code: codeOf(secret, 9), guess: `${guess}` })),
    );
    expect(wrong.filter(({ status }) => status === 400)).toHaveLength(5);
    const late = await submit(agent, page, { code: codeOf(secret) });
    expect([late.status, problemOf(late)]).toEqual([429, 'Too many wrong codes. Start again.']);
    const again = await agent.follow(await agent.get(/href="([^"]*\/restart)"/.exec(late.body)?.[1] ?? ''));
    expect(membersOf(await submit(agent, again, { code: codeOf(secret) }))).toHaveProperty('code');
  });

  test('cannot be guessed across sessions: of 200 guesses in 40 sign-ins at the same time, ten are looked at', async () => {
    const { secret } = await withApp();
    const agents = Array.from({ length: 40 }, () => new Agent());
    const pages: Answer[] = [];
    for (const agent of agents) pages.push(await signMeIn(agent, mfa()));
    const guesses = pages.flatMap((page, index) =>
      Array.from({ length: 5 }, (_, guess) => submit(agents[index] as Agent, page, { code: codeOf(secret, 9), guess: `${guess}` })),
    );
    const answers = await Promise.all(guesses);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(190);
    const late = await submit(agents[1] as Agent, pages[1] as Answer, { code: codeOf(secret) });
    expect(problemOf(late)).toMatch(/^Too many wrong codes/);
    passTime(16 * 60);
    const agent = new Agent();
    expect(membersOf(await submit(agent, await signMeIn(agent, mfa()), { code: codeOf(secret) }))).toHaveProperty('code');
  });

  test('that are right do not count against the account', async () => {
    const { secret } = await withApp();
    for (let round = 0; round < 12; round += 1) {
      const agent = new Agent();
      expect(membersOf(await submit(agent, await signMeIn(agent, mfa()), { code: codeOf(secret) }))).toHaveProperty('code');
      passTime(90 + 30 * round);
    }
  });

  test('of somebody else are wrong', async () => {
    const { secret: mine } = await withApp();
    backToPresent();
    passTime(0);
    me = names[next++] ?? '';
    await withApp();
    const agent = new Agent();
    expect((await submit(agent, await signMeIn(agent, mfa()), { code: codeOf(mine) })).status).toBe(400);
  });
});

describe('recovery codes', () => {
  test('stand in for the app, each once, and tell when they get few', async () => {
    const { codes } = await withApp();
    expect(codes).toHaveLength(10);
    for (const [index, code] of codes.entries()) {
      const agent = new Agent();
      const page = await agent.get(/href="([^"]*with=recovery)"/.exec((await signMeIn(agent, mfa())).body)?.[1] ?? '');
      const said = code.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O');
      const shown = await submit(agent, page, { recovery: said });
      const left = codes.length - index - 1;
      if (left === 3) expect(titleOf(shown)).toBe('3 recovery codes left');
      if (left === 1) expect(titleOf(shown)).toBe('1 recovery code left');
      const response = left <= 3 ? await submit(agent, shown, {}) : shown;
      expect(decodeJwt((await redeemed(response)).id_token)).toMatchObject({ amr: ['pwd', 'mfa'] });
    }
    const agent = new Agent();
    const page = await agent.get(/href="([^"]*with=recovery)"/.exec((await signMeIn(agent, mfa())).body)?.[1] ?? '');
    const spent = await submit(agent, page, { recovery: codes[0] ?? '' });
    expect([spent.status, problemOf(spent)]).toEqual([400, 'That recovery code is not right, or it was used already.']);
  });

  test('J1: one that is sent in ten sign-ins at the same time signs in one', async () => {
    const { codes } = await withApp();
    const agents = Array.from({ length: 10 }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => signMeIn(agent, mfa())));
    const answers = await Promise.all(
      agents.map((agent, index) => postTo(agent, pages[index] as Answer, '/factors/code', { recovery: codes[0] ?? '' })),
    );
    expect(answers.filter(({ location }) => location?.includes('code='))).toHaveLength(1);
  });
});

describe('G5: no page is skipped', () => {
  test('a later step that is posted, the back button and a resumed request lead back to the challenge', async () => {
    await withApp();
    const agent = new Agent();
    const page = await signMeIn(agent, mfa({ client_id: 'third-party' }));
    for (const step of ['/consent', '/factors/seen', '/factors/enrol', '/factors/enrol-passkey', '/factors/passkey']) {
      const answer = await postTo(agent, page, step, { decision: 'allow', code: '123456' });
      expect([step, answer.location, titleOf(answer)]).toEqual([step, undefined, CHALLENGE]);
    }
    const resumed = await agent.follow(await agent.get(page.url.replace('/idp/interaction/', '/connect/authorize/')));
    expect(resumed.location).toBeUndefined();
  });

  test('G1: a form of another sign-in, or without its token, proves nothing and loses nothing', async () => {
    const { secret } = await withApp();
    const agent = new Agent();
    const page = await signMeIn(agent, mfa());
    for (const csrf of ['', 'x']) {
      const answer = await submit(agent, page, { csrf, code: codeOf(secret) });
      expect([answer.status, titleOf(answer)]).toEqual([403, CHALLENGE]);
    }
    expect(membersOf(await submit(agent, page, { code: codeOf(secret) }))).toHaveProperty('code');
  });

  test('a challenge of one sign-in is none of another: the form posted there is answered by that one', async () => {
    const { secret } = await withApp();
    const [mine, other] = [new Agent(), new Agent()];
    const page = await signMeIn(mine, mfa());
    await signMeIn(other, mfa());
    const answer = await other.follow(await other.submit(page, { code: codeOf(secret) }));
    expect(answer.location).toBeUndefined();
    expect(membersOf(await submit(mine, page, { code: codeOf(secret) }))).toHaveProperty('code');
  });
});

test('a tenant that requires a second factor asks at each way in, and gives no tokens without', async () => {
  const [{ id: tid } = { id: '' }] = (await service.idp.directory.tenants.find()).filter(({ name }) => name === 'Acme');
  const { agent, tokens } = await obtainTokens(service.issuer, { userName: me, password: me, scope: 'openid offline_access' });
  await service.idp.directory.tenants.update(tid, { signIn: { requireMfa: true } });
  try {
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'interaction_required' });
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const { response } = await enrolOn(agent, await agent.follow(await agent.get(url())));
    expect(decodeJwt((await redeemed(response)).id_token)).toMatchObject({ amr: ['pwd', 'mfa'] });
  } finally {
    await service.idp.directory.tenants.update(tid, { signIn: null });
  }
});
