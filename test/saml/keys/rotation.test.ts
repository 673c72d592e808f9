/** Issue 17: a key rotation, with one service provider that refreshes metadata daily and one that never does. */
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { AdminClient } from '../../support/administration/admin.js';
import { Agent, type Json } from '../../support/client/agent.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { bob, type RegisteredServiceProvider, signInOn, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { travel } from '../../support/saml/service-providers/travel.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

const KEYS = '/saml-signing-keys';
const DAY_SECONDS = 86_400;

// Uses keys that the service creates, because keys in the options are rotated there.
const service = useSamlService({ saml: { keys: undefined as never } });

/** A service provider by node-saml, with the certificates that it trusts at the moment. */
interface Trusting {
  readonly sp: RegisteredServiceProvider;
  certificates: readonly string[];
}

async function trusting(): Promise<Trusting> {
  const { certificates } = await service.describe();
  const trust = { certificates: [...certificates] };
  const idpCert = (done: (error: Error | null, certificates?: string[]) => void): void => done(null, trust.certificates);
  return Object.assign(trust, { sp: await service.add({ saml: { idpCert } }) });
}

let operator: AdminClient;
let daily: Trusting;
let never: Trusting;
beforeAll(async () => {
  [operator, daily, never] = [await asAdministrator(service.issuer, 'root'), await trusting(), await trusting()];
});
afterEach(backToPresent);

const refresh = async (one: Trusting): Promise<void> => {
  one.certificates = (await service.describe()).certificates;
};

/** Whether a sign-in at the service provider succeeds now. */
async function getsIn({ sp }: Trusting): Promise<boolean> {
  const agent = new Agent();
  const end = await signInOn(agent, await travel(agent, sp.loginUrl), bob);
  expect(end.body).toMatch(/^<h1>signed in as |^refused: Invalid signature/);
  return end.body.includes('signed in as');
}

const works = async () => ({ daily: await getsIn(daily), never: await getsIn(never) });
const idOf = async (state: string): Promise<string> => {
  const { items } = (await operator(KEYS)).json;
  return items.find((key: Json) => key.state === state)?.id;
};
const activate = (id: string) => operator.post(`${KEYS}/${id}/activate`, {});

test('sign-ins that work at each step of a rotation, and what the operator has to do', async () => {
  expect(await works()).toEqual({ daily: true, never: true });

  // Metadata has the next key, and the old key signs.
  await operator.post(KEYS, {});
  expect(await works()).toEqual({ daily: true, never: true });
  const next = await idOf('next');
  expect((await activate(next)).json.code).toBe('key_not_announced');

  // A day later, service providers that refresh metadata have both keys.
  await refresh(daily);
  expect(daily.certificates).toHaveLength(2);
  passTime(DAY_SECONDS);
  operator = await asAdministrator(service.issuer, 'root');
  expect((await activate(next)).status).toBe(200);
  backToPresent();
  operator = await asAdministrator(service.issuer, 'root');
  expect(await works()).toEqual({ daily: true, never: false });

  // The former key signs again, and is still in metadata, until the administrator of the other service provider has updated it.
  const former = await idOf('retiring');
  expect((await activate(former)).status).toBe(200);
  expect(await works()).toEqual({ daily: true, never: true });

  // The other administrator adds the new certificate by hand, so now both service providers accept the certificate.
  const published = (await service.describe()).certificates;
  const before = never.certificates;
  never.certificates = [...before, ...published.filter((certificate) => !before.includes(certificate))];
  expect(await works()).toEqual({ daily: true, never: true });
  expect((await activate(next)).status).toBe(200);
  expect(await works()).toEqual({ daily: true, never: true });

  // The old key is removed. Service providers that trust the new key are not affected.
  expect((await operator.remove(`${KEYS}/${former}`)).status).toBe(204);
  await until(async () => (await service.describe()).certificates.length === 1);
  await refresh(daily);
  expect(await works()).toEqual({ daily: true, never: true });
  never.certificates = before;
  expect(await works()).toEqual({ daily: true, never: false });
});
