/** Administrators of tenants that have no privileges at first, and a provider by which users sign in there. */
import { afterAll, beforeAll } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, titleOf } from '../client/agent.js';
import { type IdpInUse, useIdp } from '../service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../sign-in/upstream-provider.js';
import { type AdminAnswer, type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken, tenantIds } from './admin.js';

/** The privilege. `low` administers the tenants as well, and lacks it. */
const GRANTED = 'idp.exports:read';
/** A permission that `low` holds, and `lowest` does not. */
export const HELD_BY_LOW = 'idp.factors:read';
export type Writer = 'lowest' | 'low' | 'other' | 'holder' | 'root';
const scopesOf: Readonly<Record<Writer, readonly string[]>> = {
  lowest: adminScopes.filter((one) => one !== GRANTED && one !== HELD_BY_LOW),
  low: adminScopes.filter((one) => one !== GRANTED),
  other: adminScopes.filter((one) => one !== HELD_BY_LOW),
  holder: adminScopes,
  root: adminScopes,
};

export interface Target {
  readonly tid: string;
  readonly personId: string;
  readonly userId: string;
  readonly userName: string;
}

const claims = {
  userName: { claim: 'email' },
  email: { claim: 'email' },
  givenName: { claim: 'given_name' },
  familyName: { claim: 'family_name' },
};

/** @param connections ids of connections of the instance */
export function useMeans(connections: readonly string[] = [], tenants = 80) {
  const names = Array.from({ length: tenants }, (_, index) => `Plain ${index}`);
  const ids = [...connections];
  let upstream: UpstreamProvider;
  const service: IdpInUse = useIdp(async () => {
    upstream = await startUpstream();
    const connection = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, issuer: upstream.issuer, linkBySignIn: true };
    return {
      seed: {
        ...adminSeed,
        tenants: [...adminSeed.tenants, ...names.map((name) => ({ name }))],
        clients: [
          ...adminSeed.clients,
          ...(['lowest', 'low', 'other', 'holder'] as const).map((id) => adminClient(id, names, scopesOf[id])),
        ],
        extensions: { connections: connections.map((id) => ({ ...connection, id, name: id })) },
      } as never,
      limits: { adminRequestsPerMinute: 1_000_000, signInFailuresPerAddress: 100_000 },
    };
  });
  const clients = new Map<string, AdminClient>();
  let tids: Readonly<Record<string, string>> = {};
  beforeAll(async () => {
    upstream.register(service.issuer, ids);
    for (const [name, scope] of Object.entries(scopesOf))
      clients.set(name, administer(service.issuer, await adminToken(service.issuer, name, scope.join(' '))));
    tids = await tenantIds(clients.get('root') as AdminClient);
  });
  afterAll(() => upstream?.close());

  let count = 0;
  const by = (name: Writer): AdminClient => clients.get(name) as AdminClient;
  const newTenant = (): string => tids[String(names.pop())] ?? '';

  return {
    service,
    by,
    newTenant,
    upstream: () => upstream,

    async member(tid: string): Promise<Target> {
      count += 1;
      const userName = `member-${count}@plain.test`;
      const { persons } = service.idp.tenant(tid);
      const person = await persons.create({ givenName: 'M', familyName: 'M', user: { userName, status: 'active' } });
      const userId = person.user?.id ?? '';
      await service.idp.directory.credentials.seedPassword(userId, 'password');
      return { tid, personId: person.id, userId, userName };
    },

    /** A connection of the tenant that signs users in, and creates new ones. */
    async connection(tid: string, writer: Writer = 'root', more: object = {}): Promise<string> {
      const fields = { name: `Provider ${ids.length}`, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, issuer: upstream.issuer };
      const mapped = { createUsersIn: tid, requireVerifiedEmail: false, mapping: claims, linkBySignIn: true };
      const id = ok(await by(writer).post(`/tenants/${tid}/connections`, { ...fields, ...mapped, ...more })).json.id as string;
      ids.push(id);
      upstream.register(service.issuer, ids);
      return id;
    },

    /** A new group of the tenant, and the ways in which its members get the privilege. */
    async group(tid: string) {
      count += 1;
      const { groups, users } = service.idp.tenant(tid);
      const { id } = await groups.create({ name: `Group ${count}` });
      const path = `/tenants/${tid}/groups/${id}`;
      return {
        id,
        path,
        add: (userId: string) => users.addGroups(userId, { ids: [id] }),
        /** In the admin API. */
        grant: (more: object = {}) => by('root').patch(path, { permissionIds: [GRANTED], ...more }),
        /** As host code does, which nobody asks. */
        give: () => groups.update(id, { permissionIds: [GRANTED] }),
      };
    },

    /** Signs in at the provider, and comes back with the answer. */
    async signIn(idp: string, subject: string, agent = new Agent(), more: object = {}): Promise<Answer> {
      const email = `${subject.replaceAll(/\W/g, '-')}@people.test`;
      upstream.person = { sub: subject, email, given_name: 'New', family_name: 'Comer', ...more };
      const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
      const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, acr_values: `idp:${idp}` })));
      return agent.follow(await agent.get(await atUpstream(upstream, begun)));
    },
  };
}

export const isIn = (answer: Answer): boolean => answer.location?.includes('code=') === true;
/** What the browser sees: the code, or the page. */
export const outcome = (answer: Answer): string => (isIn(answer) ? 'in' : titleOf(answer));

export function ok(answer: AdminAnswer): AdminAnswer {
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}
