import { createHook } from 'node:async_hooks';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json, signIn } from '../support/client/agent.js';
import { obtainCode, redeem, responseOf } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { expectNothingInternal, expectQuietLog } from '../support/service/leaks.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

let jobs = 0;
/** Returns the number of password hashes begun so far. */
const hashes = () => jobs;
const counter = createHook({
  init(_id, type) {
    if (type === 'SCRYPTREQUEST') jobs += 1;
  },
}).enable();

const guests = [
  { givenName: 'Dora', familyName: 'Disabled', user: { userName: 'dora@acme.test', devPassword: 'dora' } },
  { givenName: 'Dana', familyName: 'None', user: { userName: 'dana@acme.test' } },
  { givenName: 'Dina', familyName: 'Dale', user: { userName: 'dina@acme.test', devPassword: 'dina' } },
  ...Array.from({ length: 3 }, (_, index) => ({
    givenName: 'Guess',
    familyName: `${index}`,
    user: { userName: `guess${index}@acme.test`, devPassword: 'right' },
  })),
];
const service = useIdp({
  seed: { ...testSeed, tenants: [...testSeed.tenants, { name: 'Initech', persons: guests }] },
  trustProxy: true,
});
beforeAll(async () => {
  const [dora] = await service.idp.directory.accounts.candidates('dora@acme.test');
  const { person, tenant } = dora as NonNullable<typeof dora>;
  await service.idp.tenant(tenant.id).users.disable(person.user.id);
});
afterAll(() => void counter.disable());

const url = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
let addresses = 0;
/** Returns a browser at an address of its own. */
const browser = () => {
  addresses += 1;
  return new Agent({ 'x-forwarded-for': `192.0.2.${addresses}` });
};
const begin = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(url(parameters)));
const passwordPage = async (agent: Agent, identifier: string) => agent.submit(await begin(agent), { identifier });
const isSignedIn = async (agent: Agent): Promise<boolean> => responseOf(await agent.get(url({ prompt: 'none' }))).get('code') !== null;
/** Returns a page without the parts that differ from one sign-in to the next. */
const masked = ({ status, body, headers }: Answer, identifier: string) => ({
  status,
  headers: [...headers].filter(([name]) => !['date', 'set-cookie'].includes(name)),
  body: body
    .replace(/name="csrf" value="[^"]*"/g, '')
    .replace(/interaction\/[\w-]+/g, 'interaction')
    .replaceAll('<wbr>', '')
    .replaceAll(identifier, '')
    .replaceAll(identifier, ''),
});

describe('G1: a form counts only where our page was, and GET changes nothing', () => {
  const steps = ['identifier', 'password', 'organisation', 'consent'];

  test.each(steps)('G1: %s without its token, with another’s, or from another site, is 403', async (step) => {
    const agent = browser();
    const page = await begin(agent);
    const { csrf = '' } = formOf(page).fields;
    const foreign = formOf(await begin(browser())).fields.csrf as string;
    const second = formOf(await begin(agent)).fields.csrf as string;
    const fields = { identifier: 'alice@acme.test', password: 'alice', choice: 'x', decision: 'allow' };
    const attempts: [Record<string, string>, Record<string, string>][] = [
      [{}, {}],
      [{ csrf: '' }, {}],
      [{ csrf: foreign }, {}],
      [{ csrf: second }, {}],
      [{ csrf: `${csrf}x` }, {}],
      [{ csrf: csrf.slice(1) }, {}],
      [{ 'csrf[]': csrf }, {}],
      [{ csrf }, { 'sec-fetch-site': 'cross-site' }],
      [{ csrf }, { 'sec-fetch-site': 'same-site' }],
      [{ csrf }, { 'sec-fetch-site': 'none' }],
      [{ csrf }, { origin: 'https://evil.example' }],
      [{ csrf }, { origin: `${service.issuer}.evil.example` }],
      [{ csrf }, { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ];
    for (const [token, headers] of attempts) {
      const answer = await agent.post(`${page.url}/${step}`, { ...fields, ...token }, headers);
      expect({ token, headers, status: answer.status, location: answer.location }).toEqual({
        token,
        headers,
        status: 403,
        location: undefined,
      });
      expectNothingInternal(answer.body, ['alice@acme.test', csrf]);
    }
    expect(await isSignedIn(agent)).toBe(false);
    // The sign-in itself is unchanged.
    const proven = await agent.post(
      `${page.url}/password`,
      { ...fields, csrf },
      { origin: service.issuer, 'sec-fetch-site': 'same-origin' },
    );
    expect(responseOf(await agent.follow(proven)).get('code')).not.toBeNull();
  });

  test('G1: the same by JSON, text or multipart is no form', async () => {
    const agent = browser();
    const page = await begin(agent);
    const { csrf = '' } = formOf(page).fields;
    const fields = { csrf, identifier: 'alice@acme.test', password: 'alice' };
    for (const [type, body] of [
      ['application/json', JSON.stringify(fields)],
      ['text/plain', new URLSearchParams(fields).toString()],
      [
        'multipart/form-data; boundary=x',
        Object.entries(fields)
          .map(([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
          .join(''),
      ],
    ] as const)
      expect((await agent.request(`${page.url}/password`, { method: 'POST', headers: { 'content-type': type }, body })).status).toBe(403);
  });

  test('G1: no step happens by GET, nor by another method', async () => {
    const agent = browser();
    const page = await begin(agent);
    const query = new URLSearchParams({ ...formOf(page).fields, identifier: 'alice@acme.test', password: 'alice', decision: 'allow' });
    for (const step of steps)
      for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const answer = await agent.request(`${page.url}/${step}?${query}`, { method });
        expect({ step, method, status: answer.status < 500, location: answer.location }).toEqual({
          step,
          method,
          status: true,
          location: undefined,
        });
      }
    expect(await isSignedIn(agent)).toBe(false);
    await agent.get(`${page.url}?restart=yes`);
    expect((await agent.get(page.url)).status).toBe(200);
  });
});

describe('G2: nobody learns which accounts there are', () => {
  const unknown = 'dave@acme.test';
  const identifiers = [unknown, 'dina@acme.test', 'dora@acme.test', 'dana@acme.test'];

  test('G2: an unknown, a disabled and a password-less user get the bytes of a wrong password, and cost as many hashes', async () => {
    const seen: Json[] = [];
    for (const identifier of identifiers) {
      const agent = browser();
      const page = await passwordPage(agent, identifier);
      const before = hashes();
      const wrong = await agent.submit(page, { password: identifier.startsWith('dora') ? 'dora' : 'wrong' });
      seen.push({ page: masked(page, identifier), wrong: masked(wrong, identifier), hashes: hashes() - before });
    }
    expect(seen[0]).toMatchObject({ page: { status: 200 }, wrong: { status: 400 }, hashes: 3 });
    for (const each of seen) expect(each).toEqual(seen[0]);
  });

  test('G2: nor from awkward names and passwords', async () => {
    const agent = browser();
    for (const identifier of ['x'.repeat(300), '\u202e\0', '__proto__', '{"$ne":null}', 'a@b.c\r\nx: y', '<b>', '%00']) {
      const answer = await agent.submit(await passwordPage(agent, identifier), { password: 'x'.repeat(2000) });
      expect(answer).toMatchObject({ status: 400, location: undefined });
      expectNothingInternal(answer.body);
    }
  });
});

describe('G3: guessing is slow, however many try at once', () => {
  const evaluated = async (answers: readonly Answer[]) => answers.filter(({ status }) => status === 400 || status === 303).length;
  const guess = (
    agent: Agent,
    page: Answer,
    count: number,
    password = 'wrong',
    headers: (index: number) => Record<string, string> = () => ({}),
  ) => {
    const { fields } = formOf(page);
    return Promise.all(
      Array.from({ length: count }, (_, index) =>
        agent.post(page.url.replace(/identifier$/, 'password'), { ...fields, password, guess: `${index}` }, headers(index)),
      ),
    );
  };

  test('G3: of 200 at once 10 are looked at; others and other addresses are not affected', async () => {
    const agent = browser();
    const page = await passwordPage(agent, 'guess0@acme.test');
    const answers = await guess(agent, page, 200);
    expect(await evaluated(answers)).toBeLessThanOrEqual(10);
    const refused = answers.find(({ status }) => status === 429) as Answer;
    expect(refused.headers.get('content-type')).toMatch(/^text\/html/);
    expect(formOf(refused).fields).toHaveProperty('csrf');
    // Now even the right password is not evaluated.
    expect((await agent.submit(page, { password: 'right' })).status).toBe(429);
    expect(responseOf(await signIn(browser(), url(), 'guess0@acme.test', 'right')).get('code')).not.toBeNull();
    expect(responseOf(await signIn(agent, url(), 'bob@globex.test', 'bob')).get('code')).not.toBeNull();
  });

  test('G3: spelling the name otherwise does not help', async () => {
    const agent = browser();
    const spellings = ['guess1@acme.test', 'GUESS1@ACME.TEST', ' guess1@acme.test ', 'ｇuess1@acme.test', 'guess1@acme.test\u00a0'];
    const { fields, action } = formOf(await passwordPage(agent, 'guess1@acme.test'));
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        agent.post(action, { ...fields, identifier: spellings[index % 5] as string, password: 'wrong' }),
      ),
    );
    expect(await evaluated(answers)).toBeLessThanOrEqual(10);
  });

  test('G3: what a client writes itself into X-Forwarded-For does not help: the right-most counts', async () => {
    const agent = browser();
    const page = await passwordPage(agent, 'guess2@acme.test');
    const answers = await guess(agent, page, 30, 'wrong', (index) => ({ 'x-forwarded-for': `10.0.0.${index}, 198.51.100.1` }));
    expect(await evaluated(answers)).toBeLessThanOrEqual(10);
  });

  test('G3: a name made up to look like a counter locks nobody out', async () => {
    const attacker = browser();
    const { fields, action } = formOf(await passwordPage(attacker, 'x'));
    const victim = browser();
    const address = victim.headers['x-forwarded-for'];
    for (let index = 0; index < 12; index += 1)
      await attacker.post(action, { ...fields, identifier: `bob@globex.test from ${address}`, password: 'wrong' });
    expect(responseOf(await signIn(victim, url(), 'bob@globex.test', 'bob')).get('code')).not.toBeNull();
  });
});

test('G3: without trusted proxies X-Forwarded-For counts for nothing', async () => {
  const other = await startIdp();
  try {
    const agent = new Agent();
    const first = await agent.follow(
      await agent.get(authorizeUrl(other.issuer, { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' })),
    );
    const page = await agent.submit(first, { identifier: 'carol@acme.test' });
    const { fields, action } = formOf(page);
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        agent.post(
          action,
          { ...fields, password: `wrong ${index}` },
          { 'x-forwarded-for': `10.0.0.${index}`, forwarded: `for=10.0.0.${index}` },
        ),
      ),
    );
    expect(answers.filter(({ status }) => status === 400).length).toBeLessThanOrEqual(10);
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  } finally {
    await other.close();
  }
});

describe('G6: consent is to what was asked', () => {
  test('G6: a tampered form grants nothing more, to nobody else', async () => {
    const agent = browser();
    const { verifier, challenge } = createPkce();
    const page = await signIn(
      agent,
      authorizeUrl(service.issuer, {
        client_id: 'third-party',
        scope: 'openid profile',
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }),
    );
    expect(page.body).toContain('name="decision"');
    const tampered = {
      decision: 'allow',
      scope: 'openid profile email phone offline_access',
      scopes: 'email',
      grantId: 'x',
      client_id: 'web',
      clientId: 'web',
      oid: '00000000-0000-0000-0000-000000000000',
      claims: '{"id_token":{"email":null}}',
      rejected: '',
    };
    const answer = await agent.follow(await agent.submit(page, tampered));
    const { json } = await redeem(service.issuer, { client: 'third-party', code: responseOf(answer).get('code') as string, verifier });
    expect(json.scope).toBe('openid profile');
    expect(json.refresh_token).toBeUndefined();
    const again = await agent.follow(await agent.get(url({ client_id: 'third-party', scope: 'openid profile email' })));
    expect(again.body).toContain('name="decision"');
  });

  test('G6: anything but allow is a no', async () => {
    for (const decision of ['deny', '', 'ALLOW', 'allow ']) {
      const agent = browser();
      const page = await signIn(agent, url({ client_id: 'third-party', scope: 'openid email' }), 'carol@acme.test', 'carol');
      const answer = await agent.follow(await agent.submit(page, { decision }));
      expect(responseOf(answer).get('error')).toBe('access_denied');
    }
  });

  test('G6: who was never shown the page has allowed nothing', async () => {
    const agent = browser();
    await obtainCode(service.issuer, agent);
    const login = await begin(agent, { client_id: 'third-party', scope: 'openid phone', prompt: 'login' });
    await agent.follow(await agent.post(`${login.url}/consent`, { ...formOf(login).fields, decision: 'allow' }));
    expect(responseOf(await agent.get(url({ client_id: 'third-party', scope: 'openid phone', prompt: 'none' }))).get('error')).toBe(
      'consent_required',
    );
  });
});

test('G1–G6 leave nothing in the log', () => expectQuietLog(service, ['alice@acme.test']));
