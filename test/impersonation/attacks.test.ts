/** G8: attacks on impersonation by strangers and by operators. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { type AdminClient, adminClient, administer, adminToken } from '../support/administration/admin.js';
import { tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, formOf, type Json } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { callLoopback, startLogoutReceiver } from '../support/client/receivers/logout-receiver.js';
import { isActive, userinfo } from '../support/client/steps.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, operatorSeed, permission, textOf, valueFor } from '../support/sign-in/impersonating.js';
import { until } from '../support/time/until.js';

const adminScopes = ['idp.impersonations:read', 'idp.impersonations:write'];
const service = useIdp({
  ...operatorOptions,
  seed: {
    ...operatorSeed,
    permissions: [...operatorSeed.permissions, { id: 'idp.groups:write', name: 'Groups' }],
    clients: [...operatorSeed.clients, adminClient('root', ['*'], adminScopes)],
  },
  outgoing: callLoopback,
  limits: { adminRequestsPerMinute: 100_000, signInFailuresPerAddress: 100_000 },
});
const ended: IdpEvent<'ImpersonationEnded'>[] = [];
let root: AdminClient;
let acme: string;
let globex: string;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root', adminScopes.join(' ')));
  [acme, globex] = [await tenantNamed(service.idp, 'Acme'), await tenantNamed(service.idp, 'Globex')];
  service.idp.events.on('ImpersonationEnded', (event) => void ended.push(event));
});

let count = 0;
interface Made {
  readonly name: string;
  readonly oid: string;
  readonly personId: string;
  readonly tid: string;
}
/** Creates a person whose password is the first part of the user name. */
async function person(tid: string, groups: readonly string[] = [], more: Record<string, string> = {}): Promise<Made> {
  count += 1;
  const password = `p${count}`;
  const name = `${password}@${tid === acme ? 'acme' : 'globex'}.test`;
  const user = { userName: name, emailVerified: true, status: 'active' as const, groups: { names: [...groups] } };
  const made = await service.idp.tenant(tid).persons.create({ givenName: 'Per', familyName: `Son ${count}`, email: name, ...more, user });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, password);
  return { name, oid, personId: made.id, tid };
}
const support = (tid = acme) => person(tid, ['Support']);

/** Returns the code in the answer to the application; undefined for an error and for a page. */
const codeIn = (answer: Answer): string | undefined => (answer.location?.startsWith(redirectUri) ? membersOf(answer).code : undefined);

interface Impersonations {
  readonly agent: Agent;
  readonly operator: Made;
  readonly target: Made;
  readonly token: string;
  readonly id: string;
}
const rowsOf = async (tid: string, query: string): Promise<readonly Json[]> =>
  (await root(`/tenants/${tid}/impersonations?${query}`)).json.items;

async function impersonation(operator: Made, target: Made, signsInAs = operator): Promise<Impersonations> {
  const at = impersonatingAt(service);
  const { agent, response } = await at.act(target.name, { operator: signsInAs.name });
  const { access_token: token } = await at.redeem(response);
  const [row] = await rowsOf(target.tid, `userId=${target.oid}`);
  expect({ row, isActive: await isActive(service.issuer, token) }).toMatchObject({ row: { status: 'active' }, isActive: true });
  return { agent, operator, target, token, id: row?.id };
}

/**
 * Checks the end: the token is inactive, there is one event, and the target is not signed in in the browser. Returns the row with the
 * reason.
 */
async function over({ agent, token, id, target }: Impersonations): Promise<Json> {
  const row = await until(
    async () => (await root(`/tenants/${target.tid}/impersonations/${id}`)).json,
    ({ status }: Json) => status === 'ended',
  );
  expect(await isActive(service.issuer, token)).toBe(false);
  expect((await userinfo(service.issuer, token)).status).toBe(401);
  const of = () => ended.filter(({ data }) => data.ImpersonationId === id);
  await until(() => of().length > 0);
  expect(of()).toHaveLength(1);
  expect(of()[0]?.data).toMatchObject({ EndedBy: row.endedBy, AggregateId: target.oid });
  const now = await impersonatingAt(service).now(agent);
  expect('sub' in now ? now.sub : undefined).not.toBe(target.oid);
  expect('act' in now ? now.act : undefined).toBeUndefined();
  return row;
}

describe('G8: it ends by itself, once and with its cause, when', () => {
  const users = ({ tid }: Made) => service.idp.tenant(tid).users;
  type Change = (impersonation: Impersonations) => Promise<unknown>;
  const changes: Readonly<Record<string, readonly [cause: string, change: Change]>> = {
    'the operator is disabled': ['permission', ({ operator }) => users(operator).disable(operator.oid)],
    'the operator is signed out everywhere': ['sign-out', ({ operator }) => users(operator).signOutEverywhere(operator.oid)],
    'the user of the operator is removed': ['permission', ({ operator }) => users(operator).remove(operator.oid)],
    'the operator is erased': ['permission', ({ operator }) => service.idp.tenant(operator.tid).persons.remove(operator.personId)],
    'the operator leaves the group': ['permission', ({ operator }) => users(operator).setGroups(operator.oid, { ids: [] })],
    'the user of the target is removed': ['target', ({ target }) => users(target).remove(target.oid)],
    'the target is signed out everywhere': ['sign-out', ({ target }) => users(target).signOutEverywhere(target.oid)],
    'the target becomes an operator': ['target', ({ target }) => users(target).addGroups(target.oid, { names: ['Support'] })],
    'the target is linked to somebody who is privileged elsewhere': [
      'target',
      async ({ target }) => {
        await service.idp.tenant(globex).groups.create({ name: `Admins of ${target.oid}`, permissionIds: ['idp.groups:write'] });
        const parent = await person(globex, [`Admins of ${target.oid}`]);
        await service.idp.tenant(acme).linking.link(target.oid, { tid: globex, userId: parent.oid });
      },
    ],
  };

  test(Object.keys(changes).join('; '), async () => {
    const all = await Promise.all(
      Object.entries(changes).map(async ([what, [cause, change]]) => {
        const began = await impersonation(await support(), await person(acme));
        return { what, cause, change, began };
      }),
    );
    const causes = await Promise.all(
      all.map(async ({ what, change, began }) => {
        await change(began);
        return [what, (await over(began)).endedBy];
      }),
    );
    expect(causes).toEqual(all.map(({ what, cause }) => [what, cause]));
  });

  test('the link is ended by which the operator has an account there', async () => {
    const [parent, child] = [await person(acme), await support(globex)];
    await service.idp.tenant(globex).linking.link(child.oid, { tid: acme, userId: parent.oid });
    const began = await impersonation(child, await person(globex), parent);
    await service.idp.tenant(globex).linking.unlink(child.oid, parent.oid);
    expect((await over(began)).endedBy).toBe('permission');
  });

  test('an administrator ends it: clients are told, and the operator is themselves again', async () => {
    const receiver = await startLogoutReceiver();
    try {
      await service.idp.directory.clients.create({
        id: 'told',
        name: 'Told',
        secret: 'told-secret',
        allowedScopes: ['openid'],
        metadata: { redirect_uris: [redirectUri], backchannel_logout_uri: receiver.url },
      });
      const at = impersonatingAt(service);
      const began = await impersonation(await support(), await person(acme));
      expect(codeIn(await at.silently(began.agent, { client_id: 'told' }))).toBeDefined();
      await root.post(`/tenants/${acme}/impersonations/${began.id}/end`);
      expect(await isActive(service.issuer, began.token)).toBe(false);
      expect((await over(began)).endedBy).toBe('administrator');
      expect(await at.now(began.agent)).toMatchObject({ sub: began.operator.oid });
      await receiver.received(1);
    } finally {
      receiver.close();
    }
  });
});

describe('G8: forms and addresses that are not as they were shown', () => {
  const begunBy = async (operator: Made, target: Made) =>
    (await rowsOf(target.tid, `userId=${target.oid}&operatorId=${operator.oid}`)).length;

  test('the form that began it begins nothing once more: again, after the end, in another browser', async () => {
    const at = impersonatingAt(service);
    const [operator, target] = [await support(), await person(acme)];
    const { agent, page } = await at.chooser(operator.name);
    const why = await at.choose(agent, page, target.name);
    const send = (by: Agent, reason = 'Ticket 1') => by.submit(why, { step: 'start', reason }).then((answer) => by.follow(answer));
    const thief = new Agent();
    const stolen = await send(thief);
    expect([codeIn(stolen), await begunBy(operator, target)]).toEqual([undefined, 0]);
    expect(codeIn(await send(agent))).toBeDefined();
    // The same form gets the same answer, another form is refused, and neither starts another impersonation.
    for (const [reason, code] of [
      ['Ticket 1', 'string'],
      ['Ticket 2', 'undefined'],
    ] as const)
      expect([typeof codeIn(await send(agent, reason)), await begunBy(operator, target)]).toEqual([code, 1]);
    await at.end(agent);
    expect(await at.now(agent)).toMatchObject({ sub: operator.oid });
    const after = await send(agent);
    expect(codeIn(after)).toBeUndefined();
    expect(await at.now(agent)).toMatchObject({ sub: operator.oid });
    expect(await begunBy(operator, target)).toBe(1);
  });

  test('a choice of another step, another tenant, oneself, or of two people starts nothing', async () => {
    const at = impersonatingAt(service);
    const [operator, target, foreign, second] = [await support(), await person(acme), await person(globex), await support()];
    const { agent, page } = await at.chooser(operator.name);
    const why = await at.choose(agent, page, target.name);
    const { action, fields } = formOf(why);
    const post = (more: Record<string, string>): Promise<Answer> =>
      agent.post(action, { ...fields, step: 'start', reason: 'r', minutes: '5', ...more });
    for (const more of [
      { user: foreign.oid },
      { user: foreign.oid, tid: globex },
      { user: operator.oid },
      { user: second.oid },
      { user: '' },
      { user: 'x'.repeat(10_000) },
      { user: '{"$gt":""}' },
      { minutes: '31' },
      { minutes: '-1' },
      { minutes: '1e9' },
      { minutes: '5.5' },
      { reason: ' \t ' },
      { reason: 'x'.repeat(501) },
      { choose: target.oid },
    ]) {
      const answer = await post(more);
      expect({ more, code: codeIn(answer), location: answer.location }).toEqual({ more, code: undefined, location: undefined });
      expect(answer.status).toBeLessThan(500);
    }
    const twice = await agent.request(action, {
      method: 'POST',
      body: `${new URLSearchParams({ ...fields, step: 'start', reason: 'r' })}&user=${foreign.oid}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([twice.status < 500, codeIn(twice)]).toEqual([true, undefined]);
    expect(await at.now(agent)).toMatchObject({ sub: operator.oid });
    for (const { oid, tid } of [target, foreign, operator, second]) expect(await rowsOf(tid, `userId=${oid}`)).toEqual([]);
  });

  test('somebody without the permission who has the address of another’s step gets nowhere', async () => {
    const at = impersonatingAt(service);
    const [operator, target, stranger] = [await support(), await person(acme), await person(acme)];
    const { agent, page } = await at.chooser(operator.name);
    const why = await at.choose(agent, page, target.name);
    const own = await at.chooser(stranger.name);
    expect(membersOf(own.page)).toMatchObject({ error: 'access_denied' });
    const { action, fields } = formOf(why);
    const answer = await own.agent.follow(await own.agent.post(action, { ...fields, step: 'start', reason: 'r', minutes: '5' }));
    expect(codeIn(answer)).toBeUndefined();
    expect(await begunBy(operator, target)).toBe(0);
  });

  test('somebody who lost the permission while the form was open starts nothing', async () => {
    const at = impersonatingAt(service);
    const [operator, target] = [await support(), await person(acme)];
    const { agent, page } = await at.chooser(operator.name);
    const why = await at.choose(agent, page, target.name);
    await service.idp.tenant(acme).users.setGroups(operator.oid, { ids: [] });
    const answer = await agent.follow(await agent.submit(why, { step: 'start', reason: 'r' }));
    expect(codeIn(answer)).toBeUndefined();
    expect(await begunBy(operator, target)).toBe(0);
  });

  test('namesakes are two people: each button is of one, and who is chosen is who is acted as', async () => {
    const at = impersonatingAt(service);
    const operator = await support();
    const same = { givenName: 'Same', familyName: 'Name', email: 'same@acme.test' };
    const [one, other] = [await person(acme, [], same), await person(acme, [], same)];
    const { agent, page } = await at.chooser(operator.name);
    const found = await agent.submit(page, { step: 'who', query: 'same@acme.test' });
    expect([valueFor(found, one.name), valueFor(found, other.name)]).toEqual([one.oid, other.oid]);
    const why = await agent.submit(found, { choose: other.oid });
    expect(textOf(why)).toContain(other.name);
    await agent.follow(await agent.submit(why, { step: 'start', reason: 'r' }));
    expect(await at.now(agent)).toMatchObject({ sub: other.oid });
  });
});

/** The last test, because nobody can impersonate after it. */
test('G8: without the permission in the catalogue nobody acts as anybody, and what went on ends', async () => {
  const began = await impersonation(await support(), await person(acme));
  await service.idp.directory.permissions.remove(permission);
  expect((await over(began)).endedBy).toBe('permission');
  const { page } = await impersonatingAt(service).chooser((await person(acme, ['Support'])).name);
  expect(membersOf(page)).toMatchObject({ error: 'access_denied' });
});
