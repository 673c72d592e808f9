/** Expired idempotency keys: the answers of a key expire with it. */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { type AdminClient, administer, adminScopes, adminToken, tenantIds } from '../../support/administration/admin.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { useRetriedPosts } from './retried-posts.js';

const DAY_SECONDS = 86_400;

const { service, stores } = useRetriedPosts();
const rootNow = (): Promise<AdminClient> => asAdministrator(service.issuer, 'root');

afterEach(() => backToPresent());

/** Creates two clients and a key. The first request of the key failed; its retry an hour later gave the first client a secret. */
async function answeredLate() {
  const key = { 'idempotency-key': randomUUID() };
  const metadata = { grant_types: ['client_credentials'] };
  const root = await rootNow();
  const [first = '', second = ''] = [randomUUID(), randomUUID()];
  for (const id of [first, second]) await root.post('/clients', { id, name: id, metadata });
  const { headers } = stores.plan({ call: 1, name: 'clients.update', way: 'before' });
  const failed = await root.post(`/clients/${first}/secrets`, undefined, { ...headers, ...key });
  passTime(3600);
  const answer = await (await rootNow()).post(`/clients/${first}/secrets`, undefined, key);
  expect([failed.status, answer.status]).toEqual([503, 200]);
  return { key, second, secret: answer.json.secret as string };
}

test('a key whose day ended answers another request with its own answer, although the former answer is younger than a day', async () => {
  const { key, second, secret } = await answeredLate();
  passTime(DAY_SECONDS + 60);
  const root = await rootNow();
  const post = () => root.post(`/clients/${second}/secrets`, undefined, key);
  const answers = [...(await Promise.all([post(), post()])), await post()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(new Set(answers.map(({ json }) => json.secret)).size).toBe(1);
  expect(answers[0]?.json.secret).not.toBe(secret);
  expect((await root(`/clients/${second}`)).json.secrets).toHaveLength(2);
});

test('a client that was removed and made anew under its id does not get the answers of the former client', async () => {
  const root = await rootNow();
  const { Acme = '' } = await tenantIds(root);
  const id = randomUUID();
  const key = { 'idempotency-key': randomUUID() };
  const createWebhook = async () => {
    const client = { id, name: id, metadata: { grant_types: ['client_credentials'] }, allowedScopes: adminScopes, adminTenants: [Acme] };
    const { json } = await root.post('/clients', client);
    const own = administer(service.issuer, await adminToken(service.issuer, id, adminScopes.join(' '), json.secret));
    return own.post(`/tenants/${Acme}/webhooks`, { url: 'https://93.184.216.34/hook' }, key);
  };
  const former = await createWebhook();
  await root.remove(`/clients/${id}`);
  const latter = await createWebhook();
  expect([former.status, latter.status, latter.headers.get('idempotency-replayed')]).toEqual([201, 201, null]);
  expect(latter.json.secret).not.toBe(former.json.secret);
});
