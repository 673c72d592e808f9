/**
 * L6: on a node whose clock is off, stamps have the time that all nodes share, and times are compared with the shared time. The clock of
 * this process stands still, so each stamp shows which of the two clocks it is by.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type ExtensionContext, minutesUntil, secondsUntil } from 'tenant-idp/extension';
import { saml } from 'tenant-idp/extensions/saml';
import { adminClient, administer, adminScopes, adminToken, tenantIds } from '../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens, postForm, signIn } from '../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../support/client/assertions.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../support/client/receivers/logout-receiver.js';
import { createSigningClient, type SigningClient } from '../support/client/request-objects.js';
import { authorizationOf, introspect, refresh, responseOf, userinfo } from '../support/client/steps.js';
import { testKeyOf } from '../support/saml/keys/test-keys.js';
import { describeIdp, signInOn } from '../support/saml/service/use-saml-service.js';
import { startServiceProvider, type TestServiceProvider } from '../support/saml/service-providers/node-saml.js';
import { messageIn, travel } from '../support/saml/service-providers/travel.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { stopTime } from '../support/time/clock.js';
import { clockedArtifacts } from '../support/time/clocked-artifacts.js';
import { until } from '../support/time/until.js';

/** Seconds that a stamp may be off by. */
const TOLERANCE = 2;
/** Seconds that JWTs of clients may be off by. */
const OF_CLIENTS = 15;
/** Seconds around now in which an instant counts as a stamp. The expiry of new records is further away. */
const NEAR = 55;
const scopes = [...adminScopes, 'idp.events:read', 'idp.saml-service-providers:read', 'idp.saml-service-providers:write'];

/** Returns all instants in a value, in seconds since the epoch: dates, ISO texts, and JWT times by their names. */
function instantsIn(value: unknown, path = ''): readonly (readonly [path: string, seconds: number])[] {
  if (value instanceof Date) return [[path, value.getTime() / 1000]];
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return [[path, Date.parse(value) / 1000]];
  if (typeof value === 'number' && /\.(?:iat|nbf|exp|auth_time)$/.test(path)) return [[path, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => instantsIn(member, `${path}.${name}`));
}

describe.each([20, 12, -12, -20])('L6: a node whose clock is %i s ahead of the time that all nodes share', (ahead) => {
  let time: ReturnType<typeof stopTime>;
  let service: TestIdp;
  let receiver: LogoutReceiver;
  let asserting: AssertingClient;
  let signing: SigningClient;
  let sp: TestServiceProvider;
  const directory = memoryDirectory();
  const shared = () => Date.now() / 1000 - ahead;
  /** Expects that all stamps near now have the shared time. */
  const expectStamped = (value: unknown, ...names: readonly string[]) => {
    const found = instantsIn(value);
    const near = found.filter(([, at]) => Math.abs(at - shared()) < NEAR);
    expect(near.filter(([, at]) => Math.abs(at - shared()) > TOLERANCE)).toEqual([]);
    for (const name of names) expect(near.map(([path]) => path.slice(path.lastIndexOf('.') + 1))).toContain(name);
  };
  const expectLife = ({ iat = 0, exp = 0 }: { iat?: number; exp?: number }, seconds: number) => expect([exp - iat]).toEqual([seconds]);
  let context: ExtensionContext | undefined;
  const root = async () => administer(service.issuer, await adminToken(service.issuer, 'root', scopes.join(' ')));

  beforeAll(async () => {
    [receiver, asserting, signing] = await Promise.all([
      startLogoutReceiver(),
      createAssertingClient('asserts'),
      createSigningClient('signs'),
    ]);
    const { key, certificate } = await testKeyOf('identity provider');
    time = stopTime();
    const told = testSeed.clients.map((client) =>
      client.id === 'jwt'
        ? {
            ...client,
            metadata: {
              ...client.metadata,
              backchannel_logout_uri: receiver.url,
              grant_types: ['authorization_code', 'refresh_token', 'implicit', 'client_credentials'],
              response_types: ['code', 'code id_token'],
            },
          }
        : client,
    );
    service = await startIdp({
      artifacts: clockedArtifacts(memoryArtifacts(), ahead * 1000),
      directory,
      outgoing: callLoopback,
      seed: { ...testSeed, clients: [...told, asserting.seed, signing.record, adminClient('root', ['*'], scopes)] } as never,
      extensions: [
        saml({ keys: [{ key, certificate }] }),
        {
          name: 'asks-the-time',
          start(given) {
            context = given;
          },
        },
      ],
    });
    sp = await startServiceProvider(await describeIdp(service.issuer));
    expect((await (await root()).post('/saml-service-providers', sp.registration())).status).toBe(201);
  });
  afterAll(async () => {
    await sp?.close();
    receiver?.close();
    await service?.close();
    time?.resume();
  });

  const asJwt = (agent = new Agent()) =>
    obtainTokens(service.issuer, {
      agent,
      client: 'jwt',
      secret: 'jwt-secret',
      scope: 'openid offline_access orders.read',
      userName: 'bob@globex.test',
      password: 'bob',
    });
  const introspected = async (token: string): Promise<Json> => (await introspect(service.issuer, token, 'jwt')).json;

  test('ID tokens, JWT access tokens, and what introspection tells of them and of refresh tokens', async () => {
    const { tokens } = await asJwt();
    for (const { id_token, access_token, refresh_token, expires_in } of [
      tokens,
      (await refresh(service.issuer, tokens.refresh_token, 'jwt')).json,
    ]) {
      const [id, access] = [decodeJwt(id_token), decodeJwt(access_token)];
      expectStamped({ id, access }, 'iat', 'auth_time');
      expectLife(id, 300);
      expectLife(access, expires_in);
      const seen = await introspected(access_token);
      expect([seen.active, seen.exp, seen.iat, seen.nbf]).toEqual([true, access.exp, access.iat, access.iat]);
      expectStamped(await introspected(refresh_token), 'iat', 'nbf');
    }
    const own = (await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'))).json;
    const seen = (await introspect(service.issuer, own.access_token, 'service')).json;
    expectStamped(seen, 'iat', 'nbf');
    expectLife(seen, own.expires_in);
    const { access_token } = (await obtainTokens(service.issuer)).tokens;
    const plain = (await introspect(service.issuer, access_token)).json;
    expectStamped(plain, 'iat', 'auth_time');
    expect((await userinfo(service.issuer, access_token)).status).toBe(200);
  });

  test('what oidc-provider issues by itself: ID tokens of the authorization endpoint, and logout tokens', async () => {
    const agent = new Agent();
    const { challenge } = createPkce();
    const parameters = { client_id: 'jwt', response_type: 'code id_token', nonce: 'n', scope: 'openid' };
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
    const answer = await signIn(agent, authorizeUrl(service.issuer, { ...parameters, ...pkce }), 'bob@globex.test', 'bob');
    const token = new URLSearchParams(new URL(answer.location ?? '').hash.slice(1)).get('id_token') ?? '';
    expectStamped(decodeJwt(token), 'iat', 'auth_time');
    expectLife(decodeJwt(token), 300);
    const before = receiver.tokens.length;
    await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    await receiver.received(before + 1);
    const logout = decodeJwt(receiver.tokens.at(-1) ?? '');
    expectStamped(logout, 'iat');
    expectLife(logout, 120);
  });

  test('the end of a window of attempts, and the seconds until then', async () => {
    const {
      limits: { attempts },
      service: { now },
    } = context as ExtensionContext;
    const { resetsAt } = await attempts('of a test', 50_000);
    expect([Math.round(now() / 1000), Math.round(resetsAt.getTime() / 1000 - shared())]).toEqual([Math.round(shared()), 50]);
    expect([secondsUntil(resetsAt, now), minutesUntil(resetsAt, now)]).toEqual([50, 1]);
  });

  test('signed introspection', async () => {
    const { tokens } = await obtainTokens(service.issuer);
    const accept = 'application/token-introspection+jwt';
    const { text } = await postForm(
      `${service.issuer}/connect/introspect`,
      { token: tokens.access_token },
      { ...authorizationOf('web'), accept },
    );
    expectStamped(decodeJwt(text), 'iat');
  });

  test('SAML assertions', async () => {
    const agent = new Agent();
    await signInOn(agent, await travel(agent, sp.loginUrl), { userName: 'bob@globex.test', password: 'bob' });
    const { xml = '' } =
      messageIn(await travel(agent, sp.loginUrl, (answer) => messageIn(answer)?.xml.includes('<saml:Assertion') ?? false)) ?? {};
    const stamps = [...xml.matchAll(/ (IssueInstant|AuthnInstant)="([^"]+)"/g)].map(([, name, at = '']) => [name, new Date(at)]);
    expect(stamps.length).toBeGreaterThan(2);
    expectStamped(stamps.map(([, at]) => at));
    const [ends] = [...xml.matchAll(/ NotOnOrAfter="([^"]+)"/g)].map(([, at = '']) => Date.parse(at) / 1000 - shared());
    expect(Math.abs((ends ?? 0) - 300)).toBeLessThan(TOLERANCE);
  });

  test('what the admin API lists, events, and each row of the directory', async () => {
    const agent = new Agent();
    const admin = await root();
    const { Globex: tid } = await tenantIds(admin);
    const { json: person } = await admin.post(`/tenants/${tid}/persons`, { givenName: 'New', familyName: 'One' });
    const { json: group } = await admin.post(`/tenants/${tid}/groups`, { name: `Group ${randomUUID()}` });
    expectStamped({ person, group }, 'createdAt', 'updatedAt');
    const { tokens } = await asJwt(agent);
    const { sub = '' } = decodeJwt(tokens.id_token);
    const { json: sessions } = await admin(`/tenants/${tid}/users/${sub}/sessions`);
    expectStamped(sessions, 'signedInAt');
    await until(async () => {
      const { items } = (await admin('/events?type=PersonCreated&limit=200')).json as { items: { subject: string }[] };
      return items.some(({ subject }) => subject === person.id);
    });
    expectStamped((await admin('/events?limit=200')).json, 'time');
    const { collections } = await import('../../lib/store/records/collections.js');
    const rows = await Promise.all(Object.keys(collections).map(async (name) => [name, await directory.collection(name).find({})]));
    expectStamped(Object.fromEntries(rows), 'createdAt', 'updatedAt', 'recordedAt', 'madeAt');
  });

  test('client assertions and request objects are good, or not, by the shared time', async () => {
    const now = Math.floor(shared());
    const asks = async (claims: Record<string, unknown>) =>
      (
        await postForm(`${service.issuer}/connect/token`, {
          grant_type: 'client_credentials',
          ...(await asserting.sign(service.issuer, claims)),
        })
      ).status;
    const at = (iat: number, exp: number, nbf?: number) => ({ iat, exp, ...(nbf === undefined ? {} : { nbf }) });
    expect(await asks(at(now, now + 60, now))).toBe(200);
    expect(await asks(at(now + OF_CLIENTS - 1, now + 60))).toBe(200);
    expect(await asks(at(now - 60, now - OF_CLIENTS + 2))).toBe(200);
    expect(await asks(at(now + OF_CLIENTS + 2, now + 60))).toBe(401);
    expect(await asks(at(now, now + 60, now + OF_CLIENTS + 2))).toBe(401);
    expect(await asks(at(now - 60, now - OF_CLIENTS - 2))).toBe(401);

    const outcome = async (members: Record<string, unknown>) => {
      const { challenge } = createPkce();
      const request = await signing.sign(service.issuer, {
        prompt: 'none',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...members,
      });
      const answer = await new Agent().get(
        `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'signs', request, redirect_uri: redirectUri })}`,
      );
      return answer.location ? responseOf(answer).get('error') : answer.status;
    };
    expect(await outcome({ nbf: now, exp: now + 60 })).toBe('login_required');
    expect(await outcome({ nbf: now - 60, exp: now - OF_CLIENTS + 2 })).toBe('login_required');
    expect(await outcome({ nbf: now + OF_CLIENTS + 2, exp: now + 60 })).not.toBe('login_required');
    expect(await outcome({ nbf: now - 60, exp: now - OF_CLIENTS - 2 })).not.toBe('login_required');
  });
});
