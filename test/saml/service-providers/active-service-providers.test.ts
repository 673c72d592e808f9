/** Issue 17: look-ups of service providers. One read of the store answers all of them until a node writes a service provider. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExtensionContext } from 'tenant-idp/extension';
import { saml } from 'tenant-idp/extensions/saml';
import {
  type ActiveServiceProviders,
  createActiveServiceProviders,
} from '../../../extensions/saml/service-providers/active-service-providers.js';
import { serviceProviders } from '../../../extensions/saml/service-providers/records.js';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import { asAdministrator, samlOptions } from '../../support/saml/service/administration.js';
import { startIdp, type TestIdp } from '../../support/service/idp.js';
import { countedStores } from '../../support/stores/counted-stores.js';
import { until } from '../../support/time/until.js';

const { during, ...stores } = countedStores();
let service: TestIdp;
let context: ExtensionContext;
let root: AdminClient;
let tid: string;
let active: ActiveServiceProviders;
/** Counts reads of service providers. */
const reads = (asked: readonly string[]) =>
  asked.filter((each) => each === `${serviceProviders.name}.get` || each === `${serviceProviders.name}.find`);
beforeAll(async () => {
  const probe = {
    name: 'probe',
    start(given: ExtensionContext) {
      context = given;
    },
  };
  service = await startIdp({ ...samlOptions, ...stores, extensions: [saml(), probe] });
  root = await asAdministrator(service.issuer, 'root');
  tid = (await tenantIds(root)).Acme ?? '';
});
beforeEach(() => {
  active = createActiveServiceProviders(context);
});
afterAll(() => service?.close());

const register = async (path: string, entityId: string, more: object = {}): Promise<string> =>
  (await root.post(path, { entityId, assertionConsumerServices: [{ url: 'https://sp.example/acs' }], ...more })).json.id;

describe('active service providers', () => {
  test('asks the store once for those that wait at the same time, and not again', async () => {
    const id = await register('/saml-service-providers', 'https://once.example');
    const find = () => active.byEntityId(context.records.ofInstance, 'https://once.example');
    const { asked, answer } = await during(() => Promise.all([find(), find(), find()]));
    expect([reads(asked).length, answer.map((found) => found?.id)]).toEqual([1, [id, id, id]]);
    // A cached value is not a promise.
    await active.get(id);
    expect([find(), active.get(id)]).toEqual([expect.objectContaining({ id }), expect.objectContaining({ id })]);
  });

  test('knows one at the entity of its owner alone', async () => {
    const ofInstance = await register('/saml-service-providers', 'https://owned.example');
    const ofTenant = await register(`/tenants/${tid}/saml-service-providers`, 'https://owned.example');
    const found = async (owner: string) => (await active.byEntityId(owner, 'https://owned.example'))?.id;
    expect([await found(context.records.ofInstance), await found(tid), await found('another')]).toEqual([ofInstance, ofTenant, undefined]);
  });

  test('knows none that is disabled, or of no length that there is', async () => {
    const id = await register('/saml-service-providers', 'https://off.example', { status: 'disabled' });
    expect([await active.get(id), await active.byEntityId(context.records.ofInstance, 'https://off.example')]).toEqual([
      undefined,
      undefined,
    ]);
    const { asked } = await during(() =>
      Promise.all([active.byEntityId(context.records.ofInstance, 'x'.repeat(1025)), active.get('x'.repeat(101))]),
    );
    expect(reads(asked)).toEqual([]);
  });

  test('is not filled by names that nobody has', async () => {
    const id = await register('/saml-service-providers', 'https://kept.example');
    await active.get(id);
    for (let index = 0; index < 1100; index += 1) await active.byEntityId(context.records.ofInstance, `https://nobody${index}.example`);
    await until(async () => {
      await active.get(id);
      return reads((await during(async () => active.get(id))).asked).length === 0;
    });
  });

  test('forgets what this node changed at once, and tells of changes of others within a second or so', async () => {
    const id = await register('/saml-service-providers', 'https://changes.example', { name: 'One' });
    expect((await active.get(id))?.name).toBe('One');
    const rows = context.records.collection(serviceProviders, context.records.ofInstance);
    await rows.update(id, (row) => ({ ...row, name: 'Two' }));
    expect((await active.get(id))?.name).toBe('Two');
    await rows.update(id, (row) => ({ ...row, name: 'Three' }));
    await until(async () => (await active.get(id))?.name === 'Three');
    await root.remove(`/saml-service-providers/${id}`);
    await until(async () => (await active.get(id)) === undefined);
    expect(await active.byEntityId(context.records.ofInstance, 'https://changes.example')).toBeUndefined();
  });

  test('a look-up that began before a change is not remembered after it', async () => {
    const id = await register('/saml-service-providers', 'https://races.example', { name: 'Before' });
    const begun = active.get(id);
    await context.records.collection(serviceProviders, context.records.ofInstance).update(id, (row) => ({ ...row, name: 'After' }));
    await begun;
    expect((await active.get(id))?.name).toBe('After');
  });
});
