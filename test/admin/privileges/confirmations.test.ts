/**
 * A confirmation covers the means that were listed to the same administrator. Later means, means of a refused request, and means that no
 * administrator has listed are not covered.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Person } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';

import type { AdminAnswer, AdminClient } from '../../support/administration/admin.js';
import { GRANTED, lowAndHolder, type Member, ok, orgTenant, useAdministrators } from '../../support/administration/administrators.js';
import { captureMail } from '../../support/administration/invitations.js';
import { Agent } from '../../support/client/agent.js';
import { mailTo } from '../../support/sign-in/passwords.js';
import { until } from '../../support/time/until.js';

const store = memoryDirectory();
const captured = captureMail();
const { service, by, tidOf, ...administrators } = useAdministrators({
  tenants: [orgTenant],
  administrators: lowAndHolder(['Org']),
  connections: [{ id: 'up', tenant: 'Org', name: 'Up' }],
  directory: store,
  mail: captured.mail,
});

let org: string;
let root: AdminClient;
let low: AdminClient;
beforeAll(() => {
  org = tidOf('Org');
  root = by('root');
  low = by('low');
});

let count = 0;
type Target = Pick<Member, 'personId' | 'userId' | 'path'>;
async function member(): Promise<Target> {
  count += 1;
  return administrators.member(org, { hasEmail: false });
}

const identity = (subject: string) => ({ idp: 'up', subject: `${subject} ${count}` });
/** Functions that write one more means, which a stranger can use. */
const writes = {
  'an identity': async ({ path }: Target, name: string) => {
    const before = ok(await low(path)).json.externalIdentities as object[];
    ok(await low.patch(path, { externalIdentities: [...before, identity(name)] }));
  },
  'another identity in the place of the one before': async ({ path }: Target, name: string) =>
    void ok(await low.patch(path, { externalIdentities: [identity(name)] })),
  'an address': async ({ personId }: Target, name: string) =>
    void ok(await low.patch(`/tenants/${org}/persons/${personId}`, { email: `${name}-${count}@other.test` })),
};

async function vouchersOf({ personId }: Target): Promise<readonly (Person['emailVouchedBy'] | undefined)[]> {
  const { emailVouchedBy, email, user } = (await store.collection<Person>('persons').get(personId)) as Person;
  return [...(user?.externalIdentities ?? []).map(({ vouchedBy }) => vouchedBy), ...(email === undefined ? [] : [emailVouchedBy])];
}
const counts = async (target: Target): Promise<readonly boolean[]> => (await vouchersOf(target)).map((one) => one?.by !== 'tenant');

/** Ways to confirm, with a grant or without one. `look` returns the list that the administrator sees before. */
const confirmations = {
  'a group of the user': async (target: Target) => {
    const grant = (more: object) => root.post(`${target.path}/groups`, { names: ['Privileged'], ...more });
    return { look: () => grant({}), confirm: () => grant({ confirm: true }), listed: (answer: AdminAnswer) => answer.json.means };
  },
  'a permission of a group of the user': async (target: Target) => {
    const { groups, users } = service.idp.tenant(org);
    const { id } = await groups.create({ name: `Group ${++count}` });
    await users.addGroups(target.userId, { ids: [id] });
    const grant = (more: object) => root.patch(`/tenants/${org}/groups/${id}`, { permissionIds: [GRANTED], ...more });
    return { look: () => grant({}), confirm: () => grant({ confirm: true }), listed: (answer: AdminAnswer) => answer.json.means };
  },
  'the list of the user': async (target: Target) => {
    await service.idp.tenant(org).users.addGroups(target.userId, { names: ['Privileged'] });
    return {
      look: () => root(`${target.path}/means`),
      confirm: () => root.post(`${target.path}/means/confirm`),
      listed: (answer: AdminAnswer) => answer.json.items ?? answer.json.means,
    };
  },
};

const cases = Object.keys(confirmations).flatMap((way) =>
  Object.keys(writes).map((name) => [way as keyof typeof confirmations, name as keyof typeof writes] as const),
);

describe.each(cases)('a confirmation by %s', (way, name) => {
  test(`does not cover ${name} that was written after the list, and lists it`, async () => {
    const target = await member();
    await writes['an identity'](target, 'first');
    const { look, confirm, listed } = await confirmations[way](target);
    expect(listed(await look())).toHaveLength(1);
    // `low` may not write to the user while the user has the privilege.
    const { users } = service.idp.tenant(org);
    const groupIds = [...(await users.require(target.userId)).user.groupIds];
    await users.removeGroups(target.userId, { ids: groupIds });
    await writes[name](target, 'later');
    await users.addGroups(target.userId, { ids: groupIds });
    const refused = await confirm();
    expect([refused.status, refused.json.code]).toEqual([409, 'means_unconfirmed']);
    expect(JSON.stringify(refused.json.means)).toContain('later');
    expect(await counts(target)).not.toContain(true);
    expect((await confirm()).status).toBe(200);
    expect(await counts(target)).not.toContain(false);
  });
});

describe.each(Object.keys(confirmations) as (keyof typeof confirmations)[])('a confirmation by %s', (way) => {
  test('without a list, or after the list of somebody else, lists the means', async () => {
    const target = await member();
    await writes['an identity'](target, 'first');
    const { confirm } = await confirmations[way](target);
    await low(`${target.path}/means`);
    expect((await confirm()).json.code).toBe('means_unconfirmed');
    expect(await counts(target)).toEqual([false]);
    expect((await confirm()).status).toBe(200);
    expect(await counts(target)).toEqual([true]);
  });
});

test('a means that is written between the comparison and the write of the confirmation does not count', async () => {
  const target = await member();
  await writes['an identity'](target, 'first');
  const { means } = service.idp.directory;
  const found = () => service.idp.tenant(org).users.require(target.userId);
  const unconfirmed = await means.unconfirmed(await found(), [{ tid: org, permissionId: GRANTED }]);
  await writes['an identity'](target, 'later');
  await writes['an address'](target, 'later');
  await means.confirm(unconfirmed);
  expect(await counts(target)).toEqual([true, false, false]);
});

describe('a request that is refused', () => {
  test('for a group that does not exist confirms nothing', async () => {
    const target = await member();
    await writes['an identity'](target, 'first');
    const unknown = '0197a000-0000-7000-8000-00000000dead';
    const { id } = (await service.idp.tenant(org).groups.list({ name: 'Privileged' })).items[0] as { id: string };
    const grant = (more: object) => root.post(`${target.path}/groups`, { ids: [id, unknown], ...more });
    await grant({});
    const refused = await grant({ confirm: true });
    expect([refused.status, refused.json.code]).toEqual([422, 'group_unknown']);
    expect(await counts(target)).toEqual([false]);
  });

  test('by If-Match confirms nothing', async () => {
    const target = await member();
    await writes['an identity'](target, 'first');
    const { groups, users } = service.idp.tenant(org);
    const { id } = await groups.create({ name: `Matched ${++count}` });
    await users.addGroups(target.userId, { ids: [id] });
    const path = `/tenants/${org}/groups/${id}`;
    await root.patch(path, { permissionIds: [GRANTED] });
    const refused = await root.patch(path, { permissionIds: [GRANTED], confirm: true }, { 'If-Match': '"another"' });
    expect([refused.status, refused.json.code]).toEqual([412, 'precondition_failed']);
    expect(await counts(target)).toEqual([false]);
  });
});

test('a list that is longer than one answer says how many there are, and a confirmation covers those alone that were listed', async () => {
  const { groups, users } = service.idp.tenant(org);
  const { id } = await groups.create({ name: 'Large' });
  const targets: Target[] = [];
  for (let index = 0; index < 6; index += 1) {
    const target = await member();
    const subjects = Array.from({ length: 99 }, (_, number) => ({ idp: 'up', subject: `${number} of ${target.userId}` }));
    ok(await low.patch(target.path, { externalIdentities: subjects }));
    await users.addGroups(target.userId, { ids: [id] });
    targets.push(target);
  }
  const path = `/tenants/${org}/groups/${id}`;
  const refused = await root.patch(path, { permissionIds: [GRANTED] });
  expect([refused.status, refused.json.total, (refused.json.means as unknown[]).length]).toEqual([409, 594, 500]);
  await writes['an identity'](targets[0] as Target, 'later');
  const others = await root.patch(path, { permissionIds: [GRANTED], confirm: true });
  expect([others.status, others.json.total, (others.json.means as unknown[]).length]).toEqual([409, 595, 95]);
  expect(JSON.stringify(others.json.means)).toContain('later');
  expect((await Promise.all(targets.map(counts))).flat()).not.toContain(true);
  expect((await root.patch(path, { permissionIds: [GRANTED], confirm: true })).status).toBe(200);
  expect((await Promise.all(targets.map(counts))).flat()).not.toContain(false);
});

describe('a look at the list of means', () => {
  test('hinders no confirmation of the grant before it', async () => {
    const target = await member();
    await writes['an identity'](target, 'first');
    const grant = (more: object) => root.post(`${target.path}/groups`, { names: ['Privileged'], ...more });
    expect((await grant({})).status).toBe(409);
    expect((await root(`${target.path}/means`)).json).toEqual({ items: [], total: 0 });
    expect((await grant({ confirm: true })).status).toBe(200);
    expect(await counts(target)).toEqual([true]);
  });

  test('with a group shows the means that the group would stop, so that the grant can be confirmed', async () => {
    const target = await member();
    await writes['an identity'](target, 'first');
    const { id } = (await service.idp.tenant(org).groups.list({ name: 'Privileged' })).items[0] as { id: string };
    const shown = ok(await root(`${target.path}/means?groupId=${id}`)).json;
    expect(shown).toMatchObject({ items: [{ kind: 'identity', userId: target.userId }], total: 1 });
    expect((await root.post(`${target.path}/groups`, { ids: [id], confirm: true })).status).toBe(200);
    expect(await counts(target)).toEqual([true]);
  });
});

/** Functions that give a link to a person who did not have it when the means were listed. */
const handedOver = {
  'an invitation link that was fetched': async ({ userId }: Target) => {
    const { id } = ok(await low.post(`/tenants/${org}/invitations`, { userId, send: true })).json;
    return () => low(`/tenants/${org}/invitations/${id}/link`);
  },
  'an invitation link that was fetched again': async ({ userId }: Target) => {
    const { id } = ok(await low.post(`/tenants/${org}/invitations`, { userId, send: false })).json;
    ok(await low(`/tenants/${org}/invitations/${id}/link`));
    return () => low(`/tenants/${org}/invitations/${id}/link`);
  },
  'an invitation that was sent again': async ({ userId }: Target) => {
    const { id } = ok(await low.post(`/tenants/${org}/invitations`, { userId, send: true })).json;
    return () => low.post(`/tenants/${org}/invitations/${id}/resend`);
  },
  'an invitation whose next link goes to another address': async ({ userId, personId }: Target) => {
    ok(await low.post(`/tenants/${org}/invitations`, { userId, send: true }));
    return () => root.patch(`/tenants/${org}/persons/${personId}`, { email: `next-${userId}@org.test` });
  },
  'a reset that was sent again': async ({ path, userId }: Target) => {
    await service.idp.tenant(org).users.activate(userId);
    const send = async () => {
      const serial = async () => (await service.idp.tenant(org).users.require(userId)).user.passwordReset?.serial ?? 0;
      const before = await serial();
      const answer = await low.post(`${path}/password-reset`);
      await until(async () => (await serial()) > before);
      return answer;
    };
    ok(await send());
    return send;
  },
};

describe.each(Object.keys(handedOver) as (keyof typeof handedOver)[])('a confirmation', (name) => {
  test(`does not cover ${name} after the list`, async () => {
    count += 1;
    const email = `handed-${count}@org.test`;
    const made = await service.idp.tenant(org).persons.create({ givenName: 'M', familyName: 'M', email, user: { userName: email } });
    const userId = made.user?.id as string;
    const target = { personId: made.id, userId, path: `/tenants/${org}/users/${userId}` };
    const handOver = await handedOver[name](target);
    const grant = (more: object) => root.post(`${target.path}/groups`, { names: ['Privileged'], ...more });
    expect((await grant({})).json.means).toHaveLength(1);
    ok(await handOver());
    const refused = await grant({ confirm: true });
    expect([refused.status, refused.json.code]).toEqual([409, 'means_unconfirmed']);
    expect((await grant({ confirm: true })).status).toBe(200);
  });
});

describe('a user with privileged groups, for a person whose address a lesser administrator wrote', () => {
  async function formerUser() {
    const target = await member();
    const email = `evil-${target.userId}@other.test`;
    ok(await low.patch(`/tenants/${org}/persons/${target.personId}`, { email }));
    ok(await low.remove(target.path));
    return { ...target, email, userName: `again-${target.userId}@org.test` };
  }
  const privileged = { names: ['Privileged'] };

  test('is refused until the address is confirmed', async () => {
    const { personId, email, userName } = await formerUser();
    const make = (more: object) => root.post(`/tenants/${org}/persons/${personId}/user`, { userName, groups: privileged, ...more });
    const refused = await make({});
    expect([refused.status, refused.json.code]).toEqual([409, 'means_unconfirmed']);
    expect(refused.json).toMatchObject({ means: [{ kind: 'address', address: email }], total: 1 });
    const { id } = ok(await make({ confirm: true })).json;
    expect((await root(`/tenants/${org}/users/${id}/means`)).json.items).toEqual([]);
  });

  test('gets an invitation that works, if an operator sends it to the address', async () => {
    const { personId, email, userName } = await formerUser();
    const { user } = await service.idp.tenant(org).users.create(personId, { userName, groups: privileged });
    ok(await root.post(`/tenants/${org}/invitations`, { userId: user.id, send: true }));
    expect((await root(`/tenants/${org}/users/${user.id}/means`)).json.items).toMatchObject([{ kind: 'address' }]);
    const [url = ''] = (await mailTo(captured, email, 'invitation')).text.match(/https?:\S+\/invitations\/\S+/) ?? [];
    expect((await new Agent().get(url)).body).toContain('name="password"');
  });
});
