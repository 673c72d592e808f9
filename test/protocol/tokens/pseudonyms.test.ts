import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { credentialsOf, type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { obtainCode, redeem } from '../../support/client/steps.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const redirects = { first: 'https://first.test/callback', second: 'https://second.test/callback', narrow: 'https://narrow.test/callback' };
const pairwise = (id: keyof typeof redirects, more: object = {}) => ({
  id,
  name: id,
  secret: `${id}-secret`,
  metadata: { redirect_uris: [redirects[id]], subject_type: 'pairwise' },
  allowedScopes: ['openid', 'org', 'orders.read'],
  ...more,
});
const apiResource = (id: string, more: object) => ({ id, name: id, secret: `${id}-secret`, scopes: [], ...more });
let endpoints: Endpoints;
const service = useIdp({
  seed: {
    ...testSeed,
    clients: [...testSeed.clients, pairwise('first'), pairwise('second'), pairwise('narrow', { allowedTenants: ['Acme'] })],
    apiResources: [
      ...testSeed.apiResources,
      apiResource('gateway', { introspects: 'all' }),
      apiResource('acme-gateway', { introspects: 'all', allowedTenants: ['Acme'] }),
    ],
  },
});
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

type Query = Readonly<Record<string, string>>;
const post = (fields: Query, caller: string, query: Query = {}) =>
  postForm(
    `${service.issuer}/connect/scope/introspect?${new URLSearchParams(query)}`,
    { scope: 'openid org', ...fields },
    credentialsOf(caller),
  );
const get = async (query: Query, caller: string) => {
  const url = `${service.issuer}/connect/scope/introspect?${new URLSearchParams({ scope: 'openid org', ...query })}`;
  const response = await fetch(url, { headers: credentialsOf(caller) });
  return { status: response.status, json: (await response.json()) as Json };
};
/** Returns the members of a token that an API resource gets, and the client's userinfo. */
async function introspected(client: keyof typeof redirects, caller = 'orders', userName = 'alice@acme.test', password = 'alice') {
  const agent = new Agent();
  await obtainTokens(service.issuer, { agent, userName, password });
  const redirect = { redirect_uri: redirects[client] };
  const code = await obtainCode(service.issuer, agent, client, { ...redirect, scope: 'openid org orders.read' });
  const { access_token } = (await redeem(service.issuer, code, redirect)).json;
  const { json } = await endpoints.introspect(access_token, caller);
  const learned = json as { sub: string; tid: string; oid: string; client_id: string };
  return { ...learned, userinfo: (await endpoints.userinfo(access_token)).json };
}

describe('M19: an API resource asks about whom introspection named, by the name of the client', () => {
  test.each(['orders', 'gateway'])('M19: %s gets the ids of that client, by every way of asking', async (caller) => {
    for (const client of ['first', 'second'] as const) {
      const { sub, tid, oid, client_id, userinfo } = await introspected(client, caller);
      const query = { sub, tid, client_id };
      const inForm = { ...query, client_id: caller, client_secret: `${caller}-secret`, scope: 'openid org' };
      const answers = [
        await get(query, caller),
        await post(query, caller),
        await post({ sub, tid }, caller, { client_id }),
        await postForm(`${service.issuer}/connect/scope/introspect?client_id=${client_id}`, inForm),
        await get({ ...query, sub: oid }, caller),
      ];
      for (const { status, json } of answers) expect({ status, json }).toEqual({ status: 200, json: userinfo });
      const inProcess = { sub, tid, scope: 'openid org', clientId: client_id };
      expect(await service.idp.introspectScopes({ ...inProcess, client: caller })).toEqual(userinfo);
      expect(await service.idp.introspectScopes(inProcess)).toEqual(userinfo);
      const [other] = userinfo.may_login;
      expect(await get({ ...query, sub: other.oid, tid: other.tid }, caller)).toMatchObject({ json: { sub, oid: other.oid } });
    }
  });

  test('M19: pseudonyms of one client say nothing under the name of another, or of none; nor do plain ids under a name', async () => {
    const [first, second] = [await introspected('first'), await introspected('second')];
    expect(new Set([first.sub, first.oid, second.sub, second.oid]).size).toBe(2);
    const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
    const plain = account?.person.user.id ?? '';
    const wrong: Query[] = [
      { sub: first.sub, client_id: 'second' },
      { sub: second.sub, client_id: 'first' },
      { sub: first.sub, client_id: 'web' },
      { sub: first.sub },
      { sub: plain, client_id: 'first' },
      { sub: first.sub, client_id: 'nobody' },
      { sub: first.sub, client_id: 'orders' },
    ];
    for (const query of wrong)
      for (const caller of ['orders', 'gateway'])
        expect([query, await get({ tid: first.tid, ...query }, caller)]).toMatchObject([
          query,
          { status: 404, json: { error: 'not_found' } },
        ]);
  });

  test('M19: who may not introspect the tokens of a client does not ask by its name', async () => {
    const { sub, tid } = await introspected('first');
    expect(await get({ sub, tid, client_id: 'first' }, 'invoices')).toMatchObject({ status: 404 });
    expect(await get({ sub, tid, client_id: 'first' }, 'second')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(await post({ sub, tid, client_id: 'first' }, 'web')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    await service.idp.directory.clients.update('first', { status: 'disabled' });
    expect(await get({ sub, tid, client_id: 'first' }, 'orders')).toMatchObject({ status: 404 });
    await service.idp.directory.clients.update('first', { status: 'active', allowedScopes: ['openid', 'org'] });
    expect(await get({ sub, tid, client_id: 'first' }, 'orders')).toMatchObject({ status: 404 });
    expect(await get({ sub, tid, client_id: 'first' }, 'gateway')).toMatchObject({ status: 200 });
    await service.idp.directory.clients.update('first', { allowedScopes: ['openid', 'org', 'orders.read'] });
  });

  test('M19: only users of tenants of both', async () => {
    const bob = await introspected('second', 'orders', 'bob@globex.test', 'bob');
    const [{ sub, tid }, { may_login }] = [bob, (await introspected('first')).userinfo];
    expect(await get({ sub, tid, client_id: 'second' }, 'orders')).toMatchObject({ status: 200 });
    expect(await get({ sub, tid, client_id: 'second' }, 'acme-gateway')).toMatchObject({ status: 404 });
    const alice = await introspected('narrow');
    expect(await get({ sub: alice.sub, tid: alice.tid, client_id: 'narrow' }, 'orders')).toMatchObject({ status: 200 });
    expect(await get({ sub: alice.sub, tid: may_login[0].tid, client_id: 'narrow' }, 'orders')).toMatchObject({ status: 404 });
  });
});
