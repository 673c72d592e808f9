/**
 * Every section of the account page, and each form that its pages have: which sign-ins see the page, and which forms change something. The
 * sections come from the extensions and the forms from the pages, so a new section is in these tests. Sections that differ are in one
 * table, with the reason.
 */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { locales } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { Agent, type Answer, authorizeUrl, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol } from '../support/sign-in/factors.js';
import { impersonatingAt } from '../support/sign-in/impersonating.js';
import { pkce } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import {
  formsOf,
  formsOfSection,
  type PressedForm,
  pagesOfSection,
  type Questions,
  questionsOf,
  type SectionPage,
  SectionWorld,
  type Subject,
  sections,
} from './sections.js';

/** Sign-ins that are refused on a page, unless the section is an exception. */
type Refused = 'an hour ago' | 'without the factor';

const looks = 'shows data, and what its forms end needs no recent sign-in';
/** Sections that accept a sign-in which others refuse, with the reason. */
const exceptions: Readonly<Record<string, Partial<Readonly<Record<Refused, string>>>>> = {
  sessions: { 'an hour ago': looks, 'without the factor': looks },
  applications: { 'an hour ago': looks, 'without the factor': looks },
  signIns: { 'an hour ago': looks, 'without the factor': looks },
  ciba: { 'an hour ago': 'each request has its own rule for the sign-in', 'without the factor': 'each request has its own rule' },
  'linked-accounts': {
    'an hour ago': 'lists accounts, and each step that changes a link asks for a new sign-in',
    'without the factor': 'lists accounts, and each step that changes a link asks for the factor',
  },
};
const isExcepted = ({ name }: SectionPage, refused: Refused): boolean => exceptions[name]?.[refused] !== undefined;

const store = memoryDirectory();
const world = new SectionWorld(() => service);
const artifacts = memoryArtifacts();
/** Counters of attempts that requests raised, with their windows. */
const counters = new Map<Parameters<typeof artifacts.hit>[0], number>();
const counting: typeof artifacts = {
  ...artifacts,
  async hit(counter, window, by) {
    counters.set(counter, window);
    return artifacts.hit(counter, window, by);
  },
};
const service = useIdp(() => ({ ...world.options(), artifacts: counting, directory: store }));
const act: ReturnType<typeof impersonatingAt>['act'] = (...asked) => impersonatingAt(service).act(...asked);
beforeAll(() => passTime(0));
afterEach(backToPresent);

interface Row {
  readonly id: string;
  readonly version: number;
  readonly tid?: string;
  readonly userId?: string;
}
/** Returns everything that a form of a section could change for a user, except what changes by itself. */
async function stateOf({ email, oid, tid, child }: Subject) {
  const { idp } = service;
  const userOf = async (id: string) => {
    const found = await idp.directory.accounts.findByOid(id);
    if (!found) return undefined;
    const { pendingEvents: _, outbox: __, version: ___, updatedAt: ____, ...person } = found.person as unknown as Record<string, unknown>;
    return person;
  };
  const factors = (await store.collection<Row>('factors.enrolled').find({})).filter(({ userId }) => userId === oid);
  const sessions = await idp.sessions.list({ tid, userId: oid });
  return {
    users: [await userOf(oid), await userOf(child.oid)],
    factors: factors.map(({ id, version }) => [id, version]).toSorted(),
    sessions: sessions.map(({ id, clientIds }) => [id, clientIds.toSorted()]).toSorted(),
    consent: await idp.directory.consents.get(oid, 'third-party'),
    // A change of address begins with a mail to the former address.
    mails: world.captured.mails.filter(({ to, kind }) => to === email && kind === 'email-change').length,
  };
}
const post = (agent: Agent, { action, fields }: PressedForm, more: Record<string, string> = {}, headers?: Record<string, string>) =>
  agent.post(action, { ...fields, ...more }, headers);
const isSignIn = ({ url }: Pick<Answer, 'url'>): boolean => url.includes('/interaction/');
const open = async (agent: Agent, { path }: SectionPage): Promise<Answer> => agent.follow(await agent.get(world.at(path)));
const isPageOf = ({ path }: SectionPage, { url, status }: Answer): boolean => status === 200 && new URL(url).pathname === path;

interface Opened {
  readonly who: Subject;
  readonly agent: Agent;
  readonly forms: readonly PressedForm[];
}
/** Questions to which the forms of a section lead, by the name of the section. */
const questions = new Map<string, Questions>();
const formsFor = (agent: Agent, section: SectionPage): Promise<readonly PressedForm[]> =>
  formsOfSection(agent, world.at(section.path), section, questions.get(section.name));
/** Creates a user whose browser has just signed in, with the forms of the section. */
async function opened(section: SectionPage): Promise<Opened> {
  const who = await world.subject();
  const agent = await world.signedIn(who);
  return { who, agent, forms: await formsFor(agent, section) };
}
/** Posts each form by `send`. Returns the forms that changed something, or were answered otherwise. */
async function passedBy(
  { who, forms }: Pick<Opened, 'who' | 'forms'>,
  send: (form: PressedForm) => Promise<Answer>,
  isRight: (answer: Answer) => boolean,
): Promise<readonly unknown[]> {
  const passed: unknown[] = [];
  for (const form of forms) {
    const before = await stateOf(who);
    const answer = await send(form);
    const after = await stateOf(who);
    if (!isRight(answer) || JSON.stringify(after) !== JSON.stringify(before))
      passed.push([form.action, form.button, answer.status, titleOf(answer)]);
  }
  return passed;
}

/** Returns the text of markup, without tags. */
const plain = (markup: string): string => markup.replace(/<[^>]*>/g, '');
/** Returns the text that a page shows, with the title of its document. */
const wordsOf = ({ body }: Answer): string => plain(body.replace(/<(style|script)>.*?<\/\1>/gs, ''));
/** Notices in the addresses to which forms led, by section. */
const notices = new Set<string>();
/** Returns the entries of a page that are links: their addresses and names. */
const namedLinks = ({ body }: Answer): readonly (readonly [string, string])[] =>
  [...body.matchAll(/<a class="account" href="([^"]*)">.*?<strong>(.*?)<\/strong>/gs)].map(([, href = '', name = '']) => [
    href,
    plain(name),
  ]);

test('there are sections, and every exception is of one of them', () => {
  expect(sections.length).toBeGreaterThan(5);
  const names = sections.map(({ name }) => name);
  expect(Object.keys(exceptions).filter((name) => !names.includes(name))).toEqual([]);
});

test('the account page leads to every section, and the pages have forms', async () => {
  const who = await world.subject();
  const agent = await world.signedIn(who);
  const account = await agent.get(world.at('/idp/account'));
  expect(sections.filter(({ path }) => !account.body.includes(`href="${world.at(path)}"`))).toEqual([]);
  const found = await Promise.all(sections.map((section) => formsFor(agent, section)));
  expect(found.flat().length).toBeGreaterThan(6);
});

test.each(locales)(
  '%s: the heading of each page is its name on the account page, and the page leads back to the account page',
  async (language) => {
    const who = await world.subject();
    const agent = await world.signedIn(who, new Agent({ 'accept-language': language }));
    const account = await agent.get(world.at('/idp/account'));
    const named = new Map(namedLinks(account));
    for (const section of sections) {
      const page = await open(agent, section);
      const leadsBack = page.body.includes(`href="${world.at('/idp/account')}"`);
      expect([section.name, titleOf(page), leadsBack]).toEqual([section.name, named.get(world.at(section.path)), true]);
    }
    const pages = await Promise.all(sections.map((section) => pagesOfSection(agent, world.at(section.path), section)));
    expect(pages.flat().length).toBeGreaterThan(sections.length);
    expect(pages.flat().filter(({ body }) => !body.includes(`href="${world.at('/idp/account')}"`))).toEqual([]);
    expect(account.body).not.toContain(`href="${world.at('/idp/account')}"`);
  },
);

test('each section asks for a sign-in to “your account”, and names no host', async () => {
  for (const section of [...sections, { name: 'account', path: '/idp/account' }]) {
    const page = await open(new Agent(), section);
    expect([section.name, isSignIn(page), titleOf(page)]).toEqual([section.name, true, 'Sign in to your account']);
    expect([section.name, wordsOf(page).includes(new URL(service.issuer).host)]).toEqual([section.name, false]);
  }
});

test('an application that has the name of the host is named, as every other application', async () => {
  const { clients } = service.idp.directory;
  const name = new URL(service.issuer).host;
  const before = (await clients.get('web'))?.name ?? '';
  await clients.update('web', { name });
  const agent = new Agent();
  expect(titleOf(await agent.follow(await agent.get(authorizeUrl(service.issuer, pkce))))).toBe(`Sign in to ${name}`);
  await clients.update('web', { name: before });
});

describe.each(sections)('the section $name', (section) => {
  beforeAll(async () => {
    const { agent, forms } = await opened(section);
    questions.set(section.name, await questionsOf(agent, forms));
  });

  test('is shown after a sign-in, and leads to a sign-in without one', async () => {
    const { agent } = await opened(section);
    expect(isPageOf(section, await open(agent, section))).toBe(true);
    expect(isSignIn(await open(new Agent(), section))).toBe(true);
  });

  test('with a sign-in of an hour ago, asks for a new one and changes nothing', async () => {
    const here = await opened(section);
    passTime(3_600);
    const shown = await open(here.agent, section);
    if (isExcepted(section, 'an hour ago')) return expect(isPageOf(section, shown)).toBe(true);
    expect(isSignIn(shown)).toBe(true);
    expect(await passedBy(here, async (form) => here.agent.follow(await post(here.agent, form)), isSignIn)).toEqual([]);
  });

  test('without the factor of the user, asks for it and changes nothing', async () => {
    const who = await world.subject();
    const proven = new Agent();
    await enrol(proven, world.begin({ acr_values: 'mfa' }), who.email, 'old');
    passTime(5);
    const forms = await formsFor(proven, section);
    const agent = await world.byEid(who);
    const isChallenge = (answer: Answer): boolean => titleOf(answer) === 'Confirm that it is you';
    const shown = await open(agent, section);
    if (isExcepted(section, 'without the factor')) return expect(isPageOf(section, shown)).toBe(true);
    expect(titleOf(shown)).toBe('Confirm that it is you');
    expect(await passedBy({ who, forms }, async (form) => agent.follow(await post(agent, form)), isChallenge)).toEqual([]);
  });

  test('is refused to an impersonator, and so are its forms', async () => {
    const { who, forms } = await opened(section);
    const { agent } = await act(who.email);
    const isRefused = ({ status, body }: Answer): boolean => status === 403 && body.includes('Not while you act as somebody else');
    expect(isRefused(await agent.get(world.at(section.path)))).toBe(true);
    expect(await passedBy({ who, forms }, (form) => post(agent, form), isRefused)).toEqual([]);
    // The operator opened these forms before the impersonation, in the same browser.
    const operator = new Agent();
    await signIn(operator, world.begin(), 'otto@acme.test', 'otto');
    const own = await formsFor(operator, section);
    await act(who.email, { agent: operator });
    expect(await passedBy({ who, forms: own }, (form) => post(operator, form), isRefused)).toEqual([]);
  });

  test('shows a linked child account what is its own, and changes nothing of the parent account', async () => {
    const { who, forms } = await opened(section);
    const agent = new Agent();
    await signIn(agent, world.begin({ acr_values: `tenant:${who.child.tid}` }), who.child.userName, 'old');
    const shown = await open(agent, section);
    expect(isPageOf(section, shown)).toBe(true);
    const sessions = await service.idp.sessions.list({ tid: who.tid, userId: who.oid });
    const foreign = [...sessions.map(({ id }) => id), `of-${who.oid}`, 'Third party'];
    expect(foreign.filter((text) => shown.body.includes(text))).toEqual([]);
    const csrf = formsOf(shown)[0]?.fields.csrf ?? 'x';
    // Forms of the child account, with the buttons of the parent account.
    const ofParent = async () => {
      const { users, mails: _, ...state } = await stateOf(who);
      return { ...state, user: users[0] };
    };
    const before = await ofParent();
    for (const form of forms) expect((await post(agent, form, { csrf })).status).toBeLessThan(500);
    expect(await ofParent()).toEqual(before);
  });

  test('after the user was disabled, leads to a sign-in and changes nothing', async () => {
    const here = await opened(section);
    await service.idp.tenant(here.who.tid).users.disable(here.who.oid);
    passTime(2);
    expect(isSignIn(await open(here.agent, section))).toBe(true);
    const isRefused = (answer: Answer): boolean => answer.status === 403 || isSignIn(answer);
    expect(await passedBy(here, async (form) => here.agent.follow(await post(here.agent, form)), isRefused)).toEqual([]);
  });

  test('its forms change nothing with another token, from another site, and in another browser', async () => {
    const here = await opened(section);
    const isRefused = ({ status }: Answer): boolean => status === 403 || status === 400;
    expect(await passedBy(here, (form) => post(here.agent, form, { csrf: 'x' }), isRefused)).toEqual([]);
    const crossSite = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
    expect(await passedBy(here, (form) => post(here.agent, form, {}, crossSite), isRefused)).toEqual([]);
    const stranger = await world.signedIn(await world.subject());
    expect(await passedBy(here, (form) => post(stranger, form), isRefused)).toEqual([]);
  });

  test('a link says in no other browser, and to no other account, what a form has done', async () => {
    const { forms } = await opened(section);
    for (let index = 0; index < forms.length; index += 1) {
      // A user for each form, because the form may end the session.
      const { who, agent } = await opened(section);
      const form = (await formsFor(agent, section))[index];
      const { location = '' } = form ? await post(agent, form) : {};
      const [address = '', notice] = location.split('?');
      if (notice === undefined || address !== world.at(section.path)) continue;
      const strangers = [await world.signedIn(who), await world.signedIn(await world.subject())];
      for (const stranger of strangers) {
        const [told, untold] = [await stranger.get(location), await stranger.get(address)];
        expect([form?.button, wordsOf(told)]).toEqual([form?.button, wordsOf(untold)]);
      }
      notices.add(`${section.name} ${notice.replace(/\..*/, '')}`);
    }
  });

  test('takes a hundred forms of a session in an hour, and of another session as many', async () => {
    const { who, agent, forms } = await opened(section);
    const [form] = forms;
    if (!form) return;
    counters.clear();
    expect((await post(agent, form, { csrf: 'x' })).status).not.toBe(429);
    for (const [counter, window] of [...counters]) await artifacts.hit(counter, window, 98);
    expect((await post(agent, form, { csrf: 'x' })).status).not.toBe(429);
    const before = await stateOf(who);
    const refused = await post(agent, form);
    expect([refused.status, titleOf(refused)]).toEqual([429, 'Too many changes at a time']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await stateOf(who)).toEqual(before);
    const other = await world.signedIn(who);
    expect((await post(other, form, { csrf: 'x' })).status).not.toBe(429);
  });

  test('two tabs that post a form at the same time get answers, and so does a third afterwards', async () => {
    const { forms } = await opened(section);
    for (let index = 0; index < forms.length; index += 1) {
      // A user for each form, because the form may end the session.
      const { agent } = await opened(section);
      const [one, two] = [await formsFor(agent, section), await formsFor(agent, section)];
      const pair = [one[index], two[index]].filter((form) => form !== undefined);
      const answers = await Promise.all(pair.map((form) => post(agent, form)));
      const last = pair[0] && (await post(agent, pair[0], { again: 'yes' }));
      for (const { status } of [...answers, ...(last ? [last] : [])])
        expect([forms[index]?.button, [200, 303, 400, 403, 404, 409, 429].includes(status) ? 'right' : status]).toEqual([
          forms[index]?.button,
          'right',
        ]);
    }
  });
});

test('forms of sections led to notices', () =>
  expect([...notices].toSorted()).toEqual(['applications done=signed-out', 'applications done=withdrawn']));
