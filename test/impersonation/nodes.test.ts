/** Issue 15: a removed permission on one node ends the impersonation on every node. Outages of each store. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { isActive } from '../support/client/steps.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, textOf } from '../support/sign-in/impersonating.js';
import { failingStores } from '../support/stores/failing-stores.js';
import { until } from '../support/time/until.js';

describe('two nodes', () => {
  const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
  let nodes: Instances;
  const ends: string[] = [];
  beforeAll(async () => {
    nodes = await startInstances(2, () => stores, operatorOptions);
    for (const idp of nodes.idps) idp.events.on('ImpersonationEnded', ({ id }) => void ends.push(id));
  });
  afterAll(() => nodes.close());

  test('NODE-PRIVILEGE: nobody is impersonated on one node who got a privilege on the other a moment ago', async () => {
    const { choose, chooser } = impersonatingAt(nodes);
    const [granting] = nodes.idps;
    const [alice] = (await granting?.directory.accounts.candidates('alice@acme.test')) ?? [];
    const { agent, page } = await nodes.onlyAt(1, () => chooser());
    // The other node has Alice's groups in its cache from now on.
    expect((await nodes.onlyAt(1, () => choose(agent, page, 'alice@acme.test'))).status).toBe(200);
    await granting
      ?.tenant(alice?.tenant.id ?? '')
      .groups.update(alice?.person.user.groupIds[0] ?? '', { permissionIds: ['idp.users:read'] });
    // This test posts another form, because the same form would get the same answer.
    const { agent: another, page: anew } = await nodes.onlyAt(1, () => chooser());
    await expect(nodes.onlyAt(1, () => choose(another, anew, 'alice@acme.test'))).rejects.toThrow('is not on the page');
  });

  test('a permission that one node takes away ends it on the other, once', async () => {
    const support = impersonatingAt(nodes);
    const [operator] = (await nodes.idps[0]?.directory.accounts.candidates('otto@acme.test')) ?? [];
    const { response } = await support.act('carol@acme.test');
    const { access_token: token } = await support.redeem(response);
    expect([await isActive(nodes.at(0), token), await isActive(nodes.at(1), token)]).toEqual([true, true]);
    await nodes.idps[0]?.tenant(operator?.tenant.id ?? '').users.removeGroups(operator?.person.user.id ?? '', { names: ['Support'] });
    for (const node of [0, 1]) await until(async () => !(await isActive(nodes.at(node), token)));
    await until(() => ends.length > 0);
    expect(new Set(ends).size).toBe(1);
  });
});

describe('stores that are away', () => {
  const stores = failingStores();
  const service = useIdp({ ...operatorOptions, artifacts: stores.artifacts, directory: stores.directory });

  test.each(['directory', 'directoryWrites', 'artifacts', 'writes'] as const)('%s: no token, and nothing half-written', async (down) => {
    const support = impersonatingAt(service);
    const { agent, page } = await support.chooser();
    const why = await support.choose(agent, page, 'carol@acme.test');
    stores.down[down] = true;
    const answer = await agent.submit(why, { step: 'start', reason: `down: ${down}` }).finally(stores.recover);
    expect([answer.status, answer.location]).toEqual([503, undefined]);
    expect(textOf(answer)).not.toContain('hunter2');
    expect(await support.now(agent)).not.toHaveProperty('act');
    // The same form works when the stores are available again, and starts one impersonation.
    const again = await agent.follow(await agent.submit(why, { step: 'start', reason: `down: ${down}` }));
    const tokens = await support.redeem(again);
    expect(await support.now(agent)).toHaveProperty('act');
    const read = () => service.idp.directory.eventFeed.read({ types: ['ImpersonationStarted'], limit: 1000 });
    const started = await until(
      async () => (await read()).events.filter(({ data }) => 'Reason' in data && data.Reason === `down: ${down}`),
      ({ length }) => length > 0,
    );
    expect(started.length).toBe(1);
    stores.down[down] = true;
    // An end that cannot be written ends nothing. The retry ends the impersonation.
    const end = await support.end(agent).catch(() => undefined);
    stores.recover();
    expect(end === undefined || end.status === 503).toBe(true);
    await support.end(agent).catch(() => undefined);
    await until(async () => !(await isActive(service.issuer, tokens.access_token)));
  });
});
