/** Routes of an extension: forms with their checks, and mailed links with their pages. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type ArtifactKind, type Context, type Extension, formField, type Text } from 'tenant-idp/extension';
import { Agent, authorizeUrl, createPkce, formOf, signIn } from '../support/client/agent.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/impersonation.js';

const say = (plain: string): Text => ({ plain });
const taken: string[] = [];
const used = new Set<string>();
const signedHere: ArtifactKind = { name: 'kit.signed', lifetimeSeconds: 600 };

const kit: Extension = {
  name: 'kit',
  artifacts: [signedHere],
  routes(router, { pages, service, signIn: signIns }) {
    const show = (ctx: Context, subject: string, path: string, status = 200) =>
      pages.view(ctx, {
        title: say(`form of ${path}`),
        status,
        form: { action: service.url(path), subject },
        parts: [
          { part: 'field', name: 'word', label: say('Word') },
          { part: 'button', text: say('Send') },
        ],
      });
    for (const path of ['/word', '/other'])
      router.get(path, async (ctx) => {
        const here = await signIns.current(ctx);
        await (here ? show(ctx, `${path} ${here.session}`, path) : ctx.throw(401));
      });
    for (const [path, whileImpersonating] of [
      ['/word', false],
      ['/other', true],
    ] as const)
      router.postForm(path, {
        whileImpersonating,
        open: async (ctx) => (await signIns.current(ctx)) ?? ctx.throw(401),
        subject: ({ session }) => `${path} ${session}`,
        again: (ctx, { session }) => show(ctx, `${path} ${session}`, path, 403),
        take(ctx) {
          taken.push(formField(ctx, 'word'));
          ctx.body = 'taken';
        },
      });
    router.linkPages({
      path: '/petition/:token',
      open: (token) => (/^[a-z]+$/.test(token) ? { token } : undefined),
      subject: ({ token }) => `petition ${token}`,
      state: ({ token }) => (token === 'late' ? 'over' : used.has(token) ? 'used' : 'pending'),
      ask: (ctx, { token }) => show(ctx, `petition ${token}`, `/petition/${token}`),
      async take(ctx, { token }) {
        if (formField(ctx, 'word') === 'slow') used.add(token);
        if (used.has(token)) return 'over';
        used.add(token);
        return 'used';
      },
      usedHere: { kind: signedHere, show: (ctx) => pages.view(ctx, { title: say('used here'), parts: [] }) },
      over: (ctx, { token }) => show(ctx, `petition ${token}`, `/petition/${token}`, 410),
      unknown: (ctx) => pages.view(ctx, { title: say('unknown'), status: 404, parts: [] }),
      again: (ctx) => pages.view(ctx, { title: say('foreign'), status: 403, parts: [] }),
    });
  },
};
const service = useIdp({ extensions: [kit, actAs({ lasts: 600_000 })] });
const at = (path: string): string => service.issuer + path;
const authorize = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
async function alice(): Promise<Agent> {
  const agent = new Agent();
  await signIn(agent, authorize());
  return agent;
}
beforeEach(() => {
  taken.length = 0;
  used.clear();
});

describe('a form route', () => {
  test('takes the form of its page', async () => {
    const agent = await alice();
    const answer = await agent.submit(await agent.get(at('/word')), { word: 'hello' });
    expect([answer.status, answer.body, taken]).toEqual([200, 'taken', ['hello']]);
  });

  test.each([
    ['no token', { csrf: '' }, {}],
    ['a token that was changed', { csrf: 'x'.repeat(75) }, {}],
    ['another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['a sibling subdomain', {}, { 'sec-fetch-site': 'same-site' }],
    ['another origin', {}, { origin: 'https://evil.example' }],
  ])('shows its page again for a form with or from %s', async (_, fields, headers) => {
    const agent = await alice();
    const { fields: own } = formOf(await agent.get(at('/word')));
    const answer = await agent.post(at('/word'), { ...own, word: 'hello', ...fields }, headers as Record<string, string>);
    expect([answer.status, answer.body.includes('form of /word'), taken]).toEqual([403, true, []]);
  });

  test('shows its page again for the form of another page, or of another browser', async () => {
    const [agent, other] = [await alice(), await alice()];
    for (const page of [await agent.get(at('/other')), await other.get(at('/word'))]) {
      const answer = await agent.post(at('/word'), { ...formOf(page).fields, word: 'hello' });
      expect([answer.status, taken]).toEqual([403, []]);
    }
  });

  test('takes no form during an impersonation, unless it says so', async () => {
    const agent = new Agent();
    await agent
      .submit(await signIn(agent, authorize({ acr_values: 'impersonate' })), { user: 'bob@globex.test' })
      .then((page) => agent.follow(page));
    const refused = await agent.submit(await agent.get(at('/word')), { word: 'hello' });
    expect([refused.status, refused.body.includes('Not while you act as somebody else'), taken]).toEqual([403, true, []]);
    expect((await agent.submit(await agent.get(at('/other')), { word: 'hello' })).body).toBe('taken');
  });
});

describe('a mailed link', () => {
  test('asks, is used once, and says so in the browser that used it and elsewhere', async () => {
    const [agent, other] = [new Agent(), new Agent()];
    const page = await agent.get(at('/petition/sign'));
    expect([page.status, page.body.includes('form of')]).toEqual([200, true]);
    const answer = await agent.submit(page, { word: 'yes' });
    expect([answer.status, answer.location]).toEqual([303, at('/petition/sign')]);
    expect((await agent.follow(answer)).body).toContain('used here');
    expect((await other.get(at('/petition/sign'))).status).toBe(410);
    const second = await agent.post(at('/petition/sign'), { ...formOf(page).fields, word: 'again' });
    expect([second.status, second.location]).toEqual([303, at('/petition/sign')]);
    expect((await other.submit(await other.get(at('/petition/sign')), { word: 'again' })).status).toBe(410);
  });

  test('is over where it expired, or where somebody was faster', async () => {
    const agent = new Agent();
    expect((await agent.get(at('/petition/late'))).status).toBe(410);
    expect((await agent.submit(await agent.get(at('/petition/race')), { word: 'slow' })).status).toBe(410);
  });

  test('is unknown without a subject, and takes no form of another browser', async () => {
    const [agent, other] = [new Agent(), new Agent()];
    expect((await agent.get(at('/petition/1234'))).status).toBe(404);
    expect((await agent.post(at('/petition/1234'), { word: 'yes' })).status).toBe(404);
    await agent.get(at('/petition/sign'));
    const foreign = await agent.post(at('/petition/sign'), { ...formOf(await other.get(at('/petition/sign'))).fields, word: 'yes' });
    expect([foreign.status, foreign.body.includes('foreign'), used.size]).toEqual([403, true, 0]);
  });
});

test('a form route without checks cannot be registered', async () => {
  const forgetful = {
    name: 'forgetful',
    routes: (router: { post(path: string, take: () => void): void }) => router.post('/form', () => {}),
  };
  await expect(startIdp({ extensions: [forgetful as never] })).rejects.toThrow(
    /The routes of extension 'forgetful' could not be made: router\.post/,
  );
});
