/** Issue 14, external sign-in; service specification 4.2. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, formOf, obtainTokens, postForm, signIn, titleOf } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { introspect } from '../support/client/steps.js';
import { redirectUri } from '../support/service/seed.js';
import { codeOf, enrol, submit } from '../support/sign-in/factors.js';
import { atUpstream, press } from '../support/sign-in/upstream-provider.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { useContoso } from './contoso.js';

const at = useContoso();
const { service, pkce, url, open, through, byContoso, withIdToken } = at;
const redeemed = async (response: Answer) => {
  const fields = { grant_type: 'authorization_code', code: membersOf(response).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('web'))).json;
};

/** Resolves once the event about the user is in the feed. */
async function told(type: string, oid: string | undefined): Promise<void> {
  for (;;) {
    const { events } = await service.idp.directory.eventFeed.read({ types: [type] });
    if (events.some(({ data }) => (data as { AggregateId?: string }).AggregateId === oid)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('4.2 sign-in at another provider', () => {
  test('`amr` `external` and `idp` = the provider used, `local` for a password', async () => {
    const tokens = await redeemed(await byContoso(new Agent()));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: at.ids.bob, tid: at.ids.globex, amr: ['external'], idp: 'contoso' });
    expect((await introspect(service.issuer, tokens.access_token)).json).toMatchObject({ amr: ['external'], idp: 'contoso' });
    const local = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    expect(decodeJwt(local.tokens.id_token)).toMatchObject({ amr: ['pwd'], idp: 'local' });
  });

  test('`idp` in `acr_values` selects the method, and a button does', async () => {
    const agent = new Agent();
    const page = await open(agent, { ui_locales: 'nb' });
    expect(page.body).toContain('value="social">Fortsett med Social</button>');
    // The connection of a tenant is shown in sign-ins of that tenant alone.
    expect(page.body).not.toContain('Contoso');
    const done = await agent.follow(await agent.get(await atUpstream(at.social, await press(agent, page, 'social'))));
    expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: at.ids.bob, idp: 'social' });
    const ofTenant = await open(new Agent(), { acr_values: `tenant:${at.ids.globex}` });
    expect(ofTenant.body).toContain('value="contoso">Continue with Contoso ID</button>');
    expect(membersOf(await open(new Agent(), { acr_values: 'idp:nobody' }))).toMatchObject({ error: 'unmet_authentication_requirements' });
  });

  test('several `amr` occur together: `mfa` where the connection maps the upstream `amr` or `acr`', async () => {
    for (const told of [{ amr: ['pwd', 'otp'] }, { acr: 'high' }]) {
      at.contoso.instead = withIdToken((claims) => ({ ...claims, ...told }));
      expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ amr: ['external', 'mfa'] });
    }
    at.contoso.instead = withIdToken((claims) => ({ ...claims, amr: ['pwd'], acr: 'low' }));
    expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ amr: ['external'] });
  });

  test('the request is a code with PKCE, state and nonce, with a redirect URI of the connection alone', async () => {
    await byContoso(new Agent());
    const asked = Object.fromEntries(at.contoso.asked[0] ?? []);
    expect(asked).toEqual({
      client_id: 'tenant-idp',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${service.issuer}/idp/connections/contoso/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
  });

  test('eid_* reach the method unchanged: byte for byte, absent stays absent, and a connection may rename them', async () => {
    const text = ' Betal 1 000,50 € til <b>Ola & Kari</b> + 100 %\u00e6\ud83d\ude00 ';
    const eid = { eid_user_visible_data: text, eid_user_visible_data_format: 'aFormatOfTomorrow' };
    await byContoso(new Agent(), { ...eid, eid_call_initiator: 'RP' });
    expect(Object.fromEntries(at.contoso.asked[0] ?? [])).toMatchObject(eid);
    expect(at.contoso.asked[0]?.has('eid_call_initiator')).toBe(false);
    await through(new Agent(), { acr_values: 'idp:social', eid_user_visible_data: text }, at.social);
    expect(at.social.asked[0]?.get('shown_text')).toBe(text);
    expect([...(at.social.asked[0]?.keys() ?? [])].filter((name) => name.startsWith('eid_'))).toEqual([]);
  });

  test('`prompt`, `max_age`, `ui_locales`, `login_hint` go on to the method', async () => {
    const onward = { prompt: 'login', max_age: '300', ui_locales: 'fi sv', login_hint: 'bob@contoso.test' };
    expect(membersOf(await byContoso(new Agent(), onward))).toHaveProperty('code');
    expect(Object.fromEntries(at.contoso.asked[0] ?? [])).toMatchObject(onward);
    at.contoso.asked.length = 0;
    await byContoso(new Agent());
    for (const name of Object.keys(onward)) expect(at.contoso.asked[0]?.has(name)).toBe(false);
  });

  test('with `max_age` or `prompt=login` the `auth_time` of the provider is required and checked', async () => {
    at.contoso.age = 290;
    const old = decodeJwt((await redeemed(await byContoso(new Agent(), { max_age: '300' }))).id_token);
    expect(Number(old.iat) - Number(old.auth_time)).toBeGreaterThanOrEqual(290);
    at.contoso.instead = withIdToken((claims) => ({ ...claims, auth_time: epochSeconds() - 4000 }));
    for (const asked of [{ max_age: '300' }, { prompt: 'login' }])
      expect(titleOf(await byContoso(new Agent(), asked as never))).toBe('Signing in with Contoso ID did not work');
    at.contoso.instead = withIdToken(({ auth_time: _, ...claims }) => claims);
    for (const asked of [{ max_age: '300' }, { prompt: 'login' }])
      expect(titleOf(await byContoso(new Agent(), asked as never))).toBe('Signing in with Contoso ID did not work');
    expect(membersOf(await byContoso(new Agent()))).toHaveProperty('code');
  });

  test('how the user is authenticated is decided by the service: a tenant that allows passwords alone takes no answer of a provider', async () => {
    const { tenants } = service.idp.directory;
    await tenants.update(at.ids.globex, { signIn: { methods: ['password'] } });
    try {
      const refused = await byContoso(new Agent());
      expect([refused.status, titleOf(refused)]).toEqual([400, 'You don’t have access to Web shop']);
      await tenants.update(at.ids.globex, { signIn: { methods: ['contoso'] } });
      expect(membersOf(await through(new Agent(), { acr_values: `tenant:${at.ids.globex}` }))).toHaveProperty('code');
      const password = await signIn(new Agent(), url(), 'bob@globex.test', 'bob');
      expect([password.status, password.location]).toEqual([400, undefined]);
    } finally {
      await tenants.update(at.ids.globex, { signIn: null });
    }
  });

  test('signIn.methods holds connection ids of the tenant and of the instance, checked when written', async () => {
    const { tenants } = service.idp.directory;
    const acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    await expect(tenants.update(acme, { signIn: { methods: ['contoso', 'password'] } })).rejects.toMatchObject({ code: 'invalid_record' });
    await tenants.update(acme, { signIn: { methods: ['social', 'password'] } });
    await tenants.update(acme, { signIn: null });
  });

  test('home-realm discovery: an e-mail domain belongs to a connection, and the name goes on as login_hint', async () => {
    const agent = new Agent();
    const typed = await agent.submit(await open(agent), { identifier: 'Bob@CONTOSO.test' });
    expect(membersOf(await agent.follow(await agent.get(await atUpstream(at.contoso, typed))))).toHaveProperty('code');
    expect(at.contoso.asked[0]?.get('login_hint')).toBe('Bob@CONTOSO.test');
    const acme = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const elsewhere = new Agent();
    const page = await elsewhere.submit(await open(elsewhere, { acr_values: `tenant:${acme}` }), { identifier: 'bob@contoso.test' });
    expect(page.body).toContain('name="password"');
  });
});

describe('who is meant: an identity that was recorded, never an e-mail address', () => {
  const newcomer = { sub: 'nina-1', email: 'nina@contoso.test', email_verified: true, given_name: 'Nina', family_name: 'Nilsen' };

  test('just-in-time creation by policy of the connection: once, and a later sign-in changes only the fields marked so', async () => {
    at.contoso.person = newcomer;
    const first = decodeJwt((await redeemed(await byContoso(new Agent()))).id_token);
    const made = await service.idp.tenant(at.ids.globex).users.require(String(first.sub));
    expect(made).toMatchObject({
      givenName: 'Nina',
      familyName: 'Nilsen',
      email: 'nina@contoso.test',
      user: {
        userName: 'nina@contoso.test',
        emailVerified: true,
        status: 'active',
        externalIdentities: [{ idp: 'contoso', subject: 'nina-1' }],
      },
    });
    at.contoso.person = { ...newcomer, email: 'other@contoso.test', given_name: 'Ninni', family_name: 'Hansen' };
    const again = decodeJwt((await redeemed(await byContoso(new Agent()))).id_token);
    expect(again.sub).toBe(first.sub);
    expect(await service.idp.tenant(at.ids.globex).users.require(String(first.sub))).toMatchObject({
      givenName: 'Nina',
      familyName: 'Hansen',
      email: 'nina@contoso.test',
      user: { userName: 'nina@contoso.test' },
    });
  });

  test('two first sign-ins at once make one user', async () => {
    at.contoso.person = { ...newcomer, sub: 'twice', email: 'twice@contoso.test' };
    const subjects = await Promise.all([1, 2, 3].map(async () => decodeJwt((await redeemed(await byContoso(new Agent()))).id_token).sub));
    expect(new Set(subjects).size).toBe(1);
  });

  test('an e-mail address that is not verified makes no user', async () => {
    at.contoso.person = { ...newcomer, sub: 'mallory', email: 'mallory@contoso.test', email_verified: false };
    expect(titleOf(await byContoso(new Agent()))).toBe('Your e-mail address is not verified');
    expect(await service.idp.tenant(at.ids.globex).users.findByUserName('mallory@contoso.test')).toBeUndefined();
  });

  test('G10: the address of somebody else opens nothing; signing in to the existing account once connects it', async () => {
    at.contoso.person = { ...newcomer, sub: 'carl-1', email: 'bob@globex.test' };
    const agent = new Agent();
    const refused = await byContoso(agent);
    expect([refused.status, titleOf(refused)]).toEqual([400, 'There is an account of this name already']);
    await service.idp.tenant(at.ids.globex).users.removeIdentity(at.ids.bob, { idp: 'contoso', subject: 'bob-there' });
    try {
      const page = await agent.follow(await agent.submit(refused, { step: 'link' }));
      expect(isSignInPage(page)).toBe(true);
      const password = await agent.submit(page, { identifier: 'bob@globex.test' });
      const confirm = await agent.follow(await agent.submit(password, { password: 'bob' }));
      expect(titleOf(confirm)).toBe('Connect these accounts?');
      // Another browser cannot confirm it, and a form without its token cannot.
      const { action, fields } = formOf(confirm);
      expect((await new Agent().post(action, fields)).status).toBeGreaterThanOrEqual(400);
      expect((await agent.post(action, { ...fields, csrf: 'x' })).status).toBe(400);
      const done = await agent.follow(await agent.submit(confirm, {}));
      expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: at.ids.bob, idp: 'contoso', amr: ['external'] });
      expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ sub: at.ids.bob });
      await told('UserIdentityAdded', at.ids.bob);
    } finally {
      await service.idp.tenant(at.ids.globex).users.update(at.ids.bob, {
        externalIdentities: ['contoso', 'social'].map((idp) => ({ idp, subject: 'bob-there' })),
      });
    }
  });

  test('MFA-OLDSESSION: a user who has a second factor proves it before an identity is connected, by whichever method they signed in', async () => {
    const { persons } = service.idp.tenant(at.ids.globex);
    const userName = 'dora@globex.test';
    const externalIdentities = [{ idp: 'social', subject: 'dora' }];
    const { user } = await persons.create({ givenName: 'Dora', familyName: 'D', user: { userName, externalIdentities, status: 'active' } });
    await service.idp.directory.credentials.seedPassword(user?.id ?? '', 'dora');
    const { secret } = await enrol(new Agent(), url({ acr_values: 'mfa' }), userName, 'dora');
    at.contoso.person = { ...newcomer, sub: 'dora-1', email: userName };
    at.social.person = { sub: 'dora' };
    const agent = new Agent();
    const page = await agent.follow(await agent.submit(await byContoso(agent), { step: 'link' }));
    const challenge = await agent.follow(await agent.get(await atUpstream(at.social, await press(agent, page, 'social'))));
    expect(titleOf(challenge)).toBe('Confirm that it is you');
    const confirm = await submit(agent, challenge, { code: codeOf(secret, 1) });
    expect(titleOf(confirm)).toBe('Connect these accounts?');
    const done = await agent.follow(await agent.submit(confirm, {}));
    expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: user?.id, idp: 'contoso' });
  });

  test('the first sign-in by a recorded identity activates an invited user and raises UserRegistered', async () => {
    const { persons } = service.idp.tenant(at.ids.globex);
    const { user } = await persons.create({
      givenName: 'Ines',
      familyName: 'Invited',
      user: { userName: 'ines@globex.test', externalIdentities: [{ idp: 'contoso', subject: 'ines' }] },
    });
    at.contoso.person = { sub: 'ines' };
    expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ sub: user?.id });
    await told('UserRegistered', user?.id);
    expect((await service.idp.tenant(at.ids.globex).users.require(user?.id ?? '')).user.status).toBe('active');
  });

  test('a connection of one tenant signs nobody in to another, whatever is recorded there', async () => {
    const { tenants, accounts } = service.idp.directory;
    const acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const carol = (await accounts.candidates('carol@acme.test'))[0]?.person.user.id ?? '';
    await service.idp.tenant(acme).users.addIdentity(carol, { idp: 'contoso', subject: 'carol' });
    at.contoso.person = { sub: 'carol' };
    expect((await byContoso(new Agent())).location).toBeUndefined();
    const page = await open(new Agent(), { acr_values: `idp:contoso tenant:${acme}` });
    expect([page.status, titleOf(page)]).toEqual([400, 'You don’t have access to Acme']);
    await service.idp.tenant(acme).users.removeIdentity(carol, { idp: 'contoso', subject: 'carol' });
  });

  test('an identity that opens accounts of two tenants: the person chooses, and no form of another browser or sign-in does', async () => {
    const { tenants, accounts } = service.idp.directory;
    const acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const carol = (await accounts.candidates('carol@acme.test'))[0]?.person.user.id ?? '';
    await service.idp.tenant(acme).users.addIdentity(carol, { idp: 'social', subject: 'bob-there' });
    const agent = new Agent();
    const page = await through(agent, { acr_values: 'idp:social' }, at.social);
    expect(titleOf(page)).toBe('Choose an organisation');
    const choices = [...page.body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, value = '']) => value);
    expect(choices.map((choice) => choice.split(' ')[0]).sort()).toEqual([at.ids.bob, carol].sort());
    const choice = choices.find((one) => one.startsWith(carol)) ?? '';
    const other = new Agent();
    const elsewhere = await through(other, { acr_values: 'idp:social' }, at.social);
    expect((await other.submit(elsewhere, { choice })).location).toMatch(/restart=yes$/);
    expect((await agent.submit(page, { choice: choice.replace(carol, at.ids.bob) })).location).toMatch(/restart=yes$/);
    // PG-MAILPENDING: a sign-out everywhere also ends a sign-in that waits for the choice.
    const late = new Agent();
    const before = await through(late, { acr_values: 'idp:social' }, at.social);
    await service.idp.tenant(acme).users.signOutEverywhere(carol);
    const lateChoice = [...before.body.matchAll(/name="choice" value="([^"]+)"/g)]
      .map(([, value = '']) => value)
      .find((one) => one.startsWith(carol));
    expect((await late.submit(before, { choice: lateChoice ?? '' })).location).toMatch(/restart=yes$/);
    const again = await through(agent, { acr_values: 'idp:social' }, at.social);
    const fresh = [...again.body.matchAll(/name="choice" value="([^"]+)"/g)]
      .map(([, value = '']) => value)
      .find((one) => one.startsWith(carol));
    const done = await agent.follow(await agent.submit(again, { choice: fresh ?? '' }));
    expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: carol, tid: acme, idp: 'social' });
    // If the request names the tenant, no page asks.
    const asked = await through(new Agent(), { acr_values: `idp:social tenant:${at.ids.globex}` }, at.social);
    expect(decodeJwt((await redeemed(asked)).id_token)).toMatchObject({ sub: at.ids.bob, tid: at.ids.globex });
    await service.idp.tenant(acme).users.removeIdentity(carol, { idp: 'social', subject: 'bob-there' });
  });

  test('a linked account is not opened by an identity of its own: its parent’s credentials are', async () => {
    const { accounts } = service.idp.directory;
    const child = (await accounts.candidates('alice@globex.test'))[0]?.person.user.id ?? '';
    await service.idp.tenant(at.ids.globex).users.addIdentity(child, { idp: 'contoso', subject: 'alice-child' });
    at.contoso.person = { sub: 'alice-child' };
    expect((await byContoso(new Agent())).location).toBeUndefined();
  });
});
