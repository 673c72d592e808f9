/**
 * A stranger registers the name of another user's personal account. The service sends no mail, so nobody proves the address of a registered
 * account.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { personalTenant } from '../support/administration/invitations.js';
import { useIdp } from '../support/service/use-idp.js';
import { countedStores } from '../support/stores/counted-stores.js';
import { AGAIN, familySeed, useFamilies } from './families.js';

const stores = countedStores();
const service = useIdp({
  artifacts: stores.artifacts,
  directory: stores.directory,
  trustProxy: true,
  limits: { signInFailuresPerAddress: 100_000 },
  seed: familySeed,
});
const { tenants, user, link, family, browser, url, asked, signedInAs, wrong } = useFamilies(service);
let acme: string;
let globex: string;
beforeAll(() => {
  ({ acme, globex } = tenants);
});
const of = () => asked({ client_id: 'of-acme' });

describe('R-3: a self-made account, which anybody can make under the name of somebody else', () => {
  /** Registers an account as a stranger. Nobody has proved its address. Returns the id of its user. */
  async function registered(tid: string, name: string, password: string): Promise<string> {
    await service.idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
    const agent = browser();
    const page = await agent.follow(await agent.get(url({ prompt: 'create', acr_values: `tenant:${tid}` })));
    await agent.follow(await agent.submit(page, { givenName: 'Sly', familyName: 'Stranger', email: name, password }));
    const [account] = await service.idp.directory.accounts.candidates(name, { tids: [tid] });
    expect(account?.person.user).toMatchObject({ isSelfRegistered: true, emailVerified: false });
    return account?.person.user.id as string;
  }
  const stranger = 'a password of the stranger';

  test('of the tenant does not win over the linked account, until its address is proven', async () => {
    const { name, child, password } = await family();
    const own = await registered(acme, name, stranger);
    expect(await signedInAs(of(), name, password)).toBe(child);
    expect(await signedInAs(of(), name, stranger)).toBe(AGAIN);
    await service.idp.tenant(acme).users.update(own, { emailVerified: true });
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    expect(await signedInAs(of(), name, stranger)).toBe(own);
  });

  test('of the tenant wins over a linked account whose parent is self-made too', async () => {
    const { name } = await family();
    const fresh = `fresh-${name}`;
    const parent = await registered(globex, fresh, stranger);
    const own = await registered(acme, fresh, 'a password of the user');
    await link(acme, await user(acme, `work-${fresh}`), parent, globex);
    expect(await signedInAs(of(), fresh, stranger)).toBe(AGAIN);
    expect(await signedInAs(of(), fresh, 'a password of the user')).toBe(own);
  });

  test('that is the parent of another linked account does not count against a better parent', async () => {
    const { name, own, parent, child, password } = await family();
    const other = await registered(globex, name, stranger);
    const theirs = await user(acme, `other-${own}`);
    await link(acme, theirs, other, globex);
    expect(await signedInAs(of(), name, password)).toBe(child);
    expect(await signedInAs(of(), name, stranger)).toBe(AGAIN);
    await service.idp.tenant(globex).users.update(other, { emailVerified: true });
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    expect(await signedInAs(of(), name, stranger)).toBe(theirs);
    await service.idp.tenant(personalTenant).users.update(parent, { emailVerified: true });
    expect(await signedInAs(of(), name, password)).toBe(AGAIN);
    expect(await signedInAs(of(), name, stranger)).toBe(AGAIN);
  });

  test('R-3: costs the same as a name that nobody has', async () => {
    const { name } = await family();
    await registered(acme, name, stranger);
    const nobody = await wrong('nobody-2@home.test', stores);
    expect(nobody.hashes).toBe(1);
    const { calls: _, ...linked } = await wrong(name, stores);
    expect(nobody).toMatchObject(linked);
  });
});
