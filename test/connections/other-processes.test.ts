/** Issue 14: real providers: separate processes, also of other code bases, that rotate keys, answer late and become unavailable. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { byHand, startProgram } from '../servers/outside-programs.js';
import { administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { Agent, type Answer, authorizeUrl, createPkce, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { freePort } from '../support/service/free-port.js';
import { useIdp } from '../support/service/use-idp.js';
import { type ProviderProcess, startProviderProcess } from '../support/sign-in/provider-process.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { backToPresent, passTime } from '../support/time/clock.js';

let outside: ProviderProcess;
let rotating: UpstreamProvider;
const service = useIdp(async () => {
  [outside, rotating] = await Promise.all([startProviderProcess(), startUpstream()]);
  const common = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, tenant: 'Globex', createUsersIn: 'Globex' };
  const mapping = { userName: { claim: 'email' }, email: { claim: 'email' }, givenName: { claim: 'given_name' } };
  const connection = { ...common, mapping: { ...mapping, familyName: { claim: 'family_name' } } };
  return {
    seed: {
      ...adminSeed,
      extensions: {
        connections: [
          { ...connection, id: 'outside', name: 'Outside', issuer: outside.issuer },
          { ...connection, id: 'rotating', name: 'Rotating', issuer: rotating.issuer },
        ],
      },
    } as never,
  };
});
const nina = { sub: 'nina', email: 'nina@outside.test', email_verified: true, given_name: 'Nina', family_name: 'Nilsen' };
beforeAll(async () => {
  await outside.register(service.issuer, ['outside']);
  await outside.signsIn(nina);
  rotating.register(service.issuer, ['rotating']);
  rotating.person = { ...nina, email: 'nina@rotating.test' };
});
afterAll(() => Promise.all([outside?.kill(), rotating?.close()]));
afterEach(backToPresent);

const pkce = createPkce();
const begin = async (agent: Agent, id: string): Promise<Answer> => {
  const parameters = { acr_values: `idp:${id}`, code_challenge: pkce.challenge, code_challenge_method: 'S256' };
  return agent.follow(await agent.get(authorizeUrl(service.issuer, parameters)));
};
const through = async (agent: Agent, id: 'outside' | 'rotating'): Promise<Answer> => {
  const provider = { outside, rotating }[id] as UpstreamProvider;
  return agent.follow(await agent.get(await atUpstream(provider, await begin(agent, id))));
};

describe('a provider in a process of its own', () => {
  test('signs people in; once it is gone, its people are told so, and others sign in as before', async () => {
    expect(membersOf(await through(new Agent(), 'outside'))).toHaveProperty('code');
    const agent = new Agent();
    const back = await atUpstream(outside as never, await begin(agent, 'outside'));
    await outside.kill();
    const page = await agent.follow(await agent.get(back));
    expect([page.status, titleOf(page), page.location]).toEqual([400, 'Signing in with Outside did not work', undefined]);
    expect(membersOf(await through(new Agent(), 'rotating'))).toHaveProperty('code');
  });
});

describe('a provider of another code base', () => {
  /** Provider whose users sign in by a form, and whose claims are at the userinfo endpoint alone. */
  byHand('zitadel/oidc, in Go, by its example server', ['go', 'version'], async () => {
    const folder = mkdtempSync(join(tmpdir(), 'provider-'));
    const source = 'github.com/zitadel/oidc/v3/example/server@v3.51.17';
    execFileSync('go', ['install', source], { env: { ...process.env, GOBIN: folder }, stdio: 'ignore' });
    const port = String(await freePort());
    const issuer = `http://localhost:${port}/`;
    const env = { PORT: port, REDIRECT_URI: `${service.issuer}/idp/connections/zitadel/callback` };
    const provider = await startProgram([join(folder, 'server')], env, issuer);
    try {
      const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
      const { Globex } = await tenantIds(root);
      const mapping = { userName: { claim: 'email' }, email: { claim: 'email' }, givenName: { claim: 'given_name' } };
      const connection = { id: 'zitadel', name: 'Zitadel', issuer, clientId: 'web', clientSecret: 'secret', createUsersIn: Globex };
      const made = await root.post('/connections', { ...connection, mapping: { ...mapping, familyName: { claim: 'family_name' } } });
      expect(made.status).toBe(201);

      const [agent, there] = [new Agent(), new Agent()];
      const begun = await begin(agent, 'zitadel');
      const form = await there.follow(await there.get(begun.location ?? ''));
      const signedIn = await there.follow(await there.submit(form, { username: 'test-user@localhost', password: 'verysecure' }));
      expect(membersOf(await agent.follow(await agent.get(signedIn.location ?? '')))).toHaveProperty('code');
      const user = await service.idp.tenant(Globex ?? '').users.findByUserName('test-user@zitadel.ch');
      expect(user).toMatchObject({ givenName: 'Test', familyName: 'User', email: 'test-user@zitadel.ch', user: { status: 'active' } });
    } finally {
      provider.kill();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a provider that changes, and one that is slow', () => {
  test('a signing key that was rotated a moment ago is found', async () => {
    expect(membersOf(await through(new Agent(), 'rotating'))).toHaveProperty('code');
    for (const kid of ['second', 'third']) {
      const { privateKey } = await generateKeyPair('RS256', { extractable: true });
      rotating.keys = [{ ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }];
      rotating.register(service.issuer, ['rotating']);
      expect(membersOf(await through(new Agent(), 'rotating'))).toHaveProperty('code');
    }
  });

  test('an answer that comes after its sign-in has run out signs nobody in, and the way back is a new sign-in', async () => {
    const agent = new Agent();
    const back = await atUpstream(rotating, await begin(agent, 'rotating'));
    const before = rotating.redeemed.length;
    passTime(2 * 3600);
    const page = await agent.follow(await agent.get(back));
    expect([page.status, page.location, rotating.redeemed.length]).toEqual([400, undefined, before]);
    expect(titleOf(page)).toBe('This sign-in cannot go on');
  });
});
