/**
 * F2, F5, B6: a request that read a user before a cut-off of the user's sign-ins, and commits afterwards, leaves no live session or grant.
 * Each request × each cut-off.
 */
import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactKey, ArtifactWrite } from '../../../lib/store/artifact-store.js';
import { Agent, authorizeUrl, createPkce, postForm, signIn } from '../../support/client/agent.js';
import { authorizationOf, isActive, redeem, refresh, responseOf } from '../../support/client/steps.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { USER_GRANT, userGrant } from '../../support/service/user-grant.js';
import { type CutSubject, cutOffs, cutSubject } from '../../support/sign-in/cut-offs.js';
import { heldCommits } from '../../support/stores/held-commits.js';

const { artifacts, holdNext } = heldCommits(memoryArtifacts());
const implicit = {
  response_types: ['id_token token', 'code'],
  grant_types: ['implicit', 'authorization_code'],
  application_type: 'native',
};
const service = useIdp({
  artifacts,
  extensions: [userGrant],
  limits: { signInFailuresPerAddress: 100_000 },
  seed: {
    ...testSeed,
    clients: [
      ...testSeed.clients,
      {
        id: 'implicit',
        name: 'Implicit',
        secret: 'implicit-secret',
        metadata: { redirect_uris: [redirectUri], ...implicit },
        allowedScopes: ['openid'],
      },
      { id: 'kiosk', name: 'Kiosk', secret: 'kiosk-secret', metadata: { grant_types: [USER_GRANT] }, allowedScopes: ['openid'] },
    ],
  },
});

const puts = (kind: string) => (writes: readonly ArtifactWrite[]) => writes.some(({ op, key }) => op === 'put' && key.startsWith(kind));
const tenantOf = ({ tenant }: CutSubject) => ({ acr_values: `tenant:${tenant}` });

/** Returns the live sessions and grants of the account, which all readers of tokens and cookies rely on. */
const left = async ({ oid }: CutSubject): Promise<readonly ArtifactKey[]> =>
  (await artifacts.listByAccount(oid)).map(({ key }) => key).filter((key) => /^(Session|Grant)\{/.test(key));

interface InFlight {
  /** The commit that waits. */
  readonly held: string;
  /** Prepares the request and returns it. The request answers with an access token if it got one. */
  begin(agent: Agent, subject: CutSubject): Promise<() => Promise<string | undefined>>;
}

const signedIn = async (agent: Agent, subject: CutSubject, more: Record<string, string> = {}, client = 'web') => {
  const { verifier, challenge } = createPkce();
  const parameters = { client_id: client, code_challenge: challenge, code_challenge_method: 'S256', ...tenantOf(subject), ...more };
  const answer = await signIn(agent, authorizeUrl(service.issuer, parameters), subject.userName, 'old');
  return { client, verifier, code: responseOf(answer).get('code') ?? '' };
};
const fragmentOf = (location = ''): URLSearchParams => new URLSearchParams(new URL(location || 'http://nowhere').hash.slice(1));
const implicitUrl = (subject: CutSubject) =>
  authorizeUrl(service.issuer, { client_id: 'implicit', response_type: 'id_token token', nonce: 'n', ...tenantOf(subject) });

const requests: Readonly<Record<string, InFlight>> = {
  'a sign-in that answers with a token': {
    held: 'AccessToken',
    begin: async (agent, subject) => async () =>
      fragmentOf((await signIn(agent, implicitUrl(subject), subject.userName, 'old')).location).get('access_token') ?? undefined,
  },
  'a sign-in that answers with a code': {
    held: 'AuthorizationCode',
    begin: async (agent, subject) => async () => {
      const code = await signedIn(agent, subject);
      return code.code === '' ? undefined : (await redeem(service.issuer, code)).json.access_token;
    },
  },
  'an authorization of a session that answers with a token': {
    held: 'AccessToken',
    async begin(agent, subject) {
      await signedIn(agent, subject);
      return async () => fragmentOf((await agent.get(`${implicitUrl(subject)}&prompt=none`)).location).get('access_token') ?? undefined;
    },
  },
  'the redemption of a code': {
    held: 'AccessToken',
    async begin(agent, subject) {
      const code = await signedIn(agent, subject);
      return async () => (await redeem(service.issuer, code)).json.access_token;
    },
  },
  'a refresh': {
    held: 'AccessToken',
    async begin(agent, subject) {
      const { json } = await redeem(service.issuer, await signedIn(agent, subject, { scope: 'openid offline_access' }));
      return async () => (await refresh(service.issuer, json.refresh_token)).json.access_token;
    },
  },
  'the exchange of an extension': {
    held: 'AccessToken',
    begin:
      async (_, { oid }) =>
      async () =>
        (await postForm(`${service.issuer}/connect/token`, { grant_type: USER_GRANT, user: oid }, authorizationOf('kiosk'))).json
          .access_token,
  },
};

describe.each(Object.entries(requests))('F2, F5, B6: %s, held between its read and its commit', (_, { held, begin }) => {
  test('leaves a token that is active if nothing is cut off', async () => {
    const token = await (await begin(new Agent(), await cutSubject(service.idp, 'own')))();
    expect(token).toEqual(expect.any(String));
  });

  test.each(Object.entries(cutOffs))('leaves nothing that lives after %s', async (_, { of, cut }) => {
    const subject = await cutSubject(service.idp, of);
    const request = await begin(new Agent(), subject);
    const arrived = holdNext(puts(held));
    const answering = request();
    const goOn = await arrived;
    await cut(service.idp, subject);
    expect(await left(subject)).toEqual([]);
    goOn();
    const token = await answering;
    expect(await left(subject)).toEqual([]);
    for (const caller of token ? ['web', 'implicit', 'kiosk'] : [])
      expect(await isActive(service.issuer, token as string, caller)).toBe(false);
  });
});

const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };

test('F1, F5: a switch to another account of the user, held until that account was cut off, leaves its session ended', async () => {
  const subject = await cutSubject(service.idp, 'child');
  const agent = new Agent();
  const { tid, userName } = subject.owner;
  await signIn(agent, authorizeUrl(service.issuer, { ...pkce, acr_values: `tenant:${tid}` }), userName, 'old');
  const page = await agent.follow(
    await agent.get(authorizeUrl(service.issuer, { ...pkce, ...tenantOf(subject), prompt: 'select_account' })),
  );
  expect(page.body).toContain('choice');
  const choice = [...page.body.matchAll(/name="choice" value="([^"]+)"/g)]
    .map(([, value = '']) => value)
    .find((value) => value.startsWith(subject.oid));
  const arrived = holdNext(puts('Session'));
  const switching = agent.submit(page, { choice: choice ?? '' });
  const goOn = await arrived;
  await service.idp.tenant(subject.tid).users.disable(subject.oid);
  goOn();
  await switching;
  expect(await left(subject)).toEqual([]);
});
