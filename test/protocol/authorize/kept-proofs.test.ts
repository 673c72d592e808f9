/** Proofs that one page keeps for the next page: a proof is valid only as long as the credentials and the account behind it. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn } from '../../support/client/agent.js';
import { redeem, responseOf } from '../../support/client/steps.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const password = 'the same in both of the organisations';
const dave = (userName: string) => ({ givenName: 'Dave', familyName: 'Dale', user: { userName, devPassword: password } });
/** User names, one for each test. Each name exists in two organisations. */
const names = ['dave1', 'dave2', 'dave3', 'dave4', 'dave5', 'dave6', 'dave7', 'dave8'];
const service = useIdp(() => {
  const [acme, globex, ...others] = testSeed.tenants;
  const tenants = [acme, globex].map((tenant) => ({ ...tenant, persons: [...(tenant?.persons ?? []), ...names.map(dave)] }));
  return { seed: { ...testSeed, tenants: [...tenants, ...others] as typeof testSeed.tenants } };
});

afterEach(backToPresent);

const pkce = createPkce();
const url = () => authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256' });
const accountsOf = async (userName: string) => {
  const accounts = await service.idp.directory.accounts.candidates(userName);
  const of = (name: string) => accounts.find(({ tenant }) => tenant.name === name) as (typeof accounts)[number];
  return { acme: of('Acme'), globex: of('Globex') };
};
const choiceOf = ({ body }: Answer, oid: string): string => new RegExp(`name="choice" value="(${oid}[^"]*)"`).exec(body)?.[1] as string;

type Accounts = Awaited<ReturnType<typeof accountsOf>>;
const idOf = ({ person }: Accounts['acme']): string => person.user.id;
const changes: Record<string, (accounts: Accounts) => Promise<unknown>> = {
  'the password was changed': ({ acme }) =>
    service.idp.tenant(acme.tenant.id).credentials.setPassword(idOf(acme), 'another password than before'),
  'the user was signed out everywhere': ({ acme }) => service.idp.tenant(acme.tenant.id).users.signOutEverywhere(idOf(acme)),
  'the user was disabled': ({ acme }) => service.idp.tenant(acme.tenant.id).users.disable(idOf(acme)),
};

describe('M7: a proof that is used later', () => {
  test.each(Object.keys(changes).map((change, index) => [change, names[index] as string]))(
    'M7: a choice of organisation is refused once %s',
    async (change, name) => {
      const accounts = await accountsOf(name);
      const agent = new Agent();
      const page = await signIn(agent, url(), name, password);
      const [acme, globex] = [choiceOf(page, idOf(accounts.acme)), choiceOf(page, idOf(accounts.globex))];
      await changes[change]?.(accounts);
      passTime(5);
      const refused = await agent.submit(page, { choice: acme });
      expect([refused.status, refused.location]).toEqual([400, undefined]);
      expect(formOf(refused).action).toMatch(/\/identifier$/);
      // The other account is unaffected.
      const { location } = await agent.follow(await agent.submit(page, { choice: globex }));
      expect(location).toContain('code=');
    },
  );

  test.each(Object.keys(changes).map((change, index) => [change, names[3 + index] as string]))(
    'M7: a sign-in that no session has yet is none once %s',
    async (change, name) => {
      const accounts = await accountsOf(name);
      const agent = new Agent();
      const page = await signIn(agent, url(), name, password);
      const { location: resume } = await agent.submit(page, { choice: choiceOf(page, idOf(accounts.acme)) });
      await changes[change]?.(accounts);
      passTime(5);
      const resumed = await agent.follow(await agent.get(resume as string));
      expect([resumed.location, resumed.body.includes('name="identifier"')]).toEqual([undefined, true]);
      expect(responseOf(await agent.get(`${url()}&prompt=none`)).get('error')).toBe('login_required');
    },
  );

  test('M7: the time of the sign-in is that of the password, however long the choice took', async () => {
    const agent = new Agent();
    const before = epochSeconds();
    const page = await signIn(agent, url(), names[6], password);
    const after = Math.ceil(Date.now() / 1000);
    passTime(600);
    const { acme } = await accountsOf(names[6] as string);
    const { location } = await agent.follow(await agent.submit(page, { choice: choiceOf(page, idOf(acme)) }));
    const code = responseOf({ location }).get('code') as string;
    const { auth_time: time } = decodeJwt((await redeem(service.issuer, { client: 'web', code, verifier: pkce.verifier })).json.id_token);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(after);
  });

  test('M7: who signs in again right after being signed out everywhere is signed in', async () => {
    const { acme } = await accountsOf(names[7] as string);
    await service.idp.tenant(acme.tenant.id).users.signOutEverywhere(idOf(acme));
    const agent = new Agent();
    const page = await signIn(agent, url(), names[7], password);
    const { location } = await agent.follow(await agent.submit(page, { choice: choiceOf(page, idOf(acme)) }));
    expect(location).toContain('code=');
  });
});

test('M7 leaves nothing in the log', () => expectQuietLog(service));
