/** Threat G8: a second factor of the operator, of late, where the tenant of the user asks for one. */
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
  const { agent, page } = await support.chooser('olga@acme.test');
  const asked = await support.choose(agent, page, 'bob@globex.test');
  expect(textOf(asked)).toContain('Globex asks for a second factor');
  // A crafted form begins nothing either.
  expect(textOf(await agent.submit(asked, { step: 'start', reason: 'crafted' }))).toContain('Globex asks for a second factor');
  const login = await agent.follow(await agent.submit(asked, { step: 'again' }));
  expect(isSignInPage(login)).toBe(true);
  const { response: why, secret } = await enrolOn(agent, await signIn(agent, login.url, 'olga@acme.test', 'olga'));
  expect(textOf(why)).toContain('Act as Bob Brown');
  const response = await agent.follow(await agent.submit(why, { step: 'start', reason: 'With a factor' }));
  const { amr, act } = decodeJwt((await support.redeem(response)).id_token);
  expect([amr, act]).toEqual([['pwd', 'mfa', 'imp'], expect.objectContaining({ oid: expect.any(String) })]);
  await support.end(agent);
  try {
    passTime(1000);
    const later = await support.choose(agent, (await support.chooser('olga@acme.test', {}, agent)).page, 'bob@globex.test');
    expect(textOf(later)).toContain('Globex asks for a second factor');
    const again = await agent.follow(await agent.submit(later, { step: 'again' }));
    const challenge = await signIn(agent, again.url, 'olga@acme.test', 'olga');
    expect(textOf(await submit(agent, challenge, { code: codeOf(secret) }))).toContain('Act as Bob Brown');
  } finally {
    backToPresent();
  }
});
