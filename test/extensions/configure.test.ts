/**
 * House §5: an extension adds named members to oidc-provider's configuration, and answers its own endpoint. The standard extension for CIBA
 * does both.
 */
import { describe, expect, test } from '@jest/globals';
import type { Extension } from 'tenant-idp/extension';
import { basic, postForm } from '../support/client/agent.js';
import { cibaClient, withClients } from '../support/client/ciba/call-centre.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { startIdp } from '../support/service/idp.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

describe('an endpoint of oidc-provider that an extension adds', () => {
  const service = useIdp({ seed: withClients(cibaClient('desk')) });

  test('wrong secrets are what they are elsewhere', async () => {
    const ask = () =>
      postForm(`${service.issuer}/connect/ciba`, { scope: 'openid', login_hint: 'nobody' }, { authorization: basic('desk', 'wrong') });
    let { status } = await ask();
    for (let count = 0; status === 401 && count < 200; count += 1) ({ status } = await ask());
    expect(status).toBe(429);
  });

  test('the rest is answered as without it: no host configured anything', async () => {
    const answer = await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, credentialsOf('service'));
    expect(answer.status).toBe(200);
  });
});

describe('with `configure`, where oidc-provider answers', () => {
  const service = useIdp({ seed: withClients(cibaClient('desk')), configure: (configuration) => configuration });

  test('the endpoint and its grant are the same', async () => {
    const { json } = await postForm(
      `${service.issuer}/connect/ciba`,
      { scope: 'openid', login_hint: 'bob@globex.test' },
      credentialsOf('desk'),
    );
    expect(Object.keys(json).sort()).toEqual(['auth_req_id', 'expires_in', 'interval']);
    const fields = { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: json.auth_req_id };
    const poll = () => postForm(`${service.issuer}/connect/token`, fields, credentialsOf('desk'));
    expect((await poll()).json.error).toBe('authorization_pending');
    const [account] = await service.idp.directory.accounts.candidates('bob@globex.test');
    const oid = account?.person.user.id ?? '';
    const [request] = await service.idp.ciba.pendingOf(oid);
    await service.idp.ciba.approve(request?.id ?? '', { oid, amr: ['pwd'], idp: 'local', authTime: epochSeconds() });
    expect(await poll()).toMatchObject({ status: 200, json: { token_type: 'Bearer', id_token: expect.any(String) } });
    expect((await poll()).json.error).toBe('invalid_grant');
    const sessions = await service.idp.sessions.list({ tid: request?.tid ?? '', userId: oid });
    expect(sessions.map(({ clientIds }) => clientIds)).toEqual([['desk']]);
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
    [
      'the path of an endpoint that an extension answers',
      adding('x', { routes: { backchannel_authentication: '/more' } }),
      'one owner of routes.backchannel_authentication, got the service and x',
    ],
    ['a path that is none', adding('x', { routes: { more: 'more' } }), 'extensions.x.configure.routes.more: expected a path'],
  ])('%s', async (_, extension, words) => {
    expect(await rejected(extension)).toContain(words);
  });

  test('the endpoint that another answers, with both names', async () => {
    const clientEndpoints = { backchannel_authentication: () => ({ grantType: 'x', parameters: [], answer: () => ({}) }) };
    expect(await rejected({ name: 'x', clientEndpoints })).toContain(
      'one owner of the endpoint backchannel_authentication, got ciba and x',
    );
  });

  test('a name that two add, with both', async () => {
    const one = { routes: { more: '/more' } };
    expect(await rejected(adding('x', one), adding('y', one))).toContain('one owner of the path /more, got x and y');
  });
});
