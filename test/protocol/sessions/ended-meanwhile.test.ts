/** Design §4: a session that is ended while a page of a sign-in writes it stays ended. */
import { expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactWrite } from '../../../lib/store/artifact-store.js';
import { Agent, type Answer, authorizeUrl, createPkce, obtainTokens, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { useIdp } from '../../support/service/use-idp.js';
import { actAs } from '../../support/sign-in/impersonation.js';
import { heldCommits } from '../../support/stores/held-commits.js';
import { tabOf } from '../../support/time/rounds.js';

const { artifacts, holdNext } = heldCommits(memoryArtifacts());
const service = useIdp({ artifacts, extensions: [actAs({ lasts: 600_000 })] });

const { challenge } = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256', ...parameters });
const writesSession = (writes: readonly ArtifactWrite[]) => writes.some(({ op, key }) => op === 'put' && key.startsWith('Session'));

/** Returns the answer to a page whose write of the session waits until an administrator has ended all sessions of the user. */
async function endedDuring(userName: string, submit: () => Promise<Answer>): Promise<Answer> {
  const [account] = await service.idp.directory.accounts.candidates(userName);
  const user = { tid: account?.tenant.id ?? '', userId: account?.person.user.id ?? '' };
  const held = holdNext(writesSession);
  const submitting = submit();
  const goOn = await held;
  const ended = await Promise.all((await service.idp.sessions.list(user)).map(({ id }) => service.idp.sessions.end(user, id)));
  expect(ended).toContain(true);
  goOn();
  return submitting;
}

test('a sign-in to a linked account does not bring it back: nobody is signed in before that sign-in is complete', async () => {
  const { agent } = await obtainTokens(service.issuer);
  const page = await agent.submit(await agent.follow(await agent.get(url({ prompt: 'login' }))), { identifier: 'alice@globex.test' });
  const tab = tabOf(agent)();
  const answer = await endedDuring('alice@acme.test', () => agent.submit(page, { password: 'alice' }));
  expect(membersOf(await tab.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
  expect(membersOf(await agent.follow(answer))).toMatchObject({ code: expect.any(String) });
});

test('nobody begins to act as somebody else from it', async () => {
  const agent = new Agent();
  const page = await signIn(agent, url({ acr_values: 'impersonate' }));
  const answer = await endedDuring('alice@acme.test', () => agent.submit(page, { user: 'bob@globex.test' }));
  expect(answer.status).toBe(409);
  expect(membersOf(await agent.get(url({ prompt: 'none' })))).toMatchObject({ error: 'login_required' });
});
