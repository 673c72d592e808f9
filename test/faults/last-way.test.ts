/** Issue 46: two nodes that remove the last two ways to sign in at the same time, over stores that they share. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type IdentityProvider, IdpError } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { tenantNamed } from '../support/administration/invitations.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { testSeed } from '../support/service/seed.js';
import { withDurable } from '../support/stores/durable.js';

const ROUNDS = process.env.PROVE ? 200 : 15;
const idps = ['one', 'two'];
const connection = { issuer: 'https://up.example', clientId: 'c', clientSecret: 's' };
const seed = { ...testSeed, extensions: { connections: idps.map((id) => ({ ...connection, id, name: id })) } } as never;

/** @param stores returns the adapters of a node. */
function racesOver(stores: () => Parameters<typeof startInstances>[1]): void {
  let nodes: Instances;
  let acme: string;
  let globex: string;
  beforeAll(async () => {
    nodes = await startInstances(2, stores(), { seed });
    const [first] = nodes.idps as [IdentityProvider];
    [acme, globex] = [await tenantNamed(first, 'Acme'), await tenantNamed(first, 'Globex')];
  });
  afterAll(() => nodes?.close());

  async function made(tid: string, identities: readonly { readonly idp: string; readonly subject: string }[]): Promise<string> {
    const user = { userName: randomUUID(), status: 'active' as const, externalIdentities: [...identities] };
    const { user: added } = await (nodes.idps[0] as IdentityProvider)
      .tenant(tid)
      .persons.create({ givenName: 'Way', familyName: 'In', user });
    return added?.id as string;
  }
  const accountOf = async ({ directory }: IdentityProvider, oid: string) => {
    const account = await directory.accounts.findByOid(oid);
    if (!account) throw new Error('no account');
    return account;
  };
  /** Removes an identity as its user does, on a node that read the account before. */
  const removal = async (idp: IdentityProvider, oid: string, identity: { readonly idp: string; readonly subject: string }) => {
    const account = await accountOf(idp, oid);
    const way = { kind: 'identity', id: JSON.stringify([identity.idp, identity.subject]) };
    return () =>
      idp.directory.waysIn.remove(account, way, (check) =>
        idp.directory.forTenant(account.tenant.id).users.removeIdentity(oid, identity, { check }),
      );
  };

  test('of two identities one stays, and one removal says so', async () => {
    const [here, there] = nodes.idps as [IdentityProvider, IdentityProvider];
    for (let round = 0; round < ROUNDS; round += 1) {
      const identities = idps.map((idp) => ({ idp, subject: randomUUID() }));
      const oid = await made(acme, identities);
      const removals = [await removal(here, oid, identities[0] as never), await removal(there, oid, identities[1] as never)];
      const removed = await Promise.all(removals.map((remove) => remove()));
      expect(removed.filter(Boolean)).toHaveLength(1);
      expect((await accountOf(here, oid)).person.user.externalIdentities).toHaveLength(1);
    }
  });

  test('of an identity and a way in a row of its own one stays', async () => {
    const [here, there] = nodes.idps as [IdentityProvider, IdentityProvider];
    const rows = new Set<string>();
    for (const { directory } of nodes.idps)
      directory.waysIn.addSource(async ({ person }) => (rows.has(person.user.id) ? [{ kind: 'token', id: person.user.id }] : []));
    for (let round = 0; round < ROUNDS; round += 1) {
      const identity = { idp: 'one', subject: randomUUID() };
      const oid = await made(acme, [identity]);
      rows.add(oid);
      const account = await accountOf(there, oid);
      const remove = await removal(here, oid, identity);
      const removed = await Promise.all([
        remove(),
        there.directory.waysIn.removeRow(account, { kind: 'token', id: oid }, async () => void rows.delete(oid)),
      ]);
      expect(removed.filter(Boolean)).toHaveLength(1);
      const { user } = (await accountOf(here, oid)).person;
      expect([user.externalIdentities.length + Number(rows.has(oid)), user.leavingWays]).toEqual([1, undefined]);
    }
  });

  test('a removal that stops in between leaves a way that works, does not count, and can be removed again', async () => {
    const [{ directory }] = nodes.idps as [IdentityProvider];
    const rows = new Set<string>();
    directory.waysIn.addSource(async ({ person }) => (rows.has(person.user.id) ? [{ kind: 'other', id: person.user.id }] : []));
    const identity = { idp: 'one', subject: randomUUID() };
    const oid = await made(acme, [identity]);
    rows.add(oid);
    const way = { kind: 'other', id: oid };
    const account = await accountOf(nodes.idps[0] as IdentityProvider, oid);
    const stopped = directory.waysIn.removeRow(account, way, () => Promise.reject(new Error('the node ends')));
    await expect(stopped).rejects.toThrow('the node ends');
    expect((await directory.waysIn.of(await accountOf(nodes.idps[0] as IdentityProvider, oid))).map(({ kind }) => kind)).toEqual([
      'identity',
    ]);
    const remove = await removal(nodes.idps[1] as IdentityProvider, oid, identity);
    expect(await remove()).toBe(false);
    expect(await directory.waysIn.removeRow(account, way, async () => void rows.delete(oid))).toBe(true);
    const { user } = (await accountOf(nodes.idps[0] as IdentityProvider, oid)).person;
    expect([user.leavingWays, user.externalIdentities.length, rows.size]).toEqual([undefined, 1, 0]);
  });

  test('the name of a way whose row is removed does not stay, in two tabs and after a node ended', async () => {
    const [one, other] = nodes.idps as [IdentityProvider, IdentityProvider];
    const rows = new Set<string>();
    one.directory.waysIn.addSource(async ({ person }) => (rows.has(person.user.id) ? [{ kind: 'third', id: person.user.id }] : []));
    const oid = await made(acme, [{ idp: 'one', subject: randomUUID() }]);
    const way = { kind: 'third', id: oid };
    const named = async () => (await accountOf(one, oid)).person.user.leavingWays;
    rows.add(oid);
    const remove = async () => {
      if (!rows.delete(oid)) throw new IdpError('not_found');
    };
    const tabs = await Promise.all([one, other].map(async (idp) => [idp, await accountOf(idp, oid)] as const));
    for (const [{ directory }, account] of tabs) expect(await directory.waysIn.removeRow(account, way, remove)).toBe(true);
    expect([rows.size, await named()]).toEqual([0, undefined]);
    const account = await accountOf(one, oid);
    await expect(one.directory.waysIn.removeRow(account, way, () => Promise.reject(new Error('the node ends')))).rejects.toThrow();
    expect(await named()).toEqual([way]);
    await other.directory.waysIn.rowIsRemoved(account, way);
    expect(await named()).toBeUndefined();
  });

  test('of the account link of an account and its one identity one stays', async () => {
    const [here, there] = nodes.idps as [IdentityProvider, IdentityProvider];
    for (let round = 0; round < ROUNDS; round += 1) {
      const identity = { idp: 'one', subject: randomUUID() };
      const [child, parent] = [await made(acme, [identity]), await made(globex, [{ idp: 'two', subject: randomUUID() }])];
      const { linking } = there.directory.forTenant(acme);
      await linking.link(child, { tid: globex, userId: parent });
      const account = await accountOf(there, child);
      const remove = await removal(here, child, identity);
      await Promise.all([remove(), there.directory.waysIn.remove(account, 'parent', (check) => linking.unlink(child, parent, check))]);
      const { user } = (await accountOf(here, child)).person;
      expect([user.externalIdentities.length, user.parentUserId].filter((left) => left !== 0 && left !== undefined).length).toBeGreaterThan(
        0,
      );
    }
  });
}

describe('in memory', () =>
  racesOver(() => {
    const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
    return () => stores;
  }));

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) =>
  racesOver(() => {
    const place = durable.place();
    return () => durable.at(place);
  }),
);
