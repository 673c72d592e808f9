/** B4: uses of a refresh token again within the grace, which are retries up to a limit. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { Agent, type Json, postForm } from '../../support/client/agent.js';
import { authorizationOf, isActive, obtainCode, redeem, refresh } from '../../support/client/steps.js';
import { plainType, unusualType } from '../../support/requests/both-doors.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

const offline = { scope: 'openid offline_access' };
const invalidGrant = { status: 400, json: { error: 'invalid_grant' } };

describe.each([
  ['directly', plainType],
  ['by oidc-provider', unusualType],
])('B4: answered %s', (_way, type) => {
  const directory = memoryDirectory();
  const service = useIdp({ artifacts: memoryArtifacts(), directory, trustProxy: 1 });
  beforeAll(async () => {
    await service.idp.directory.clients.update('spa', { lifetimes: { refreshTokenGrace: 0 } });
    await service.idp.directory.clients.update('jwt', { lifetimes: { refreshTokenGrace: 60 } });
  });
  afterEach(() => backToPresent());

  const recorded = (name: string) => recordedEvents(directory, name);
  const family = async (client = 'web'): Promise<Json> =>
    (await redeem(service.issuer, await obtainCode(service.issuer, new Agent(), client, offline), {})).json;
  const from = (token: string, address: string, agent: string, client = 'web') =>
    postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'refresh_token', refresh_token: token, ...(client === 'spa' ? { client_id: client } : {}) },
      { ...authorizationOf(client), 'content-type': type, 'user-agent': agent, 'x-forwarded-for': address },
    );

  test('five retries are answered, the sixth is refused; the family goes on', async () => {
    const first = await family();
    const second = await from(first.refresh_token, '192.0.2.1', 'one');
    for (let retry = 1; retry <= 5; retry += 1)
      expect((await from(first.refresh_token, '192.0.2.1', 'one')).json.refresh_token).toBe(second.json.refresh_token);
    for (let retry = 6; retry <= 8; retry += 1) expect(await from(first.refresh_token, '192.0.2.1', 'one')).toMatchObject(invalidGrant);
    expect(await isActive(service.issuer, second.json.access_token)).toBe(true);
    expect((await from(second.json.refresh_token, '192.0.2.1', 'one')).status).toBe(200);
    expect(await recorded('RefreshTokenReplayed')).toEqual([]);
    expect(await recorded('RefreshTokenRetriedElsewhere')).toEqual([]);
  });

  test('of 20 uses at once one is the use and five are retries', async () => {
    const first = await family();
    const answers = await Promise.all(Array.from({ length: 20 }, () => from(first.refresh_token, '192.0.2.1', 'one')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(6);
    for (const { json } of answers.filter(({ status }) => status !== 200)) expect(json.error).toBe('invalid_grant');
    expect(new Set(answers.flatMap(({ json }) => json.refresh_token ?? [])).size).toBe(1);
  });

  test('one from another address and another agent is answered, and told once, without either', async () => {
    const first = await family();
    const second = await from(first.refresh_token, '192.0.2.1', 'one');
    await from(first.refresh_token, '192.0.2.2', 'one');
    await from(first.refresh_token, '192.0.2.1', 'two');
    expect(await recorded('RefreshTokenRetriedElsewhere')).toEqual([]);
    const answers = [await from(first.refresh_token, '192.0.2.2', 'two'), await from(first.refresh_token, '192.0.2.3', 'three')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const events = await recorded('RefreshTokenRetriedElsewhere');
    expect(events).toHaveLength(1);
    expect(events[0]?.data).toEqual({
      AggregateId: expect.any(String),
      ClientId: 'web',
      SessionId: expect.any(String),
      SpentAt: expect.any(String),
    });
    expect(JSON.stringify(events)).not.toMatch(/192\.0|two/);
    expect(await isActive(service.issuer, second.json.access_token)).toBe(true);
  });

  test('a client without a grace has no retries: the second use ends the family', async () => {
    const first = await family('spa');
    const second = await from(first.refresh_token, '192.0.2.1', 'one', 'spa');
    expect(second.status).toBe(200);
    expect(await from(first.refresh_token, '192.0.2.1', 'one', 'spa')).toMatchObject(invalidGrant);
    expect(await refresh(service.issuer, second.json.refresh_token, 'spa')).toMatchObject(invalidGrant);
    expect(await recorded('RefreshTokenReplayed')).toHaveLength(1);
  });

  test('a client with a grace of its own has it as long', async () => {
    const first = await family('jwt');
    const second = await from(first.refresh_token, '192.0.2.1', 'one', 'jwt');
    passTime(50);
    expect((await from(first.refresh_token, '192.0.2.1', 'one', 'jwt')).json.refresh_token).toBe(second.json.refresh_token);
    passTime(61);
    expect(await from(first.refresh_token, '192.0.2.1', 'one', 'jwt')).toMatchObject(invalidGrant);
  });
});
