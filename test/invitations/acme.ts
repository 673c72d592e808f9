/** A directory with invitations, without a service around it. */
import { type TestDirectory, testDirectory } from '../support/service/test-directory.js';

export const ALICE = { givenName: 'Alice', familyName: 'Adams', email: 'alice@acme.test', user: { userName: 'alice@acme.test' } };
export const PASSWORD = 'a password that is long';

export const personalTenant = '0197a000-0000-7000-8000-00000000a001';
export const rules = { hasMail: true, personalTenant, lifetimeSeconds: 86_400, urlOf: (token: string) => `https://idp.test/${token}` };

/** Creates a tenant whose directory has invitations. */
export async function acme(options: Parameters<typeof testDirectory>[0] = {}) {
  const t = await testDirectory({ invitations: rules, ...options });
  const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
  await t.directory.tenants.create({ id: personalTenant, name: 'Personal' });
  await t.directory.clients.create({ id: 'portal', name: 'The portal' });
  return { t, tid, ...t.directory.forTenant(tid), acceptance: t.directory.acceptance };
}
export type World = Awaited<ReturnType<typeof acme>>;

export const refOf = async ({ invitations, acceptance }: World, id: string) => {
  const { url } = await invitations.link(id);
  const ref = acceptance.read(new URL(url).pathname.slice(1));
  if (!ref) throw new Error('the link is not one of ours');
  return ref;
};
export const everything = async ({ store }: TestDirectory) =>
  (await Promise.all(['persons', 'invitations', 'credentials', 'deliveries'].map((name) => store.collection(name).find({})))).flat();
export const sequence = async ({ t }: World) =>
  (await t.dispatched()).filter(({ type }) => /^(Person|User|Invitation)/.test(type)).map(({ type, data }) => [type, data]);
