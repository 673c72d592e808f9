/** House §5: a grant type of an extension, on the shared mint: with both content types of a form, and with tokens from oidc-provider. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { ConfigError, IdpError } from 'tenant-idp';
import { defineErrors, type Extension, type GrantedSignIn, type GrantRefusal, type GrantRequest } from 'tenant-idp/extension';
import { basic, type Json, postForm } from '../support/client/agent.js';
import { isActive, refresh, userinfo } from '../support/client/steps.js';
import { unusualType } from '../support/requests/both-doors.js';
import { startIdp, type TestIdpOptions } from '../support/service/idp.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

const name = 'urn:example:slip';
const asked: GrantRequest[] = [];
/** Results by the name of a slip. Each slip is valid once. */
const slips = new Map<string, GrantedSignIn | GrantRefusal | Error>();
const errors = defineErrors({ slip_locked: { status: 423, description: 'Somebody else holds the slip.' } });

const slipGrant: Extension = {
  name: 'slips',
  errorCodes: errors.codes,
  grantTypes: {
    [name]: () => ({
      parameters: ['slip'],
      exchange(request) {
        asked.push(request);
        const { slip = '' } = request.parameters;
        const found = slips.get(slip);
        slips.delete(slip);
        if (found instanceof Error) throw found;
        return found ?? { error: 'invalid_grant', description: 'no such slip' };
      },
    }),
  },
  clientMetadata: { slip_colour: (value) => (value === 'red' ? undefined : 'red') },
};

const metadata = { grant_types: [name, 'refresh_token'] };
const scopes = ['openid', 'profile', 'orders.read'];
const seed = {
  ...testSeed,
  clients: [
    ...testSeed.clients,
    { id: 'kiosk', name: 'Kiosk', secret: 'kiosk-secret', metadata: { ...metadata, slip_colour: 'red' }, allowedScopes: scopes },
    { id: 'asks', name: 'Asks', secret: 'asks-secret', metadata, allowedScopes: scopes, requireConsent: true },
    { id: 'acme', name: 'Acme', secret: 'acme-secret', metadata, allowedScopes: scopes, allowedTenants: ['Acme'] },
    { id: 'reads', name: 'Reads JWTs', secret: 'reads-secret', metadata, allowedScopes: scopes, accessTokenType: 'jwt' as const },
    {
      id: 'bound',
      name: 'Bound',
      secret: 'bound-secret',
      metadata: { ...metadata, dpop_bound_access_tokens: true },
      allowedScopes: scopes,
    },
  ],
};

describe.each([
  ['tokens minted here', {}],
  ['tokens minted by oidc-provider', { configure: () => undefined }],
] as readonly (readonly [string, TestIdpOptions])[])('%s', (_, options) => {
  const service = useIdp({ seed, extensions: [slipGrant], ...options });
  let count = 0;

  /** Returns the id of a user, and a slip that signs the user in. */
  const slipFor = async (more: Partial<GrantedSignIn> = {}, userName = 'bob@globex.test'): Promise<{ oid: string; slip: string }> => {
    const [account] = await service.idp.directory.accounts.candidates(userName);
    const oid = String(account?.person.user.id);
    count += 1;
    const slip = `slip-${count}`;
    slips.set(slip, {
      oid,
      amr: ['external'],
      idp: 'slips',
      authTime: epochSeconds() - 5,
      scopes: ['openid', 'profile', 'offline_access'],
      ...more,
    });
    return { oid, slip };
  };
  const show = (slip: string, client = 'kiosk', headers: Record<string, string> = {}) =>
    postForm(
      `${service.issuer}/connect/token`,
      { grant_type: name, slip, unknown: 'is left out' },
      { authorization: basic(client, `${client}-secret`), ...headers },
    );
  const byOtherDoor = { 'content-type': unusualType };

  test('discovery lists it, and a client is registered for it', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery.grant_types_supported).toContain(name);
    const { slip } = await slipFor();
    expect(await show(slip, 'web')).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
    expect(slips.has(slip)).toBe(true);
  });

  test.each([
    ['one', {}],
    ['the other', byOtherDoor],
  ])('tokens of a person, by %s door: userinfo, introspection, rotation', async (_door, headers) => {
    asked.length = 0;
    const { oid, slip } = await slipFor({ nonce: 'n' });
    const { status, json, headers: answered } = await show(slip, 'kiosk', headers);
    expect([status, answered.get('cache-control')]).toEqual([200, 'no-store']);
    expect(asked.map(({ client, parameters }) => [client.id, parameters])).toEqual([['kiosk', { slip }]]);
    expect(decodeJwt(json.id_token)).toMatchObject({ sub: oid, amr: ['external'], idp: 'slips', nonce: 'n', aud: 'kiosk' });
    expect(await userinfo(service.issuer, json.access_token)).toMatchObject({ status: 200, json: { sub: oid, name: 'Bob Brown' } });
    expect(json.scope.split(' ')).toEqual(expect.arrayContaining(['openid', 'profile', 'offline_access']));
    const renewed = await refresh(service.issuer, json.refresh_token, 'kiosk');
    expect(decodeJwt((renewed as Json).json.id_token)).toMatchObject({ sub: oid, auth_time: decodeJwt(json.id_token).auth_time });
    expect(await isActive(service.issuer, json.access_token, 'kiosk')).toBe(true);
    expect(await show(slip, 'kiosk', headers)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('acr is the level that was reached where something was asked for, refreshed too', async () => {
    const acrOf = async (more: Partial<GrantedSignIn>) => {
      const { json } = await show((await slipFor(more)).slip);
      const renewed = await refresh(service.issuer, json.refresh_token, 'kiosk');
      return [json, (renewed as Json).json].map(({ id_token: token }) => decodeJwt(token).acr);
    };
    expect(await acrOf({ amr: ['pwd'], acrValues: 'urn:of:somebody:else' })).toEqual(['pwd', 'pwd']);
    expect(await acrOf({ acrValues: 'pwd' })).toEqual([undefined, undefined]);
    expect(await acrOf({ amr: ['pwd'] })).toEqual([undefined, undefined]);
  });

  test('a refusal is the answer, and is found out once, whichever door the request came by', async () => {
    asked.length = 0;
    slips.set('soon', { error: 'authorization_pending', description: 'not yet' });
    const { status, json } = await show('soon');
    expect([status, json]).toEqual([400, { error: 'authorization_pending', error_description: 'not yet' }]);
    expect(asked).toHaveLength(1);
  });

  test.each([
    ['400', new IdpError('tid_required'), 400, 'invalid_request', null],
    ['403', new IdpError('insufficient_scope'), 403, 'insufficient_scope', null],
    ['404', new IdpError('not_found'), 404, 'not_found', null],
    ['409', new IdpError('conflict'), 409, 'conflict', null],
    ['of its own', errors('slip_locked'), 423, 'slip_locked', null],
    ['429', new IdpError('too_many_requests', { retryAfterSeconds: 7 }), 429, 'too_many_requests', '7'],
  ])('what it throws is answered the same by both doors: %s', async (_name, thrown, status, error, retryAfter) => {
    for (const headers of [{}, byOtherDoor]) {
      slips.set('thrown', thrown);
      const answer = await show('thrown', 'kiosk', headers);
      expect([answer.status, answer.json, answer.headers.get('retry-after'), answer.headers.get('cache-control')]).toEqual([
        status,
        { error, error_description: thrown.message },
        retryAfter,
        'no-store',
      ]);
    }
  });

  test('a parameter that comes twice is refused before the extension hears of it', async () => {
    asked.length = 0;
    const { slip } = await slipFor();
    const answer = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: basic('kiosk', 'kiosk-secret'), 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=${encodeURIComponent(name)}&slip=${slip}&slip=${slip}`,
    });
    expect([answer.status, ((await answer.json()) as Json).error]).toEqual([400, 'invalid_request']);
    expect(asked).toEqual([]);
  });

  test('of a client that is not for the tenant, of a sign-in that was voided, of nobody: nothing', async () => {
    const foreign = await slipFor();
    expect(await show(foreign.slip, 'acme')).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const nobody = await slipFor({ oid: '00000000-0000-4000-8000-000000000000' });
    expect(await show(nobody.slip)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });

    const voided = await slipFor({ authTime: epochSeconds() - 60 }, 'carol@acme.test');
    const before = await show((await slipFor({ authTime: epochSeconds() - 60 }, 'carol@acme.test')).slip);
    const [account] = await service.idp.directory.accounts.candidates('carol@acme.test');
    await service.idp.sessions.endAll({ tid: String(account?.tenant.id), userId: voided.oid });
    expect(await show(voided.slip)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await isActive(service.issuer, before.json.access_token, 'kiosk')).toBe(false);
    expect(await refresh(service.issuer, before.json.refresh_token, 'kiosk')).toMatchObject({ status: 400 });
  });

  test('a client that needs consent gets the scopes that the user allowed it', async () => {
    const refused = await slipFor();
    expect(await show(refused.slip, 'asks')).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const { oid, slip } = await slipFor();
    await service.idp.directory.consents.allow(oid, 'asks', ['openid']);
    const { json } = await show(slip, 'asks');
    expect(json.scope).not.toContain('profile');
    expect(decodeJwt(json.id_token).sub).toBe(oid);
  });

  test('no token outlives the end, and without offline there is no refresh token', async () => {
    const endsAt = new Date((epochSeconds() + 30) * 1000);
    const { slip } = await slipFor({ endsAt, offline: false });
    const { json } = await show(slip);
    expect(json.refresh_token).toBeUndefined();
    expect(json.scope).not.toContain('offline_access');
    expect(json.expires_in).toBeLessThanOrEqual(30);
    expect(decodeJwt(json.id_token).exp).toBeLessThanOrEqual(endsAt.getTime() / 1000);
    const over = await slipFor({ endsAt: new Date(Date.now() - 1000) });
    expect(await show(over.slip)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('a JWT access token says the same', async () => {
    const { oid, slip } = await slipFor({ scopes: ['openid', 'orders.read'] });
    const { json } = await show(slip, 'reads');
    expect(decodeJwt(json.access_token)).toMatchObject({ sub: oid, client_id: 'reads', aud: ['orders'], idp: 'slips' });
  });

  test('RFC 9449: a client whose tokens are bound shows its key', async () => {
    const without = await slipFor();
    expect((await show(without.slip, 'bound')).status).toBe(400);
    expect(slips.has(without.slip)).toBe(true);
    const { slip } = await slipFor();
    const config = await openid.discovery(new URL(service.issuer), 'bound', undefined, openid.ClientSecretBasic('bound-secret'), {
      execute: [openid.allowInsecureRequests],
    });
    const key = await openid.randomDPoPKeyPair('ES256', { extractable: true });
    const DPoP = openid.getDPoPHandle(config, key);
    const tokens = await openid.genericGrantRequest(config, name, { slip }, { DPoP });
    expect(tokens.token_type).toBe('dpop');
  });
});

describe('refused', () => {
  const rejected = (options: Parameters<typeof startIdp>[0]) =>
    startIdp(options).then(
      async ({ close }) => close(),
      (error: unknown) => error,
    );

  test('two owners, with both names', async () => {
    const error = await rejected({ extensions: [slipGrant, { ...slipGrant, name: 'others' }], seed });
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toContain(`one owner of the grant type ${name}, got slips and others`);
    expect(String(error)).toContain('one owner of client metadata slip_colour, got slips and others');
  });

  test('a name that is no absolute URI; client metadata that its check refuses', async () => {
    const { grantTypes = {}, ...rest } = slipGrant;
    const error = await rejected({ extensions: [{ ...rest, grantTypes: { refresh_token: Object.values(grantTypes)[0] as never } }] });
    expect(String(error)).toContain('extensions[0].grantTypes');
    const [client] = seed.clients.slice(-1);
    const wrong = { ...seed, clients: [{ ...client, metadata: { ...metadata, slip_colour: 'blue' } }] } as never;
    expect(String(await rejected({ extensions: [slipGrant], seed: wrong }))).toContain('slip_colour: expected red');
  });
});
