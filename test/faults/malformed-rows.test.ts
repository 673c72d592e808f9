/** Threat M17: a malformed row stops no other request. Every member of every collection is broken by absence, type and size. */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Row } from '../../lib/store/directory-store.js';
import { type CollectionName, collections } from '../../lib/store/records/collections.js';
import { wrongPath } from '../../lib/store/records/row-checks.js';
import { Agent, authorizeUrl, basic, createPkce, postForm, signIn } from '../support/client/agent.js';
import { authorizationOf, introspect, obtainCode, redeem, refresh, userinfo } from '../support/client/steps.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { silentLogger } from '../support/service/test-directory.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, operatorSeed, valueFor } from '../support/sign-in/impersonating.js';
import { tellChange } from '../support/stores/told-changes.js';
import { until } from '../support/time/until.js';

const isWhole = process.env.PROVE !== undefined;

const MARK = 'POISON-IN-A-ROW';
type Member = Record<string, unknown>;
const breaks: Readonly<Record<string, unknown>> = {
  absent: undefined,
  null: null,
  ...(isWhole
    ? { number: 42, flag: true, text: MARK, list: [MARK], 'list of null': [null], record: { [MARK]: MARK } }
    : { record: { [MARK]: null } }),
  ...(isWhole
    ? { 'long text': MARK.repeat(100_000), 'long list': Array.from({ length: 200_000 }, () => MARK), largest: Number.MAX_VALUE }
    : {}),
};

const now = new Date();
const row = (id: string) => ({ id, version: 1, createdAt: now, updatedAt: now });
const pending = (subject: string) => ({
  id: randomUUID(),
  type: 'PersonUpdated',
  time: now,
  subject,
  tid: 'tid',
  data: { AggregateId: subject },
});
const client = (id: string): Member => ({
  ...row(id),
  name: 'Client',
  metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code'] },
  secrets: [{ hash: 'sha256:00' }],
  allowedScopes: ['openid'],
  requirePkce: true,
  allowPlainPkce: false,
  requireConsent: false,
  accessTokenType: 'jwt',
  idTokenClaims: 'minimal',
  email: 'all',
  styles: { logoUri: 'https://logo.test', accentColor: '#000000', radius: 1 },
  lifetimes: { accessToken: 1, idToken: 1, refreshTokenIdle: 1, refreshTokenAbsolute: 1 },
  allowedTenants: ['tid'],
  introspects: 'own',
  adminTenants: [],
  trustedLoginHint: false,
  corsOrigins: ['https://cors.test'],
  postRegistrationUri: 'https://after.test',
  status: 'active',
});

/** Rows with every possible member, separate from the rows with which the tests drive the service. */
const templates = (tid: string): Partial<Record<CollectionName, (id: string) => Member>> => ({
  tenants: (id) => ({
    ...row(id),
    name: 'Tenant',
    organisationNumber: '1',
    signIn: { methods: ['password'], requireMfa: false, selfRegistration: true },
    branding: { logoUri: 'https://logo.test' },
    locale: 'en',
    status: 'active',
    notBefore: now,
  }),
  subsidiaries: (id) => ({ ...row(id), tid, name: 'Subsidiary', organisationNumber: '1' }),
  persons: (id) => ({
    ...row(id),
    tid,
    subsidiaryId: 'subsidiary',
    givenName: 'Given',
    familyName: 'Family',
    email: 'person@acme.test',
    secondEmail: 'second@acme.test',
    phoneNumber: '+47 1',
    phoneNumberVerified: true,
    locale: 'nb-NO',
    nationalId: 'sealed',
    nationalIdHash: `hash ${id}`,
    pictureUrl: 'https://picture.test',
    externalId: `external ${id}`,
    attributes: { of: 'plugins' },
    user: {
      id: randomUUID(),
      userName: id,
      userNameKey: id,
      emailVerified: true,
      isParent: false,
      childUserIds: [],
      groupIds: [],
      status: 'active',
      notBefore: now,
      externalIdentities: [{ idp: 'idp', subject: id }],
      externalIdentityKeys: [id],
      invitation: { id: randomUUID(), serial: 1, expiresAt: now, send: true },
      accepted: { id: randomUUID(), at: now, credentialId: randomUUID() },
    },
    pendingEvents: [pending(id)],
    outbox: 'yes',
  }),
  invitations: (id) => ({
    ...row(id),
    tid,
    personId: 'person',
    userId: 'user',
    clientId: 'client',
    clientName: 'Client',
    link: false,
    locale: 'en',
    send: true,
    status: 'pending',
    expiresAt: now,
    acceptedAt: now,
  }),
  credentials: (id) => ({ ...row(id), passwordHash: 'no PHC string' }),
  groups: (id) => ({ ...row(id), tid, name: id, permissionIds: [] }),
  permissions: (id) => ({ ...row(id), name: 'Permission', description: 'Text' }),
  clients: client,
  apiResources: (id) => ({
    ...row(id),
    name: 'API',
    secrets: [{ hash: 'sha256:00' }],
    scopes: [`scope.${id}`],
    introspects: 'own',
    allowedTenants: ['tid'],
    introspectionSignedResponseAlg: 'RS256',
    status: 'active',
  }),
  consents: (id) => ({ ...row(id), userId: 'user', clientId: 'client', scopes: ['openid'], claims: ['email'], at: now }),
  signIns: (id) => ({
    id,
    version: 1,
    signIns: [
      {
        id: 'sign-in',
        at: now,
        amr: ['pwd'],
        idp: 'local',
        method: 'password',
        clientId: 'client',
        grantType: 'grant',
        browser: 'fx',
        system: 'li',
        address: '192.0.2.0',
        isNewBrowser: true,
        isImpersonation: true,
        impersonationId: 'impersonation',
      },
    ],
    browsers: [{ id: 'browser', at: now }],
    oldestAt: now,
  }),
  events: (id) => ({ ...pending(id), id, eventId: id, recordedAt: now, version: 1 }),
  deliveries: (id) => ({
    ...row(id),
    kind: 'backchannel-logout',
    data: { some: 'data' },
    batch: 'batch',
    state: 'waiting',
    attempts: 0,
    due: now,
    problem: 'none',
  }),
  seeds: (id) => ({
    id,
    version: 1,
    recordId: id,
    madeAt: now,
    values: [{ field: 'name', digest: 'digest' }],
    items: [{ field: 'scopes', item: 'item', isInSeed: true }],
  }),
  removedUsers: (id) => ({ id, version: 1, sealed: ['v1.key.iv.text'] }),
  accountEvents: (id) => ({ id, version: 1, tid: '', pendingEvents: [pending(id)], outbox: 'yes' }),
  removals: (id) => ({ ...row(id), by: { actor: 'client:admin', requestId: 'request' } }),
  upkeep: (id) => ({ ...row(id), done: 1 }),
  changes: (id) => ({ id, version: 1, writes: [{ collection: 'persons', ids: ['a'] }] }),
});

/** Paths of the members, two levels deep, through the first element of a list. */
function pathsOf(value: unknown, depth = 0): string[][] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return [];
  return Object.entries(Array.isArray(value) ? value.slice(0, 1) : value)
    .filter(([name]) => depth > 0 || (name !== 'id' && name !== 'version'))
    .flatMap(([name, member]) => [[name], ...(depth < 2 ? pathsOf(member, depth + 1).map((rest) => [name, ...rest]) : [])]);
}

function broken(template: Member, [name = '', ...rest]: readonly string[], by: unknown): Member {
  const copy = (Array.isArray(template) ? [...template] : { ...template }) as Member;
  if (rest.length > 0) copy[name] = broken(copy[name] as Member, rest, by);
  else if (by === undefined) delete copy[name];
  else copy[name] = by;
  return copy;
}

describe('M17: rows that are not of their form', () => {
  const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
  // Hashes take time, so only one user has a password.
  const tenants = JSON.parse(
    JSON.stringify(testSeed.tenants).replaceAll(/"devPassword":"(?!alice)\w+"/g, '"status":"active"'),
  ) as typeof testSeed.tenants;
  const seed = {
    ...testSeed,
    tenants,
    clients: [
      ...testSeed.clients,
      {
        id: 'nightly',
        name: 'Nightly',
        secret: 'nightly-secret',
        metadata: { grant_types: ['client_credentials'] },
        allowedScopes: ['orders.read'],
      },
    ],
  };
  const options = { ...stores, seed, keys: { encryption: ['what the keys are encrypted with in this test'] } };
  /** Creates another node of the same service. */
  const begin = () =>
    createIdentityProvider({ ...options, subjectSalt: 'salt of the test tenant identities', issuer: service.issuer, logger: silentLogger });
  const alice = new Agent();
  const heard: string[] = [];
  let tid: string;
  const service = useIdp(options);
  beforeAll(async () => {
    service.idp.events.on('PersonCreated', ({ subject }) => void heard.push(subject));
    tid = (await service.idp.directory.accounts.candidates('alice@acme.test'))[0]!.tenant.id;
    await obtainCode(service.issuer, alice);
  });

  /** Drives everything that a service does for other users, on a running node and on a starting node. */
  async function drive(): Promise<void> {
    const { issuer, idp } = service;
    await expectServed(issuer);
    const other = await begin();
    try {
      const { port } = (await other.listen(0, '127.0.0.1')).address() as AddressInfo;
      const nightly = await postForm(
        `http://127.0.0.1:${port}/connect/token`,
        { grant_type: 'client_credentials' },
        { authorization: basic('nightly', 'nightly-secret') },
      );
      expect(nightly.status).toBe(200);
    } finally {
      await other.close();
    }
    await idp.keys.rotate({ now: true });
    const { id } = await idp.tenant(tid).persons.create({ givenName: 'New', familyName: 'Person' });
    await until(() => heard.includes(id));
    expect(await idp.health()).toMatchObject({ status: 'up' });
    // A JSON Pointer may end at the name of an undeclared member. The service never logs values.
    expect(JSON.stringify(service.logged).replaceAll(`/${MARK}"`, '"')).not.toContain(MARK);
  }

  async function expectServed(issuer: string): Promise<void> {
    const answers = await Promise.all(['', '/jwks'].map((path) => fetch(`${issuer}/.well-known/openid-configuration${path}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const granted = await redeem(
      issuer,
      await obtainCode(issuer, alice, 'web', { scope: 'openid profile perms offline_access orders.read' }),
    );
    expect(granted).toMatchObject({ status: 200, json: { access_token: expect.any(String), id_token: expect.any(String) } });
    expect((await refresh(issuer, granted.json.refresh_token)).status).toBe(200);
    expect(await introspect(issuer, granted.json.access_token)).toMatchObject({ status: 200, json: { active: true } });
    const plain = await redeem(issuer, await obtainCode(issuer, alice, 'web', { scope: 'openid profile perms' }));
    expect((await userinfo(issuer, plain.json.access_token)).status).toBe(200);
    const pushed = await postForm(
      `${issuer}/connect/par`,
      {
        client_id: 'web',
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid',
        code_challenge: 'c'.repeat(43),
        code_challenge_method: 'S256',
      },
      authorizationOf('web'),
    );
    expect(pushed.status).toBe(201);
  }

  const names = Object.keys(collections) as CollectionName[];

  test('M17: there is a template of every collection, but for those of one row', () => {
    expect(names.filter((name) => !(name in templates('')))).toEqual(['signingKeys']);
  });

  /** Stores broken rows, and returns the ids of the rows that the store itself accepts. */
  async function poison(name: CollectionName): Promise<string[]> {
    const template = templates(tid)[name]!;
    const rows = stores.directory.collection<Row>(name);
    const ids: string[] = [];
    for (const path of pathsOf(template('any')))
      for (const by of Object.values(breaks)) {
        const id = randomUUID();
        await rows.put(broken(template(id), path, by) as unknown as Row).then(
          () => ids.push(id),
          () => undefined,
        );
      }
    return ids;
  }
  const clean = async (name: CollectionName, ids: readonly string[]) => {
    for (const id of ids) await stores.directory.collection(name).remove(id);
    await tellChange(stores.directory, name);
  };

  const all = names.filter((name) => name in templates(''));
  test.each(isWhole ? all : (['clients', 'persons'] as const))('M17: %s, each member broken in each way', async (name) => {
    const ids = await poison(name);
    await drive();
    await clean(name, ids);
  });

  test('M17: all collections at once', async () => {
    const poisoned = new Map<CollectionName, string[]>();
    for (const name of names) if (name in templates('')) poisoned.set(name, await poison(name));
    await drive();
    const { directory } = service.idp;
    await Promise.all([directory.clients.find(), directory.apiResources.find(), directory.tenants.find()]);
    const { problems } = await service.idp.health();
    for (const name of ['persons', 'clients', 'apiResources', 'tenants'] as const) {
      const told = problems.filter(
        ({ collection, code, id }) => collection === name && code === 'record_unreadable' && poisoned.get(name)?.includes(id),
      );
      expect(told.length).toBeGreaterThan(10);
    }
    // The log reports each row once, by collection and id.
    const lines = service.logged.filter(([, message]) => String(message).startsWith('a stored record is malformed'));
    expect(new Set(lines.map(([fields]) => JSON.stringify(fields))).size).toBe(lines.length);

    const unreadable = problems.find(({ id }) => poisoned.get('clients')?.includes(id))!.id;
    const { clients, apiResources } = service.idp.directory;
    expect(await clients.get(unreadable)).toBeUndefined();
    await expect(clients.create({ id: unreadable, name: 'Taken', secret: 'x'.repeat(32) })).rejects.toMatchObject({ code: 'conflict' });
    await expect(apiResources.create({ id: unreadable, name: 'Taken', scopes: [] })).rejects.toMatchObject({ code: 'conflict' });
    await expect(clients.update(unreadable, { name: 'Other' })).rejects.toMatchObject({ code: 'record_unreadable' });
    for (const [name, ids] of poisoned) await clean(name, ids);
    await drive();
    await until(
      async () => (await service.idp.health()).problems,
      (left) => left.length === 0,
    );
  });

  const ofRing = ['keys', 'pendingEvents', 'outbox', 'createdAt', 'updatedAt'];
  const singles: [CollectionName, string, string[]][] = [
    ...(isWhole ? ofRing : ['keys', 'pendingEvents']).map((member): [CollectionName, string, string[]] => [
      'signingKeys',
      'ring',
      [member],
    ]),
  ];
  test.each(singles)('M17: the one row of %s (%s), %j broken', async (name, id, path) => {
    for (const by of isWhole ? Object.values(breaks) : [undefined, MARK]) {
      const rows = stores.directory.collection<Row>(name);
      await rows.put(broken((await rows.get(id)) as unknown as Member, path, by) as unknown as Row);
      await (await begin()).close();
      await drive();
    }
  });

  test('M17: a signing key that cannot be read, whatever its state, keeps no node from starting', async () => {
    const rows = stores.directory.collection<Row & { keys: Member[] }>('signingKeys');
    await service.idp.keys.rotate({ now: true });
    const { keys } = (await rows.get('ring'))!;
    for (const [index, key] of keys.entries()) {
      const damaged = { ...key, sealed: `v1.${MARK}` };
      await rows.update('ring', (ring) => ({ ...ring, keys: keys.map((one, at) => (at === index ? damaged : one)) }));
      const node = await begin();
      const { problems } = await node.health();
      expect(problems).toContainEqual({ code: 'record_unreadable', collection: 'signingKeys', id: key.kid });
      await node.keys.rotate({ now: true });
      await node.close();
    }
    // If no key is readable, the encryption key is lost. New signing keys would revoke everything that the nodes signed.
    await rows.update('ring', (ring) => ({ ...ring, keys: keys.map((key) => ({ ...key, sealed: `v1.${MARK}` })) }));
    await expect(begin()).rejects.toMatchObject({ code: 'undecipherable' });
    await rows.update('ring', (ring) => ({ ...ring, keys }));
  });

  test('M17: an id that is no text is refused, and no store is said to be away', async () => {
    const { tenants, clients, apiResources, permissions, consents } = service.idp.directory;
    const { persons, users, groups, subsidiaries } = service.idp.tenant(tid);
    for (const id of [5, null, undefined, {}, ['a'], { $ne: '' }] as unknown as string[]) {
      const calls: (() => Promise<unknown>)[] = [
        ...[tenants, clients, apiResources, permissions, persons, groups, subsidiaries].map(
          ({ get }) =>
            () =>
              get(id),
        ),
        ...[tenants, clients, apiResources, permissions, persons, groups, subsidiaries].map(
          ({ update }) =>
            () =>
              update(id, {}),
        ),
        () => users.get(id),
        () => users.disable(id),
        () => clients.remove(id),
        () => persons.remove(id),
        () => consents.find(id),
        () => service.idp.tenant(id).persons.find({ limit: 1 }),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'invalid_record', status: 422 });
      expect(await service.idp.directory.accounts.findByOid(id)).toBeUndefined();
    }
  });
});

describe('M17: a row that refuses somebody refuses as well when one of its members is damaged, and members of a later release change nothing', () => {
  const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
  const consenting = { id: 'asks', name: 'Asks', secret: 'asks-secret', metadata: { redirect_uris: [redirectUri] }, requireConsent: true };
  const seed = { ...operatorSeed, clients: [...operatorSeed.clients, { ...consenting, allowedScopes: ['openid', 'email'] }] };
  const service = useIdp({ ...operatorOptions, ...stores, seed, limits: { signInFailures: 100, signInFailuresPerAddress: 1000 } });
  const rowsOf = (name: CollectionName) => stores.directory.collection<Row & Member>(name);
  const put = (name: CollectionName, given: Member) => rowsOf(name).put(given as Row & Member);
  const alice = new Agent();
  const otto = new Agent();
  let carol: Row & Member & { tid: string; user: Member & { id: string } };
  let token: string;

  const oidOf = async (name: string) => (await service.idp.directory.accounts.candidates(name))[0]?.person.user.id ?? '';
  const one = async (name: CollectionName, isMeant: (row: Member) => boolean) =>
    (await rowsOf(name).find({})).find(isMeant) as Row & Member;
  const without = ({ nameKey: _, ...members }: Member, more: Member): Member => ({ ...members, ...more });
  /** Returns the user id of a person that is planted here. */
  const oid = (id: string): string => `${id.slice(0, -1)}${id.endsWith('f') ? 'e' : 'f'}`;
  /** Returns the id of the person that is planted with a row. */
  const beside = (id: string): string => `0000000a${id.slice(8)}`;
  const userOf = (id: string, more: Member = {}): Member =>
    without(carol, {
      id,
      email: `${id}@acme.test`,
      emailKey: `${id}@acme.test`,
      user: { ...carol.user, id: oid(id), userName: id, userNameKey: id, ...more },
    });
  /** Plants a user with the password of Carol. */
  const plant = async (id: string, members: Member = {}, user: Member = {}) => {
    await put('persons', { ...userOf(id, user), ...members });
    await put('credentials', { ...(await rowsOf('credentials').get(carol.user.id)), id: oid(id) });
  };
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const signsIn = async (name: string) =>
    (await signIn(new Agent(), authorizeUrl(service.issuer, pkce), name, 'carol')).location?.includes('code=') ?? false;
  const silently = async (client: string, more: Record<string, string> = pkce) =>
    (await alice.get(authorizeUrl(service.issuer, { client_id: client, prompt: 'none', ...more }))).location?.includes('code=') ?? false;
  const isChosen = async (name: string) => {
    const { page } = await impersonatingAt(service).chooser('otto@acme.test', {}, otto);
    return valueFor(await otto.submit(page, { step: 'who', query: name }), name) !== undefined;
  };
  const introspects = async (id: string) =>
    (await postForm(`${service.issuer}/connect/introspect`, { token }, { authorization: basic(id, 'orders-secret') })).json?.active ===
    true;
  const accepts = (id: string, password?: string) =>
    service.idp.directory.acceptance.accept({ id, serial: 1 }, password).then(
      () => true,
      () => false,
    );

  interface Guard {
    /** Returns a row that refuses access, or the same row without the refusing member. */
    row(id: string, isLifted: boolean): Promise<Member>;
    /** Plants the other rows that the row needs. */
    beside?(id: string, isLifted: boolean): Promise<unknown>;
    opens(id: string): Promise<boolean>;
  }
  const tenantWith = (more: Member): Guard => ({
    row: async (id, isLifted) =>
      without(await one('tenants', ({ name }) => name === 'Acme'), { id, name: id, uniqueName: id, ...(!isLifted && more) }),
    beside: (id) => plant(id, { tid: id }),
    opens: signsIn,
  });
  const userWith = (more: Member): Guard => ({
    row: async (id, isLifted) => userOf(id, isLifted ? {} : more),
    beside: (id) => plant(id),
    opens: signsIn,
  });
  const clientWith = (more: Member, request?: Record<string, string>): Guard => ({
    row: async (id, isLifted) => without((await rowsOf('clients').get('web')) as Member, { id, name: id, ...(!isLifted && more) }),
    opens: (id) => silently(id, request),
  });
  const resourceWith = (more: Member): Guard => ({
    row: async (id, isLifted) =>
      without((await rowsOf('apiResources').get('orders')) as Member, { id, introspects: 'all', scopes: [], ...(!isLifted && more) }),
    opens: introspects,
  });
  /** Returns a guard for an invitation that is valid except for these members of the invitation and of its user. */
  const invitationWith = (more: Member, user: Member): Guard => ({
    row: async (id, isLifted) => ({
      ...templates(carol.tid).invitations?.(id),
      ...{ personId: `p${id}`, userId: `u${id}`, status: 'pending', ...(!isLifted && more) },
    }),
    beside: (id, isLifted) => {
      const invitation = { id, serial: 1, expiresAt: new Date(Date.now() + 100_000), send: true };
      return plant(`p${id}`, {}, { id: `u${id}`, status: 'invited', invitation, ...(!isLifted && user) });
    },
    opens: (id) => accepts(id, 'a password of fifteen letters'),
  });

  const guards: Readonly<Record<CollectionName, Readonly<Record<string, Guard>> | string>> = {
    tenants: {
      disabled: tenantWith({ status: 'disabled' }),
      'without passwords': tenantWith({ signIn: { methods: ['connections'] } }),
      'with a second factor': tenantWith({ signIn: { requireMfa: true } }),
    },
    persons: {
      disabled: userWith({ status: 'disabled' }),
      invited: userWith({ status: 'invited' }),
      'a privileged child': {
        row: async (id, isLifted) => {
          const { id: groupId } = await one('groups', ({ name }) => name === 'Administrators');
          return { ...userOf(id, { parentUserId: oid(beside(id)), groupIds: isLifted ? [] : [groupId] }), isLinked: 'yes' };
        },
        beside: (id) => plant(beside(id), {}, { isParent: true, childUserIds: [oid(id)] }),
        opens: (id) => isChosen(beside(id)),
      },
    },
    credentials: {
      'of another password': {
        row: async (id, isLifted) => ({
          ...(await rowsOf('credentials').get(isLifted ? carol.user.id : await oidOf('bob@globex.test'))),
          id: oid(id),
        }),
        beside: (id) => put('persons', userOf(id)),
        opens: signsIn,
      },
    },
    groups: {
      'with a privilege': {
        row: async (id, isLifted) =>
          without(await one('groups', ({ name }) => name === 'Administrators'), { id, name: id, ...(isLifted && { permissionIds: [] }) }),
        beside: (id) => plant(beside(id), {}, { groupIds: [id] }),
        opens: (id) => isChosen(beside(id)),
      },
    },
    clients: {
      disabled: clientWith({ status: 'disabled' }),
      'with PKCE': clientWith({ requirePkce: true }, { nonce: 'n' }),
      'of another tenant': clientWith({ allowedTenants: ['another'] }),
      'with another address': clientWith({ metadata: { redirect_uris: ['https://other.test/'], grant_types: ['authorization_code'] } }),
      'without the scope': clientWith({ allowedScopes: ['openid'] }, { ...pkce, scope: 'openid email' }),
      'with consent': clientWith({ requireConsent: true }),
    },
    apiResources: {
      disabled: resourceWith({ status: 'disabled' }),
      'with another secret': resourceWith({ secrets: [{ hash: 'sha256:00' }] }),
      'of another tenant': resourceWith({ allowedTenants: ['another'] }),
    },
    invitations: { revoked: invitationWith({}, { invitation: undefined }), 'to link': invitationWith({ link: true }, {}) },
    consents: 'Without a consent, the user is asked.',
    subsidiaries: 'The name of one narrows a sign-in: without it there are fewer accounts.',
    permissions: 'Without one, nobody has it.',
    signIns: 'Tells of sign-ins: without it, every browser is unknown to the account.',
    signingKeys: 'Without one, what it signed is refused.',
    events: 'Tell of what happened.',
    deliveries: 'Tell others what happened.',
    removedUsers: 'A row that cannot be read still takes its id.',
    removals: 'What is removed is gone before.',
    accountEvents: 'Tell of what happened to an account.',
    seeds: 'A seed leaves a record whose row cannot be read.',
    upkeep: 'Says what work is done.',
    changes: 'A node that cannot read it forgets what it knew.',
  };
  const damages = { missing: undefined, number: 42, ...(isWhole ? { null: null, list: [MARK], record: { [MARK]: MARK } } : {}) };

  beforeAll(async () => {
    carol = (await one('persons', ({ email }) => email === 'carol@acme.test')) as typeof carol;
    token = (await redeem(service.issuer, await obtainCode(service.issuer, alice))).json.access_token;
  });

  const cases = Object.entries(guards).flatMap(([name, all]) =>
    typeof all === 'string' ? [] : Object.entries(all).map(([way, guard]) => [name as CollectionName, way, guard] as const),
  );
  test.each(cases)('%s: %s', async (name, _, { row: make, beside: plantBeside, opens }) => {
    const opened: string[] = [];
    /**
     * Plants a changed row, and returns whether the row counts. A damaged row that is still valid, for example without an optional member,
     * does not count.
     */
    const planted = async (path: readonly string[], way: string, change: (row: Member) => Member, isLifted = false) => {
      const id = randomUUID();
      const row = change(await make(id, isLifted));
      if (way in damages && wrongPath(name, { version: 1, ...row }) === undefined) return false;
      await plantBeside?.(id, isLifted);
      // The memory store refuses a list in an indexed member, and a duplicate of a unique value.
      const isKept = await put(name, row).then(
        () => true,
        () => false,
      );
      if (!isKept) return false;
      if (await opens(id)) opened.push(`${path.join('.')} ${way}`);
      return true;
    };
    await planted([], 'lifted', (given) => given, true);
    expect(opened.splice(0)).toEqual([' lifted']);
    await planted([], 'intact', (given) => given);
    await planted([], 'later', (given) => ({ ...given, ofALaterRelease: { new: true } }));
    let count = 0;
    for (const path of pathsOf(await make(randomUUID(), false)))
      for (const [way, by] of Object.entries(damages)) if (await planted(path, way, (given) => broken(given, path, by))) count += 1;
    expect(opened).toEqual([]);
    expect(count).toBeGreaterThan(4);
    // Other users are not affected.
    expect(await silently('web')).toBe(true);
    expect(await signsIn('carol@acme.test')).toBe(true);
  });

  test('credentials: a proof from before there was a password does not hold again when the password cannot be read', async () => {
    const id = randomUUID();
    await put('persons', userOf(id));
    const { accounts, credentials } = service.idp.directory;
    const account = await accounts.findByOid(oid(id));
    if (!account) throw new Error('the user cannot be read');
    const proof = await credentials.proofOf(account);
    expect(await credentials.holds(account, proof)).toBe(true);
    await put('credentials', { ...row(oid(id)), passwordHash: 42 });
    expect(await credentials.holds(account, proof)).toBe(false);
  });
});
