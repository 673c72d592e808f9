/**
 * oidc-provider by itself, over the records of a service of ours. The configuration is one that any host would write for the same results.
 * None of our code is between oidc-provider and its callers. oidc-provider reads the records unchanged, and its writes are discarded.
 */
import { createCipheriv, hkdfSync } from 'node:crypto';
import type { RequestListener } from 'node:http';
import Provider, { type Adapter, type AdapterPayload, type Configuration, type JWK } from 'oidc-provider';
import { keyOf } from '../../../lib/oidc/artifacts/ids.js';
import { recordIn } from '../../../lib/oidc/artifacts/short-form.js';
import type { Artifact, ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ApiResource, Client, Group, Person, Tenant } from '../../../lib/store/records/records.js';
import { epochSeconds } from '../time/epoch-seconds.js';

export interface BareProviderOptions {
  readonly issuer: string;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly directory: Pick<DirectoryStore, 'collection'>;
  readonly keys: readonly JWK[];
  /** Secrets by client and API resource. A public client has no secret. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly subjectSalt: string;
}

export interface BareProvider {
  readonly callback: RequestListener;
  /** Returns the caller that authenticated in the last request. */
  caller(): string | undefined;
  /** Whether the user, the tenant or the client of a token was stopped. */
  isStopped(token: { readonly sub?: unknown; readonly client_id?: unknown }): boolean;
}

/** Claims by scope, as in the service specification. */
const claimsByScope = {
  openid: ['sub', 'tid', 'oid', 'idp'],
  profile: ['family_name', 'given_name', 'name', 'preferred_username', 'locale', 'picture'],
  email: ['email', 'email_verified', 'secondary_emails'],
  phone: ['phone_number', 'phone_number_verified'],
  org: ['orgid', 'orgin', 'company_name', 'may_login'],
  roles: ['role'],
  perms: ['perm'],
  address: [],
};

export async function startBareProvider({ issuer, keys, ...options }: BareProviderOptions): Promise<BareProvider> {
  const { artifacts, directory, secrets, subjectSalt } = options;
  const clients = await byId<Client>(directory, 'clients');
  const apiResources = await byId<ApiResource>(directory, 'apiResources');
  const accountOf = await readAccounts(directory, subjectSalt);
  const apiScopes = [...apiResources.values()].flatMap(({ scopes }) => scopes);

  const configuration = {
    adapter: (model: string) => (model === 'Client' ? noRecords : recordsOf(model, artifacts)),
    clients: [...clientsOf(clients, secrets), ...apiClientsOf(apiResources, secrets)],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    clientBasedCORS: (_ctx: unknown, origin: string, { clientId, redirectUris = [] }: { clientId: string; redirectUris?: string[] }) =>
      clients.get(clientId)?.corsOrigins.includes(origin) || redirectUris.some((uri) => new URL(uri).origin === origin),
    allowOmittingSingleRegisteredRedirectUri: false,
    claims: claimsByScope,
    conformIdTokenClaims: false,
    cookies: { keys: ['no cookie is compared'] },
    discovery: {},
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      jwtResponseModes: { enabled: true },
      pushedAuthorizationRequests: { enabled: true },
      requestObjects: { enabled: true },
      resourceIndicators: { enabled: false },
      revocation: { enabled: true },
    },
    findAccount(ctx: { oidc: { client?: { clientId: string } } }, oid: string) {
      const client = clients.get(ctx.oidc.client?.clientId ?? '');
      const account = accountOf(oid, client);
      if (!account) return undefined;
      return {
        accountId: oid,
        claims: (use: string) => {
          if (use !== 'id_token' || client?.idTokenClaims === 'scopes') return account.claims;
          const { tid, oid: linked } = account.claims;
          return { sub: oid, tid, oid: linked };
        },
      };
    },
    interactions: { url: () => '/sign-in' },
    issueRefreshToken: (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }, { scopes }: { scopes: Set<string> }) =>
      client.grantTypeAllowed('refresh_token') && scopes.has('offline_access'),
    jwks: { keys: structuredClone(keys) },
    pairwiseIdentifier: (_ctx: unknown, oid: string, { sectorIdentifier }: { sectorIdentifier: string }) =>
      pseudonym(subjectSalt, sectorIdentifier, oid),
    pkce: {
      required: (_ctx: unknown, client: { clientId: string; clientAuthMethod: string }) =>
        client.clientAuthMethod === 'none' || clients.get(client.clientId)?.requirePkce === true,
    },
    responseTypes: ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'],
    rotateRefreshToken: true,
    routes: {
      authorization: '/connect/authorize',
      pushed_authorization_request: '/connect/par',
      token: '/connect/token',
      introspection: '/connect/introspect',
      revocation: '/connect/revocation',
      userinfo: '/connect/userinfo',
      jwks: '/.well-known/openid-configuration/jwks',
    },
    scopes: [...Object.keys(claimsByScope), 'offline_access', ...apiScopes],
    subjectTypes: ['public', 'pairwise'],
    ttl: lifetimesOf(clients),
  } as unknown as Configuration;

  const provider = new Provider(issuer, configuration);
  let caller: string | undefined;
  provider.use(async (ctx, next) => {
    caller = undefined;
    await next();
    caller = ctx.oidc?.client?.clientId;
  });
  return {
    callback: provider.callback(),
    caller: () => caller,
    isStopped: ({ sub, client_id: id }) => accountOf(`${sub}`, clients.get(`${id}`)) === undefined,
  };
}

/** Returns the adapter of a model. Its records have the form in which oidc-provider wrote them through our adapter. */
const recordsOf = (model: string, artifacts: Pick<ArtifactStore, 'read'>): Adapter => ({
  ...noRecords,
  async find(id) {
    const key = keyOf(model, id);
    const found = key && (await artifacts.read([{ key }])).get(key);
    if (!found) return undefined;
    const spent = found.consumedAt === undefined ? {} : { consumed: Math.floor(found.consumedAt / 1000) };
    return {
      ...(await membersOf(model, found, artifacts)),
      ...spent,
      kind: model,
      jti: id,
      exp: Math.floor(found.expiresAt / 1000),
    } as AdapterPayload;
  },
});

/** Returns the members of an artifact. A spent refresh token has few members; its successor has the others. */
async function membersOf(model: string, artifact: Artifact, artifacts: Pick<ArtifactStore, 'read'>): Promise<object> {
  const { consumedAt, links } = artifact;
  const key = consumedAt === undefined ? undefined : links?.successor;
  const next = key && (await artifacts.read([{ key }])).get(key);
  return { ...(next && (await membersOf(model, next, artifacts))), ...(recordIn(model, artifact) as object) };
}

const noRecords: Adapter = {
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  upsert: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

async function byId<R extends { readonly id: string }>(directory: BareProviderOptions['directory'], name: string): Promise<Map<string, R>> {
  const rows = await directory.collection<never>(name).find({}, { limit: 1000 });
  return new Map((rows as unknown as R[]).map((row) => [row.id, row]));
}

const clientsOf = (clients: ReadonlyMap<string, Client>, secrets: ReadonlyMap<string, string>): object[] =>
  [...clients.values()]
    .filter(({ status }) => status === 'active')
    .map(({ id, name, metadata, allowedScopes }) => ({
      grant_types: ['authorization_code'],
      // This is the service's default for a client without the member.
      response_types: metadata.redirect_uris === undefined ? [] : ['code'],
      ...structuredClone(metadata),
      client_id: id,
      client_name: name,
      client_secret: secrets.get(id),
      backchannel_logout_session_required: true,
      scope: [...allowedScopes, 'offline_access'].join(' '),
    }));

const apiClientsOf = (resources: ReadonlyMap<string, ApiResource>, secrets: ReadonlyMap<string, string>): object[] =>
  [...resources.values()].map(({ id, name }) => ({
    client_id: id,
    client_name: name,
    client_secret: secrets.get(id),
    grant_types: [],
    response_types: [],
    redirect_uris: [],
  }));

/** Returns lifetimes in seconds: the client's, or the defaults of the service. */
function lifetimesOf(clients: ReadonlyMap<string, Client>) {
  const own = (client: { clientId: string }) => clients.get(client.clientId)?.lifetimes ?? {};
  type Ttl = (ctx: { oidc: { entities: { Grant?: { exp: number } } } }, token: { iiat?: number }, client: { clientId: string }) => number;
  const withinGrant = (ttl: number, { oidc }: Parameters<Ttl>[0]) => Math.min(ttl, (oidc.entities.Grant?.exp ?? Infinity) - epochSeconds());
  const AccessToken: Ttl = (ctx, _token, client) => withinGrant(own(client).accessToken ?? 3600, ctx);
  const RefreshToken: Ttl = (ctx, { iiat = epochSeconds() }, client) => {
    const { refreshTokenIdle = 15 * 86_400, refreshTokenAbsolute = 30 * 86_400 } = own(client);
    return withinGrant(Math.min(refreshTokenIdle, iiat + refreshTokenAbsolute - epochSeconds()), ctx);
  };
  const IdToken: Ttl = (_ctx, _token, client) => own(client).idToken ?? 300;
  return { AccessToken, ClientCredentials: AccessToken, RefreshToken, IdToken, AuthorizationCode: 60 };
}

/** @see OpenID Connect Core §8.1 */
const sectorOf = ({ redirect_uris: [uri = ''] = [] }: { redirect_uris?: readonly string[] }): string => new URL(uri).host;

/** Returns the identifier of a user for a pairwise client. */
function pseudonym(salt: string, sector: string, oid: string): string {
  const key = Buffer.from(hkdfSync('sha256', salt, '', `pairwise ${sector}`, 32));
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(Buffer.from(oid.replaceAll('-', ''), 'hex')), cipher.final()]).toString('base64url');
}

/** Reads the accounts. Returns a function that returns the claims of an account, or undefined if the account may not be used. */
async function readAccounts(directory: BareProviderOptions['directory'], salt: string) {
  const persons = [...(await byId<Person>(directory, 'persons')).values()];
  const tenants = await byId<Tenant>(directory, 'tenants');
  const groups = await byId<Group>(directory, 'groups');
  const accounts = new Map(persons.flatMap((person) => (person.user ? [[person.user.id, { ...person, user: person.user }] as const] : [])));

  return (oid: string, client: Client | undefined) => {
    const person = accounts.get(oid);
    const tenant = person && tenants.get(person.tid);
    if (!person || !tenant || person.user.status !== 'active' || person.user.notBefore) return undefined;
    if (!(client?.allowedTenants?.includes(tenant.id) ?? true)) return undefined;
    const { user, givenName, familyName } = person;
    const family = [...accounts.values()].filter((each) => each.user.parentUserId === (user.parentUserId ?? user.id));
    const of = user.groupIds.flatMap((id) => groups.get(id) ?? []);
    const isPairwise = client?.metadata.subject_type === 'pairwise';
    const told = (id: string) => (isPairwise ? pseudonym(salt, sectorOf(client.metadata), id) : id);
    const claims = {
      sub: user.parentUserId ?? user.id,
      tid: tenant.id,
      oid: family.length > 0 ? told(user.id) : undefined,
      family_name: familyName,
      given_name: givenName,
      name: `${givenName} ${familyName}`,
      preferred_username: user.userName,
      picture: person.pictureUrl ?? `${givenName}`.charAt(0) + `${familyName}`.charAt(0),
      email: person.email,
      email_verified: user.emailVerified,
      secondary_emails:
        family.length > 0 ? family.map((each) => ({ email: each.email, email_verified: each.user.emailVerified })) : undefined,
      phone_number: person.phoneNumber,
      phone_number_verified: person.phoneNumber !== undefined && person.phoneNumberVerified,
      orgid: tenant.id,
      orgin: tenant.organisationNumber,
      company_name: tenant.name,
      may_login:
        family.length > 0
          ? family.map((each) => ({ oid: told(each.user.id), tid: each.tid, companyname: tenants.get(each.tid)?.name }))
          : undefined,
      role: of.map(({ name }) => name).sort(),
      perm: of.flatMap(({ permissionIds }) => permissionIds).sort(),
    };
    return { claims };
  };
}
