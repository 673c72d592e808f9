/**
 * `tenant:` as a constraint: flow × requested tenant × session of another tenant × login_hint × id_token_hint. No token and no code of any
 * request names an account of another tenant than the requested one, or of another account than the hint.
 */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json, obtainTokens, postForm } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { type Endpoints, endpointsOf } from '../support/client/endpoints.js';
import { redeem } from '../support/client/steps.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { redirectUri } from '../support/service/seed.js';

/** A tenth of the combinations, different ones for each flow, and some of those with pages and passwords. `npm run prove` tries all. */
const EVERY = process.env.PROVE ? 1 : 10;
const WITH_PAGES = process.env.PROVE ? Number.POSITIVE_INFINITY : 20;

const flows = ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token', 'token'] as const;
const ways = ['GET', 'POST', 'PAR'] as const;
/** Persons: Alice has linked accounts; Bob and Carol have one account each. */
const people = {
  'alice at Acme': { userName: 'alice@acme.test', password: 'alice' },
  'alice at Globex': { userName: 'alice@globex.test', password: 'alice' },
  bob: { userName: 'bob@globex.test', password: 'bob' },
  carol: { userName: 'carol@acme.test', password: 'carol' },
} as const;
type Name = keyof typeof people;
const names = Object.keys(people) as Name[];
const isAlice = (name: Name) => name.startsWith('alice');
const tenants = ['any', 'Acme', 'Globex', 'Initech', 'unknown'] as const;

interface Case {
  readonly flow: (typeof flows)[number];
  readonly way: (typeof ways)[number];
  readonly tenant: (typeof tenants)[number];
  readonly session: Name | 'nobody';
  readonly loginHint: Name | 'nobody';
  readonly hint: Name | 'nobody';
}

const cases: Case[] = [];
for (const flow of flows)
  for (const tenant of tenants)
    for (const session of [...names, 'nobody'] as const)
      for (const loginHint of ['nobody', 'alice at Acme', 'bob'] as const)
        for (const hint of ['nobody', 'alice at Acme', 'alice at Globex', 'bob'] as const)
          cases.push({ flow, way: ways[cases.length % ways.length] ?? 'GET', tenant, session, loginHint, hint });

let service: TestIdp;
let endpoints: Endpoints;
const accounts = {} as Record<Name, { oid: string; tid: string; agent: Agent; idToken: string }>;
const tids: Record<string, string> = { unknown: '01890a5d-ac96-774b-bcce-b302099a8057' };
const pkce = createPkce();
const client = { client: 'all', secret: 'all-secret' };

/** A user who may not sign in to the tenant fails. These failures are too few for a limit, and each service counts its own. */
const limits = { signInFailures: 100, signInFailuresPerAccount: 100, signInFailuresPerAddress: 1000 };
const CASES_OF_ONE_SERVICE = 120;

async function start(): Promise<void> {
  service = await startIdp({ limits });
  endpoints = endpointsOf(service.issuer);
  const { directory } = service.idp;
  await directory.clients.create({
    id: 'all',
    name: 'All flows',
    secret: 'all-secret',
    metadata: {
      redirect_uris: [redirectUri],
      response_types: [...flows],
      grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    },
    allowedScopes: ['openid', 'orders.read'],
  });
  tids.Initech = (await directory.tenants.create({ name: 'Initech' })).id;
  for (const name of names) {
    const { agent, tokens } = await obtainTokens(service.issuer, { ...client, ...people[name] });
    const [account] = await directory.accounts.candidates(people[name].userName);
    if (!account) throw new Error(`no ${name}`);
    accounts[name] = { oid: account.person.user.id, tid: account.tenant.id, agent, idToken: tokens.id_token };
    tids[account.tenant.name] = account.tenant.id;
  }
}
beforeAll(start);
afterAll(() => service.close());

const isOfTenant = (name: Name, { tenant }: Case): boolean => tenant === 'any' || accounts[name].tid === tids[tenant];
/** Whether an account may answer the request. */
const fits = (name: Name, one: Case): boolean => isOfTenant(name, one) && (one.hint === 'nobody' || one.hint === name);

async function send(agent: Agent, { flow, way, tenant, loginHint, hint }: Case, prompt?: string): Promise<Answer> {
  const parameters: Record<string, string | undefined> = {
    client_id: 'all',
    response_type: flow,
    nonce: 'n',
    scope: `openid orders.read${flow.includes('code') ? ' offline_access' : ''}`,
    ...(flow.includes('code') ? { code_challenge: pkce.challenge, code_challenge_method: 'S256' } : {}),
    ...(prompt ? { prompt } : {}),
    ...(tenant === 'any' ? {} : { acr_values: `unknown:x tenant:${tids[tenant]}` }),
    ...(loginHint === 'nobody' ? {} : { login_hint: people[loginHint].userName }),
    ...(hint === 'nobody' ? {} : { id_token_hint: accounts[hint].idToken }),
  };
  const url = authorizeUrl(service.issuer, parameters);
  if (way === 'GET') return agent.follow(await agent.get(url));
  const fields = Object.fromEntries(new URL(url).searchParams);
  if (way === 'POST') return agent.follow(await agent.post(`${service.issuer}/connect/authorize`, fields));
  const { json } = await endpoints.par(fields, 'all');
  return agent.follow(
    await agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'all', request_uri: json.request_uri })}`),
  );
}

/** Returns the accounts that a response, its code and its refresh token name. */
async function accountsIn(members: Record<string, string>): Promise<{ tid: unknown; oid: unknown }[]> {
  const found: { tid: unknown; oid: unknown }[] = [];
  const note = ({ tid, oid, sub }: Json) => found.push({ tid, oid: oid ?? sub });
  const noteTokens = async ({ id_token: idToken, access_token: accessToken }: Record<string, string>) => {
    if (idToken) note(decodeJwt(idToken));
    if (!accessToken) return;
    note((await endpoints.introspect(accessToken, 'all')).json);
    note((await endpoints.introspect(accessToken, 'orders')).json);
    note((await endpoints.userinfo(accessToken)).json);
  };
  await noteTokens(members);
  if (members.code) {
    const { json } = await postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'authorization_code', code: members.code, redirect_uri: redirectUri, code_verifier: pkce.verifier },
      { authorization: `Basic ${Buffer.from('all:all-secret').toString('base64')}` },
    );
    await noteTokens(json);
    await noteTokens((await endpoints.refresh(json.refresh_token, 'all')).json);
  }
  return found;
}

/** Expects only the fitting account in every token, and tokens exactly if they are allowed. */
async function expectOnly(members: Record<string, string>, expected: Name | undefined, one: Case): Promise<void> {
  const found = await accountsIn(members);
  const { tid, oid } = expected ? accounts[expected] : { tid: undefined, oid: undefined };
  expect({ one, others: found.filter((account) => account.tid !== tid || account.oid !== oid) }).toEqual({ one, others: [] });
  expect({ one, error: members.error, isMinted: found.length > 0 }).toEqual({
    one,
    error: members.error,
    isMinted: expected !== undefined,
  });
}

describe('4.2 tenant: without interaction', () => {
  const outcomes = new Set<string>();

  test.each(flows)(
    `4.2 %s, ${cases.length / flows.length / EVERY} combinations: the session's account, or the standard's error`,
    async (flow) => {
      const tried = cases.filter((one, index) => one.flow === flow && index % EVERY === flows.indexOf(flow) % EVERY);
      for (const one of tried) {
        const { session } = one;
        const members = membersOf(await send(session === 'nobody' ? new Agent() : accounts[session].agent, one, 'none'));
        const expected = session !== 'nobody' && fits(session, one) ? session : undefined;
        await expectOnly(members, expected, one);
        const outcome = members.error ?? 'tokens';
        expect({ one, outcome }).toEqual({ one, outcome: expected ? 'tokens' : errorOf(one) });
        outcomes.add(outcome);
      }
    },
  );

  test('4.2 each outcome was among them', () => {
    expect([...outcomes].sort()).toEqual(['account_selection_required', 'login_required', 'tokens']);
  });

  /** @see OpenID Connect Core §3.1.2.6 */
  function errorOf(one: Case): string {
    const { session } = one;
    if (session === 'nobody' || isOfTenant(session, one)) return 'login_required';
    const isLinked = isAlice(session) && names.some((name) => isAlice(name) && fits(name, one));
    return isLinked ? 'account_selection_required' : 'login_required';
  }
});

describe('4.2 tenant: with the pages', () => {
  /** Goes through the pages as a user: chooses the first offered account, or otherwise enters name and password. */
  async function goThrough(agent: Agent, first: Answer, who: Name): Promise<Record<string, string>> {
    let answer = first;
    for (let step = 0; step < 6 && answer.location === undefined; step += 1) {
      const choice = /name="choice" value="([^"]+)"/.exec(answer.body)?.[1];
      const { fields } = formOf(answer);
      if (choice) answer = await agent.follow(await agent.submit(answer, { choice }));
      else if ('password' in fields)
        answer = await agent.follow(await agent.submit(answer, { identifier: people[who].userName, password: people[who].password }));
      else if ('identifier' in fields) answer = await agent.submit(answer, { identifier: people[who].userName });
      if (answer.status >= 400) return { error: 'refused on the page' };
    }
    return membersOf(answer);
  }

  /** Returns the fitting account among those that a sign-in opens. */
  const answering = (name: Name, one: Case): Name | undefined =>
    fits(name, one) ? name : names.find((other) => isAlice(name) && isAlice(other) && fits(other, one));

  /** Whether the user's name means an account of the tenant. The name of a parent means its linked account in the tenant. */
  const mayName = (who: Name, one: Case): boolean => isOfTenant(who, one) || who === 'alice at Acme';

  const withPages = cases.flatMap((one) => names.map((who) => ({ one, who })));
  const seed = process.env.PROVE ? randomInt(2 ** 31) : 1;
  test(`4.2 of ${withPages.length} combinations some (seed ${seed}): an account that fits, or none`, async () => {
    const minted = new Set<boolean>();
    const tryOne = async ({ one, who }: (typeof withPages)[number]): Promise<void> => {
      const { session } = one;
      const agent = session === 'nobody' ? new Agent() : (await obtainTokens(service.issuer, { ...client, ...people[session] })).agent;
      const expected =
        (session === 'nobody' ? undefined : answering(session, one)) ?? (mayName(who, one) ? answering(who, one) : undefined);
      await expectOnly(await goThrough(agent, await send(agent, one), who), expected, one);
      minted.add(expected !== undefined);
    };
    const wanted = someOf(withPages, WITH_PAGES, seed);
    for (let from = 0; from < wanted.length; from += CASES_OF_ONE_SERVICE) {
      if (from > 0) {
        expectQuietLog(service);
        await service.close();
        await start();
      }
      const waiting = wanted.slice(from, from + CASES_OF_ONE_SERVICE).values();
      // Most of the time is spent on hashes of passwords, which run in parallel.
      const lane = async (): Promise<void> => {
        for (const each of waiting) await tryOne(each);
      };
      await Promise.all([lane(), lane(), lane(), lane()]);
    }
    expect(minted.size).toBe(2);
  });
});

/** Returns as many items as wanted, picked by a linear congruential generator from the seed. */
function someOf<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  if (count >= all.length) return all;
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return all[Math.floor((state / 0x80000000) * all.length)] as T;
  });
}

describe('two tabs on two linked accounts', () => {
  const tokensOf = async (agent: Agent, name: 'alice at Acme' | 'alice at Globex'): Promise<Json> => {
    const acr = `tenant:${accounts[name].tid}`;
    let answer = await agent.follow(
      await agent.get(
        authorizeUrl(service.issuer, {
          client_id: 'all',
          scope: 'openid orders.read offline_access',
          acr_values: acr,
          code_challenge: pkce.challenge,
          code_challenge_method: 'S256',
        }),
      ),
    );
    const choice = /name="choice" value="([^"]+)"/.exec(answer.body)?.[1];
    if (choice) answer = await agent.follow(await agent.submit(answer, { choice }));
    return (await redeem(service.issuer, { client: 'all', code: membersOf(answer).code ?? '', verifier: pkce.verifier })).json;
  };

  test('design §3: the tokens of both stay valid, each for its own account, however often the tabs take turns', async () => {
    const { agent } = await obtainTokens(service.issuer, { ...client, ...people['alice at Acme'] });
    const tabs: { name: 'alice at Acme' | 'alice at Globex'; tokens: Json }[] = [];
    for (const name of ['alice at Acme', 'alice at Globex', 'alice at Acme', 'alice at Globex'] as const)
      tabs.push({ name, tokens: await tokensOf(agent, name) });
    for (let round = 0; round < 2; round += 1)
      for (const tab of tabs) {
        const { oid, tid } = accounts[tab.name];
        const { id_token, access_token } = tab.tokens;
        expect(await accountsIn({ id_token, access_token })).toEqual(Array(4).fill({ oid, tid }));
        tab.tokens = (await endpoints.refresh(tab.tokens.refresh_token, 'all')).json;
      }
  });

  test('design §3: a silent renewal in the tab that is not current asks for its account, and gets no other', async () => {
    const { agent } = await obtainTokens(service.issuer, { ...client, ...people['alice at Acme'] });
    const [acme, globex] = [await tokensOf(agent, 'alice at Acme'), await tokensOf(agent, 'alice at Globex')];
    const silently = async (idToken: string) =>
      membersOf(
        await agent.follow(
          await agent.get(
            authorizeUrl(service.issuer, {
              client_id: 'all',
              response_type: 'id_token',
              nonce: 'n',
              prompt: 'none',
              id_token_hint: idToken,
            }),
          ),
        ),
      );
    expect(await silently(acme.id_token)).toMatchObject({ error: 'login_required' });
    expect(decodeJwt((await silently(globex.id_token)).id_token ?? '')).toMatchObject({ oid: accounts['alice at Globex'].oid });
    expect((await endpoints.introspect(acme.access_token, 'all')).json).toMatchObject({ active: true, oid: accounts['alice at Acme'].oid });
  });
});

test('design §3: nothing here was an error of the service', () => expectQuietLog(service));
