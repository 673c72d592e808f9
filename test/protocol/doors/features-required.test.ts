/** Option `features`: requirements for every client, such as FAPI profiles. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Agent, authorizeUrl, basic, postForm, signIn } from '../../support/client/agent.js';
import { createSigningClient } from '../../support/client/request-objects.js';
import { responseOf } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useFeatures, web, withPkce } from './service-with-features.js';

const { discovery, service, start, token } = useFeatures();

describe('FAPI', () => {
  // `clients/fapi-2` has profile 2.0, which the option `fapi` sets.
  test('1.0: a code comes in a signed response, or not at all; a function says for which clients', async () => {
    await start({ fapi: { enabled: true, profile: (_ctx, client) => (client?.clientId === 'web' ? '1.0 Final' : undefined) } });
    const agent = new Agent();
    const signed = await signIn(
      agent,
      authorizeUrl(service.issuer, { response_mode: 'jwt', nonce: 'n', state: 's', ...withPkce().parameters }),
    );
    const response = responseOf(signed).get('response') ?? '';
    expect(decodeProtectedHeader(response).alg).toBe('RS256');
    const unsigned = await agent.get(authorizeUrl(service.issuer, { nonce: 'n', state: 's', ...withPkce().parameters }));
    expect(responseOf(unsigned).get('code')).toBeNull();
    const other = await agent.get(authorizeUrl(service.issuer, { client_id: 'pairwise', nonce: 'n', ...withPkce().parameters }));
    expect(responseOf(other).get('code')).toEqual(expect.any(String));
  });
});

describe('what every client has to do', () => {
  test('RFC 9126 §5: requests are pushed, by GET and by POST', async () => {
    await start({ pushedAuthorizationRequests: { requirePushedAuthorizationRequests: true } });
    expect((await discovery()).require_pushed_authorization_requests).toBe(true);
    const agent = new Agent();
    const parameters = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...withPkce().parameters };
    expect(responseOf(await agent.get(authorizeUrl(service.issuer, parameters))).get('error')).toBe('invalid_request');
    const posted = await agent.follow(await agent.post(`${service.issuer}/connect/authorize`, parameters));
    expect(responseOf(posted).get('error')).toBe('invalid_request');
    const { json } = await postForm(`${service.issuer}/connect/par`, parameters, web);
    const pushed = new URLSearchParams({ client_id: 'web', request_uri: json.request_uri });
    expect(responseOf(await signIn(agent, `${service.issuer}/connect/authorize?${pushed}`)).get('code')).toEqual(expect.any(String));
  });

  test('RFC 9101 §10.5: requests are signed, by GET and by POST', async () => {
    await start({ requestObjects: { requireSignedRequestObject: true } });
    expect((await discovery()).require_signed_request_object).toBe(true);
    const client = await createSigningClient('signer');
    await service.idp.directory.clients.create(client.record);
    const { parameters } = withPkce();
    const request = await client.sign(service.issuer, parameters);
    const agent = new Agent();
    const signed = await signIn(agent, authorizeUrl(service.issuer, { client_id: 'signer', request }));
    expect(responseOf(signed).get('code')).toEqual(expect.any(String));
    const plain = { client_id: 'signer', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...parameters };
    expect(responseOf(await agent.get(authorizeUrl(service.issuer, plain))).get('error')).toBe('invalid_request');
    const posted = await agent.follow(await agent.post(`${service.issuer}/connect/authorize`, plain));
    expect(responseOf(posted).get('error')).toBe('invalid_request');
  });

  test('RFC 9449 §8: a proof has a nonce of the service', async () => {
    await start({ dPoP: { enabled: true, requireNonce: () => true, nonceSecret: Buffer.alloc(32, 7) } });
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const url = `${service.issuer}/connect/token`;
    const proof = async (nonce?: string) =>
      new SignJWT({ htu: url, htm: 'POST', jti: randomUUID(), ...(nonce === undefined ? {} : { nonce }) })
        .setIssuedAt()
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
        .sign(privateKey);
    const credentials = { authorization: basic('service', 'service-secret') };
    const first = await token({ grant_type: 'client_credentials' }, { ...credentials, dpop: await proof() });
    expect(first).toMatchObject({ status: 400, json: { error: 'use_dpop_nonce' } });
    const second = await token(
      { grant_type: 'client_credentials' },
      { ...credentials, dpop: await proof(first.headers.get('dpop-nonce') ?? '') },
    );
    expect(second.json).toMatchObject({ token_type: 'DPoP' });
  });
});
