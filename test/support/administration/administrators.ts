/** A service with administrators that have or do not have a privilege, and an upstream provider at which users of the service sign in. */
import { afterAll, beforeAll } from '@jest/globals';
import type { TestIdpOptions } from '../service/idp.js';
import { useIdp } from '../service/use-idp.js';
import { startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../sign-in/upstream-provider.js';
import { type AdminAnswer, type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken, tenantIds } from './admin.js';

/** The privilege. */
export const GRANTED = 'idp.exports:read';
/** A group of a tenant, which gives its members the privilege. */
export const privileged = { name: 'Privileged', permissions: [GRANTED] };
/** The tenant in which users get the privilege. */
export const orgTenant = { name: 'Org', groups: [privileged] };

export const scopesWithout = (...lacking: readonly string[]): readonly string[] => adminScopes.filter((one) => !lacking.includes(one));
/** Returns administrators of these tenants: `low` without the privilege, and `holder` with the privilege. */
export const lowAndHolder = (tenants: readonly string[]) => [
  adminClient('low', tenants, scopesWithout(GRANTED)),
  adminClient('holder', tenants),
];

export interface Member {
  readonly tid: string;
  readonly personId: string;
  readonly userId: string;
  readonly userName: string;
  /** Path of the user in the admin API. */
  readonly path: string;
}

interface Setting extends Omit<TestIdpOptions, 'seed' | 'limits'> {
  /** Tenants in addition to those of the admin seed. */
  readonly tenants: readonly { readonly name: string; readonly groups?: readonly object[] }[];
  /** Administrators in addition to `root`. */
  readonly administrators: readonly ReturnType<typeof adminClient>[];
  /** Connections to the provider. */
  readonly connections: readonly { readonly id: string; readonly name: string; readonly tenant?: string; readonly linkBySignIn?: true }[];
  /** Clients of the seed, except administrators. @default clients of the admin seed */
  readonly clients?: readonly object[];
}

export function useAdministrators({ tenants, administrators, connections, clients = adminSeed.clients, ...options }: Setting) {
  let upstream: UpstreamProvider;
  /** Returns the members of a connection that make the service a client of the provider. */
  const providerFields = () => ({ clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, issuer: upstream.issuer });
  const service = useIdp(async () => {
    upstream = await startUpstream();
    return {
      ...options,
      seed: {
        ...adminSeed,
        tenants: [...adminSeed.tenants, ...tenants],
        clients: [...clients, ...administrators],
        extensions: { connections: connections.map((connection) => ({ ...providerFields(), ...connection })) },
      } as never,
      limits: { adminRequestsPerMinute: 1_000_000, signInFailuresPerAddress: 100_000 },
    };
  });
  afterAll(() => upstream?.close());

  const callers = new Map<string, AdminClient>();
  let tids: Readonly<Record<string, string>> = {};
  beforeAll(async () => {
    const ids = connections.map(({ id }) => id);
    upstream.register(service.issuer, ids);
    for (const { id, allowedScopes } of [adminClient('root', ['*']), ...administrators])
      callers.set(id, administer(service.issuer, await adminToken(service.issuer, id, allowedScopes.join(' '))));
    tids = await tenantIds(by('root'));
  });

  const by = (name: string): AdminClient => callers.get(name) as AdminClient;
  const tidOf = (tenant: string): string => tids[tenant] ?? '';
  let count = 0;

  return {
    service,
    by,
    tidOf,
    providerFields,
    upstream: (): UpstreamProvider => upstream,

    /** Creates a user, as host code does. */
    async member(tid: string, { status = 'active', password, hasEmail = true }: MemberOptions = {}): Promise<Member> {
      count += 1;
      const userName = `member-${count}@org.test`;
      const user = { userName, status };
      const { persons } = service.idp.tenant(tid);
      const made = await persons.create({ givenName: 'M', familyName: 'M', ...(hasEmail && { email: userName }), user });
      const userId = made.user?.id ?? '';
      if (password !== undefined) await service.idp.directory.credentials.seedPassword(userId, password);
      return { tid, personId: made.id, userId, userName, path: `/tenants/${tid}/users/${userId}` };
    },

    /** Records an identity of the user, and makes the provider sign in as this identity. Returns the subject of the identity. */
    async record(writer: AdminClient, { path, userId }: Pick<Member, 'path' | 'userId'>, idp: string): Promise<string> {
      const subject = subjectOf(userId);
      ok(await writer.patch(path, { externalIdentities: [{ idp, subject }] }));
      upstream.person = { sub: subject };
      return subject;
    },
  };
}

interface MemberOptions {
  readonly status?: 'active' | 'invited' | undefined;
  readonly password?: string | undefined;
  /** Whether the person has an email address, which equals the user name. */
  readonly hasEmail?: boolean;
}

/** Returns the subject of the identity that `record` writes. */
export const subjectOf = (userId: string): string => `subject of ${userId}`;

export function ok(answer: AdminAnswer): AdminAnswer {
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}
