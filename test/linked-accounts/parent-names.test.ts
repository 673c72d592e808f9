/**
 * Service specification 4.12, `link=true`: a user signs in at an organisation with the name of the personal account too, if the account of
 * the organisation is linked to it.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { captureMail, personalTenant } from '../support/administration/invitations.js';
import { Agent, signIn } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, mailTo } from '../support/sign-in/passwords.js';
import { countedStores } from '../support/stores/counted-stores.js';
import { AGAIN, familySeed, useFamilies } from './families.js';

const stores = countedStores();
const captured = captureMail();
const service = useIdp({
  artifacts: stores.artifacts,
  directory: stores.directory,
  mail: captured.mail,
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
const narrowed: readonly [string, Record<string, string>][] = [
  ['the client', { client_id: 'of-acme' }],
  ['tenant:', { acr_values: 'tenant:ACME' }],
];

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

  test('R-8: a browser that signed in to the parent goes on past the limits of others', async () => {
    const from = { 'x-forwarded-for': '10.9.9.9' };
    const { name, parent, child, password } = await family();
    const me = new Agent(from);
    expect(await signedInAs(url(), name, password, me)).toBe(parent);
    for (let failures = 0; failures < 12; failures += 1) await signedInAs(of(), name, 'wrong', new Agent(from));
    const refused = await signIn(new Agent(from), of(), name, password);
    expect(refused.status).toBe(429);
    for (const cookie of [...me.cookies.keys()].filter((key) => key.includes('session'))) me.cookies.delete(cookie);
    expect(await signedInAs(of(), name, password, me)).toBe(child);
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
  test('of a parent, of nobody, of two parents: the same page, one hash, and the same look-ups', async () => {
    const known = await family();
    const nobody = await wrong('nobody-1@home.test', stores);
    expect(nobody.hashes).toBe(1);
    expect(await wrong(known.name, stores)).toEqual(nobody);
    await link(acme, await user(acme, `third-${known.own}`), await user(globex, known.name), globex);
    const { calls: _, ...ambiguous } = await wrong(known.name, stores);
    expect(nobody).toMatchObject(ambiguous);
  });
});
