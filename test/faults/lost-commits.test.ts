/** J2: a commit succeeds and its answer is lost. The client that was asked to retry can retry, and nothing is used twice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactStore, ArtifactWrite } from '../../lib/store/artifact-store.js';
import { Agent, createPkce, type Json, postForm } from '../support/client/agent.js';
import { authorizationOf, isActive, obtainCode, redeem, refresh, responseOf } from '../support/client/steps.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const offline = { scope: 'openid offline_access' };
const away = { status: 503, json: { error: 'temporarily_unavailable' } };
const spends = (kind: string) => (writes: readonly ArtifactWrite[]) =>
  writes.some((write) => write.op === 'put' && write.if === 'unconsumed' && write.key.startsWith(kind));

describe('J2: the answer of a commit is lost', () => {
  const memory = memoryArtifacts();
  let loses: ((writes: readonly ArtifactWrite[]) => boolean) | undefined;
  /** Milliseconds until the commit is done: 0 means before its answer is lost. */
  let delay = 0;
  const artifacts: ArtifactStore = {
    ...memory,
    async commit(writes) {
      if (!loses?.(writes)) return memory.commit(writes);
      loses = undefined;
      if (delay === 0) await memory.commit(writes);
      else setTimeout(() => void memory.commit(writes), delay);
      throw new Error('The answer is lost.');
    },
  };
  const agent = new Agent();
  const service = useIdp({ artifacts });
  beforeAll(async () => {
    await service.idp.directory.clients.update('jwt', { lifetimes: { refreshTokenGrace: 0 } });
  });

  const soon = async <T extends { status: number }>(call: () => Promise<T>): Promise<T> => {
    for (let tries = 0; ; tries += 1) {
      const answer = await call();
      if (answer.status < 400 || tries === 20) return answer;
      await sleep(200);
    }
  };

  test.each([
    ['done before', 0],
    ['done after the caller was told', 250],
  ])('a code, %s: the next try gets its tokens, and the one after it nothing', async (_when, milliseconds) => {
    delay = milliseconds;
    const code = await obtainCode(service.issuer, agent, 'web', offline);
    loses = spends('AuthorizationCode');
    expect(await redeem(service.issuer, code)).toMatchObject(away);
    await sleep(milliseconds === 0 ? 0 : 600);
    const { status, json } = await soon(() => redeem(service.issuer, code));
    expect(status).toBe(200);
    await sleep(1000);
    expect(await redeem(service.issuer, code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await isActive(service.issuer, json.access_token)).toBe(true);
    await sleep(2000);
    expect(await redeem(service.issuer, code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });

  test('a refresh token without a grace: the next try works, and the family lives', async () => {
    delay = 0;
    const first: Json = (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'jwt', offline))).json;
    loses = spends('RefreshToken');
    expect(await refresh(service.issuer, first.refresh_token, 'jwt')).toMatchObject(away);
    await sleep(500);
    const second = await refresh(service.issuer, first.refresh_token, 'jwt');
    expect(second.status).toBe(200);
    expect((await refresh(service.issuer, second.json.refresh_token, 'jwt')).status).toBe(200);
  });

  test('a pushed request: the browser comes through at its next try', async () => {
    const { challenge } = createPkce();
    const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', nonce: 'n' };
    const pushed = await postForm(
      `${service.issuer}/connect/par`,
      { ...request, code_challenge: challenge, code_challenge_method: 'S256' },
      authorizationOf('web'),
    );
    loses = spends('PushedAuthorizationRequest');
    const url = `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`;
    expect(responseOf(await agent.get(url)).get('code')).toBeNull();
    await sleep(500);
    expect(responseOf(await agent.get(url)).get('code')).not.toBeNull();
    await sleep(500);
    expect(responseOf(await agent.get(url)).get('code')).toBeNull();
  });
});
