/** F2, F5, B6: a request that read a consent before it was withdrawn, and commits afterwards, leaves no live grant. */
import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import type { ArtifactKey, ArtifactWrite } from '../../../lib/store/artifact-store.js';
import { Agent, authorizeUrl, createPkce, postForm, signIn } from '../../support/client/agent.js';
import { CIBA_GRANT, callsTo, cibaClient } from '../../support/client/ciba/call-centre.js';
import { authorizationOf, isActive, redeem, refresh, responseOf } from '../../support/client/steps.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { USER_GRANT, userGrant } from '../../support/service/user-grant.js';
import { type CutSubject, cutSubject } from '../../support/sign-in/cut-offs.js';
import { heldCommits } from '../../support/stores/held-commits.js';

const { artifacts, holdNext } = heldCommits(memoryArtifacts());
const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] };
const asking = (id: string, metadata: object) => ({
  id,
  name: `Client ${id}`,
  secret: `${id}-secret`,
  metadata,
  allowedScopes: ['openid', 'offline_access'],
  requireConsent: true,
});
const service = useIdp({
  artifacts,
  extensions: [userGrant],
  limits: { signInFailuresPerAddress: 100_000 },
  seed: {
    ...testSeed,
    clients: [
      ...testSeed.clients,
      asking('asks', code),
      asking('apart', { ...code, subject_type: 'pairwise' }),
      asking('implicit', {
        redirect_uris: [redirectUri],
        response_types: ['id_token token', 'code'],
        grant_types: ['implicit', 'authorization_code'],
        application_type: 'native',
      }),
      asking('kiosk', { grant_types: [USER_GRANT] }),
      cibaClient('shop', { requireConsent: true }),
    ],
  } as never,
});

const puts = (kind: string) => (writes: readonly ArtifactWrite[]) => writes.some(({ op, key }) => op === 'put' && key.startsWith(kind));

/** Returns the live grants of the account. */
const left = async ({ oid }: CutSubject): Promise<readonly ArtifactKey[]> =>
  (await artifacts.listByAccount(oid)).map(({ key }) => key).filter((key) => key.startsWith('Grant{'));

interface InFlight {
  readonly client: string;
  /** The commit that waits. */
  readonly held: string;
  /** Prepares the request and returns it. The request answers with an access token if it got one. */
  begin(agent: Agent, subject: CutSubject): Promise<() => Promise<string | undefined>>;
}

const authorize = async (agent: Agent, { tenant, userName }: CutSubject, client: string, more: Record<string, string> = {}) => {
  const { verifier, challenge } = createPkce();
  const parameters = {
    client_id: client,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    acr_values: `tenant:${tenant}`,
    ...more,
  };
  const answer = await signIn(agent, authorizeUrl(service.issuer, parameters), userName, 'old');
  return { client, verifier, code: responseOf(answer).get('code') ?? '' };
};
const tokenOf = async (agent: Agent, subject: CutSubject, client: string, more: Record<string, string> = {}) => {
  const inHand = await authorize(agent, subject, client, more);
  return inHand.code === '' ? undefined : (await redeem(service.issuer, inHand)).json.access_token;
};
const fragmentOf = (location = ''): URLSearchParams => new URLSearchParams(new URL(location || 'http://nowhere').hash.slice(1));

const requests: Readonly<Record<string, InFlight>> = {
  'a sign-in': { client: 'asks', held: 'Grant', begin: async (agent, subject) => () => tokenOf(agent, subject, 'asks') },
  'a sign-in for a pairwise client': {
    client: 'apart',
    held: 'Grant',
    begin: async (agent, subject) => () => tokenOf(agent, subject, 'apart'),
  },
  'an authorization of a session': {
    client: 'asks',
    held: 'Grant',
    async begin(agent, subject) {
      await authorize(agent, subject, 'web');
      return () => tokenOf(agent, subject, 'asks', { prompt: 'none' });
    },
  },
  'an authorization of a session for a pairwise client': {
    client: 'apart',
    held: 'Grant',
    async begin(agent, subject) {
      await authorize(agent, subject, 'web');
      return () => tokenOf(agent, subject, 'apart', { prompt: 'none' });
    },
  },
  'an authorization for more scopes': {
    client: 'asks',
    held: 'Grant',
    async begin(agent, subject) {
      await authorize(agent, subject, 'asks');
      return () => tokenOf(agent, subject, 'asks', { prompt: 'none', scope: 'openid offline_access' });
    },
  },
  'an authorization that answers with a token': {
    client: 'implicit',
    held: 'AccessToken',
    async begin(agent, subject) {
      await authorize(agent, subject, 'web');
      const url = authorizeUrl(service.issuer, {
        client_id: 'implicit',
        response_type: 'id_token token',
        nonce: 'n',
        prompt: 'none',
        acr_values: `tenant:${subject.tenant}`,
      });
      return async () => fragmentOf((await agent.get(url)).location).get('access_token') ?? undefined;
    },
  },
  'an authorization by a grant that exists': {
    client: 'asks',
    held: 'AuthorizationCode',
    async begin(agent, subject) {
      await authorize(agent, subject, 'asks');
      return () => tokenOf(agent, subject, 'asks', { prompt: 'none' });
    },
  },
  'the redemption of a code': {
    client: 'asks',
    held: 'AccessToken',
    async begin(agent, subject) {
      const inHand = await authorize(agent, subject, 'asks');
      return async () => (await redeem(service.issuer, inHand)).json.access_token;
    },
  },
  'a refresh': {
    client: 'asks',
    held: 'AccessToken',
    async begin(agent, subject) {
      const { json } = await redeem(service.issuer, await authorize(agent, subject, 'asks', { scope: 'openid offline_access' }));
      return async () => (await refresh(service.issuer, json.refresh_token, 'asks')).json.access_token;
    },
  },
  'the exchange of an extension': {
    client: 'kiosk',
    held: 'AccessToken',
    begin:
      async (_, { oid }) =>
      async () =>
        (await postForm(`${service.issuer}/connect/token`, { grant_type: USER_GRANT, user: oid }, authorizationOf('kiosk'))).json
          .access_token,
  },
  'the redemption of an approval': {
    client: 'shop',
    held: 'AccessToken',
    async begin(_, { userName }) {
      const authReqId = await callsTo(service).approved({}, 'shop', userName);
      return async () =>
        (await postForm(`${service.issuer}/connect/token`, { grant_type: CIBA_GRANT, auth_req_id: authReqId }, authorizationOf('shop')))
          .json.access_token;
    },
  },
};

describe.each(Object.entries(requests))('F2, F5, B6: %s, held between its read and its commit', (_, { client, held, begin }) => {
  const consented = async (): Promise<CutSubject> => {
    const subject = await cutSubject(service.idp, 'own');
    await service.idp.directory.consents.allow(subject.oid, client, ['openid', 'offline_access']);
    return subject;
  };
  const ofClient = async (subject: CutSubject) => {
    const grants = await left(subject);
    const others = (await service.idp.sessions.clients({ tid: subject.tid, userId: subject.oid })).filter(
      ({ clientId }) => clientId === 'web',
    );
    return grants.length - others.length;
  };

  test('leaves a token that is active if nothing is withdrawn', async () => {
    const token = await (await begin(new Agent(), await consented()))();
    expect(token).toEqual(expect.any(String));
    expect(await isActive(service.issuer, token as string, client)).toBe(true);
  });

  test('leaves nothing that lives after the withdrawal', async () => {
    const subject = await consented();
    const agent = new Agent();
    const request = await begin(agent, subject);
    const arrived = holdNext(puts(held));
    const answering = request();
    const goOn = await arrived;
    expect(await service.idp.directory.consents.withdraw(subject.oid, client)).toBe(true);
    expect(await ofClient(subject)).toBe(0);
    goOn();
    const token = await answering;
    expect(await ofClient(subject)).toBe(0);
    if (token) expect(await isActive(service.issuer, token, client)).toBe(false);
    const sessions = await service.idp.sessions.list({ tid: subject.tid, userId: subject.oid });
    expect(sessions.flatMap(({ clientIds }) => clientIds)).not.toContain(client);
  });
});
