/** Issue 17: the key is replaced while one service provider refreshes metadata daily, and another never does. */
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import { createSamlKeys } from '../../../extensions/saml/entities/keys.js';
import { responseXml } from '../../../extensions/saml/messages/response.js';
import type { AdminClient } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { pemOf } from '../../support/saml/keys.js';
import { signed, successOf } from '../../support/saml/messages.js';
import { certificatesIn, metadataAt, operatorOf, withSaml } from '../../support/saml/service.js';
import { nodeSaml, profileByNodeSaml } from '../../support/saml/verifiers.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

const KEYS = '/saml-signing-keys';
const DAY_SECONDS = 86_400;

/** Signs as the service does: with what its extensions get. */
let context: ExtensionContext;
const insider: Extension = {
  name: 'insider',
  start(given) {
    context = given;
  },
};
const base = withSaml();
const service = useIdp({ ...base, extensions: [...base.extensions, insider] });
let operator: AdminClient;
beforeAll(async () => {
  operator = await operatorOf(service.issuer);
});
afterEach(backToPresent);

const keyOf = async (state: string): Promise<Json> => {
  const { items } = (await operator(KEYS)).json;
  return items.find((key: Json) => key.state === state);
};

/** Whether a sign-in at this moment works for who trusts these certificates. */
async function worksFor(certificates: readonly string[]): Promise<boolean> {
  const keys = createSamlKeys(context, {});
  const xml = responseXml(successOf(), { signer: await keys.signer(), serviceProvider: signed });
  return profileByNodeSaml(xml, nodeSaml(certificates.map(pemOf), { wantAssertionsSigned: true })).then(
    () => true,
    () => false,
  );
}

test('what works at each step, and what the operator has to do', async () => {
  const refreshed = async () => certificatesIn(await metadataAt(service.issuer));
  let daily = await refreshed();
  const never = daily;
  const works = async () => ({ daily: await worksFor(daily), never: await worksFor(never) });
  expect(await works()).toEqual({ daily: true, never: true });

  // The next key is published, and the old one signs.
  await operator.post(KEYS, {});
  expect(await works()).toEqual({ daily: true, never: true });
  const { id: next } = await keyOf('next');
  expect((await operator.post(`${KEYS}/${next}/activate`, {})).json.code).toBe('key_not_announced');

  // A day later, who refreshes has both.
  daily = await refreshed();
  expect(daily).toHaveLength(2);
  passTime(DAY_SECONDS);
  operator = await operatorOf(service.issuer);
  expect((await operator.post(`${KEYS}/${next}/activate`, {})).status).toBe(200);
  backToPresent();
  operator = await operatorOf(service.issuer);
  expect(await works()).toEqual({ daily: true, never: false });

  // Back to the former key, which is still published, until the administrator of the other service provider has been there.
  const { id: former } = await keyOf('retiring');
  expect((await operator.post(`${KEYS}/${former}/activate`, {})).status).toBe(200);
  expect(await works()).toEqual({ daily: true, never: true });

  // That one gets the new certificate beside the old one, by hand: now both follow.
  const byHand = [...never, ...(await refreshed()).filter((certificate) => !never.includes(certificate))];
  expect([await worksFor(byHand), (await operator.post(`${KEYS}/${next}/activate`, {})).status]).toEqual([true, 200]);
  expect([await worksFor(daily), await worksFor(byHand), await worksFor(never)]).toEqual([true, true, false]);

  // The old key goes; nothing changes for whoever trusts the new one.
  expect((await operator.remove(`${KEYS}/${former}`)).status).toBe(204);
  daily = await until(refreshed, ({ length }) => length === 1);
  expect([await worksFor(daily), await worksFor(byHand), await worksFor(never)]).toEqual([true, true, false]);
});
