/** Requests with an `Idempotency-Key` whose first attempt failed: the next one does not wait for it. */
import { beforeAll, expect, test } from '@jest/globals';
import {
  type AdminAnswer,
  type AdminClient,
  administer,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../../support/administration/admin.js';
import { keepImpersonations } from '../../support/administration/impersonations.js';
import { captureMail } from '../../support/administration/invitations.js';
import { type MakeWrite, pathOf, writesOf } from '../../support/administration/writes.js';
import { useIdp } from '../../support/service/use-idp.js';
import { storesThatFailOnce, type Way } from './stores-that-fail-once.js';

const { artifacts, directory, plan: planned, host } = storesThatFailOnce();
const impersonations = keepImpersonations();
const service = useIdp({
  artifacts,
  directory,
  host: (idp) => host(idp.callback()),
  seed: adminSeed,
  mail: captureMail().mail,
  keys: { encryption: ['what the service of the attempts encrypts with'] },
  limits: { adminRequestsPerMinute: 100_000 },
  extensions: [impersonations.extension],
});
let root: AdminClient;
let writes: ReadonlyMap<string, MakeWrite>;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  const { Acme = '', Globex = '' } = await tenantIds(root);
  writes = writesOf({ service, root, tid: Acme, globex: Globex, impersonations });
});

let count = 0;

interface Sent {
  readonly answer: AdminAnswer;
  readonly calls: readonly string[];
}

/** One request, and how it is sent again. */
async function request(operation: string) {
  count += 1;
  const id = `attempt-${count}`;
  const write = await (writes.get(operation) as MakeWrite)();
  return {
    id,
    async send(at?: { readonly call: number; readonly way: Way }): Promise<Sent> {
      const { plan, headers } = planned(at);
      const answer = await root.post(pathOf(operation, write), write.body, { ...headers, 'idempotency-key': id });
      if (at?.way === 'from') setTimeout(() => Object.assign(plan, { isOver: true }), 100);
      return { answer, calls: plan.calls };
    },
  };
}

const isWrite = (call: string): boolean => /\.(commit|insert|put|update|remove)$/.test(call);

/** Calls of a clean run at which attempts fail here: all, or its writes and one that reads. */
const chosen = (calls: readonly string[]): readonly (readonly [call: number, way: Way])[] =>
  calls.flatMap((name, index) => {
    const call = index + 1;
    if (process.env.PROVE) return (['before', 'after', 'from'] as const).map((way) => [call, way] as const);
    return isWrite(name) ? [[call, (['after', 'from'] as const)[index % 2] ?? 'after'] as const] : [];
  });

test('an attempt that a store failed gives its turn back: every POST, at the calls that it makes', async () => {
  const { operations } = await documented(service.issuer);
  const posts = operations.filter(({ method }) => method === 'POST').map(({ path }) => `POST ${path}`);
  const tried = posts.filter((operation) => writes.has(operation));
  expect(tried.length).toBeGreaterThan(25);
  const wrong: unknown[] = [];
  let failed = 0;
  const attempt = async (operation: string) => {
    const clean = await request(operation);
    const { answer, calls } = await clean.send();
    expect([operation, answer.status < 300, answer.text]).toEqual([operation, true, answer.text]);
    for (const [call, way] of chosen(calls)) {
      const retried = await request(operation);
      const first = (await retried.send({ call, way })).answer;
      if (first.status === 503) failed += 1;
      const last = first.status === 503 ? (await retried.send()).answer : first;
      const isUnderWay = last.status >= 500 || last.json?.code === 'idempotency_in_progress';
      if (isUnderWay) wrong.push([operation, call, calls[call - 1], way, first.status, last.status, last.json?.code]);
    }
  };
  const left = [...tried];
  const worker = async () => {
    for (let operation = left.pop(); operation !== undefined; operation = left.pop()) await attempt(operation);
  };
  // Most of the time is waiting.
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(wrong).toEqual([]);
  expect(failed).toBeGreaterThan(tried.length);
});
