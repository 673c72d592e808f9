/** Issue 15: each impersonation ends once, for every reason, together with its session and tokens. Threat G8. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Agent } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { introspect, isActive } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, permission } from '../support/sign-in/impersonating.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const directory = memoryDirectory();
const service = useIdp({ ...operatorOptions, directory });
const events: IdpEvent<'ImpersonationStarted' | 'ImpersonationEnded'>[] = [];
let support: ReturnType<typeof impersonatingAt>;
beforeAll(() => {
  support = impersonatingAt(service);
  for (const name of ['ImpersonationStarted', 'ImpersonationEnded'] as const)
    service.idp.events.on(name, (event) => void events.push(event));
});
const known = async (name: string) => {
  const [account] = await service.idp.directory.accounts.candidates(name);
  if (!account) throw new Error(`nobody is called ${name}`);
  return { oid: account.person.user.id, tid: account.tenant.id, personId: account.person.id };
};
const of = (reason: string) => events.filter(({ data }) => data.Reason === reason);
let number = 0;
let reason = '';
beforeEach(() => {
  number += 1;
  reason = `Ticket ${number}`;
});

/** Starts an impersonation of a new user. Returns the browser, the user and the tokens. */
async function begun(operator = 'otto@acme.test') {
  const { oid: operatorOid, tid } = await known(operator);
  const name = `target${number}`;
  const { persons, users } = service.idp.tenant(tid);
  const made = await persons.create({ givenName: 'Target', familyName: String(number), user: { userName: name } });
  const oid = made.user?.id ?? '';
  await users.activate(oid);
  const { agent, response } = await support.act(name, { operator, reason });
  const tokens = await support.redeem(response);
  expect(await isActive(service.issuer, tokens.access_token)).toBe(true);
  return { agent, token: tokens.access_token as string, oid, tid, personId: made.id, operatorOid };
}

const ended = async (by: string) => {
  const [event, ...more] = await until(
    () => of(reason).filter(({ type }) => type === 'ImpersonationEnded'),
    ({ length }) => length > 0,
  );
  expect([event?.data, more]).toEqual([expect.objectContaining({ EndedBy: by, EndedAt: expect.any(String) }), []]);
  return event;
};
/** Checks that the token is inactive immediately, and that the operator is signed in again in the browser. */
async function expectOver({ agent, token }: { agent: Agent; token: string }, operatorOid: string | undefined) {
  expect((await introspect(service.issuer, token)).json).toEqual({ active: false });
  const now = await support.now(agent);
  expect(now).not.toHaveProperty('act');
  expect('error' in now ? undefined : now.sub).toBe(operatorOid);
}

describe('it ends, once and on the record', () => {
  test('by who acts', async () => {
    const impersonation = await begun();
    await Promise.all([support.end(impersonation.agent), support.end(impersonation.agent)].map((answer) => answer.catch(() => undefined)));
    const event = await ended('operator');
    expect(event?.actor).toBe(`user:${impersonation.operatorOid}`);
    await expectOver(impersonation, impersonation.operatorOid);
  });

  test('by its time, also when nobody comes back', async () => {
    const impersonation = await begun();
    try {
      passTime(1801);
      const event = await ended('time');
      expect(event?.data).toMatchObject({ EndedAt: event?.data.EndsAt });
      await expectOver(impersonation, impersonation.operatorOid);
    } finally {
      backToPresent();
    }
  });

  test('by a sign-out of the browser', async () => {
    const impersonation = await begun();
    const page = await impersonation.agent.get(`${service.issuer}/connect/endsession`);
    await impersonation.agent.follow(await impersonation.agent.submit(page, { logout: 'yes' }));
    await ended('sign-out');
    await expectOver(impersonation, undefined);
  });

  test('by an administrator who ends the sign-in of the user, or of the operator', async () => {
    const impersonation = await begun();
    const [session] = await service.idp.sessions.list({ tid: impersonation.tid, userId: impersonation.oid });
    await service.idp.sessions.end({ tid: impersonation.tid, userId: impersonation.oid }, session?.id ?? '');
    await ended('sign-out');
    await expectOver(impersonation, impersonation.operatorOid);
    reason = `${reason} again`;
    number += 1000;
    const other = await begun('second@acme.test');
    const own = await service.idp.sessions.list({ tid: other.tid, userId: other.operatorOid });
    for (const { id } of own) await service.idp.sessions.end({ tid: other.tid, userId: other.operatorOid }, id);
    await ended('sign-out');
    await expectOver(other, undefined);
  });

  test('because the target is disabled', async () => {
    const impersonation = await begun();
    await service.idp.tenant(impersonation.tid).users.disable(impersonation.oid);
    await expectOver(impersonation, impersonation.operatorOid);
    await ended('target');
  });

  test('because the target got a permission that nobody is impersonated with', async () => {
    const impersonation = await begun();
    const { users, groups } = service.idp.tenant(impersonation.tid);
    await users.addGroups(impersonation.oid, { names: ['Administrators'] });
    await until(async () => !(await isActive(service.issuer, impersonation.token)));
    await ended('target');
    await expectOver(impersonation, impersonation.operatorOid);
    expect(await groups.findByName('Administrators')).toBeDefined();
  });

  test('because the permission is taken away in between', async () => {
    const impersonation = await begun();
    const { users } = service.idp.tenant(impersonation.tid);
    await users.removeGroups(impersonation.operatorOid, { names: ['Support'] });
    try {
      await until(async () => !(await isActive(service.issuer, impersonation.token)));
      await ended('permission');
      await expectOver(impersonation, impersonation.operatorOid);
      expect(membersOf(await support.silently(impersonation.agent, { acr_values: 'impersonate' }))).toMatchObject({
        error: 'access_denied',
      });
    } finally {
      await users.addGroups(impersonation.operatorOid, { names: ['Support'] });
    }
  });

  test('because the target is erased: nothing that was typed about them stays', async () => {
    reason = `about ${crypto.randomUUID()}`;
    const impersonation = await begun();
    const told = await service.idp.tenant(impersonation.tid).persons.export(impersonation.personId);
    expect(JSON.stringify(told)).toContain(reason);
    await until(() => of(reason).length > 0);
    const { personId } = await known('otto@acme.test');
    expect(JSON.stringify(await service.idp.tenant(impersonation.tid).persons.export(personId))).toContain(reason);
    await service.idp.tenant(impersonation.tid).persons.remove(impersonation.personId);
    await expectOver(impersonation, impersonation.operatorOid);
    await until(() => events.find(({ type, data }) => type === 'ImpersonationEnded' && data.AggregateId === impersonation.oid));
    expect(events.filter(({ data }) => data.AggregateId === impersonation.oid).map(({ type }) => type)).toEqual([
      'ImpersonationStarted',
      'ImpersonationEnded',
    ]);
    const kept = async () => {
      const feed: unknown[] = [];
      for (let after: string | undefined; ; ) {
        const page = await service.idp.directory.eventFeed.read({ limit: 1000, ...(after && { after }) });
        feed.push(...page.events);
        if (page.events.length < 1000) return JSON.stringify([feed, await service.idp.tenant(impersonation.tid).persons.export(personId)]);
        after = page.next;
      }
    };
    await until(async () => !(await kept()).includes(reason));
    expect(await kept()).toContain(impersonation.oid);
  });
});

test('health says that the permission does not exist', async () => {
  const { permissions } = service.idp.directory;
  await permissions.remove(permission);
  await until(async () => (await service.idp.health()).problems.some(({ code }) => code === 'impersonation_permission_missing'));
});
