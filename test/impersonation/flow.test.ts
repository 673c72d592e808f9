/** Service specification 4.2 and 2.3: signing in as somebody else, by the pages that people use. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { introspect } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, textOf } from '../support/sign-in/impersonating.js';

const service = useIdp(operatorOptions);
let support: ReturnType<typeof impersonatingAt>;
beforeAll(() => {
  support = impersonatingAt(service);
});
const known = async (name: string) => {
  const [account] = await service.idp.directory.accounts.candidates(name);
  return { oid: account?.person.user.id ?? '', tid: account?.tenant.id ?? '' };
};

describe('specification 4.2', () => {
  test('impersonate in acr_values triggers the impersonation flow', async () => {
    const { page } = await support.chooser();
    expect(page.status).toBe(200);
    expect(textOf(page)).toContain('Act as somebody else');
    const { response } = await support.act('carol@acme.test');
    const tokens = await support.redeem(response);
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: (await known('carol@acme.test')).oid });
  });

  test('amr imp is additional to how the operator signed in', async () => {
    const { response } = await support.act('carol@acme.test');
    expect(decodeJwt((await support.redeem(response)).id_token)).toMatchObject({ amr: ['pwd', 'imp'], idp: 'local' });
  });

  test('act is a JSON object with oid, sub and tid of the impersonating user, all three always', async () => {
    const { oid, tid } = await known('otto@acme.test');
    const { response } = await support.act('carol@acme.test');
    const tokens = await support.redeem(response);
    expect(decodeJwt(tokens.id_token).act).toEqual({ oid, sub: oid, tid });
    expect((await introspect(service.issuer, tokens.access_token)).json.act).toEqual({ oid, sub: oid, tid });
  });
});
