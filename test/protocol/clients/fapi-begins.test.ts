/** R-2 under FAPI 2.0: a client becomes public, gets the profile or loses it, while a sign-in waits and while a code is under way. */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Configuration } from 'oidc-provider';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { Agent, authorizeUrl, postForm, signIn } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { fapiCalls, fapiRecord, fapiRequest, pkce } from '../../support/client/fapi-client.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

const DAY = 86_400;
const store = memoryDirectory();
const service = useIdp({ directory: store });
let clients = 0;
async function createClient(more: { fapi?: '2.0'; allowPlainPkce?: boolean; metadata?: Record<string, unknown> } = {}) {
  clients += 1;
  const client = await createAssertingClient(`begins-${clients}`);
  const record = await fapiRecord(client, more.metadata);
  const { metadata: _, ...members } = more;
  await service.idp.directory.clients.create({ ...record, ...members });
  return { client, calls: fapiCalls(() => service.issuer, client) };
}
const change = (client: AssertingClient, patch: object) => service.idp.directory.clients.update(client.seed.id, patch as never);
const requirePushed = async (client: AssertingClient) => {
  const { metadata } = await service.idp.directory.clients.require(client.seed.id);
  await change(client, { metadata: { ...metadata, require_pushed_authorization_requests: true } });
};
/** A request with PKCE by `plain`. */
const plain = { code_challenge: pkce.verifier, code_challenge_method: 'plain' };
const directUrl = (client: AssertingClient) => authorizeUrl(service.issuer, fapiRequest(client));

/** Starts a sign-in that waits for its password, and returns the function that ends the sign-in. */
async function waiting(url: string) {
  const agent = new Agent();
  const page = await agent.follow(await agent.get(url));
  const second = await agent.submit(page, { identifier: 'alice@acme.test' });
  return async () => membersOf(await agent.follow(await agent.submit(second, { password: 'alice' })));
}

describe('a sign-in waits', () => {
  test('the client gets the profile: a request that was not pushed gets no code', async () => {
    const { client } = await createClient();
    const end = await waiting(directUrl(client));
    await change(client, { fapi: '2.0' });
    expect(await end()).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('not pushed') });
  });

  test('the client begins to have to push its requests, without the profile: the same', async () => {
    const { client } = await createClient();
    const end = await waiting(directUrl(client));
    await requirePushed(client);
    expect(await end()).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('not pushed') });
  });

  test('the client gets the profile: a request that was pushed with PKCE gets a code, and a bound token for it', async () => {
    const { client, calls } = await createClient();
    const end = await waiting(await calls.pushedUrl());
    await change(client, { fapi: '2.0' });
    const { code = '' } = await end();
    expect((await calls.redeem(code, false)).status).toBe(400);
    const again = await waiting(await calls.pushedUrl());
    expect((await calls.redeem((await again()).code ?? '')).json.token_type).toBe('DPoP');
  });

  test('the client gets the profile: a request that was pushed without PKCE gets no code', async () => {
    const { client, calls } = await createClient();
    const end = await waiting(await calls.pushedUrl({ code_challenge: '', code_challenge_method: '' }));
    await change(client, { fapi: '2.0' });
    expect(await end()).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('code_challenge') });
  });

  test.each([
    ['the client gets the profile', { allowPlainPkce: false, fapi: '2.0' }, 'FAPI 2.0'],
    ['the client may not use plain any longer', { allowPlainPkce: false }, 'allowPlainPkce'],
  ])('%s: a request with PKCE by plain gets no code', async (_name, patch, words) => {
    const { client, calls } = await createClient({ allowPlainPkce: true });
    const end = await waiting(await calls.pushedUrl(plain));
    await change(client, patch);
    expect(await end()).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining(words) });
  });

  test('a client of the profile becomes public, by a row that the rule does not judge: no code', async () => {
    const { client, calls } = await createClient({ fapi: '2.0' });
    await expect(change(client, { metadata: { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' } })).rejects.toMatchObject({
      code: 'invalid_record',
    });
    const end = await waiting(await calls.pushedUrl());
    await store.collection<{ id: string; version: number; metadata: object; updatedAt: Date }>('clients').update(client.seed.id, (row) => ({
      ...row,
      metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code'], token_endpoint_auth_method: 'none' },
    }));
    // A write of any other member notifies the node of the changed row.
    await change(client, { name: 'Public' });
    expect(await end()).toMatchObject({ error: 'unauthorized_client', error_description: expect.stringContaining('FAPI 2.0') });
  });

  test('a client loses the profile and becomes public in one change: its pushed request with PKCE goes on', async () => {
    const { client, calls } = await createClient({ fapi: '2.0' });
    const end = await waiting(await calls.pushedUrl());
    await change(client, {
      fapi: null,
      metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code'], token_endpoint_auth_method: 'none' },
    });
    const { code = '' } = await end();
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, client_id: client.seed.id };
    const url = `${service.issuer}/connect/token`;
    expect((await postForm(url, form)).json.error).toBe('invalid_grant');
    const again = await signIn(new Agent(), directUrl(client));
    const second = { ...form, code: membersOf(again).code ?? '', code_verifier: pkce.verifier };
    expect((await postForm(url, second)).json.token_type).toBe('Bearer');
  });
});

describe('a code is under way', () => {
  test('the client gets the profile: a code without a challenge is invalid_grant, one with a challenge gets a bound token', async () => {
    for (const isChallenged of [false, true]) {
      const { client, calls } = await createClient();
      const fields = isChallenged ? {} : { code_challenge: '', code_challenge_method: '' };
      const { code = '' } = membersOf(await signIn(new Agent(), await calls.pushedUrl(fields)));
      await change(client, { fapi: '2.0' });
      const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
      if (isChallenged) expect((await calls.redeem(code)).json.token_type).toBe('DPoP');
      else expect((await calls.post('token', form, { isBound: true })).json.error).toBe('invalid_grant');
    }
  });

  test.each([
    ['the client gets the profile', { allowPlainPkce: false, fapi: '2.0' }],
    ['the client may not use plain any longer', { allowPlainPkce: false }],
    ['nothing changes', undefined],
  ])('%s: a code by plain', async (_name, patch) => {
    const { client, calls } = await createClient({ allowPlainPkce: true });
    const { code = '' } = membersOf(await signIn(new Agent(), await calls.pushedUrl(plain)));
    if (patch) await change(client, patch);
    const { status, json } = await calls.redeem(code);
    expect([status, json.error]).toEqual(patch ? [400, 'invalid_grant'] : [200, undefined]);
  });

  test.each([
    ['the client gets the profile', (client: AssertingClient) => change(client, { fapi: '2.0' })],
    ['the client begins to have to push its requests', requirePushed],
  ])('%s: a code whose request was not pushed is invalid_grant', async (_name, begin) => {
    for (const isPushed of [false, true]) {
      const { client, calls } = await createClient();
      const { code = '' } = membersOf(await signIn(new Agent(), isPushed ? await calls.pushedUrl() : directUrl(client)));
      await begin(client);
      const { status, json } = await calls.redeem(code);
      expect([status, json.error]).toEqual(isPushed ? [200, undefined] : [400, 'invalid_grant']);
    }
  });

  test('a refresh token that rotated before: the client refreshes with the last one from then on', async () => {
    const { client, calls } = await createClient();
    const { code = '' } = membersOf(await signIn(new Agent(), await calls.pushedUrl()));
    const { refresh_token: first } = (await calls.redeem(code, false)).json;
    const { refresh_token: second } = (await calls.refresh(first, false)).json;
    expect(second).not.toBe(first);
    await change(client, { fapi: '2.0' });
    for (const _ of [1, 2]) expect((await calls.refresh(second)).json).toMatchObject({ refresh_token: second, token_type: 'DPoP' });
    await change(client, { fapi: null });
    expect((await calls.refresh(second, false)).json.refresh_token).not.toBe(second);
  });
});

describe.each([
  ['the handlers of the service', {}],
  ['the handlers of oidc-provider', { configure: (configuration: Configuration) => configuration }],
] as const)('a refresh token is older than the profile of its client: %s', (_name, options) => {
  const own = useIdp({ ...options, lifetimes: { refreshTokenIdle: 3 * DAY, refreshTokenAbsolute: 30 * DAY } });
  afterEach(backToPresent);
  async function firstToken(id: string) {
    const client = await createAssertingClient(id);
    await own.idp.directory.clients.create(await fapiRecord(client));
    const calls = fapiCalls(() => own.issuer, client);
    const { code = '' } = membersOf(await signIn(new Agent(), await calls.pushedUrl()));
    const { refresh_token: value } = (await calls.redeem(code, false)).json;
    return { calls, value: value as string, begin: () => own.idp.directory.clients.update(id, { fapi: '2.0' }) };
  }

  test('it is valid until its absolute end from its next use on, also if several requests use it at the same time', async () => {
    const { calls, value, begin } = await firstToken('older');
    await begin();
    passTime(2 * DAY);
    const used = await Promise.all(Array.from({ length: 4 }, () => calls.refresh(value)));
    for (const { status, json } of used) expect([status, json.refresh_token]).toEqual([200, value]);
    passTime(29 * DAY);
    expect((await calls.refresh(value)).json).toMatchObject({ refresh_token: value, token_type: 'DPoP' });
    passTime(30 * DAY + 60);
    expect((await calls.refresh(value)).json.error).toBe('invalid_grant');
  });

  test('one that was revoked stays revoked', async () => {
    const { calls, value, begin } = await firstToken('revoked');
    await begin();
    await calls.post('revocation', { token: value });
    expect((await calls.refresh(value)).json.error).toBe('invalid_grant');
  });

  test('one that rotated is retried within the grace: its successor is returned, and is valid until its absolute end', async () => {
    const { calls, value, begin } = await firstToken('retried');
    const { refresh_token: successor } = (await calls.refresh(value, false)).json;
    await begin();
    expect((await calls.refresh(value)).json).toMatchObject({ refresh_token: successor, token_type: 'DPoP' });
    passTime(20 * DAY);
    expect((await calls.refresh(successor)).json).toMatchObject({ refresh_token: successor });
  });
});
