/** Cancelled sign-ins: a user who cancels returns to the application, which gets `access_denied`. @see RFC 6749 §4.1.2.1 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const password = 'the same in both of the organisations';
const dave = { givenName: 'Dave', familyName: 'Dale', user: { userName: 'dave', devPassword: password } };
const tenants = testSeed.tenants.map((tenant) => ({ ...tenant, persons: [...tenant.persons, dave] }));
const service = useIdp({ seed: { ...testSeed, tenants: tenants as unknown as typeof testSeed.tenants } });
let acme: string;
beforeAll(async () => {
  const [tenant] = (await service.idp.directory.tenants.find()).filter(({ name }) => name === 'Acme');
  acme = tenant?.id as string;
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});

const begin = async (agent: Agent, parameters: Record<string, string> = {}): Promise<Answer> => {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  return agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, state: 'of the client', cart: '7', ...parameters })));
};
/** Returns the address of the page's button that cancels the sign-in. */
const cancelOf = (body: string, words = 'Cancel'): string | undefined =>
  new RegExp(`<button class="text-link centred" type="submit" formaction="([^"]*)" formnovalidate>${words}</button>`).exec(body)?.[1];
const cancel = async (agent: Agent, page: Answer): Promise<Answer> =>
  agent.follow(await agent.post(cancelOf(page.body) as string, formOf(page).fields));

/** Pages of a sign-in, and how a browser reaches them. */
const pages: Record<string, (agent: Agent) => Promise<Answer>> = {
  identifier: (agent) => begin(agent),
  'identifier with a problem': async (agent) => agent.submit(await begin(agent), { identifier: '' }),
  password: async (agent) => agent.submit(await begin(agent), { identifier: 'alice@acme.test' }),
  'password with a problem': async (agent) =>
    agent.submit(await agent.submit(await begin(agent), { identifier: 'alice@acme.test' }), { password: 'wrong' }),
  organisation: async (agent) => agent.submit(await agent.submit(await begin(agent), { identifier: 'dave' }), { password }),
  chooser: async (agent) => {
    await obtainTokens(service.issuer, { agent });
    return begin(agent, { prompt: 'select_account' });
  },
  'create account': (agent) => begin(agent, { prompt: 'create', acr_values: `tenant:${acme}` }),
};

describe('6749 §4.1.2.1 Cancel', () => {
  test.each(Object.keys(pages))('6749 §4.1.2.1 %s: access_denied to the application, with what it sent', async (name) => {
    const agent = new Agent();
    const page = (await pages[name]?.(agent)) as Answer;
    const { location } = await cancel(agent, page);
    expect(location?.startsWith(redirectUri)).toBe(true);
    expect(Object.fromEntries(new URL(location as string).searchParams)).toMatchObject({
      error: 'access_denied',
      error_description: 'The user cancelled the sign-in.',
      state: 'of the client',
      cart: '7',
      iss: service.issuer,
    });
    // The sign-in has ended.
    expect((await agent.get(page.url.replace(/\/\w+$/, (step) => (step.length > 30 ? step : '')))).status).toBe(400);
  });

  test('6749 §4.1.2.1 consent has one of its own', async () => {
    const agent = new Agent();
    const consent = await signIn(agent, authorizeUrl(service.issuer, { ...challengeOf(), client_id: 'third-party' }));
    expect(cancelOf(consent.body)).toBeUndefined();
    const denied = await agent.follow(await agent.submit(consent, { decision: 'deny' }));
    expect(membersOf(denied)).toMatchObject({ error: 'access_denied', error_description: 'The user did not allow the request.' });
  });

  test('6749 §4.1.2.1 a session that there was stays', async () => {
    const agent = new Agent();
    await cancel(agent, (await pages.chooser?.(agent)) as Answer);
    expect(membersOf(await begin(agent, { prompt: 'none' }))).toHaveProperty('code');
  });

  test.each([
    ['en', 'Cancel'],
    ['nb', 'Avbryt'],
    ['sv', 'Avbryt'],
    ['da', 'Annuller'],
    ['fi', 'Peruuta'],
    ['de', 'Abbrechen'],
  ])('6749 §4.1.2.1 in %s', async (ui_locales, words) => {
    const agent = new Agent();
    const page = await begin(agent, { ui_locales });
    for (const { body } of [page, await agent.submit(page, { identifier: 'alice@acme.test' })]) expect(cancelOf(body, words)).toBeDefined();
  });

  test('6749 §4.1.2.1 takes a form of the page, in the browser of the sign-in', async () => {
    const agent = new Agent();
    const page = await begin(agent);
    const target = cancelOf(page.body) as string;
    expect((await agent.get(target)).status).toBe(405);
    expect((await agent.post(target, {})).status).toBe(403);
    expect((await new Agent().post(target, formOf(page).fields)).status).toBe(403);
    expect((await agent.get(page.url)).status).toBe(200);
  });

  test('6749 §4.1.2.1 is not there where nothing can be answered', async () => {
    const { clients } = service.idp.directory;
    const agent = new Agent();
    const page = await begin(agent, { client_id: 'spa' });
    expect(cancelOf(page.body)).toBeDefined();
    const before = (await clients.get('spa'))?.metadata ?? {};
    await clients.update('spa', { metadata: { ...before, redirect_uris: ['https://moved.test/callback'] } });
    try {
      const now = await agent.get(page.url);
      expect([now.status, cancelOf(now.body)]).toEqual([200, undefined]);
      const posted = await agent.follow(await agent.post(cancelOf(page.body) as string, formOf(page).fields));
      expect([posted.status, posted.location]).toEqual([400, undefined]);
    } finally {
      await clients.update('spa', { metadata: before });
    }
    const others = [
      await agent.get(`${service.issuer}/idp/interaction/${'A'.repeat(43)}`),
      await agent.get(`${service.issuer}/connect/authorize`),
      await agent.get(`${service.issuer}/connect/endsession`),
    ];
    expect(others.map(({ body }) => cancelOf(body))).toEqual(others.map(() => undefined));
  });
});

const challengeOf = () => ({ code_challenge: createPkce().challenge, code_challenge_method: 'S256' });

test('nothing of it is in the log', () => expectQuietLog(service));
