/**
 * T-IDENTITY: the removal of an identity ends the sign-ins that depend on it, with their tokens. Another identity, or the same one again,
 * ends none.
 */
import { expect, test } from '@jest/globals';
import { Agent, postForm } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { redeem } from '../support/client/steps.js';
import { useContoso } from './contoso.js';

const at = useContoso();
const { service, pkce, open, byContoso } = at;
const both = ['contoso', 'social'].map((idp) => ({ idp, subject: 'bob-there' }));
const users = () => service.idp.tenant(at.ids.globex).users;

/** Returns a browser and a refresh token of one sign-in at the provider. */
async function signedIn() {
  const agent = new Agent();
  const answer = await byContoso(agent, { scope: 'openid offline_access' });
  const { json } = await redeem(service.issuer, { client: 'web', code: membersOf(answer).code ?? '', verifier: pkce.verifier });
  let refreshToken = json.refresh_token as string;
  expect(refreshToken).toEqual(expect.any(String));
  return async (): Promise<readonly unknown[]> => {
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const refreshed = await postForm(`${service.issuer}/connect/token`, fields, credentialsOf('web'));
    refreshToken = refreshed.json.refresh_token ?? refreshToken;
    return [membersOf(await open(agent, { prompt: 'none' })).error ?? 'signed in', refreshed.json.error ?? 'refreshed'];
  };
}
const ended = ['login_required', 'invalid_grant'];
const goesOn = ['signed in', 'refreshed'];

test.each([
  ['removeIdentity', () => users().removeIdentity(at.ids.bob, { idp: 'contoso', subject: 'bob-there' })],
  ['an update that leaves it out', () => users().update(at.ids.bob, { externalIdentities: both.slice(1) })],
])('%s', async (_, remove) => {
  await users().update(at.ids.bob, { externalIdentities: both });
  const state = await signedIn();
  expect(await state()).toEqual(goesOn);
  await users().update(at.ids.bob, { externalIdentities: both });
  await users().update(at.ids.bob, { externalIdentities: [...both, { idp: 'social', subject: 'another' }] });
  await users().addIdentity(at.ids.bob, { idp: 'social', subject: 'a third' });
  await users().acknowledgeIdentity(at.ids.bob, { idp: 'social', subject: 'a third' });
  expect(await state()).toEqual(goesOn);
  await remove();
  expect(await state()).toEqual(ended);
  await users().update(at.ids.bob, { externalIdentities: both });
  expect(await state()).toEqual(ended);
});

test('removing an identity that is not recorded ends nothing', async () => {
  await users().update(at.ids.bob, { externalIdentities: both });
  const state = await signedIn();
  await users().removeIdentity(at.ids.bob, { idp: 'contoso', subject: 'nobody' });
  expect(await state()).toEqual(goesOn);
});
