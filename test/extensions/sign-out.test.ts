/** House §5: an extension signs a browser out by itself, as the end-session endpoint does. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserSignIn, EndedSignIn, Extension, LogoutNotice, SignOutAsk } from 'tenant-idp/extension';
import { Agent, authorizeUrl, createPkce, obtainTokens, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { introspect } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/impersonation.js';
import { until } from '../support/time/until.js';

const asked: EndedSignIn[] = [];
const told: LogoutNotice[] = [];
let isFailing = false;
let hasFrame = false;
beforeEach(() => {
  asked.length = told.length = 0;
  isFailing = hasFrame = false;
});

const leave: Extension = {
  name: 'leave',
  routes(router, { signIn, sessions: { signOut } }) {
    router.get('/leave/me', async (ctx) => {
      ctx.body = (await signIn.current(ctx)) ?? {};
    });
    router.get('/leave', async (ctx) => {
      const next = await signOut(ctx, ctx.query as unknown as SignOutAsk);
      ctx.body = { next };
    });
  },
  logoutParticipant: ({ service: { url } }) => ({
    notices(ended) {
      asked.push(ended);
      if (isFailing) throw new Error('cannot say');
      return [{ name: 'The watcher', notice: { of: ended.session } }];
    },
    send: async (notice) => void told.push(notice),
    frames: () => (hasFrame ? [{ name: 'A frame', uri: url('/leave/me') }] : []),
    visit: ({ session }, next) => `${url('/visit')}?${new URLSearchParams({ session, next })}`,
  }),
};

const service = useIdp({ extensions: [leave, actAs({ lasts: 600_000 })] });
const url = (more: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...more });
const json = async (agent: Agent, path: string) => JSON.parse((await agent.get(service.issuer + path)).body);
const here = (agent: Agent): Promise<Partial<BrowserSignIn>> => json(agent, '/leave/me');
const next = 'https://app.test/after';
const leaveFrom = async (agent: Agent, ask: SignOutAsk): Promise<string | undefined> =>
  (await json(agent, `/leave?${new URLSearchParams({ ...ask })}`)).next;
const signedIn = async () => {
  const agent = new Agent();
  await signIn(agent, url());
  const { session = '', oid = '' } = await here(agent);
  return { agent, session, oid };
};
const visitTo = (session: string, target: string) => `${service.issuer}/visit?${new URLSearchParams({ session, next: target })}`;

describe('signOut', () => {
  test('ends the session with its grants and tokens, tells who has to hear of it, and leads to who is visited, then on', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    const { session = '', oid } = await here(agent);
    const before = [...agent.cookies.keys()];
    expect(await leaveFrom(agent, { session, next })).toBe(visitTo(session, next));
    expect(asked).toEqual([{ session, oid, sub: oid, idp: 'local' }]);
    await until(() => told.length > 0);
    expect(told).toEqual([{ of: session }]);
    expect(await here(agent)).toEqual({});
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    // The removed cookies are the session, its signature, and the state of the browser.
    expect(before.filter((name) => !agent.cookies.has(name))).toHaveLength(3);
  });

  test('frames are called on the way; without a URL it ends on the page about it', async () => {
    hasFrame = true;
    const first = await signedIn();
    const led = new URL((await leaveFrom(first.agent, { session: first.session, next })) ?? '').searchParams.get('next') ?? '';
    expect(led).toContain('/connect/endsession/success?result=');
    expect((await first.agent.get(led)).body).toContain(`src="${service.issuer}/leave/me"`);
    expect((await first.agent.get(`${led}&next=`)).location).toBe(next);
    hasFrame = false;
    const second = await signedIn();
    const page = new URL((await leaveFrom(second.agent, { session: second.session })) ?? '').searchParams.get('next') ?? '';
    expect((await second.agent.get(page)).body).toContain('You are signed out');
  });

  test('leaves another session as it is: one that was looked at before, and one of another browser', async () => {
    const { agent, session } = await signedIn();
    const other = await signedIn();
    expect(await leaveFrom(agent, { session: other.session, next })).toBeUndefined();
    expect(await leaveFrom(new Agent(), { session, next })).toBeUndefined();
    expect([(await here(agent)).session, (await here(other.agent)).session]).toEqual([session, other.session]);
    expect(asked).toEqual([]);
  });

  test('ends once, whoever asks at the same time', async () => {
    const { agent, session } = await signedIn();
    const all = await Promise.all([1, 2, 3, 4].map(() => leaveFrom(agent, { session, next })));
    expect(all.filter((led) => led !== undefined)).toEqual([visitTo(session, next)]);
    expect(await leaveFrom(agent, { session, next })).toBeUndefined();
  });

  test('where a participant cannot say whom to tell, nothing ends', async () => {
    const { agent, session } = await signedIn();
    isFailing = true;
    expect((await agent.get(`${service.issuer}/leave?session=${session}`)).status).toBe(500);
    service.logged.length = 0;
    expect((await here(agent)).session).toBe(session);
  });

  test('ends the session of who acts as somebody else with the one that was set aside, and each is visited', async () => {
    const { agent, session: own, oid } = await signedIn();
    await agent.follow(
      await agent.submit(await agent.follow(await agent.get(url({ acr_values: 'impersonate' }))), { user: 'bob@globex.test' }),
    );
    const { session = '', act } = await here(agent);
    expect(act).toMatchObject({ oid });
    expect(await leaveFrom(agent, { session, next })).toBe(visitTo(session, visitTo(own, next)));
    expect(asked.map((ended) => [ended.session, ended.act?.oid])).toEqual([
      [session, oid],
      [own, undefined],
    ]);
    expect(await here(agent)).toEqual({});
  });

  test('an acting that ends is visited as well, and who acted is themself again', async () => {
    const { agent, session: own } = await signedIn();
    await agent.follow(
      await agent.submit(await agent.follow(await agent.get(url({ acr_values: 'impersonate' }))), { user: 'bob@globex.test' }),
    );
    const { session = '' } = await here(agent);
    const { next: led } = JSON.parse((await agent.post(`${service.issuer}/idp/end-acting`, {})).body);
    expect(led).toBe(visitTo(session, 'https://app.test/'));
    expect((await here(agent)).session).toBe(own);
  });

  test('a sign-out and single sign-on at once leave nobody signed in', async () => {
    const { agent, session } = await signedIn();
    await Promise.all([agent.get(url({ prompt: 'none' })), leaveFrom(agent, { session, next }), agent.get(url({ prompt: 'none' }))]);
    expect(await here(agent)).toEqual({});
  });
});
