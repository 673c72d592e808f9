/** Service specification 4.10: the user approves or denies out of band, on the page of a request. Threat D4. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { titleOf } from '../../support/client/agent.js';
import { redeem } from '../../support/sign-in/ciba.js';
import { useCibaPages } from '../../support/sign-in/ciba-pages.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const person = useCibaPages();
const { service, asking, inbox, pageOf, open, press, eventsAbout } = person;

describe('service specification 4.10: the user approves or denies out of band', () => {
  test('the inbox shows who asks, a request what it says and until when; approval gives tokens of the approver', async () => {
    const empty = await open(inbox());
    expect([titleOf(empty), empty.body.includes('There are no requests right now.')]).toEqual(['Requests to sign in', true]);
    const { authReqId, request } = await asking.ask(person.me, { bindingMessage: 'W4SCT' });
    expect((await redeem(service.issuer, authReqId)).json).toMatchObject({ error: 'authorization_pending' });
    const list = await person.agent.get(inbox());
    expect(
      [...list.body.matchAll(/<a class="account" href="([^"]+)">([\s\S]*?)<\/a>/g)].map(([, href, text]) => [
        href,
        text?.includes('The desk'),
      ]),
    ).toEqual([[pageOf(request.id), true]]);
    const page = await person.agent.get(pageOf(request.id));
    expect(titleOf(page)).toBe('The desk asks you to sign in');
    for (const shown of ['W4SCT', person.me, 'Acme', 'second', 'Approve only if you began this yourself.'])
      expect(page.body).toContain(shown);
    const signedInAt = epochSeconds();
    const done = await press(page, 'approve');
    expect([titleOf(done), done.url]).toEqual(['You approved this', pageOf(request.id)]);
    const { json } = await redeem(service.issuer, authReqId);
    const claims = decodeJwt(json.id_token);
    expect(claims).toMatchObject({ sub: request.oid, tid: request.tid, amr: ['pwd'], idp: 'local' });
    expect(claims.auth_time).toBeLessThanOrEqual(signedInAt + 1);
    expect(titleOf(await person.agent.get(pageOf(request.id)))).toBe('You approved this');
    expect((await person.agent.get(inbox())).body).toContain('There are no requests right now.');
    expect((await eventsAbout(request.id)).map(({ type, actor, act, data }) => ({ type, actor, act, data }))).toEqual([
      {
        type: 'BackchannelAuthenticationRequested',
        actor: 'client:desk',
        data: { AggregateId: request.oid, RequestId: request.id, ClientId: 'desk' },
      },
      {
        type: 'BackchannelAuthenticationApproved',
        actor: `user:${request.oid}`,
        data: { AggregateId: request.oid, RequestId: request.id, ClientId: 'desk' },
      },
    ]);
  });

  test('issue 46: a short code is shown large; the seconds are there to be counted down; “No, it’s not me” looks like a warning', async () => {
    const { request } = await asking.ask(person.me, { bindingMessage: 'KX-42' });
    const { body } = await open(pageOf(request.id));
    expect(body).toContain('<figure class="quote code">');
    const seconds = Number(/data-seconds="(\d+)"/.exec(body)?.[1]);
    expect([seconds > 60, seconds <= 120]).toEqual([true, true]);
    expect(body).toMatch(/class="button warning"[^>]*value="unrecognise">No, it’s not me</);
    const { request: worded } = await asking.ask(person.me, { bindingMessage: 'Pay 5 to Bob' });
    expect((await open(pageOf(worded.id))).body).toContain('<figure class="quote">');
  });

  test('a client without a message is named with a warning; one that began by itself is called so', async () => {
    const { request } = await asking.ask(person.me, { initiator: 'RP' });
    const { body } = await open(pageOf(request.id));
    expect(body).toContain('The desk sent nothing to compare.');
    expect(body).toContain('The desk began this without you.');
  });

  test.each([
    ['deny', 'You denied this', 'declined'],
    ['unrecognise', 'Thank you for telling us', 'unrecognised'],
  ])('%s: the client is told no, and an event says why', async (decision, title, Reason) => {
    const { authReqId, request } = await asking.ask(person.me);
    expect(titleOf(await press(await open(pageOf(request.id)), decision))).toBe(title);
    expect((await redeem(service.issuer, authReqId)).json).toMatchObject({ error: 'access_denied' });
    const [, denied] = await eventsAbout(request.id);
    expect([denied?.type, denied?.actor, denied?.data]).toEqual([
      'BackchannelAuthenticationDenied',
      `user:${request.oid}`,
      { AggregateId: request.oid, RequestId: request.id, ClientId: 'desk', Reason },
    ]);
    expect(denied?.requestid).toBeDefined();
  });

  test('eid_user_visible_data_format: the message is formatted as the client says', async () => {
    const { request } = await asking.ask(person.me, { bindingMessage: '# Pay\n- **900** NOK', messageFormat: 'simpleMarkdownV1' });
    expect((await open(pageOf(request.id))).body).toContain('<h2>Pay</h2><ul><li><strong>900</strong> NOK</li></ul>');
  });

  test('ui_locales: the page is in the language of the request', async () => {
    const { request } = await asking.ask(person.me, { uiLocales: 'fi nb' });
    expect((await open(pageOf(request.id))).body).toContain('<html lang="fi"');
  });
});

test('a node that dies once a decision is written keeps its event from nobody', async () => {
  const { request } = await asking.ask(person.me);
  await asking.dying.deny(request.id, 'declined', { actor: `user:${request.oid}` });
  expect((await eventsAbout(request.id)).map(({ type }) => type)).toEqual([
    'BackchannelAuthenticationRequested',
    'BackchannelAuthenticationDenied',
  ]);
});
