/** Linked accounts: a personal account, its linked account in an organisation, and sign-ins to both by a name. */
import { createHook } from 'node:async_hooks';
import { beforeAll } from '@jest/globals';
import { decodeJwt } from 'jose';
import { personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { redeem } from '../support/client/steps.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import type { IdpInUse } from '../support/service/use-idp.js';
import type { countedStores } from '../support/stores/counted-stores.js';

let hashes = 0;
createHook({
  init(_id, type) {
    if (type === 'SCRYPTREQUEST') hashes += 1;
  },
}).enable();

const client = (id: string, allowedTenants: readonly string[]) => ({
  ...{ id, name: id, secret: `${id}-secret`, metadata: { redirect_uris: [redirectUri] } },
  ...{ allowedScopes: ['openid', 'profile'], allowedTenants },
});
export const familySeed = {
  ...testSeed,
  tenants: [...testSeed.tenants, { id: personalTenant, name: 'Personal' }],
  clients: [...testSeed.clients, client('of-acme', ['Acme']), client('of-both', ['Acme', 'Globex'])],
} as never;

/** Stands for the page that asks for the password again. */
export const AGAIN = 'again';

export function useFamilies(service: IdpInUse) {
  const tenants = { acme: '', globex: '' };
  beforeAll(async () => {
    tenants.acme = await tenantNamed(service.idp, 'Acme');
    tenants.globex = await tenantNamed(service.idp, 'Globex');
  });

  async function user(tid: string, userName: string, password?: string): Promise<string> {
    const { persons, credentials } = service.idp.tenant(tid);
    const email = userName.includes('@') ? userName : `${userName}@mail.test`;
    const person = await persons.create({ givenName: 'Gina', familyName: 'Guest', email, user: { userName, status: 'active' } });
    const id = person.user?.id as string;
    if (password !== undefined) await credentials.setPassword(id, password);
    return id;
  }
  const link = (tid: string, child: string, parent: string, parentTid = personalTenant) =>
    service.idp.tenant(tid).linking.link(child, { tid: parentTid, userId: parent });

  let count = 0;
  /** Creates a personal account, and its linked account in Acme, which has another name. */
  async function family(password = 'a password of the personal account') {
    count += 1;
    const [name, own] = [`home-${count}@home.test`, `work-${count}`];
    const parent = await user(personalTenant, name, password);
    const child = await user(tenants.acme, own);
    await link(tenants.acme, child, parent);
    return { name, own, parent, child, password };
  }
  let addresses = 0;
  /** Returns a browser at an address of its own. */
  const browser = () => {
    addresses += 1;
    return new Agent({ 'x-forwarded-for': `10.1.${addresses >> 8}.${addresses & 255}` });
  };
  const pkce = createPkce();
  const url = (parameters: Record<string, string> = {}) =>
    authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
  const asked = ({ acr_values: acr, ...more }: Record<string, string>) =>
    url({ ...more, ...(acr && { acr_values: `tenant:${tenants.acme}` }) });
  /** Signs in. Returns the id of the signed-in user; without a sign-in, `AGAIN` or the title of the page that is shown. */
  async function signedInAs(at: string, name: string, password: string, agent = browser()): Promise<string> {
    const answer = await signIn(agent, at, name, password);
    const code = new URL(answer.location ?? service.issuer).searchParams.get('code');
    if (code === null) return answer.status === 400 ? AGAIN : titleOf(answer);
    const client = new URL(at).searchParams.get('client_id') ?? 'web';
    const { json } = await redeem(service.issuer, { client, code, verifier: pkce.verifier });
    const { oid, sub } = decodeJwt(String(json.id_token));
    return String(oid ?? sub);
  }
  /** Returns the answer to a wrong password, without the name and parts that change each time, and the number of hashes. */
  async function wrong(name: string, stores: ReturnType<typeof countedStores>) {
    const agent = browser();
    const page = await agent.submit(await agent.follow(await agent.get(asked({ client_id: 'of-acme' }))), { identifier: name });
    const before = hashes;
    const { asked: calls, answer } = await stores.during(() => agent.submit(page, { password: 'wrong' }));
    const masked = answer.body
      .replaceAll(/<div class="account">.*?<\/bdi>/g, '')
      .replaceAll(/value="[^"]*"/g, '')
      .replaceAll(/interaction\/[\w-]+/g, '');
    return { status: answer.status, masked, hashes: hashes - before, calls: [...calls].sort() };
  }

  return { tenants, user, link, family, browser, url, asked, signedInAs, wrong };
}
