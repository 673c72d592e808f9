/** Threats D3, D9: requests that nobody can approve, or that the user who opens the page cannot approve. @see service specification 4.10 */
import { describe, expect, test } from '@jest/globals';
import { formOf, titleOf } from '../../support/client/agent.js';
import { redeem } from '../../support/sign-in/ciba.js';
import { useCibaPages } from '../../support/sign-in/ciba-pages.js';
import { passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

const person = useCibaPages();
const { service, asking, inbox, pageOf, open, press, stateOf, eventsAbout } = person;

describe('threat D9: what cannot be approved', () => {
  test('somebody else’s request is neither shown nor answered', async () => {
    const { request } = await asking.ask(person.me, { bindingMessage: 'for me alone' });
    const other = await open(pageOf(request.id), 'alice@acme.test');
    expect([other.status, titleOf(other)]).toEqual([403, 'This is for another account']);
    expect(other.body).not.toContain('for me alone');
    const own = await asking.ask('alice@acme.test');
    const { fields } = formOf(await person.agent.get(pageOf(own.request.id)));
    const posted = await person.agent.post(pageOf(request.id), { ...fields, decision: 'approve' });
    expect([posted.status, await stateOf(request.id)]).toEqual([403, 'pending']);
  });

  test('“sign in with another account” leads to the request', async () => {
    const { request } = await asking.ask(person.me);
    await open(inbox(), 'bob@globex.test');
    const chooser = await person.agent.follow(await person.agent.get(`${pageOf(request.id)}/sign-in`));
    expect(chooser.url).toContain('/interaction/');
    expect(await stateOf(request.id)).toBe('pending');
  });

  test('one that is over', async () => {
    const { authReqId, request } = await asking.ask(person.me);
    const page = await open(pageOf(request.id));
    passTime(121);
    const late = await press(page, 'approve');
    expect([late.status, titleOf(late)]).toEqual([200, 'This request is over']);
    expect((await redeem(service.issuer, authReqId)).json).toMatchObject({ error: 'expired_token' });
  });

  test('one that a newer of the same client took the place of', async () => {
    const first = await asking.ask(person.me);
    const page = await open(pageOf(first.request.id));
    const second = await asking.ask(person.me);
    expect(titleOf(await press(page, 'approve'))).toBe('There is a newer request');
    expect((await redeem(service.issuer, first.authReqId)).json).toMatchObject({ error: 'access_denied' });
    expect(await stateOf(second.request.id)).toBe('pending');
    const [, replaced] = await eventsAbout(first.request.id);
    expect(replaced).toMatchObject({ type: 'BackchannelAuthenticationDenied', data: { Reason: 'replaced' } });
  });

  test('one that there is not', async () => {
    const gone = await open(pageOf('x'.repeat(32)));
    expect([gone.status, titleOf(gone)]).toEqual([404, 'This request is not there']);
  });

  test('D3, a user who was disabled meanwhile', async () => {
    const { request } = await asking.ask(person.me);
    const page = await open(pageOf(request.id));
    await service.idp.tenant(request.tid).users.disable(request.oid);
    const shown = await press(page, 'approve');
    expect([shown.url.includes('/interaction/'), await stateOf(request.id)]).toEqual([true, undefined]);
  });

  test('a client that may not sign the person in any more', async () => {
    const { request } = await asking.ask(person.me, { clientId: 'gone' });
    const page = await open(pageOf(request.id));
    const { tid } = (await asking.requests.read((await asking.ask('bob@globex.test')).request.id)) as { tid: string };
    await service.idp.directory.clients.update('gone', { allowedTenants: [tid] });
    const refused = await until(
      () => press(page, 'approve'),
      (found) => titleOf(found) !== 'The gone asks you to sign in',
    );
    expect([refused.status, titleOf(refused)]).toEqual([403, 'The gone cannot sign you in']);
    expect(await stateOf(request.id)).toBe('pending');
  });
});
