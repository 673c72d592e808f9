/**
 * B23, E-A: a second press drops the answer in progress, with its cookies. On a slow connection, the dropped answer is the one to which the
 * first press led.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { captureMail, invite, invitingSeed, PASSWORD, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, postForm, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { createSigningClient } from '../support/client/request-objects.js';
import { authorizationOf, redeem } from '../support/client/steps.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions } from '../support/sign-in/impersonating.js';
import { linkIn, mailTo, passwordPage } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const { verifier, challenge } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
const sessionIn = ({ headers }: Answer): string | undefined => headers.getSetCookie().find((line) => /^\S*idp\.session=[^;]/.test(line));
function keepOnly(agent: Agent, cookies: Agent['cookies']): void {
  agent.cookies.clear();
  for (const [key, cookie] of cookies) agent.cookies.set(key, cookie);
}
/** Requests a page whose answer the browser drops. */
async function drop(agent: Agent, url: string): Promise<Answer> {
  const before = new Map(agent.cookies);
  const dropped = await agent.get(url);
  keepOnly(agent, before);
  return dropped;
}
/** Sends the form, and lets the service resume the sign-in. The browser drops the answer of the resumption. */
async function pressed(agent: Agent, page: Answer, typed: Record<string, string> = {}, to?: string) {
  const { action: own, fields } = formOf(page);
  const action = to ?? own;
  const press = (by = agent): Promise<Answer> => by.post(action, { ...fields, ...typed });
  const resume = (await press()).location as string;
  return { press, page: action, resume, dropped: await drop(agent, resume) };
}
const given = (agent: Agent, dropped: Answer): void => {
  for (const line of dropped.headers.getSetCookie().filter((each) => each.includes('idp.session'))) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    agent.cookies.set(`${name} /`, { value, path: '/' });
  }
};

describe('a button that is pressed again while the browser follows the first answer', () => {
  const captured = captureMail();
  const service = useIdp({ seed: invitingSeed as never, personalTenant });
  const mailing = useIdp({ seed: invitingSeed as never, personalTenant, mail: captured.mail });
  const ask = (parameters: Record<string, string> = {}): string => authorizeUrl(service.issuer, { ...pkce, ...parameters });
  const silently = async (agent: Agent): Promise<Record<string, string>> =>
    membersOf(await agent.follow(await agent.get(ask({ prompt: 'none' }))));
  const alicesPage = (agent: Agent, parameters?: Record<string, string>): Promise<Answer> =>
    passwordPage(service.issuer, agent, 'alice@acme.test', { ...pkce, ...parameters });
  const alice = { password: 'alice' };

  test('signs in, with a code of its own', async () => {
    const agent = new Agent();
    const { press, dropped } = await pressed(agent, await alicesPage(agent), alice);
    expect(sessionIn(dropped)).toBeDefined();
    const { code = '' } = membersOf(await agent.follow(await press()));
    expect(code).not.toBe(membersOf(dropped).code);
    expect((await redeem(service.issuer, { client: 'web', code, verifier })).status).toBe(200);
    expect(await silently(agent)).toHaveProperty('code');
  });

  test('signs in after each of several presses, and after the page of the resumed request', async () => {
    const agent = new Agent();
    const { press, resume } = await pressed(agent, await alicesPage(agent), alice);
    const before = new Map(agent.cookies);
    keepOnly(agent, before);
    const codes = new Set<string | undefined>();
    for (const again of [press, () => agent.get(resume), press, () => agent.get(resume)]) {
      codes.add(membersOf(await agent.follow(await again())).code);
      keepOnly(agent, before);
    }
    expect([codes.size, codes.has(undefined)]).toEqual([4, false]);
  });

  test.each([{ prompt: 'login' }, { max_age: '0' }, { prompt: 'login', max_age: '1' }])(
    'signs in where the request had a session before, and asked for a sign-in by %j',
    async (parameters) => {
      const agent = new Agent();
      await signIn(agent, ask(), 'bob@globex.test', 'bob');
      try {
        passTime(5);
        const again = await agent.follow(await agent.get(ask({ ...parameters, login_hint: 'bob@globex.test' } as never)));
        const { press, dropped } = await pressed(agent, again, { identifier: 'bob@globex.test', password: 'bob' });
        expect(sessionIn(dropped)).toBeDefined();
        passTime(10);
        expect(membersOf(await agent.follow(await press()))).toHaveProperty('code');
        expect(await silently(agent)).toHaveProperty('code');
      } finally {
        backToPresent();
      }
    },
  );

  test('creates one account, and signs in to it', async () => {
    const tid = await tenantNamed(service.idp, 'Acme');
    await service.idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
    const agent = new Agent();
    const page = await agent.follow(await agent.get(ask({ prompt: 'create', acr_values: `tenant:${tid}` })));
    const newcomer = { givenName: 'Nils', familyName: 'New', email: 'nils@dropped.test', password: PASSWORD };
    const { press } = await pressed(agent, page, newcomer);
    expect(membersOf(await agent.follow(await press()))).toHaveProperty('code');
  });

  test('leads to the next page where another one comes before the application', async () => {
    const agent = new Agent();
    const { press, dropped } = await pressed(agent, await alicesPage(agent, { client_id: 'third-party' }), alice);
    expect([sessionIn(dropped) !== undefined, dropped.location?.includes('/idp/interaction/')]).toEqual([true, true]);
    const consent = await agent.follow(await press());
    expect(consent.body).toContain('Third party');
    const second = await pressed(agent, consent, { decision: 'allow' });
    expect(membersOf(await agent.follow(await second.press()))).toHaveProperty('code');
  });

  test('gives a browser that lost nothing no second answer to a GET', async () => {
    const agent = new Agent();
    const { page, resume, dropped } = await pressed(agent, await alicesPage(agent), alice);
    given(agent, dropped);
    for (const url of [page, resume]) expect((await agent.follow(await agent.get(url))).location).toBeUndefined();
  });

  test('tells the application once more that the user cancelled', async () => {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(ask({ state: 'kept' })));
    const { press, dropped } = await pressed(agent, page, {}, `${page.url}/cancel`);
    expect(membersOf(dropped)).toMatchObject({ error: 'access_denied', state: 'kept' });
    expect((await agent.follow(await press())).location).toBe(dropped.location);
  });

  test.each(['form_post', 'form_post.jwt'])('posts to the application once more that the user cancelled, by %s', async (mode) => {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(ask({ state: 'kept', response_mode: mode })));
    const { press, resume, dropped } = await pressed(agent, page, {}, `${page.url}/cancel`);
    const members = membersOf(dropped);
    if (mode === 'form_post') expect(members).toMatchObject({ error: 'access_denied', state: 'kept' });
    for (const again of [await press(), await press()]) expect([again.status, membersOf(again)]).toEqual([200, members]);
    const other = new Agent();
    keepOnly(other, new Map([...agent.cookies].filter(([key]) => !key.includes('idp.browser '))));
    for (const answer of [await press(other), await agent.get(resume), await agent.get(page.url)])
      expect((await agent.follow(answer)).body).not.toContain(redirectUri);
  });

  test('posts a form to the application where the request asks for one', async () => {
    const agent = new Agent();
    const { press } = await pressed(agent, await alicesPage(agent, { response_mode: 'form_post' }), alice);
    expect(membersOf(await agent.follow(await press()))).toHaveProperty('code');
  });

  test('signs in where the application has to push its requests, or to sign them', async () => {
    const pushing = {
      id: 'pushing',
      secret: 'pushing-secret',
      metadata: { redirect_uris: [redirectUri], require_pushed_authorization_requests: true },
    };
    await service.idp.directory.clients.create({ name: 'Pushes', allowedScopes: ['openid'], ...pushing } as never);
    const signing = await createSigningClient('signing', { metadata: { require_signed_request_object: true } });
    await service.idp.directory.clients.create(signing.record as never);
    const body = { client_id: 'pushing', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...pkce };
    const pushed = await postForm(`${service.issuer}/connect/par`, body, authorizationOf('pushing'));
    const authorize = `${service.issuer}/connect/authorize`;
    const requests = [
      { client_id: 'pushing', request_uri: pushed.json.request_uri as string },
      { client_id: signing.id, request: await signing.sign(service.issuer, pkce) },
    ];
    for (const request of requests) {
      const agent = new Agent();
      const first = await agent.follow(await agent.get(`${authorize}?${new URLSearchParams(request)}`));
      const { press } = await pressed(agent, await agent.submit(first, { identifier: 'alice@acme.test' }), alice);
      expect(membersOf(await agent.follow(await press()))).toHaveProperty('code');
    }
  });

  test('gives nothing to whoever lacks the secret of that browser, nor after a minute', async () => {
    const agent = new Agent();
    const { press, page, resume } = await pressed(agent, await alicesPage(agent), alice);
    for (const missing of [/./, /idp\.browser /]) {
      const other = new Agent();
      keepOnly(other, new Map([...agent.cookies].filter(([key]) => !missing.test(key))));
      const reached = [await other.get(resume), await other.get(page), await press(other)];
      for (const answer of reached) {
        const end = await other.follow(answer);
        expect([sessionIn(end), end.location]).toEqual([undefined, undefined]);
      }
      expect(await silently(other)).toMatchObject({ error: 'login_required' });
    }
    try {
      passTime(62);
      for (const answer of [await agent.get(resume), await agent.get(page), await press()])
        expect((await agent.follow(answer)).location).toBeUndefined();
      expect(await silently(agent)).toMatchObject({ error: 'login_required' });
    } finally {
      backToPresent();
    }
  });

  test('gives nothing once the session ended, and remembers no account again (E-H)', async () => {
    const agent = new Agent();
    const { press, page, resume, dropped } = await pressed(agent, await alicesPage(agent), alice);
    const before = new Map(agent.cookies);
    given(agent, dropped);
    expect(await silently(agent)).toHaveProperty('code');
    await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    for (const cookies of [new Map(agent.cookies), before])
      for (const again of [press, () => agent.get(resume), () => agent.get(page)]) {
        keepOnly(agent, cookies);
        const answer = await again();
        const end = await agent.follow(answer);
        expect(end.location).toBeUndefined();
        for (const { headers } of [answer, end]) expect(headers.getSetCookie().join()).not.toMatch(/idp\.(accounts|session)=[^;]/);
        expect(await silently(agent)).toMatchObject({ error: 'login_required' });
      }
  });

  describe.each(['nobody is signed in', 'Alice is signed in again', 'Bob is signed in'])('R-1: a sign-out while %s', (who) => {
    const voided = async (agent: Agent, signOut: () => Promise<unknown>) => {
      const lost = await pressed(agent, await alicesPage(agent), alice);
      if (who.startsWith('Alice')) await signIn(agent, ask(), 'alice@acme.test', 'alice');
      if (who.startsWith('Bob')) await signIn(agent, ask(), 'bob@globex.test', 'bob');
      await signOut();
      for (const again of [lost.press, () => agent.get(lost.resume), () => agent.get(lost.page)]) {
        expect((await agent.follow(await again())).location).toBeUndefined();
        expect(await silently(agent)).toMatchObject({ error: 'login_required' });
      }
    };
    const atThePage = async (agent: Agent, parameters = '') => {
      const page = await agent.get(`${service.issuer}/connect/endsession${parameters}`);
      return page.status === 200 && page.body.includes('xsrf')
        ? agent.follow(await agent.submit(page, { logout: 'yes' }))
        : agent.follow(page);
    };

    test('voids what the browser lost', async () => {
      const agent = new Agent();
      await voided(agent, () => atThePage(agent));
      // A sign-in after the sign-out is answered again at a second press.
      const next = await pressed(agent, await alicesPage(agent), alice);
      expect(membersOf(await agent.follow(await next.press()))).toHaveProperty('code');
    });

    test('voids it for a client that asks for the sign-out', async () => {
      const agent = new Agent();
      const asked = new URLSearchParams({ client_id: 'web' });
      await voided(agent, () => atThePage(agent, `?${asked}`));
    });
  });

  test.each(['lost', 'kept'])('R-1b: a form with other content, or without its token, leads nowhere; the answer was %s', async (end) => {
    const agent = new Agent();
    const { press, page, dropped } = await pressed(agent, await alicesPage(agent, { prompt: 'login' }), alice);
    if (end === 'kept') given(agent, dropped);
    const { fields } = formOf(dropped.location ? await alicesPage(new Agent()) : dropped);
    for (const other of [{ password: 'wrong' }, { ...fields, password: 'wrong' }, {}, { ...fields, ...alice }]) {
      const answer = await agent.follow(await agent.post(page, other));
      expect([answer.location, sessionIn(answer)]).toEqual([undefined, undefined]);
    }
    expect(await agent.follow(await press())).toMatchObject({ location: expect.stringContaining('code=') });
  });

  test('R-1b: the form itself with another password leads nowhere', async () => {
    const agent = new Agent();
    const form = await alicesPage(agent);
    const { page } = await pressed(agent, form, alice);
    const answer = await agent.follow(await agent.post(page, { ...formOf(form).fields, password: 'wrong' }));
    expect([answer.location, sessionIn(answer)]).toEqual([undefined, undefined]);
    expect(await silently(agent)).toMatchObject({ error: 'login_required' });
  });

  test('gives nothing once an administrator ended the sessions of the user', async () => {
    const agent = new Agent();
    const { press } = await pressed(agent, await alicesPage(agent), alice);
    const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
    const user = { tid: account?.tenant.id ?? '', userId: account?.person.user.id ?? '' };
    for (const { id } of await service.idp.sessions.list(user)) await service.idp.sessions.end(user, id);
    expect((await agent.follow(await press())).location).toBeUndefined();
    expect(await silently(agent)).toMatchObject({ error: 'login_required' });
  });

  test('takes no session away from another user who signed in meanwhile, and answers not as that user', async () => {
    const agent = new Agent();
    const { press, page, resume } = await pressed(agent, await alicesPage(agent), alice);
    await signIn(agent, ask(), 'bob@globex.test', 'bob');
    const session = [...agent.cookies].filter(([key]) => key.includes('idp.session'));
    for (const answer of [await press(), await agent.get(resume), await agent.get(page)])
      expect((await agent.follow(answer)).location).toBeUndefined();
    expect([...agent.cookies].filter(([key]) => key.includes('idp.session'))).toEqual(session);
    expect(await silently(agent)).toHaveProperty('code');
  });

  test('signs in as the account that the browser switches to, linked or not', async () => {
    for (const [userName, password] of [
      ['bob@globex.test', 'bob'],
      ['alice@globex.test', 'alice'],
    ] as const) {
      const agent = new Agent();
      await signIn(agent, ask(), userName, password);
      const again = await agent.follow(await agent.get(ask({ prompt: 'login' })));
      const asked = again.body.includes('name="password"') ? again : await agent.submit(again, { identifier: 'alice@acme.test' });
      const { press } = await pressed(agent, asked, { identifier: 'alice@acme.test', ...alice });
      expect(membersOf(await agent.follow(await press()))).toHaveProperty('code');
      expect(await silently(agent)).toHaveProperty('code');
    }
  });

  test('R7-LATE: a registration link that is pressed twice shows the same page twice, whatever the browser lost', async () => {
    for (const lost of [0, 1, 2, 3, 4, 5]) {
      const invited = await invite(mailing.idp, { link: true });
      const agent = new Agent();
      const email = `late-${lost}@home.test`;
      const form = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'create' }));
      await agent.follow(await agent.submit(form, { givenName: 'G', familyName: 'G', email, password: PASSWORD }));
      const page = await agent.get(linkIn(await mailTo(captured, email, 'registration')));
      try {
        passTime(2000);
        const { action, fields } = formOf(page);
        let answer = await agent.post(action, fields);
        // The browser follows some redirects, and drops the answer to the next redirect.
        for (let followed = 0; followed < lost && answer.location; followed += 1) answer = await agent.get(answer.location);
        if (answer.location) await drop(agent, answer.location);
        const end = await agent.follow(await agent.post(action, fields));
        expect([lost, titleOf(end)]).toEqual([lost, 'Your account is ready']);
        expect(end.status).toBe(200);
      } finally {
        backToPresent();
      }
    }
  });
});

describe('an impersonation that begins while its button is pressed again', () => {
  const service = useIdp(operatorOptions);
  const impersonating = () => impersonatingAt(service);
  const begin = async () => {
    const { agent, page } = await impersonating().chooser();
    const why = await impersonating().choose(agent, page, 'alice@acme.test');
    return { agent, ...(await pressed(agent, why, { step: 'start', reason: 'Ticket 4711' })) };
  };

  test('goes on', async () => {
    const { agent, press } = await begin();
    expect(membersOf(await agent.follow(await press()))).toHaveProperty('code');
    expect(await impersonating().now(agent)).toMatchObject({ act: expect.anything() });
  });

  test('stays ended once it ended', async () => {
    const { agent, press, resume, page, dropped } = await begin();
    const before = new Map(agent.cookies);
    given(agent, dropped);
    await agent.follow(await impersonating().end(agent));
    const after = new Map(agent.cookies);
    for (const cookies of [before, after])
      for (const again of [press, () => agent.get(resume), () => agent.get(page)]) {
        keepOnly(agent, cookies);
        await agent.follow(await again());
        expect(await impersonating().now(agent)).not.toHaveProperty('act');
      }
  });
});

describe('a store that fails while the sign-in is resumed', () => {
  /** Number of commits that succeed before one fails. Undefined means that none fails. */
  let left: number | undefined;
  const inner = memoryArtifacts();
  const artifacts: ArtifactStore = new Proxy(inner, {
    get(target, member) {
      if (member !== 'commit') return Reflect.get(target, member);
      return async (writes: never) => {
        if (left !== undefined && --left < 0) {
          left = undefined;
          throw new Error('the store of the test fails');
        }
        return target.commit(writes);
      };
    },
  });
  const service = useIdp({ artifacts });

  test('leaves a sign-in or none, at each write', async () => {
    const ends: string[] = [];
    for (let at = 0; ends.length <= at; at += 1) {
      const agent = new Agent();
      const page = await passwordPage(service.issuer, agent, 'alice@acme.test', pkce);
      const { action, fields } = formOf(page);
      const press = () => agent.post(action, { ...fields, password: 'alice' });
      const first = await press();
      left = at;
      const dropped = await drop(agent, first.location as string);
      if (left !== undefined) break;
      expect([503, 303]).toContain(dropped.status);
      if (dropped.location) expect(membersOf(dropped)).toMatchObject({ error: 'temporarily_unavailable' });
      const end = await agent.follow(await press());
      ends.push(end.location === undefined ? titleOf(end) : 'code');
    }
    left = undefined;
    expect(ends.length).toBeGreaterThan(1);
    expect(ends.filter((end) => end !== 'code' && end !== 'This sign-in took too long')).toEqual([]);
  });
});

describe('a store that is slow while the sign-in is resumed', () => {
  /** Runs after each commit, with the number of commits since `count` was reset. */
  let after: ((count: number) => Promise<void>) | undefined;
  let count = 0;
  const inner = memoryArtifacts();
  const artifacts: ArtifactStore = new Proxy(inner, {
    get(target, member) {
      if (member !== 'commit') return Reflect.get(target, member);
      return async (writes: never) => {
        const done = await target.commit(writes);
        await after?.(++count);
        return done;
      };
    },
  });
  const service = useIdp({ artifacts });

  test('E-A: a second press after any of its writes signs in', async () => {
    const ends: string[] = [];
    for (let at = 1; ends.length < at; at += 1) {
      const agent = new Agent();
      const page = await passwordPage(service.issuer, agent, 'alice@acme.test', pkce);
      const { action, fields } = formOf(page);
      const first = await agent.post(action, { ...fields, password: 'alice' });
      // The same browser, which has dropped the first answer.
      const again = new Agent();
      keepOnly(again, agent.cookies);
      let pressed: Promise<Answer> | undefined;
      count = 0;
      after = async (commits) => {
        if (commits !== at) return;
        after = undefined;
        pressed = again.post(action, { ...fields, password: 'alice' });
        await sleep(300);
      };
      await agent.get(first.location as string);
      after = undefined;
      if (!pressed) break;
      ends.push((await again.follow(await pressed)).location === undefined ? `lost after write ${at}` : 'code');
    }
    expect(ends.length).toBeGreaterThan(1);
    expect(new Set(ends)).toEqual(new Set(['code']));
  });
});
