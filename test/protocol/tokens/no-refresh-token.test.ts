/** House §5: a sign-in with `offline: false` gets no refresh token, in any way and with any configuration of the host. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Extension } from 'tenant-idp/extension';
import { Agent, authorizeUrl, createPkce, postForm } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import type { TestIdpOptions } from '../../support/service/idp.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { type Upstream, upstreamMethod } from '../../support/sign-in/upstream-method.js';

const grantType = 'urn:example:slip';
const metadata = { grant_types: [grantType, 'refresh_token'] };
const kiosk = { id: 'kiosk', name: 'Kiosk', secret: 'kiosk-secret', metadata, allowedScopes: ['openid'] };
const seed = { ...testSeed, clients: [...testSeed.clients, kiosk] };
const toEverybody: TestIdpOptions['configure'] = (configuration) => ({ ...configuration, issueRefreshToken: async () => true });

describe.each([
  ['tokens minted here', {}, false],
  ['tokens minted by oidc-provider', { configure: (configuration) => configuration }, false],
  ['a host that wants a refresh token for everybody', { configure: toEverybody }, true],
] as readonly (readonly [string, TestIdpOptions, boolean])[])('%s', (_, options, isForAll) => {
  const upstream: Upstream = { subject: 'bob', seen: [] };
  let oid = '';
  const slips: Extension = {
    name: 'slips',
    grantTypes: {
      [grantType]: () => ({
        parameters: ['offline'],
        exchange: ({ parameters: { offline } }) => ({
          oid,
          amr: ['external'],
          idp: 'slips',
          authTime: Math.floor(Date.now() / 1000),
          scopes: ['openid', 'offline_access'],
          ...(offline === 'false' && { offline: false as const }),
        }),
      }),
    },
  };
  const service = useIdp({ seed, extensions: [upstreamMethod('eid', upstream), slips], ...options });
  beforeAll(async () => {
    const [bob] = await service.idp.directory.accounts.candidates('bob@globex.test');
    oid = bob?.person.user.id ?? '';
    await service.idp.tenant(bob?.tenant.id ?? '').users.update(oid, { externalIdentities: [{ idp: 'eid', subject: 'bob' }] });
  });

  const pkce = createPkce();
  /** Returns the tokens of a new sign-in by the method, or of the existing sign-in with `prompt: 'none'`. */
  const tokensOf = async (agent: Agent, scope: string, more: Record<string, string> = { acr_values: 'idp:eid', prompt: 'login' }) => {
    const asked = { code_challenge: pkce.challenge, code_challenge_method: 'S256', scope, ...more };
    const { code = '' } = membersOf(await agent.follow(await agent.get(authorizeUrl(service.issuer, asked))));
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
    return (await postForm(`${service.issuer}/connect/token`, fields, credentialsOf('web'))).json;
  };

  test('a sign-in without gives none, nor does single sign-on by it', async () => {
    upstream.offline = false;
    const agent = new Agent();
    for (const scope of ['openid', 'openid offline_access']) {
      const tokens = [await tokensOf(agent, scope), await tokensOf(agent, scope, { prompt: 'none' })];
      expect(tokens).toEqual([expect.objectContaining({ scope: 'openid' }), expect.objectContaining({ scope: 'openid' })]);
      for (const each of tokens) expect(each).not.toHaveProperty('refresh_token');
    }
  });

  test('one after it in the browser that gave one does not', async () => {
    const agent = new Agent();
    const given: boolean[] = [];
    for (const offline of [undefined, false] as const) {
      upstream.offline = offline;
      given.push('refresh_token' in (await tokensOf(agent, 'openid offline_access')));
    }
    expect(given).toEqual([true, false]);
    upstream.offline = undefined;
    expect('refresh_token' in (await tokensOf(new Agent(), 'openid'))).toBe(isForAll);
  });

  test('a grant type of an extension gives none either', async () => {
    const ask = async (fields: Record<string, string>) =>
      (await postForm(`${service.issuer}/connect/token`, { grant_type: grantType, ...fields }, credentialsOf('kiosk'))).json;
    expect(await ask({})).toHaveProperty('refresh_token');
    const tokens = await ask({ offline: 'false' });
    expect(tokens).toMatchObject({ scope: 'openid', access_token: expect.any(String) });
    expect(tokens).not.toHaveProperty('refresh_token');
  });
});
