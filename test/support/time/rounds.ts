import { decodeJwt } from 'jose';
import { Agent, authorizeUrl, createPkce, formOf, type Json, postForm } from '../client/agent.js';
import { type AssertingClient, createAssertingClient } from '../client/assertions.js';
import { type LogoutReceiver, startLogoutReceiver } from '../client/receivers/logout-receiver.js';
import { authorizationOf, isActive, obtainCode, redeem, refresh, responseOf, revoke, userinfo } from '../client/steps.js';
import { redirectUri, testSeed } from '../service/seed.js';
import { until } from './until.js';

/** Number of each outcome. */
export type Tally = Readonly<Record<string, number>>;

/** Participants in addition to the clients of the seed. */
export interface Contestants {
  /** {@link testSeed} with the asserting client, and with the receiver's URL in {@link ssoClients}. */
  readonly seed: typeof testSeed;
  readonly asserting: AssertingClient;
  /** Receiver of logout tokens of {@link ssoClients}. */
  readonly receiver: LogoutReceiver;
}

export const ssoClients = ['web', 'jwt', 'spa'] as const;
const offline = { scope: 'openid offline_access' };

export async function createContestants(): Promise<Contestants> {
  const asserting = await createAssertingClient();
  const receiver = await startLogoutReceiver();
  const clients = testSeed.clients.map((client) =>
    (ssoClients as readonly string[]).includes(client.id)
      ? { ...client, metadata: { ...client.metadata, backchannel_logout_uri: receiver.url } }
      : client,
  );
  return { seed: { ...testSeed, clients: [...clients, asserting.seed] } as unknown as typeof testSeed, asserting, receiver };
}

export const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

/** Counts answers by status and error: `{ 200: 1, '400 invalid_grant': 49 }`. */
function outcomes(answers: readonly { status: number; json?: Json }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, json } of answers) {
    const name = [status, json?.error].filter(Boolean).join(' ');
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const failures = (answers: readonly { status: number }[]): number => answers.filter(({ status }) => status >= 500).length;

/** Returns the number of different live tokens. Confidential clients introspect the tokens; the public client has to use the tokens. */
async function live(issuer: string, client: string, kind: 'access_token' | 'refresh_token', answers: readonly { json?: Json }[]) {
  const tokens = new Set<string>(answers.flatMap(({ json }) => json?.[kind] ?? []));
  const works = async (token: string): Promise<boolean> => {
    if (client !== 'spa') return isActive(issuer, token, client);
    return (await (kind === 'access_token' ? userinfo(issuer, token) : refresh(issuer, token, client))).status === 200;
  };
  return (await Promise.all([...tokens].map(works))).filter(Boolean).length;
}

export async function codeRound(issuer: string, uses: number, agent: Agent, client: string): Promise<Tally> {
  const code = await obtainCode(issuer, agent, client, offline);
  const answers = await atOnce(uses, () => redeem(issuer, code));
  return {
    ...outcomes(answers),
    'live access tokens': await live(issuer, client, 'access_token', answers),
    'live refresh tokens': await live(issuer, client, 'refresh_token', answers),
  };
}

export async function pushedRequestRound(issuer: string, uses: number, agent: Agent): Promise<Tally> {
  const { verifier, challenge } = createPkce();
  const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid' };
  const pushed = await postForm(
    `${issuer}/connect/par`,
    { ...request, code_challenge: challenge, code_challenge_method: 'S256' },
    authorizationOf('web'),
  );
  const url = `${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`;
  const answers = await atOnce(uses, () => agent.get(url));
  const replay = await agent.get(url);
  const codes = answers.flatMap((answer) => responseOf(answer).get('code') ?? []);
  const bought = await Promise.all(codes.map((code) => redeem(issuer, { client: 'web', code, verifier })));
  return {
    codes: codes.length,
    // The error is on a page if the request is spent already, and in the redirect if another use is faster.
    invalid_request_uri: answers.filter(({ body, location }) => `${location} ${body}`.includes('invalid_request_uri')).length,
    'live access tokens': await live(issuer, 'web', 'access_token', bought),
    'codes of a replay': responseOf(replay).has('code') ? 1 : 0,
    '5xx': failures(answers),
  };
}

export async function assertionRound(issuer: string, uses: number, asserting: AssertingClient): Promise<Tally> {
  const assertion = await asserting.sign(issuer);
  const answers = await atOnce(uses, () => postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials', ...assertion }));
  return {
    answered: answers.filter(({ status }) => status === 200).length,
    // Above the limit of refusals, the service answers 429.
    refused: answers.filter(({ status }) => status === 401 || status === 429).length,
    'live access tokens': await live(issuer, 'orders', 'access_token', answers),
  };
}

/** Uses one refresh token many times. All answers within the grace have one successor, and the successor works. */
export async function refreshRound(issuer: string, uses: number, agent: Agent, client: string): Promise<Tally> {
  const first = (await redeem(issuer, await obtainCode(issuer, agent, client, offline))).json;
  const answers = await atOnce(uses, () => refresh(issuer, first.refresh_token, client));
  const [successor = '', ...others] = new Set<string>(answers.flatMap(({ json }) => json?.refresh_token ?? []));
  const next = await refresh(issuer, successor, client);
  return {
    successors: successor ? 1 + others.length : 0,
    'refused within the grace': answers.filter(({ status }) => status >= 400 && status < 500).length,
    'families that go on': next.status === 200 ? 1 : 0,
    'live access tokens afterwards': await live(issuer, client, 'access_token', [next]),
    'live refresh tokens afterwards': await live(issuer, client, 'refresh_token', [next]),
    '5xx': failures([...answers, next]),
  };
}

export async function revocationRound(issuer: string, uses: number, agent: Agent): Promise<Tally> {
  const first = await redeem(issuer, await obtainCode(issuer, agent, 'web', offline));
  const { refresh_token } = first.json;
  const [answers] = await Promise.all([
    atOnce(uses, () => refresh(issuer, refresh_token)),
    new Promise((resolve) => setImmediate(resolve)).then(() => revoke(issuer, refresh_token)),
  ]);
  return {
    'live access tokens': await live(issuer, 'web', 'access_token', [first, ...answers]),
    'live refresh tokens': await live(issuer, 'web', 'refresh_token', answers),
    '5xx': failures(answers),
  };
}

/** Returns a function that opens a tab with the cookies of this moment. */
export function tabOf(agent: Agent): () => Agent {
  const cookies = [...agent.cookies];
  return () => {
    const tab = new Agent();
    for (const [key, cookie] of cookies) tab.cookies.set(key, cookie);
    return tab;
  };
}

/** Signs in three clients at the same time, in three tabs each of one browser. Then signs out once. */
export async function ssoRound(issuer: string, { receiver }: Contestants): Promise<Tally> {
  const agent = new Agent();
  await obtainCode(issuer, agent, 'pairwise');
  const tab = tabOf(agent);
  const visits = ssoClients.flatMap((client) => [client, client, client]);
  const codes = await Promise.all(visits.map((client) => obtainCode(issuer, tab(), client, offline)));
  const granted = await Promise.all(codes.map((code) => redeem(issuer, code)));
  const working = async () =>
    (await Promise.all(granted.map(({ json }) => userinfo(issuer, json.access_token)))).map(({ status }) => status);
  const before = await working();

  const sids = new Set(granted.map(({ json }) => decodeJwt(json.id_token).sid));
  const told = () => receiver.tokens.map((token) => decodeJwt(token)).filter(({ sid }) => sids.has(sid));
  await agent.follow(await agent.submit(await agent.get(`${issuer}/connect/endsession`), { logout: 'yes' }));
  await until(() => new Set(told().map(({ sid }) => sid)).size >= sids.size);
  const clientsTold = new Set(told().map(({ aud }) => aud));
  const after = await working();
  const refreshed = await Promise.all(granted.map(({ json }, index) => refresh(issuer, json.refresh_token, visits[index])));
  return {
    'authorizations that work': before.filter((status) => status === 200).length,
    'clients told of the logout': clientsTold.size,
    'authorizations ended': after.filter((status) => status === 401).length,
    ...outcomes(refreshed),
  };
}

/**
 * Authorizes in ten tabs while another tab signs out.
 * @param pause waits this number of steps. A step takes about as long as a part of a request.
 */
export async function logoutRound(issuer: string, round: number, pause: (steps: number) => Promise<unknown>): Promise<Tally> {
  const client = ssoClients[round % ssoClients.length] as string;
  const agent = new Agent();
  const before = await redeem(issuer, await obtainCode(issuer, agent, 'web', offline));
  const newTab = tabOf(agent);
  const tabs = Array.from({ length: 10 }, newTab);
  const { action, fields } = formOf(await newTab().get(`${issuer}/connect/endsession`));
  const { verifier, challenge } = createPkce();
  const url = (more = {}) =>
    authorizeUrl(issuer, { client_id: client, code_challenge: challenge, code_challenge_method: 'S256', ...offline, ...more });
  const [answers, loggedOut] = await Promise.all([
    Promise.all(
      tabs.map(async (tab, index) => {
        await pause(index);
        return tab.get(url());
      }),
    ),
    pause((round * 5) % 11).then(() => newTab().post(action, { ...fields, logout: 'yes' })),
  ]);
  const silent = await Promise.all([newTab(), ...tabs].map((tab) => tab.get(url({ prompt: 'none' }))));
  const codes = answers.flatMap((answer) => responseOf(answer).get('code') ?? []);
  const bought = await Promise.all(codes.map((code) => redeem(issuer, { client, code, verifier })));
  return {
    'live sessions': silent.filter((answer) => responseOf(answer).get('error') !== 'login_required').length,
    'live access tokens': (await live(issuer, client, 'access_token', bought)) + (await live(issuer, 'web', 'access_token', [before])),
    'live refresh tokens': (await live(issuer, client, 'refresh_token', bought)) + (await live(issuer, 'web', 'refresh_token', [before])),
    '5xx': failures([...answers, loggedOut, ...silent, ...bought]),
  };
}
