/** H5, issue "Rate limit": the requests of a client in a minute are limited over all nodes together. */
import { expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { administer, adminSeed, adminToken } from '../support/administration/admin.js';
import { startIdp } from '../support/service/idp.js';

test('a client that calls too often waits, whichever node it calls; others do not', async () => {
  const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
  const options = { ...stores, seed: adminSeed, limits: { adminRequestsPerMinute: 5 } };
  const first = await startIdp(options as never);
  const second = await startIdp({ ...options, issuer: first.issuer } as never);
  try {
    const token = await adminToken(first.issuer, 'root');
    const [one, other] = [administer(first.issuer, token), administer(second.issuer, await adminToken(second.issuer, 'root'))];
    const statuses: number[] = [];
    for (let round = 0; round < 3; round += 1) statuses.push((await one('/tenants')).status, (await other('/tenants')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    const refused = await one('/tenants');
    expect([refused.json.code, Number(refused.headers.get('retry-after')) > 0]).toEqual(['rate_limited', true]);
    expect((await administer(first.issuer, await adminToken(first.issuer, 'acme'))('/tenants')).status).toBe(200);
  } finally {
    await second.close();
    await first.close();
  }
});
