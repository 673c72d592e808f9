/** Design §4: the service while a store is unavailable: how soon it answers, which requests fail, and attempts that do not count. */
import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import { Agent, postForm } from '../../support/client/agent.js';
import { authorizationOf, introspect, isActive, obtainCode, responseOf } from '../../support/client/steps.js';
import { startIdp } from '../../support/service/idp.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { expectCode, json, ofPage, passwordOf, tabOf, useFailingIdp } from './failing-idp.js';

const { service, alice, down, switchOff, recover, request, expectSignedIn, offline, push, urlOfPushed, atPassword, sayingOf } =
  useFailingIdp();

describe('design §4: while a store hangs', () => {
  test('one request after the other is answered in time, soon the next ones, and at once again when it is back', async () => {
    const tokens = await offline();
    down.hang = true;
    switchOff('everything');
    const took: number[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const since = performance.now();
      expect((await introspect(service.issuer, tokens.access_token)).status).toBe(503);
      took.push(performance.now() - since);
    }
    expect(Math.max(...took)).toBeLessThan(IN_TIME);
    expect(Math.min(...took.slice(1))).toBeLessThan(took[0] as number);
    recover();
    expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
  });

  test('health answers in time, and says which', async () => {
    for (const [flag, health] of [
      ['artifacts', { status: 'down', artifacts: 'down', directory: 'up', problems: [] }],
      ['directory', { status: 'down', artifacts: 'up', directory: 'down', problems: [] }],
    ] as const) {
      Object.assign(down, { hang: true, [flag]: true });
      const since = performance.now();
      expect(await service.idp.health()).toEqual(health);
      expect(performance.now() - since).toBeLessThan(IN_TIME);
      recover();
      expect(await service.idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up', problems: [] });
    }
  });
});

test('design §4: scopes that cannot be read fail requests that ask for some, and no others', async () => {
  const [agent, { access_token: token }] = [tabOf(alice), await offline()];
  await service.idp.directory.apiResources.update('invoices', { name: 'All invoices' });
  down.directory = true;
  expect(sayingOf('authorize', ofPage(await agent.get(request())))).toBe('redirect');
  expect(sayingOf('discovery', await json(`${service.issuer}/.well-known/openid-configuration`))).toBe('json');
  expect(sayingOf('introspection', await introspect(service.issuer, token))).toBe('json');
  const clientCredentials = { grant_type: 'client_credentials', scope: 'orders.read' };
  expect(sayingOf('token', await postForm(`${service.issuer}/connect/token`, clientCredentials, authorizationOf('service')))).toBe('json');
  expect((await json(`${service.issuer}/.well-known/openid-configuration/jwks`)).status).toBe(200);
  recover();
  await expectSignedIn(agent);
  expect((await json(`${service.issuer}/.well-known/openid-configuration`)).json.scopes_supported).toContain('orders.read');
});

test('G3: an attempt that an outage cut short does not count', async () => {
  const { agent, page } = await atPassword();
  for (let attempt = 0; attempt < 12; attempt += 1) {
    down.credentials = true;
    expect(sayingOf('password', ofPage(await agent.submit(page, { password: 'carol' })))).toBe('page');
    recover();
  }
  expectCode(await agent.follow(await agent.submit(page, passwordOf)));
});

test('design §4: the store goes away between two slots: the client is told, nothing is disclosed, and another request goes through', async () => {
  const store = memoryArtifacts();
  let isAway = false;
  const between: ArtifactStore = {
    ...store,
    async commit(writes) {
      if (isAway && !writes.some(({ key }) => key.startsWith('PushedAuthorizationRequest'))) throw new Error('gone');
      return store.commit(writes);
    },
  };
  const own = await startIdp({ artifacts: between });
  const agent = new Agent();
  await obtainCode(own.issuer, agent);
  const url = urlOfPushed(await push(own.issuer), own.issuer);
  isAway = true;
  const answer = responseOf(await agent.get(url));
  expect([answer.get('error'), answer.get('state'), answer.get('code')]).toEqual(['temporarily_unavailable', 'st', null]);
  isAway = false;
  expect((await agent.get(url)).body).toContain('invalid_request_uri');
  expectCode(await agent.get(urlOfPushed(await push(own.issuer), own.issuer)));
  await own.close();
});
