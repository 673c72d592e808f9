/**
 * Assembly: what extensions add becomes one whole, where each part has one owner.
 *
 * Here are the parts that somebody asks for by name; `sign-in-offers` and `added-configuration` put together what all of them have a share in. `checks`
 * looks at extensions that no compiler saw, before any of this.
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
 * Members of the discovery document. Those that say where the service is are nobody else's: whoever changed one would lead clients elsewhere.
 * @param endpoints names of the protocol's endpoints
 * @throws ConfigError `extension_conflict` when two extensions add the same, or one what is the service's.
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
 * All operations of the admin API.
 * @throws ConfigError `invalid_options` for one of the wrong form; `extension_conflict` when two have the same method and path.
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

/** The admin API as the API resource that its access tokens are for. */
export const adminApiOf = (operations: readonly Operation[]): ApiResource => ({
  id: ADMIN_API,
  version: 1,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  name: 'Administration',
  secrets: [],
  scopes: [...new Set(operations.map(({ scope }) => scope))].sort(),
  introspects: 'own',
  // Whatever who acts as somebody else may do, administer is none of it.
  impersonation: 'refuse',
  status: 'active',
});

/** What clients may be registered with here. */
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

/** One thing of each extension that has it, by the extension's name; made when they are first asked for. */
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

/** Sign-ins with `act` as the extension that began each judges it; of an extension that is not there any more, none goes on. */
export function impersonationRulesOf(rules: () => ReadonlyMap<string, ImpersonationRule>): ImpersonationRule {
  const ruleOf = (name: string): ImpersonationRule | undefined => rules().get(name.split(':', 1)[0] ?? '');
  return {
    mayGoOn: (impersonation) => ruleOf(impersonation.name)?.mayGoOn(impersonation) ?? false,
    ending: (name, end) => ruleOf(name)?.ending(name, end),
  };
}

/** Returns the URL at which people end an impersonation: that of the first extension that has one. It is asked for after there are contexts. */
export const endImpersonationAtOf = (extensions: readonly Extension[], contextOf: ContextOf) => (): string | undefined => {
  for (const { name, endImpersonationAt } of extensions) {
    const url = endImpersonationAt?.(contextOf(name));
    if (url !== undefined) return url;
  }
  return undefined;
};

/** Grant types by name, each made when it is first asked for. */
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

/** The endpoint of a name that an extension answers, made when it is first asked for; undefined where none does. */
export function clientEndpointOf(extensions: readonly Extension[], contextOf: ContextOf): (() => ClientEndpoint) | undefined {
  const endpoint = 'backchannel_authentication';
  const owner = extensions.find(({ clientEndpoints }) => clientEndpoints?.[endpoint]);
  const create = owner?.clientEndpoints?.[endpoint];
  let made: ClientEndpoint | undefined;
  return owner && create && (() => (made ??= answered(owner.name, 'clientEndpoints', create(contextOf(owner.name)), [endpoint])));
}

/** Forms of what seeds may give extensions, by their names. */
export const seedFormsOf = (extensions: readonly Extension[]): ReadonlyMap<string, TSchema> =>
  new Map(extensions.flatMap(({ name, seed }) => (seed ? [[name, seed.form] as const] : [])));

/** The records that a seed gives extensions. */
export const seedPiecesOf =
  (extensions: readonly Extension[], contextOf: ContextOf) =>
  (
    { extensions: seeded = {} }: Pick<Seed, 'extensions'>,
    tenantId: (name: string) => string,
  ): readonly SeedPiece<{ readonly id: string }>[] =>
    extensions.flatMap(({ name, seed }) =>
      seed && seeded[name] !== undefined ? seed.pieces(seeded[name], contextOf(name), { tenantId }) : [],
    );

/** What writes mails: of the extension that does. */
export const lettersOf = (extensions: readonly Extension[], contextOf: ContextOf): WriteLetter =>
  soleOf(extensions, 'letters', ({ name, letters }) => letters?.(contextOf(name)));

/** What shows pages: of the extension that does. */
export const pagesOf = (extensions: readonly Extension[], contextOf: ContextOf): ShowPage =>
  soleOf(extensions, 'pages', ({ name, pages }) => pages?.(contextOf(name)));

/** The options were checked for one that has it. */
function soleOf<T>(extensions: readonly Extension[], member: keyof Extension, make: (extension: Extension) => T | undefined): T {
  const [made] = extensions.filter((extension) => extension[member] !== undefined).map(make);
  return made as T;
}
