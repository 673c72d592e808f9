/** M2: a replayed refresh token ends its family, whatever other parameters the request has, and by every way of answering. */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { IdentityProviderOptions } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { Agent, basic, type Json } from '../../support/client/agent.js';
import { send } from '../../support/client/send.js';
import { isActive, obtainCode, redeem, refresh } from '../../support/client/steps.js';
import { plainType as plain, unusualType as unusual } from '../../support/requests/both-doors.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

const secret = { authorization: basic('web', 'web-secret') };
const offline = { scope: 'openid profile email offline_access' };
const resource = {
  resourceIndicators: {
    enabled: true,
    defaultResource: () => undefined as never,
    getResourceServerInfo: () => Promise.reject(new Error()),
  },
} as unknown as IdentityProviderOptions['features'];

/** Ways in which the requests are answered. */
const ways: [string, string, Partial<IdentityProviderOptions>][] = [
  ['directly', plain, {}],
  ['by oidc-provider', unusual, {}],
  ['with `configure`', plain, { configure: () => {} }],
  ['with `features`', plain, { features: { richAuthorizationRequests: { enabled: false } } as never }],
  ['with resource indicators', plain, { features: resource as never }],
];

const besides: [string, string, Record<string, string>][] = [
  ['nothing', '', {}],
  ['the granted scope', '&scope=openid+profile+email+offline_access', {}],
  ['less scope', '&scope=openid', {}],
  ['a scope that was not granted', '&scope=openid+org', {}],
  ['a scope that the client may not have', '&scope=openid+invoices.read', {}],
  ['a scope that nobody has', '&scope=nonsense', {}],
  ['no scope to speak of', '&scope=', {}],
  ['characters that no scope has', '&scope=%22%5C', {}],
  ['scope twice', '&scope=openid&scope=profile', {}],
  ['a resource', '&resource=https%3A%2F%2Fapi.example', {}],
  ['a resource that is none', '&resource=none', {}],
  ['authorization details', '&authorization_details=%5B%7B%22type%22%3A%22x%22%7D%5D', {}],
  ['authorization details that are none', '&authorization_details=x', {}],
  ['parameters of a code', '&code=x&code=y&redirect_uri=none&code_verifier=', {}],
  ['a proof that is none', '', { dpop: 'none' }],
  ['a wish for a page', '', { accept: 'text/html' }],
];

describe.each(ways)('M2: answered %s', (_way, type, options) => {
  const directory = memoryDirectory();
  const service = useIdp({ artifacts: memoryArtifacts(), directory, ...options });
  afterEach(() => backToPresent());

  const recorded = () => recordedEvents(directory, 'RefreshTokenReplayed');
  const replay = (token: string, beside: string, headers: Record<string, string> = {}) =>
    send(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { 'content-type': type, ...secret, ...headers },
      body: `grant_type=refresh_token&refresh_token=${token}${beside}`,
    });
  const family = async (agent: Agent): Promise<Json> =>
    (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', offline))).json;

  test('every request that replays is `invalid_grant`, ends the family, and is told once', async () => {
    const agent = new Agent();
    for (const [what, beside, headers] of besides) {
      const before = (await recorded()).length;
      const first = await family(agent);
      const second = (await refresh(service.issuer, first.refresh_token)).json;
      const third = (await refresh(service.issuer, second.refresh_token)).json;
      const answers = [await replay(first.refresh_token, beside, headers), await replay(first.refresh_token, beside, headers)];
      for (const { status, text } of answers)
        expect({ what, status, text }).toEqual({ what, status: 400, text: expect.stringContaining('invalid_grant') });
      for (const token of [first.access_token, second.access_token, third.access_token, third.refresh_token])
        expect([what, await isActive(service.issuer, token)]).toEqual([what, false]);
      expect([what, (await recorded()).length - before]).toEqual([what, 1]);
    }
  });

  test('a replay after the grace, and of a client that may no longer refresh', async () => {
    const agent = new Agent();
    const { directory: services } = service.idp;
    const web = (await services.clients.get('web')) as Json;
    const endings: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
      ['nothing', async () => {}, async () => {}],
      [
        'the grant type',
        () => services.clients.update('web', { metadata: { ...web.metadata, grant_types: ['authorization_code'] } }),
        () => services.clients.update('web', { metadata: web.metadata }),
      ],
    ];
    for (const [what, end, restore] of endings) {
      const before = (await recorded()).length;
      const first = await family(agent);
      const second = (await refresh(service.issuer, first.refresh_token)).json;
      await end();
      passTime(11);
      const answer = await replay(first.refresh_token, '&scope=openid');
      expect({ what, ...answer }).toMatchObject({ what, status: 400, text: expect.stringContaining('invalid_grant') });
      backToPresent();
      await restore();
      expect([what, await isActive(service.issuer, second.access_token)]).toEqual([what, false]);
      expect([what, (await recorded()).length - before]).toEqual([what, 1]);
    }
  });

  test('a retry within the grace is answered by what stands beside the token, and ends nothing', async () => {
    const first = await family(new Agent());
    const second = (await refresh(service.issuer, first.refresh_token)).json;
    expect(await replay(first.refresh_token, '&scope=openid+org')).toMatchObject({
      status: 400,
      text: expect.stringContaining('invalid_scope'),
    });
    expect(await replay(first.refresh_token, '&scope=openid')).toMatchObject({ status: 200 });
    expect(await isActive(service.issuer, second.access_token)).toBe(true);
  });

  test('who did not prove to be the client ends nothing', async () => {
    const before = (await recorded()).length;
    const first = await family(new Agent());
    const second = (await refresh(service.issuer, first.refresh_token)).json;
    const third = (await refresh(service.issuer, second.refresh_token)).json;
    const strangers: Record<string, string>[] = [
      { authorization: basic('web', 'wrong') },
      { authorization: basic('jwt', 'jwt-secret') },
      { authorization: '' },
      { origin: 'https://elsewhere.example' },
    ];
    for (const headers of strangers)
      expect((await replay(first.refresh_token, '&scope=openid', headers)).status).toBeGreaterThanOrEqual(400);
    expect(await isActive(service.issuer, third.access_token)).toBe(true);
    expect((await recorded()).length).toBe(before);
  });
});
