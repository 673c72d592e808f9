/** SAML Core §8.3: NameIDs of users. */
import { describe, expect, test } from '@jest/globals';
import { alice, bob, signedInAt, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { travel } from '../../support/saml/service-providers/travel.js';

const service = useSamlService();
const profileOf = ({ sessions }: { readonly sessions: ReadonlyMap<string, unknown> }) =>
  [...sessions.values()].at(-1) as Record<string, unknown>;
const formats = 'urn:oasis:names:tc:SAML';
const transient = `${formats}:2.0:nameid-format:transient`;

describe('SAML Core §8.3: names', () => {
  const nameIn = async (record: Record<string, unknown>, person = bob, saml = {}) => {
    const sp = await service.add({ record, saml });
    await signedInAt([sp], person);
    const { nameID, nameIDFormat } = profileOf(sp);
    return { sp, nameID, nameIDFormat };
  };

  test('persistent: the same at each sign-in, of each user and for each service provider another', async () => {
    const { sp, nameID } = await nameIn({});
    await signedInAt([sp]);
    expect([...sp.sessions.values()].map((profile) => profile.nameID)).toEqual([nameID, nameID]);
    await signedInAt([sp], alice);
    expect(profileOf(sp).nameID).not.toBe(nameID);
    expect(String(nameID)).toMatch(/^[\w-]{22}$/);
  });

  test('transient: another at each sign-in, the same while it lasts; also where it is asked for', async () => {
    const { sp, nameID, nameIDFormat } = await nameIn({ nameId: { format: 'transient' } });
    expect(nameIDFormat).toBe(transient);
    const agent = await signedInAt([sp]);
    const second = profileOf(sp).nameID;
    expect(second).not.toBe(nameID);
    await travel(agent, sp.loginUrl);
    expect(profileOf(sp).nameID).toBe(second);
    expect(await nameIn({}, bob, { identifierFormat: transient })).toMatchObject({ nameIDFormat: transient });
  });

  test('emailAddress, and unspecified from a claim', async () => {
    expect(await nameIn({ nameId: { format: 'emailAddress' } })).toMatchObject({
      nameID: 'bob@globex.test',
      nameIDFormat: `${formats}:1.1:nameid-format:emailAddress`,
    });
    expect(await nameIn({ nameId: { format: 'emailAddress', claim: 'preferred_username' } })).toMatchObject({ nameID: 'bob@globex.test' });
    expect(await nameIn({ nameId: { format: 'unspecified', claim: 'given_name' } })).toMatchObject({ nameID: 'Bob' });
  });
});
