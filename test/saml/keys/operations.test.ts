/** Issue 17: SAML signing keys in the admin API. */
import { X509Certificate } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { AdminClient } from '../../support/administration/admin.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import type { Json } from '../../support/client/agent.js';
import { testKeyOf } from '../../support/saml/keys/test-keys.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { certificatesIn, metadataAt, withSaml } from '../../support/saml/service/published.js';
import { startIdp } from '../../support/service/idp.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

const KEYS = '/saml-signing-keys';
const DAY_SECONDS = 86_400;
const directory = memoryDirectory();
const service = useIdp({ ...withSaml(), directory, keys: { encryption: ['a secret that the keys are sealed under'] } });
let operator: AdminClient;
afterEach(backToPresent);
beforeAll(async () => {
  operator = await asAdministrator(service.issuer, 'root');
});

const list = async (): Promise<Json[]> => (await operator(KEYS)).json.items;
const states = async () => (await list()).map(({ state }) => state);
const published = async () => certificatesIn(await metadataAt(service.issuer)).map((der) => fingerprintOf(der));
const fingerprintOf = (der: string): string => new X509Certificate(Buffer.from(der, 'base64')).fingerprint256;
/** Waits for dispatched events, and returns their data. */
const eventsOf = async (type: string) =>
  (
    await until(
      () => recordedEvents(directory, type),
      ({ length }) => length > 0,
    )
  ).map(({ data }) => data);
/** Waits until this node sees the keys, which takes at most a second. */
const agreed = (expected: readonly unknown[]) => until(async () => String(await published()) === String(expected));

describe('the first start', () => {
  test('makes an RSA key of 2048 bits with a self-signed certificate for ten years, which metadata has', async () => {
    const [key, ...others] = await list();
    expect(others).toEqual([]);
    expect(key).toMatchObject({ state: 'active', createdAt: expect.any(String), activatedAt: expect.any(String) });
    const certificate = new X509Certificate(key?.certificate);
    expect([certificate.publicKey.asymmetricKeyType, certificate.publicKey.asymmetricKeyDetails?.modulusLength]).toEqual(['rsa', 2048]);
    expect([certificate.subject, certificate.issuer, certificate.verify(certificate.publicKey)]).toEqual([
      'CN=127.0.0.1',
      'CN=127.0.0.1',
      true,
    ]);
    expect(new Date(key?.validTo).getUTCFullYear()).toBe(new Date().getUTCFullYear() + 10);
    expect(Date.parse(key?.validFrom)).toBeLessThan(Date.now());
    expect(await published()).toEqual([key?.fingerprint]);
    expect(await eventsOf('SamlSigningKeyAdded')).toEqual([{ AggregateId: key?.id, State: 'active' }]);
  });

  test('K3: keeps the private key sealed, and answers it to nobody', async () => {
    const rows = JSON.stringify(await directory.collection('saml.keys').find({}));
    expect(rows).toContain('"sealed":"v1.');
    expect(rows).not.toContain('PRIVATE KEY');
    expect((await operator(KEYS)).text).not.toMatch(/PRIVATE|sealed/);
  });
});

describe('a key is replaced', () => {
  // One of these tests lets time pass, so an older token may be swept away.
  beforeEach(async () => {
    operator = await asAdministrator(service.issuer, 'root');
  });

  test('the next is published at once and does not sign; there is one next', async () => {
    const [first] = await list();
    const made = await operator.post(KEYS, {});
    expect([made.status, made.json.state]).toEqual([201, 'next']);
    expect(made.headers.get('location')).toBe(`${service.issuer}/idp/api/v1${KEYS}/${made.json.id}`);
    expect((await operator(`${KEYS}/${made.json.id}`)).json).toEqual(made.json);
    expect(await published()).toEqual([first?.fingerprint, made.json.fingerprint]);
    expect((await operator.post(KEYS, {})).json).toMatchObject({ status: 409, code: 'saml_next_key_exists' });
    expect(await states()).toEqual(['active', 'next']);
  });

  test('the next key may sign after a day, when daily refreshes have it; the previous key stays in metadata', async () => {
    const [first, next] = await list();
    const refused = await operator.post(`${KEYS}/${next?.id}/activate`, {});
    expect([refused.status, refused.json.code]).toEqual([409, 'key_not_announced']);
    expect(await states()).toEqual(['active', 'next']);
    passTime(DAY_SECONDS);
    const later = await asAdministrator(service.issuer, 'root');
    const answer = await later.post(`${KEYS}/${next?.id}/activate`, {});
    expect([answer.status, answer.json.state]).toEqual([200, 'active']);
    expect((await later(KEYS)).json.items).toMatchObject([
      { id: first?.id, state: 'retiring', retiredAt: expect.any(String) },
      { id: next?.id, state: 'active', activatedAt: expect.any(String) },
    ]);
    // The active key comes first, because some service providers read only one certificate.
    expect(await published()).toEqual([next?.fingerprint, first?.fingerprint]);
    expect(await eventsOf('SamlSigningKeyActivated')).toEqual([{ AggregateId: next?.id, PreviousKeyId: first?.id }]);
    // Activating the active key changes nothing.
    expect((await later.post(`${KEYS}/${next?.id}/activate`, {})).status).toBe(200);
    expect(await eventsOf('SamlSigningKeyActivated')).toHaveLength(1);
  });

  test('a retiring one can be activated again, for service providers that did not follow', async () => {
    const [first, second] = await list();
    const back = await operator.post(`${KEYS}/${first?.id}/activate`, {});
    expect(back.json).toMatchObject({ state: 'active' });
    expect(back.json).not.toHaveProperty('retiredAt');
    expect(await states()).toEqual(['active', 'retiring']);
    await operator.post(`${KEYS}/${second?.id}/activate`, {});
    expect(await states()).toEqual(['retiring', 'active']);
  });

  test('the one that signs is not removed; others go from metadata', async () => {
    const [first, second] = await list();
    expect((await operator.remove(`${KEYS}/${second?.id}`)).json).toMatchObject({ status: 409, code: 'saml_key_active' });
    expect((await operator.remove(`${KEYS}/${first?.id}`)).status).toBe(204);
    expect((await operator.remove(`${KEYS}/${first?.id}`)).status).toBe(404);
    expect((await operator(`${KEYS}/${first?.id}`)).status).toBe(404);
    expect((await operator.post(`${KEYS}/${first?.id}/activate`, { now: true })).status).toBe(404);
    expect(await states()).toEqual(['active']);
    await agreed([second?.fingerprint]);
    expect(await eventsOf('SamlSigningKeyRemoved')).toEqual([{ AggregateId: first?.id }]);
  });

  test('at once, where a key is in wrong hands', async () => {
    const { json: next } = await operator.post(KEYS, {});
    expect((await operator.post(`${KEYS}/${next.id}/activate`, { now: true })).json.state).toBe('active');
    expect((await operator.remove(`${KEYS}/${(await list())[0]?.id}`)).status).toBe(204);
    await agreed([next.fingerprint]);
  });

  test('with one Idempotency-Key, one key is made', async () => {
    const headers = { 'Idempotency-Key': 'the-same-key-twice' };
    const [one, other] = [await operator.post(KEYS, {}, headers), await operator.post(KEYS, {}, headers)];
    expect([one.status, other.status, other.json.id]).toEqual([201, 201, one.json.id]);
    expect((await operator.remove(`${KEYS}/${one.json.id}`)).status).toBe(204);
  });

  test('ten are kept at most', async () => {
    while ((await list()).length < 10) {
      const { json: next } = await operator.post(KEYS, {});
      await operator.post(`${KEYS}/${next.id}/activate`, { now: true });
    }
    expect((await operator.post(KEYS, {})).json).toMatchObject({ status: 409, code: 'saml_key_limit' });
    for (const { id } of (await list()).filter(({ state }) => state === 'retiring'))
      expect((await operator.remove(`${KEYS}/${id}`)).status).toBe(204);
  });
});

test('administrators of one tenant cannot read or write them', async () => {
  const acme = await asAdministrator(service.issuer, 'acme');
  const [key] = await list();
  const answers = [
    await acme(KEYS),
    await acme.post(KEYS, {}),
    await acme.post(`${KEYS}/${key?.id}/activate`, {}),
    await acme.remove(`${KEYS}/${key?.id}`),
  ];
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual(Array.from({ length: 4 }, () => [403, 'all_tenants_required']));
  expect(await states()).toEqual(['active']);
});

describe('keys of the options', () => {
  test('are listed, the first signs, and the admin API changes none', async () => {
    const [one, two] = await Promise.all([testKeyOf('one'), testKeyOf('two')]);
    const idp = await startIdp(withSaml({ keys: [one, two].map(({ key, certificate }) => ({ key, certificate })) }));
    try {
      const own = await asAdministrator(idp.issuer, 'root');
      const { items } = (await own(KEYS)).json;
      expect(items.map(({ state, certificate }: Json) => [state, certificate])).toEqual([
        ['active', new X509Certificate(one.certificate).toString()],
        ['next', new X509Certificate(two.certificate).toString()],
      ]);
      expect(certificatesIn(await metadataAt(idp.issuer))).toEqual([one.der, two.der]);
      const id = items[1].id;
      const answers = [await own.post(KEYS, {}), await own.post(`${KEYS}/${id}/activate`, {}), await own.remove(`${KEYS}/${id}`)];
      expect(answers.map(({ status, json }) => [status, json.code])).toEqual(Array.from({ length: 3 }, () => [409, 'keys_given']));
      expect((await own(`${KEYS}/${id}`)).json).toEqual(items[1]);
    } finally {
      await idp.close();
    }
  });
});
