/** The person's side of decoupled sign-in: the inbox, a request, and what becomes of it. @see service specification 4.10, threats D3, D4, D9, G1 */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { IdpEvent } from 'tenant-idp';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/acting.js';
import { askedPeople, cibaClient, createAsking, redeem } from '../support/sign-in/ciba.js';
import { enrolOn, problemOf, submit } from '../support/sign-in/factors.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { atOnce } from '../support/time/rounds.js';
import { until } from '../support/time/until.js';

const names = Array.from({ length: 30 }, (_, index) => `person${index}`);
const [acme, globex] = testSeed.tenants;
const upstream: Upstream = { subject: 'at-eid', seen: [] };
const asking = createAsking(() => service.idp);
const service = useIdp({
  extensions: [asking.extension, actAs({ lasts: 600_000 }), upstreamMethod('eid', upstream)],
  seed: {
    ...testSeed,
    tenants: [
      {
        ...acme,
        persons: [
          ...(acme?.persons ?? []),
          ...askedPeople('acme.test', names),
          {
            givenName: 'Eva',
            familyName: 'E',
            email: 'eva@acme.test',
            user: { userName: 'eva@acme.test', devPassword: 'eva', externalIdentities: [{ idp: 'eid', subject: 'at-eid' }] },
          },
        ],
      },
      globex,
      { name: 'Initech', signIn: { requireMfa: true }, persons: askedPeople('initech.test', ['ida']) },
    ],
    clients: [
      ...testSeed.clients,
      cibaClient('desk'),
      cibaClient('kiosk', { requireConsent: true }),
      cibaClient('gone', { allowedTenants: ['Acme'] }),
    ],
  } as never,
});

const heard: IdpEvent[] = [];
beforeAll(() => {
  for (const type of ['Requested', 'Approved', 'Denied'] as const)
    service.idp.directory.events.on(`BackchannelAuthentication${type}`, async (event) => void heard.push(event));
});
const eventsAbout = (id: string): Promise<readonly IdpEvent[]> =>
  until(
    () => heard.filter(({ data }) => (data as { RequestId?: string }).RequestId === id),
    (found) => found.length > 1,
  );

let next = 0;
let me: string;
let agent: Agent;
beforeEach(() => {
  me = `${names[next++]}@acme.test`;
  agent = new Agent();
});
afterEach(backToPresent);

const { ask } = asking;
const pkce = createPkce();
const authorize = (parameters: Record<string, string> = {}): string =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const inbox = () => `${service.issuer}/idp/ciba`;
const pageOf = (id: string) => `${inbox()}/requests/${id}`;
const nameOf = (userName: string) => userName.split('@')[0] as string;
/** Signs in on the page that the browser was sent to. */
const signInOn = async (browser: Agent, page: Answer, userName: string): Promise<Answer> =>
  submit(browser, await submit(browser, page, { identifier: userName }), { password: nameOf(userName) });
/** Opens an address, with a sign-in where it takes one. */
const open = async (url: string, userName = me, browser = agent): Promise<Answer> => {
  const page = await browser.follow(await browser.get(url));
  return page.url.includes('/interaction/') ? signInOn(browser, page, userName) : page;
};
const press = (page: Answer, decision: string, browser = agent): Promise<Answer> => submit(browser, page, { decision });
const stateOf = async (id: string) => (await asking.requests.read(id))?.state;

describe('service specification 4.10: the user approves or denies out of band', () => {
  test('the inbox shows who asks, a request what it says and until when; approval gives tokens of the approver', async () => {
    const empty = await open(inbox());
    expect([titleOf(empty), empty.body.includes('Nobody asks you to sign in right now.')]).toEqual(['Requests to sign in', true]);
    const { authReqId, request } = await ask(me, { bindingMessage: 'W4SCT' });
    expect((await redeem(service.issuer, authReqId)).json).toMatchObject({ error: 'authorization_pending' });
    const list = await agent.get(inbox());
    expect(
      [...list.body.matchAll(/<a class="account" href="([^"]+)">([\s\S]*?)<\/a>/g)].map(([, href, text]) => [
        href,
        text?.includes('The desk'),
      ]),
    ).toEqual([[pageOf(request.id), true]]);
    const page = await agent.get(pageOf(request.id));
    expect(titleOf(page)).toBe('The desk asks you to sign in');
    for (const shown of ['W4SCT', me, 'Acme', 'second', 'Approve only if you began this yourself.']) expect(page.body).toContain(shown);
    const signedInAt = Math.floor(Date.now() / 1000);
    const done = await press(page, 'approve');
    expect([titleOf(done), done.url]).toEqual(['You approved this', pageOf(request.id)]);
    const { json } = await redeem(service.issuer, authReqId);
    const claims = decodeJwt(json.id_token);
    expect(claims).toMatchObject({ sub: request.oid, tid: request.tid, amr: ['pwd'], idp: 'local' });
    expect(claims.auth_time).toBeLessThanOrEqual(signedInAt + 1);
    expect(titleOf(await agent.get(pageOf(request.id)))).toBe('You approved this');
    expect((await agent.get(inbox())).body).toContain('Nobody asks you to sign in right now.');
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

  test('a client without a message is named with a warning; one that began by itself is called so', async () => {
    const { request } = await ask(me, { initiator: 'RP' });
    const { body } = await open(pageOf(request.id));
    expect(body).toContain('The desk sent nothing to compare.');
    expect(body).toContain('The desk began this without you.');
  });

  test.each([
    ['deny', 'You denied this', 'declined'],
    ['unrecognise', 'Thank you for telling us', 'unrecognised'],
  ])('%s: the client is told no, and an event says why', async (decision, title, Reason) => {
    const { authReqId, request } = await ask(me);
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
    const { request } = await ask(me, { bindingMessage: '# Pay\n- **900** NOK', messageFormat: 'simpleMarkdownV1' });
    expect((await open(pageOf(request.id))).body).toContain('<h2>Pay</h2><ul><li><strong>900</strong> NOK</li></ul>');
  });

  test('ui_locales: the page is in the language of the request', async () => {
    const { request } = await ask(me, { uiLocales: 'fi nb' });
    expect((await open(pageOf(request.id))).body).toContain('<html lang="fi"');
  });
});

test('a node that dies once a decision is written keeps its event from nobody', async () => {
  const { request } = await ask(me);
  await asking.dying.deny(request.id, 'declined', { actor: `user:${request.oid}` });
  expect((await eventsAbout(request.id)).map(({ type }) => type)).toEqual([
    'BackchannelAuthenticationRequested',
    'BackchannelAuthenticationDenied',
  ]);
});

describe('what approval takes', () => {
  test('mfa in acr_values: a second factor, then approval, and mfa in amr', async () => {
    const { authReqId, request } = await ask(me, { acrValues: 'mfa' });
    await signIn(agent, authorize(), me, nameOf(me));
    const weak = await agent.get(pageOf(request.id));
    expect(weak.body).toContain('Sign in to approve');
    const challenge = await press(weak, 'approve');
    const { response } = await enrolOn(agent, challenge);
    expect([titleOf(response), response.body.includes('>Approve<')]).toEqual(['The desk asks you to sign in', true]);
    expect(await stateOf(request.id)).toBe('pending');
    expect(titleOf(await press(response, 'approve'))).toBe('You approved this');
    const { amr } = decodeJwt((await redeem(service.issuer, authReqId)).json.id_token);
    expect(amr).toEqual(['pwd', 'mfa']);
  });

  test('denial takes none of it', async () => {
    const { request } = await ask(me, { acrValues: 'mfa' });
    await signIn(agent, authorize(), me, nameOf(me));
    expect(titleOf(await press(await agent.get(pageOf(request.id)), 'deny'))).toBe('You denied this');
  });

  test('tenant policy: people of a tenant that requires a second factor prove one first', async () => {
    const { request } = await ask('ida@initech.test');
    const challenge = await open(pageOf(request.id), 'ida@initech.test');
    const { response } = await enrolOn(agent, challenge);
    expect(titleOf(await press(response, 'approve'))).toBe('You approved this');
  });

  test('a sign-in of the last ten minutes: an older one is asked for anew, and auth_time is that of the approver', async () => {
    passTime(0);
    await open(inbox());
    passTime(700);
    const { authReqId, request } = await ask(me);
    const page = await agent.get(pageOf(request.id));
    expect(page.body).toContain('To approve, you sign in anew');
    const again = await press(page, 'approve');
    expect([again.url.includes('/interaction/'), await stateOf(request.id)]).toEqual([true, 'pending']);
    const back = await submit(agent, again.body.includes('name="password"') ? again : await submit(agent, again, { identifier: me }), {
      password: nameOf(me),
    });
    expect(titleOf(await press(back, 'approve'))).toBe('You approved this');
    const { auth_time } = decodeJwt((await redeem(service.issuer, authReqId)).json.id_token) as { auth_time: number };
    expect(auth_time).toBeGreaterThanOrEqual(Math.floor(request.createdAt.getTime() / 1000));
  });

  test('idp in acr_values, binding_message and eid_call_initiator are passed unchanged to the sign-in method', async () => {
    const bindingMessage = '# Pay *900*\n- “now” & <b>here</b>';
    const asked = { acrValues: 'idp:eid', bindingMessage, messageFormat: 'simpleMarkdownV1', initiator: 'RP' } as const;
    const { authReqId, request } = await ask('eva@acme.test', asked);
    const page = await agent.follow(await agent.get(pageOf(request.id)));
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
    const { request } = await ask('eva@acme.test', { acrValues: 'idp:eid' });
    await signIn(agent, authorize(), 'eva@acme.test', 'eva');
    const before = upstream.seen.length;
    await press(await agent.get(pageOf(request.id)), 'approve');
    expect([upstream.seen.length, await stateOf(request.id)]).toEqual([before + 1, 'pending']);
  });

  test('requireConsent: the scopes are listed, and the consent is recorded', async () => {
    const scopes = ['openid', 'profile'];
    const { authReqId, request } = await ask(me, { clientId: 'kiosk', scopes });
    const page = await open(pageOf(request.id));
    expect(page.body).toContain('The kiosk will be able to:');
    expect(page.body).toContain('See your name, picture and profile');
    await press(page, 'approve');
    expect((await service.idp.directory.consents.get(request.oid, 'kiosk'))?.scopes).toEqual(scopes);
    expect((await redeem(service.issuer, authReqId, 'kiosk')).json.scope).toBe('openid profile');
    const again = await ask(me, { clientId: 'kiosk', scopes });
    expect((await agent.get(pageOf(again.request.id))).body).not.toContain('will be able to:');
  });

  test('G8, never while somebody acts as the person: neither looked at nor answered', async () => {
    const { request } = await ask(me);
    const page = await agent.follow(await agent.get(authorize({ acr_values: 'impersonate' })));
    const act = await signInOn(agent, page, 'alice@acme.test');
    await agent.follow(await agent.submit(act, { user: me }));
    const shown = await agent.get(pageOf(request.id));
    expect([shown.status, titleOf(shown)]).toEqual([403, 'Not while you act as somebody else']);
    const posted = await agent.post(pageOf(request.id), { decision: 'approve' });
    expect([posted.status, titleOf(posted), await stateOf(request.id)]).toEqual([403, 'Not while you act as somebody else', 'pending']);
    expect((await agent.get(inbox())).status).toBe(403);
  });
});

describe('threat D9: what cannot be approved', () => {
  test('somebody else’s request is neither shown nor answered', async () => {
    const { request } = await ask(me, { bindingMessage: 'for me alone' });
    const other = await open(pageOf(request.id), 'alice@acme.test');
    expect([other.status, titleOf(other)]).toEqual([403, 'This is for another account']);
    expect(other.body).not.toContain('for me alone');
    const own = await ask('alice@acme.test');
    const { fields } = formOf(await agent.get(pageOf(own.request.id)));
    const posted = await agent.post(pageOf(request.id), { ...fields, decision: 'approve' });
    expect([posted.status, await stateOf(request.id)]).toEqual([403, 'pending']);
  });

  test('“sign in with another account” leads to the request', async () => {
    const { request } = await ask(me);
    await open(inbox(), 'bob@globex.test');
    const chooser = await agent.follow(await agent.get(`${pageOf(request.id)}/sign-in`));
    expect(chooser.url).toContain('/interaction/');
    expect(await stateOf(request.id)).toBe('pending');
  });

  test('one that is over', async () => {
    const { authReqId, request } = await ask(me);
    const page = await open(pageOf(request.id));
    passTime(121);
    const late = await press(page, 'approve');
    expect([late.status, titleOf(late)]).toEqual([200, 'This request is over']);
    expect((await redeem(service.issuer, authReqId)).json).toMatchObject({ error: 'expired_token' });
  });

  test('one that a newer of the same client took the place of', async () => {
    const first = await ask(me);
    const page = await open(pageOf(first.request.id));
    const second = await ask(me);
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
    const { request } = await ask(me);
    const page = await open(pageOf(request.id));
    await service.idp.tenant(request.tid).users.disable(request.oid);
    const shown = await press(page, 'approve');
    expect([shown.url.includes('/interaction/'), await stateOf(request.id)]).toEqual([true, undefined]);
  });

  test('a client that may not sign the person in any more', async () => {
    const { request } = await ask(me, { clientId: 'gone' });
    const page = await open(pageOf(request.id));
    const { tid } = (await asking.requests.read((await ask('bob@globex.test')).request.id)) as { tid: string };
    await service.idp.directory.clients.update('gone', { allowedTenants: [tid] });
    const refused = await until(
      () => press(page, 'approve'),
      (found) => titleOf(found) !== 'The gone asks you to sign in',
    );
    expect([refused.status, titleOf(refused)]).toEqual([403, 'The gone cannot sign you in']);
    expect(await stateOf(request.id)).toBe('pending');
  });
});

describe('threat G1: forms', () => {
  test('a form without the token of this browser and request changes nothing', async () => {
    const [one, other] = [await ask(me), await ask(me, { clientId: 'kiosk' })];
    const page = await open(pageOf(one.request.id));
    const foreign = await open(pageOf(one.request.id), me, new Agent());
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
      const answer = await agent.post(pageOf(id), { ...sent, decision: 'approve' }, headers);
      expect([answer.status, titleOf(answer), await stateOf(id)]).toEqual([403, 'Nothing was changed', 'pending']);
    }
  });

  test('GET changes nothing, and is no other way to answer', async () => {
    const { request } = await ask(me);
    const { fields } = formOf(await open(pageOf(request.id)));
    for (const decision of ['approve', 'deny', 'unrecognise']) {
      await agent.get(`${pageOf(request.id)}?${new URLSearchParams({ ...fields, decision })}`);
      expect(await stateOf(request.id)).toBe('pending');
    }
    for (const path of ['approve', 'deny']) expect((await agent.get(`${pageOf(request.id)}/${path}`)).status).toBe(404);
  });

  test('a form that is sent ten times, and answers that contradict each other, are one outcome', async () => {
    const rounds = process.env.PROVE ? 300 : 3;
    for (let round = 0; round < rounds; round += 1) {
      passTime(round * 700);
      const fresh = new Agent();
      const { authReqId, request } = await ask(me);
      const page = await open(pageOf(request.id), me, fresh);
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
    const page = await agent.follow(await agent.get(inbox()));
    const { action } = formOf(page);
    const cancelled = await agent.follow(await agent.post(action.replace(/(\/interaction\/[^/]+).*/, '$1/cancel'), formOf(page).fields));
    expect([cancelled.status, titleOf(cancelled), problemOf(cancelled)]).toEqual([403, 'You did not sign in', '']);
  });
});
