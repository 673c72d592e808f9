/** A service whose stores fail on demand, the kinds of its answers, and the steps that tests of outages take. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, expect } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, formOf, type Json, postForm } from '../../support/client/agent.js';
import { createAssertingClient } from '../../support/client/assertions.js';
import { authorizationOf, obtainCode, redeem, responseOf } from '../../support/client/steps.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { type Down, failingStores } from '../../support/stores/failing-stores.js';
import { until } from '../../support/time/until.js';

/** Form in which an endpoint reports an outage to its callers; `ok` if the endpoint does not need the unavailable store. */
export type Saying = 'json' | 'page' | 'redirect' | 'form' | 'ok';
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location?: string | undefined;
}
/** A request before, during and after an outage. */
export interface Case {
  /** Expected answer for each outage: of artifact reads, artifact writes, both; the directory; everything. */
  readonly says: readonly [Saying, Saying, Saying, Saying, Saying];
  prepare(): Promise<{
    during(): Promise<Reply>;
    /** Goes on with the same browser and tokens; rejects or throws on failure. */
    after(): Promise<void>;
  }>;
}

export const outages = ['reads', 'writes', 'artifacts', 'directory', 'everything'] as const;

/** Codes that blame the caller, or answers that sign a user out. */
const wrong = /invalid_grant|invalid_token|invalid_request_uri|"active":\s*false|login_required/;

export const ofPage = ({ status, headers, body, location }: Answer): Reply => ({ status, headers, text: body, location });
export const tabOf = (agent: Agent): Agent => {
  const tab = new Agent();
  for (const [key, cookie] of agent.cookies) tab.cookies.set(key, cookie);
  return tab;
};
export const expectCode = (answer: Answer) => expect(responseOf(answer).get('code')).not.toBeNull();
export const pushedFields = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 'st',
  code_challenge: 'c'.repeat(43),
  code_challenge_method: 'S256',
};
export const json = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
};
export const passwordOf = { password: 'carol' };

export type FailingIdp = ReturnType<typeof useFailingIdp>;

/** Starts the service for the tests of a file. Alice is signed in to some clients, and each test ends with both stores available. */
export function useFailingIdp() {
  const { artifacts, directory, down, recover, looks } = failingStores();
  const alice = new Agent();
  let asserting: Awaited<ReturnType<typeof createAssertingClient>>;
  const service = useIdp(async () => {
    asserting = await createAssertingClient();
    const seed = { ...testSeed, clients: [...testSeed.clients, asserting.seed] };
    return { artifacts, directory, seed, lifetimes: { refreshTokenGrace: 60 } };
  });
  beforeAll(async () => {
    for (const client of ['web', 'jwt', 'spa', 'pairwise']) await obtainCode(service.issuer, alice, client);
  });
  afterEach(recover);

  const switchOff = (outage: (typeof outages)[number]): void => {
    const flags: readonly (keyof Down)[] = outage === 'everything' ? ['artifacts', 'directory'] : [outage];
    for (const flag of flags) down[flag] = true;
  };
  const request = (parameters: Record<string, string | undefined> = {}) =>
    authorizeUrl(service.issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', state: 'st', ...parameters });
  const expectSignedIn = async (agent: Agent) => expectCode(await agent.get(request({ prompt: 'none' })));
  const offline = async (client = 'web', agent = tabOf(alice)) =>
    (await redeem(service.issuer, await obtainCode(service.issuer, agent, client, { scope: 'openid offline_access' }))).json;
  const push = (issuer = service.issuer) => postForm(`${issuer}/connect/par`, pushedFields, authorizationOf('web'));
  const urlOfPushed = ({ json: { request_uri: uri } }: { json: Json }, issuer = service.issuer) =>
    `${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: uri })}`;
  const atIdentifier = async (parameters = {}) => {
    const agent = new Agent();
    return { agent, page: await agent.follow(await agent.get(request(parameters))) };
  };
  const atPassword = async (parameters = {}) => {
    const { agent, page } = await atIdentifier(parameters);
    return { agent, page: await agent.submit(page, { identifier: 'carol@acme.test' }) };
  };

  function sayingOf(name: string, { status, headers, text, location }: Reply): string {
    const error = location === undefined ? null : new URL(location).searchParams.get('error');
    const other = `${status} ${location ?? ''} ${text.replace(/<style[\s\S]*?<\/style>/g, '').slice(0, 300)}`;
    if (status === 503) {
      if (!/^\d+$/.test(headers.get('retry-after') ?? '') || headers.has('www-authenticate')) return `headers: ${other}`;
      if (text.startsWith('<!doctype html>')) return 'page';
      return (JSON.parse(text) as Json).error === 'temporarily_unavailable' && Object.keys(JSON.parse(text)).length === 2 ? 'json' : other;
    }
    if (error === 'temporarily_unavailable') {
      const { searchParams, origin, pathname } = new URL(location as string);
      const isWhole = origin + pathname === redirectUri && searchParams.get('state') === 'st' && searchParams.get('iss') === service.issuer;
      return isWhole && status === 303 ? 'redirect' : other;
    }
    if (status === 200 && text.includes('value="temporarily_unavailable"')) {
      const { action, fields } = formOf({ body: text, url: service.issuer });
      return action === redirectUri && fields.state === 'st' ? 'form' : other;
    }
    const isNobody = /nobody|not signed in/.test(name) && !wrong.test(text.replace(/login_required/, ''));
    return (status < 400 && error === null && !wrong.test(text)) || isNobody ? 'ok' : other;
  }

  /**
   * Fills the caches, which keep each record for a minute. A change of a record begins a new minute, also if the record was read most of a
   * minute ago.
   */
  async function keepAtHand(): Promise<void> {
    const { clients, apiResources, tenants } = service.idp.directory;
    for (const { id } of [...testSeed.clients, asserting.seed]) await clients.update(id, { name: `Client ${randomUUID()}` });
    for (const { id } of testSeed.apiResources) await apiResources.update(id, { name: `API resource ${randomUUID()}` });
    const [acme] = await tenants.find();
    await tenants.update(acme?.id ?? '', { organisationNumber: randomUUID().slice(0, 9) });
    // The node is current for two seconds after a read of the change feed. The first read may have begun before the last change.
    const before = looks();
    await until(() => looks() > before + 1);
    for (const { id } of [...testSeed.clients, asserting.seed]) await clients.get(id);
    for (const { id } of testSeed.apiResources) await apiResources.get(id);
    await expectSignedIn(tabOf(alice));
  }

  return {
    service,
    alice,
    /** Returns the client that authenticates by assertion. */
    asserting: () => asserting,
    down,
    switchOff,
    recover,
    request,
    expectSignedIn,
    offline,
    push,
    urlOfPushed,
    atIdentifier,
    atPassword,
    sayingOf,
    keepAtHand,
  };
}
