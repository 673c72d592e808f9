/** F2: the end of all sign-ins of a user, on a node whose time is behind the time by which the user signed in. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { Agent, authorizeUrl, createPkce, obtainTokens } from '../support/client/agent.js';
import { refresh, responseOf } from '../support/client/steps.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { clockedArtifacts } from '../support/time/clocked-artifacts.js';

const started: TestIdp[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

/** Returns a store whose first comparison of clocks is too slow to count. */
const slowAtFirst = (store: ArtifactStore): ArtifactStore => {
  let comparisons = 0;
  const { time } = store;
  return {
    ...store,
    async time() {
      comparisons += 1;
      if (comparisons === 1) await sleep(2_000);
      return (await time?.()) ?? Number.NaN;
    },
  };
};

const silently = async ({ issuer }: TestIdp, agent: Agent): Promise<string> => {
  const { challenge } = createPkce();
  const answer = responseOf(
    await agent.get(authorizeUrl(issuer, { prompt: 'none', code_challenge: challenge, code_challenge_method: 'S256' })),
  );
  return answer.get('error') ?? (answer.has('code') ? 'code' : 'nothing');
};

test.each<readonly [string, number, (store: ArtifactStore) => ArtifactStore]>([
  [
    'whose clock is 12 s behind, and whose first comparison took too long',
    -12_000,
    (store) => slowAtFirst(clockedArtifacts(store, -12_000)),
  ],
  ['that started after the clock of the store was set back by 12 s', 0, (store) => clockedArtifacts(store, 12_000)],
])('a sign-out everywhere ends all sign-ins on a node %s', async (_, ahead, othersView) => {
  const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
  const options = { directory, keys: { encryption: ['e'.repeat(40)] }, cookies: { keys: ['c'.repeat(40)] } };
  const here = await startIdp({ ...options, artifacts: clockedArtifacts(artifacts, ahead) });
  started.push(here);
  const agent = new Agent();
  const { tokens } = await obtainTokens(here.issuer, { agent, scope: 'openid offline_access' });
  expect(await silently(here, agent)).toBe('code');

  const there = await startIdp({ ...options, artifacts: othersView(artifacts) });
  started.push(there);
  const tid = (await there.idp.directory.tenants.find()).find(({ name }) => name === 'Acme')?.id ?? '';
  const persons = await there.idp.tenant(tid).persons.find({ limit: 50 });
  const user = persons.find((person) => person.user?.userName === 'alice@acme.test')?.user;
  await there.idp.tenant(tid).users.signOutEverywhere(user?.id ?? '');

  expect(await silently(here, agent)).toBe('login_required');
  expect(await refresh(here.issuer, tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
});
