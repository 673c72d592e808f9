import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../support/agent.js';
import { redirectUri } from '../support/seed.js';
import { useIdp } from '../support/use-idp.js';

const service = useIdp();

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

/** Carol, who has allowed nothing. */
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
