/** Issue 14, external sign-in; service specification 4.2. The providers are bare oidc-provider, over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, postForm, signIn, titleOf } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { introspect } from '../support/client/steps.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { atUpstream, press, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

let contoso: UpstreamProvider;
let social: UpstreamProvider;
const service = useIdp(async () => {
  [contoso, social] = await Promise.all([startUpstream(), startUpstream()]);
  const common = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
  return {
    seed: {
      ...testSeed,
      extensions: {
        connections: [
          {
            ...common,
            id: 'contoso',
            tenant: 'Globex',
            name: 'Contoso ID',
            issuer: contoso.issuer,
            createUsersIn: 'Globex',
            domains: ['Contoso.test'],
            linkBySignIn: true,
            mfa: { amr: ['otp'], acr: ['high'] },
            mapping: {
              userName: { claim: 'email' },
              email: { claim: 'email' },
              givenName: { claim: 'given_name' },
              familyName: { claim: 'family_name', update: true },
            },
          },
          {
            ...common,
            id: 'social',
            name: 'Social',
            issuer: social.issuer,
            renamed: [{ name: 'eid_user_visible_data', as: 'shown_text' }],
          },
        ],
      },
    } as never,
  };
});

let globex: string;
let bob: string;
beforeAll(async () => {
  contoso.register(service.issuer, ['contoso']);
  social.register(service.issuer, ['social']);
  const { tenants, accounts } = service.idp.directory;
  globex = (await tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
  bob = (await accounts.candidates('bob@globex.test'))[0]?.person.user.id ?? '';
  const externalIdentities = ['contoso', 'social'].map((idp) => ({ idp, subject: 'bob-there' }));
  await service.idp.tenant(globex).users.update(bob, { externalIdentities });
});
afterAll(() => Promise.all([contoso?.close(), social?.close()]));
beforeEach(() => {
  for (const upstream of [contoso, social]) {
    upstream.person = { sub: 'bob-there' };
    upstream.age = 0;
    upstream.instead = undefined;
    upstream.asked.length = 0;
  }
});

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const open = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(url(parameters)));
/** By way of the provider, to where the sign-in ends. */
async function through(agent: Agent, parameters: Record<string, string>, upstream = contoso): Promise<Answer> {
  const begun = await open(agent, parameters);
  return agent.follow(await agent.get(await atUpstream(upstream, begun)));
}
const byContoso = (agent: Agent, more: Record<string, string> = {}) => through(agent, { acr_values: 'idp:contoso', ...more });
const redeemed = async (response: Answer) => {
  const fields = { grant_type: 'authorization_code', code: membersOf(response).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('web'))).json;
};
const textOf = ({ body }: Answer) => body.replace(/<style[\s\S]*?<\/style>/g, '');

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
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: bob, tid: globex, amr: ['external'], idp: 'contoso' });
    expect((await introspect(service.issuer, tokens.access_token)).json).toMatchObject({ amr: ['external'], idp: 'contoso' });
    const local = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    expect(decodeJwt(local.tokens.id_token)).toMatchObject({ amr: ['pwd'], idp: 'local' });
  });

  test('`idp` in `acr_values` selects the method, and a button does', async () => {
    const agent = new Agent();
    const page = await open(agent, { ui_locales: 'nb' });
    expect(page.body).toContain('value="social">Fortsett med Social</button>');
    // Whose people sign in by it is known to its tenant alone.
    expect(page.body).not.toContain('Contoso');
    const done = await agent.follow(await agent.get(await atUpstream(social, await press(agent, page, 'social'))));
    expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: bob, idp: 'social' });
    const ofTenant = await open(new Agent(), { acr_values: `tenant:${globex}` });
    expect(ofTenant.body).toContain('value="contoso">Continue with Contoso ID</button>');
    expect(membersOf(await open(new Agent(), { acr_values: 'idp:nobody' }))).toMatchObject({ error: 'unmet_authentication_requirements' });
  });

  test('several `amr` occur together: `mfa` where the connection maps the upstream `amr` or `acr`', async () => {
    for (const told of [{ amr: ['pwd', 'otp'] }, { acr: 'high' }]) {
      contoso.instead = withIdToken((claims) => ({ ...claims, ...told }));
      expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ amr: ['external', 'mfa'] });
    }
    contoso.instead = withIdToken((claims) => ({ ...claims, amr: ['pwd'], acr: 'low' }));
    expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ amr: ['external'] });
  });

  test('the request is a code with PKCE, state and nonce, with a redirect URI of the connection alone', async () => {
    await byContoso(new Agent());
    const asked = Object.fromEntries(contoso.asked[0] ?? []);
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
    expect(Object.fromEntries(contoso.asked[0] ?? [])).toMatchObject(eid);
    expect(contoso.asked[0]?.has('eid_call_initiator')).toBe(false);
    await through(new Agent(), { acr_values: 'idp:social', eid_user_visible_data: text }, social);
    expect(social.asked[0]?.get('shown_text')).toBe(text);
    expect([...(social.asked[0]?.keys() ?? [])].filter((name) => name.startsWith('eid_'))).toEqual([]);
  });

  test('`prompt`, `max_age`, `ui_locales`, `login_hint` go on to the method', async () => {
    const onward = { prompt: 'login', max_age: '300', ui_locales: 'fi sv', login_hint: 'bob@contoso.test' };
    expect(membersOf(await byContoso(new Agent(), onward))).toHaveProperty('code');
    expect(Object.fromEntries(contoso.asked[0] ?? [])).toMatchObject(onward);
    contoso.asked.length = 0;
    await byContoso(new Agent());
    for (const name of Object.keys(onward)) expect(contoso.asked[0]?.has(name)).toBe(false);
  });

  test('with `max_age` or `prompt=login` the `auth_time` of the provider is required and checked', async () => {
    contoso.age = 290;
    const old = decodeJwt((await redeemed(await byContoso(new Agent(), { max_age: '300' }))).id_token);
    expect(Number(old.iat) - Number(old.auth_time)).toBeGreaterThanOrEqual(290);
    contoso.instead = withIdToken((claims) => ({ ...claims, auth_time: Math.floor(Date.now() / 1000) - 4000 }));
    for (const asked of [{ max_age: '300' }, { prompt: 'login' }])
      expect(titleOf(await byContoso(new Agent(), asked as never))).toBe('Signing in with Contoso ID did not work');
    contoso.instead = withIdToken(({ auth_time: _, ...claims }) => claims);
    for (const asked of [{ max_age: '300' }, { prompt: 'login' }])
      expect(titleOf(await byContoso(new Agent(), asked as never))).toBe('Signing in with Contoso ID did not work');
    expect(membersOf(await byContoso(new Agent()))).toHaveProperty('code');
  });

  test('how the user is authenticated is decided by the service: a tenant that allows passwords alone takes no answer of a provider', async () => {
    const { tenants } = service.idp.directory;
    await tenants.update(globex, { signIn: { methods: ['password'] } });
    try {
      const refused = await byContoso(new Agent());
      expect([refused.status, titleOf(refused)]).toEqual([400, 'You don’t have access to Web shop']);
      await tenants.update(globex, { signIn: { methods: ['contoso'] } });
      expect(membersOf(await through(new Agent(), { acr_values: `tenant:${globex}` }))).toHaveProperty('code');
      const password = await signIn(new Agent(), url(), 'bob@globex.test', 'bob');
      expect([password.status, password.location]).toEqual([400, undefined]);
    } finally {
      await tenants.update(globex, { signIn: null });
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
    expect(membersOf(await agent.follow(await agent.get(await atUpstream(contoso, typed))))).toHaveProperty('code');
    expect(contoso.asked[0]?.get('login_hint')).toBe('Bob@CONTOSO.test');
    const acme = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const elsewhere = new Agent();
    const page = await elsewhere.submit(await open(elsewhere, { acr_values: `tenant:${acme}` }), { identifier: 'bob@contoso.test' });
    expect(page.body).toContain('name="password"');
  });
});

/** The token endpoint's ID token with other claims, signed by the provider's own key. */
function withIdToken(change: (claims: Record<string, unknown>) => Record<string, unknown>): UpstreamProvider['instead'] {
  return (req, res) => {
    if (req.url !== '/token' || req.headers['x-again'] === 'yes') return false;
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const headers = { ...(req.headers as Record<string, string>), 'x-again': 'yes' };
      const answer = await fetch(`${contoso.issuer}/token`, { method: 'POST', headers, body: Buffer.concat(chunks) });
      const tokens = (await answer.json()) as { id_token: string };
      const { CompactSign, importJWK, decodeProtectedHeader } = await import('jose');
      const { testKeys } = await import('../support/service/keys.js');
      const header = decodeProtectedHeader(tokens.id_token) as { alg: string; kid?: string };
      const jwk = testKeys.find(({ kid }) => kid === header.kid) ?? testKeys[0];
      const payload = new TextEncoder().encode(JSON.stringify(change(decodeJwt(tokens.id_token))));
      const signed = await new CompactSign(payload).setProtectedHeader(header).sign(await importJWK(jwk as never, header.alg));
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...tokens, id_token: signed }));
    })();
    return true;
  };
}

describe('who is meant: an identity that was recorded, never an e-mail address', () => {
  const newcomer = { sub: 'nina-1', email: 'nina@contoso.test', email_verified: true, given_name: 'Nina', family_name: 'Nilsen' };

  test('just-in-time creation by policy of the connection: once, and a later sign-in changes only the fields marked so', async () => {
    contoso.person = newcomer;
    const first = decodeJwt((await redeemed(await byContoso(new Agent()))).id_token);
    const made = await service.idp.tenant(globex).users.require(String(first.sub));
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
    contoso.person = { ...newcomer, email: 'other@contoso.test', given_name: 'Ninni', family_name: 'Hansen' };
    const again = decodeJwt((await redeemed(await byContoso(new Agent()))).id_token);
    expect(again.sub).toBe(first.sub);
    expect(await service.idp.tenant(globex).users.require(String(first.sub))).toMatchObject({
      givenName: 'Nina',
      familyName: 'Hansen',
      email: 'nina@contoso.test',
      user: { userName: 'nina@contoso.test' },
    });
  });

  test('two first sign-ins at once make one user', async () => {
    contoso.person = { ...newcomer, sub: 'twice', email: 'twice@contoso.test' };
    const subjects = await Promise.all([1, 2, 3].map(async () => decodeJwt((await redeemed(await byContoso(new Agent()))).id_token).sub));
    expect(new Set(subjects).size).toBe(1);
  });

  test('an e-mail address that is not verified makes no user', async () => {
    contoso.person = { ...newcomer, sub: 'mallory', email: 'mallory@contoso.test', email_verified: false };
    expect(titleOf(await byContoso(new Agent()))).toBe('Your e-mail address is not verified');
    expect(await service.idp.tenant(globex).users.findByUserName('mallory@contoso.test')).toBeUndefined();
  });

  test('G10: the address of somebody else opens nothing; signing in to the existing account once connects it', async () => {
    contoso.person = { ...newcomer, sub: 'carl-1', email: 'bob@globex.test' };
    const agent = new Agent();
    const refused = await byContoso(agent);
    expect([refused.status, titleOf(refused)]).toEqual([400, 'There is an account of this name already']);
    await service.idp.tenant(globex).users.removeIdentity(bob, { idp: 'contoso', subject: 'bob-there' });
    try {
      const page = await agent.follow(await agent.submit(refused, { step: 'link' }));
      expect(isSignInPage(page)).toBe(true);
      const password = await agent.submit(page, { identifier: 'bob@globex.test' });
      const confirm = await agent.follow(await agent.submit(password, { password: 'bob' }));
      expect(titleOf(confirm)).toBe('Connect these accounts?');
      // Nobody else's browser confirms it, and no form without its token does.
      const { action, fields } = formOf(confirm);
      expect((await new Agent().post(action, fields)).status).toBeGreaterThanOrEqual(400);
      expect((await agent.post(action, { ...fields, csrf: 'x' })).status).toBe(400);
      const done = await agent.follow(await agent.submit(confirm, {}));
      expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: bob, idp: 'contoso', amr: ['external'] });
      expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ sub: bob });
      await told('UserIdentityAdded', bob);
    } finally {
      await service.idp.tenant(globex).users.update(bob, {
        externalIdentities: ['contoso', 'social'].map((idp) => ({ idp, subject: 'bob-there' })),
      });
    }
  });

  test('the first sign-in by a recorded identity activates an invited user and raises UserRegistered', async () => {
    const { persons } = service.idp.tenant(globex);
    const { user } = await persons.create({
      givenName: 'Ines',
      familyName: 'Invited',
      user: { userName: 'ines@globex.test', externalIdentities: [{ idp: 'contoso', subject: 'ines' }] },
    });
    contoso.person = { sub: 'ines' };
    expect(decodeJwt((await redeemed(await byContoso(new Agent()))).id_token)).toMatchObject({ sub: user?.id });
    await told('UserRegistered', user?.id);
    expect((await service.idp.tenant(globex).users.require(user?.id ?? '')).user.status).toBe('active');
  });

  test('a connection of one tenant signs nobody in to another, whatever is recorded there', async () => {
    const { tenants, accounts } = service.idp.directory;
    const acme = (await tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
    const carol = (await accounts.candidates('carol@acme.test'))[0]?.person.user.id ?? '';
    await service.idp.tenant(acme).users.addIdentity(carol, { idp: 'contoso', subject: 'carol' });
    contoso.person = { sub: 'carol' };
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
    const page = await through(agent, { acr_values: 'idp:social' }, social);
    expect(titleOf(page)).toBe('Choose an organisation');
    const choices = [...page.body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, value = '']) => value);
    expect(choices.map((choice) => choice.split(' ')[0]).sort()).toEqual([bob, carol].sort());
    const choice = choices.find((one) => one.startsWith(carol)) ?? '';
    const other = new Agent();
    const elsewhere = await through(other, { acr_values: 'idp:social' }, social);
    expect((await other.submit(elsewhere, { choice })).location).toMatch(/restart=yes$/);
    expect((await agent.submit(page, { choice: choice.replace(carol, bob) })).location).toMatch(/restart=yes$/);
    const done = await agent.follow(await agent.submit(page, { choice }));
    expect(decodeJwt((await redeemed(done)).id_token)).toMatchObject({ sub: carol, tid: acme, idp: 'social' });
    // Where the request says which, nobody is asked.
    const asked = await through(new Agent(), { acr_values: `idp:social tenant:${globex}` }, social);
    expect(decodeJwt((await redeemed(asked)).id_token)).toMatchObject({ sub: bob, tid: globex });
    await service.idp.tenant(acme).users.removeIdentity(carol, { idp: 'social', subject: 'bob-there' });
  });

  test('a linked account is not opened by an identity of its own: its parent’s credentials are', async () => {
    const { accounts } = service.idp.directory;
    const child = (await accounts.candidates('alice@globex.test'))[0]?.person.user.id ?? '';
    await service.idp.tenant(globex).users.addIdentity(child, { idp: 'contoso', subject: 'alice-child' });
    contoso.person = { sub: 'alice-child' };
    expect((await byContoso(new Agent())).location).toBeUndefined();
  });
});

describe('each outcome lands on its page and nowhere else', () => {
  test('cancelled: says so, never the text of the provider, and goes on by trying again or another way', async () => {
    contoso.person = undefined;
    const agent = new Agent();
    const page = await agent.follow(await agent.get(await atUpstream(contoso, await open(agent, { acr_values: `idp:contoso` }))));
    expect([page.status, titleOf(page)]).toEqual([200, 'You cancelled in Contoso ID.']);
    expect(textOf(page)).not.toContain('a text of the provider');
    contoso.person = { sub: 'bob-there' };
    const again = await agent.submit(page, { step: 'again' });
    expect(membersOf(await agent.follow(await agent.get(await atUpstream(contoso, again))))).toHaveProperty('code');
  });

  test('cancelled on the way from a page with other ways: they are a link away', async () => {
    social.person = undefined;
    const agent = new Agent();
    const page = await agent.follow(await agent.get(await atUpstream(social, await press(agent, await open(agent), 'social'))));
    const [, href = ''] = /<a[^>]*href="([^"]*restart=yes)"/.exec(page.body) ?? [];
    expect(isSignInPage(await agent.follow(await agent.get(href)))).toBe(true);
  });

  test('failed: the provider does not answer, or answers wrongly', async () => {
    const title = 'Signing in with Contoso ID did not work';
    contoso.instead = (req, res) => req.url === '/token' && Boolean(res.writeHead(500).end('a secret of the provider'));
    const page = await byContoso(new Agent());
    expect([page.status, titleOf(page)]).toEqual([400, title]);
    expect(textOf(page)).not.toContain('secret of the provider');
    expect(textOf(page)).toMatch(/Reference: \S+/);
    contoso.instead = withIdToken((claims) => ({ ...claims, nonce: 'another' }));
    expect(titleOf(await byContoso(new Agent()))).toBe(title);
    contoso.instead = withIdToken((claims) => ({ ...claims, aud: 'another' }));
    expect(titleOf(await byContoso(new Agent()))).toBe(title);
    contoso.instead = withIdToken((claims) => ({ ...claims, iss: social.issuer }));
    expect(titleOf(await byContoso(new Agent()))).toBe('Signing in with Contoso ID was stopped');
    contoso.instead = withIdToken((claims) => ({
      ...claims,
      exp: Math.floor(Date.now() / 1000) + 12,
      iat: Math.floor(Date.now() / 1000) + 12,
    }));
    expect(membersOf(await byContoso(new Agent()))).toHaveProperty('code');
  });

  test('unknown user: no account here for them, and the application gets no code', async () => {
    social.person = { sub: 'stranger', email: 'bob@globex.test', email_verified: true };
    const page = await through(new Agent(), { acr_values: 'idp:social' }, social);
    expect([page.status, titleOf(page), page.location]).toEqual([400, 'There is no account for you yet', undefined]);
    const another = new Agent();
    const refused = await through(another, { acr_values: 'idp:social' }, social);
    await another.submit(refused, { step: 'again' }).then((begun) => atUpstream(social, begun));
    expect(social.asked.at(-1)?.get('prompt')).toBe('select_account');
  });

  test('mix-up: the answer of one provider at the address of another is refused before any token is asked for', async () => {
    const agent = new Agent();
    const back = await atUpstream(contoso, await open(agent, { acr_values: 'idp:contoso' }));
    const before = social.redeemed.length + contoso.redeemed.length;
    const swapped = await agent.follow(await agent.get(back.replace('/connections/contoso/', '/connections/social/')));
    expect([swapped.status, titleOf(swapped)]).toEqual([400, 'Signing in with Contoso ID was stopped']);
    const other = new Agent();
    const wrong = new URL(await atUpstream(contoso, await open(other, { acr_values: 'idp:contoso' })));
    expect(wrong.searchParams.get('iss')).toBe(contoso.issuer);
    wrong.searchParams.set('iss', social.issuer);
    expect(titleOf(await other.follow(await other.get(wrong.href)))).toBe('Signing in with Contoso ID was stopped');
    expect(social.redeemed.length + contoso.redeemed.length).toBe(before);
  });

  test('stolen state: in another browser the answer signs nobody in, and stays good for the one that began', async () => {
    const agent = new Agent();
    const back = await atUpstream(contoso, await open(agent, { acr_values: 'idp:contoso' }));
    const thief = new Agent();
    const stolen = await thief.get((await thief.get(back)).location ?? '');
    expect(stolen.location ?? '').not.toContain('code=');
    expect(membersOf(await agent.follow(await agent.get(back)))).toHaveProperty('code');
  });

  test('replayed: the same answer counts once, also when it comes many times at once', async () => {
    const agent = new Agent();
    const back = await atUpstream(contoso, await open(agent, { acr_values: 'idp:contoso' }));
    const onward = (await agent.get(back)).location ?? '';
    const before = contoso.redeemed.length;
    const all = await Promise.all(Array.from({ length: 5 }, () => agent.get(onward)));
    expect(all.filter(({ location }) => location !== undefined)).toHaveLength(1);
    expect(all.filter((page) => titleOf(page) === 'This step is over')).toHaveLength(4);
    expect(contoso.redeemed.length - before).toBe(1);
  });

  test('unknown, repeated or forged state: a page that leads nowhere else', async () => {
    const callback = `${service.issuer}/idp/connections/contoso/callback`;
    for (const query of ['', '?state=x&code=y', '?state=x&state=y', '?error=access_denied']) {
      const page = await new Agent().get(callback + query);
      expect([page.status, titleOf(page), page.location]).toEqual([400, 'This sign-in cannot go on', undefined]);
    }
  });

  test('a form_post answer is sent on to a GET, so that the cookies come along', async () => {
    const agent = new Agent();
    const back = new URL(await atUpstream(contoso, await open(agent, { acr_values: 'idp:contoso' })));
    const posted = await new Agent().post(back.origin + back.pathname, Object.fromEntries(back.searchParams));
    expect(posted.status).toBe(303);
    expect(membersOf(await agent.follow(await agent.get(posted.location ?? '')))).toHaveProperty('code');
  });

  test('nothing of the provider is kept: neither tokens nor codes are in the log', async () => {
    const agent = new Agent();
    const back = await atUpstream(contoso, await open(agent, { acr_values: 'idp:contoso' }));
    await agent.follow(await agent.get(back));
    const code = new URL(back).searchParams.get('code') ?? '-';
    expect(JSON.stringify(service.lines)).not.toContain(code);
    expect(JSON.stringify(service.lines)).not.toContain(UPSTREAM_SECRET);
  });
});
