import { describe, expect, test } from '@jest/globals';
import type { BrowserSignIn, EndedSignIn, Extension, LogoutNotice } from 'tenant-idp/extension';
import { Agent, authorizeUrl, createPkce, signIn } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const asked: EndedSignIn[] = [];
const told: LogoutNotice[] = [];
let here: BrowserSignIn | undefined;
let isFailing = false;
let answers = true;

const watcher: Extension = {
  name: 'watcher',
  routes(router, { signIn, service: { url } }) {
    router.get('/watcher/me', async (ctx) => {
      here = await signIn.current(ctx);
      ctx.body = {};
    });
    router.get('/watcher/chain', (ctx) => ctx.redirect(String(ctx.query.next)));
    router.get('/watcher/frame', (ctx) => {
      ctx.body = url('/');
    });
  },
  logoutParticipant: ({ service: { url } }) => ({
    notices(ended) {
      asked.push(ended);
      if (isFailing) throw new Error('cannot say');
      return [{ name: 'The watcher', notice: { of: ended.session } }];
    },
    async send(notice) {
      if (!answers) throw new Error('not now');
      told.push(notice);
    },
    frames: () => [
      { name: 'A frame', uri: url('/watcher/frame') },
      { name: 'no', uri: 'javascript:alert(1)' },
    ],
    visit: (_ended, next) => `${url('/watcher/chain')}?${new URLSearchParams({ next })}`,
    unanswered() {
      throw new Error('breaks');
    },
  }),
};

describe('a logout participant', () => {
  const service = useIdp({ seed: testSeed, extensions: [watcher, { name: 'quiet', logoutParticipant: () => ({}) }] });
  const requestFor = (more: Record<string, string>) =>
    authorizeUrl(service.issuer, { scope: 'openid', code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...more });
  const signedIn = async (userName = 'bob@globex.test', password = 'bob') => {
    const agent = new Agent();
    await signIn(agent, requestFor({}), userName, password);
    await agent.get(`${service.issuer}/watcher/me`);
    const me = here as BrowserSignIn;
    asked.length = told.length = 0;
    return { agent, me };
  };

  test('who is signed in here: the account and its sign-in, by the name that administrators see; elsewhere nobody', async () => {
    const { me } = await signedIn();
    expect(me).toMatchObject({ amr: ['pwd'], idp: 'local', account: { tenant: { name: 'Globex' } } });
    const [session] = await service.idp.sessions.list({ tid: me.account.tenant.id, userId: me.oid });
    expect(me.session).toBe(session?.id);
    await new Agent().get(`${service.issuer}/watcher/me`);
    expect(here).toBeUndefined();
  });

  test('is asked before, told after; the browser calls its frames, goes its way and comes back', async () => {
    const { agent, me } = await signedIn();
    const question = await agent.get(`${service.issuer}/connect/endsession`);
    const gone = await agent.submit(question, { logout: 'yes' });
    expect(gone.location).toContain('/watcher/chain?next=');
    const page = await agent.follow(gone);
    expect(page.body).toContain(`src="${service.issuer}/watcher/frame"`);
    expect(page.body).not.toContain('javascript:alert');
    expect(asked).toEqual([{ session: me.session, oid: me.oid, sub: me.oid, idp: 'local' }]);
    await until(() => told.length > 0);
    expect(told).toEqual([{ of: me.session }]);
    await agent.get(`${service.issuer}/watcher/me`);
    expect(here).toBeUndefined();
    // `unanswered` throws, and the page appears nevertheless.
    expect(service.logged.filter(([, text]) => text !== 'a logout participant failed')).toEqual([]);
  });

  test('the page names it as long as it has not answered; the queue tries again', async () => {
    const { agent } = await signedIn();
    answers = false;
    const page = await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    expect(page.body).toContain('The watcher');
    answers = true;
    await until(() => told.length > 0);
    expect(told).toHaveLength(1);
  });

  test('hears of what the service ends, and of another person’s sign-in', async () => {
    const { me } = await signedIn();
    await service.idp.sessions.endAll({ tid: me.account.tenant.id, userId: me.oid });
    await until(() => told.some(({ of }) => of === me.session));
    expect(told).toContainEqual({ of: me.session });

    const second = await signedIn('alice@acme.test', 'alice');
    await signIn(second.agent, requestFor({ prompt: 'login' }), 'bob@globex.test', 'bob');
    await until(() => told.some(({ of }) => of === second.me.session));
    expect(asked).toContainEqual({ session: second.me.session, oid: second.me.oid, sub: second.me.oid, idp: 'local' });
  });

  test('where it cannot say whom to tell, nothing ends', async () => {
    const { agent, me } = await signedIn();
    isFailing = true;
    const answer = await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' });
    isFailing = false;
    expect(answer.status).toBe(500);
    await agent.get(`${service.issuer}/watcher/me`);
    expect(here?.session).toBe(me.session);
  });
});
