/** CIBA Core §4: metadata of clients. A mistake is reported when the client is written. */

import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { postForm } from '../support/client/agent.js';
import { assertionType } from '../support/client/assertions.js';
import { CIBA_GRANT, callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { useDocumentHost } from '../support/client/receivers/document-host.js';
import { backToPresent } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

const keysHost = useDocumentHost();
const { privateKey, publicKey } = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'own' };
const service = useCallCentre(() => {
  keysHost.answerBy((_request, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] })));
  const metadata = { subject_type: 'pairwise', jwks_uri: `${keysHost.url}/keys`, token_endpoint_auth_method: 'private_key_jwt' };
  const { secret: _, ...quiet } = cibaClient('quiet', { metadata });
  return { seed: withClients(cibaClient('desk'), quiet), outgoing: { allowHosts: [keysHost.address] } };
});
afterEach(backToPresent);

const assertion = async () => {
  const now = epochSeconds();
  const claims = { iss: 'quiet', sub: 'quiet', aud: service.issuer, jti: randomUUID(), iat: now, exp: now + 60 };
  return {
    client_assertion_type: assertionType,
    client_assertion: await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'own' }).sign(privateKey),
  };
};

describe('a client', () => {
  const problems = async (metadata: object): Promise<string> =>
    service.idp.directory.clients
      .create({ ...cibaClient(`c-${randomUUID()}`), metadata: { ...cibaClient('x').metadata, ...metadata } })
      .then(
        () => 'created',
        (error: { details?: unknown }) => JSON.stringify(error.details),
      );

  test.each([
    ['push is not supported: a client cannot be registered for it', { backchannel_token_delivery_mode: 'push' }, 'push is not supported'],
    ['a mode is required', { backchannel_token_delivery_mode: undefined }, 'backchannel_token_delivery_mode'],
    ['ping needs an endpoint', { backchannel_token_delivery_mode: 'ping' }, 'backchannel_client_notification_endpoint'],
    [
      'D8: the endpoint is https',
      { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: 'http://10.0.0.1/ping' },
      'an https URL',
    ],
    ['public clients cannot register for it', { token_endpoint_auth_method: 'none' }, 'public clients cannot have the CIBA grant'],
    ['user codes are not supported', { backchannel_user_code_parameter: true }, 'user codes are not supported'],
    ['its algorithm is one of the service', { backchannel_authentication_request_signing_alg: 'HS256' }, 'one of RS256'],
    ['an algorithm needs keys', { backchannel_authentication_request_signing_alg: 'ES256' }, 'jwks or jwks_uri'],
    ['a pairwise client needs a jwks_uri', { subject_type: 'pairwise' }, 'jwks_uri'],
  ])('%s', async (_, metadata, words) => {
    const given = Object.fromEntries(
      Object.entries({ ...cibaClient('x').metadata, ...metadata }).filter(([, value]) => value !== undefined),
    );
    const record = { ...cibaClient(`c-${randomUUID()}`), metadata: given };
    const error = await service.idp.directory.clients.create(record).then(
      () => 'created',
      (failed: { details?: unknown }) => JSON.stringify(failed.details),
    );
    expect(error).toContain(words);
  });

  test('may be registered for poll and for ping', async () => {
    const ping = { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: 'https://bank.example/ping' };
    expect([await problems({}), await problems(ping)]).toEqual(['created', 'created']);
  });

  test('that is pairwise gets a pseudonym of its own, which names the person to it and to nobody else', async () => {
    const calls = callsTo(service);
    const ask = async (hint: string) =>
      postForm(`${service.issuer}/connect/ciba`, { scope: 'openid', login_hint: hint, ...(await assertion()) });
    const { json } = await ask('bob@globex.test');
    await calls.approve('bob@globex.test');
    const tokens = await postForm(`${service.issuer}/connect/token`, {
      grant_type: CIBA_GRANT,
      auth_req_id: json.auth_req_id,
      ...(await assertion()),
    });
    const { oid } = await calls.accountOf('bob@globex.test');
    const { sub = '' } = decodeJwt(tokens.json.id_token);
    expect(sub).not.toBe(oid);
    expect((await ask(sub)).status).toBe(200);
    expect(await calls.newestOf('bob@globex.test')).toMatchObject({ clientId: 'quiet', oid });
    expect([(await calls.ask({ login_hint: sub })).json.error, (await ask(oid)).json.error]).toEqual([
      'unknown_user_id',
      'unknown_user_id',
    ]);
  });
});
