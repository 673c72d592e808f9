/** Recent sign-ins: which events count as a sign-in, and what the user, an administrator and the mail learn of a sign-in. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { IdpError } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { withCollections } from '../store/with-collections.js';
import { type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken } from '../support/administration/admin.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { CIBA_GRANT, callsTo, cibaClient } from '../support/client/ciba/call-centre.js';
import { bob, signedInAt, useSamlService } from '../support/saml/service/use-saml-service.js';
import { type IdpInUse, useIdp } from '../support/service/use-idp.js';
import { codeOf, enrol, namedPeople, submit } from '../support/sign-in/factors.js';
import { impersonatingAt, operatorOptions } from '../support/sign-in/impersonating.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { until } from '../support/time/until.js';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const inFirefox = () => new Agent({ 'user-agent': FIREFOX });
const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const urlAt = ({ issuer }: Pick<IdpInUse, 'issuer'>, parameters: Record<string, string> = {}) =>
  authorizeUrl(issuer, { ...pkce, ...parameters });

async function userOf({ idp }: Pick<IdpInUse, 'idp'>, userName: string) {
  const [account] = await idp.directory.accounts.candidates(userName);
  if (!account) throw new Error(`${userName} is nobody`);
  return { tid: account.tenant.id, userId: account.person.user.id, personId: account.person.id };
}
const recentOf = async (service: Pick<IdpInUse, 'idp'>, userName: string) =>
  service.idp.directory.signInHistory.list(await userOf(service, userName));
/** Returns the text of a page. */
const textOf = ({ body }: Answer): string =>
  body
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');

/** Returns the URL of “Use another account”. */
const otherAccountOf = ({ body, url }: Answer): string => {
  const [, href = 'missing:'] = /<a[^>]*href="([^"]+)"[^>]*>(?:\s|<[^a][^>]*>)*Use another account/.exec(body) ?? [];
  return new URL(href.replaceAll('&amp;', '&'), url).href;
};

const mails = captureMail();
const [acme, ...otherTenants] = adminSeed.tenants;
const people = ['ann', 'ben', 'cat', 'dan', 'eve', 'fay', 'gus', 'hal', 'ida', 'jim', 'kim', 'lea'];
const seed = {
  ...adminSeed,
  tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...namedPeople(people)] }, ...otherTenants],
  clients: [...adminSeed.clients, adminClient('reader', ['Acme'], adminScopes), cibaClient('desk')],
} as never;

describe('a sign-in in a browser', () => {
  const upstream: Upstream = { subject: 'eve-there', seen: [] };
  const service = useIdp({ seed, mail: mails.mail, trustProxy: true, extensions: [upstreamMethod('upstream', upstream)] });
  let admin: AdminClient;
  beforeAll(async () => {
    admin = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  });
  const listed = async (userName: string) => {
    const { tid, userId } = await userOf(service, userName);
    return admin(`/tenants/${tid}/users/${userId}/sign-ins`);
  };

  test('by password is one entry, which the admin API lists with browser and address', async () => {
    const agent = inFirefox();
    expect(membersOf(await signIn(agent, urlAt(service), 'ann', 'ann'))).toHaveProperty('code');
    // These requests need no other sign-in.
    for (const prompt of [{}, { prompt: 'none' }])
      expect(membersOf(await agent.follow(await agent.get(urlAt(service, prompt))))).toHaveProperty('code');
    const { status, json } = await listed('ann');
    expect([status, json]).toEqual([
      200,
      {
        items: [
          {
            id: expect.any(String),
            signedInAt: expect.stringMatching(/^\d{4}-.*Z$/),
            amr: ['pwd'],
            idp: 'local',
            clientId: 'web',
            browser: 'Firefox',
            system: 'Linux',
            address: '127.0.0.0/24',
          },
        ],
      },
    ]);
  });

  test('is one entry if the form is sent twice', async () => {
    const agent = inFirefox();
    const named = await submit(agent, await agent.follow(await agent.get(urlAt(service))), { identifier: 'ben' });
    const answers = await Promise.all([1, 2, 3].map(() => submit(agent, named, { password: 'ben' })));
    expect(answers.some((answer) => answer.location?.includes('code='))).toBe(true);
    expect(await recentOf(service, 'ben')).toHaveLength(1);
  });

  test('with a second factor is recorded with both, and not before', async () => {
    const url = urlAt(service, { acr_values: 'mfa' });
    const { secret } = await enrol(new Agent(), url, 'cat', 'cat');
    const before = (await recentOf(service, 'cat')).length;
    const agent = inFirefox();
    const challenge = await signIn(agent, url, 'cat', 'cat');
    expect(challenge.status).toBe(200);
    expect(await recentOf(service, 'cat')).toHaveLength(before);
    await submit(agent, challenge, { code: codeOf(secret, 1) });
    const [entry, ...others] = await recentOf(service, 'cat');
    expect([entry?.amr, others.length]).toEqual([expect.arrayContaining(['pwd', 'mfa']), before]);
  });

  test('that its application never got is recorded by the page that asks for consent, which has data of the user', async () => {
    const agent = inFirefox();
    const consent = await signIn(agent, urlAt(service, { client_id: 'third-party', scope: 'openid email' }), 'dan', 'dan');
    expect([titleOf(consent), textOf(consent)]).toEqual([expect.stringContaining('Third party'), expect.stringContaining('dan@acme.test')]);
    const entries = [{ amr: ['pwd'], clientId: 'third-party', browser: 'Firefox' }];
    expect(await recentOf(service, 'dan')).toMatchObject(entries);
    await agent.follow(await agent.submit(consent, { decision: 'deny' }));
    expect(titleOf(await agent.follow(await agent.get(`${service.issuer}/idp/account`)))).toBe('Your account');
    expect(await recentOf(service, 'dan')).toMatchObject(entries);
  });

  test('that its application never got is recorded when the browser first uses it', async () => {
    const agent = inFirefox();
    const challenge = await signIn(agent, urlAt(service, { acr_values: 'mfa' }), 'kim', 'kim');
    expect(titleOf(challenge)).toContain('second factor');
    expect(await recentOf(service, 'kim')).toEqual([]);
    expect(titleOf(await agent.follow(await agent.get(`${service.issuer}/idp/account`)))).toBe('Your account');
    expect(await recentOf(service, 'kim')).toMatchObject([{ amr: ['pwd'], clientId: 'account:page', browser: 'Firefox' }]);
    await agent.get(`${service.issuer}/idp/account`);
    expect(await recentOf(service, 'kim')).toHaveLength(1);
  });

  test('by another provider names the provider', async () => {
    const { tid, userId } = await userOf(service, 'eve');
    await service.idp.tenant(tid).users.update(userId, { externalIdentities: [{ idp: 'upstream', subject: 'eve-there' }] });
    const agent = inFirefox();
    expect(membersOf(await agent.follow(await agent.get(urlAt(service, { acr_values: 'idp:upstream' }))))).toHaveProperty('code');
    expect(await recentOf(service, 'eve')).toMatchObject([{ idp: 'upstream', amr: ['external'], browser: 'Firefox' }]);
  });

  test('once more in the same browser is another entry', async () => {
    const agent = inFirefox();
    for (let count = 0; count < 2; count += 1) {
      await signIn(agent, urlAt(service, { prompt: 'login' }), 'fay', 'fay');
      // Sign-ins of one session are distinguished by their second.
      const second = epochSeconds();
      await until(() => epochSeconds() > second);
    }
    expect((await recentOf(service, 'fay')).length).toBe(2);
  });

  test('is on the page of its user in words, and not on the page of another', async () => {
    const agent = inFirefox();
    await signIn(agent, urlAt(service), 'gus', 'gus');
    const page = await agent.follow(await agent.get(`${service.issuer}/idp/account/sign-ins`));
    expect(titleOf(page)).toBe('Recent sign-ins');
    const text = textOf(page);
    for (const words of ['Firefox on Linux', 'With the password', 'Web shop', 'IP address 127.', '(UTC)']) expect(text).toContain(words);
    expect(page.body).toContain(`href="${service.issuer}/idp/account/sessions"`);
    expect(page.headers.get('cache-control')).toBe('no-store');
    // The text of the header itself appears nowhere.
    expect(page.body).not.toContain('Gecko');
    const account = await agent.get(`${service.issuer}/idp/account`);
    expect(account.body).toContain(`href="${service.issuer}/idp/account/sign-ins"`);
  });

  test('to a linked account is in the history of that account alone', async () => {
    const [parent, child] = ['alice@acme.test', 'alice@globex.test'];
    const agent = inFirefox();
    await signIn(agent, urlAt(service, { acr_values: `tenant:${await tenantNamed(service.idp, 'Globex')}` }), child, 'alice');
    expect([(await recentOf(service, child)).length, (await recentOf(service, parent)).length]).toEqual([1, 0]);
    // A switch without a sign-in is in the history of the account that the browser uses from then on.
    const switched = await agent.follow(
      await agent.get(urlAt(service, { acr_values: `tenant:${await tenantNamed(service.idp, 'Acme')}` })),
    );
    if (!switched.location) await agent.follow(await agent.submit(switched, { choice: (await userOf(service, parent)).userId }));
    expect((await recentOf(service, parent)).map(({ clientId }) => clientId)).toEqual(['web']);
    expect(await recentOf(service, child)).toHaveLength(1);
  });

  test.each([
    ['goes on', true],
    ['leaves it for the account page', false],
  ])(
    'that switches to a linked account by password is one entry, with the browser and address of then: the browser %s',
    async (_, goesOn) => {
      const [parent, child] = ['alice@acme.test', 'alice@globex.test'];
      const before = (await recentOf(service, parent)).length;
      const agent = new Agent({ 'user-agent': FIREFOX, 'x-forwarded-for': '203.0.113.7' });
      await signIn(agent, urlAt(service, { acr_values: `tenant:${await tenantNamed(service.idp, 'Globex')}` }), child, 'alice');
      const ofChild = (await recentOf(service, child)).length;
      const second = epochSeconds();
      await until(() => epochSeconds() > second);
      Object.assign(agent.headers, { 'user-agent': 'no browser of the table', 'x-forwarded-for': '198.51.100.7' });
      const url = urlAt(service, { prompt: 'login', acr_values: `tenant:${await tenantNamed(service.idp, 'Acme')}` });
      const accounts = await agent.follow(await agent.get(url));
      const asked = await agent.follow(await agent.get(otherAccountOf(accounts)));
      const named = await agent.follow(await agent.submit(asked, { identifier: parent }));
      const completed = await agent.submit(named, { password: 'alice' });
      expect([completed.status, completed.location]).toEqual([303, expect.stringContaining(`${service.issuer}/`)]);
      expect(await recentOf(service, parent)).toHaveLength(before);
      if (goesOn) expect(membersOf(await agent.follow(completed))).toHaveProperty('code');
      const account = () => agent.get(`${service.issuer}/idp/account`).then((answer) => agent.follow(answer));
      expect(titleOf(await account())).toBe('Your account');
      // The request continues later too, which is the same sign-in.
      if (!goesOn) await agent.follow(completed);
      await account();
      const [entry, ...others] = await recentOf(service, parent);
      expect(others).toHaveLength(before);
      expect(entry).toMatchObject({ amr: ['pwd'], clientId: goesOn ? 'web' : 'account:page', address: '198.51.100.0/24' });
      expect([entry?.browser, entry?.system]).toEqual([undefined, undefined]);
      expect(await recentOf(service, child)).toHaveLength(ofChild);
    },
  );

  test('is in the export of the person, and is erased with the person', async () => {
    await signIn(inFirefox(), urlAt(service), 'hal', 'hal');
    const { tid, personId, userId } = await userOf(service, 'hal');
    const { json } = await admin(`/tenants/${tid}/persons/${personId}/export`);
    expect(json.signIns).toMatchObject([{ clientId: 'web', browser: 'Firefox' }]);
    await admin.remove(`/tenants/${tid}/persons/${personId}`);
    expect((await admin(`/tenants/${tid}/users/${userId}/sign-ins`)).status).toBe(404);
    await expect(service.idp.directory.signInHistory.list({ tid, userId })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is listed to administrators of its tenant alone', async () => {
    const { tid, userId } = await userOf(service, 'ann');
    const globex = administer(service.issuer, await adminToken(service.issuer, 'globex'));
    expect((await globex(`/tenants/${tid}/users/${userId}/sign-ins`)).status).toBe(404);
    const other = await tenantNamed(service.idp, 'Globex');
    expect((await globex(`/tenants/${other}/users/${userId}/sign-ins`)).status).toBe(404);
    const narrow = administer(service.issuer, await adminToken(service.issuer, 'acme', 'idp.users:read'));
    expect((await narrow(`/tenants/${tid}/users/${userId}/sign-ins`)).status).toBe(403);
  });
});

describe('a mail about a browser that the account does not know', () => {
  const service = useIdp({ seed, mail: mails.mail });
  const told = (name: string) => mails.mails.filter(({ to, kind }) => kind === 'new-browser' && to === `${name}@acme.test`);

  test('goes to the account’s address at the second browser, once, in words of the service', async () => {
    await signIn(inFirefox(), urlAt(service), 'ida', 'ida');
    const hostile = new Agent({ 'user-agent': `${FIREFOX} Go to https://evil.test now!` });
    await signIn(hostile, urlAt(service), 'ida', 'ida');
    await signIn(hostile, urlAt(service, { prompt: 'login' }), 'ida', 'ida');
    const [mail] = await until(
      () => told('ida'),
      ({ length }) => length > 0,
    );
    expect(mail).toMatchObject({ subject: 'A sign-in from a new browser' });
    expect(mail?.text).toContain('Firefox, Linux');
    expect(mail?.text).toContain(`${service.issuer}/idp/account/sessions`);
    expect(`${mail?.text}${mail?.html}`).not.toMatch(/evil|ida@|127\.0\.0\.0/);
    const page = textOf(await hostile.follow(await hostile.get(`${service.issuer}/idp/account/sign-ins`)));
    expect(page).toContain('From a new browser');
    expect(told('ida')).toHaveLength(1);
  });

  test('is not sent for the first sign-in to a new account, and at most three times a day', async () => {
    await signIn(inFirefox(), urlAt(service), 'jim', 'jim');
    for (let count = 0; count < 5; count += 1) await signIn(new Agent(), urlAt(service), 'jim', 'jim');
    await until(() => told('jim').length === 3);
    const events = await service.idp.directory.eventFeed.read({ types: ['UserSignedInWithNewBrowser'], limit: 100 });
    const { userId } = await userOf(service, 'jim');
    await until(async () => (await service.idp.directory.deliveries.dead()).length === 0);
    expect(events.events.filter(({ subject }) => subject === userId)).toHaveLength(5);
    expect(told('jim')).toHaveLength(3);
  });
});

describe('without the mail, or without the history', () => {
  const silent = useIdp({ seed, mail: mails.mail, signInHistory: { notify: false } });
  const off = useIdp({ seed, mail: mails.mail, signInHistory: { entries: 0 } });

  test('notify: false raises the event and sends nothing', async () => {
    const heard: unknown[] = [];
    silent.idp.events.on('UserSignedInWithNewBrowser', (event) => void heard.push(event));
    for (let count = 0; count < 2; count += 1) await signIn(new Agent(), urlAt(silent), 'kim', 'kim');
    await until(() => heard.length === 1);
    expect(mails.mails.filter(({ to }) => to === 'kim@acme.test')).toEqual([]);
  });

  test('entries: 0 stores nothing, and the account page has no section', async () => {
    const agent = inFirefox();
    await signIn(agent, urlAt(off), 'lea', 'lea');
    expect(await recentOf(off, 'lea')).toEqual([]);
    const account = await agent.follow(await agent.get(`${off.issuer}/idp/account`));
    expect(titleOf(account)).toBe('Your account');
    expect(account.body).not.toContain('/account/sign-ins');
    expect(textOf(await agent.get(`${off.issuer}/idp/account/sign-ins`))).toContain('No sign-in is recorded.');
    const admin = administer(off.issuer, await adminToken(off.issuer, 'acme'));
    const { tid, userId } = await userOf(off, 'lea');
    expect((await admin(`/tenants/${tid}/users/${userId}/sign-ins`)).json).toEqual({ items: [] });
  });
});

describe('a sign-in without a browser, or of another protocol', () => {
  const ciba = useIdp({ seed });

  test('CIBA: an approved request is one entry, without browser and address', async () => {
    const calls = callsTo(ciba);
    const authReqId = await calls.approved({}, 'desk', 'ann');
    const answers = await Promise.all([calls.poll(authReqId), calls.poll(authReqId)]);
    expect(answers.map(({ status }) => status).sort()[0]).toBe(200);
    const [entry, ...others] = await recentOf(ciba, 'ann');
    expect(others).toEqual([]);
    expect(entry).toEqual({
      id: expect.any(String),
      signedInAt: expect.any(Date),
      amr: ['pwd'],
      idp: 'local',
      clientId: 'desk',
      grantType: CIBA_GRANT,
    });
  });

  const saml = useSamlService();

  test('SAML: a sign-in for a service provider is one entry, and the page has the name of the service provider', async () => {
    const sp = await saml.add();
    const agent = await signedInAt([sp]);
    const [entry, ...others] = await recentOf(saml, bob.userName);
    expect([entry?.clientId, others]).toEqual([expect.stringMatching(/^saml:/), []]);
    const page = await agent.follow(await agent.get(`${saml.issuer}/idp/account/sign-ins`));
    expect(textOf(page)).toContain(`Application ${new URL(sp.url).port}`);
  });
});

describe('an impersonation', () => {
  const service = useIdp({ ...operatorOptions, mail: mails.mail });

  test('is an entry of the user that says so, without anything of the impersonator, and is told by no mail about a browser', async () => {
    const before = mails.mails.length;
    const { response } = await impersonatingAt(service).act('carol@acme.test', { agent: inFirefox() });
    expect(membersOf(response)).toHaveProperty('code');
    const [entry, ...others] = await recentOf(service, 'carol@acme.test');
    expect(others).toEqual([]);
    expect(entry).toEqual({
      id: expect.any(String),
      signedInAt: expect.any(Date),
      amr: [],
      clientId: 'web',
      isImpersonation: true,
      impersonationId: expect.any(String),
    });
    const carol = inFirefox();
    await signIn(carol, urlAt(service), 'carol@acme.test', 'carol');
    const page = textOf(await carol.follow(await carol.get(`${service.issuer}/idp/account/sign-ins`)));
    expect(page).toContain('Support, signed in as you');
    expect(page).not.toMatch(/otto/i);
    expect(mails.mails.slice(before).filter(({ kind }) => kind === 'new-browser')).toEqual([]);
  });
});

describe('a history that cannot be written', () => {
  const store = { isFailing: true };
  const service = useIdp({
    seed,
    directory: withCollections(memoryDirectory(), (rows, name) =>
      name === 'signIns'
        ? {
            async update(id, change) {
              if (store.isFailing) throw new IdpError('conflict');
              return rows.update(id, change);
            },
          }
        : {},
    ),
    keys: { encryption: ['what the keys are encrypted with in this test'] },
  });

  test('fails no sign-in, is logged once, and gets the sign-in when it is used again', async () => {
    const agent = inFirefox();
    expect(membersOf(await signIn(agent, urlAt(service), 'ann', 'ann'))).toHaveProperty('code');
    expect(membersOf(await signIn(inFirefox(), urlAt(service), 'ben', 'ben'))).toHaveProperty('code');
    expect(service.logged.filter(([, message]) => message === 'the service could not record a sign-in')).toHaveLength(1);
    store.isFailing = false;
    expect(membersOf(await agent.get(urlAt(service, { prompt: 'none' })))).toHaveProperty('code');
    expect(await recentOf(service, 'ann')).toMatchObject([{ clientId: 'web', browser: 'Firefox' }]);
  });
});
