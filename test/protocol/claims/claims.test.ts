import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { defineClaims } from 'tenant-idp';
import { type Agent, authorizeUrl, basic, createPkce, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { startIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const asked: string[] = [];
let isAway = true;
const hr = defineClaims({
  name: 'hr',
  load: async ({ person, client, scopes }) => {
    asked.push(`${person.givenName} ${client?.id} ${[...scopes].sort().join(' ')}`);
    return { costCentre: `CC-${person.familyName}` };
  },
  claims: {
    cost_centre: { scope: 'hr', type: 'string', description: 'Cost centre', value: ({ data }) => data.costCentre },
    manager: { scope: 'hr', type: 'string', description: 'Manager', in: ['userinfo'], value: () => 'm-1' },
  },
});
const hanging = defineClaims({
  name: 'hanging',
  load: () => new Promise<{ value: string }>(() => undefined),
  claims: { slow: { scope: 'slow', type: 'string', description: 'Slow', value: ({ data }) => data.value } },
  timeoutMs: 100,
});
const failing = defineClaims({
  name: 'failing',
  claims: {
    vital: {
      scope: 'vital',
      type: 'string',
      description: 'Vital',
      value: () => {
        if (isAway) throw new Error('the system behind it is away');
        return 'there';
      },
    },
  },
  onError: 'fail',
});

const standard = 'openid profile email phone org roles perms address';
const scopes = [...standard.split(' '), 'hr', 'slow', 'vital'];
let endpoints: Endpoints;
let alice: Agent;
let bob: Agent;
const service = useIdp({ claims: [hr, hanging, failing] });
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  for (const id of ['web', 'jwt']) await service.idp.directory.clients.update(id, { allowedScopes: scopes });
  ({ agent: alice } = await obtainTokens(service.issuer));
  ({ agent: bob } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' }));
});

const accountOf = async (userName: string) => {
  const [account] = await service.idp.directory.accounts.candidates(userName);
  if (!account) throw new Error(`no ${userName}`);
  return account;
};
const tokensOf = async (agent: Agent, scope: string, client = 'web'): Promise<Json> =>
  (await obtainTokens(service.issuer, { agent, scope, client, secret: `${client}-secret` })).tokens;
const userinfoOf = async (agent: Agent, scope: string): Promise<Json> =>
  (await endpoints.userinfo((await tokensOf(agent, scope)).access_token)).json;

/** Claims that every user has, with every scope. */
const always = ['sub', 'tid', 'oid'];
const without = (claims: Json, names: readonly string[]) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)));

async function defaultTable() {
  const acme = await accountOf('alice@acme.test');
  const globex = await accountOf('alice@globex.test');
  return {
    profile: {
      family_name: 'Adams',
      given_name: 'Alice',
      name: 'Alice Adams',
      preferred_username: 'alice@acme.test',
      picture: 'AA',
    },
    email: {
      email: 'alice@acme.test',
      email_verified: true,
      secondary_emails: [{ email: 'alice@globex.test', email_verified: false }],
    },
    phone: { phone_number: '+4790000001', phone_number_verified: false },
    org: {
      orgid: acme.tenant.id,
      orgin: '910000001',
      company_name: 'Acme',
      may_login: [{ oid: globex.person.user.id, tid: globex.tenant.id, companyname: 'Globex' }],
    },
    roles: { role: ['Sales'] },
    perms: { perm: ['orders.approve', 'orders.view'] },
    address: {},
  };
}

describe('Default claims', () => {
  test('Default claims: userinfo has the whole table', async () => {
    const { tenant, person } = await accountOf('alice@acme.test');
    expect(await userinfoOf(alice, standard)).toEqual({
      sub: person.user.id,
      oid: person.user.id,
      tid: tenant.id,
      ...Object.assign({}, ...Object.values(await defaultTable())),
    });
  });

  test('Default claims: each scope grants its own and no others', async () => {
    for (const [scope, claims] of Object.entries(await defaultTable()))
      expect(without(await userinfoOf(alice, `openid ${scope}`), always)).toEqual(claims);
  });

  test('Default claims: the ID token has them for a client with idTokenClaims "scopes", and only those of the scopes', async () => {
    const { profile, org } = await defaultTable();
    const claims = decodeJwt((await tokensOf(alice, 'openid profile org', 'jwt')).id_token);
    expect(claims).toMatchObject({ ...profile, ...org });
    expect(claims).not.toHaveProperty('email');
  });

  test('Default claims: the ID token of other clients is minimal', async () => {
    const claims = decodeJwt((await tokensOf(alice, standard)).id_token);
    const expected = ['amr', 'aud', 'auth_time', 'exp', 'iat', 'idp', 'iss', 'oid', 'sid', 'sub', 'tid'];
    expect(Object.keys(claims).sort()).toEqual(expected);
  });

  test('Default claims: what somebody does not have is left out; lists are there, empty', async () => {
    const { tenant, person } = await accountOf('bob@globex.test');
    expect(await userinfoOf(bob, standard)).toEqual({
      sub: person.user.id,
      tid: tenant.id,
      family_name: 'Brown',
      given_name: 'Bob',
      name: 'Bob Brown',
      preferred_username: 'bob@globex.test',
      picture: 'BB',
      email: 'bob@globex.test',
      email_verified: true,
      phone_number_verified: false,
      orgid: tenant.id,
      company_name: 'Globex',
      role: [],
      perm: [],
    });
  });

  test('Default claims: the e-mail address twice, once for a client that wants a string', async () => {
    const { person, tenant } = await accountOf('bob@globex.test');
    await service.idp.tenant(tenant.id).persons.update(person.id, { secondEmail: 'bob@home.test' });
    expect(await userinfoOf(bob, 'openid email')).toMatchObject({ email: ['bob@globex.test', 'bob@home.test'] });
    expect(decodeJwt((await tokensOf(bob, 'openid email', 'jwt')).id_token)).toMatchObject({ email: ['bob@globex.test', 'bob@home.test'] });
    await service.idp.directory.clients.update('jwt', { email: 'first' });
    expect(decodeJwt((await tokensOf(bob, 'openid email', 'jwt')).id_token)).toMatchObject({ email: 'bob@globex.test' });
  });

  test('Default claims: the organisation of a subsidiary; a picture and a language that there are', async () => {
    const { person, tenant } = await accountOf('bob@globex.test');
    const services = service.idp.tenant(tenant.id);
    const north = await services.subsidiaries.create({ name: 'Globex North', organisationNumber: '910000009' });
    await services.persons.update(person.id, { subsidiaryId: north.id, pictureUrl: 'https://pictures.test/bob.png', locale: 'nb-NO' });
    expect(await userinfoOf(bob, 'openid org profile')).toMatchObject({
      tid: tenant.id,
      orgid: north.id,
      orgin: '910000009',
      company_name: 'Globex North',
      picture: 'https://pictures.test/bob.png',
      locale: 'nb-NO',
    });
  });

  test('Default claims: the option email says what it is for clients and API resources that do not say', async () => {
    const one = await startIdp({ email: 'first' });
    try {
      const [account] = await one.idp.directory.accounts.candidates('alice@acme.test');
      const { persons } = one.idp.tenant(account?.tenant.id ?? '');
      await persons.update(account?.person.id ?? '', { secondEmail: 'alice@home.test' });
      const endpoints = endpointsOf(one.issuer);
      const { tokens } = await obtainTokens(one.issuer, { scope: 'openid email' });
      const emailNow = async () => (await endpoints.userinfo(tokens.access_token)).json.email;
      expect(await emailNow()).toBe('alice@acme.test');
      await one.idp.directory.clients.update('web', { email: 'all' });
      expect(await emailNow()).toEqual(['alice@acme.test', 'alice@home.test']);
      await one.idp.directory.clients.update('web', { email: null });
      expect(await emailNow()).toBe('alice@acme.test');
    } finally {
      await one.close();
    }
  });

  test('Default claims: picture is the initials of a person without a picture, and absent with initialsAsPicture: false', async () => {
    expect(await userinfoOf(alice, 'openid profile')).toMatchObject({ picture: 'AA' });
    const plain = await startIdp({ initialsAsPicture: false });
    const { tokens } = await obtainTokens(plain.issuer, { scope: 'openid profile' });
    const { json } = await endpointsOf(plain.issuer).userinfo(tokens.access_token);
    await plain.close();
    expect(json).toMatchObject({ name: 'Alice Adams' });
    expect(json).not.toHaveProperty('picture');
  });

  test('Default claims: userinfo tells what is true now, not what was at sign-in', async () => {
    const { access_token: token } = await tokensOf(bob, 'openid phone');
    const { person, tenant } = await accountOf('bob@globex.test');
    await service.idp.tenant(tenant.id).persons.update(person.id, { phoneNumber: '+4790000002', phoneNumberVerified: true });
    expect((await endpoints.userinfo(token)).json).toMatchObject({ phone_number: '+4790000002', phone_number_verified: true });
  });
});

describe('design §3: claim plugins', () => {
  test('design §3: their claims, scopes and descriptions follow from the declaration', async () => {
    const discovery = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Json;
    expect(discovery.scopes_supported).toEqual(expect.arrayContaining(['hr', 'slow', 'vital']));
    expect(discovery.claims_supported).toEqual(expect.arrayContaining(['cost_centre', 'manager', 'slow', 'vital']));
    expect(await userinfoOf(alice, 'openid hr')).toMatchObject({ cost_centre: 'CC-Adams', manager: 'm-1' });
  });

  test('design §3: a claim goes where it was declared for', async () => {
    const claims = decodeJwt((await tokensOf(alice, 'openid hr', 'jwt')).id_token);
    expect(claims).toMatchObject({ cost_centre: 'CC-Adams' });
    expect(claims).not.toHaveProperty('manager');
  });

  test('design §3: their data is loaded once for a request, and only when a claim is wanted', async () => {
    const tokens = await tokensOf(alice, 'openid hr');
    asked.length = 0;
    await endpoints.userinfo(tokens.access_token);
    expect(asked).toEqual(['Alice web hr openid']);
    await userinfoOf(alice, 'openid profile');
    expect(asked).toHaveLength(1);
  });

  test('design §3: one that hangs costs its time-out and its own claims', async () => {
    const claims = await userinfoOf(alice, 'openid profile hr slow');
    expect(claims).toMatchObject({ name: 'Alice Adams', cost_centre: 'CC-Adams' });
    expect(claims).not.toHaveProperty('slow');
  });

  test('design §3: one that must not fail answers 503 temporarily_unavailable with Retry-After', async () => {
    const { access_token: token } = await tokensOf(alice, 'openid vital');
    const answer = await endpoints.userinfo(token);
    expect(answer).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(answer.json)).not.toContain('the system behind it');
  });

  test('design §3: the same at the token endpoint; the code is still good when it is back', async () => {
    const pkce = createPkce();
    const request = authorizeUrl(service.issuer, {
      client_id: 'jwt',
      scope: 'openid vital',
      code_challenge: pkce.challenge,
      code_challenge_method: 'S256',
    });
    const { location = '' } = await alice.get(request);
    const fields = {
      grant_type: 'authorization_code',
      code: new URL(location).searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: pkce.verifier,
    };
    const redeem = () => postForm(`${service.issuer}/connect/token`, fields, { authorization: basic('jwt', 'jwt-secret') });
    for (const attempt of ['first', 'second']) {
      const answer = await redeem();
      expect([attempt, answer.status, answer.json.error]).toEqual([attempt, 503, 'temporarily_unavailable']);
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    }
    isAway = false;
    const { json } = await redeem();
    expect(decodeJwt(json.id_token)).toMatchObject({ vital: 'there' });
  });
});
