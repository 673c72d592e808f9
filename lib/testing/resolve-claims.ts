/**
 * Tests of a host's own claim plugins and extensions, without a server.
 *
 * The plugin is called by the same resolver that answers tokens and userinfo.
 */
import { randomUUID } from 'node:crypto';
import type { ClaimMapping, ClaimRecords, ClaimSet, ClaimSubject, ClaimTarget } from '../claims/contract.js';
import { createClaimResolver } from '../claims/resolver.js';
import type { Logger } from '../logger.js';
import type { Group, Person, PersonWithUser, Subsidiary, Tenant, User } from '../store/records/records.js';

/** Input for the plugin. Required members that are left out get example values. Optional members stay absent. */
export interface ClaimsRequest extends Partial<Pick<ClaimSubject, 'client' | 'login' | 'pseudonym'>> {
  readonly person?: Partial<Omit<Person, 'user'>> & { readonly user?: Partial<User> };
  readonly tenant?: Partial<Tenant>;
  /** Groups of the user, for plugins that need them. @default none */
  readonly groups?: readonly Partial<Group>[];
  /** Subsidiary that the person is assigned to. @default none */
  readonly subsidiary?: Partial<Subsidiary>;
  /** Other linked accounts. @default none */
  readonly linkedAccounts?: ClaimRecords['linkedAccounts'];
  /** Granted scopes, as a request has them: `'openid hr'`. */
  readonly scopes: string;
  /** @default 'userinfo' */
  readonly target?: ClaimTarget;
  /** Ids of the API resources that the token is for, for the target `access_token`. */
  readonly apiResources?: readonly string[];
  /** Mapping of claims to other scopes, as the option `claimMapping` has it. */
  readonly claimMapping?: ClaimMapping;
  /** Logs claims that were left out because the plugin failed. @default console */
  readonly logger?: Logger;
}

/**
 * Returns the claims of a plugin, computed by the resolver of the service, with the resolver's checks, time-outs and `onError`.
 * @throws ConfigError for a plugin that the service would refuse at its start
 * @throws UnavailableError `claims_unavailable` if the plugin fails and has `onError: 'fail'`.
 * @example
 * ```ts
 * import { defineClaims } from 'tenant-idp';
 * import { resolveClaims } from 'tenant-idp/testing';
 *
 * const badges = defineClaims({
 *   name: 'badges',
 *   claims: {
 *     badge: { scope: 'badges', type: 'string', description: 'Number of the badge', value: ({ person }) => person.externalId },
 *   },
 * });
 * const { badge } = await resolveClaims(badges, { person: { externalId: '4711' }, scopes: 'openid badges', target: 'id_token' });
 * console.log(badge); // 4711
 * ```
 */
export async function resolveClaims(plugin: ClaimSet, request: ClaimsRequest): Promise<Record<string, unknown>> {
  const { scopes, target = 'userinfo', apiResources = [], claimMapping = {}, logger = console } = request;
  if (typeof scopes !== 'string') throw new TypeError("scopes is not a string. Give all scopes in one string, such as 'openid hr'.");
  const resolver = createClaimResolver([plugin], { logger, mapping: claimMapping });
  const granted = new Set(scopes.split(' ').filter((scope) => scope !== ''));
  return resolver.resolve(subjectOf(request, granted), granted, target, undefined, apiResources);
}

function subjectOf(request: ClaimsRequest, scopes: ReadonlySet<string>): ClaimSubject {
  const { client, login, pseudonym, linkedAccounts = [] } = request;
  const tenant: Tenant = { ...stored(), name: 'Acme', status: 'active', ...request.tenant };
  const groups = (request.groups ?? []).map(
    (group): Group => ({ ...stored(), tid: tenant.id, name: 'Staff', permissionIds: [], ...group }),
  );
  const subsidiary: Subsidiary | undefined = request.subsidiary && {
    ...stored(),
    tid: tenant.id,
    name: 'Acme North',
    ...request.subsidiary,
  };
  const { user: givenUser, ...givenPerson } = request.person ?? {};
  const user: User = {
    id: randomUUID(),
    userName: 'alice@example.com',
    userNameKey: 'alice@example.com',
    emailVerified: true,
    isParent: linkedAccounts.length > 0 && givenUser?.parentUserId === undefined,
    groupIds: groups.map(({ id }) => id),
    status: 'active',
    externalIdentities: [],
    externalIdentityKeys: [],
    ...givenUser,
  };
  const person: PersonWithUser = {
    ...stored(),
    tid: tenant.id,
    givenName: 'Alice',
    familyName: 'Adams',
    phoneNumberVerified: false,
    attributes: {},
    pendingEvents: [],
    ...(subsidiary && { subsidiaryId: subsidiary.id }),
    ...givenPerson,
    user,
  };
  return {
    person,
    user,
    tenant,
    scopes,
    ...(client && { client }),
    ...(login && { login }),
    ...(pseudonym && { pseudonym }),
    lookups: {
      subsidiary: () => subsidiary,
      groups: () => groups,
      linkedAccounts: async () => [{ person, tenant, canSignIn: true }, ...linkedAccounts],
    },
  };
}

const stored = () => {
  const at = new Date();
  return { id: randomUUID(), version: 1, createdAt: at, updatedAt: at };
};
