/** Issue 14: single sign-on with requirements on costs no more round trips to a store than without. */
import { beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol } from '../support/sign-in/factors.js';
import { countedStores } from '../support/stores/counted-stores.js';

const stores = countedStores();
const [acme, globex] = testSeed.tenants;
const service = useIdp({
  artifacts: stores.artifacts,
  directory: stores.directory,
  seed: { ...testSeed, tenants: [{ ...acme, signIn: { requireMfa: true } }, globex] } as never,
});
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });

const withFactor = new Agent();
const withPassword = new Agent();
beforeAll(async () => {
  await enrol(withFactor, url(), 'alice@acme.test', 'alice');
  expect(membersOf(await signIn(withPassword, url(), 'bob@globex.test', 'bob'))).toHaveProperty('code');
});

/** Returns the calls of a silent authorization to the stores, after everything that can be cached is cached. */
async function askedOf(agent: Agent, parameters: Record<string, string> = {}): Promise<readonly string[]> {
  const respond = () => agent.get(url({ prompt: 'none', ...parameters }));
  await respond();
  const rounds: (readonly string[])[] = [];
  for (let round = 0; round < 5; round += 1) {
    const { asked, answer } = await stores.during(respond);
    expect(membersOf(answer)).toHaveProperty('code');
    rounds.push([...asked].sort());
  }
  // Background jobs sometimes call the stores too.
  return rounds.reduce((least, round) => (round.length < least.length ? round : least));
}

test('a tenant that requires a second factor, and a request that asks for one, cost what a password alone costs', async () => {
  const byPassword = await askedOf(withPassword);
  // An empty list would mean that nothing is counted.
  expect(byPassword).toContain('artifacts.commit');
  expect(await askedOf(withFactor)).toEqual(byPassword);
  expect(await askedOf(withFactor, { acr_values: 'mfa' })).toEqual(byPassword);
});
