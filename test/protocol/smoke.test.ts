import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { basic, obtainTokens, postForm } from '../support/agent.js';
import { startIdp, type TestIdp } from '../support/idp.js';

let it: TestIdp;
beforeAll(async () => {
  it = await startIdp();
});
afterAll(() => it.close());

test('4.4 a code buys tokens; a refresh token buys more', async () => {
  const { tokens } = await obtainTokens(it.issuer, { scope: 'openid profile offline_access' });
  expect(tokens).toMatchObject({ token_type: 'Bearer', refresh_token: expect.any(String), id_token: expect.any(String) });
  const { status, json } = await postForm(
    `${it.issuer}/connect/token`,
    { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
    { authorization: basic('web', 'web-secret') },
  );
  expect({ status, json }).toMatchObject({ status: 200, json: { access_token: expect.any(String) } });
  expect(it.logged).toEqual([[expect.stringContaining('development defaults')]]);
});
