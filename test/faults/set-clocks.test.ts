/** F2: the end of sign-ins of a user, on a node whose clock is behind the time at which the user signed in. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
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

/** Returns the user with a name, as a node knows the user. */
async function userOf({ idp }: TestIdp, userName: string) {
  for (const { id: tid } of await idp.directory.tenants.find()) {
    const { user } = (await idp.tenant(tid).persons.find({ limit: 50 })).find((person) => person.user?.userName === userName) ?? {};
    if (user) return { tid, userId: user.id };
  }
  throw new Error(`no ${userName}`);
}

describe.each<readonly [string, number, (store: ArtifactStore) => ArtifactStore]>([
  [
    'whose clock is 12 s behind, and whose first comparison took too long',
    -12_000,
    (store) => slowAtFirst(clockedArtifacts(store, -12_000)),
  ],
  ['that started after the clock of the store was set back by 12 s', 0, (store) => clockedArtifacts(store, 12_000)],
])('on a node %s', (_, ahead, othersView) => {
  const carol = 'carol@acme.test';
  /** Starts the node at which carol signs in, and the node that ends the sign-in later. */
  const startBoth = async (beforeSignIn: (here: TestIdp) => Promise<unknown> = async () => undefined) => {
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    const options = { directory, keys: { encryption: ['e'.repeat(40)] }, cookies: { keys: ['c'.repeat(40)] } };
    const here = await startIdp({ ...options, artifacts: clockedArtifacts(artifacts, ahead) });
    started.push(here);
    await beforeSignIn(here);
    const agent = new Agent();
    const { tokens } = await obtainTokens(here.issuer, { agent, userName: carol, password: 'carol', scope: 'openid offline_access' });
    expect(await silently(here, agent)).toBe('code');
    const there = await startIdp({ ...options, artifacts: othersView(artifacts) });
    started.push(there);
    return { here, there, agent, refreshed: () => refresh(here.issuer, tokens.refresh_token) };
  };
  const ended = { status: 400, json: { error: 'invalid_grant' } };

  test('a sign-out everywhere ends all sign-ins', async () => {
    const { here, there, agent, refreshed } = await startBoth();
    const { tid, userId } = await userOf(there, carol);
    await there.idp.tenant(tid).users.signOutEverywhere(userId);
    expect(await silently(here, agent)).toBe('login_required');
    expect(await refreshed()).toMatchObject(ended);
  });

  test('a sign-out of a client ends its grants, and the sign-in continues', async () => {
    const { here, there, agent, refreshed } = await startBoth();
    await there.idp.directory.consents.endClient((await userOf(there, carol)).userId, 'web');
    expect(await refreshed()).toMatchObject(ended);
    expect(await silently(here, agent)).toBe('code');
  });

  test('a new password of the parent account ends the sign-ins of a linked account, also after an earlier cut-off', async () => {
    const { here, there, agent, refreshed } = await startBoth(async (node) => {
      const { tid, userId } = await userOf(node, carol);
      await node.idp.tenant(tid).users.signOutEverywhere(userId);
    });
    const [child, parent] = [await userOf(there, carol), await userOf(there, 'bob@globex.test')];
    await there.idp.tenant(child.tid).linking.link(child.userId, parent);
    expect(await silently(here, agent)).toBe('code');
    const { passwordResets } = there.idp.directory;
    const due = await passwordResets.begin(parent.userId, { requestId: 'of a test' });
    const ref = passwordResets.read((typeof due === 'object' ? due.url : '').split('/').at(-1) ?? '');
    await passwordResets.accept(ref as NonNullable<typeof ref>, 'a new password that is long');
    expect(await silently(here, agent)).toBe('login_required');
    expect(await refreshed()).toMatchObject(ended);
  });
});
