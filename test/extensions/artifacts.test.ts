/** house §5: short-lived records of an extension. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactKind, BearerState, Extension, ExtensionContext } from 'tenant-idp/extension';
import { obtainTokens } from '../support/client/agent.js';
import { endpointsOf } from '../support/client/endpoints.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const links: ArtifactKind = { name: 'links.sent', lifetimeSeconds: 60, once: true };
const states: ArtifactKind = { name: 'links.states', lifetimeSeconds: 60 };
const devices: ArtifactKind = { name: 'links.devices', lifetimeSeconds: 3600, account: true, once: true };
const counts: ArtifactKind = { name: 'links.counts', lifetimeSeconds: 60, once: true, unsealed: true };
const baskets: ArtifactKind = { name: 'links.baskets', lifetimeSeconds: 3600, ofGrant: true };
let context: ExtensionContext;
const extension: Extension = {
  name: 'links',
  artifacts: [links, states, devices, counts, baskets],
  routes(router, given) {
    context = given;
    router.get('/grant', given.http.bearer('orders', 'orders.read'), (ctx) => {
      ctx.body = { grantId: (ctx.state as BearerState).accessToken.grantId };
    });
  },
};
const store = memoryArtifacts();
const written: string[] = [];
const service = useIdp({
  extensions: [extension],
  artifacts: {
    ...store,
    commit(writes) {
      written.push(JSON.stringify(writes));
      return store.commit(writes);
    },
  },
});
let alice: { tid: string; oid: string };
beforeAll(async () => {
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  alice = { tid: account?.tenant.id ?? '', oid: account?.person.user.id ?? '' };
});
afterEach(backToPresent);

describe('short-lived records of an extension', () => {
  test('are put if they are absent, read, removed', async () => {
    const kept = context.records.artifact(states);
    expect(await kept.read('a')).toBeUndefined();
    expect(await kept.put('a', { step: 1 })).toBe(true);
    expect(await kept.put('a', { step: 2 })).toBe(false);
    expect(await kept.read('a')).toEqual({ step: 1 });
    expect(await context.records.artifact(links).read('a')).toBeUndefined();
    await kept.remove('a');
    expect([await kept.read('a'), await kept.put('a', {})]).toEqual([undefined, false]);
  });

  test('are encrypted, but for a kind that is unsealed', async () => {
    written.length = 0;
    await context.records.artifact(states).put('sealed', { text: 'only-the-service-reads-this' });
    await context.records.artifact(states).update('sealed', () => ({ text: 'only-the-service-reads-this' }));
    expect([written.length, written.join('').includes('only-the-service')]).toEqual([2, false]);
    const kept = context.records.artifact(counts);
    expect(await kept.put('visits', { count: 1, at: ['an instant'] })).toBe(true);
    expect(await kept.update('visits', (value) => ({ ...(value as object), count: 2 }))).toEqual({ count: 2, at: ['an instant'] });
    expect(await kept.read('visits')).toEqual({ count: 2, at: ['an instant'] });
    expect(written.at(-1)).toContain('an instant');
    expect([await kept.take('visits'), await kept.take('visits')]).toEqual([{ count: 2, at: ['an instant'] }, undefined]);
    for (const value of [0, false, null, '']) {
      await kept.put(JSON.stringify(value), value);
      expect(await kept.read(JSON.stringify(value))).toBe(value);
    }
  });

  test('are taken exactly once, however many ask', async () => {
    const kept = context.records.artifact(links);
    for (let round = 0; round < 20; round += 1) {
      await kept.put(`link ${round}`, round);
      const taken = await Promise.all(Array.from({ length: 50 }, () => kept.take(`link ${round}`)));
      expect(taken.filter((value) => value !== undefined)).toEqual([round]);
    }
    expect([await kept.read('link 1'), await kept.put('link 1', 'again')]).toEqual([undefined, false]);
    await expect(context.records.artifact(states).take('a')).rejects.toThrow(TypeError);
  });

  test('end in time', async () => {
    await context.records.artifact(states).put('short', 1, { lifetimeSeconds: 10 });
    await context.records.artifact(states).put('long', 1);
    passTime(11);
    expect([await context.records.artifact(states).read('short'), await context.records.artifact(states).read('long')]).toEqual([
      undefined,
      1,
    ]);
    passTime(61);
    expect([await context.records.artifact(states).read('long'), await context.records.artifact(states).put('long', 2)]).toEqual([
      undefined,
      true,
    ]);
    await expect(context.records.artifact(states).put('longer', 1, { lifetimeSeconds: 61 })).rejects.toThrow(RangeError);
  });

  test('of an account end when its sign-ins are cut off', async () => {
    const kept = context.records.artifact(devices);
    await expect(kept.put('phone', 1)).rejects.toThrow(TypeError);
    expect(await kept.put('phone', 1, { oid: alice.oid })).toBe(true);
    expect(await kept.read('phone')).toBe(1);
    await service.idp.sessions.endAll({ tid: alice.tid, userId: alice.oid });
    expect([await kept.read('phone'), await kept.take('phone')]).toEqual([undefined, undefined]);
    await until(async () => (await store.listByAccount(alice.oid)).length === 0);
    // The account accepts new records from the second after the cut-off.
    passTime(2);
    expect(await kept.put('tablet', 2, { oid: alice.oid })).toBe(true);
    expect(await kept.take('tablet')).toBe(2);
  });

  test('of an account and a client end with the access of that client alone', async () => {
    // The time is later than the cut-off of the previous test.
    passTime(2);
    const kept = context.records.artifact(devices);
    const { consents } = service.idp.directory;
    await consents.allow(alice.oid, 'third-party', ['openid']);
    await kept.put('of a client', 1, { oid: alice.oid, clientId: 'third-party' });
    await kept.put('of a client later', 1, { oid: alice.oid });
    await kept.update('of a client later', () => 2, { clientId: 'third-party' });
    await kept.put('of another client', 1, { oid: alice.oid, clientId: 'web' });
    await kept.put('of no client', 1, { oid: alice.oid });
    await consents.withdraw(alice.oid, 'third-party');
    const read = await Promise.all(['of a client', 'of a client later', 'of another client', 'of no client'].map((id) => kept.read(id)));
    expect(read).toEqual([undefined, undefined, 1, 1]);
    await expect(context.records.artifact(states).put('no account', 1, { clientId: 'web' })).rejects.toThrow(TypeError);
  });

  test('of an account are compared with the account that the request has read; those of others with theirs', async () => {
    const [before, other] = await Promise.all(
      ['alice@acme.test', 'bob@globex.test'].map(async (name) => (await service.idp.directory.accounts.candidates(name))[0]),
    );
    await context.records.artifact(devices).put('watch', 3, { oid: alice.oid });
    await service.idp.directory.forTenant(alice.tid).users.disable(alice.oid);
    const [after] = await service.idp.directory.accounts.candidates('alice@acme.test');
    const read = (account: typeof before) => context.records.artifact(devices, account).read('watch');
    // Disabling ends the record, so the store may have removed the record before the read.
    expect([undefined, 3]).toContain(await read(before));
    expect([await read(after), await read(other), await read(undefined)]).toEqual([undefined, undefined, undefined]);
    await service.idp.directory.forTenant(alice.tid).users.enable(alice.oid);
    await expect(async () => context.records.artifact({ name: 'links.others', lifetimeSeconds: 1 }, before)).rejects.toThrow(TypeError);
    passTime(2);
  });

  test('of a grant end with it', async () => {
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access orders.read' });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const { grantId } = (await (await fetch(`${service.issuer}/grant`, { headers })).json()) as { grantId: string };
    const kept = context.records.artifact(baskets);
    await expect(kept.put('basket', 1)).rejects.toThrow(TypeError);
    expect(await kept.put('basket', ['milk'], { grantId })).toBe(true);
    expect(await kept.read('basket')).toEqual(['milk']);
    await endpointsOf(service.issuer).revoke(tokens.refresh_token);
    expect([await kept.read('basket'), await kept.put('other', 1, { grantId })]).toEqual([undefined, false]);
    expect(await kept.put('foreign', 1, { grantId: 'no grant' })).toBe(false);
  });

  test('keep neither their ids nor their values readable', async () => {
    await context.records.artifact(states).put('a secret id', { value: 'a secret value' });
    expect(written.length).toBeGreaterThan(0);
    expect(written.join()).not.toMatch(/a secret/);
  });

  test.each<[string, object, RegExp]>([
    ['a name without the extension’s', { name: 'sent', lifetimeSeconds: 1 }, /artifacts\[0\]\.name/],
    ['no lifetime', { name: 'one.sent' }, /artifacts\[0\]\.lifetimeSeconds/],
    ['a member that does not exist', { name: 'one.sent', lifetimeSeconds: 1, twice: true }, /artifacts\[0\]\.twice/],
  ])('%s is refused at start', async (_, kind, message) => {
    const wrong = { name: 'one', artifacts: [kind] } as never;
    await expect(startIdp({ extensions: [wrong] })).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });
});
