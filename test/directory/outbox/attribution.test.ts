import { describe, expect, test } from '@jest/globals';
import type { IdpEvent } from '../../../lib/events.js';
import { codeOf, tenantWithUser, testDirectory } from '../../support/service/test-directory.js';

const requestId = '0197a000-0000-7000-8000-00000000000a';
const hrSync = { actor: 'client:hr-sync', requestId };

describe('design §8: events tell who made the change', () => {
  test('services of `as` put actor and request id on the events that their writes add, and on no other', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const heard: IdpEvent[] = [];
    for (const type of ['PersonCreated', 'PersonUpdated', 'UserCreated', 'UserDisabled'] as const)
      directory.events.on(type, (event) => void heard.push(event));
    const { tid, personId, userId } = await tenantWithUser(directory, 'Acme', 'alice');
    const own = directory.as(hrSync).forTenant(tid);
    await own.persons.update(personId, { givenName: 'Alicia' });
    await directory.as({ actor: 'user:bob', act: 'user:eve', requestId }).forTenant(tid).users.disable(userId);
    await t.dispatchedOfPersons();
    const said = heard.map(({ type, actor, act, requestid }) => [type, actor, act, requestid]);
    expect(said).toEqual([
      ['PersonCreated', undefined, undefined, undefined],
      ['UserCreated', undefined, undefined, undefined],
      ['PersonUpdated', 'client:hr-sync', undefined, requestId],
      ['UserDisabled', 'user:bob', 'user:eve', requestId],
    ]);
    expect(heard.every((event) => !('requestId' in event) && !('actor' in event.data))).toBe(true);
  });

  test('events carry the metadata `ClientId` and `ClientName` where an invitation has them, and otherwise they do not', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const metadata = { ClientId: 'crm', ClientName: 'CRM' };
    const { id: tid } = await directory.tenants.create({ name: 'Acme' });
    const input = { givenName: 'Given', familyName: 'Family' };
    const invited = await directory
      .as({ ...hrSync, metadata })
      .forTenant(tid)
      .persons.create({ ...input, user: { userName: 'alice' } });
    const plain = await directory.as(hrSync).forTenant(tid).persons.create(input);
    const events = (await t.dispatchedOfPersons()).filter(({ type }) => type === 'PersonCreated' || type === 'UserCreated');
    expect(events.map(({ data }) => data)).toEqual([
      { AggregateId: invited.id, metadata },
      { AggregateId: invited.user?.id, PersonId: invited.id, metadata },
      { AggregateId: plain.id },
    ]);
  });

  test('`as` adds to what is said already, and refuses what no event can carry', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { tid, personId } = await tenantWithUser(directory, 'Acme', 'alice');
    await directory.as({ actor: 'user:bob' }).as({ requestId }).forTenant(tid).persons.update(personId, { givenName: 'Alicia' });
    expect((await t.dispatchedOfPersons()).at(-1)).toMatchObject({ actor: 'user:bob', requestId });
    for (const by of [{ actor: '' }, { actor: 'a\nb' }, { requestId: 'x'.repeat(257) }, { who: 'me' }])
      expect(await codeOf((async () => directory.as(by as object))())).toBe('invalid_record');
  });
});
