/** Security table M4, M5, M6, M11, M16: guessing is slow, reveals nothing, and locks no user out of an account that their browser knows. */
import { createHook } from 'node:async_hooks';
import { afterAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { Agent, type Answer, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { responseOf } from '../support/client/steps.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const PROVING = process.env.PROVE !== undefined;

/** Limits: lower than by default in the suite, because each attempt costs one hash or three. */
const [perName, perAddress, perOwner] = PROVING ? [10, 100, 100] : [3, 12, 4];

/** Number of password hashes begun so far. */
let hashes = 0;
const counter = createHook({
  init(_id, type) {
    if (type === 'SCRYPTREQUEST') hashes += 1;
  },
}).enable();
/** Number of times that a counter was increased so far. */
let hits = 0;

const person = (userName: string, devPassword: string) => ({ givenName: 'G', familyName: 'N', user: { userName, devPassword } });
const tenants = {
  closed: '00000000-0000-7000-8000-0000000000c1',
  open: ['a', 'b', 'c', 'd'].map((letter) => `00000000-0000-7000-8000-0000000000${letter}0`),
};
const idp = useIdp(() => {
  const artifacts = memoryArtifacts();
  const closed = {
    id: tenants.closed,
    name: 'Closed AS',
    organisationNumber: '987 654 321',
    persons: [
      ...['victim', 'owner', 'second', 'locked', 'crowded', 'fourth', 'spread'].map((name) => person(`${name}@closed.test`, 'right')),
      ...Array.from({ length: 6 }, (_, index) => person(`p${index}@closed.test`, 'right')),
    ],
  };
  const open = tenants.open.map((id, index) => ({
    id,
    name: `Open ${index}`,
    signIn: { selfRegistration: true },
    persons: [
      person('fourth@closed.test', `own ${index}`),
      ...(index === 0 ? [person('second@closed.test', 'namesake'), person('spread@closed.test', 'other')] : []),
    ],
  }));
  return {
    trustProxy: true,
    seed: { ...testSeed, tenants: [...testSeed.tenants, ...open, closed] } as unknown as typeof testSeed,
    limits: PROVING ? {} : { signInFailures: perName, signInFailuresPerAddress: perAddress, signInFailuresPerAccount: perOwner },
    artifacts: {
      ...artifacts,
      hit(...call) {
        hits += 1;
        return artifacts.hit(...call);
      },
    },
  };
});
afterAll(() => void counter.disable());

let addresses = 0;
const newAddress = () => {
  addresses += 1;
  return `198.51.${addresses >> 8}.${addresses & 255}`;
};
const url = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(idp.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
/** Parameters that leave one tenant, so that each attempt costs one hash. */
const narrowed = { acr_values: `tenant:${tenants.closed}` };

interface Form {
  readonly agent: Agent;
  readonly action: string;
  readonly fields: Record<string, string>;
}
/** Returns the password page of a browser, ready to be sent. */
async function passwordForm(agent: Agent, parameters: Record<string, string | undefined> = {}): Promise<Form> {
  const first = await agent.follow(await agent.get(url(parameters)));
  return { agent, ...formOf(await agent.submit(first, { identifier: 'x' })) };
}
const browserAt = (address = newAddress()) => new Agent({ 'x-forwarded-for': address });
let sent = 0;
const counted = (): string => {
  sent += 1;
  return String(sent);
};
/** Sends the form. Each submission differs from earlier ones, because a form that is sent twice is evaluated once. */
const send = ({ agent, action, fields }: Form, identifier: string, password: string, headers: Record<string, string> = {}, more = {}) =>
  agent.post(action, { ...fields, identifier, password, sent: counted(), ...more }, headers);
const isIn = ({ status }: Answer) => status === 303;
const statuses = (answers: readonly Answer[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
/** Returns a browser that knows the account, because the user has signed in there. */
async function knownBrowser(
  userName: string,
  parameters: Record<string, string | undefined> = narrowed,
  password = 'right',
): Promise<Agent> {
  const agent = browserAt();
  const answer = await send(await passwordForm(agent, parameters), userName, password);
  expect(isIn(answer)).toBe(true);
  expect(responseOf(await agent.follow(answer)).get('code')).not.toBeNull();
  return agent;
}
/** Returns a page without the parts that differ from one sign-in to the next. */
const masked = ({ status, body, headers }: Answer, identifier: string) => ({
  status,
  headers: [...headers].filter(([name]) => !['date', 'set-cookie', 'content-length'].includes(name)),
  body: body
    .replace(/name="csrf" value="[^"]*"/g, '')
    .replace(/interaction\/[\w-]+/g, 'interaction')
    .replace(/(<span class="avatar"[^>]*>)\w+/g, '$1')
    .replaceAll('<wbr>', '')
    .replaceAll(identifier, '')
    .replaceAll(identifier, ''),
});

describe('M4: what anybody sees is the same for every name', () => {
  test('unknown, known, linked, in one tenant or another: the same answers, bytes, counters and hashes, up to the limit and past it', async () => {
    const names = ['nobody@none.test', 'victim@closed.test', 'alice@globex.test', 'bob@globex.test', 'spread@closed.test'];
    const seen: unknown[] = [];
    for (const name of names) {
      const form = await passwordForm(browserAt());
      const before = { hashes, hits };
      const wrong = masked(await send(form, name, 'wrong'), name);
      const cost = { hashes: hashes - before.hashes, hits: hits - before.hits };
      const answers: Answer[] = [];
      // Attempts count by the typed name, so a name that exists in another tenant costs nothing more.
      for (let round = 0; round < perName - 1; round += 1) answers.push(await send(form, name, ''.padEnd(128, 'x')));
      const past = await send(form, name, 'wrong');
      seen.push({ wrong, cost, statuses: statuses(answers), past: masked(past, name) });
    }
    expect(seen[0]).toMatchObject({
      wrong: { status: 400 },
      cost: { hashes: 3, hits: 5 },
      statuses: { 400: perName - 1 },
      past: { status: 429 },
    });
    for (const each of seen) expect(each).toEqual(seen[0]);
  });

  test('M16: the number of hashes depends on the request: one where one tenant is left, else three', async () => {
    for (const [parameters, expected] of [
      [narrowed, 1],
      [{}, 3],
    ] as const)
      for (const name of ['nobody@none.test', 'victim@closed.test', 'spread@closed.test', 'alice@acme.test']) {
        const form = await passwordForm(browserAt(), parameters);
        const before = hashes;
        await send(form, name, 'wrong');
        expect([name, hashes - before]).toEqual([name, expected]);
      }
  });

  test('who is locked is answered like a wrong password, in the same bytes, with as many counters and hashes', async () => {
    const name = 'locked@closed.test';
    const before = { hashes, hits };
    const first = await send(await passwordForm(browserAt(), narrowed), name, 'wrong');
    const cost = { hashes: hashes - before.hashes, hits: hits - before.hits };
    for (let round = 1; round < perOwner; round += 1)
      expect((await send(await passwordForm(browserAt(), narrowed), name, 'wrong')).status).toBe(400);
    const at = { hashes, hits };
    const form = await passwordForm(browserAt(), narrowed);
    const right = await send(form, name, 'right');
    expect(masked(right, name)).toEqual(masked(first, name));
    expect({ hashes: hashes - at.hashes, hits: hits - at.hits }).toEqual(cost);
    // Another user is not affected.
    expect(isIn(await send(await passwordForm(browserAt(), narrowed), 'owner@closed.test', 'right'))).toBe(true);
  });
});

describe('M6: addresses are counted as who has them', () => {
  test('of many guesses from one /64, at as many names, the limit of an address is looked at', async () => {
    const form = await passwordForm(browserAt(), narrowed);
    const count = PROVING ? 500 : 40;
    const before = hashes;
    const answers: Answer[] = [];
    for (let index = 0; index < count; index += 5)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 5 }, (_, each) =>
            send(form, `name ${index + each}`, 'wrong', { 'x-forwarded-for': `2001:db8:6:6:${(index + each).toString(16)}::1` }),
          ),
        )),
      );
    expect(statuses(answers)).toEqual({ 400: perAddress, 429: count - perAddress });
    expect(hashes - before).toBe(perAddress);
    expect((await send(form, 'another', 'wrong', { 'x-forwarded-for': '2001:db8:6:7::1' })).status).toBe(400);
  });

  test('an address written otherwise is the same', async () => {
    const form = await passwordForm(browserAt(), narrowed);
    const spellings = ['203.0.113.66', '::ffff:203.0.113.66', '203.0.113.66:4711', '[::ffff:cb00:7142]:80', '::FFFF:203.0.113.66'];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        send(form, 'p0@closed.test', 'wrong', { 'x-forwarded-for': spellings[index % 5] as string }),
      ),
    );
    expect(statuses(answers)).toEqual({ 400: perName, 429: 20 - perName });
  });
});

describe('M5: a success gives back what it counted itself, and nothing else', () => {
  test('a namesake’s sign-ins give no further guesses', async () => {
    const address = newAddress();
    const form = () => passwordForm(browserAt(address));
    const guesses: number[] = [];
    // Another account of the same name signs in between the guesses, in a browser that is not the attacker's.
    for (let round = 0; round < perName + 6; round += 1) {
      guesses.push((await send(await form(), 'second@closed.test', `guess ${round}`)).status);
      if (round % 3 === 2) await send(await form(), 'second@closed.test', 'namesake');
    }
    expect(guesses.filter((status) => status === 400)).toHaveLength(perName);
  });

  test('sign-ins that succeed do not add up to a limit', async () => {
    const address = newAddress();
    for (let round = 0; round < perName + 2; round += 1)
      expect(isIn(await send(await passwordForm(browserAt(address), narrowed), 'p1@closed.test', 'right'))).toBe(true);
  });
});

describe('a browser that signed in to an account', () => {
  const strangersAt = async (address: string, name: string) => {
    const form = await passwordForm(browserAt(address), narrowed);
    for (let round = 0; round < perName; round += 1) expect((await send(form, name, 'wrong')).status).toBe(400);
    expect((await send(form, name, 'right')).status).toBe(429);
  };
  /** Returns the browser, at the address of the strangers. */
  const at = (agent: Agent, address: string) => Object.assign(agent, { headers: { ...agent.headers, 'x-forwarded-for': address } });

  test('M11: signs in when strangers at its address have used up the attempts; other browsers do not', async () => {
    const address = newAddress();
    const agent = at(await knownBrowser('p2@closed.test'), address);
    await strangersAt(address, 'p2@closed.test');
    const form = await passwordForm(agent, { ...narrowed, prompt: 'login' });
    expect(isIn(await send(form, 'p2@closed.test', 'right'))).toBe(true);
    expect((await send(await passwordForm(browserAt(address), narrowed), 'p2@closed.test', 'right')).status).toBe(429);
  });

  test('M11: signs in when the account is locked for strangers', async () => {
    const agent = await knownBrowser('p3@closed.test');
    for (let round = 0; round <= perOwner; round += 1) await send(await passwordForm(browserAt(), narrowed), 'p3@closed.test', 'wrong');
    expect((await send(await passwordForm(browserAt(), narrowed), 'p3@closed.test', 'right')).status).toBe(400);
    expect(isIn(await send(await passwordForm(agent, { ...narrowed, prompt: 'login' }), 'p3@closed.test', 'right'))).toBe(true);
  });

  test('has a budget of its own, which ends too, and which its success makes whole', async () => {
    const address = newAddress();
    const agent = at(await knownBrowser('p4@closed.test'), address);
    await strangersAt(address, 'p4@closed.test');
    const again = () => passwordForm(agent, { ...narrowed, prompt: 'login' });
    const form = await again();
    for (let round = 0; round < perName - 1; round += 1) expect((await send(form, 'p4@closed.test', 'wrong')).status).toBe(400);
    expect(isIn(await send(form, 'p4@closed.test', 'right'))).toBe(true);
    const answers: Answer[] = [];
    const next = await again();
    for (let round = 0; round < perName + 2; round += 1) answers.push(await send(next, 'p4@closed.test', 'wrong'));
    expect(statuses(answers)).toEqual({ 400: perName, 429: 2 });
    expect((await send(next, 'p4@closed.test', 'right')).status).toBe(429);
  });

  test('M5: tries that account alone past the limit, not its namesakes', async () => {
    const address = newAddress();
    const agent = at(await knownBrowser('second@closed.test', {}, 'namesake'), address);
    await strangersAt(address, 'second@closed.test');
    const form = await passwordForm(agent, { prompt: 'login' });
    const before = hashes;
    expect((await send(form, 'second@closed.test', 'right')).status).toBe(400);
    expect(hashes - before).toBe(1);
    expect(isIn(await send(form, 'second@closed.test', 'namesake'))).toBe(true);
  });

  test.each([
    ['one after the other', false],
    ['with its own sign-ins between them', true],
  ])('M5: of the wrong guesses of a namesake’s browser, %s, those within the limit are evaluated for the others', async (_, isMixed) => {
    const address = newAddress();
    // Attempts at an account count over all addresses, so other tests may have used up the attempts at another account.
    const name = `mixed-${isMixed}@closed.test`;
    for (const [tid, password] of [
      [tenants.closed, 'right'],
      [tenants.open[1] ?? '', 'namesake'],
    ] as const) {
      const user = { userName: name, status: 'active' as const };
      const made = await idp.idp.tenant(tid).persons.create({ givenName: 'M', familyName: 'N', user });
      await idp.idp.directory.credentials.seedPassword(made.user?.id ?? '', password);
    }
    const agent = at(await knownBrowser(name, {}, 'namesake'), address);
    let evaluated = 0;
    for (let round = 0; round < perName + 3; round += 1) {
      const form = await passwordForm(agent, { prompt: 'login' });
      const before = hashes;
      expect(isIn(await send(form, name, `guess ${round}`))).toBe(false);
      // An attempt takes three hashes with the accounts of strangers, and one hash with the browser's own account alone.
      if (hashes - before > 1) evaluated += 1;
      if (isMixed) expect(isIn(await send(form, name, 'namesake'))).toBe(true);
    }
    expect(evaluated).toBe(perName);
    expect(isIn(await send(await passwordForm(agent, { prompt: 'login' }), name, 'right'))).toBe(false);
  });

  test('M1: the proof is of no use in another browser', async () => {
    const address = newAddress();
    const agent = at(await knownBrowser('p5@closed.test'), address);
    await strangersAt(address, 'p5@closed.test');
    const thief = browserAt(address);
    const form = await passwordForm(thief, narrowed);
    for (const [key, cookie] of agent.cookies) if (key.startsWith('idp.accounts')) thief.cookies.set(key, cookie);
    expect([...thief.cookies.keys()].some((key) => key.startsWith('idp.accounts'))).toBe(true);
    expect((await send(form, 'p5@closed.test', 'right')).status).toBe(429);
    expect(isIn(await send(await passwordForm(agent, { ...narrowed, prompt: 'login' }), 'p5@closed.test', 'right'))).toBe(true);
  });
});

describe('M11: namesakes', () => {
  const register = async (tid: string, email: string, agent = browserAt()) => {
    const page = await agent.follow(await agent.get(url({ prompt: 'create', acr_values: `tenant:${tid}` })));
    return agent.submit(page, { givenName: 'M', familyName: 'N', email, password: 'a password of a namesake' });
  };

  test('three accounts that strangers made under a name do not crowd out the one that was there', async () => {
    for (const tid of tenants.open.slice(0, 3)) expect(isIn(await register(tid, 'crowded@closed.test'))).toBe(true);
    expect(isIn(await send(await passwordForm(browserAt()), 'crowded@closed.test', 'right'))).toBe(true);
  });

  test('the fourth of a name signs in once it says its organisation, by name or number', async () => {
    const name = 'fourth@closed.test';
    const agent = browserAt();
    const form = await passwordForm(agent);
    expect(form.fields).not.toHaveProperty('organisation');
    // One of the five accounts is not tried. The organisation selects each of them.
    const page = await send(form, name, 'nobody’s');
    expect(formOf(page).fields).toHaveProperty('organisation', '');
    for (const [organisation, password] of [
      ['closed as', 'right'],
      ['987654321', 'right'],
      ['Open 3', 'own 3'],
      ['open 0', 'own 0'],
    ] as const) {
      const other = await passwordForm(browserAt());
      expect([organisation, isIn(await send(other, name, password, {}, { organisation }))]).toEqual([organisation, true]);
    }
    const wrong = await send(form, name, 'right', {}, { organisation: 'Open 0' });
    expect(formOf(wrong).fields).toHaveProperty('organisation', 'Open 0');
    expect(wrong.status).toBe(400);
  });

  test('every mismatch page asks for it, and lists none', async () => {
    for (const parameters of [{}, narrowed, { ui_locales: 'fi' }])
      for (const name of ['nobody@none.test', 'victim@closed.test', 'spread@closed.test']) {
        const page = await send(await passwordForm(browserAt(), parameters), name, 'wrong');
        expect(page.body).toMatch(/<input id="organisation" name="organisation" type="text"(?![^>]*required)/);
        expect(page.body).not.toMatch(/<select|<datalist|Open 0/);
      }
  });
});

test('registering counts as well: by name and address, and by address', async () => {
  const address = newAddress();
  const [tid = ''] = tenants.open;
  const agent = browserAt(address);
  const page = await agent.follow(await agent.get(url({ prompt: 'create', acr_values: `tenant:${tid}` })));
  const { action, fields } = formOf(page);
  const attempt = (email: string) => agent.post(action, { ...fields, givenName: 'A', familyName: 'B', email, password: 'short' });
  const one: Answer[] = [];
  for (let round = 0; round < perName + 2; round += 1) one.push(await attempt(round % 2 ? 'NEW@open.test' : 'new@open.test'));
  expect(statuses(one)).toEqual({ 400: perName, 429: 2 });
  const many: Answer[] = [];
  for (let round = 0; round < perAddress; round += 1) many.push(await attempt(`new${round}@open.test`));
  expect(statuses(many)).toEqual({ 400: perAddress - perName, 429: perName });
  // Registrations and sign-ins share one count.
  expect((await send(await passwordForm(browserAt(address), narrowed), 'victim@closed.test', 'right')).status).toBe(429);
});
