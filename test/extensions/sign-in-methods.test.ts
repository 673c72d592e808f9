/** Service specification 4.2, idp in acr_values; house §5, a registry of sign-in methods. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, postForm, signIn } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { introspect, refresh } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { label, type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';

const upstream: Upstream = { subject: 'bob', seen: [] };
/** Existing connections, which tests add and remove. */
const connections = new Set(['contoso']);
const service = useIdp({
  extensions: [
    upstreamMethod('eid', upstream),
    upstreamMethod('federation', upstream, {
      serves: async (idp) => connections.has(idp),
      buttons: () => [...connections].map((idp) => ({ idp, label: label(idp) })),
      idpOf: (identifier) => (identifier.endsWith('@contoso.test') ? 'contoso' : undefined),
    }),
  ],
});

let globex: string;
let bob: string;
beforeAll(async () => {
  const { accounts, tenants } = service.idp.directory;
  globex = (await tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
  bob = (await accounts.candidates('bob@globex.test'))[0]?.person.user.id ?? '';
  const externalIdentities = ['eid', 'contoso'].map((idp) => ({ idp, subject: 'bob' }));
  await service.idp.tenant(globex).users.update(bob, { externalIdentities });
});
const setPolicy = (methods: string[] | undefined) =>
  service.idp.directory.tenants.update(globex, { signIn: methods === undefined ? null : { methods } });
afterEach(async () => {
  await setPolicy(undefined);
  connections.add('contoso');
  upstream.seen.length = 0;
});

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const open = async (parameters: Record<string, string> = {}, agent = new Agent()) => agent.follow(await agent.get(url(parameters)));
const redeemed = async (response: Answer) => {
  const fields = { grant_type: 'authorization_code', code: membersOf(response).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('web'))).json;
};
/** Presses the button of a provider. */
const choose = async (agent: Agent, page: Answer, idp: string) => {
  const { action, fields } = formOf(page);
  return agent.follow(await agent.post(action.replace('/identifier', '/method'), { ...fields, idp }));
};

describe('4.2 idp: the sign-in method to use', () => {
  test('has a button on the page, in its language, and signs in as who was recorded for the provider', async () => {
    const agent = new Agent();
    const page = await open({ ui_locales: 'nb' }, agent);
    expect(page.body).toContain('name="idp" value="eid">Use eid (nb)</button>');
    const tokens = await redeemed(await choose(agent, page, 'eid'));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: bob, amr: ['external'], idp: 'eid' });
    expect((await introspect(service.issuer, tokens.access_token)).json).toMatchObject({ idp: 'eid' });
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
  });

  test('goes straight to the method, which sees the request as it is', async () => {
    const asked = { acr_values: 'idp:eid', eid_user_visible_data: 'Pay 1 000,50 € <b>', eid_call_initiator: 'RP' };
    expect(membersOf(await open(asked))).toHaveProperty('code');
    expect(upstream.seen).toEqual([expect.objectContaining({ ...asked, idp: 'eid' })]);
  });

  test('is a condition, also for who is signed in already by another', async () => {
    const { agent } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    expect(membersOf(await agent.get(url({ acr_values: 'idp:eid', prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    expect(decodeJwt((await redeemed(await open({ acr_values: 'idp:eid' }, agent))).id_token)).toMatchObject({ idp: 'eid' });
    const page = await open({ acr_values: 'idp:local' }, agent);
    expect(isSignInPage(page)).toBe(true);
    expect(page.body).not.toContain('name="idp"');
    expect(membersOf(await agent.get(url({ acr_values: 'idp:local', prompt: 'none' })))).toMatchObject({ error: 'login_required' });
  });

  test('is refused for a provider that there is not, by now', async () => {
    expect(membersOf(await open({ acr_values: 'idp:contoso' }))).toHaveProperty('code');
    connections.clear();
    for (const idp of ['contoso', 'nobody'])
      expect(membersOf(await open({ acr_values: `idp:${idp}` }))).toMatchObject({ error: 'unmet_authentication_requirements' });
  });

  test('4.2 a user name can belong to a provider, as can a login_hint', async () => {
    const agent = new Agent();
    expect(membersOf(await agent.follow(await agent.submit(await open({}, agent), { identifier: 'x@contoso.test' })))).toHaveProperty(
      'code',
    );
    expect(membersOf(await open({ login_hint: 'x@contoso.test' }))).toHaveProperty('code');
  });

  test('is not continued in another browser', async () => {
    const agent = new Agent();
    const { action, fields } = formOf(await open({}, agent));
    const begun = await agent.post(action.replace('/identifier', '/method'), { ...fields, idp: 'eid' });
    const stolen = await new Agent().follow(await new Agent().get(begun.location ?? ''));
    expect(stolen.location).toBeUndefined();
    const forged = await new Agent().post(action.replace('/identifier', '/method'), { ...fields, idp: 'eid' });
    expect(forged.status).toBeGreaterThanOrEqual(400);
  });
});

describe('4.2 signIn.methods of a tenant, with other methods', () => {
  test('M3: the password signs nobody in where it is not allowed; the only method is begun at once', async () => {
    await setPolicy(['eid']);
    const refused = await signIn(new Agent(), url(), 'bob@globex.test', 'bob');
    expect([refused.status, refused.location]).toEqual([400, undefined]);
    expect(decodeJwt((await redeemed(await open({ acr_values: `tenant:${globex}` }))).id_token)).toMatchObject({ idp: 'eid' });
  });

  test('M3: ends single sign-on and refreshes of other methods for as long as it stands', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer, {
      userName: 'bob@globex.test',
      password: 'bob',
      scope: 'openid offline_access',
    });
    await setPolicy(['eid']);
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
    expect((await refresh(service.issuer, tokens.refresh_token)).json).toMatchObject({ error: 'invalid_grant' });
    await setPolicy(['password']);
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
    expect((await refresh(service.issuer, tokens.refresh_token)).status).toBe(200);
  });

  test('M3: hides the buttons of what is not allowed, and refuses who presses them nevertheless', async () => {
    await setPolicy(['password']);
    const agent = new Agent();
    const page = await open({ acr_values: `tenant:${globex}` }, agent);
    expect(page.body).not.toContain('name="idp"');
    expect((await choose(agent, page, 'eid')).status).toBe(400);
    // If the tenant is unknown beforehand, the sign-in itself is refused.
    const other = new Agent();
    expect(membersOf(await choose(other, await open({}, other), 'eid'))).toMatchObject({ error: 'access_denied' });
  });

  test('names a method, or one of its providers, that exists by now', async () => {
    await setPolicy(['federation']);
    expect(decodeJwt((await redeemed(await open({ login_hint: 'x@contoso.test' }))).id_token)).toMatchObject({ idp: 'contoso' });
    await setPolicy(['contoso', 'password']);
    connections.clear();
    await expect(setPolicy(['password', 'contoso'])).rejects.toMatchObject({
      code: 'invalid_record',
      details: { path: '/signIn/methods/1' },
    });
  });

  test('M3: signs nobody in when its provider is gone, and everybody when it is back', async () => {
    await setPolicy(['contoso']);
    connections.clear();
    expect((await signIn(new Agent(), url(), 'bob@globex.test', 'bob')).status).toBe(400);
    expect(await service.idp.health()).toMatchObject({ problems: [{ code: 'policy_unmet', id: globex }] });
    connections.add('contoso');
    expect(membersOf(await open({ acr_values: `tenant:${globex}` }))).toHaveProperty('code');
    expect(await service.idp.health()).toMatchObject({ problems: [] });
  });
});

test('house §5: a seed may name methods of extensions, and no others', async () => {
  const seedOf = (methods: string[]) => ({ ...testSeed, tenants: testSeed.tenants.map((tenant) => ({ ...tenant, signIn: { methods } })) });
  const extensions = [upstreamMethod('eid', upstream)];
  const started = await startIdp({ extensions, seed: seedOf(['eid', 'password']) });
  await started.close();
  await expect(startIdp({ extensions, seed: seedOf(['eit']) })).rejects.toThrow(/seed\.tenants\[0\]\.signIn\.methods\[0\]/);
});

describe('house §5: methods that cannot stand are refused at start', () => {
  test.each([
    [
      'two of one name',
      [upstreamMethod('eid', upstream), { ...upstreamMethod('eid', upstream), name: 'other', routes: undefined as never }],
      /one owner of the sign-in method eid, got method-eid and other/,
    ],
    ['a name of the service', [upstreamMethod('password', upstream)], /signInMethods\.password\.name/],
  ])('%s', async (_, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toThrow(message);
  });
});
