/**
 * Service specification 4.12, `link=true`: a user whose account of an organisation is linked to a personal account signs in at the organisation with the
 * name of the personal account too.
 */
import { createHook } from 'node:async_hooks';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { captureMail, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { redeem } from '../support/client/steps.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, mailTo } from '../support/sign-in/passwords.js';
import { countedStores } from '../support/stores/counted-stores.js';

let hashes = 0;
createHook({
  init(_id, type) {
    if (type === 'SCRYPTREQUEST') hashes += 1;
  },
}).enable();

const stores = countedStores();
const captured = captureMail();
const metadata = { redirect_uris: [redirectUri] };
const client = (id: string, allowedTenants: readonly string[]) => ({
  ...{ id, name: id, secret: `${id}-secret`, metadata, allowedScopes: ['openid', 'profile'], allowedTenants },
});
const service = useIdp({
  artifacts: stores.artifacts,
  directory: stores.directory,
  mail: captured.mail,
  trustProxy: true,
  limits: { signInFailuresPerAddress: 100_000 },
  seed: {
    ...testSeed,
    tenants: [...testSeed.tenants, { id: personalTenant, name: 'Personal' }],
    clients: [...testSeed.clients, client('of-acme', ['Acme']), client('of-both', ['Acme', 'Globex'])],
  } as never,
});

let acme: string;
let globex: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  globex = await tenantNamed(service.idp, 'Globex');
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
/** A personal account, and its linked account in Acme, which has another name. */
async function family(password = 'a password of the personal account') {
  count += 1;
  const [name, own] = [`home-${count}@home.test`, `work-${count}`];
  const parent = await user(personalTenant, name, password);
  const child = await user(acme, own);
  await link(acme, child, parent);
  return { name, own, parent, child, password };
}
let addresses = 0;
/** A browser at an address of its own. */
const browser = () => {
  addresses += 1;
  return new Agent({ 'x-forwarded-for': `10.1.${addresses >> 8}.${addresses & 255}` });
};
const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const narrowed: readonly [string, Record<string, string>][] = [
  ['the client', { client_id: 'of-acme' }],
  ['tenant:', { acr_values: 'tenant:ACME' }],
];
const asked = ({ acr_values: acr, ...more }: Record<string, string>) => url({ ...more, ...(acr && { acr_values: `tenant:${acme}` }) });
/** The user id that the sign-in is for; the title of the page that the browser ends at. */
async function signedInAs(at: string, name: string, password: string, agent = browser()): Promise<string> {
  const answer = await signIn(agent, at, name, password);
  const code = new URL(answer.location ?? service.issuer).searchParams.get('code');
  if (code === null) return answer.status === 400 ? AGAIN : titleOf(answer);
  const client = new URL(at).searchParams.get('client_id') ?? 'web';
  const { json } = await redeem(service.issuer, { client, code, verifier: pkce.verifier });
  const { oid, sub } = decodeJwt(String(json.id_token));
  return String(oid ?? sub);
}
/** The page that asks for the password again. */
const AGAIN = 'again';

describe('4.12 link=true: the name of the personal account signs in at the organisation', () => {
  test.each(narrowed)('where %s narrows to it', async (_, parameters) => {
    const { name, own, child, password } = await family();
    expect(await signedInAs(asked(parameters), name, password)).toBe(child);
    expect(await signedInAs(asked(parameters), own, password)).toBe(child);
    expect(await signedInAs(asked(parameters), name.toUpperCase(), password)).toBe(child);
  });

  test('elsewhere it means the personal account, as before', async () => {
    const { name, parent, password } = await family();
    expect(await signedInAs(url(), name, password)).toBe(parent);
    expect(await signedInAs(url({ acr_values: `tenant:${globex}` }), name, password)).toBe(AGAIN);
  });
});

describe('who has the name in the organisation', () => {
  const of = () => asked({ client_id: 'of-acme' });

  test('an account of the tenant itself by that name wins, active or not', async () => {
    const { name, own, child, password } = await family();
    const namesake = await user(acme, name, 'a password of the namesake');
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    expect(await signedInAs(of(), name, 'a password of the namesake')).toBe(namesake);
    await service.idp.tenant(acme).users.disable(namesake);
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    expect(await signedInAs(of(), own, password)).toBe(child);
  });

  test('a name that parents of two linked accounts have means neither', async () => {
    const { name, own, child, password } = await family();
    const other = await user(globex, name, 'a password of the other parent');
    expect(await signedInAs(of(), name, password)).toBe(child);
    await link(acme, await user(acme, `other-${own}`), other, globex);
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    expect(await signedInAs(of(), name, 'a password of the other parent')).toBe(AGAIN);
    expect(await signedInAs(of(), own, password)).toBe(child);
  });

  test('where the request is for several organisations, each has its account; one with the name itself comes alone', async () => {
    const { name, parent, child, password } = await family();
    const both = () => asked({ client_id: 'of-both' });
    expect(await signedInAs(both(), name, password)).toBe(child);
    const second = await user(globex, `second-${name}`);
    await link(globex, second, parent);
    expect(await signedInAs(both(), name, password)).toBe('Choose an organisation');
    await service.idp.tenant(globex).users.update(second, { userName: name });
    expect(await signedInAs(both(), name, password)).toBe(second);
  });

  test('a link that is undone, and a parent that is disabled, end it; the name of a linked account means no other one', async () => {
    const { name, own, parent, child, password } = await family();
    const sibling = await user(globex, `sibling-${own}`);
    await link(globex, sibling, parent);
    expect(await signedInAs(of(), `sibling-${own}`, password)).toBe(AGAIN);
    await service.idp.tenant(personalTenant).users.disable(parent);
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    await service.idp.tenant(personalTenant).users.enable(parent);
    expect(await signedInAs(of(), name, password)).toBe(child);
    await service.idp.tenant(acme).linking.unlink(child, parent);
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
  });

  test('a forgotten password is sent to the parent, whose password it is', async () => {
    const { name } = await family();
    await forget(service.issuer, name, browser(), { client_id: 'of-acme' });
    expect((await mailTo(captured, name, 'password-reset')).to).toBe(name);
  });
});

describe('G2: the name tells nothing', () => {
  /** What a wrong password is answered with, without the name and what changes each time; what it costs. */
  async function wrong(name: string) {
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

  test('of a parent, of nobody, of two parents: the same page, one hash, and the same look-ups', async () => {
    const known = await family();
    const nobody = await wrong('nobody-1@home.test');
    expect(nobody.hashes).toBe(1);
    expect(await wrong(known.name)).toEqual(nobody);
    await link(acme, await user(acme, `third-${known.own}`), await user(globex, known.name), globex);
    const { calls: _, ...ambiguous } = await wrong(known.name);
    expect(nobody).toMatchObject(ambiguous);
  });
});
