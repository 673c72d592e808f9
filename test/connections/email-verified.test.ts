/** T3-EMAIL-TENANT: which connections verify the address of a user, by the user that they create and by a later sign-in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';

const names = ['instance', 'with-domain', 'without-domain', 'renamed-claim'] as const;
const mapping = {
  userName: { claim: 'email' },
  email: { claim: 'email', update: true },
  givenName: { claim: 'given_name' },
  familyName: { claim: 'family_name' },
};
let upstream: UpstreamProvider;
const service = useIdp(async () => {
  upstream = await startUpstream();
  const common = {
    clientId: 'tenant-idp',
    clientSecret: UPSTREAM_SECRET,
    issuer: upstream.issuer,
    createUsersIn: 'Globex',
    requireVerifiedEmail: false,
    mapping,
  };
  return {
    seed: {
      ...testSeed,
      extensions: {
        connections: [
          { ...common, id: 'instance', name: 'Instance' },
          { ...common, id: 'with-domain', name: 'With', tenant: 'Globex', domains: ['Given.test'] },
          { ...common, id: 'without-domain', name: 'Without', tenant: 'Globex' },
          // The provider verifies the claim `email` alone.
          {
            ...common,
            id: 'renamed-claim',
            name: 'Renamed',
            mapping: { ...mapping, email: { claim: 'preferred_username', update: true } },
          },
        ],
      },
    } as never,
  };
});
let tid: string;
beforeAll(async () => {
  upstream.register(service.issuer, names);
  tid = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
});
afterAll(() => upstream?.close());

async function signInBy(idp: string, person: NonNullable<UpstreamProvider['person']>) {
  upstream.person = person;
  const { challenge } = createPkce();
  const agent = new Agent();
  const url = authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256', acr_values: `idp:${idp}` });
  const begun = await agent.follow(await agent.get(url));
  expect(membersOf(await agent.follow(await agent.get(await atUpstream(upstream, begun))))).toHaveProperty('code');
  const [account] = await service.idp.directory.accounts.ofIdentity({ idp, subject: person.sub });
  return account?.person;
}

// biome-ignore format: a table
const rows: readonly [name: (typeof names)[number], domain: string, says: unknown, isVerified: boolean][] = [
  ['instance', 'anywhere.test', true, true],
  ['instance', 'anywhere.test', 'true', true],
  ['instance', 'anywhere.test', false, false],
  ['instance', 'anywhere.test', undefined, false],
  ['with-domain', 'given.test', true, true],
  ['with-domain', 'GIVEN.test', true, true],
  ['with-domain', 'given.test', false, false],
  ['with-domain', 'sub.given.test', true, false],
  ['with-domain', 'acme.test', true, false],
  ['without-domain', 'given.test', true, false],
  ['without-domain', 'acme.test', true, false],
  ['renamed-claim', 'acme.test', true, false],
];

describe.each(rows)('a connection %s that says of an address at %s `email_verified` %s', (idp, domain, says, isVerified) => {
  const about = (sub: string) => {
    const email = `${sub}@${domain}`;
    const address = idp === 'renamed-claim' ? { preferred_username: email, email: `own-${sub}@provider.test` } : { email };
    return { given_name: 'O', family_name: 'O', ...address, ...(says !== undefined && { email_verified: says }) };
  };
  const unique = `${idp}-${typeof says}-${says}-${domain.toLowerCase() === domain}-${domain.toLowerCase()}`;

  test(`a new user: ${isVerified}`, async () => {
    const person = await signInBy(idp, { ...about(`new-${unique}`), sub: `new-${unique}` });
    expect([person?.email?.split('@')[1], person?.user.emailVerified]).toEqual([domain, isVerified]);
  });

  test(`a user of before, at the sign-in: ${isVerified}`, async () => {
    const sub = `old-${unique}`;
    const { persons } = service.idp.tenant(tid);
    const user = { userName: sub, externalIdentities: [{ idp, subject: sub }], status: 'active' as const };
    const made = await persons.create({ givenName: 'O', familyName: 'O', email: `${sub}@former.test`, user });
    const person = await signInBy(idp, { ...about(sub), sub });
    expect([person?.id, person?.email?.split('@')[1], person?.user.emailVerified]).toEqual([made.id, domain, isVerified]);
    // A second write of the same value changes nothing.
    expect((await signInBy(idp, { ...about(sub), sub }))?.user.emailVerified).toBe(isVerified);
  });
});
