/** House §5: an extension adds named members to oidc-provider's configuration, here backchannel authentication, and mints by a grant type of its own. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Extension, GrantedSignIn } from 'tenant-idp/extension';
import { basic, postForm } from '../support/client/agent.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { startIdp } from '../support/service/idp.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const grant = 'urn:openid:params:grant-type:ciba';
/** By `auth_req_id`: a request that waits, or the sign-in that approved it. */
const requests = new Map<string, GrantedSignIn | { readonly waits: { readonly oid: string; readonly scopes: readonly string[] } }>();

interface Requested {
  readonly jti: string;
  readonly accountId: string;
  readonly scope: string;
}

const backchannel: Extension = {
  name: 'backchannel',
  configure: (_configuration, { directory }) => ({
    features: {
      ciba: {
        enabled: true,
        deliveryModes: ['poll'],
        processLoginHint: async (_ctx: unknown, hint: string) => (await directory.accounts.candidates(hint))[0]?.person.user.id,
        validateBindingMessage() {},
        validateRequestContext() {},
        verifyUserCode() {},
        triggerAuthenticationDevice(_ctx: unknown, { jti, accountId, scope }: Requested) {
          requests.set(jti, { waits: { oid: accountId, scopes: scope.split(' ') } });
        },
      },
    },
    routes: { backchannel_authentication: '/connect/ciba' },
    ttl: { BackchannelAuthenticationRequest: 120 },
  }),
  clientMetadata: { backchannel_token_delivery_mode: (value) => (value === 'poll' ? undefined : 'poll') },
  grantTypes: {
    [grant]: () => ({
      parameters: ['auth_req_id'],
      exchange({ parameters: { auth_req_id: id = '' } }) {
        const found = requests.get(id);
        if (!found) return { error: 'invalid_grant' };
        if ('waits' in found) return { error: 'authorization_pending' };
        requests.delete(id);
        return found;
      },
    }),
  },
};

const callCentre = {
  id: 'call-centre',
  name: 'Call centre',
  secret: 'call-centre-secret',
  metadata: { grant_types: [grant], response_types: [], redirect_uris: [], backchannel_token_delivery_mode: 'poll' },
  allowedScopes: ['openid', 'profile'],
};
const seed = { ...testSeed, clients: [...testSeed.clients, callCentre] };
const clientHeaders = { authorization: basic('call-centre', 'call-centre-secret') };

describe('an endpoint of oidc-provider that an extension adds', () => {
  const service = useIdp({ seed, extensions: [backchannel] });
  const ask = (fields: Record<string, string>, headers: Record<string, string> = clientHeaders) =>
    postForm(`${service.issuer}/connect/ciba`, fields, headers);

  test('is in discovery, authenticates clients as others do, and its grant type is minted by the service', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({
      backchannel_authentication_endpoint: `${service.issuer}/connect/ciba`,
      backchannel_token_delivery_modes_supported: ['poll'],
    });
    expect(discovery.grant_types_supported).toContain(grant);
    expect(await ask({ scope: 'openid', login_hint: 'bob@globex.test' }, {})).toMatchObject({
      status: 401,
      json: { error: 'invalid_client' },
    });

    const { status, json } = await ask({ scope: 'openid profile', login_hint: 'bob@globex.test' });
    expect([status, Object.keys(json).sort()]).toEqual([200, ['auth_req_id', 'expires_in']]);
    const poll = () => postForm(`${service.issuer}/connect/token`, { grant_type: grant, auth_req_id: json.auth_req_id }, clientHeaders);
    expect(await poll()).toMatchObject({ status: 400, json: { error: 'authorization_pending' } });
    const request = requests.get(json.auth_req_id);
    if (!request || !('waits' in request)) throw new Error('no request came');
    const { oid, scopes } = request.waits;
    requests.set(json.auth_req_id, { oid, scopes, amr: ['external'], idp: 'phone', authTime: Math.floor(Date.now() / 1000) });
    const tokens = await poll();
    expect(decodeJwt(tokens.json.id_token)).toMatchObject({ sub: oid, idp: 'phone', aud: 'call-centre' });
    expect(await poll()).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('wrong methods and wrong secrets are what they are elsewhere', async () => {
    const got = await fetch(`${service.issuer}/connect/ciba`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    const fields = { scope: 'openid', login_hint: 'bob@globex.test' };
    const wrong = { authorization: basic('call-centre', 'wrong') };
    let { status } = await ask(fields, wrong);
    for (let count = 0; status === 401 && count < 200; count += 1) ({ status } = await ask(fields, wrong));
    expect(status).toBe(429);
  });

  test('the rest is answered as without it: no host configured anything', async () => {
    const answer = await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, credentialsOf('service'));
    expect(answer.status).toBe(200);
  });
});

describe('refused at start', () => {
  const rejected = async (...extensions: readonly Extension[]): Promise<string> =>
    startIdp({ extensions, seed: { ...testSeed, clients: [] } }).then(
      async ({ close }) => {
        await close();
        return 'it starts';
      },
      (error: unknown) => String(error),
    );
  const adding = (name: string, addition: object): Extension => ({ name, configure: () => addition });

  test.each([
    ['a member that others own', adding('x', { pkce: {} }), 'extensions.x.configure.pkce: expected one of features, routes, ttl'],
    [
      'a feature that changes other answers',
      adding('x', { features: { mTLS: {} } }),
      'extensions.x.configure.features.mTLS: expected one of ciba',
    ],
    ['a name that the service has', adding('x', { ttl: { AccessToken: 5 } }), 'one owner of ttl.AccessToken, got the service and x'],
    [
      'a path that the service has',
      adding('x', { routes: { more: '/connect/token' } }),
      'one owner of the path /connect/token, got the service and x',
    ],
    ['a path that is none', adding('x', { routes: { more: 'more' } }), 'extensions.x.configure.routes.more: expected a path'],
  ])('%s', async (_, extension, words) => {
    expect(await rejected(extension)).toContain(words);
  });

  test('a name that two add, with both', async () => {
    const one = { routes: { more: '/more' } };
    expect(await rejected(adding('x', one), adding('y', one))).toContain('one owner of the path /more, got x and y');
  });
});
