import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type ValueError, ValueErrorType } from '@sinclair/typebox/value';
import { ConfigError, type ConfigProblem } from '../../errors.js';
import { nearestName } from '../../nearest-name.js';
import { present } from '../../present.js';
import { personDefaults, personMembers, userDefaults, userMembers } from '../../store/records/persons.js';
import { shownName } from '../../text/person-name.js';
import { inputSchema, line, strings, USER_NAME_LENGTH } from '../../text/schemas.js';
import { apiResourceInput } from '../clients/api-resources.js';
import { type ClientInput, clientInput } from '../clients/clients.js';
import { permissionInput } from '../groups/permissions.js';
import { expectedOf, schemaErrors, textProblems, withDefaults } from '../input.js';
import { NAMING } from '../persons/persons.js';
import { userStatus } from '../persons/user-record.js';
import { subsidiaryInput } from '../tenants/subsidiaries.js';
import { tenantInput } from '../tenants/tenants.js';

const id = Type.Optional(Type.String({ pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' }));
const { subsidiaryId: _, ...personFields } = withDefaults(personMembers, personDefaults);

const seedUser = inputSchema({
  id,
  ...withDefaults(userMembers, userDefaults),
  /** Status of a user that the seed creates. @default `active` with `devPassword` or `linkedTo`, otherwise `invited` */
  status: Type.Optional(userStatus()),
  /** Names of groups of the tenant. */
  groups: Type.Optional(strings()),
  /** A password for development that no policy checks. Refused in production. */
  devPassword: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  /** The parent account. */
  linkedTo: Type.Optional(inputSchema({ userName: line(USER_NAME_LENGTH), tenant: line() })),
});
const seedPerson = inputSchema({
  ...personFields,
  id,
  /** The name of a subsidiary of the tenant. */
  subsidiary: Type.Optional(line()),
  user: Type.Optional(seedUser),
});
const seedGroup = inputSchema({ id, name: line(), permissions: Type.Optional(strings()) });
const seedTenant = inputSchema({
  ...tenantInput.properties,
  id,
  subsidiaries: Type.Optional(Type.Array(inputSchema({ ...subsidiaryInput.properties, id }))),
  groups: Type.Optional(Type.Array(seedGroup)),
  persons: Type.Optional(Type.Array(seedPerson)),
});
export const seedSchema = inputSchema({
  /**
   * Treatment of records that an earlier start created. `update`: new values of the seed replace values that a seed gave before, unless
   * another actor changed them since. `create`: records that exist are unchanged.
   * @default 'update'
   */
  mode: Type.Optional(Type.Union([Type.Literal('create'), Type.Literal('update')])),
  tenants: Type.Optional(Type.Array(seedTenant)),
  permissions: Type.Optional(Type.Array(permissionInput)),
  clients: Type.Optional(Type.Array(clientInput)),
  apiResources: Type.Optional(Type.Array(apiResourceInput)),
  /** Records of extensions, by the extension's name. */
  extensions: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

export type SeedUser = Static<typeof seedUser>;
export type SeedPerson = Static<typeof seedPerson>;
export type SeedTenant = Static<typeof seedTenant>;

/**
 * Records that a start creates once. Removed records, secrets, scopes, groups of a user and account links are not created again. Omitted
 * ids follow from the issuer and the names. `allowedTenants` and `adminTenants` may name a tenant of the seed by its name.
 */
export interface Seed extends Omit<Static<typeof seedSchema>, 'clients'> {
  readonly clients?: readonly ClientInput[];
}

/** Returns every value that does not have the seed's form. */
export function findSeedFormProblems(seed: unknown): readonly ConfigProblem[] {
  const problems = problemsIn(seedSchema, seed);
  return problems.length > 0 ? problems : findNamelessPersons(seed as Seed);
}

const findNamelessPersons = ({ tenants = [] }: Seed): readonly ConfigProblem[] =>
  tenants.flatMap(({ persons = [] }, tenant) =>
    persons.flatMap((person, index) =>
      shownName(person) === '' ? [{ path: seedPath('tenants', tenant, 'persons', index), expected: NAMING }] : [],
    ),
  );

/** Returns every value for an extension that does not have the form of the extension's seed. @param forms by the extension's name */
export const findExtensionSeedProblems = ({ extensions = {} }: Seed, forms: ReadonlyMap<string, TSchema>): readonly ConfigProblem[] =>
  Object.entries(extensions).flatMap(([name, seeded]) => {
    const form = forms.get(name);
    if (form) return problemsIn(form, seeded, 'extensions', name);
    return [{ path: seedPath('extensions', name), expected: `an extension that has a seed: ${[...forms.keys()].join(', ')}` }];
  });

function problemsIn(schema: TSchema, value: unknown, ...within: readonly string[]): readonly ConfigProblem[] {
  // typebox fails for a function in a list without repeated entries.
  const functions = functionsIn(value, within);
  if (functions.length > 0) return functions;
  return [
    ...[...schemaErrors(schema, value)].map((error) => toProblem(error, within)),
    ...textProblems(schema, value).map(({ path, expected }) => ({ path: seedPath(...within, ...path.split('/').slice(1)), expected })),
  ];
}

function functionsIn(value: unknown, path: readonly string[], outer: readonly unknown[] = []): readonly ConfigProblem[] {
  if (typeof value === 'function')
    return [{ path: seedPath(...path), expected: 'a value of JSON, because a function cannot be stored: call it' }];
  if (typeof value !== 'object' || value === null || outer.includes(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => functionsIn(member, [...path, name], [...outer, value]));
}

function toProblem({ type, path, message, schema }: ValueError, within: readonly string[]): ConfigProblem {
  const parts = [...within, ...path.split('/').slice(1)];
  if (type !== ValueErrorType.ObjectAdditionalProperties)
    return {
      path: seedPath(...parts),
      expected: expectedOf(message),
    };
  const names = Object.keys(schema.properties as object);
  const didYouMean = nearestName(parts.at(-1) ?? '', names);
  const expected = didYouMean === undefined ? `a member that exists: ${names.join(', ')}` : 'a member that exists';
  return { path: seedPath(...parts), expected, ...present({ didYouMean }) };
}

/** @throws ConfigError with every value that does not have the seed's form. */
export function checkSeedForm(seed: unknown): asserts seed is Seed {
  const problems = findSeedFormProblems(seed);
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
}

/** Returns the path of a value in the seed, such as `seed.tenants[0].name`. */
export const seedPath = (...parts: readonly (string | number)[]): string =>
  `seed${parts.map((part) => (/^\d+$/.test(String(part)) ? `[${part}]` : `.${part}`)).join('')}`;
