/** New users of a provider whose connection is of the instance, and tenant administrators who record their identities. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AdminClient, adminClient, administer, adminSeed, adminToken, tenantIds } from '../../support/administration/admin.js';
import { captureMail } from '../../support/administration/invitations.js';
import { type Agent, type Answer, authorizeUrl, createPkce, postForm, titleOf } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { cibaClient } from '../../support/client/ciba/call-centre.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../../support/sign-in/upstream-provider.js';

export const CLAIMS = 'Is one of these accounts yours?';
export const CHOICE = 'Choose an organisation';

const seedOf = (issuer: string) => ({
  ...adminSeed,
  tenants: [...adminSeed.tenants, { name: 'Initech' }],
  clients: [
    ...adminSeed.clients,
    adminClient('initech', ['Initech']),
    adminClient('helper', ['Globex'], ['idp.users:write']),
    cibaClient('desk'),
    ...[
      ['Acme', 'Initech'],
      ['Acme', 'Globex'],
    ].map((allowedTenants) => ({
      id: allowedTenants.join('-').toLowerCase(),
      name: 'Web of two tenants',
      secret: `${allowedTenants.join('-').toLowerCase()}-secret`,
      metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code'] },
      allowedScopes: ['openid'],
      allowedTenants,
    })),
    {
      id: 'globex-web',
      name: 'Globex web',
      secret: 'globex-web-secret',
      metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code'] },
      allowedScopes: ['openid'],
      allowedTenants: ['Globex'],
    },
  ],
  extensions: {
    connections: [
      {
        id: 'inst',
        name: 'Inst',
        issuer: issuer,
        clientId: 'tenant-idp',
        clientSecret: UPSTREAM_SECRET,
        createUsersIn: 'Acme',
        linkBySignIn: true,
      },
    ],
  },
});

type Provided = ReturnType<typeof useProvider>;

function useProvider() {
  let upstream: UpstreamProvider;
  const captured = captureMail();
  const service = useIdp(async () => {
    upstream = await startUpstream();
    return { seed: seedOf(upstream.issuer) as never, limits: { adminRequestsPerMinute: 10_000 }, mail: captured.mail };
  });
  const admins: Record<string, AdminClient> = {};
  const tid: Record<string, string> = {};
  beforeAll(async () => {
    upstream.register(service.issuer, ['inst']);
    for (const name of ['root', 'acme', 'globex', 'initech'])
      admins[name] = administer(service.issuer, await adminToken(service.issuer, name));
    admins.helper = administer(service.issuer, await adminToken(service.issuer, 'helper', 'idp.users:write'));
    Object.assign(tid, await tenantIds(admins.root as AdminClient));
  });
  afterAll(() => upstream?.close());
  return { service, admins, tid, captured, upstream: () => upstream };
}

export const codeOf = ({ location }: Answer): string | null =>
  location?.startsWith(redirectUri) ? new URL(location).searchParams.get('code') : null;

/** Steps of a browser. */
function browsers({ service, tid, upstream }: Provided) {
  const pkce = createPkce();
  const url = (client: string, parameters: Record<string, string> = {}) =>
    authorizeUrl(service.issuer, { client_id: client, code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
  const open = async (agent: Agent, client = 'web', parameters: Record<string, string> = {}): Promise<Answer> =>
    agent.follow(await agent.get(url(client, parameters)));
  const back = async (agent: Agent, sent: Answer): Promise<Answer> => agent.follow(await agent.get(await atUpstream(upstream(), sent)));
  /** Signs in at the provider. */
  const by = async (agent: Agent, client = 'web', tenant?: string): Promise<Answer> =>
    back(agent, await open(agent, client, { acr_values: `idp:inst${tenant === undefined ? '' : ` tenant:${tid[tenant]}`}` }));
  const silent = async (agent: Agent, client = 'web', parameters: Record<string, string> = {}) =>
    membersOf(await open(agent, client, { prompt: 'none', ...parameters }));

  /** Returns the user whom an answer of the service signs in. */
  async function signedIn(response: Answer, client = 'web'): Promise<unknown> {
    const code = codeOf(response);
    if (code === null) return titleOf(response);
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
    const credentials = client === 'web' ? credentialsOf('web') : credentialsOf(client);
    return decodeJwt((await postForm(`${service.issuer}/connect/token`, fields, credentials)).json.id_token).sub;
  }

  const choose = async (agent: Agent, page: Answer, oid: string): Promise<Answer> => {
    const [, choice = ''] = new RegExp(`value="(${oid} [^"]+)"`).exec(page.body) ?? [];
    return agent.follow(await agent.submit(page, { choice }));
  };
  const none = async (agent: Agent, page: Answer): Promise<Answer> => back(agent, await agent.submit(page, { choice: 'none' }));

  return { open, back, by, silent, signedIn, choose, none };
}

/** Steps of administrators and of the host. */
function records({ service, admins, tid, upstream }: Provided) {
  let count = 0;
  /** Returns a new person of the provider, who has no account here. */
  function newcomer() {
    count += 1;
    const sub = `newcomer-${count}`;
    upstream().person = { sub, email: `${sub}@people.test`, email_verified: true, given_name: 'New', family_name: 'Comer' };
    return sub;
  }
  async function user(tenant: string, status: 'active' | 'invited' = 'active'): Promise<string> {
    count += 1;
    const userName = `user-${count}@${tenant}.test`;
    const { persons } = service.idp.tenant(tid[tenant] ?? '');
    const made = await persons.create({ givenName: 'U', familyName: 'U', user: { userName, status } });
    await service.idp.directory.credentials.seedPassword(made.user?.id ?? '', 'password');
    return made.user?.id ?? '';
  }
  /**
   * Records an identity for a user, as the tenant's administrator.
   * @param administrator administrator with fewer scopes. @default the administrator with all scopes
   */
  async function claimed(
    tenant: 'Acme' | 'Globex' | 'Initech',
    subject: string,
    status?: 'active' | 'invited',
    administrator = admins[tenant.toLowerCase()],
  ): Promise<string> {
    const oid = await user(tenant, status);
    const body = { externalIdentities: [{ idp: 'inst', subject }] };
    const { status: answered } = (await administrator?.patch(`/tenants/${tid[tenant]}/users/${oid}`, body)) ?? {};
    expect(answered).toBe(200);
    return oid;
  }
  const recordOf = async (tenant: string, oid: string) =>
    (await service.idp.tenant(tid[tenant] ?? '').users.require(oid)).user.externalIdentities;
  const nameOf = async (oid: string) => (await service.idp.directory.accounts.findByOid(oid))?.person.user.userName ?? '';
  const accountOf = async (subject: string, tenant: string) =>
    (await service.idp.directory.accounts.ofIdentity({ idp: 'inst', subject })).find((account) => account.tenant.id === tid[tenant])?.person
      .user.id;

  return { newcomer, user, claimed, recordOf, nameOf, accountOf };
}

export function useNewcomers() {
  const provided = useProvider();
  return { ...provided, ...browsers(provided), ...records(provided) };
}
