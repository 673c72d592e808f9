/** Threat G8: a recent second factor of the operator, if the tenant of the user requires one. */
import { beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { signIn } from '../support/client/agent.js';
import { isSignInPage } from '../support/client/authorization-response.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, enrolOn, submit } from '../support/sign-in/factors.js';
import { impersonatingAt, operatorOptions, textOf } from '../support/sign-in/impersonating.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const service = useIdp(operatorOptions);
let support: ReturnType<typeof impersonatingAt>;
beforeAll(async () => {
  support = impersonatingAt(service);
  const { tenants } = service.idp.directory;
  const globex = (await tenants.find()).find(({ name }) => name === 'Globex');
  await tenants.update(globex?.id ?? '', { signIn: { requireMfa: true } });
});

test('the operator signs in again with one, for the same person, and amr says so', async () => {
  const { agent, page: accounts } = await support.chooser('olga@acme.test');
  // Olga is an operator by an account of Globex. Globex requires a second factor before it shows its users.
  const globex = /name="choice" value="([^"]+)"/.exec(accounts.body)?.[1] ?? '';
  const asked = await agent.follow(await agent.submit(accounts, { choice: globex }));
  const { response: list, secret } = await enrolOn(agent, asked);
  // The enrolment of the first factor ends sign-ins that began in the same second.
  passTime(2);
  const why = await support.choose(agent, list, 'bob@globex.test');
  expect(textOf(why)).toContain('Act as Bob Brown');
  const response = await agent.follow(await agent.submit(why, { step: 'start', reason: 'With a factor' }));
  const { amr, act } = decodeJwt((await support.redeem(response)).id_token);
  expect([amr, act]).toEqual([['pwd', 'mfa', 'imp'], expect.objectContaining({ oid: expect.any(String) })]);
  await support.end(agent);
  try {
    passTime(1000);
    const later = await support.choose(agent, (await support.chooser('olga@acme.test', {}, agent)).page, 'bob@globex.test');
    expect(textOf(later)).toContain('Globex asks for a second factor');
    // A crafted form starts nothing either.
    expect(textOf(await agent.submit(later, { step: 'start', reason: 'crafted' }))).toContain('Globex asks for a second factor');
    const again = await agent.follow(await agent.submit(later, { step: 'again' }));
    expect(isSignInPage(again)).toBe(true);
    const challenge = await signIn(agent, again.url, 'olga@acme.test', 'olga');
    expect(textOf(await submit(agent, challenge, { code: codeOf(secret) }))).toContain('Act as Bob Brown');
  } finally {
    backToPresent();
  }
});
