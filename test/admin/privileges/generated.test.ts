/**
 * Permissions count only in their own tenant. Tests every write of the admin API by which a stranger could be signed in as a user. Each
 * write is tried for each place of the privilege and each kind of caller. The list of writes is compared with the operations of the
 * service, so that no new one is forgotten.
 */
import { describe, expect, test } from '@jest/globals';
import { recordForms } from 'tenant-idp/extension';
import { type AdminAnswer, type AdminCall, documented } from '../../support/administration/admin.js';
import { until } from '../../support/time/until.js';
import { callerNames, type Scenes, type StoredPerson, sceneNames, scenes, type Target, useScenes, VAULT } from './scene.js';

const at = useScenes();

interface Call extends AdminCall {
  readonly path: string;
}

/** A write about one user. */
interface Write {
  readonly operation: string;
  readonly name?: string;
  readonly refusal: string;
  readonly status?: 'invited';
  /** Returns the call. An administrator of all tenants creates the records that it needs. */
  readonly call: (target: Target, given: Scenes) => Call | Promise<Call>;
}

const user = (operation: string, member: string, value: (target: Target) => unknown): Write => ({
  operation,
  name: member,
  refusal: 'grant_exceeds_own',
  call: (target) => ({
    method: 'PATCH',
    path: operation.includes('persons')
      ? `/tenants/${target.tid}/persons/${target.personId}`
      : `/tenants/${target.tid}/users/${target.userId}`,
    body: { [member]: value(target) },
  }),
});
const invitation = async ({ tid, userId }: Target, { root }: Scenes): Promise<string> =>
  (await root.post(`/tenants/${tid}/invitations`, { userId, send: false })).json.id;

const PERSON = 'PATCH /tenants/{tid}/persons/{id}';
const USER = 'PATCH /tenants/{tid}/users/{id}';
const writes: readonly Write[] = [
  user(PERSON, 'email', ({ email }) => `evil-${email}`),
  user(PERSON, 'email', () => null),
  user(USER, 'userName', ({ email }) => `evil-${email}`),
  user(USER, 'externalIdentities', ({ userId }) => [{ idp: 'up', subject: userId }]),
  {
    operation: 'POST /tenants/{tid}/users/{id}/enable',
    refusal: 'grant_exceeds_own',
    async call({ tid, userId }, { service }) {
      await service.idp.tenant(tid).users.disable(userId);
      return { method: 'POST', path: `/tenants/${tid}/users/${userId}/enable` };
    },
  },
  {
    operation: 'POST /tenants/{tid}/users/{id}/password-reset',
    refusal: 'user_privileged',
    call: ({ tid, userId }) => ({ method: 'POST', path: `/tenants/${tid}/users/${userId}/password-reset` }),
  },
  {
    operation: 'DELETE /tenants/{tid}/users/{id}/factors',
    refusal: 'factor_privileged',
    call: ({ tid, userId }) => ({ method: 'DELETE', path: `/tenants/${tid}/users/${userId}/factors` }),
  },
  {
    operation: 'DELETE /tenants/{tid}/users/{id}/factors/{factorId}',
    refusal: 'factor_privileged',
    call: ({ tid, userId }) => ({ method: 'DELETE', path: `/tenants/${tid}/users/${userId}/factors/${userId}` }),
  },
  {
    operation: 'POST /tenants/{tid}/users/{id}/means/confirm',
    refusal: 'grant_exceeds_own',
    async call({ tid, userId }, { persons }) {
      const [person] = await persons().find({ byUser: [userId] });
      if (!person) throw new Error('the target is not stored');
      const identity = { idp: 'up', subject: userId, vouchedBy: { by: 'tenant', tids: [tid], permissionIds: [] } };
      await persons().put({ ...person, user: { ...person.user, externalIdentities: [identity] } });
      return { method: 'POST', path: `/tenants/${tid}/users/${userId}/means/confirm` };
    },
  },
  {
    operation: 'POST /tenants/{tid}/invitations',
    refusal: 'invitee_privileged',
    status: 'invited',
    call: ({ tid, userId }) => ({ method: 'POST', path: `/tenants/${tid}/invitations`, body: { userId, send: false } }),
  },
  {
    operation: 'GET /tenants/{tid}/invitations/{id}/link',
    refusal: 'invitee_privileged',
    status: 'invited',
    call: async (target, given) => ({ path: `/tenants/${target.tid}/invitations/${await invitation(target, given)}/link` }),
  },
  {
    operation: 'POST /tenants/{tid}/invitations/{id}/resend',
    refusal: 'invitee_privileged',
    status: 'invited',
    call: async (target, given) => ({
      method: 'POST',
      path: `/tenants/${target.tid}/invitations/${await invitation(target, given)}/resend`,
    }),
  },
];

const UNLINK = 'DELETE /tenants/{tid}/users/{id}/link/{parentId}';
const LINK = 'POST /tenants/{tid}/users/{id}/link/{parentId}';

/** Writes about how all users of a tenant sign in. */
const doors = {
  'POST /tenants/{tid}/connections': 'connection_privileged',
  'PATCH /tenants/{tid}/connections/{id}': 'connection_privileged',
  'PATCH /tenants/{tid}': 'policy_privileged',
} as const;

/** Writes that give permissions. */
const grants = [
  'POST /tenants/{tid}/persons',
  'POST /tenants/{tid}/persons/{id}/user',
  'PUT /tenants/{tid}/users/{id}/groups',
  'POST /tenants/{tid}/users/{id}/groups',
  'POST /tenants/{tid}/groups',
  'PATCH /tenants/{tid}/groups/{id}',
] as const;

/** Writes that revoke permissions. A connection or another process may give them back later, to a stranger who became the user. */
const takings = [
  'PUT /tenants/{tid}/users/{id}/groups',
  'DELETE /tenants/{tid}/users/{id}/groups',
  'PATCH /tenants/{tid}/groups/{id}',
  'DELETE /tenants/{tid}/groups/{id}',
] as const;

/** Writes that end the links of child accounts, whose own credentials sign in from then on. */
const orphaning: Readonly<Record<string, (target: Target) => string>> = {
  'DELETE /tenants/{tid}/persons/{id}': ({ tid, personId }) => `/tenants/${tid}/persons/${personId}`,
  'DELETE /tenants/{tid}/users/{id}': ({ tid, userId }) => `/tenants/${tid}/users/${userId}`,
};

const TAKES_AWAY = 'takes access away';
const NOBODY = 'signs nobody in';
const APPLICATION = 'is about an application that people sign in to';
/** Writes that every administrator of the tenant may make with the scope alone, with the reason. */
const open: Readonly<Record<string, string>> = {
  'POST /tenants/{tid}/users/{id}/disable': TAKES_AWAY,
  'POST /tenants/{tid}/users/{id}/sign-out': TAKES_AWAY,
  'DELETE /tenants/{tid}/users/{id}/sessions': TAKES_AWAY,
  'DELETE /tenants/{tid}/users/{id}/sessions/{sessionId}': TAKES_AWAY,
  'DELETE /tenants/{tid}/users/{id}/consents/{clientId}': TAKES_AWAY,
  'POST /tenants/{tid}/impersonations/{id}/end': TAKES_AWAY,
  'POST /tenants/{tid}/invitations/{id}/revoke': TAKES_AWAY,
  'DELETE /tenants/{tid}/invitations/{id}': TAKES_AWAY,
  'DELETE /tenants/{tid}/connections/{id}': TAKES_AWAY,
  'PUT /tenants/{tid}/connections/{id}/secret': 'proves the service to the provider, and nobody to the service',
  'POST /tenants/{tid}/connections/{id}/rotate-key': 'proves the service to the provider, and nobody to the service',
  'POST /tenants/{tid}/subsidiaries': NOBODY,
  'PATCH /tenants/{tid}/subsidiaries/{id}': NOBODY,
  'DELETE /tenants/{tid}/subsidiaries/{id}': NOBODY,
  'POST /tenants/{tid}/webhooks': NOBODY,
  'PATCH /tenants/{tid}/webhooks/{id}': NOBODY,
  'DELETE /tenants/{tid}/webhooks/{id}': NOBODY,
  'POST /tenants/{tid}/saml-service-providers': APPLICATION,
  'PATCH /tenants/{tid}/saml-service-providers/{id}': APPLICATION,
  'DELETE /tenants/{tid}/saml-service-providers/{id}': APPLICATION,
  'POST /tenants/{tid}/saml-service-providers/{id}/refresh': APPLICATION,
  'PATCH /tenants/{tid}/saml-entity': APPLICATION,
  'POST /tenants/{tid}/webhooks/{id}/replay': NOBODY,
  'POST /tenants/{tid}/webhooks/{id}/rotate-secret': NOBODY,
  'POST /tenants/{tid}/webhooks/{id}/test': NOBODY,
};

/** Operations of a tenant that only administrators of all tenants may call. */
const ofInstance = ['POST /tenants/{tid}/disable', 'POST /tenants/{tid}/enable', 'DELETE /tenants/{tid}'];
/** A read that is guarded like a write, because the caller gets the link. */
const LINK_OF_INVITATION = 'GET /tenants/{tid}/invitations/{id}/link';

describe('every write of the admin API', () => {
  const writesOf = async () => {
    const { operations } = await documented(at.service.issuer);
    const all = operations.map(({ method, path }) => ({ name: `${method} ${path}`, method, path }));
    return all.filter(({ name, method }) => method !== 'GET' || name === LINK_OF_INVITATION);
  };
  const isOfTenant = ({ name, path }: { readonly name: string; readonly path: string }): boolean =>
    path.startsWith('/tenants/{tid}') && !ofInstance.includes(name);

  test('of a tenant is compared with what the caller holds, or is open for a reason', async () => {
    const ofUsers = [...writes.map(({ operation }) => operation), LINK, UNLINK, ...Object.keys(orphaning)];
    const guarded = [...new Set([...ofUsers, ...Object.keys(doors), ...grants, ...takings])];
    const ofTenant = (await writesOf()).filter(isOfTenant).map(({ name }) => name);
    expect(ofTenant.toSorted()).toEqual([...guarded, ...Object.keys(open)].toSorted());
  });

  test.each(callerNames)('of the instance refuses a %s of tenants', async (caller) => {
    const ask = at.caller(caller, 'nowhere');
    // SAML has its own scopes, which `saml/service-providers/who-may` tries.
    const refused = (await writesOf()).filter((one) => !isOfTenant(one) && !one.path.includes('/saml-'));
    expect(refused.length).toBeGreaterThan(15);
    for (const { method, path, name } of refused) {
      const { json } = await ask(path.replace('{tid}', at.tids.nowhere ?? '').replace(/\{\w+\}/g, 'x'), { method });
      expect([name, json.code]).toEqual([name, 'all_tenants_required']);
    }
  });
});

const refusalOf = ({ status, json }: AdminAnswer): unknown => (status === 403 ? json.code : 'allowed');

describe.each(callerNames)('a write by a %s', (caller) => {
  describe.each(sceneNames)('where the privilege is: %s', (scene) => {
    test.each(writes.map((write) => [`${write.operation} ${write.name ?? ''}`, write] as const))(
      '%s',
      async (_, { status, call, refusal }) => {
        const { path, ...rest } = await call(await at.target(scene, status), at);
        const ask = at.caller(caller, scene);
        // A caller can confirm only means that it has listed.
        if (path.endsWith('/means/confirm')) await ask(path.replace('/confirm', ''));
        const answer = await ask(path, rest);
        expect(refusalOf(answer)).toBe(scenes[scene].mayBecome ? 'allowed' : refusal);
        // An allowed write succeeds, except if the target has no factor, or no password of its own.
        const isDone = answer.status < 300 || ['not_found', 'reset_unavailable'].includes(answer.json.code);
        expect([answer.status, answer.json?.code, scenes[scene].mayBecome]).toEqual([answer.status, answer.json?.code, isDone]);
      },
    );
  });
});

test('a confirmation of means raises an event that names who made it', async () => {
  const write = writes.find(({ operation }) => operation.endsWith('/means/confirm'));
  const target = await at.target('own');
  const { path, ...call } = (await write?.call(target, at)) ?? { path: '' };
  await at.root(path.replace('/confirm', ''));
  const { status, headers, json } = await at.root(path, call);
  expect([status, json.items]).toMatchObject([200, [{ kind: 'identity', userId: target.userId }]]);
  const raised = async () => (await at.service.idp.directory.eventFeed.read({ types: ['PersonUpdated'], limit: 1000 })).events;
  const expected = { actor: 'client:root', requestid: headers.get('x-request-id'), tid: target.tid };
  await until(raised, (events) =>
    events.some((event) => Object.entries(expected).every(([name, value]) => event[name as 'tid'] === value)),
  );
});

describe('the end of a link is compared with the child, whose own credentials sign in from then on', () => {
  test.each(['sibling', 'ownOfChild'] as const)('%s', async (scene) => {
    const { tid, userId, parentId } = await at.target(scene);
    const path = `/tenants/${tid}/users/${userId}/link/${parentId}`;
    expect(refusalOf(await at.caller('client', scene).remove(path))).toBe(scenes[scene].mayBecome ? 'allowed' : 'grant_exceeds_own');
    // A link has ends in two tenants, so a person of one tenant cannot remove it.
    expect((await at.caller('person', scene).remove(path)).status).toBe(404);
    const status = (await at.service.idp.tenant(tid).users.require(userId)).user.parentUserId === undefined;
    expect(status).toBe(scenes[scene].mayBecome);
  });
});

describe.each(callerNames)('R-ORPHAN: a removal by a %s is compared with the children, and not with the user who is removed', (caller) => {
  describe.each(sceneNames)('where the privilege is: %s', (scene) => {
    test.each(Object.entries(orphaning))('%s', async (_, pathOf) => {
      const target = await at.target(scene);
      const path = pathOf(target);
      const answer = await at.caller(caller, scene).remove(path);
      expect([answer.status, answer.json?.code]).toEqual(scene === 'child' ? [403, 'grant_exceeds_own'] : [204, undefined]);
      expect((await at.root(path)).status).toBe(scene === 'child' ? 200 : 404);
      // An administrator of all tenants may remove the parent.
      if (scene === 'child') expect((await at.root.remove(path)).status).toBe(204);
    });
  });
});

describe('R1-DAMAGED: a parent with a child that cannot be read is removed by an administrator of all tenants alone', () => {
  const damages: Readonly<Record<string, (child: StoredPerson) => object>> = {
    'a member of the person': () => ({ givenName: 42 }),
    'a member of the user': ({ user }) => ({ user: { ...user, status: 42 } }),
    'the parent': ({ user }) => ({ user: { ...user, parentUserId: 42 } }),
    'the id of the user': ({ user }) => ({ user: { ...user, id: 42 } }),
    'the list of children': ({ user }) => ({ user: { ...user, childUserIds: 42 } }),
  };
  describe.each(Object.entries(damages))('%s', (_, damage) => {
    test.each(Object.entries(orphaning))('%s', async (_operation, pathOf) => {
      const target = await at.target('child');
      const [childUserId = ''] = (await at.service.idp.tenant(target.tid).users.require(target.userId)).user.childUserIds ?? [];
      const [child] = await at.persons().find({ byUser: [childUserId] });
      if (!child) throw new Error('the target has no child');
      await at.persons().put({ ...child, ...damage(child) });
      for (const caller of callerNames) {
        const { status, json } = await at.caller(caller, 'child').remove(pathOf(target));
        expect([caller, status, json?.code]).toEqual([caller, 403, 'grant_exceeds_own']);
      }
      expect((await at.root.remove(pathOf(target))).status).toBe(204);
      expect((await at.root(pathOf(target))).status).toBe(404);
      // The child is unchanged. No sign-in opens the child before its link is ended, because its parent is removed.
      expect(await at.persons().get(child.id)).toMatchObject(damage(child));
      await at.persons().put({ ...(await at.persons().get(child.id)), ...child });
      const [tid, userName] = [String(child.tid), String(child.user.userName)];
      expect(await at.service.idp.directory.accounts.candidates(userName)).toEqual([]);
      await at.service.idp.tenant(tid).linking.unlink(childUserId, target.userId);
      expect(await at.service.idp.directory.accounts.candidates(userName)).toHaveLength(1);
    });
  });
});

test('R-ORPHAN: the operations that end links document the refusal', async () => {
  const { document } = await documented(at.service.issuer);
  for (const name of [UNLINK, ...Object.keys(orphaning)]) {
    const [method = '', path = ''] = name.split(' ');
    expect(JSON.stringify(document.paths[path][method.toLowerCase()].responses['403'])).toContain('grant_exceeds_own');
  }
});

describe('a new link: nobody becomes the parent of a user with a privilege', () => {
  test.each(['nowhere', 'own', 'held'] as const)('%s', async (scene) => {
    const { tid, userId } = await at.target(scene);
    const parent = await at.service.idp.tenant(at.tids.Parents ?? '').persons.create({
      givenName: 'P',
      familyName: 'P',
      user: { userName: `parent-of-${userId}`, status: 'active' },
    });
    const path = `/tenants/${tid}/users/${userId}/link/${parent.user?.id}`;
    const answers = [await at.caller('client', scene).post(path), await at.root.post(path)];
    expect(answers.map(({ json }) => json.code)).toEqual(
      scene === 'nowhere' ? [undefined, undefined] : ['link_privileged', 'link_privileged'],
    );
  });
});

describe.each(callerNames)('how all users of a tenant sign in, changed by a %s', (caller) => {
  const provider = { name: 'P', issuer: 'https://login.example.com', clientId: 'us', clientSecret: 'theirs' };
  /** Members of a connection, each with another valid value. Members that only the operator may set are left out. */
  const deciding = {
    status: 'active',
    clientId: 'them',
    createUsersIn: null,
    scopes: ['email'],
    subjectClaim: 'employee',
    requiredClaims: [],
    requireVerifiedEmail: false,
    mapping: {},
    linkBySignIn: true,
    mfa: { amr: ['pwd'], acr: [] },
    parameters: [],
    renamed: [],
  };
  const harmless = {
    name: 'Q',
    status: 'disabled',
    clientAuth: 'client_secret_post',
    keyAlgorithm: 'ES256',
    hasButton: false,
    endSession: true,
  };
  // A parent of the tenant has a privileged child in another tenant, or a group of the tenant has what the caller lacks.
  const isRefused = (scene: (typeof sceneNames)[number]): boolean => ['own', 'child', 'ownOfChild'].includes(scene);

  test.each(sceneNames)('XT-CONN: members of a connection, where the privilege is: %s', async (scene) => {
    const { tid } = await at.target(scene);
    const ask = at.caller(caller, scene);
    const expected = isRefused(scene) ? doors['PATCH /tenants/{tid}/connections/{id}'] : 'allowed';
    const path = `/tenants/${tid}/connections`;
    expect(refusalOf(await ask.post(path, provider))).toBe(expected);
    const one = `${path}/${(await at.root.post(path, provider)).json.id}`;
    for (const [member, value] of Object.entries(deciding)) {
      const answer = await ask.patch(one, { [member]: value });
      expect([member, refusalOf(answer)]).toEqual([member, expected]);
    }
    for (const [member, value] of Object.entries(harmless)) {
      const answer = await ask.patch(one, { [member]: value });
      expect([member, answer.status]).toEqual([member, 200]);
    }
    expect((await ask(`${one}/secret`, { method: 'PUT', body: { clientSecret: 'new' } })).status).toBe(200);
    expect((await ask.remove(one)).status).toBe(204);
  });

  test('every member of a connection is in one of the two lists', async () => {
    const { document } = await documented(at.service.issuer);
    const { schema } = document.paths['/tenants/{tid}/connections/{id}'].patch.requestBody.content['application/merge-patch+json'];
    const ofOperator = ['domains'];
    expect(Object.keys(schema.properties).toSorted()).toEqual(
      [...new Set([...Object.keys(deciding), ...Object.keys(harmless), ...ofOperator])].toSorted(),
    );
  });

  test.each(sceneNames)('T3-CHAIN-MFA: a weaker policy, where the privilege is: %s', async (scene) => {
    const { tid } = await at.target(scene);
    const ask = at.caller(caller, scene);
    const path = `/tenants/${tid}`;
    // A person who signed in by a password has no token while a second factor is required, so only the client tries `requireMfa`.
    const ofMfa = [{ requireMfa: false }, { requireMfa: null }];
    const ofMethods = [{ methods: ['password', 'connections'] }, { methods: ['connections'] }, { methods: null }, null];
    const set = async (signIn: object | null) => expect((await at.root.patch(path, { signIn })).status).toBe(200);
    for (const signIn of caller === 'client' ? [...ofMfa, ...ofMethods] : ofMethods) {
      await set({ requireMfa: caller === 'client', methods: ['password'], selfRegistration: false });
      expect([signIn, refusalOf(await ask.patch(path, { signIn }))]).toEqual([
        signIn,
        isRefused(scene) ? doors['PATCH /tenants/{tid}'] : 'allowed',
      ]);
    }
    await set(null);
    for (const signIn of [
      { selfRegistration: true },
      { accountLinks: false },
      { accountLinks: true },
      { methods: ['password', 'connections'] },
      { methods: ['password'] },
    ])
      expect([signIn, (await ask.patch(path, { signIn, locale: 'nb' })).status]).toEqual([signIn, 200]);
    if (caller === 'client') expect((await ask.patch(path, { signIn: { requireMfa: true } })).status).toBe(200);
    await set(null);
  });

  test('every member of the policy is among those that are compared, or is no weakening', () => {
    expect(Object.keys(recordForms.tenant.properties.signIn.properties).toSorted()).toEqual([
      'accountLinks',
      'methods',
      'requireMfa',
      'selfRegistration',
    ]);
  });
});

describe.each(callerNames)('permissions that a %s gives', (caller) => {
  const groupsOf = async (tid: string) =>
    Object.fromEntries((await at.service.idp.tenant(tid).groups.find()).map(({ name, id }) => [name, id]));

  test.each(['PUT', 'POST'] as const)('%s groups of a user, linked or not, by id and by name', async (method) => {
    for (const scene of ['own', 'ownOfChild'] as const) {
      const ask = at.caller(caller, scene);
      const { tid, userId } = await at.target(scene);
      const { Vault, Callers, Staff } = await groupsOf(tid);
      const path = `/tenants/${tid}/users/${userId}/groups`;
      const give = async (body: object, by = ask) => refusalOf(await by(path, { method, body }));
      const { isLinked } = scenes[scene];
      // The user is in the vault already, so only its other groups change.
      expect(await give({ ids: [Vault, Staff] })).toBe('allowed');
      for (const body of [{ ids: [Vault, Callers] }, { names: ['Vault', 'Callers'] }])
        expect([scene, await give(body)]).toEqual([scene, isLinked ? 'all_tenants_required' : 'allowed']);
      await at.root(path, { method: 'PUT', body: { ids: [Staff] } });
      for (const body of [{ ids: [Vault] }, { names: ['Vault'] }])
        expect([scene, await give(body)]).toEqual([scene, isLinked ? 'all_tenants_required' : 'grant_exceeds_own']);
      const { user } = await at.service.idp.tenant(tid).users.require(userId);
      expect(user.groupIds).toEqual([Staff]);
      // An administrator of all tenants, the seed and the code of the host may add such groups.
      expect(await give({ ids: [Vault] }, at.root)).toBe('allowed');
      expect((await at.root(path, { method: 'DELETE', body: { ids: [Vault] } })).status).toBe(200);
      await at.service.idp.tenant(tid).users.addGroups(userId, { ids: [Vault ?? '', Callers ?? ''] });
    }
  });

  test('a seed puts a linked user into a group with privileges', async () => {
    const seeded = await at.service.idp.tenant(at.tids.Elsewhere ?? '').users.findByUserName('seeded');
    expect([seeded?.user.groupIds.length, seeded?.user.parentUserId === undefined]).toEqual([1, false]);
  });

  test('new persons and users', async () => {
    const ask = at.caller(caller, 'own');
    const { tid } = await at.target('own');
    const { Vault, Callers } = await groupsOf(tid);
    for (const [id, expected] of [
      [Vault, 'grant_exceeds_own'],
      [Callers, 'allowed'],
    ]) {
      const user = { userName: `new-${caller}-${id}`, groups: { ids: [id] } };
      expect(refusalOf(await ask.post(`/tenants/${tid}/persons`, { givenName: 'N', familyName: 'N', user }))).toBe(expected);
      const { json } = await ask.post(`/tenants/${tid}/persons`, { givenName: 'N', familyName: 'N' });
      const other = { ...user, userName: `other-${caller}-${id}` };
      expect(refusalOf(await ask.post(`/tenants/${tid}/persons/${json.id}/user`, other))).toBe(expected);
    }
  });

  test('permissions of a group are given by an administrator of all tenants, to groups with linked members as well', async () => {
    const ask = at.caller(caller, 'ownOfChild');
    const { tid, userId } = await at.target('ownOfChild');
    const { json } = await ask.post(`/tenants/${tid}/groups`, { name: `G-${caller}` });
    await ask.post(`/tenants/${tid}/users/${userId}/groups`, { ids: [json.id] });
    const path = `/tenants/${tid}/groups/${json.id}`;
    for (const permissionIds of [[VAULT], ['idp.users:write']])
      expect(refusalOf(await ask.patch(path, { permissionIds }))).toBe('all_tenants_required');
    expect(refusalOf(await ask.post(`/tenants/${tid}/groups`, { name: `H-${caller}`, permissionIds: [VAULT] }))).toBe(
      'all_tenants_required',
    );
    expect((await at.root.patch(path, { permissionIds: [VAULT] })).status).toBe(200);
    expect((await ask.patch(path, { permissionIds: [VAULT, 'orders.view'] })).status).toBe(200);
  });
});

describe.each(callerNames)('R-RETURNS: privileges that a %s takes away are compared with those that the caller holds', (caller) => {
  const groupNames: Readonly<Record<string, string>> = { held: 'Callers', own: 'Vault', ownOfChild: 'Vault' };
  const isRefused = (scene: (typeof sceneNames)[number]): boolean => groupNames[scene] === 'Vault';
  /** Creates a group of the target alone, with the privilege of the scene. */
  async function grouped(scene: (typeof sceneNames)[number]) {
    const target = await at.target(scene);
    const { groups, users } = at.service.idp.tenant(target.tid);
    const privileged = { Callers: ['idp.users:write'], Vault: [VAULT] }[groupNames[scene] ?? ''] ?? [];
    const permissionIds = ['orders.view', ...privileged];
    const { id } = await groups.create({ name: `Taken-${target.userId}`, permissionIds });
    await users.setGroups(target.userId, { ids: [id] });
    return {
      ...target,
      permissionIds,
      group: id,
      user: `/tenants/${target.tid}/users/${target.userId}/groups`,
      own: `/tenants/${target.tid}/groups/${id}`,
    };
  }
  type Grouped = Awaited<ReturnType<typeof grouped>>;
  const calls: Readonly<Record<(typeof takings)[number], (given: Grouped) => readonly Call[]>> = {
    'PUT /tenants/{tid}/users/{id}/groups': ({ user }) => [
      { method: 'PUT', path: user, body: { ids: [] } },
      { method: 'PUT', path: user, body: { names: ['Staff'] } },
    ],
    'DELETE /tenants/{tid}/users/{id}/groups': ({ user, group, userId }) => [
      { method: 'DELETE', path: user, body: { ids: [group] } },
      { method: 'DELETE', path: user, body: { names: [`Taken-${userId}`] } },
    ],
    // R2-RENAME: a job that puts users into groups by name would remove users from the group later.
    'PATCH /tenants/{tid}/groups/{id}': ({ own, userId, permissionIds }) => [
      { method: 'PATCH', path: own, body: { permissionIds: ['orders.view'] } },
      { method: 'PATCH', path: own, body: { name: `Renamed-${userId}` } },
      { method: 'PATCH', path: own, body: { name: `taken-${userId}`, permissionIds } },
    ],
    'DELETE /tenants/{tid}/groups/{id}': ({ own }) => [{ method: 'DELETE', path: own }],
  };

  describe.each(sceneNames)('where the privilege is: %s', (scene) => {
    test.each(takings)('%s', async (operation) => {
      const count = calls[operation](await grouped(scene)).length;
      for (let index = 0; index < count; index += 1) {
        const target = await grouped(scene);
        const { path, ...rest } = calls[operation](target)[index] as Call;
        const answer = await at.caller(caller, scene)(path, rest);
        expect([rest, answer.json?.code, answer.status < 300]).toEqual([
          rest,
          isRefused(scene) ? 'grant_exceeds_own' : undefined,
          !isRefused(scene),
        ]);
        if (!isRefused(scene)) continue;
        const { groups, users } = at.service.idp.tenant(target.tid);
        expect((await users.require(target.userId)).user.groupIds).toEqual([target.group]);
        const name = `Taken-${target.userId}`;
        expect(await groups.require(target.group)).toMatchObject({ name, permissionIds: ['orders.view', VAULT] });
        // The caller may change other members of the group, and an administrator of all tenants may remove the privilege.
        expect((await at.caller(caller, scene).patch(target.own, { name, permissionIds: [VAULT] })).status).toBe(200);
        expect((await at.root(path, rest)).status).toBeLessThan(300);
      }
    });
  });
});

describe('a member that the request does not change is not compared', () => {
  test.each(callerNames)('by a %s', async (caller) => {
    const { tid, personId, userId, email } = await at.target('child');
    const ask = at.caller(caller, 'child');
    expect((await ask.patch(`/tenants/${tid}/persons/${personId}`, { email, givenName: 'Other' })).status).toBe(200);
    const same = { userName: email, emailVerified: false, externalIdentities: [] };
    expect((await ask.patch(`/tenants/${tid}/users/${userId}`, same)).status).toBe(200);
    expect((await ask.post(`/tenants/${tid}/users/${userId}/disable`)).status).toBe(200);
    expect((await ask.post(`/tenants/${tid}/users/${userId}/sign-out`)).status).toBe(200);
  });
});
