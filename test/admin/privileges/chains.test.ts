/**
 * Chains by which an administrator of Acme became one of Globex, through a parent account of Acme whose child account administers Globex. A
 * client and a person of Acme, who hold all scopes there, try each chain, and are refused at its first step. An administrator of all
 * tenants can reach the end of a chain, which shows that each step works.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../../support/administration/admin.js';
import { captureMail } from '../../support/administration/invitations.js';
import { Agent, authorizeUrl, basic, createPkce, obtainTokens, postForm } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { linkIn, mailTo, NEW_PASSWORD } from '../../support/sign-in/passwords.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';

/** A permission of the admin API that nobody of Acme holds. */
const VAULT = 'idp.vault:read';
const administrators = { name: 'Admins', permissions: ['idp.users:read', 'idp.users:write'] };
const captured = captureMail();
let upstream: UpstreamProvider;
const service = useIdp(async () => {
  upstream = await startUpstream();
  const [acme, globex] = adminSeed.tenants;
  return {
    seed: {
      ...adminSeed,
      permissions: [...adminSeed.permissions, { id: VAULT, name: 'Vault' }],
      tenants: [
        {
          ...acme,
          groups: [{ name: 'Chiefs', permissions: adminScopes }],
          persons: [{ givenName: 'Chief', familyName: 'C', user: { userName: 'chief', devPassword: 'chief', groups: ['Chiefs'] } }],
        },
        { ...globex, groups: [administrators, { name: 'Vault', permissions: [VAULT] }], persons: [] },
      ],
      clients: [...adminSeed.clients, adminClient('connector', ['Acme'], ['idp.connections:read', 'idp.connections:write'])],
      extensions: {
        connections: [
          { id: 'up', tenant: 'Acme', name: 'Up', issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET },
        ],
      },
    } as never,
    mail: captured.mail,
    limits: { adminRequestsPerMinute: 100_000, signInFailuresPerAddress: 100_000 },
  };
});

let root: AdminClient;
let ofAcme: Readonly<Record<'client' | 'person', AdminClient>>;
let tid: Readonly<Record<string, string>>;
beforeAll(async () => {
  upstream.register(service.issuer, ['up']);
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  const { tokens } = await obtainTokens(service.issuer, {
    ...{ client: 'console', secret: 'console-secret', userName: 'chief', password: 'chief' },
    scope: `openid ${adminScopes.join(' ')}`,
  });
  ofAcme = {
    client: administer(service.issuer, await adminToken(service.issuer, 'acme')),
    person: administer(service.issuer, tokens.access_token),
  };
  tid = await tenantIds(root);
});
afterAll(() => upstream?.close());

let count = 0;
/** Creates a parent account in Acme, and its child account in a group of Globex. */
async function family(group = 'Admins') {
  count += 1;
  const [parentName, childName] = [`parent-${count}@acme.test`, `child-${count}@globex.test`];
  const { acme, globex } = { acme: service.idp.tenant(tid.Acme ?? ''), globex: service.idp.tenant(tid.Globex ?? '') };
  const named = { givenName: 'F', familyName: 'F' };
  const active = { status: 'active' as const };
  const made = await acme.persons.create({ ...named, email: parentName, user: { userName: parentName, ...active } });
  const child = await globex.persons.create({ ...named, user: { userName: childName, ...active } });
  const parent = { personId: made.id, userId: made.user?.id ?? '', name: parentName };
  await service.idp.directory.credentials.seedPassword(parent.userId, 'parent');
  await globex.linking.link(child.user?.id ?? '', { tid: tid.Acme ?? '', userId: parent.userId });
  // The child becomes an administrator after the link.
  await globex.users.addGroups(child.user?.id ?? '', { names: [group] });
  return { parent, child: { userId: child.user?.id ?? '', name: childName } };
}

const scope = 'openid idp.users:read idp.users:write';
const consoleHeader = { authorization: basic('console', 'console-secret') };

/**
 * Signs in at the provider, then changes to the account of Globex. Returns an admin client with the tokens, or undefined without a sign-in.
 */
async function byProvider(person: UpstreamProvider['person'], childId: string): Promise<AdminClient | undefined> {
  upstream.person = person;
  const agent = new Agent();
  const { verifier, challenge } = createPkce();
  const url = (more: object) =>
    authorizeUrl(service.issuer, { client_id: 'console', scope, code_challenge: challenge, code_challenge_method: 'S256', ...more });
  const begun = await agent.follow(await agent.get(url({ acr_values: 'idp:up' })));
  const back = await agent.follow(await agent.get(await atUpstream(upstream, begun)));
  if (!back.location) return undefined;
  const choice = await agent.follow(await agent.get(url({ acr_values: `tenant:${tid.Globex}` })));
  const there = await agent.follow(await agent.submit(choice, { choice: childId }));
  const fields = { grant_type: 'authorization_code', code: membersOf(there).code ?? '', redirect_uri: redirectUri };
  const { json } = await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: verifier }, consoleHeader);
  return administer(service.issuer, json.access_token);
}

async function byPassword(userName: string, password: string): Promise<AdminClient> {
  const { tokens } = await obtainTokens(service.issuer, {
    ...{ client: 'console', secret: 'console-secret', scope, userName, password, acr_values: `tenant:${tid.Globex}` },
  });
  return administer(service.issuer, tokens.access_token);
}

/** Returns the statuses of operations that only an administrator of Globex may call. */
async function administersGlobex(caller: AdminClient | undefined, userId: string): Promise<readonly unknown[]> {
  const path = `/tenants/${tid.Globex}/users`;
  return caller ? [(await caller(path)).status, (await caller.post(`${path}/${userId}/sign-out`)).status] : [];
}

describe.each(['client', 'person'] as const)('by a %s of Acme', (caller) => {
  test('XT-IDENTITY, T3-PRIV-PARENT: an identity of the parent’s', async () => {
    const { parent, child } = await family();
    const path = `/tenants/${tid.Acme}/users/${parent.userId}`;
    const body = { externalIdentities: [{ idp: 'up', subject: `evil-${count}` }] };
    const evil = { sub: `evil-${count}` };
    expect((await ofAcme[caller](`/tenants/${tid.Globex}/users`)).status).toBe(404);
    expect((await ofAcme[caller].patch(path, body)).json.code).toBe('grant_exceeds_own');
    expect(await byProvider(evil, child.userId)).toBeUndefined();
    expect((await root.patch(path, body)).status).toBe(200);
    expect(await administersGlobex(await byProvider(evil, child.userId), child.userId)).toEqual([200, 200]);
  });

  test('XT-EMAIL, T3-PARENT-MAIL: an address of the parent’s, and a reset', async () => {
    const { parent, child } = await family();
    const email = `evil-${count}@evil.test`;
    const steps = async (by: AdminClient) => [
      await by.patch(`/tenants/${tid.Acme}/persons/${parent.personId}`, { email }),
      await by.patch(`/tenants/${tid.Acme}/users/${parent.userId}`, { emailVerified: true }),
      await by.post(`/tenants/${tid.Acme}/users/${parent.userId}/password-reset`),
    ];
    expect((await steps(ofAcme[caller])).map(({ json }) => json.code)).toEqual(['grant_exceeds_own', 'email_unproven', 'user_privileged']);
    expect((await steps(root)).map(({ status }) => status)).toEqual([200, 200, 204]);
    const agent = new Agent();
    const page = await agent.get(linkIn(await mailTo(captured, email, 'password-reset')));
    expect((await agent.submit(page, { password: NEW_PASSWORD })).status).toBe(303);
    expect(captured.mails.filter(({ kind, to }) => kind === 'password-reset' && to === email)).toHaveLength(1);
    expect(await administersGlobex(await byPassword(child.name, NEW_PASSWORD), child.userId)).toEqual([200, 200]);
  });

  test('XT-CONN: the claim that a connection goes by', async () => {
    const { parent, child } = await family('Vault');
    // The child is in a group whose permission the caller does not hold, and in the group `Admins`.
    await service.idp.tenant(tid.Globex ?? '').users.addGroups(child.userId, { names: ['Admins'] });
    await service.idp.tenant(tid.Acme ?? '').users.addIdentity(parent.userId, { idp: 'up', subject: `recorded-${count}` });
    const path = `/tenants/${tid.Acme}/connections/up`;
    const evil = { sub: `evil-${count}`, hd: `recorded-${count}` };
    const connector = administer(service.issuer, await adminToken(service.issuer, 'connector', 'idp.connections:write'));
    for (const by of [connector, ofAcme[caller]])
      expect((await by.patch(path, { subjectClaim: 'hd' })).json.code).toBe('connection_privileged');
    expect(await byProvider(evil, child.userId)).toBeUndefined();
    expect((await root.patch(path, { subjectClaim: 'hd' })).status).toBe(200);
    expect(await administersGlobex(await byProvider(evil, child.userId), child.userId)).toEqual([200, 200]);
    await root.patch(path, { subjectClaim: 'sub' });
  });

  test('T3-PARENT-CONN: a connection of one’s own, and an identity at it', async () => {
    const { parent } = await family();
    const provider = { name: 'Own', issuer: upstream.issuer, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET };
    expect((await ofAcme[caller].post(`/tenants/${tid.Acme}/connections`, provider)).json.code).toBe('connection_privileged');
    const body = { externalIdentities: [{ idp: 'own', subject: 'evil' }] };
    expect((await ofAcme[caller].patch(`/tenants/${tid.Acme}/users/${parent.userId}`, body)).json.code).toBe('grant_exceeds_own');
  });

  test.each(['user', 'person'])('R-ORPHAN: the %s of the parent is removed, and the child’s own password signs in', async (removed) => {
    const { parent, child } = await family();
    await service.idp.directory.credentials.seedPassword(child.userId, 'dormant');
    const globex = service.idp.tenant(tid.Globex ?? '');
    const paths = { user: `/tenants/${tid.Acme}/users/${parent.userId}`, person: `/tenants/${tid.Acme}/persons/${parent.personId}` };
    const path = paths[removed as keyof typeof paths];
    expect((await ofAcme[caller].remove(path)).json.code).toBe('grant_exceeds_own');
    expect((await globex.users.require(child.userId)).user.parentUserId).toBe(parent.userId);
    expect((await ofAcme[caller].post(`${paths.user}/disable`)).status).toBe(200);
    expect((await root.remove(path)).status).toBe(204);
    expect(await administersGlobex(await byPassword(child.name, 'dormant'), child.userId)).toEqual([200, 200]);
  });

  test('XT-CONTROL: a child with a permission that the caller has in no tenant', async () => {
    const { parent } = await family('Vault');
    const body = { externalIdentities: [{ idp: 'up', subject: 'evil-control' }] };
    expect((await ofAcme[caller].patch(`/tenants/${tid.Acme}/users/${parent.userId}`, body)).json.code).toBe('grant_exceeds_own');
  });

  test('the administrator of the parent may change a parent whose children have no privilege', async () => {
    const { parent, child } = await family();
    const globex = service.idp.tenant(tid.Globex ?? '');
    await globex.users.removeGroups(child.userId, { names: ['Admins'] });
    const body = { externalIdentities: [{ idp: 'up', subject: `mine-${count}` }] };
    expect((await ofAcme[caller].patch(`/tenants/${tid.Acme}/users/${parent.userId}`, body)).status).toBe(200);
    expect(await administersGlobex(await byProvider({ sub: `mine-${count}` }, child.userId), child.userId)).toEqual([403, 403]);
  });
});

test('T3-CHAIN-MFA: a caller that holds less than a user of its tenant cannot remove `requireMfa`', async () => {
  await root.patch(`/tenants/${tid.Acme}`, { signIn: { requireMfa: true } });
  const low = adminClient('acme-low', [tid.Acme ?? ''], ['idp.tenants:read', 'idp.tenants:write']);
  await service.idp.directory.clients.create(low as never);
  const caller = administer(service.issuer, await adminToken(service.issuer, 'acme-low', 'idp.tenants:read idp.tenants:write'));
  const path = `/tenants/${tid.Acme}`;
  for (const signIn of [null, { requireMfa: false }, { requireMfa: null }])
    expect((await caller.patch(path, { signIn })).json.code).toBe('policy_privileged');
  expect((await caller(path)).json.signIn).toEqual({ requireMfa: true });
  expect((await caller.patch(path, { locale: 'nb' })).status).toBe(200);
});
