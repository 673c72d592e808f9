/** Tenants without privileges at first, their administrators, and an upstream provider at which users of the tenants sign in. */
import { Agent, type Answer, authorizeUrl, createPkce, titleOf } from '../client/agent.js';
import { atUpstream } from '../sign-in/upstream-provider.js';
import { type AdminClient, adminClient } from './admin.js';
import { GRANTED, type Member, ok, scopesWithout, useAdministrators } from './administrators.js';

/** A permission that `low` holds, and `lowest` does not. */
export const HELD_BY_LOW = 'idp.factors:read';
const scopesOf = {
  lowest: scopesWithout(GRANTED, HELD_BY_LOW),
  low: scopesWithout(GRANTED),
  other: scopesWithout(HELD_BY_LOW),
  holder: scopesWithout(),
};
export type Writer = keyof typeof scopesOf | 'root';

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
  const { service, tidOf, upstream, providerFields, ...administrators } = useAdministrators({
    tenants: names.map((name) => ({ name })),
    administrators: Object.entries(scopesOf).map(([id, scopes]) => adminClient(id, names, scopes)),
    connections: connections.map((id) => ({ id, name: id, linkBySignIn: true })),
  });
  const by: (name: Writer) => AdminClient = administrators.by;
  const newTenant = (): string => tidOf(String(names.pop()));
  let count = 0;

  return {
    service,
    by,
    newTenant,
    upstream,

    member: (tid: string): Promise<Member> => administrators.member(tid, { password: 'password', hasEmail: false }),

    /** Creates a connection of the tenant that signs users in, and creates new users. */
    async connection(tid: string, writer: Writer = 'root', more: object = {}): Promise<string> {
      const fields = { ...providerFields(), name: `Provider ${ids.length}` };
      const mapped = { createUsersIn: tid, requireVerifiedEmail: false, mapping: claims, linkBySignIn: true };
      const id = ok(await by(writer).post(`/tenants/${tid}/connections`, { ...fields, ...mapped, ...more })).json.id as string;
      ids.push(id);
      upstream().register(service.issuer, ids);
      return id;
    },

    /** Creates a group of the tenant. Returns the group with functions that give the privilege to its members. */
    async group(tid: string) {
      count += 1;
      const { groups, users } = service.idp.tenant(tid);
      const { id } = await groups.create({ name: `Group ${count}` });
      const path = `/tenants/${tid}/groups/${id}`;
      return {
        id,
        path,
        add: (userId: string) => users.addGroups(userId, { ids: [id] }),
        /** Grants the privilege through the admin API. */
        grant: (more: object = {}) => by('root').patch(path, { permissionIds: [GRANTED], ...more }),
        /** Grants the privilege as host code does, without a check. */
        give: () => groups.update(id, { permissionIds: [GRANTED] }),
      };
    },

    /** Signs in at the provider, and returns the service's answer. */
    async signIn(idp: string, subject: string, agent = new Agent(), more: object = {}): Promise<Answer> {
      const email = `${subject.replaceAll(/\W/g, '-')}@people.test`;
      upstream().person = { sub: subject, email, given_name: 'New', family_name: 'Comer', ...more };
      const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
      const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...challenge, acr_values: `idp:${idp}` })));
      return agent.follow(await agent.get(await atUpstream(upstream(), begun)));
    },
  };
}

export const isIn = (answer: Answer): boolean => answer.location?.includes('code=') === true;
/** Returns the result in the browser: the code, or the title of the page. */
export const outcome = (answer: Answer): string => (isIn(answer) ? 'in' : titleOf(answer));
