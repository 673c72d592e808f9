/**
 * Stops in the directory are effective immediately and by every way of answering, even if the artifacts still say otherwise. The rows
 * change behind the service, so that nothing ends the artifacts.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { IdentityProviderOptions } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Client, Person, Tenant } from '../../../lib/store/records/records.js';
import { Agent, authorizeUrl, createPkce, type Json, postForm } from '../../support/client/agent.js';
import { authorizationOf, obtainCode, redeem, refresh, responseOf, userinfo } from '../../support/client/steps.js';
import { plainType as plain, unusualType as unusual } from '../../support/requests/both-doors.js';
import { useIdp } from '../../support/service/use-idp.js';
import { forgettable } from '../../support/stores/told-changes.js';

const ways: [string, string, string, Partial<IdentityProviderOptions>][] = [
  ['directly', plain, '', {}],
  ['by oidc-provider', unusual, '?unusual=yes', {}],
  ['with `configure`', plain, '', { configure: () => {} }],
];

describe.each(ways)('answered %s', (_way, type, query, options) => {
  const { directory, forget } = forgettable(memoryDirectory());
  const agent = new Agent();
  let restore: (() => Promise<unknown>) | undefined;
  const service = useIdp({ artifacts: memoryArtifacts(), directory, ...options });
  afterEach(async () => {
    await restore?.();
    restore = undefined;
    await cached();
  });

  /** Changes a row behind the service's back, for one test. */
  async function change<R extends { readonly id: string }>(name: string, of: (row: R) => boolean, next: (row: R) => R): Promise<void> {
    const rows = directory.collection<never>(name) as unknown as { find(where: object): Promise<R[]>; put(row: R): Promise<R> };
    const [before] = (await rows.find({})).filter(of);
    if (!before) throw new Error(`no such row of ${name}`);
    await rows.put(next(before));
    restore = () => rows.put(before);
  }
  /** Makes the caches forget the rows that a test changed behind the service. */
  const cached = async (): Promise<void> => {
    const { tenants, clients } = service.idp.directory;
    const acme = await tenantOf('Acme');
    await forget(() => tenants.update(acme, { name: 'Forgotten' }));
    await forget(() => clients.update('web', { name: 'Forgotten' }));
  };
  const tenantOf = async (name: string): Promise<string> =>
    (await service.idp.directory.tenants.find({ limit: 100 })).find((tenant) => tenant.name === name)?.id ?? '';
  const ofAlice = ({ user }: Person): boolean => user?.userName === 'alice@acme.test';

  const stops: [string, () => Promise<void>][] = [
    ['a disabled user', () => change<Person>('persons', ofAlice, (row) => ({ ...row, user: { ...row.user!, status: 'disabled' } }))],
    [
      'a user who was invited again',
      () => change<Person>('persons', ofAlice, (row) => ({ ...row, user: { ...row.user!, status: 'invited' } })),
    ],
    [
      'a sign-in before `notBefore`',
      () => change<Person>('persons', ofAlice, (row) => ({ ...row, user: { ...row.user!, notBefore: new Date(Date.now() + 2000) } })),
    ],
    [
      'a person without a user',
      () =>
        change<Person>('persons', ofAlice, (row) => {
          const { user: _, ...rest } = row;
          return rest as Person;
        }),
    ],
    [
      'a disabled tenant',
      async () => {
        await change<Tenant>(
          'tenants',
          ({ name }) => name === 'Acme',
          (row) => ({ ...row, status: 'disabled' }),
        );
        await cached();
      },
    ],
    [
      'a tenant whose sign-ins are void',
      async () => {
        await change<Tenant>(
          'tenants',
          ({ name }) => name === 'Acme',
          (row) => ({ ...row, notBefore: new Date(Date.now() + 2000) }),
        );
        await cached();
      },
    ],
    [
      'a client that the tenant may not use any more',
      async () => {
        const globex = await tenantOf('Globex');
        await change<Client>(
          'clients',
          ({ id }) => id === 'web',
          (row) => ({ ...row, allowedTenants: [globex] }),
        );
        await cached();
      },
    ],
  ];

  const ask = async (path: string, fields: Record<string, string>, client = 'web'): Promise<{ status: number; json: Json }> =>
    postForm(`${service.issuer}/connect/${path}`, fields, { ...authorizationOf(client), 'content-type': type });
  const redemption = ({ code, verifier }: { code: string; verifier: string }) => ({
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: 'http://127.0.0.1:9/callback',
  });
  const scope = 'openid profile offline_access orders.read';

  test.each(stops)('%s: nothing that was issued works, nothing more is issued', async (_what, stop) => {
    const tokens = (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', { scope }))).json;
    const code = await obtainCode(service.issuer, agent, 'web', { scope });
    await stop();
    expect(await ask('introspect', { token: tokens.access_token })).toMatchObject({ status: 200, json: { active: false } });
    expect(await ask('introspect', { token: tokens.access_token }, 'orders')).toMatchObject({ status: 200, json: { active: false } });
    expect(await ask('introspect', { token: tokens.refresh_token })).toMatchObject({ status: 200, json: { active: false } });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await fetch(`${service.issuer}/connect/userinfo${query}`, { headers })).status).toBe(401);
    expect(await ask('token', redemption(code))).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const refreshed = await ask('token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
    expect(refreshed).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const { challenge } = createPkce();
    const silent = await agent.get(
      authorizeUrl(service.issuer, { prompt: 'none', code_challenge: challenge, code_challenge_method: 'S256' }),
    );
    expect(responseOf(silent).get('code')).toBeNull();
  });

  test('what was refused works again with the row as it was, unless it was spent', async () => {
    const tokens = (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', { scope }))).json;
    await stops[0]?.[1]();
    expect((await refresh(service.issuer, tokens.refresh_token)).status).toBe(400);
    await restore?.();
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
    expect((await refresh(service.issuer, tokens.refresh_token)).status).toBe(200);
  });

  test('a disabled client: nobody answers it, and its tokens are nobody’s', async () => {
    const tokens = (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', { scope }))).json;
    const code = await obtainCode(service.issuer, agent, 'web', { scope });
    await change<Client>(
      'clients',
      ({ id }) => id === 'web',
      (row) => ({ ...row, status: 'disabled' }),
    );
    await cached();
    for (const [path, fields] of [
      ['token', redemption(code)],
      ['token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }],
      ['introspect', { token: tokens.access_token }],
      ['revocation', { token: tokens.access_token }],
    ] as const)
      expect([path, await ask(path, { ...fields })]).toMatchObject([path, { status: 401, json: { error: 'invalid_client' } }]);
    expect(await ask('introspect', { token: tokens.access_token }, 'orders')).toMatchObject({ status: 200, json: { active: false } });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await fetch(`${service.issuer}/connect/userinfo${query}`, { headers })).status).toBe(401);
  });

  test('a scope that the client lost is in no token and answers no claim', async () => {
    const tokens = (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', { scope }))).json;
    await change<Client>(
      'clients',
      ({ id }) => id === 'web',
      (row) => ({ ...row, allowedScopes: ['openid'] }),
    );
    await cached();
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const claims = (await (await fetch(`${service.issuer}/connect/userinfo${query}`, { headers })).json()) as Json;
    expect(claims).toHaveProperty('sub');
    expect(claims).not.toHaveProperty('name');
    const { json } = await ask('token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
    expect(json.scope).not.toMatch(/profile|orders/);
  });
});
