import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import { Agent, type Answer, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../../support/client/agent.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const notes = {
  id: 'notes',
  name: 'Notes',
  secret: 'notes-secret',
  scopes: ['notes.read'],
  scopeDescriptions: { 'notes.read': { en: 'Read your notes', fi: 'Lukea muistiinpanojasi' } },
};
const service = useIdp({
  seed: {
    ...adminSeed,
    apiResources: [...adminSeed.apiResources, notes],
    clients: adminSeed.clients.map((client) =>
      client.id === 'third-party' ? { ...client, allowedScopes: [...(client.allowedScopes ?? []), 'notes.read'] } : client,
    ),
  },
});

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, {
    client_id: 'third-party',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    state: 'of the client',
    ...parameters,
  });
const withdraw = (oid: string) => service.idp.directory.consents.withdraw(oid, 'third-party');
const isQuestion = ({ status, body }: Answer) => status === 200 && body.includes('name="decision"');
const decide = async (agent: Agent, page: Answer, decision: 'allow' | 'deny') =>
  new URL((await agent.follow(await agent.submit(page, { decision }))).location ?? 'none:').searchParams;
const ask = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(url(parameters)));

async function redeem(code: string | null): Promise<Json> {
  const fields = { grant_type: 'authorization_code', code: code ?? '', redirect_uri: redirectUri, code_verifier: pkce.verifier };
  return (await postForm(`${service.issuer}/connect/token`, fields, { authorization: basic('third-party', 'third-secret') })).json;
}

/** Signs in Carol, who has allowed nothing. */
async function carol(): Promise<{ agent: Agent; oid: string; page: Answer }> {
  const [account] = await service.idp.directory.accounts.candidates('carol@acme.test');
  const oid = account?.person.user.id ?? '';
  await withdraw(oid);
  const agent = new Agent();
  return { agent, oid, page: await signIn(agent, url({ scope: 'openid email' }), 'carol@acme.test', 'carol') };
}

test('design §6: the page names the application, the user and what is asked; allowing gives tokens for that', async () => {
  const { agent, page } = await carol();
  expect(isQuestion(page)).toBe(true);
  for (const words of ['Third party', 'Carol Clark', 'Acme']) expect(page.body).toContain(words);
  const response = await decide(agent, page, 'allow');
  expect(Object.fromEntries(response)).toMatchObject({ state: 'of the client', scope: 'openid email', iss: service.issuer });
  const tokens = await redeem(response.get('code'));
  expect(tokens).toMatchObject({ scope: 'openid email' });
  expect(decodeJwt(tokens.id_token).aud).toBe('third-party');
});

test('design §6: it asks once, in every browser', async () => {
  const { agent, page } = await carol();
  await decide(agent, page, 'allow');
  expect((await ask(agent, { scope: 'openid email' })).location).toContain('code=');
  expect((await ask(agent, { scope: 'openid email', prompt: 'none' })).location).toContain('code=');
  expect((await signIn(new Agent(), url({ scope: 'openid email' }), 'carol@acme.test', 'carol')).location).toContain('code=');
});

test('design §6: denied is access_denied, and is asked again', async () => {
  const { agent, page } = await carol();
  expect(Object.fromEntries(await decide(agent, page, 'deny'))).toMatchObject({ error: 'access_denied', state: 'of the client' });
  expect(isQuestion(await ask(agent, { scope: 'openid email' }))).toBe(true);
});

test('design §6: prompt=none does not ask: consent_required', async () => {
  const { agent } = await carol();
  const { location = '' } = await ask(agent, { scope: 'openid email', prompt: 'none' });
  expect(new URL(location).searchParams.get('error')).toMatch(/^(consent|interaction)_required$/);
});

test('design §6: another scope is asked for, and only that one is new', async () => {
  const { agent, page, oid } = await carol();
  await decide(agent, page, 'allow');
  const more = await ask(agent, { scope: 'openid email phone' });
  expect(isQuestion(more)).toBe(true);
  const tokens = await redeem((await decide(agent, more, 'allow')).get('code'));
  expect(tokens).toMatchObject({ scope: 'openid email phone' });
  expect((await service.idp.directory.consents.get(oid, 'third-party'))?.scopes).toEqual(['openid', 'email', 'phone']);
  expect((await ask(agent, { scope: 'openid' })).location).toContain('code=');
});

test('design §6: denying the addition leaves what was allowed', async () => {
  const { agent, page } = await carol();
  await decide(agent, page, 'allow');
  await decide(agent, await ask(agent, { scope: 'openid email phone' }), 'deny');
  expect((await ask(agent, { scope: 'openid email' })).location).toContain('code=');
});

test('design §6: once withdrawn it is asked for again', async () => {
  const { agent, page, oid } = await carol();
  await decide(agent, page, 'allow');
  expect(await withdraw(oid)).toBe(true);
  expect(isQuestion(await ask(agent, { scope: 'openid email' }))).toBe(true);
  expect((await ask(agent, { scope: 'openid email', prompt: 'none' })).location).not.toContain('code=');
});

test('design §6: prompt=consent asks again', async () => {
  const { agent, page } = await carol();
  await decide(agent, page, 'allow');
  expect(isQuestion(await ask(agent, { scope: 'openid email', prompt: 'consent' }))).toBe(true);
});

describe('OpenID Connect Core §11: prompt=consent beside offline_access', () => {
  const request = { client_id: 'web', scope: 'openid offline_access', prompt: 'consent' };
  const ways: Record<string, (agent: Agent, more: Record<string, string>) => Promise<Answer>> = {
    GET: (agent, more) => ask(agent, { ...request, ...more }),
    POST: async (agent, more) => agent.follow(await agent.post(`${service.issuer}/connect/authorize`, fieldsOf({ ...request, ...more }))),
    PAR: async (agent, more) => {
      const headers = { authorization: basic('web', 'web-secret') };
      const { json } = await postForm(`${service.issuer}/connect/par`, fieldsOf({ ...request, ...more }), headers);
      return ask(agent, { client_id: 'web', request_uri: json.request_uri });
    },
  };
  const fieldsOf = (more: Record<string, string>) => Object.fromEntries(new URL(url(more)).searchParams);

  test.each(Object.keys(ways))('shows no page for a client that needs no consent: %s', async (way) => {
    const agent = new Agent();
    await signIn(agent, url({ client_id: 'web' }), 'carol@acme.test', 'carol');
    const respond = ways[way] as (typeof ways)[string];
    expect((await respond(agent, {})).location).toContain('code=');
    // The other prompts are still asked, and without offline_access the page is shown.
    expect((await respond(agent, { prompt: 'login consent' })).body).toContain('name="identifier"');
    expect(isQuestion(await respond(agent, { scope: 'openid' }))).toBe(true);
  });

  test('shows no page after the sign-in that it began with', async () => {
    expect((await signIn(new Agent(), url(request), 'carol@acme.test', 'carol')).location).toContain('code=');
  });

  test('shows the page for a client that needs consent', async () => {
    const { agent, page } = await carol();
    await decide(agent, page, 'allow');
    await decide(agent, await ask(agent, { scope: 'openid offline_access' }), 'allow');
    expect(isQuestion(await ask(agent, { scope: 'openid offline_access', prompt: 'consent' }))).toBe(true);
  });
});

test('design §6: offline_access is asked for like any other', async () => {
  const { agent, page } = await carol();
  await decide(agent, page, 'allow');
  const more = await ask(agent, { scope: 'openid email offline_access' });
  expect(isQuestion(more)).toBe(true);
  const tokens = await redeem((await decide(agent, more, 'allow')).get('code'));
  expect(tokens).toMatchObject({ refresh_token: expect.any(String) });
});

test('design §6: the consent of one user is not that of another', async () => {
  const { agent, page } = await carol();
  await decide(agent, page, 'allow');
  expect(isQuestion(await signIn(new Agent(), url({ scope: 'openid email' }), 'bob@globex.test', 'bob'))).toBe(true);
});

const linkTo = ({ body, url: at }: Answer, words: string): string | undefined => {
  const href = new RegExp(`href="([^"]+)"[^>]*>${words}</a>`).exec(body)?.[1];
  return href === undefined ? undefined : new URL(href.replaceAll('&amp;', '&'), at).href;
};
const linesOf = ({ body }: Answer) => [...body.matchAll(/<li><p>(.*?)<\/p>/g)].map(([, words = '']) => words.replace(/<[^>]*>/g, ''));

test('pages §3.2: “Not you?” leads to the accounts of the same request, and from there to another sign-in', async () => {
  const { agent, page } = await carol();
  const accounts = await agent.follow(await agent.get(linkTo(page, 'Not you\\?') ?? 'missing:'));
  expect(accounts.body).toContain('Choose an account');
  const identifier = await agent.follow(await agent.get(linkTo(accounts, 'Use another account') ?? 'missing:'));
  const password = await agent.submit(identifier, { identifier: 'bob@globex.test' });
  const question = await agent.follow(await agent.submit(password, { password: 'bob' }));
  expect([isQuestion(question), question.body.includes('Bob Brown')]).toEqual([true, true]);
  const response = await decide(agent, question, 'allow');
  expect(Object.fromEntries(response)).toMatchObject({ state: 'of the client', scope: 'openid email' });
  expect((await redeem(response.get('code'))).scope).toBe('openid email');
});

test('“Not you?” takes prompt=login off no request: whoever is chosen signs in', async () => {
  const { agent } = await carol();
  const identifier = await ask(agent, { scope: 'openid email', prompt: 'login' });
  const uid = /\/interaction\/([\w-]+)/.exec(identifier.url)?.[1];
  const accounts = await agent.follow(await agent.get(`${service.issuer}/idp/interaction/${uid}/accounts`));
  const [, choice = ''] = /name="choice" value="([^"]+)"/.exec(accounts.body) ?? [];
  const next = await agent.follow(await agent.submit(accounts, { choice }));
  expect([next.location, isQuestion(next), next.body.includes('name="password"') || next.body.includes('name="identifier"')]).toEqual([
    undefined,
    false,
    true,
  ]);
});

test('pages §3.2: the page links to the application, its policy and its terms, and has a sentence for each API scope in each language', async () => {
  const { clients, apiResources } = service.idp.directory;
  await apiResources.create({
    id: 'tasks',
    name: 'Tasks',
    scopes: ['tasks.read', 'tasks.write', 'tasks.delete'],
    scopeDescriptions: { 'tasks.read': { en: 'See your tasks', nb: 'Se oppgavene dine' }, 'tasks.write': 'Change your tasks' },
  });
  const { secret = '' } = await clients.create({
    id: 'planner',
    name: 'Planner',
    requireConsent: true,
    allowedScopes: ['openid', 'email', 'tasks.read', 'tasks.write', 'tasks.delete'],
    metadata: {
      redirect_uris: [redirectUri],
      client_uri: 'https://planner.test/',
      policy_uri: 'https://planner.test/privacy',
      tos_uri: 'https://planner.test/terms',
    },
  });
  expect(secret).not.toBe('');
  const agent = new Agent();
  const all = 'openid tasks.read tasks.write tasks.delete';
  const page = await signIn(agent, url({ client_id: 'planner', scope: all }), 'carol@acme.test', 'carol');
  expect(linesOf(page)).toEqual(['Know that it is you', 'See your tasks', 'Change your tasks', 'Use Tasks for you (tasks.delete)']);
  expect(['About Planner', 'Privacy policy', 'Terms of service'].map((words) => linkTo(page, words))).toEqual([
    'https://planner.test/',
    'https://planner.test/privacy',
    'https://planner.test/terms',
  ]);
  const inNorwegian = await agent.get(`${page.url}?ui_locales=nb`);
  expect(linesOf(inNorwegian).slice(1)).toEqual(['Se oppgavene dine', 'Change your tasks', 'Bruke Tasks på dine vegne (tasks.delete)']);
  // Without a German text, the page shows the English text.
  expect(linesOf(await agent.get(`${page.url}?ui_locales=de`))[1]).toBe('See your tasks');
  await decide(agent, await agent.get(`${page.url}?ui_locales=en`), 'allow');

  const more = await ask(agent, { client_id: 'planner', scope: `${all} email` });
  expect(linesOf(more)).toEqual(['See your e-mail address']);
  expect([more.body.includes('It will also be able to:'), page.body.includes('It will be able to:')]).toEqual([true, false]);
});

test('pages §3.2: the words of a scope are those of the seed, until the admin API gives others', async () => {
  const { oid } = await carol();
  const agent = new Agent();
  const page = await signIn(agent, url({ scope: 'openid notes.read' }), 'carol@acme.test', 'carol');
  expect(linesOf(page)).toEqual(['Know that it is you', 'Read your notes']);
  expect(linesOf(await agent.get(`${page.url}?ui_locales=fi`))[1]).toBe('Lukea muistiinpanojasi');
  const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  const changed = await root.patch('/api-resources/notes', { scopeDescriptions: { 'notes.read': { en: 'Look at your notes' } } });
  expect(changed.status).toBe(200);
  expect(linesOf(await agent.get(`${page.url}?ui_locales=en`))[1]).toBe('Look at your notes');
  await withdraw(oid);
});
