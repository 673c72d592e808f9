/** Types of claims. The file is compiled and never run: an expected error that no longer occurs breaks the build. */
import { defineClaims } from '../../lib/claims/contract.js';

declare const hrApi: {
  person(
    externalId: string | undefined,
    options: { signal: AbortSignal },
  ): Promise<{ costCenter: string; managerId?: string; level: number }>;
};

const declared = { scope: 'hr', description: 'Of the HR system' } as const;

export const hrClaims = defineClaims({
  name: 'hr',
  load: ({ person, signal }) => hrApi.person(person.externalId, { signal }),
  claims: {
    cost_center: { scope: 'hr', type: 'string', description: 'Cost centre', value: ({ data }) => data.costCenter },
    manager: {
      scope: 'hr',
      type: 'string',
      description: 'Manager',
      in: ['userinfo'],
      value: ({ data }) => data.managerId,
    },
  },
  timeoutMs: 800,
  onError: 'omit',
});

export const everyType = defineClaims({
  name: 'every type',
  load: ({ person, user, tenant, scopes, client, login, signal, lookups }) =>
    [person.id, user.id, tenant.id, scopes.size, client?.id, login?.sub, signal.aborted, lookups] as const,
  claims: {
    text: { ...declared, type: 'string', value: ({ data }) => data[0] },
    amount: { ...declared, type: 'number', value: ({ data }) => data[3] },
    flag: { ...declared, type: 'boolean', value: async ({ data }) => data[6] },
    list: { ...declared, type: 'strings', value: ({ person }) => [person.tid] },
    thing: { ...declared, type: 'object', value: () => ({ any: { thing: 1 } }) },
    things: { ...declared, type: 'objects', value: ({ data }) => data[7].linkedAccounts().then(() => [{ any: 1 }]) },
    mail: { ...declared, type: 'string or strings', value: ({ client }) => (client ? 'one' : ['one', 'two']) },
    nothing: { ...declared, type: 'string', value: () => undefined },
  },
});

export const wrongValueTypes = defineClaims({
  name: 'wrong value types',
  load: ({ person, signal }) => hrApi.person(person.externalId, { signal }),
  claims: {
    // @ts-expect-error a number is not a string
    text: { ...declared, type: 'string', value: ({ data }) => data.level },
    // @ts-expect-error nor is it one when it comes later
    later: { ...declared, type: 'string', value: async ({ data }) => data.level },
    // @ts-expect-error a string is not a number
    amount: { ...declared, type: 'number', value: ({ data }) => data.costCenter },
    // @ts-expect-error a string is not a list
    list: { ...declared, type: 'strings', value: ({ data }) => data.costCenter },
    // @ts-expect-error a list is not an object
    thing: { ...declared, type: 'object', value: () => 'text' },
    // @ts-expect-error null does not leave a claim out
    nothing: { ...declared, type: 'string', value: () => null },
    // @ts-expect-error there is no such type
    date: { ...declared, type: 'date', value: () => new Date() },
  },
});

export const dataHasTheTypeThatLoadReturns = defineClaims({
  name: 'data',
  load: ({ person, signal }) => hrApi.person(person.externalId, { signal }),
  claims: {
    // @ts-expect-error the data has no such member
    unknown_member: { ...declared, type: 'string', value: ({ data }) => data.costCentre },
  },
});

export const noDataWithoutLoad = defineClaims({
  name: 'no data',
  claims: {
    nothing: { ...declared, type: 'boolean', value: ({ data }) => data === undefined },
    // @ts-expect-error there is no data without load
    something: { ...declared, type: 'string', value: ({ data }) => data.costCenter },
  },
});

export const untypedDataStaysUntyped = defineClaims({
  name: 'untyped data',
  load: async () => JSON.parse('{}'),
  claims: { anything: { ...declared, type: 'string', value: ({ data }) => data.any.thing } },
});

export const reservedName = defineClaims({
  name: 'reserved name',
  claims: {
    // @ts-expect-error set by the protocol
    sub: { ...declared, type: 'string', value: () => 'somebody else' },
    // @ts-expect-error set by the protocol
    amr: { ...declared, type: 'strings', value: () => ['mfa'] },
  },
});

export const wrongTarget = defineClaims({
  name: 'wrong target',
  claims: {
    // @ts-expect-error there is no such target
    everywhere: { ...declared, type: 'string', in: ['logout_token'], value: () => 'text' },
    // @ts-expect-error the API resources are not named
    unnamed: { ...declared, type: 'string', in: ['access_token'], value: () => 'text' },
    // @ts-expect-error nor are there any by default
    unused: { ...declared, type: 'string', apiResources: ['orders'], value: () => 'text' },
  },
});

export const needsAreMembers = defineClaims({
  name: 'needs',
  needs: ['groups', 'subsidiary'],
  load: async ({ person }) => person.id,
  claims: {
    doors: { ...declared, type: 'strings', value: ({ groups, data }) => [data, ...groups.map(({ name }) => name)] },
    place: { ...declared, type: 'string', in: ['access_token'], apiResources: ['doors'], value: ({ subsidiary }) => subsidiary?.name },
    // @ts-expect-error not declared
    family: { ...declared, type: 'number', value: ({ linkedAccounts }) => linkedAccounts.length },
  },
});

// @ts-expect-error there is no such look-up
export const wrongNeed = defineClaims({ name: 'wrong need', needs: ['friends'], claims: {} });

// @ts-expect-error there is no such policy
export const wrongPolicy = defineClaims({ name: 'wrong policy', claims: {}, onError: 'ignore' });

interface Attributes {
  readonly costCenter: string;
  readonly desk?: number;
}

export const attributesHaveTheirType = defineClaims<Attributes>()({
  name: 'attributes',
  needs: ['groups'],
  load: ({ person }) => ({ desk: person.attributes.desk }),
  claims: {
    cost_center: { ...declared, type: 'string', value: ({ person }) => person.attributes.costCenter },
    desk: { ...declared, type: 'number', value: ({ data }) => data.desk },
    doors: { ...declared, type: 'strings', value: ({ groups, person }) => [person.tid, ...groups.map(({ name }) => name)] },
    // @ts-expect-error a number is not a string
    wrong: { ...declared, type: 'string', value: ({ person }) => person.attributes.desk },
    // @ts-expect-error there is no such attribute
    unknown: { ...declared, type: 'string', value: ({ person }) => person.attributes.costCentre },
    // @ts-expect-error a person may lack the attribute
    required: { ...declared, type: 'number', value: ({ person }) => person.attributes.costCenter.length },
  },
});

export const untypedAttributes = defineClaims({
  name: 'untyped attributes',
  claims: {
    // @ts-expect-error without their type, attributes are unknown
    text: { ...declared, type: 'string', value: ({ person }) => person.attributes.costCenter },
  },
});
