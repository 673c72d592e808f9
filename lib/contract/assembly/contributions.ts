/**
 * Assembly: joins the parts that extensions add. Each part has one owner.
 *
 * The parts in this file are looked up by name. `sign-in-offers` and `added-configuration` join the parts that all extensions share. `checks` runs before
 * these files, for extensions that no compiler has checked.
 */

import type { TSchema } from '@sinclair/typebox';
import type { Seed, SeedPiece } from '../../directory/index.js';
import { ConfigError, type ErrorEntry, errorTable } from '../../errors.js';
import type { FetchProblem } from '../../fetch/fetch-rules.js';
import type { ApiResource, Client } from '../../store/records/records.js';
import type { ClientEndpoint } from '../clients/client-endpoint.js';
import type { GrantType } from '../clients/grant-type.js';
import type { Extension } from '../extension.js';
import type { ContextOf } from '../extension-context.js';
import type { WriteLetter } from '../pages/letter.js';
import type { ShowPage } from '../pages/protocol-page.js';
import { ADMIN_API, findOperationProblems, type MountedOperation, type Operation, reachOf, routeOf } from '../resources.js';
import { sharedClaims } from '../shared-claims.js';
import type { ImpersonationRule } from '../sign-in/impersonation-rule.js';
import { answered } from './answers.js';
import { withoutLimits } from './carried-answers.js';

/**
 * Returns the members that extensions add to the discovery document. An extension cannot change a member that gives an address of the service, because
 * clients would then send requests elsewhere.
 * @param endpoints names of the protocol's endpoints
 * @throws ConfigError `extension_conflict` if two extensions add the same member, or if an extension adds a member of the service.
 */
export function discoveryOf(extensions: readonly Extension[], contextOf: ContextOf, endpoints: readonly string[]): Record<string, unknown> {
  const added = extensions.map(({ name: owner, discovery }) => ({ owner, members: Object.entries(discovery?.(contextOf(owner)) ?? {}) }));
  const own = ['issuer', 'jwks_uri', ...endpoints.map((endpoint) => `${endpoint}_endpoint`)];
  const service = { owner: 'the service', members: own.map((member) => [member, undefined] as const) };
  const conflicts = sharedClaims([service, ...added], ({ members }) => members.map(([member]) => `${member} in discovery`));
  if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
  return Object.fromEntries(added.flatMap(({ members }) => members));
}

/**
 * Returns all operations of the admin API.
 * @throws ConfigError `invalid_options` for a malformed operation; `extension_conflict` if two operations have the same method and path.
 */
export function operationsOf(extensions: readonly Extension[], contextOf: ContextOf): readonly MountedOperation[] {
  const entries: Readonly<Record<string, ErrorEntry>> = Object.assign({}, errorTable, ...extensions.map(({ errorCodes }) => errorCodes));
  const codes = new Set(Object.keys(entries));
  const all = extensions.map(({ name: owner, resources }) => ({ owner, operations: resources?.(contextOf(owner)) ?? [] }));
  const problems = all.flatMap(({ owner, operations }) => findOperationProblems(operations, owner, codes));
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
  const conflicts = sharedClaims(all, ({ operations }) => operations.map(routeOf));
  if (conflicts.length > 0) throw new ConfigError('extension_conflict', conflicts);
  return all.flatMap(({ operations }) =>
    operations.map((operation) => ({
      ...operation,
      ...(operation.answer && { answer: withoutLimits(operation.answer) }),
      reach: reachOf(operation),
      errorEntries: Object.fromEntries((operation.errors ?? []).map((code) => [code, entries[code] as ErrorEntry])),
    })),
  );
}

/** Returns the admin API as an API resource: the audience of its access tokens. */
export const adminApiOf = (operations: readonly Operation[]): ApiResource => ({
  id: ADMIN_API,
  version: 1,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  name: 'Administration',
  secrets: [],
  scopes: [...new Set(operations.map(({ scope }) => scope))].sort(),
  introspects: 'own',
  // An impersonator must not administer anything in the name of the user.
  impersonation: 'refuse',
  status: 'active',
});

/** Returns the rules for the registration of clients. */
export const clientRulesOf = (
  { configure, production, fapi }: { readonly configure?: unknown; readonly production: boolean; readonly fapi?: '2.0' | undefined },
  extensions: readonly Extension[],
  fetchProblem: FetchProblem,
) => ({
  isProduction: production,
  isFapiOfAll: fapi === '2.0',
  fetchProblem,
  ownMetadata: configure !== undefined,
  takenPrefixes: extensions.flatMap(({ name, clients }) => (clients ? [`${name}:`] : [])),
  grantTypes: new Set(extensions.flatMap(({ grantTypes = {} }) => Object.keys(grantTypes))),
  problemsOfMetadata: (metadata: Client['metadata']): Readonly<Record<string, string>> =>
    Object.assign({}, ...extensions.map(({ clientProblems }) => clientProblems?.(metadata))),
  addedMetadata: new Map(
    extensions.flatMap(({ clientMetadata = {} }) =>
      Object.entries(clientMetadata).map(([name, check]) => [name, (value: unknown) => check(value, fetchProblem)] as const),
    ),
  ),
});

type OfEach = Pick<Extension, 'impersonation' | 'clients' | 'logoutParticipant'>;

/** Returns one member of each extension that has the member, by the extension's name. The members are created on first use. */
export function byExtension<Member extends keyof OfEach>(
  extensions: readonly Extension[],
  contextOf: ContextOf,
  member: Member,
): () => ReadonlyMap<string, ReturnType<NonNullable<OfEach[Member]>>> {
  type Made = ReturnType<NonNullable<OfEach[Member]>>;
  let made: ReadonlyMap<string, Made> | undefined;
  return () => {
    made ??= new Map(
      extensions.flatMap(({ name, [member]: create }) =>
        create ? [[name, answered(name, member, create(contextOf(name)) as Made)] as const] : [],
      ),
    );
    return made;
  };
}

/**
 * Returns the rule of impersonations. The extension that began an impersonation decides about it. If that extension is no longer installed, the
 * impersonation ends.
 */
export function impersonationRulesOf(rules: () => ReadonlyMap<string, ImpersonationRule>): ImpersonationRule {
  const ruleOf = (name: string): ImpersonationRule | undefined => rules().get(name.split(':', 1)[0] ?? '');
  return {
    mayGoOn: (impersonation) => ruleOf(impersonation.name)?.mayGoOn(impersonation) ?? false,
    ending: (name, end) => ruleOf(name)?.ending(name, end),
  };
}

/** Returns the URL at which users end an impersonation. The first extension with a URL wins. Call this function after the contexts exist. */
export const endImpersonationAtOf = (extensions: readonly Extension[], contextOf: ContextOf) => (): string | undefined => {
  for (const { name, endImpersonationAt } of extensions) {
    const url = endImpersonationAt?.(contextOf(name));
    if (url !== undefined) return url;
  }
  return undefined;
};

/** Returns the grant types by name. Each grant type is created on first use. */
export function grantTypesOf(extensions: readonly Extension[], contextOf: ContextOf): ReadonlyMap<string, () => GrantType> {
  return new Map(
    extensions.flatMap(({ name: owner, grantTypes = {} }) =>
      Object.entries(grantTypes).map(([name, create]) => {
        let made: GrantType | undefined;
        return [name, () => (made ??= answered(owner, 'grantTypes', create(contextOf(owner)), [name]))] as const;
      }),
    ),
  );
}

/** Returns the endpoint of a name that an extension answers. The endpoint is created on first use. Undefined if no extension answers the endpoint. */
export function clientEndpointOf(extensions: readonly Extension[], contextOf: ContextOf): (() => ClientEndpoint) | undefined {
  const endpoint = 'backchannel_authentication';
  const owner = extensions.find(({ clientEndpoints }) => clientEndpoints?.[endpoint]);
  const create = owner?.clientEndpoints?.[endpoint];
  let made: ClientEndpoint | undefined;
  return owner && create && (() => (made ??= answered(owner.name, 'clientEndpoints', create(contextOf(owner.name)), [endpoint])));
}

/** Returns the schemas of `seed.extensions`, by the names of the extensions. */
export const seedFormsOf = (extensions: readonly Extension[]): ReadonlyMap<string, TSchema> =>
  new Map(extensions.flatMap(({ name, seed }) => (seed ? [[name, seed.form] as const] : [])));

/** Returns the records of extensions that a seed contains. */
export const seedPiecesOf =
  (extensions: readonly Extension[], contextOf: ContextOf) =>
  (
    { extensions: seeded = {} }: Pick<Seed, 'extensions'>,
    tenantId: (name: string) => string,
  ): readonly SeedPiece<{ readonly id: string }>[] =>
    extensions.flatMap(({ name, seed }) =>
      seed && seeded[name] !== undefined ? seed.pieces(seeded[name], contextOf(name), { tenantId }) : [],
    );

/** Returns the function that writes mails, from the one extension that has the function. */
export const lettersOf = (extensions: readonly Extension[], contextOf: ContextOf): WriteLetter =>
  soleOf(extensions, 'letters', ({ name, letters }) => letters?.(contextOf(name)));

/** Returns the function that shows pages, from the one extension that has the function. */
export const pagesOf = (extensions: readonly Extension[], contextOf: ContextOf): ShowPage =>
  soleOf(extensions, 'pages', ({ name, pages }) => pages?.(contextOf(name)));

/** Returns the member from the one extension that has the member. The check of the options guarantees that exactly one extension has the member. */
function soleOf<T>(extensions: readonly Extension[], member: keyof Extension, make: (extension: Extension) => T | undefined): T {
  const [made] = extensions.filter((extension) => extension[member] !== undefined).map(make);
  return made as T;
}
