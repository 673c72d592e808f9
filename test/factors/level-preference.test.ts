/** OpenID Connect Core §3.1.2.1: `mfa` and `pwd` together in acr_values are levels in the client's order of preference. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { endpointsOf } from '../support/client/endpoints.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied, enrol, submit } from '../support/sign-in/factors.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';

const [acme, globex] = testSeed.tenants;
const upstream: Upstream = { subject: '', seen: [] };
const personOf = (name: string) => ({
  givenName: name,
  familyName: 'P',
  user: { userName: name, devPassword: name, externalIdentities: [{ idp: 'eid', subject: name }] },
});
const service = useIdp({
  extensions: [upstreamMethod('eid', upstream)],
  seed: {
    ...testSeed,
    tenants: [
      { ...acme, persons: [...(acme?.persons ?? []), ...['with', 'with1', 'with2', 'without', 'late'].map(personOf)] },
      globex,
      { name: 'Strict', signIn: { requireMfa: true }, persons: [personOf('strict')] },
    ],
  } as never,
});
const pkce = createPkce();
const url = (acrValues: string, more: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, {
    scope: 'openid',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    ...(acrValues === '' ? {} : { acr_values: acrValues }),
    ...more,
  });

/** Continues from an authorization request, and signs in where a page asks for it. */
async function signInBy(way: 'password' | 'eid', name: string, acrValues: string, agent = new Agent()): Promise<Answer> {
  upstream.subject = name;
  const page = await agent.follow(await agent.get(url(way === 'eid' ? `idp:eid ${acrValues}` : acrValues)));
  if (way === 'eid') return page;
  return submit(agent, await submit(agent, page, { identifier: name }), { password: name });
}
async function levelOf(response: Answer) {
  const { code = '' } = membersOf(response) as { code?: string };
  const { json } = await endpointsOf(service.issuer).token({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: pkce.verifier,
  });
  const { acr, amr } = decodeJwt(json.id_token);
  return { acr, amr };
}

const secrets = new Map<string, string>();
beforeAll(async () => {
  for (const name of ['with', 'with1', 'with2']) secrets.set(name, (await enrol(new Agent(), url('mfa'), name, name)).secret);
});
/** Submits a code of the app. Works once for each person, because a code is valid once. */
const prove = (agent: Agent, page: Answer, name: string) => submit(agent, page, { code: codeOf(secrets.get(name) ?? '', 1) });
const isChallenge = ({ url: at, body }: Answer) =>
  at.includes('/interaction/') && body.includes('name="code"') && copied({ body }).length === 0;

describe('mfa pwd asks a factor of users who have one', () => {
  test('after a sign-in that asks for none by itself, and acr says that it was proven', async () => {
    const agent = new Agent();
    const challenge = await signInBy('eid', 'with1', 'mfa pwd', agent);
    expect(isChallenge(challenge)).toBe(true);
    expect(await levelOf(await prove(agent, challenge, 'with1'))).toEqual({ acr: 'mfa', amr: ['external', 'mfa'] });
  });

  test.each([
    ['eid', { acr: undefined, amr: ['external'] }],
    ['password', { acr: 'pwd', amr: ['pwd'] }],
  ] as const)('and of nobody else: by %s', async (way, level) => {
    expect(await levelOf(await signInBy(way, 'without', 'mfa pwd'))).toEqual(level);
  });

  test('in a single sign-on; prompt=none gets the level that was reached', async () => {
    const agent = new Agent();
    expect(await levelOf(await signInBy('eid', 'with', '', agent))).toMatchObject({ amr: ['external'] });
    expect(await levelOf(await agent.get(url('mfa pwd', { prompt: 'none' })))).toEqual({ amr: ['external'] });
    expect(isChallenge(await agent.follow(await agent.get(url('mfa pwd'))))).toBe(true);
  });

  test('also a factor that the sign-in itself added on the page of the account', async () => {
    const agent = new Agent();
    expect(await levelOf(await signInBy('password', 'late', 'mfa pwd', agent))).toMatchObject({ acr: 'pwd' });
    const setUp = await submit(agent, await agent.get(`${service.issuer}/idp/factors`), { add: 'app' });
    await submit(agent, setUp, { code: codeOf(copied(setUp)[0] ?? '') });
    expect(await levelOf(await agent.get(url('')))).toMatchObject({ amr: ['pwd'] });
    expect(isChallenge(await agent.follow(await agent.get(url('mfa pwd'))))).toBe(true);
  });
});

describe('pwd mfa asks a factor of nobody by itself', () => {
  test.each(['with', 'without'])('%s a factor, after a sign-in that asks for none', async (name) => {
    expect(await levelOf(await signInBy('eid', name, 'pwd mfa'))).toEqual({ amr: ['external'] });
  });

  test('the rule of a user who has a factor holds all the same', async () => {
    const agent = new Agent();
    const challenge = await signInBy('password', 'with2', 'pwd mfa', agent);
    expect(isChallenge(challenge)).toBe(true);
    expect(await levelOf(await prove(agent, challenge, 'with2'))).toEqual({ acr: 'mfa', amr: ['pwd', 'mfa'] });
  });
});

describe.each(['mfa pwd', 'pwd mfa'])('%s weakens no rule', (preference) => {
  test.each(['password', 'eid'] as const)('of a tenant that requires a second factor, by %s', async (way) => {
    expect((await signInBy(way, 'strict', preference)).url).toContain('/interaction/');
  });

  test.each([`mfa:true ${preference}`, `${preference} mfa:1`, `mfa: ${preference}`])('nor a condition beside it: %s', async (acrValues) => {
    expect((await signInBy('eid', 'without', acrValues)).url).toContain('/interaction/');
  });
});
