/** house §5, requirements: questions that a signed-in user must still answer, in order, on every way to a token. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Extension } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Requirement } from 'tenant-idp/extension';
import { terms as exampleTerms } from '../../examples/custom-extension/terms.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, postForm, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { introspect, refresh, userinfo } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { secondFactor, terms } from '../support/sign-in/requirements.js';
import { jitteryDirectory, seededRandom } from '../support/stores/jittery-directory.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

const accepted = new Set<string>();
const refused = new Set<string>();
const refusal: Extension = {
  name: 'refusal',
  requirements: () => [
    {
      name: 'refusal',
      error: 'access_denied',
      silent: 'pass',
      check: (_, { oid }) => (refused.has(oid) ? 'refused' : 'met'),
      show: () => undefined,
    },
  ],
};
// The order of the extensions differs from the order of their questions.
const service = useIdp({ extensions: [terms(accepted), secondFactor(), refusal] });

let acme: string;
let alice: string;
let bob: string;
const setPolicy = (signIn: { requireMfa?: boolean } | null) => service.idp.directory.tenants.update(acme, { signIn });
beforeAll(async () => {
  const { accounts, tenants } = service.idp.directory;
  const oidOf = async (name: string) => (await accounts.candidates(name))[0]?.person.user.id ?? '';
  [alice, bob] = await Promise.all([oidOf('alice@acme.test'), oidOf('bob@globex.test')]);
  acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
});
afterEach(async () => {
  accepted.clear();
  refused.clear();
  await setPolicy(null);
});

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const asked = ({ body }: Answer): string | undefined => /<h1>(\w+)<\/h1><?/.exec(body)?.[1];
const answer = async (agent: Agent, page: Answer, fields: Record<string, string>) => agent.follow(await agent.submit(page, fields));
const redeemed = async (response: Answer) => {
  const fields = { grant_type: 'authorization_code', code: membersOf(response).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('web'))).json;
};

describe('house §5: a requirement with a page', () => {
  test('is asked after the password, and not again once it is met', async () => {
    const agent = new Agent();
    const page = await signIn(agent, url());
    expect([page.status, asked(page)]).toEqual([200, 'terms']);
    const response = await answer(agent, page, { decision: 'accept' });
    expect(decodeJwt((await redeemed(response)).id_token)).toMatchObject({ sub: alice, amr: ['pwd'] });
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toHaveProperty('code');
  });

  test('is asked of who is signed in already, and is an error without a page', async () => {
    accepted.add(bob);
    const { agent } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    accepted.clear();
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'interaction_required' });
    expect(asked(await agent.follow(await agent.get(url())))).toBe('terms');
  });

  test('is passed by no step that comes later, nor by a page that accepts nothing', async () => {
    const agent = new Agent();
    const page = await signIn(agent, url({ client_id: 'third-party' }));
    const { action, fields } = formOf(page);
    const consent = action.replace('/terms', '/consent');
    for (const step of [
      () => agent.post(consent, { ...fields, decision: 'allow' }),
      () => agent.submit(page, { decision: 'no' }),
      () => agent.get(action.replace('/idp/interaction/', '/connect/authorize/').replace('/terms', '')),
      () => agent.get(url()),
    ]) {
      const next = await agent.follow(await step());
      expect(next.location).toBeUndefined();
    }
    expect(accepted.size).toBe(0);
  });

  test('comes before what is given in the name of the user: consent is asked last', async () => {
    const agent = new Agent();
    const page = await answer(agent, await signIn(agent, url({ client_id: 'third-party' })), { decision: 'accept' });
    expect(page.body).toContain('name="decision" value="allow"');
  });

  test('that is not met any more refuses a refresh, and ends no family', async () => {
    accepted.add(alice);
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    accepted.clear();
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
    accepted.add(alice);
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 200 });
  });

  test('refuses for good with access_denied', async () => {
    refused.add(alice);
    accepted.add(alice);
    expect(membersOf(await signIn(new Agent(), url()))).toMatchObject({ error: 'access_denied' });
  });
});

describe('4.2 mfa, with a requirement that serves it', () => {
  const withFactor = async (agent: Agent, page: Answer) => {
    expect(asked(page)).toBe('factor');
    expect(asked(await answer(agent, page, { word: 'wrong' }))).toBe('factor');
    return answer(agent, page, { word: 'open' });
  };
  test('is asked first, is said in amr beside the password, and leaves the time of the sign-in', async () => {
    const agent = new Agent();
    const page = await withFactor(agent, await signIn(agent, url({ acr_values: 'mfa' })));
    expect(asked(page)).toBe('terms');
    const tokens = await redeemed(await answer(agent, page, { decision: 'accept' }));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ amr: ['pwd', 'mfa'], acr: 'mfa' });
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery.acr_values_supported).toEqual(['mfa', 'pwd']);
    expect((await introspect(service.issuer, tokens.access_token)).json).toMatchObject({ active: true, amr: ['pwd', 'mfa'] });
    expect(membersOf(await agent.get(url({ acr_values: 'mfa', prompt: 'none' })))).toHaveProperty('code');
  });

  test('steps a sign-in of one factor up; grants from before say no more than they did', async () => {
    accepted.add(alice);
    const { agent, tokens: before } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    expect(membersOf(await agent.get(url({ acr_values: 'mfa', prompt: 'none' })))).toMatchObject({ error: 'interaction_required' });
    const page = await agent.follow(await agent.get(url({ acr_values: 'mfa' })));
    const tokens = await redeemed(await withFactor(agent, page));
    const [first, second] = [before, tokens].map(({ id_token }) => decodeJwt(id_token));
    expect([second?.amr, second?.auth_time]).toEqual([['pwd', 'mfa'], first?.auth_time]);
    const refreshed = await refresh(service.issuer, before.refresh_token);
    expect((await introspect(service.issuer, refreshed.json.access_token)).json).toMatchObject({ amr: ['pwd'] });
    // A new sign-in has to prove the factor again.
    const again = await signIn(agent, url({ acr_values: 'mfa', prompt: 'login' }));
    expect(asked(again)).toBe('factor');
  });

  test('M3: a tenant that requires it asks at sign-in, at single sign-on, after a switch, and gives no tokens without', async () => {
    accepted.add(alice);
    const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    await setPolicy({ requireMfa: true });
    expect(asked(await signIn(new Agent(), url()))).toBe('factor');
    expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'interaction_required' });
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
    await setPolicy(null);
    expect(await refresh(service.issuer, tokens.refresh_token)).toMatchObject({ status: 200 });
  });

  test('M3: a switch to a linked account of such a tenant asks for it', async () => {
    const linked = (await service.idp.directory.accounts.family((await service.idp.directory.accounts.findByOid(alice))!.person)).map(
      ({ person }) => person.user.id,
    );
    for (const oid of linked) accepted.add(oid);
    const { agent } = await obtainTokens(service.issuer, { userName: 'alice@globex.test' });
    await setPolicy({ requireMfa: true });
    const chooser = await agent.follow(await agent.get(url({ acr_values: `tenant:${acme}` })));
    const page = await answer(agent, chooser, { choice: alice });
    expect(decodeJwt((await redeemed(await withFactor(agent, page))).id_token)).toMatchObject({ tid: acme, amr: ['pwd', 'mfa'] });
  });

  test('design §5: is asked of who came with a login hint token as well', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }] };
    const metadata = { redirect_uris: [redirectUri], jwks };
    const client = {
      id: 'trusted',
      name: 'Trusted',
      secret: 'trusted-secret',
      allowedScopes: ['openid'],
      trustedLoginHint: true,
      metadata,
    };
    await service.idp.directory.clients.create(client);
    accepted.add(bob);
    const hinted = async (parameters: Record<string, string>) => {
      const now = epochSeconds();
      const token = new SignJWT({ iss: 'trusted', aud: service.issuer, jti: randomUUID(), iat: now, exp: now + 60, oid: bob });
      const signed = await token.setProtectedHeader({ alg: 'ES256', kid: 'own', typ: 'login-hint+jwt' }).sign(privateKey);
      const agent = new Agent();
      return agent.follow(await agent.get(url({ client_id: 'trusted', login_hint_token: signed, ...parameters })));
    };
    expect(membersOf(await hinted({ prompt: 'none' }))).toHaveProperty('code');
    expect(membersOf(await hinted({ prompt: 'none', acr_values: 'mfa' }))).toMatchObject({ error: 'interaction_required' });
    expect(asked(await hinted({ acr_values: 'mfa' }))).toBe('factor');
  });

  test('impersonate, which nothing serves, is refused all the same', async () => {
    expect(membersOf(await new Agent().get(url({ acr_values: 'impersonate' })))).toMatchObject({
      error: 'unmet_authentication_requirements',
    });
  });
});

test('house §5: where oidc-provider answers by itself, a refresh is refused all the same', async () => {
  const met = new Set<string>();
  const other = await startIdp({ extensions: [terms(met), secondFactor()], onProvider: () => undefined });
  try {
    const oid = (await other.idp.directory.accounts.candidates('alice@acme.test'))[0]?.person.user.id ?? '';
    met.add(oid);
    const { tokens } = await obtainTokens(other.issuer, { scope: 'openid offline_access' });
    met.clear();
    expect(await refresh(other.issuer, tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    met.add(oid);
    expect(await refresh(other.issuer, tokens.refresh_token)).toMatchObject({ status: 200 });
    const again = (await obtainTokens(other.issuer, { scope: 'openid offline_access' })).tokens;
    const [tenant] = (await other.idp.directory.tenants.find()).filter(({ name }) => name === 'Acme');
    await other.idp.directory.tenants.update(tenant?.id ?? '', { signIn: { requireMfa: true } });
    expect(await refresh(other.issuer, again.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect((await introspect(other.issuer, again.access_token)).json).toEqual({ active: false });
    expect((await userinfo(other.issuer, again.access_token)).status).toBe(401);
  } finally {
    await other.close();
  }
});

test('the terms of the example: a form that is sent several times at once accepts them once', async () => {
  const other = await startIdp({
    extensions: [exampleTerms('2026-05', ['web'])],
    directory: jitteryDirectory(memoryDirectory(), seededRandom(1)),
  });
  try {
    const agent = new Agent();
    const page = await signIn(agent, authorizeUrl(other.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256' }));
    const sent = await Promise.all(Array.from({ length: 8 }, () => agent.submit(page, { agree: 'yes' })));
    expect(sent.map(({ status }) => status)).toEqual(Array(8).fill(303));
    expect(membersOf(await agent.follow(sent[0] as Answer))).toHaveProperty('code');
  } finally {
    await other.close();
  }
});

describe('house §5: requirements that cannot stand are refused at start', () => {
  const named = (owner: string, more: Partial<Requirement>): Extension => ({ name: owner, requirements: () => [{ ...base, ...more }] });
  const base: Requirement = { name: 'one', error: 'interaction_required', silent: 'pass', check: () => 'met', show: () => undefined };
  test.each<[string, Extension[], RegExp]>([
    ['two of one name', [named('first', {}), named('second', {})], /one owner of the requirement one, got first and second/],
    [
      'two that serve mfa',
      [secondFactor(), named('second', { serves: 'mfa' })],
      /one owner of what serves mfa, got step-factor and second/,
    ],
    ['a circle', [named('first', { after: ['two'] }), named('second', { name: 'two', after: ['one'] })], /an order.*one, two/],
    ['a name for no path', [named('first', { name: 'One/two' })], /extensions\.first\.requirements\.One\/two\.name/],
    ['an unknown error', [named('first', { error: 'oops' as never })], /requirements\.one\.error/],
    ['no page', [named('first', { show: undefined as never })], /requirements\.one\.show/],
  ])('%s', async (_, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toThrow(message);
  });
});
