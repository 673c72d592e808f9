/**
 * Tenants in which a target is near a privilege, and two callers for each: a client of these tenants, and a person of the tenant. Both hold
 * all scopes of the admin API there, and no permission anywhere else.
 */
import { beforeAll } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { saml } from 'tenant-idp/extensions/saml';
import type { Row } from '../../../lib/store/directory-store.js';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../../support/administration/admin.js';
import { captureMail } from '../../support/administration/invitations.js';
import { obtainTokens } from '../../support/client/agent.js';
import { useIdp } from '../../support/service/use-idp.js';

/** A permission of the admin API that no caller holds. */
export const VAULT = 'idp.vault:read';

/** Places of the privilege, seen from the target, and whether a caller without the privilege may become the target. */
export const scenes = {
  nowhere: { mayBecome: true, isLinked: false },
  // The caller holds the privilege, in the same tenant.
  held: { mayBecome: true, isLinked: false },
  own: { mayBecome: false, isLinked: false },
  // The caller holds a permission of this id in its own tenant, and the child has it in another.
  child: { mayBecome: false, isLinked: false },
  // The target is a child. A sign-in as this child opens neither its parent nor another child of the parent.
  sibling: { mayBecome: true, isLinked: true },
  ownOfChild: { mayBecome: false, isLinked: true },
} as const;
export type SceneName = keyof typeof scenes;
export const sceneNames = Object.keys(scenes) as readonly SceneName[];
export const callerNames = ['client', 'person'] as const;
export type CallerName = (typeof callerNames)[number];

export interface Target {
  readonly tid: string;
  readonly personId: string;
  readonly userId: string;
  readonly email: string;
  readonly parentId: string;
  readonly isLinked: boolean;
}

const callers = { name: 'Callers', permissions: adminScopes };
const vault = { name: 'Vault', permissions: [VAULT] };
const tenantOf = (name: string, groups: readonly object[] = []) => ({
  name,
  groups: [{ name: 'Staff', permissions: ['orders.view'] }, ...groups],
  persons: [
    {
      givenName: 'Caller',
      familyName: name,
      user: {
        userName: `caller@${name}.test`,
        devPassword: 'caller',
        groups: groups.some((group) => group === callers) ? ['Callers'] : [],
      },
    },
  ],
});

const elsewhere = tenantOf('Elsewhere', [{ name: 'Admins', permissions: ['idp.users:write'] }]);

/** A person as it is stored, which a test may damage. */
export type StoredPerson = Row & Readonly<Record<string, unknown>> & { readonly user: Readonly<Record<string, unknown>> };

export function useScenes() {
  const captured = captureMail();
  const rows = memoryDirectory();
  const service = useIdp({
    directory: rows,
    seed: {
      ...adminSeed,
      permissions: [...adminSeed.permissions, { id: VAULT, name: 'Vault' }],
      tenants: [
        ...adminSeed.tenants,
        ...sceneNames.map((name) => tenantOf(name, name.startsWith('own') ? [callers, vault] : [callers])),
        tenantOf('Parents'),
        {
          ...elsewhere,
          persons: [
            {
              givenName: 'S',
              familyName: 'S',
              user: { userName: 'seeded', groups: ['Admins'], linkedTo: { userName: 'caller@Parents.test', tenant: 'Parents' } },
            },
          ],
        },
      ],
      // The client administers the tenant of the parents too, so that it may end links.
      clients: [...adminSeed.clients, adminClient('client', [...sceneNames, 'Parents'])],
    } as never,
    // SAML signing keys belong to the instance, and their operations are in a scope that no caller has.
    extensions: [saml()],
    mail: captured.mail,
    limits: { adminRequestsPerMinute: 1_000_000, signInFailuresPerAddress: 100_000 },
  });
  let tids: Readonly<Record<string, string>>;
  let root: AdminClient;
  const clients = new Map<string, AdminClient>();
  beforeAll(async () => {
    root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    tids = await tenantIds(root);
    const client = administer(service.issuer, await adminToken(service.issuer, 'client'));
    for (const name of sceneNames) {
      clients.set(`client ${name}`, client);
      const { tokens } = await obtainTokens(service.issuer, {
        ...{ client: 'console', secret: 'console-secret', userName: `caller@${name}.test`, password: 'caller' },
        scope: `openid ${adminScopes.join(' ')}`,
      });
      clients.set(`person ${name}`, administer(service.issuer, tokens.access_token));
    }
  });

  let count = 0;
  async function member(tid: string, group?: string, status: 'active' | 'invited' = 'active') {
    count += 1;
    const email = `member-${count}@test.test`;
    const groups = group === undefined ? {} : { groups: { names: [group] } };
    const user = { userName: email, status, ...groups };
    const made = await service.idp.tenant(tid).persons.create({ givenName: 'M', familyName: 'M', email, user });
    return { personId: made.id, userId: made.user?.id ?? '', email };
  }
  const link = (tid: string, childId: string, parent: { readonly tid: string; readonly userId: string }) =>
    service.idp.tenant(tid).linking.link(childId, parent);

  /** Creates a new target, so that no write changes what the next one finds. */
  async function target(scene: SceneName, status: 'active' | 'invited' = 'active'): Promise<Target> {
    const tid = tids[scene] ?? '';
    const { parents = '', elsewhere = '' } = { parents: tids.Parents, elsewhere: tids.Elsewhere };
    const group = { held: 'Callers', own: 'Vault', ownOfChild: 'Vault' }[scene as string];
    const made = await member(tid, group, status);
    const { isLinked } = scenes[scene];
    const parent = isLinked ? { tid: parents, ...(await member(parents)) } : undefined;
    if (parent) await link(tid, made.userId, parent);
    const other = scene === 'child' || scene === 'sibling' ? await member(elsewhere, 'Admins') : undefined;
    if (other) await link(elsewhere, other.userId, parent ?? { tid, userId: made.userId });
    return { ...made, tid, parentId: parent?.userId ?? '', isLinked };
  }

  return {
    service,
    target,
    /** Returns the persons as they are stored. */
    persons: () => rows.collection<StoredPerson>('persons'),
    /** Returns the admin client of a caller, in a scene. */
    caller: (name: CallerName, scene: SceneName): AdminClient => clients.get(`${name} ${scene}`) as AdminClient,
    get root() {
      return root;
    },
    get tids() {
      return tids;
    },
  };
}

export type Scenes = ReturnType<typeof useScenes>;
