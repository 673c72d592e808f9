/**
 * G5, issue 14: a random walk over the steps of sign-ins, in three browsers with many tabs. Pages are requested, posted, posted late,
 * posted to another step, gone back to and replayed, and an administrator toggles policies. No token comes without its factors, tenant and
 * consent. `PROVE=yes` walks 10,000 steps.
 */
import { afterEach, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json, postForm, titleOf } from '../support/client/agent.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { refresh } from '../support/client/steps.js';
import { drawing } from '../support/requests/schema-samples.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied } from '../support/sign-in/factors.js';
import { type Asked, type IssuedToken, type Person, RequirementsModel } from '../support/sign-in/requirements-model.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const STEPS = process.env.PROVE ? 10_000 : 150;
const SEED = process.env.PROVE ? Date.now() % 2 ** 31 : 11;
const rows = memoryDirectory();
const service = useIdp({
  directory: rows,
  limits: { signInFailures: 100, signInFailuresPerAccount: 100, signInFailuresPerAddress: 100_000 },
});
afterEach(backToPresent);

/** A page that a browser got, and may still have in a tab. */
interface Tab {
  readonly page: Answer;
  readonly browser: number;
}

const later = ['/consent', '/factors/code', '/factors/enrol', '/factors/seen', '/organisation', '/account', '/password', '/cancel'];
const pkce = createPkce();

test(`G5: ${STEPS} random steps give no token without its factors, tenant and consent`, async () => {
  const random = drawing(SEED);
  const chance = (share: number): boolean => random() < share;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const { accounts, tenants } = service.idp.directory;
  const persons: Person[] = [];
  for (const [userName, password] of [
    ['alice@acme.test', 'alice'],
    ['alice@globex.test', 'alice'],
    ['bob@globex.test', 'bob'],
    ['carol@acme.test', 'carol'],
  ] as const) {
    const [account] = await accounts.candidates(userName);
    const { id: oid, parentUserId: owner = oid } = account?.person.user ?? { id: '' };
    persons.push({ userName, password, oid, owner, tid: account?.tenant.id ?? '' });
  }
  const tids = [...new Set(persons.map(({ tid }) => tid))];
  const model = new RequirementsModel(persons, new Set(['third-party']));
  const browsers = Array.from({ length: 3 }, () => new Agent());
  const typed: Person[] = browsers.map(() => persons[0] as Person);
  const tabs: Tab[] = [];
  const asked = new Map<string, Asked>();
  const secrets = new Map<string, string>();
  const kept: { readonly code: string; readonly request: Asked }[] = [];
  const refreshTokens: { readonly token: string; readonly login: IssuedToken; readonly client: string }[] = [];
  const seen: Record<string, number> = {};
  const count = (what: string): void => {
    seen[what] = (seen[what] ?? 0) + 1;
  };
  const trail: string[] = [];
  let elapsed = 0;

  const say = (what: string): void => {
    trail.push(what);
    count(what.split(' ')[0] as string);
  };
  const fail = (problems: readonly string[]): void =>
    expect({ seed: SEED, problems, trail: trail.slice(-25) }).toMatchObject({ problems: [] });

  const redeem = async ({ code, request }: (typeof kept)[number]): Promise<void> => {
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
    const { status, json } = await postForm(`${service.issuer}/connect/token`, fields, credentialsOf(request.client));
    if (status !== 200) return say(`refused ${json?.error}`);
    const token = decodeJwt(json.id_token) as unknown as IssuedToken;
    say(`token ${token.amr.join('+')} ${request.client}`);
    count(`token ${token.amr.join('+')}`);
    fail(model.lacking(token, request));
    if (json.refresh_token) refreshTokens.push({ token: json.refresh_token, login: token, client: request.client });
    if (chance(0.2)) {
      const again = await postForm(`${service.issuer}/connect/token`, fields, credentialsOf(request.client));
      if (again.status === 200) fail(['a code was good twice']);
      refreshTokens.length = 0;
    }
  };

  /** Handles the answer that a browser got: a page for a tab, or a response for a client. */
  const arrive = async (browser: number, answer: Answer): Promise<void> => {
    if (answer.location === undefined) {
      if (answer.status < 500) tabs.push({ page: answer, browser });
      else fail([`status ${answer.status}: ${titleOf(answer)}`]);
      if (tabs.length > 24) tabs.splice(Math.floor(random() * 12), 1);
      return;
    }
    const members = Object.fromEntries(new URL(answer.location).searchParams);
    const request = asked.get(members.state ?? '');
    if (members.code === undefined) return say(`error ${members.error}`);
    if (!request) return fail([`an answer to no request: ${answer.location}`]);
    // The browser that gets the code counts, even if another browser began the request.
    const issued = { code: members.code, request: { ...request, browser } };
    if (chance(0.15)) kept.push(issued);
    else await redeem(issued);
  };

  const post = async (browser: number, url: string, fields: Record<string, string>): Promise<void> => {
    const agent = browsers[browser] as Agent;
    await arrive(browser, await agent.follow(await agent.post(url, fields)));
  };

  /** Acts on a page as a user would, or nearly so. */
  async function act({ page, browser }: Tab): Promise<void> {
    if (!page.body.includes('<form')) return say('formless');
    const { action, fields } = formOf(page);
    const { body } = page;
    if (body.includes('name="password"')) {
      const person = persons.find(({ userName }) => userName === fields.identifier) ?? (typed[browser] as Person);
      const isRight = chance(0.93);
      say(`password ${person.userName} ${isRight}`);
      if (isRight) {
        // `alice` is the password of two accounts of one owner.
        model.passwords.push({ browser, owner: person.owner, at: Date.now() });
        typed[browser] = person;
      }
      return post(browser, action, { ...fields, password: isRight ? person.password : 'wrong' });
    }
    if (body.includes('name="identifier"')) {
      const person = pick(persons);
      say(`identifier ${person.userName}`);
      return post(browser, action, { ...fields, identifier: person.userName });
    }
    if (body.includes('name="decision"')) {
      const shown = body.replaceAll('<wbr>', '');
      const person = persons.find(({ userName }) => shown.includes(userName));
      const decision = chance(0.8) ? 'allow' : 'deny';
      say(`consent ${person?.userName} ${decision}`);
      if (decision === 'allow' && person) model.consents.add(`${person.oid} third-party`);
      return post(browser, action, { ...fields, decision });
    }
    if (body.includes('class="qr"')) {
      const [secret = ''] = copied(page);
      say('enrol');
      await post(browser, action, { ...fields, code: codeOf(secret) });
      // The records tell which user got the factor.
      const found = await rows.collection<{ id: string; version: number; userId?: string; kind?: string }>('factors.enrolled').find({});
      for (const { userId = '', kind } of found) {
        if (kind !== 'totp' || secrets.has(userId)) continue;
        secrets.set(userId, secret);
        model.enrolledAt.set(userId, Date.now());
        model.factors.push({ browser, owner: userId, at: Date.now() });
      }
      return;
    }
    if (body.includes('name="code"')) {
      const owner = chance(0.9) ? (typed[browser] as Person).owner : pick(persons).owner;
      const secret = chance(0.97) ? secrets.get(owner) : undefined;
      say(`code ${secret !== undefined}`);
      if (secret) model.factors.push({ browser, owner, at: Date.now() });
      return post(browser, action, { ...fields, code: secret ? codeOf(secret) : '000000' });
    }
    const choices = [...body.matchAll(/name="(choice|oid)" value="([^"]*)"/g)];
    if (choices.length > 0) {
      const [, name = '', value = ''] = pick(choices);
      say('choice');
      return post(browser, action, { ...fields, [name]: value });
    }
    say('go-on');
    return post(browser, action, fields);
  }

  const steps: readonly (readonly [share: number, step: () => Promise<void>])[] = [
    [
      10,
      async () => {
        const browser = Math.floor(random() * browsers.length);
        const client = chance(0.7) ? 'web' : 'third-party';
        const prompt = chance(0.4) ? pick(['none', 'login', 'consent', 'select_account']) : undefined;
        const maxAge = chance(0.2) ? pick([0, 1, 60, 3600]) : undefined;
        const tenant = chance(0.4) ? pick(tids) : undefined;
        const mfa = chance(0.3);
        const state = `s${asked.size}`;
        asked.set(state, {
          client,
          at: Date.now(),
          mfa,
          browser,
          ...(tenant ? { tenant } : {}),
          ...(prompt ? { prompt } : {}),
          ...(maxAge === undefined ? {} : { maxAge }),
        });
        say(`authorize ${client} ${prompt} ${maxAge} ${mfa}`);
        const acr = [...(tenant ? [`tenant:${tenant}`] : []), ...(mfa ? ['mfa'] : [])].join(' ');
        const agent = browsers[browser] as Agent;
        const answer = await agent.follow(
          await agent.get(
            authorizeUrl(service.issuer, {
              client_id: client,
              state,
              scope: chance(0.5) ? 'openid offline_access' : 'openid',
              code_challenge: pkce.challenge,
              code_challenge_method: 'S256',
              prompt,
              max_age: maxAge === undefined ? undefined : String(maxAge),
              acr_values: acr === '' ? undefined : acr,
            }),
          ),
        );
        if (prompt === 'none' && answer.location === undefined) fail([`prompt=none showed ${titleOf(answer)}`]);
        await arrive(browser, answer);
      },
    ],
    // Acts mostly on the newest page, and otherwise on a page of an older tab.
    [45, async () => (tabs.length === 0 ? undefined : act(chance(0.85) ? (tabs.at(-1) as Tab) : pick(tabs)))],
    [
      8,
      async () => {
        if (tabs.length === 0) return;
        const { page, browser } = pick(tabs);
        if (!page.body.includes('<form')) return;
        const { action, fields } = formOf(page);
        const step = pick(later);
        say(`skip ${step}`);
        await post(browser, action.replace(/(\/interaction\/[^/?]+).*/, `$1${step}`), {
          ...fields,
          decision: 'allow',
          choice: pick(persons).oid,
        });
      },
    ],
    [
      5,
      async () => {
        if (tabs.length === 0) return;
        const { page, browser } = pick(tabs);
        const agent = browsers[browser] as Agent;
        say('back');
        const url = chance(0.5) ? page.url : page.url.replace(/\/idp\/interaction\/([^/?]+).*/, '/connect/authorize/$1');
        await arrive(browser, await agent.follow(await agent.get(url)));
      },
    ],
    [
      2,
      async () => {
        if (tabs.length === 0) return;
        // Posts a page of one browser from another browser.
        const browser = Math.floor(random() * browsers.length);
        say('stolen');
        await act({ page: pick(tabs).page, browser });
      },
    ],
    [
      3,
      async () => {
        const tid = pick(tids);
        const requireMfa = !model.requiring.has(tid);
        say(`policy ${requireMfa}`);
        await tenants.update(tid, { signIn: requireMfa ? { requireMfa } : null });
        if (requireMfa) model.requiring.add(tid);
        else model.requiring.delete(tid);
      },
    ],
    [3, async () => void (kept.length > 0 && (await redeem(kept.shift() as (typeof kept)[number])))],
    [
      4,
      async () => {
        const last = refreshTokens.pop();
        if (!last) return;
        const { status, json }: { status: number; json: Json } = await refresh(service.issuer, last.token, last.client);
        say(`refresh ${status}`);
        if (status === 200 && model.requiring.has(last.login.tid) && !last.login.amr.includes('mfa'))
          fail(['refreshed without the factor of the tenant']);
        if (status === 200 && json.refresh_token) refreshTokens.push({ ...last, token: json.refresh_token });
      },
    ],
    [
      1,
      async () => {
        const browser = Math.floor(random() * browsers.length);
        say('new-browser');
        browsers[browser] = new Agent();
        tabs.splice(0, tabs.length, ...tabs.filter((tab) => tab.browser !== browser));
      },
    ],
  ];
  const all = steps.reduce((sum, [share]) => sum + share, 0);

  for (let step = 0; step < STEPS; step += 1) {
    // The clock moves on, so that an app mostly shows another code.
    elapsed += pick([1, 30, 30, 30, 90]);
    passTime(elapsed);
    let left = random() * all;
    for (const [share, run] of steps) {
      left -= share;
      if (left < 0) {
        await run();
        break;
      }
    }
  }
  // A walk without tokens and refusals shows nothing.
  expect(seen).toMatchObject({ 'token pwd': expect.any(Number), 'token pwd+mfa': expect.any(Number), refused: expect.any(Number) });
});
