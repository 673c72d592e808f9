/** Issue 13, deliverable 2: every write is audited by an event that names the actor, the request and the tenant. */
import { beforeAll, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import {
  type AdminAnswer,
  type AdminClient,
  administer,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../support/administration/admin.js';
import { keepImpersonations } from '../support/administration/impersonations.js';
import { captureMail } from '../support/administration/invitations.js';
import { pathOf, writesOf } from '../support/administration/writes.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const impersonations = keepImpersonations();
const service = useIdp({
  seed: adminSeed,
  mail: captureMail().mail,
  // With an encryption key, the service makes signing keys, which can be rotated.
  keys: { encryption: ['what the audited service encrypts with'] },
  limits: { adminRequestsPerMinute: 100_000 },
  extensions: [impersonations.extension],
});
let root: AdminClient;
let tid: string;
let globex: string;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  const ids = await tenantIds(root);
  [tid, globex] = [ids.Acme ?? '', ids.Globex ?? ''];
});

/** Operations that change no stored row, or that other tests cover. */
const elsewhere = [
  ...['POST /tenants/{tid}/webhooks/{id}/test', 'POST /webhooks/{id}/test'],
  ...['POST /tenants/{tid}/webhooks/{id}/replay', 'POST /webhooks/{id}/replay'],
  // Covered by `factors/own-page`, because no user has a factor here.
  ...['DELETE /tenants/{tid}/users/{id}/factors', 'DELETE /tenants/{tid}/users/{id}/factors/{factorId}'],
  // Covered by `privileges/generated`, because no user has means to confirm here.
  'POST /tenants/{tid}/users/{id}/means/confirm',
];

async function feed(): Promise<readonly IdpEvent[]> {
  const found: IdpEvent[] = [];
  for (let after: string | undefined; ; ) {
    const { events, next } = await service.idp.directory.eventFeed.read({ limit: 1000, ...(after === undefined ? {} : { after }) });
    found.push(...events);
    if (events.length < 1000) return found;
    after = next;
  }
}

test('every write raises an event that names who made it, by which request, in which tenant', async () => {
  const writes = writesOf({ service, root, tid, globex, impersonations });
  const { operations } = await documented(service.issuer);
  const all = operations.map(({ method, path }) => `${method} ${path}`);
  const changing = all.filter((name) => !name.startsWith('GET') && !elsewhere.includes(name));
  expect(changing.filter((name) => !writes.has(name))).toEqual([]);
  expect([...writes.keys(), ...elsewhere].filter((name) => !all.includes(name))).toEqual([]);

  const asked: { readonly name: string; readonly tid: string | undefined; readonly answer: AdminAnswer }[] = [];
  for (const [name, make] of writes) {
    const [method = '', path = ''] = name.split(' ');
    const write = await make();
    const { params = {}, body } = write;
    const answer = await root(pathOf(name, write), { method, ...(body === undefined ? {} : { body }) });
    expect([name, answer.status, answer.status < 300 ? '' : answer.text]).toEqual([name, answer.status, '']);
    asked.push({ name, tid: path.startsWith('/tenants/{tid}') ? (params.tid ?? tid) : undefined, answer });
  }
  const unheard = async () => {
    const events = await feed();
    return asked
      .filter(({ name, answer, tid: of }) => {
        const requestid = answer.headers.get('x-request-id') ?? 'none';
        const raised = events.filter((event) => event.requestid === requestid && event.actor === 'client:root');
        return !raised.some((event) => name === 'POST /tenants' || event.tid === of);
      })
      .map(({ name }) => name);
  };
  await until(unheard, ({ length }) => length === 0);
});
