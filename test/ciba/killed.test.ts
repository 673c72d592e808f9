/** Issue 16: a node that dies between two writes leaves one outcome. The death is a commit that is refused. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { backToPresent } from '../support/time/clock.js';

const store = memoryArtifacts();
/** Number of commits that still succeed. Later commits fail as if the node had died. */
let left = Number.POSITIVE_INFINITY;
/** Part of the key of a record that is not written. */
let unwritten: string | undefined;
const service = useCallCentre({
  seed: withClients(cibaClient('desk'), cibaClient('kiosk')),
  artifacts: {
    ...store,
    async commit(writes) {
      if (left <= 0 || writes.some(({ key }) => unwritten !== undefined && key.includes(unwritten))) throw new Error('killed');
      left -= 1;
      return store.commit(writes);
    },
  },
});
const calls = () => callsTo(service);
const bob = { login_hint: 'bob@globex.test' };
afterEach(() => {
  left = Number.POSITIVE_INFINITY;
  unwritten = undefined;
  backToPresent();
});

/** Runs with this number of commits, and allows all commits afterwards. */
async function dyingAfter<T>(commits: number, run: () => Promise<T>): Promise<T | undefined> {
  left = commits;
  const outcome = await run().catch(() => undefined);
  left = Number.POSITIVE_INFINITY;
  return outcome;
}

describe('a node that dies', () => {
  test('between the record and the book: nobody is asked, and the next request is', async () => {
    expect((await dyingAfter(1, () => calls().ask(bob)))?.status).toBeGreaterThanOrEqual(500);
    const { oid } = await calls().accountOf('bob@globex.test');
    expect(await service.idp.ciba.pendingOf(oid)).toEqual([]);
    expect((await calls().ask(bob)).status).toBe(200);
    expect(await service.idp.ciba.pendingOf(oid)).toHaveLength(1);
  });

  test('between the book and the record: nobody is asked, and the next request is', async () => {
    unwritten = 'ciba.requests';
    expect((await calls().ask(bob)).status).toBeGreaterThanOrEqual(500);
    unwritten = undefined;
    const { oid } = await calls().accountOf('bob@globex.test');
    expect(await service.idp.ciba.pendingOf(oid)).toEqual([]);
    expect((await calls().ask(bob, 'kiosk')).status).toBe(200);
    expect(await service.idp.ciba.pendingOf(oid)).toHaveLength(1);
  });

  test('between the new request and the end of the one before: that one cannot be approved any more', async () => {
    const { json } = await calls().ask(bob);
    const before = await calls().newestOf('bob@globex.test');
    await dyingAfter(3, () => calls().ask(bob));
    expect((await service.idp.ciba.read(before.id))?.state).toBe('replaced');
    const decision = await service.idp.ciba.approve(before.id, await calls().approverOf('bob@globex.test'));
    expect(decision).toMatchObject({ outcome: 'over', request: { state: 'replaced' } });
    expect((await calls().poll(json.auth_req_id)).json.error).toBe('access_denied');
  });

  test('before the decision is written: the request waits, and can be approved', async () => {
    const { json } = await calls().ask(bob);
    expect(await dyingAfter(0, () => calls().approve('bob@globex.test'))).toBeUndefined();
    expect((await calls().poll(json.auth_req_id)).json.error).toBe('authorization_pending');
    expect(await calls().approve('bob@globex.test')).toMatchObject({ outcome: 'decided' });
    expect((await calls().poll(json.auth_req_id)).status).toBe(200);
  });

  test('between spending the approval and storing the tokens: nobody has tokens, and nobody gets any by it', async () => {
    const { oid, tid } = await calls().accountOf('bob@globex.test');
    const sessions = () => service.idp.sessions.list({ tid, userId: oid });
    const before = await sessions();
    const id = await calls().approved(bob, 'desk', 'bob@globex.test');
    expect((await dyingAfter(1, () => calls().poll(id)))?.status).toBeGreaterThanOrEqual(500);
    expect(await calls().poll(id)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await sessions()).toEqual(before);
  });
});
