/** House §2: an answer never depends on the door that a request takes. Middleware about an endpoint sees the same at each door. */
import { describe, expect, test } from '@jest/globals';
import type { Extension, IdentityProviderOptions } from 'tenant-idp';
import type { CallerState } from 'tenant-idp/extension';
import { featureStandings } from '../../../lib/options/features.js';
import { obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { formTypes } from '../../support/requests/both-doors.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const alwaysOn = Object.keys(featureStandings).filter((name) => featureStandings[name]?.standing === 'always on');
const endpoints = [
  'authorization',
  'token',
  'introspection',
  'revocation',
  'pushed_authorization_request',
  'userinfo',
  'end_session',
  'jwks',
];

interface Seen {
  readonly caller: string | undefined;
  readonly body: string;
}

describe.each<[string, Partial<IdentityProviderOptions>]>([
  ['answered here', {}],
  ['answered by oidc-provider', { configure: () => {} }],
])('middleware about an endpoint, %s', (_case, options) => {
  const seen: Seen[] = [];
  const looking: Extension = {
    name: 'looking',
    around: Object.fromEntries(
      endpoints.map((endpoint) => [
        endpoint,
        () => async (ctx, next) => {
          await next();
          const { caller } = ctx.state as CallerState;
          seen.push({ caller: caller?.id, body: typeof ctx.body });
          if (typeof ctx.body === 'object') (ctx.body as Record<string, unknown>).added = endpoint;
        },
      ]),
    ),
  };
  const service = useIdp({ ...options, extensions: [looking] });
  const post = (path: string, fields: Record<string, string>, type: string, headers: Record<string, string>) =>
    postForm(`${service.issuer}/connect/${path}`, fields, { ...headers, 'content-type': type });

  test.each(formTypes)('sees who authenticated and an object, and adds to one answer alone: %s', async (type) => {
    seen.length = 0;
    const asked = { grant_type: 'client_credentials', scope: 'orders.read' };
    const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', nonce: 'n' };
    const { json: issued } = await post('token', asked, type, credentialsOf('service'));
    expect(issued).toMatchObject({ access_token: expect.any(String), added: 'token' });
    const { json: known } = await post('introspect', { token: issued.access_token }, type, credentialsOf('orders'));
    expect(known).toMatchObject({ active: true, added: 'introspection' });
    expect((await post('introspect', { token: 'x' }, type, credentialsOf('orders'))).json).toEqual({
      active: false,
      added: 'introspection',
    });
    expect((await post('revocation', { token: issued.access_token }, type, credentialsOf('service'))).status).toBe(200);
    expect((await post('par', request, type, credentialsOf('web'))).json).toMatchObject({ added: 'pushed_authorization_request' });
    expect(seen).toEqual([
      { caller: 'service', body: 'object' },
      { caller: 'orders', body: 'object' },
      { caller: 'orders', body: 'object' },
      { caller: 'service', body: 'string' },
      { caller: 'web', body: 'object' },
    ]);
  });

  test.each(formTypes)('sees a refusal as an object: %s', async (type) => {
    seen.length = 0;
    await post('token', { grant_type: 'unknown' }, type, credentialsOf('service'));
    for (const endpoint of ['introspect', 'revocation']) await post(endpoint, {}, type, credentialsOf('service'));
    expect(seen).toEqual([0, 1, 2].map(() => ({ caller: 'service', body: 'object' })));
  });

  test('sees the key set, pages and redirects as texts', async () => {
    seen.length = 0;
    const paths = ['/.well-known/openid-configuration/jwks', '/connect/authorize?client_id=nobody', '/connect/endsession'];
    for (const path of [paths[0], ...paths]) await fetch(`${service.issuer}${path}`, { redirect: 'manual' });
    expect(seen).toEqual([0, 1, 2, 3].map(() => ({ caller: undefined, body: 'string' })));
  });

  test.each(formTypes)('is told of nobody who did not authenticate: %s', async (type) => {
    seen.length = 0;
    const asked = { grant_type: 'client_credentials' };
    await post('token', asked, type, {});
    await post('token', asked, type, { authorization: `Basic ${Buffer.from('service:wrong').toString('base64')}` });
    await post('token', { ...asked, client_id: 'service', client_secret: 'service-secret' }, type, credentialsOf('service'));
    await post('token', { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'spa' }, type, {});
    await post('introspect', { token: 'x' }, type, { authorization: `Basic ${Buffer.from('orders:wrong').toString('base64')}` });
    expect(seen.map(({ caller }) => caller)).toEqual(seen.map(() => undefined));
    expect(seen).toHaveLength(5);
  });

  test('sees claims as an object at userinfo, in the common form of the request and in another', async () => {
    const { tokens } = await obtainTokens(service.issuer);
    seen.length = 0;
    for (const query of ['', '?unusual=yes']) {
      const answer = await fetch(`${service.issuer}/connect/userinfo${query}`, {
        headers: { authorization: `Bearer ${tokens.access_token}` },
      });
      expect(await answer.json()).toMatchObject({ sub: expect.any(String), added: 'userinfo' });
    }
    expect(seen).toEqual([0, 1].map(() => ({ caller: undefined, body: 'object' })));
  });
});

describe('house §2: features that merely confirm what is so leave the endpoints to the service', () => {
  const on = { enabled: true };
  /** An extension that tells whether oidc-provider answered a plain request, which then has a context of oidc-provider. */
  const looking: Extension = {
    name: 'looking',
    around: {
      introspection: () => async (ctx, next) => {
        await next();
        ctx.set('x-answered-by', 'oidc' in ctx ? 'oidc-provider' : 'the service');
      },
    },
  };

  test.each<[string, object, string]>([
    ['none', {}, 'the service'],
    ['all that are always on', Object.fromEntries(alwaysOn.map((name) => [name, on])), 'the service'],
    ['DPoP', { dPoP: on }, 'the service'],
    ['one that is refused, off', { deviceFlow: { enabled: false } }, 'the service'],
    ['an option, off', { claimsParameter: { enabled: false } }, 'the service'],
    ['an option, on', { claimsParameter: on }, 'oidc-provider'],
  ])('%s', async (_what, features, answeredBy) => {
    const { issuer, close } = await startIdp({ features, extensions: [looking] });
    const { json, headers } = await postForm(`${issuer}/connect/introspect`, { token: 'x' }, credentialsOf('orders'));
    expect([json, headers.get('x-answered-by')]).toEqual([{ active: false }, answeredBy]);
    await close();
  });
});
