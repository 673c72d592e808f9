/**
 * Issue 45: calls of a request to the directory. The user is read once, however many requests are pending, and nothing of the user is
 * written.
 */
import { expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { withCollections } from '../store/with-collections.js';
import { callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';

const noted: string[] = [];
const service = useCallCentre({
  seed: withClients(cibaClient('desk'), cibaClient('kiosk'), cibaClient('van')),
  directory: withCollections(memoryDirectory(), (rows, name) => {
    const isOfUser = name === 'persons' || name === 'accountEvents';
    const note = (call: string): void => {
      if (isOfUser) noted.push(`${call} ${name}`);
    };
    return {
      get(id) {
        note('get');
        return rows.get(id);
      },
      find(where, page) {
        // The dispatcher looks for events each second.
        if (!('byOutbox' in where)) note('find');
        return rows.find(where, page);
      },
      insert(row) {
        note('insert');
        return rows.insert(row);
      },
      update(id, change) {
        note('update');
        return rows.update(id, change);
      },
    };
  }),
});
const calls = () => callsTo(service);
/** Returns the calls that the request makes to the directory, without the dispatch of its event. */
async function costOf(ask: () => Promise<{ readonly status: number }>): Promise<readonly string[]> {
  noted.length = 0;
  expect((await ask()).status).toBe(200);
  return [...noted];
}

test('a request by an ID token reads the user once, and appends its event', async () => {
  const clients = ['desk', 'kiosk', 'van'];
  const tokens = new Map<string, string>();
  for (const client of clients) {
    const { json } = await calls().poll(await calls().approved({}, client, 'bob@globex.test'), client);
    tokens.set(client, json.id_token as string);
  }
  laterInTest(700);
  // The requests of the earlier clients stay pending.
  for (const client of clients)
    expect(await costOf(() => calls().ask({ id_token_hint: tokens.get(client) ?? '' }, client))).toEqual([
      'find persons',
      'insert accountEvents',
    ]);
});

test('a request by a text looks for it in the same ways, however many requests wait, and writes nothing of the user', async () => {
  const ask = (client: string) => calls().ask({ login_hint: 'bob@globex.test' }, client);
  const first = await costOf(() => ask('desk'));
  expect(first.filter((call) => call !== 'find persons')).toEqual(['insert accountEvents']);
  for (const client of ['kiosk', 'van']) expect(await costOf(() => ask(client))).toEqual(first);
});
