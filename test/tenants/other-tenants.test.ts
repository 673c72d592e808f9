import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { defineClaims } from 'tenant-idp';
import { type Json, obtainTokens, postForm } from '../support/client/agent.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const everything = ['openid', 'org', 'email', 'family'];
const client = (id: string, more: object) => ({
  id,
  name: id,
  secret: `${id}-secret`,
  metadata: { redirect_uris: [redirectUri] },
  allowedScopes: everything,
  idTokenClaims: 'scopes' as const,
  ...more,
});
const initech = {
  name: 'Initech',
  persons: [
    {
      givenName: 'Alice',
      familyName: 'Adams',
      email: 'alice@initech.test',
      user: { userName: 'alice@initech.test', linkedTo: { userName: 'alice@acme.test', tenant: 'Acme' } },
    },
  ],
};
/** Values that a host's own claim can contain. */
const familyClaim = defineClaims({
  name: 'family',
  claims: {
    family: {
      scope: 'family',
      type: 'strings',
      description: 'Tenants of the family',
      value: async ({ lookups }) => (await lookups.linkedAccounts()).map(({ tenant }) => tenant.name).sort(),
    },
  },
});
const service = useIdp({
  claims: [familyClaim],
  seed: {
    ...testSeed,
    tenants: [...testSeed.tenants, initech],
    clients: [
      ...testSeed.clients,
      client('all-tenants', {}),
      client('two-tenants', { allowedTenants: ['Acme', 'Globex'] }),
      client('one-tenant', { allowedTenants: ['Acme'] }),
      client('pairwise-two', {
        allowedTenants: ['Acme', 'Globex'],
        metadata: { redirect_uris: [redirectUri], subject_type: 'pairwise' },
      }),
    ],
    apiResources: [
      ...testSeed.apiResources,
      { id: 'two-api', name: 'Two', secret: 'two-api-secret', scopes: [], allowedTenants: ['Acme', 'Globex'] },
      { id: 'one-api', name: 'One', secret: 'one-api-secret', scopes: [], allowedTenants: ['Acme'] },
    ],
  },
});

/** Returns the organisations of the other accounts in an answer, by each claim that can contain them. */
const told = ({ may_login = [], secondary_emails = [], family }: Json) => ({
  may_login: may_login.map(({ companyname }: Json) => companyname).sort(),
  secondary_emails: secondary_emails.map(({ email }: Json) => email).sort(),
  family,
});
const of = (...tenants: ('Globex' | 'Initech')[]) => ({
  may_login: tenants,
  secondary_emails: tenants.map((tenant) => `alice@${tenant.toLowerCase()}.test`),
  family: ['Acme', ...tenants],
});
const introspect = async (caller: string, sub: string, tid: string) =>
  (await postForm(`${service.issuer}/connect/scope/introspect`, { sub, tid, scope: 'openid org email family' }, credentialsOf(caller)))
    .json;

test.each([
  ['all-tenants', of('Globex', 'Initech')],
  ['two-tenants', of('Globex')],
  ['pairwise-two', of('Globex')],
  ['one-tenant', of()],
])('M8: linked accounts, to client %s: those in its tenants', async (id, expected) => {
  const { tokens } = await obtainTokens(service.issuer, { client: id, secret: `${id}-secret`, scope: everything.join(' ') });
  const claims: Json = decodeJwt(tokens.id_token);
  const { sub, tid } = claims;
  expect(told(claims)).toEqual(expected);
  // The first request is answered by the service itself, the second by oidc-provider.
  for (const query of ['', '?unknown=1']) {
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const response = await fetch(`${service.issuer}/connect/userinfo${query}`, { headers });
    expect(told(await response.json())).toEqual(expected);
  }
  expect(told(await introspect(id, sub, tid))).toEqual(expected);
  expect(told(await service.idp.introspectScopes({ client: id, sub, tid, scope: 'openid org email family' }))).toEqual(expected);
});

test.each([
  ['orders', of('Globex', 'Initech')],
  ['two-api', of('Globex')],
  ['one-api', of()],
])('M8: linked accounts, to API resource %s: those in its tenants', async (id, expected) => {
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  const [sub, tid] = [account?.person.user.id ?? '', account?.tenant.id ?? ''];
  expect(told(await introspect(id, sub, tid))).toEqual(expected);
  expect(told(await service.idp.introspectScopes({ client: id, sub, tid, scope: 'openid org email family' }))).toEqual(expected);
});

test('may_login leaves out accounts that cannot sign in', async () => {
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  const [child] = await service.idp.directory.accounts.candidates('alice@globex.test');
  const named = { sub: account?.person.user.id ?? '', tid: account?.tenant.id ?? '', scope: 'openid org email' };
  const { users } = service.idp.tenant(child?.tenant.id ?? '');
  const { tenants } = service.idp.directory;
  const mayLogin = async () => told(await service.idp.introspectScopes(named)).may_login;
  const changes: [() => Promise<unknown>, () => Promise<unknown>][] = [
    [() => users.disable(child?.person.user.id ?? ''), () => users.enable(child?.person.user.id ?? '')],
    [() => tenants.disable(child?.tenant.id ?? ''), () => tenants.enable(child?.tenant.id ?? '')],
  ];
  for (const [away, back] of changes) {
    await away();
    expect(await mayLogin()).toEqual(['Initech']);
    await back();
    expect(await mayLogin()).toEqual(['Globex', 'Initech']);
  }
});

test('M8: the host itself knows all', async () => {
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  const [sub, tid] = [account?.person.user.id ?? '', account?.tenant.id ?? ''];
  expect(told(await service.idp.introspectScopes({ sub, tid, scope: 'openid org email family' }))).toEqual(of('Globex', 'Initech'));
});
