/** Service specification 4.10: the sign-in and the consent that an approval requires. Threats D9, G8. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, signIn, titleOf } from '../../support/client/agent.js';
import { redeem } from '../../support/sign-in/ciba.js';
import { nameOf, useCibaPages } from '../../support/sign-in/ciba-pages.js';
import { codeOf, enrolOn, submit } from '../../support/sign-in/factors.js';
import { passTime } from '../../support/time/clock.js';

const person = useCibaPages();
const { service, asking, upstream, authorize, inbox, pageOf, open, press, signInOn, stateOf } = person;

describe('what approval takes', () => {
  test('mfa in acr_values: a second factor, then approval, and mfa in amr', async () => {
    const { authReqId, request } = await asking.ask(person.me, { acrValues: 'mfa' });
    await signIn(person.agent, authorize(), person.me, nameOf(person.me));
    const weak = await person.agent.get(pageOf(request.id));
    expect(weak.body).toContain('Sign in to approve');
    const challenge = await press(weak, 'approve');
    const { response } = await enrolOn(person.agent, challenge);
    expect([titleOf(response), response.body.includes('>Approve<')]).toEqual(['The desk asks you to sign in', true]);
    expect(await stateOf(request.id)).toBe('pending');
    expect(titleOf(await press(response, 'approve'))).toBe('You approved this');
    const { amr } = decodeJwt((await redeem(service.issuer, authReqId)).json.id_token);
    expect(amr).toEqual(['pwd', 'mfa']);
  });

  test('mfa pwd in acr_values: users who have a factor prove it, also after a sign-in that asks for none by itself', async () => {
    const before = await asking.ask('eva@acme.test', { acrValues: 'idp:eid mfa pwd' });
    const page = await person.agent.follow(await person.agent.get(pageOf(before.request.id)));
    expect(titleOf(await press(page, 'approve'))).toBe('You approved this');
    expect(decodeJwt((await redeem(service.issuer, before.authReqId)).json.id_token)).toMatchObject({ amr: ['external'] });

    const elsewhere = new Agent();
    const { secret } = await enrolOn(elsewhere, await signIn(elsewhere, authorize({ acr_values: 'mfa' }), 'eva@acme.test', 'eva'));
    const { authReqId, request } = await asking.ask('eva@acme.test', { acrValues: 'idp:eid mfa pwd' });
    const agent = new Agent();
    const weak = await agent.follow(await agent.get(authorize({ acr_values: 'idp:eid' })));
    expect(weak.location).toContain('code=');
    const challenge = await press(await agent.get(pageOf(request.id)), 'approve', agent);
    expect([titleOf(challenge), await stateOf(request.id)]).toEqual(['Confirm that it is you', 'pending']);
    const proven = await submit(agent, challenge, { code: codeOf(secret, 1) });
    expect(titleOf(await press(proven, 'approve', agent))).toBe('You approved this');
    expect(decodeJwt((await redeem(service.issuer, authReqId)).json.id_token)).toMatchObject({ acr: 'mfa', amr: ['external', 'mfa'] });

    const indifferent = await asking.ask('eva@acme.test', { acrValues: 'idp:eid pwd mfa' });
    const other = new Agent();
    const shown = await other.follow(await other.get(pageOf(indifferent.request.id)));
    expect(titleOf(await press(shown, 'approve', other))).toBe('You approved this');
  });

  test('denial takes none of it', async () => {
    const { request } = await asking.ask(person.me, { acrValues: 'mfa' });
    await signIn(person.agent, authorize(), person.me, nameOf(person.me));
    expect(titleOf(await press(await person.agent.get(pageOf(request.id)), 'deny'))).toBe('You denied this');
  });

  test('tenant policy: people of a tenant that requires a second factor prove one first', async () => {
    const { request } = await asking.ask('ida@initech.test');
    const challenge = await open(pageOf(request.id), 'ida@initech.test');
    const { response } = await enrolOn(person.agent, challenge);
    expect(titleOf(await press(response, 'approve'))).toBe('You approved this');
  });

  test('a sign-in of the last ten minutes: an older one is asked for anew, and auth_time is that of the approver', async () => {
    passTime(0);
    await open(inbox());
    passTime(700);
    const { authReqId, request } = await asking.ask(person.me);
    const page = await person.agent.get(pageOf(request.id));
    expect(page.body).toContain('To approve, you sign in again');
    const again = await press(page, 'approve');
    expect([again.url.includes('/interaction/'), await stateOf(request.id)]).toEqual([true, 'pending']);
    const back = await submit(
      person.agent,
      again.body.includes('name="password"') ? again : await submit(person.agent, again, { identifier: person.me }),
      {
        password: nameOf(person.me),
      },
    );
    expect(titleOf(await press(back, 'approve'))).toBe('You approved this');
    const { auth_time } = decodeJwt((await redeem(service.issuer, authReqId)).json.id_token) as { auth_time: number };
    expect(auth_time).toBeGreaterThanOrEqual(Math.floor(request.createdAt.getTime() / 1000));
  });

  test('idp in acr_values, binding_message and eid_call_initiator are passed unchanged to the sign-in method', async () => {
    const bindingMessage = '# Pay *900*\n- “now” & <b>here</b>';
    const asked = { acrValues: 'idp:eid', bindingMessage, messageFormat: 'simpleMarkdownV1', initiator: 'RP' } as const;
    const { authReqId, request } = await asking.ask('eva@acme.test', asked);
    const page = await person.agent.follow(await person.agent.get(pageOf(request.id)));
    expect(upstream.seen.at(-1)).toMatchObject({
      idp: 'eid',
      eid_user_visible_data: bindingMessage,
      eid_user_visible_data_format: 'simpleMarkdownV1',
      eid_call_initiator: 'RP',
    });
    expect(titleOf(await press(page, 'approve'))).toBe('You approved this');
    expect(decodeJwt((await redeem(service.issuer, authReqId)).json.id_token)).toMatchObject({ idp: 'eid', amr: ['external'] });
  });

  test('idp in acr_values: a sign-in by another method is not enough', async () => {
    const { request } = await asking.ask('eva@acme.test', { acrValues: 'idp:eid' });
    await signIn(person.agent, authorize(), 'eva@acme.test', 'eva');
    const before = upstream.seen.length;
    await press(await person.agent.get(pageOf(request.id)), 'approve');
    expect([upstream.seen.length, await stateOf(request.id)]).toEqual([before + 1, 'pending']);
  });

  test('requireConsent: the scopes are listed, and the consent is recorded', async () => {
    const scopes = ['openid', 'profile'];
    const { authReqId, request } = await asking.ask(person.me, { clientId: 'kiosk', scopes });
    const page = await open(pageOf(request.id));
    expect(page.body).toContain('The kiosk will be able to:');
    expect(page.body).toContain('See your name, picture and profile');
    await press(page, 'approve');
    expect((await service.idp.directory.consents.get(request.oid, 'kiosk'))?.scopes).toEqual(scopes);
    expect((await redeem(service.issuer, authReqId, 'kiosk')).json.scope).toBe('openid profile');
    const again = await asking.ask(person.me, { clientId: 'kiosk', scopes });
    expect((await person.agent.get(pageOf(again.request.id))).body).not.toContain('will be able to:');
  });

  test('G8, never while somebody acts as the person: neither looked at nor answered', async () => {
    const { request } = await asking.ask(person.me);
    const page = await person.agent.follow(await person.agent.get(authorize({ acr_values: 'impersonate' })));
    const act = await signInOn(person.agent, page, 'alice@acme.test');
    await person.agent.follow(await person.agent.submit(act, { user: person.me }));
    const shown = await person.agent.get(pageOf(request.id));
    expect([shown.status, titleOf(shown)]).toEqual([403, 'Not while you act as somebody else']);
    const posted = await person.agent.post(pageOf(request.id), { decision: 'approve' });
    expect([posted.status, titleOf(posted), await stateOf(request.id)]).toEqual([403, 'Not while you act as somebody else', 'pending']);
    expect((await person.agent.get(inbox())).status).toBe(403);
  });
});
