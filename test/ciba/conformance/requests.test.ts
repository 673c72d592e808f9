/** The OpenID Foundation's plan fapi-ciba-id1-test-plan, by the names of its modules: requests that are refused. */
import { afterEach, describe, test } from '@jest/globals';
import { useCallCentre } from '../../support/client/ciba/call-centre.js';
import { createPlanClient, expectError, planCalls, planOptions, ways } from '../../support/client/ciba/ciba-plan.js';
import { backToPresent } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const first = await createPlanClient('first');
const second = await createPlanClient('second');
const MINUTE = 60;
afterEach(backToPresent);

describe.each(ways)('fapi-ciba-id1-test-plan, $way', (way) => {
  const service = useCallCentre(planOptions(way, [first, second]));
  const calls = () => planCalls(service.issuer, way);
  const refused = async (answer: ReturnType<ReturnType<typeof calls>['ask']>) => expectError(await answer, 'invalid_request');

  test.each([
    ['missing-aud', () => ({ aud: undefined })],
    ['bad-aud', () => ({ aud: 'https://other.example/' })],
    ['missing-iss', () => ({ iss: undefined })],
    ['bad-iss', () => ({ iss: second.id })],
    ['missing-exp', () => ({ exp: undefined })],
    ['expired-exp', () => ({ exp: epochSeconds() - 60 * MINUTE })],
    ['exp-is-70-minutes-in-future', () => ({ exp: epochSeconds() + 70 * MINUTE })],
    ['missing-iat', () => ({ iat: undefined })],
    ['missing-nbf', () => ({ nbf: undefined })],
    ['nbf-is-10-minutes-in-future', () => ({ nbf: epochSeconds() + 10 * MINUTE })],
    ['nbf-is-70-minutes-in-past', () => ({ nbf: epochSeconds() - 70 * MINUTE })],
    ['missing-jti', () => ({ jti: undefined })],
  ])('fapi-ciba-id1-ensure-request-object-%s-fails', async (_, claims) => {
    await refused(calls().ask(first, claims()));
  });

  test('fapi-ciba-id1-ensure-request-object-signature-algorithm-is-none-fails', async () => {
    const [, claims] = (await calls().requestObject(first)).split('.');
    const request = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
    await refused(calls().send(first, { request }));
  });

  test('fapi-ciba-id1-ensure-request-object-signature-algorithm-is-bad-fails', async () => {
    const [header, claims, signature = ''] = (await calls().requestObject(first)).split('.');
    const flipped = Buffer.from(signature, 'base64url').map((byte) => byte ^ 0xff);
    await refused(calls().send(first, { request: `${header}.${claims}.${Buffer.from(flipped).toString('base64url')}` }));
  });

  test('fapi-ciba-id1-ensure-request-object-signature-algorithm-is-RS256-fails', async () => {
    await refused(calls().ask(first, {}, { header: { alg: 'RS256' } }));
  });

  test('fapi-ciba-id1-ensure-request-object-signed-by-other-client-fails', async () => {
    await refused(calls().ask(first, {}, { signer: second }));
  });

  test('fapi-ciba-id1-ensure-authorization-request-with-multiple-hints-fails', async () => {
    await refused(calls().ask(first, { login_hint_token: 'x'.repeat(20) }));
  });

  test('fapi-ciba-id1-ensure-unsigned-backchannel-authorization-request-fails', async () => {
    await refused(calls().send(first, { scope: 'openid profile', login_hint: 'bob@globex.test', binding_message: '1234' }));
  });
});
