/**
 * Threat H3: a node is killed with `kill -9` after it stored a first factor or removed a factor. The node has not yet ended the other
 * sign-ins of the user.
 */
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { adminClient, administer, adminToken } from '../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { refresh } from '../support/client/steps.js';
import { freePort } from '../support/service/free-port.js';
import { codeOf, copied } from '../support/sign-in/factors.js';
import { operatorSeed, permission } from '../support/sign-in/impersonating.js';
import { type ImpersonationNode, optionsOfNodes, startImpersonationNode } from '../support/sign-in/impersonation-node.js';
import { pkce } from '../support/sign-in/passwords.js';
import { withDurable } from '../support/stores/durable.js';
import { until } from '../support/time/until.js';

const helpDesk = adminClient('help-desk', ['Acme'], ['idp.factors:read', 'idp.factors:write']);

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) => {
  const place = durable.place();
  let port: number;
  let issuer: string;
  let other: IdentityProvider;
  let node: ImpersonationNode | undefined;
  beforeAll(async () => {
    port = await freePort();
    issuer = `http://127.0.0.1:${port}`;
  });
  beforeEach(async () => {
    const seed = { ...operatorSeed, clients: [...operatorSeed.clients, helpDesk] };
    other = await createIdentityProvider({ ...optionsOfNodes({ port, permission }), ...durable.at(place), seed });
    node = await startImpersonationNode({ place, port, permission });
  });
  afterEach(async () => {
    await node?.kill();
    await other?.close();
  });

  test('MFA-OLDSSO: another node ends the sign-ins that were made without the factor, and the browser that added it goes on', async () => {
    const url = authorizeUrl(issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    const [here, elsewhere] = [new Agent(), new Agent()];
    const tokensOf = async (agent: Agent) => (await obtainTokens(issuer, { agent, scope: 'openid offline_access' })).tokens.refresh_token;
    const [own, theirs] = [await tokensOf(here), await tokensOf(elsewhere)];
    const page = await here.follow(await here.get(`${issuer}/idp/factors/app`));
    await node?.arm(1, 'factors.enrolled');
    await expect(here.submit(page, { code: codeOf(copied(page)[0] ?? '') })).rejects.toThrow();
    await node?.kill();

    await other.listen(port, '127.0.0.1');
    // A session that continues would get `interaction_required`, because it needs the factor.
    await until(async () => membersOf(await elsewhere.get(url)).error === 'login_required');
    expect((await refresh(issuer, theirs)).status).toBe(400);
    expect(membersOf(await here.get(url))).toHaveProperty('code');
    expect((await refresh(issuer, own)).status).toBe(200);
  });

  test.each(['one factor', 'all factors'])('another node ends every sign-in after an administrator removed %s', async (removed) => {
    const user = { userName: 'carol@acme.test', password: 'carol' };
    const url = authorizeUrl(issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    const agent = new Agent();
    const { tokens } = await obtainTokens(issuer, { agent, scope: 'openid offline_access', ...user });
    const page = await agent.follow(await agent.get(`${issuer}/idp/factors/app`));
    await agent.submit(page, { code: codeOf(copied(page)[0] ?? '') });
    expect(membersOf(await agent.get(url))).toHaveProperty('code');
    const api = administer(issuer, await adminToken(issuer, helpDesk.id, helpDesk.allowedScopes.join(' ')));
    const [account] = await other.directory.accounts.candidates(user.userName);
    const factors = `/tenants/${account?.tenant.id}/users/${account?.person.user.id}/factors`;
    const [app] = (await api(factors)).json.items.filter(({ kind }: Json) => kind === 'totp');
    await node?.arm(1, 'factors.enrolled removed');
    await expect(api.remove(removed === 'one factor' ? `${factors}/${app.id}` : factors)).rejects.toThrow();
    await node?.kill();

    await other.listen(port, '127.0.0.1');
    await until(async () => membersOf(await agent.get(url)).error === 'login_required');
    expect((await refresh(issuer, tokens.refresh_token)).status).toBe(400);
  });

  test('another node ends the other sign-ins after a factor was removed, and the name of the removed way', async () => {
    const user = { userName: 'otto@acme.test', password: 'otto' };
    const url = authorizeUrl(issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    const here = new Agent();
    await obtainTokens(issuer, { agent: here, ...user });
    const page = await here.follow(await here.get(`${issuer}/idp/factors/app`));
    const [secret = ''] = copied(page);
    await here.submit(page, { code: codeOf(secret) });
    const elsewhere = new Agent();
    const challenge = await signIn(elsewhere, authorizeUrl(issuer, pkce), user.userName, user.password);
    await elsewhere.follow(await elsewhere.submit(challenge, { code: codeOf(secret, 1) }));
    expect(membersOf(await elsewhere.get(url))).toHaveProperty('code');
    const list = await here.get(`${issuer}/idp/factors`);
    const id = /name="remove" value="([^"]+)"/.exec(list.body)?.[1] ?? '';
    const question = await here.submit(list, { remove: id });
    await node?.arm(1, 'factors.enrolled removed');
    await expect(here.submit(question, { removed: id })).rejects.toThrow();
    await node?.kill();

    await other.listen(port, '127.0.0.1');
    await until(async () => membersOf(await elsewhere.get(url)).error === 'login_required');
    expect(membersOf(await here.get(url))).toHaveProperty('code');
    const [account] = await other.directory.accounts.candidates(user.userName);
    expect(account?.person.user.leavingWays).toBeUndefined();
  });
});
