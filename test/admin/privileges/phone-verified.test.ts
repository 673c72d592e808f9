/**
 * The claim `phone_number_verified`: an administrator of all tenants vouches for a number. Tests each operation that takes
 * `phoneNumberVerified`, and compares the list with the operations of the service.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type AdminAnswer,
  type AdminClient,
  administer,
  adminSeed,
  adminToken,
  documented,
  tenantIds,
} from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { useIdp } from '../../support/service/use-idp.js';

const service = useIdp({ seed: adminSeed, limits: { adminRequestsPerMinute: 10_000 } });
const callerNames = ['acme', 'root'] as const;
const callers = new Map<string, AdminClient>();
let root: AdminClient;
let at: string;
beforeAll(async () => {
  for (const name of callerNames) callers.set(name, administer(service.issuer, await adminToken(service.issuer, name)));
  root = callers.get('root') as AdminClient;
  at = `/tenants/${(await tenantIds(root)).Acme}`;
});

const NUMBER = '+4790000001';
const person = { givenName: 'P', familyName: 'P', phoneNumber: NUMBER };
const made = async (phoneNumberVerified: boolean): Promise<Json> =>
  (await root.post(`${at}/persons`, { ...person, phoneNumberVerified })).json;

/** Operations that make `phoneNumberVerified` true. */
const doors: Readonly<Record<string, (ask: AdminClient) => Promise<AdminAnswer>>> = {
  'POST /tenants/{tid}/persons': (ask) => ask.post(`${at}/persons`, { ...person, phoneNumberVerified: true }),
  'PATCH /tenants/{tid}/persons/{id}': async (ask) => ask.patch(`${at}/persons/${(await made(false)).id}`, { phoneNumberVerified: true }),
};

test('every operation that takes `phoneNumberVerified` is tried, and documents the refusal', async () => {
  const { operations, document } = await documented(service.issuer);
  const resolved = (schema: Json): string =>
    JSON.stringify(schema).replace(/"#\/components\/schemas\/(\w+)"/g, (_, name) => resolved(document.components.schemas[name]));
  const taking = operations.filter(
    ({ operation }) => operation.requestBody && resolved(operation.requestBody).includes('"phoneNumberVerified"'),
  );
  expect(taking.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(Object.keys(doors).toSorted());
  for (const { operation } of taking) expect(JSON.stringify(operation.responses['403'])).toContain('phone_unproven');
});

describe.each(callerNames)('by %s', (name) => {
  const ask = () => callers.get(name) as AdminClient;

  test.each(Object.entries(doors))('%s makes a number verified for an administrator of all tenants alone', async (_, door) => {
    const { status, json } = await door(ask());
    if (name === 'root') return expect([status < 300, json.phoneNumberVerified]).toEqual([true, true]);
    expect([status, json.code]).toEqual([403, 'phone_unproven']);
  });

  test('a write that repeats true passes, and everybody may make it false', async () => {
    const path = `${at}/persons/${(await made(true)).id}`;
    expect((await ask().patch(path, { phoneNumberVerified: true })).json.phoneNumberVerified).toBe(true);
    expect((await ask().patch(path, { phoneNumber: NUMBER, phoneNumberVerified: true })).status).toBe(200);
    expect((await ask().patch(path, { phoneNumberVerified: false })).json.phoneNumberVerified).toBe(false);
    expect((await ask().patch(path, { phoneNumberVerified: true })).status).toBe(name === 'root' ? 200 : 403);
  });

  test.each([{ phoneNumber: '+4790000002' }, { phoneNumber: null }])(
    'a number that is written as %j is not verified by the one before',
    async (patch) => {
      const { id } = await made(true);
      const path = `${at}/persons/${id}`;
      expect((await ask().patch(path, { ...patch, phoneNumberVerified: true })).status).toBe(name === 'root' ? 200 : 403);
      await root.patch(path, { phoneNumber: NUMBER, phoneNumberVerified: true });
      expect((await ask().patch(path, patch)).json.phoneNumberVerified).toBe(false);
    },
  );
});

test('the host in process says that a number is verified, with another number too', async () => {
  const { persons } = service.idp.tenant(at.slice('/tenants/'.length));
  const { id } = await persons.create({ givenName: 'H', familyName: 'H', phoneNumber: NUMBER, phoneNumberVerified: true });
  expect((await persons.update(id, { phoneNumber: '+4790000003', phoneNumberVerified: true })).phoneNumberVerified).toBe(true);
});
