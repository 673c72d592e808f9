import { errors } from 'oidc-provider';
import { identityScopes } from '../../claims/declarations.js';
import type { ClaimResolver } from '../../claims/resolver.js';
import type { ScopeWords } from '../../contract/pages/scope-words.js';
import { type ApiScopes, type Directory, scopesOfClient } from '../../directory/index.js';
import type { Client } from '../../store/records/records.js';
import { ownMember } from '../../text/own-member.js';
import { perRequest } from '../artifacts/per-request.js';
import type { OidcParts } from '../context.js';

/** Scopes of the service. API scopes are data, which change while the service runs. */
export interface Scopes {
  /**
   * Loads the current scopes for the other methods in the same request. Returns a promise only if the scopes have to be read. A failed load does not throw
   * here. `known`, `held` and `audiences` throw it, so that requests without scopes still succeed.
   */
  prepare(ctx: object): Promise<void> | undefined;
  /** Returns the current identity and API scopes. Returns a promise only if the scopes have to be read. */
  now(): ReadonlySet<string> | Promise<ReadonlySet<string>>;
  /** Returns the identity and API scopes. */
  known(ctx: object): ReadonlySet<string>;
  isApiScope(ctx: object, scope: string): boolean;
  /** Returns the granted scopes that still exist and that the client may still have. */
  held(ctx: object, client: Client, scopes: readonly string[]): string[];
  /** Returns the API resources that own any of the scopes. */
  audiences(ctx: object, scope: string | undefined): readonly string[];
}

export function createScopes({ directory, claims }: OidcParts): Scopes {
  interface Snapshot {
    readonly owners: ApiScopes;
    readonly known: ReadonlySet<string>;
  }
  const identity = identityScopes(claims.scopes.keys());
  const snapshots = new WeakMap<ApiScopes, Snapshot>();
  const snapshotOf = (owners: ApiScopes): Snapshot => {
    const snapshot = snapshots.get(owners) ?? { owners, known: new Set([...identity, ...owners.keys()]) };
    snapshots.set(owners, snapshot);
    return snapshot;
  };
  const ofRequest = perRequest((): { snapshot: Snapshot; failure?: unknown } => ({ snapshot: snapshotOf(none) }));
  const of = (ctx: object): Snapshot => {
    const { snapshot, failure } = ofRequest(ctx);
    if (failure !== undefined) throw failure;
    return snapshot;
  };

  return {
    prepare(ctx) {
      const keep = (owners: ApiScopes): void => {
        ofRequest(ctx).snapshot = snapshotOf(owners);
      };
      const owners = directory.apiScopes();
      if (owners instanceof Promise)
        return owners.then(keep, (failure: unknown) => {
          ofRequest(ctx).failure = failure;
        });
      keep(owners);
      return undefined;
    },
    now() {
      const owners = directory.apiScopes();
      return owners instanceof Promise ? owners.then((all) => snapshotOf(all).known) : snapshotOf(owners).known;
    },
    known: (ctx) => of(ctx).known,
    held: (ctx, client, granted) => {
      const allowed = scopesOfClient(client);
      return granted.filter((scope) => isGrantable(scope, allowed, of(ctx).known));
    },
    isApiScope: (ctx, scope) => of(ctx).owners.has(scope),
    audiences: (ctx, scope) => {
      const { owners } = of(ctx);
      return [...new Set((scope?.split(' ') ?? []).flatMap((name) => owners.get(name)?.id ?? []))];
    },
  };
}

/** Returns whether a client may be granted a scope. The client's grant types decide about `offline_access`. */
const isGrantable = (scope: string, allowed: readonly string[], known: ReadonlySet<string>): boolean =>
  known.has(scope) && (allowed.includes(scope) || scope === 'offline_access');

/** @throws InvalidScope for an unknown scope, or for a scope that the client may not have. @see RFC 6749 §4.1.2.1, §5.2 */
export function checkScopes(
  asked: readonly string[],
  client: Pick<Client, 'allowedScopes' | 'vouchedBy'>,
  known: ReadonlySet<string>,
): void {
  const allowed = scopesOfClient(client);
  const refused = asked.filter((scope) => !isGrantable(scope, allowed, known));
  const unconfirmed = refused.filter((scope) => isGrantable(scope, client.allowedScopes, known));
  if (unconfirmed.length > 0)
    throw new errors.InvalidScope(
      'The requested scope is not confirmed. An administrator who holds the scope must confirm this client.',
      unconfirmed.join(' '),
    );
  if (refused.length > 0)
    throw new errors.InvalidScope(
      'The requested scope is unknown, or not allowed for this client. Leave it out, or allow it for the client.',
      refused.join(' '),
    );
}

const none: ApiScopes = new Map();

/** Returns the description of each scope: the description of its claims, or of its API resource. */
export async function describeScopes(directory: Directory, { declarations }: ClaimResolver): Promise<ReadonlyMap<string, ScopeWords>> {
  const claims = new Map<string, string>();
  for (const { scope, description } of declarations)
    claims.set(scope, claims.has(scope) ? `${claims.get(scope)}, ${description}` : description);
  const words = new Map<string, ScopeWords>([...claims].map(([scope, description]) => [scope, { description }]));
  for (const [scope, { name: api, scopeDescriptions = {} }] of await directory.apiScopes()) {
    const description = ownMember(scopeDescriptions, scope);
    words.set(scope, { api, ...(description !== undefined && { description }) });
  }
  return words;
}
