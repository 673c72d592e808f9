/** Service specification, "Default claims": a test per row, and one per shape that design §3 decides. */
import { describe, expect, test } from '@jest/globals';
import { standardClaims } from '../../extensions/claims/index.js';
import type { ClaimSubject } from '../../lib/claims/contract.js';
import { claimTargets } from '../../lib/claims/contract.js';
import { createClaimResolver } from '../../lib/claims/resolver.js';
import { client, group, person, subsidiary, tenant, user } from '../support/service/records.js';
import { claimSubject } from '../support/sign-in/claim-subject.js';

const resolver = createClaimResolver(standardClaims({ initialsAsPicture: false, email: 'all' }), { logger: console });

/** The table of the specification, and `locale` (OpenID Connect Core §5.1); `sub` and `tid` are the protocol's. */
const table = [
  ['profile', 'family_name'],
  ['profile', 'given_name'],
  ['profile', 'name'],
  ['profile', 'preferred_username'],
  ['profile', 'locale'],
  ['profile', 'picture'],
  ['email', 'email'],
  ['email', 'email_verified'],
  ['email', 'secondary_emails'],
  ['phone', 'phone_number'],
  ['phone', 'phone_number_verified'],
  ['org', 'orgid'],
  ['org', 'orgin'],
  ['org', 'company_name'],
  ['org', 'may_login'],
  ['roles', 'role'],
  ['perms', 'perm'],
];

const acme = tenant({ name: 'Acme', organisationNumber: '5560000001' });
const globex = tenant({ name: 'Globex' });
const north = subsidiary({ tid: acme.id, name: 'Acme North', organisationNumber: '5560000002' });
const alice = person({ tid: acme.id, givenName: 'Alice', familyName: 'Andersson', email: 'alice@acme.test' });
const alone = claimSubject({ person: alice, tenant: acme });

const linkedUser = user({ parentUserId: user().id });
const linkedAlice = person({ tid: acme.id, user: linkedUser });
const globexAlice = person({
  tid: globex.id,
  email: 'alice@globex.test',
  user: user({ isParent: true, emailVerified: false }),
});
const linked = claimSubject({ person: linkedAlice, tenant: acme }, { others: [{ person: globexAlice, tenant: globex, canSignIn: true }] });
const parent = claimSubject({ person: globexAlice, tenant: globex }, { others: [{ person: linkedAlice, tenant: acme, canSignIn: true }] });
const unlinkedParent = claimSubject({ person: person({ user: user({ isParent: true }) }) });
const pairwise = { ...linked, pseudonym: (oid: string) => `pairwise of ${oid}` };
const elsewhereNot = claimSubject(
  { person: linkedAlice, tenant: acme },
  {
    others: [{ person: person(), tenant: globex, canSignIn: false }],
  },
);

const of = (values: Parameters<typeof person>[0]): ClaimSubject => claimSubject({ person: person({ ...alice, ...values }), tenant: acme });
const inGroups = claimSubject(
  { person: person({ user: user({ groupIds: ['1', '2'] }) }) },
  {
    groups: [
      group({ name: 'Sales', permissionIds: ['orders.write', 'orders.read'] }),
      group({ name: 'Admins', permissionIds: ['orders.read', 'admin'] }),
    ],
  },
);
const assigned = claimSubject({ person: person({ ...alice, subsidiaryId: north.id }), tenant: acme }, { subsidiary: north });
const withTwo = of({ secondEmail: 'alice@home.test' });

// biome-ignore format: a table
const rows: readonly [claim: string, when: string, subject: ClaimSubject, value: unknown][] = [
  ['family_name', 'is the surname', alone, 'Andersson'],
  ['given_name', 'is the given name', alone, 'Alice'],
  ['given_name', 'is left out when empty', of({ givenName: '' }), undefined],
  ['name', 'is given_name, a space, then family_name', alone, 'Alice Andersson'],
  ['name', 'has no space beside a name that is empty', of({ givenName: '' }), 'Andersson'],
  ['preferred_username', 'is the user name', of({ user: user({ userName: 'Alice A' }) }), 'Alice A'],
  ['locale', 'is the language tag', of({ locale: 'nb-NO' }), 'nb-NO'],
  ['locale', 'is left out without one', alone, undefined],
  ['picture', 'is the URL', of({ pictureUrl: 'https://avatar.test/1.png' }), 'https://avatar.test/1.png'],
  ['picture', 'is left out without one', alone, undefined],
  ['email', 'is the address', alone, 'alice@acme.test'],
  ['email', 'is a list of two with a second address', withTwo, ['alice@acme.test', 'alice@home.test']],
  ['email', 'is the first for a client that wants a string', { ...withTwo, client: client({ email: 'first' }) }, 'alice@acme.test'],
  ['email', 'is both for a client that wants all', { ...withTwo, client: client({ email: 'all' }) }, ['alice@acme.test', 'alice@home.test']],
  ['email', 'is left out without one', claimSubject({ person: (({ email: _, ...rest }) => rest)(alice) }), undefined],
  ['email_verified', 'is true when the address used as user name is', alone, true],
  ['email_verified', 'is false when it is not', of({ user: user({ emailVerified: false }) }), false],
  ['email_verified', 'is false when the verified address is not the user name', of({ email: 'other@acme.test' }), false],
  ['email_verified', 'is false without an address', claimSubject({ person: (({ email: _, ...rest }) => rest)(alice) }), false],
  ['secondary_emails', 'is left out without linked accounts', alone, undefined],
  ['secondary_emails', 'has the address of the linked account', linked, [{ email: 'alice@globex.test', email_verified: false }]],
  ['secondary_emails', 'has the address of the child', parent, [{ email: 'alice@acme.test', email_verified: true }]],
  ['phone_number', 'is the number', of({ phoneNumber: '+46701234567' }), '+46701234567'],
  ['phone_number', 'is left out without one', alone, undefined],
  ['phone_number_verified', 'is true for a verified number', of({ phoneNumber: '+4670', phoneNumberVerified: true }), true],
  ['phone_number_verified', 'is false otherwise', of({ phoneNumber: '+4670' }), false],
  ['phone_number_verified', 'is false without a number', alone, false],
  ['phone_number_verified', 'is false without a number, whatever was', of({ phoneNumberVerified: true }), false],
  ['orgid', 'is tid for the mother organisation', alone, acme.id],
  ['orgid', 'is the subsidiary of who is assigned to one', assigned, north.id],
  ['orgin', 'is the organisation number', alone, '5560000001'],
  ['orgin', 'is the number of the subsidiary', assigned, '5560000002'],
  ['orgin', 'is left out when it does not exist', claimSubject({ tenant: (({ organisationNumber: _, ...rest }) => rest)(acme) }), undefined],
  ['company_name', 'is the name of the tenant', alone, 'Acme'],
  ['company_name', 'is the name of the subsidiary', assigned, 'Acme North'],
  ['may_login', 'is left out without linked accounts', alone, undefined],
  ['may_login', 'is left out for a parent whose children are gone', unlinkedParent, undefined],
  ['may_login', 'lists the other accounts', linked, [{ oid: globexAlice.user.id, tid: globex.id, companyname: 'Globex' }]],
  ['may_login', 'lists the children of a parent', parent, [{ oid: linkedUser.id, tid: acme.id, companyname: 'Acme' }]],
  ['may_login', 'enciphers oid for pairwise clients', pairwise, [{ oid: `pairwise of ${globexAlice.user.id}`, tid: globex.id, companyname: 'Globex' }]],
  ['may_login', 'has no account that cannot sign in', elsewhereNot, []],
  ['role', 'is the names of the groups', inGroups, ['Admins', 'Sales']],
  ['role', 'is an empty list without groups', alone, []],
  ['perm', 'is the permissions of the groups, each once', inGroups, ['admin', 'orders.read', 'orders.write']],
  ['perm', 'is an empty list without groups', alone, []],
];

describe('Default claims (service specification)', () => {
  test('the mapping of claims to scopes is the table of the specification', () => {
    expect(resolver.declarations.map(({ scope, name }) => [scope, name])).toEqual(table);
  });

  test.each(rows)('%s %s', async (claim, _, subject, value) => {
    const scope = resolver.declarations.find(({ name }) => name === claim)?.scope ?? '';
    const claims = await resolver.resolve(subject, new Set([scope]), 'userinfo');
    expect(claims[claim]).toEqual(value);
    expect(Object.hasOwn(claims, claim)).toBe(value !== undefined);
  });

  test('initialsAsPicture: the initials of who has no picture, in upper case, whole characters', async () => {
    const withInitials = createClaimResolver(standardClaims({ initialsAsPicture: true, email: 'all' }), { logger: console });
    const picture = async (subject: ClaimSubject) => (await withInitials.resolve(subject, new Set(['profile']), 'userinfo')).picture;
    expect(await picture(alone)).toBe('AA');
    expect(await picture(of({ givenName: 'å', familyName: '𝒵ed' }))).toBe('Å𝒵');
    expect(await picture(of({ givenName: '', familyName: 'öberg' }))).toBe('Ö');
    expect(await picture(of({ givenName: '', familyName: ' ', user: user({ userName: 'zoe@acme.test' }) }))).toBe('Z');
    expect(await picture(of({ pictureUrl: 'https://avatar.test/1.png' }))).toBe('https://avatar.test/1.png');
  });

  test.each(claimTargets)('all claims go to %s, each with its scope alone', async (target) => {
    const subject = claimSubject(
      { person: person({ ...linkedAlice, phoneNumber: '+4670', locale: 'sv', pictureUrl: 'https://avatar.test/1.png' }), tenant: acme },
      { others: [{ person: globexAlice, tenant: globex, canSignIn: true }] },
    );
    for (const [scope, names] of resolver.scopes)
      expect(Object.keys(await resolver.resolve(subject, new Set([scope]), target))).toEqual(names);
  });

  test('address is a known scope with no claims', () => {
    expect(resolver.scopes.get('address')).toEqual([]);
    expect([...resolver.scopes.keys()]).toEqual(['profile', 'email', 'phone', 'org', 'roles', 'perms', 'address']);
  });

  test('nothing is looked up for a user without groups, links or subsidiary', async () => {
    const refuse = () => Promise.reject(new Error('looked up'));
    const lookups = { subsidiary: refuse, groups: refuse, linkedAccounts: refuse };
    const claims = await resolver.resolve({ ...alone, lookups }, new Set(resolver.scopes.keys()), 'id_token');
    expect(claims).toMatchObject({ orgid: acme.id, role: [], perm: [] });
  });

  test('a look-up that fails fails the request: missing permissions would pass for none', async () => {
    const groups = () => Promise.reject(new Error('the store is down'));
    const subject = { ...inGroups, lookups: { ...inGroups.lookups, groups } };
    await expect(resolver.resolve(subject, new Set(['perms']), 'scope_introspection')).rejects.toMatchObject({
      code: 'claims_unavailable',
      status: 503,
      details: { claims: ['perm'] },
    });
  });
});
