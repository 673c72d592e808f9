/**
 * Form fields with more characters than the service reads. The page reports the error at the field and keeps the typed text, and nothing
 * changes. The tests cover the forms of all sections of the account page, and every other route with a form into which users type.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { recordForms } from '../../lib/extension-door.js';
import { formsOf, pagesOfSection, SectionWorld, type Subject, sections } from '../account/sections.js';
import { invite, invitingSeed, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, signIn } from '../support/client/agent.js';
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol, submit } from '../support/sign-in/factors.js';
import { impersonatingAt } from '../support/sign-in/impersonating.js';
import { forget, linkIn, mailTo, passwordPage, pkce, pressForgotten } from '../support/sign-in/passwords.js';
import { passTime } from '../support/time/clock.js';

beforeAll(forgetRoutes);
const world = new SectionWorld(() => service);
const service = useIdp(() => {
  const { seed, ...options } = world.options();
  const personal = invitingSeed.tenants.find(({ name }) => name === 'Personal');
  const all = { ...seed, tenants: [...(seed?.tenants ?? []), personal] };
  return { ...options, seed: all as never, personalTenant };
});

const LONG = 'x'.repeat(2_000);
const MULTILINGUAL = {
  en: 'Enter at most',
  nb: 'Skriv høyst',
  sv: 'Ange högst',
  da: 'Skriv højst',
  fi: 'Kirjoita enintään',
  de: 'höchstens',
};

/** Routes of forms to which a form with an input was posted. */
const covered = new Set<string>();
const routes = (): readonly string[] =>
  recordedRoutes().flatMap(({ path, methods }) =>
    methods.includes('POST') && path.startsWith('/idp/') && !/^\/idp\/(?:api|saml)\/|\/callback$/.test(path) ? [path] : [],
  );
const routeOf = (action: string): string | undefined =>
  routes().find((path) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(new URL(action).pathname));

const problemAt = ({ body }: Answer, name: string): string =>
  new RegExp(`id="${name.replaceAll('.', '\\.')}-problem">([\\s\\S]*?)</p>`).exec(body)?.[1]?.replace(/<[^>]*>/g, '') ?? 'none';
const shownIn = ({ body }: Answer, name: string): string | undefined => {
  const [tag = ''] = new RegExp(`<input\\b[^>]*\\sname="${name.replaceAll('.', '\\.')}"[^>]*>`).exec(body) ?? [];
  return /\svalue="([^"]*)"/.exec(tag)?.[1];
};
const isPassword = ({ body }: Answer, name: string): boolean =>
  new RegExp(`<input\\b[^>]*\\sname="${name}"[^>]*type="password"`).test(body);

/** Longest values that fields may hold, by the name of the field. A search finds users by several of their names. */
const longestValues: Readonly<Record<string, number>> = (() => {
  const { person, user } = recordForms.members;
  const lengthOf = (schema: object): number => Number((schema as { readonly maxLength?: number }).maxLength);
  const [address, userName, name] = [lengthOf(person.email), lengthOf(user.userName), lengthOf(person.givenName)];
  const organisation = lengthOf(recordForms.tenant.properties.name);
  return {
    ...{ identifier: Math.max(address, userName), email: address, givenName: name, familyName: name, organisation },
    ...{ query: Math.max(address, userName, name + 1 + name), search: Math.max(userName, organisation), password: 128, current: 128 },
  };
})();
/** The maximum of each field, as its page states the maximum. */
const stated = new Map<string, number>();

/** Posts every form of a page with each of its inputs too long. Returns what is wrong with the answers. */
async function wrongOn(agent: Agent, page: Answer): Promise<readonly unknown[]> {
  const wrong: unknown[] = [];
  const forms = formsOf(page);
  // Enter presses the first button of a form. The other buttons lead to other pages.
  const first = forms.filter(({ action }, at) => forms.findIndex((other) => other.action === action) === at);
  for (const { action, fields, button, typed } of first)
    for (const name of typed) {
      covered.add(routeOf(action) ?? action);
      const answer = await agent.post(action, { ...fields, [name]: LONG });
      const problem = problemAt(answer, name);
      stated.set(name, Math.min(stated.get(name) ?? Number.POSITIVE_INFINITY, Number(/[\d,]+/.exec(problem)?.[0].replace(',', ''))));
      const kept = typed.map((each) => [each, isPassword(answer, each) ? undefined : each === name ? LONG : fields[each]]);
      const shown = typed.map((each) => [each, shownIn(answer, each)]);
      const others = [...answer.body.matchAll(/class="field-problem"/g)].length - 1;
      const isAlone = others === 0 && !answer.body.includes('role="alert"');
      if (
        answer.status !== 400 ||
        !/^Enter at most [\d,]+ characters\.$/.test(problem) ||
        JSON.stringify(kept) !== JSON.stringify(shown) ||
        !isAlone
      )
        wrong.push([
          new URL(action).pathname,
          button,
          name,
          answer.status,
          problem,
          isAlone,
          shown.map(([each, value]) => [each, value?.slice(0, 20)]),
        ]);
    }
  return wrong;
}

const begin = (parameters: Record<string, string> = {}): string => authorizeUrl(service.issuer, { ...pkce, ...parameters });
const visit = async (agent: Agent, url: string): Promise<Answer> => agent.follow(await agent.get(url));
const personOf = async ({ oid }: Pick<Subject, 'oid'>) => (await service.idp.directory.accounts.findByOid(oid))?.person;

describe.each(sections)('the section $name', (section) => {
  test('says so on each of its pages, and changes nothing', async () => {
    const who = await world.subject();
    const agent = await world.signedIn(who);
    const before = await personOf(who);
    const pages = await pagesOfSection(agent, world.at(section.path), section);
    for (const page of pages) expect([section.name, await wrongOn(agent, page)]).toEqual([section.name, []]);
    expect(await personOf(who)).toEqual(before);
  });
});

type Reached = readonly [agent: Agent, page: Answer];
/** Pages with inputs outside of the account page, and the steps by which a browser reaches them. */
const pages: Readonly<Record<string, () => Promise<Reached>>> = {
  async 'the name'() {
    const agent = new Agent();
    return [agent, await visit(agent, begin())];
  },
  async 'the password, and the organisation'() {
    const agent = new Agent();
    const page = await passwordPage(service.issuer, agent, 'alice@acme.test');
    const asked = await agent.submit(page, { password: 'wrong' });
    expect(formsOf(asked)[0]?.typed).toEqual(['password', 'organisation']);
    return [agent, asked];
  },
  async 'the search for an organisation'() {
    const { directory } = service.idp;
    let parent: { tid: string; userId: string } | undefined;
    for (let at = 0; at < 8; at += 1) {
      const { id: tid } = await directory.tenants.create({ name: `Branch ${at}` });
      const { persons, linking } = service.idp.tenant(tid);
      const { user } = await persons.create({ givenName: 'Dora', user: { userName: 'dora', status: 'active' } });
      const userId = user?.id ?? '';
      if (parent) await linking.link(userId, parent);
      else await directory.credentials.seedPassword(userId, 'of all');
      parent ??= { tid, userId };
    }
    const agent = new Agent();
    return [agent, await signIn(agent, begin(), 'dora', 'of all')];
  },
  async 'a forgotten password'() {
    const agent = new Agent();
    return [agent, await pressForgotten(agent, await passwordPage(service.issuer, agent, 'alice@acme.test'))];
  },
  async 'a reset link'() {
    await forget(service.issuer, 'carol@acme.test');
    const agent = new Agent();
    return [agent, await agent.get(linkIn(await mailTo(world.captured, 'carol@acme.test', 'password-reset')))];
  },
  async 'a new account'() {
    const tid = await tenantNamed(service.idp, 'Acme');
    await service.idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
    const agent = new Agent();
    return [agent, await visit(agent, begin({ prompt: 'create', acr_values: `tenant:${tid}` }))];
  },
  async 'a registration link in another browser'() {
    const tid = await tenantNamed(service.idp, 'Acme');
    await service.idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
    const begun = new Agent();
    const form = await visit(begun, begin({ prompt: 'create', acr_values: `tenant:${tid}` }));
    await begun.submit(form, { givenName: 'Nora', familyName: 'New', email: 'nora@new.test', password: 'long enough for anybody' });
    const agent = new Agent();
    return [agent, await agent.get(linkIn(await mailTo(world.captured, 'nora@new.test', 'registration')))];
  },
  async 'an invitation'() {
    const agent = new Agent();
    return [agent, await agent.get((await invite(service.idp)).url)];
  },
  async 'a personal account for an invitation'() {
    const agent = new Agent();
    const { url } = await invite(service.idp, { link: true });
    return [agent, await submit(agent, await agent.get(url), { step: 'create' })];
  },
  async 'a first factor'() {
    const agent = new Agent();
    return [agent, await signIn(agent, begin({ acr_values: 'mfa' }), (await world.subject()).email, 'old')];
  },
  async 'another factor'() {
    const agent = await world.signedIn(await world.subject());
    return [agent, await submit(agent, await visit(agent, world.at('/idp/factors')), { add: 'app' })];
  },
  'a code': async () => challenge(),
  async 'a recovery code'() {
    const [agent, page] = await challenge();
    return [agent, await agent.get(`${page.url}?with=recovery`)];
  },
  async 'the user to impersonate'() {
    const { agent, page } = await impersonatingAt(service).chooser();
    return [agent, page];
  },
  async 'the reason of an impersonation'() {
    const { chooser, choose } = impersonatingAt(service);
    const { agent, page } = await chooser();
    return [agent, await choose(agent, page, 'alice@acme.test')];
  },
};

async function challenge(): Promise<Reached> {
  const { email } = await world.subject();
  await enrol(new Agent(), begin({ acr_values: 'mfa' }), email, 'old');
  const agent = new Agent();
  return [agent, await signIn(agent, begin(), email, 'old')];
}

describe('other pages', () => {
  test.each(Object.keys(pages))('%s', async (name) => {
    const [agent, page] = await (pages[name] as () => Promise<Reached>)();
    expect(formsOf(page).some(({ typed }) => typed.length > 0)).toBe(true);
    expect(await wrongOn(agent, page)).toEqual([]);
  });
});

describe('the answer', () => {
  test.each(Object.entries(MULTILINGUAL))('is in %s', async (language, words) => {
    const agent = new Agent({ 'accept-language': language });
    const page = await visit(agent, begin());
    expect(problemAt(await agent.submit(page, { identifier: LONG }), 'identifier')).toContain(words);
  });

  test('counts a password of the maximum as an attempt, and no longer one', async () => {
    const who = await world.subject();
    const agent = new Agent();
    const page = await passwordPage(service.issuer, agent, who.email);
    expect(problemAt(await agent.submit(page, { password: 'x'.repeat(128) }), 'password')).toBe('That e-mail and password don’t match.');
    for (let at = 0; at < 30; at += 1) expect((await agent.submit(page, { password: `${'x'.repeat(129)}${at}` })).status).toBe(400);
    passTime(1);
    expect((await agent.submit(page, { password: 'old' })).status).toBe(303);
  });
});

/** Routes of forms into which users type nothing. */
const buttons: readonly string[] = [
  ...['method', 'account', 'consent', 'cancel', 'connection/link', 'connection/account', 'connection/again'].map(
    (step) => `/idp/interaction/:uid/${step}`,
  ),
  ...['passkey', 'enrol-passkey', 'seen'].map((step) => `/idp/interaction/:uid/factors/${step}`),
  ...['/idp/invitations/confirm', '/idp/email/:token', '/idp/email/stop/:token', '/idp/identities', '/idp/factors', '/idp/factors/passkey'],
  ...['/idp/linked-accounts', '/idp/linked-accounts/confirm', '/idp/linked-accounts/unlink', '/idp/impersonation'],
  ...['/idp/ciba/requests/:id', '/idp/account/sessions', '/idp/account/applications', '/idp/account/data'],
];

test('every route that takes a form is here', () => {
  expect(routes().filter((path) => !covered.has(path) && !buttons.includes(path))).toEqual([]);
  expect(buttons.filter((path) => covered.has(path) || !routes().includes(path))).toEqual([]);
});

test('each field holds the longest value that a record can have', () => {
  // The other fields belong to no record.
  expect([...stated.keys()].filter((name) => !Object.hasOwn(longestValues, name)).sort()).toEqual([
    'code',
    'minutes',
    'reason',
    'recovery',
  ]);
  const tooShort = Object.entries(longestValues).filter(([name, longest]) => !((stated.get(name) ?? 0) >= longest));
  expect(tooShort.map(([name, longest]) => [name, longest, stated.get(name)])).toEqual([]);
});
