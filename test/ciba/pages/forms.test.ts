/** Threat G1: only the forms of the service's pages answer requests, and each request once. @see service specification 4.10, issue 16 */
import { describe, expect, test } from '@jest/globals';
import { Agent, formOf, titleOf } from '../../support/client/agent.js';
import { redeem } from '../../support/sign-in/ciba.js';
import { useCibaPages } from '../../support/sign-in/ciba-pages.js';
import { problemOf } from '../../support/sign-in/factors.js';
import { passTime } from '../../support/time/clock.js';
import { atOnce } from '../../support/time/rounds.js';

const person = useCibaPages();
const { service, asking, inbox, pageOf, open, press, stateOf, eventsAbout } = person;

describe('threat G1: forms', () => {
  test('a form without the token of this browser and request changes nothing', async () => {
    const [one, other] = [await asking.ask(person.me), await asking.ask(person.me, { clientId: 'kiosk' })];
    const page = await open(pageOf(one.request.id));
    const foreign = await open(pageOf(one.request.id), person.me, new Agent());
    const { fields } = formOf(page);
    const token = fields.csrf ?? '';
    const attempts: readonly (readonly [string, Record<string, string>, Record<string, string>])[] = [
      [one.request.id, {}, {}],
      [one.request.id, { csrf: formOf(foreign).fields.csrf ?? '' }, {}],
      [other.request.id, { csrf: token }, {}],
      [one.request.id, { csrf: token }, { 'sec-fetch-site': 'same-site' }],
      [one.request.id, { csrf: token }, { origin: 'https://evil.example' }],
    ];
    for (const [id, sent, headers] of attempts) {
      const answer = await person.agent.post(pageOf(id), { ...sent, decision: 'approve' }, headers);
      expect([answer.status, titleOf(answer), await stateOf(id)]).toEqual([403, 'Nothing was changed', 'pending']);
    }
  });

  test('R3-PROTO: a decision that is a name of every object is none', async () => {
    const { request } = await asking.ask(person.me);
    const page = await open(pageOf(request.id));
    const names = Object.getOwnPropertyNames(Object.prototype);
    expect(names).toContain('constructor');
    for (const name of names) {
      const answer = await press(page, name);
      expect([name, answer.status, await stateOf(request.id)]).toEqual([name, 200, 'pending']);
    }
  });

  test('GET changes nothing, and is no other way to answer', async () => {
    const { request } = await asking.ask(person.me);
    const { fields } = formOf(await open(pageOf(request.id)));
    for (const decision of ['approve', 'deny', 'unrecognise']) {
      await person.agent.get(`${pageOf(request.id)}?${new URLSearchParams({ ...fields, decision })}`);
      expect(await stateOf(request.id)).toBe('pending');
    }
    for (const path of ['approve', 'deny']) expect((await person.agent.get(`${pageOf(request.id)}/${path}`)).status).toBe(404);
  });

  test('a form that is sent ten times, and answers that contradict each other, are one outcome', async () => {
    const rounds = process.env.PROVE ? 300 : 3;
    for (let round = 0; round < rounds; round += 1) {
      passTime(round * 700);
      const fresh = new Agent();
      const { authReqId, request } = await asking.ask(person.me);
      const page = await open(pageOf(request.id), person.me, fresh);
      const decisions = ['approve', 'deny', 'approve', 'unrecognise'];
      const shown = await atOnce(8, (index) => press(page, decisions[(index + round) % 4] as string, fresh));
      const { state, denial } = (await asking.requests.read(request.id)) ?? {};
      const title = state === 'approved' ? 'You approved this' : denial === 'declined' ? 'You denied this' : 'Thank you for telling us';
      expect(new Set(shown.map(titleOf))).toEqual(new Set([title]));
      const { json } = await redeem(service.issuer, authReqId);
      expect(state === 'approved' ? json.error : 'access_denied').toBe(json.error);
      const events = (await eventsAbout(request.id)).slice(1);
      expect(events.map(({ type }) => type)).toEqual([`BackchannelAuthentication${state === 'approved' ? 'Approved' : 'Denied'}`]);
    }
  });

  test('a sign-in that was cancelled leads back to the requests', async () => {
    const page = await person.agent.follow(await person.agent.get(inbox()));
    const { action } = formOf(page);
    const cancelled = await person.agent.follow(
      await person.agent.post(action.replace(/(\/interaction\/[^/]+).*/, '$1/cancel'), formOf(page).fields),
    );
    expect([cancelled.status, titleOf(cancelled), problemOf(cancelled)]).toEqual([403, 'You did not sign in', '']);
  });
});
