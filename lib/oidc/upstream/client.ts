import Provider, { type Client, errors, type KoaContextWithOIDC, type ResponseType } from 'oidc-provider';
import { verify } from 'oidc-provider/lib/helpers/jwt.js';
import jwtClientAuth from 'oidc-provider/lib/shared/jwt_client_auth.js';
import { isLoopback } from '../../fetch/loopback.js';
import { nodeTime } from '../../times/node-time.js';

export interface ClientHooks {
  /** Returns the record of a client: a new object after each change. */
  record(id: string): object | undefined | Promise<object | undefined>;
  compareSecret(client: Client, secret: string): boolean;
  /** Returns the key set at a `jwks_uri`. `freshUntil` is in milliseconds since the epoch. */
  keysAt(uri: string): Promise<{ readonly keys: readonly object[]; readonly freshUntil: number }>;
  /** Whether implicit clients may have http URIs on this machine. */
  readonly mayBeLocal: boolean;
}

const records = new WeakMap<Client, object>();

type FindClient = (id: string) => Client | undefined | Promise<Client | undefined>;

const finders = new WeakMap<Provider, FindClient>();

/**
 * Returns the client of an id, like `Client.find`. Returns a promise only if the client is not in memory, because the promise costs more than the look-up.
 */
export const findClient = (provider: Provider, id: string): ReturnType<FindClient> =>
  (finders.get(provider) ?? provider.Client.find.bind(provider.Client))(id);

/** Returns the record of which a client was built. */
export const recordOf = (client: Client): object | undefined => records.get(client);

/** Returns whether the client registered as pairwise. For oidc-provider, every client is pairwise. */
export const isPairwise = (client: Client): boolean => (client as { declaredSubjectType?: unknown }).declaredSubjectType === 'pairwise';

/**
 * Returns the claims of a JWT that a client signed with a key of its `jwks` or `jwks_uri`. The calling code checks the times, because helpers/jwt.js uses
 * the node's own clock. Depends on helpers/jwt.js and Client.asymmetricKeyStore.
 */
export async function verifiedByClient(client: Client, jwt: string): Promise<Record<string, unknown>> {
  const { asymmetricKeyStore } = client as unknown as { asymmetricKeyStore: object };
  const withoutTimes = { ignoreExpiration: true, ignoreIssued: true, ignoreNotBefore: true } as const;
  return (await verify(jwt, asymmetricKeyStore, withoutTimes)).payload;
}

/** A client assertion, and the parts of oidc-provider's context that its check reads. */
interface ShownAssertion extends Pick<KoaContextWithOIDC['oidc'], 'route' | 'isFapi'> {
  readonly client: Client;
  readonly assertion: string;
  readonly audiences: readonly string[];
}

/**
 * Authenticates a client by `private_key_jwt` in a request that oidc-provider does not answer. The last step records the use of the assertion, so an assertion
 * that is refused was not used. Depends on shared/jwt_client_auth.js, as shared/client_auth.js calls it.
 * @throws InvalidClientAuth
 */
export async function useAssertion(
  provider: Provider,
  ctx: object,
  { client, assertion, audiences, ...known }: ShownAssertion,
): Promise<void> {
  const { asymmetricKeyStore } = client as unknown as { asymmetricKeyStore: object };
  const params = { client_assertion: assertion };
  const oidc = { ...known, provider, client, params, clientJwtAuthExpectedAudience: () => new Set(audiences) };
  // oidc-provider makes its context only in its own steps.
  await jwtClientAuth(Object.create(ctx, { oidc: { value: oidc } }), asymmetricKeyStore, (alg) => !alg.startsWith('HS'));
}

/**
 * Returns the members that oidc-provider knows of a client with this metadata, or the text of the first problem that its schema finds. Uses `new Client` of
 * models/client.js, which also checks the keys of `jwks`. The cause of its error states which key is invalid, and why.
 */
export function judgeMetadata(provider: Provider, metadata: object): { readonly known: object } | { readonly problem: string } {
  try {
    const client = new (provider.Client as unknown as new (given: object) => Client)(structuredClone(metadata));
    return { known: client.metadata() };
  } catch (error) {
    if (!(error instanceof errors.InvalidClientMetadata)) throw error;
    const { cause, error_description: description = error.message } = error;
    return { problem: cause instanceof Error ? cause.message : description };
  }
}

const localCodes = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

/**
 * Allows http URIs in development, if all http URIs of the client are on this machine. Depends on `invalidate` of helpers/client_schema.js, and its codes.
 */
function allowLocalClients(Client: unknown): void {
  const { prototype } = (Client as { Schema: { prototype: ClientSchema } }).Schema;
  const { invalidate } = prototype;
  prototype.invalidate = function (message, code) {
    const isLocal = (uri: string): boolean => {
      const { protocol, hostname } = new URL(uri);
      return protocol === 'https:' || isLoopback(hostname);
    };
    const uris = () => [...(this.redirect_uris ?? []), ...(this.post_logout_redirect_uris ?? [])];
    if (code === undefined || !localCodes.has(code) || !uris().every(isLocal)) invalidate.call(this, message, code);
  };
}

/** Members of the ClientKeyStore of models/client.js. The refresh of the ClientKeyStore would let an invalid key set replace the last valid one. */
interface ClientKeyStore {
  readonly jwksUri: string | undefined;
  /** Seconds since the epoch. */
  freshUntil?: number;
  fresh(): boolean;
  clear(): void;
  add(key: object): void;
  refresh(): Promise<void>;
}

function readKeysBy(keysAt: ClientHooks['keysAt'], client: Client): void {
  const store = (client as unknown as { asymmetricKeyStore: ClientKeyStore }).asymmetricKeyStore;
  const { jwksUri } = store;
  if (jwksUri === undefined) return;
  store.refresh = async () => {
    if (store.fresh()) return;
    const { keys, freshUntil } = await keysAt(jwksUri).catch((cause) => {
      throw new errors.InvalidClientMetadata('client JSON Web Key Set failed to be refreshed', { cause });
    });
    store.clear();
    for (const key of keys) store.add({ ...key });
    store.freshUntil = Math.max(freshUntil, nodeTime()) / 1000 + 1;
  };
}

interface ClientSchema {
  readonly redirect_uris?: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  invalidate(this: ClientSchema, message: string, code?: string): void;
}

export function customiseClient(provider: Provider, hooks: ClientHooks): void {
  const { Client } = provider;
  // `sub` passes through `pairwiseIdentifier` for every client, so that one hook answers it. The registered type is stored separately.
  Object.defineProperty(Client.prototype, 'subjectType', {
    get: () => 'pairwise',
    set(this: object, value: unknown) {
      Object.defineProperty(this, 'declaredSubjectType', { value, configurable: true });
    },
  });
  const { grantTypeAllowed, responseTypeAllowed } = Client.prototype;
  if (hooks.mayBeLocal) allowLocalClients(Client);
  Object.assign(Client.prototype, {
    includeSid: () => true,
    /** Refuses a grant type of the client as `unauthorized_client`, because oidc-provider would answer that the request is malformed. @see RFC 6749 §5.2 */
    grantTypeAllowed(this: Client, grantType: string) {
      const isAllowed = grantTypeAllowed.call(this, grantType);
      const { route, params } = Provider.ctx?.oidc ?? {};
      if (!isAllowed && route === 'token' && params?.grant_type === grantType)
        throw new errors.UnauthorizedClient('requested grant type is not allowed for this client');
      return isAllowed;
    },
    /** Refuses a response type of the client, for the reason of {@link grantTypeAllowed}. @see RFC 6749 §4.1.2.1, §4.2.2.1 */
    responseTypeAllowed(this: Client, responseType: ResponseType) {
      const isAllowed = responseTypeAllowed.call(this, responseType);
      // The type exists only for internal clients.
      if (!isAllowed && responseType === 'none') throw new errors.UnsupportedResponseType('unsupported response_type requested');
      if (!isAllowed) throw new errors.UnauthorizedClient('requested response_type is not allowed for this client');
      return true;
    },
    // The queue of deliveries notifies clients. actions/end_session.js would wait for each client.
    backchannelLogout: async () => {},
    compareClientSecret(this: Client, secret: string) {
      return hooks.compareSecret(this, secret);
    },
  });
  // Client.find parses and hashes the metadata at each request, and caches 100 clients. Here, a client is built once for each version of its record.
  const find = Client.find.bind(Client);
  const built = new WeakMap<object, Client | Promise<Client | undefined>>();
  const build = (id: string, record: object): Promise<Client | undefined> => {
    const building = find(id);
    built.set(record, building);
    building.then(
      (client) => {
        if (!client) return;
        records.set(client, record);
        built.set(record, client);
        readKeysBy(hooks.keysAt, client);
      },
      () => built.delete(record),
    );
    return building;
  };
  const clientOf = (id: string, record: object | undefined): ReturnType<FindClient> => record && (built.get(record) ?? build(id, record));
  const findNow: FindClient = (id) => {
    const record = typeof id === 'string' && id ? hooks.record(id) : undefined;
    return record instanceof Promise ? record.then((found) => clientOf(id, found)) : clientOf(id, record);
  };
  finders.set(provider, findNow);
  Client.find = (id: string) => Promise.resolve(findNow(id));
}
