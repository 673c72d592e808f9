/**
 * MFA-HALF: an incomplete sign-in does not count. Every route of the service is sorted. A route that shows or changes something of a person
 * is called while each kind of requirement is open. The calls have the forms of a complete sign-in. The other routes are named with a
 * reason.
 */
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { captureMail, invite, invitingSeed, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, titleOf } from '../support/client/agent.js';
import { redeem } from '../support/client/steps.js';
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';
import { useIdp } from '../support/service/use-idp.js';
import { cibaClient, createAsking } from '../support/sign-in/ciba.js';
import { enrol, submit } from '../support/sign-in/factors.js';
import { permission } from '../support/sign-in/impersonating.js';
import { terms } from '../support/sign-in/requirements.js';
import { atUpstream, press, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

/** Users for whom a requirement of the host is open. */
const open = { terms: new Set<string>(), rules: new Set<string>(), failing: new Set<string>() };
const requirementOf = (name: 'terms' | 'rules', silent: 'refuse' | 'pass') =>
  terms(new Set(), {
    name,
    silent,
    after: [],
    check: (_, { oid }) => {
      if (name === 'terms' && open.failing.has(oid)) throw new Error('the terms are away');
      return open[name].has(oid) ? 'open' : 'met';
    },
  });

beforeAll(forgetRoutes);
let upstream: UpstreamProvider;
const mails = captureMail();
const asking = createAsking(() => service.idp);
const service = useIdp(async () => {
  upstream = await startUpstream();
  return {
    seed: {
      ...invitingSeed,
      permissions: [...invitingSeed.permissions, { id: permission, name: 'Act as others' }],
      clients: [...invitingSeed.clients, cibaClient('desk')],
      extensions: {
        connections: [
          {
            id: 'social',
            name: 'Social',
            issuer: upstream.issuer,
            clientId: 'tenant-idp',
            clientSecret: UPSTREAM_SECRET,
            linkBySignIn: true,
          },
        ],
      },
    } as never,
    personalTenant,
    mail: mails.mail,
    impersonation: { permission },
    extensions: [requirementOf('terms', 'refuse'), requirementOf('rules', 'pass'), asking.extension],
  };
});
const impersonated: string[] = [];
beforeAll(() => {
  upstream.register(service.issuer, ['social']);
  service.idp.events.on('ImpersonationStarted', ({ data }) => void impersonated.push(data.AggregateId));
});
afterAll(() => upstream.close());
afterEach(async () => {
  backToPresent();
  for (const oids of Object.values(open)) oids.clear();
  await service.idp.directory.tenants.update(personalTenant, { signIn: null });
});

const at = (path: string): string => `${service.issuer}/idp${path}`;
const url = (parameters: Record<string, string> = {}): string =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });

interface Someone {
  readonly tid: string;
  readonly userName: string;
  readonly password: string;
  readonly oid: string;
  /** Recovery codes of a user who has a factor. */
  codes: string[];
}

async function made(tenant = 'Personal', group?: string): Promise<Someone> {
  const name = `p-${randomUUID().slice(0, 8)}`;
  const tid = await tenantNamed(service.idp, tenant);
  const { persons, users } = service.idp.tenant(tid);
  const userName = `${name}@${tenant.toLowerCase()}.test`;
  const person = await persons.create({ givenName: name, familyName: 'Person', email: userName });
  const groups = group === undefined ? {} : { groups: { ids: [group] } };
  const { user } = await users.create(person.id, { userName, status: 'active', emailVerified: true, ...groups });
  await service.idp.directory.credentials.seedPassword(user.id, name);
  return { tid, userName, password: name, oid: user.id, codes: [] };
}
const userOf = async ({ oid }: Pick<Someone, 'oid'>) => (await service.idp.directory.accounts.findByOid(oid))?.person.user;

const CHALLENGE = 'Confirm that it is you';
/** Proves the factor, if the page asks for it. */
const confirmed = async (agent: Agent, page: Answer, who: Someone): Promise<Answer> =>
  titleOf(page) === CHALLENGE ? submit(agent, page, { recovery: who.codes.shift() ?? '' }) : page;
/** Enters the name and the password on the page that the agent is at. */
async function byPassword(agent: Agent, page: Answer, { userName, password }: Someone): Promise<Answer> {
  const asked = page.body.includes('name="password"') ? page : await submit(agent, page, { identifier: userName });
  return submit(agent, asked, { password });
}
const prove = async (agent: Agent, page: Answer, who: Someone): Promise<Answer> =>
  confirmed(agent, await byPassword(agent, page, who), who);
const visit = async (agent: Agent, address: string): Promise<Answer> => agent.follow(await agent.get(address));

interface Opened {
  /** The heading of the page that the person is led to. */
  readonly title: string;
  /** Prepares the user before the complete sign-in. */
  prepare(who: Someone): Promise<void>;
  /** Leaves the sign-in of the browser incomplete. */
  begin(agent: Agent, who: Someone): Promise<void>;
}
const ofHost = (name: 'terms' | 'rules'): Opened => ({
  title: name,
  prepare: async () => undefined,
  begin: async (_, { oid }) => void open[name].add(oid),
});
const requirements: Readonly<Record<string, Opened>> = {
  'a factor of the user': {
    title: CHALLENGE,
    async prepare(who) {
      who.codes = [...(await enrol(new Agent(), url({ acr_values: 'mfa' }), who.userName, who.password)).codes];
    },
    async begin(agent, who) {
      // This sign-in differs from the one that proved the factor, because sign-ins are told apart by the second.
      passTime(2);
      expect(titleOf(await byPassword(agent, await visit(agent, url({ prompt: 'login' })), who))).toBe(CHALLENGE);
    },
  },
  'terms of the host (refuse)': ofHost('terms'),
  'rules of the host (pass)': ofHost('rules'),
  'a factor that the tenant asks for': {
    title: 'Set up a second factor',
    prepare: async () => undefined,
    begin: async () => void (await service.idp.directory.tenants.update(personalTenant, { signIn: { requireMfa: true } })),
  },
};

interface Begun {
  readonly agent: Agent;
  /** Paths of the pages that are requested. */
  readonly pages: readonly string[];
  /** Forms that a complete sign-in got, filled in. The last one changes something. */
  readonly forms: readonly (readonly [page: Answer, fields: Record<string, string>])[];
  /** A page that is still shown, because something can be denied there. The page tells nothing, and leads to the open requirement. */
  readonly denying?: string;
  /** Returns the state that the forms would change. */
  changed(): Promise<unknown>;
}
interface Subject {
  readonly routes: readonly string[];
  /** Whether the user may impersonate others. */
  readonly isOperator?: boolean;
  /** Whether the forms change nothing by themselves. */
  readonly isUnchanging?: boolean;
  begin(who: Someone): Promise<Begun>;
}

async function own(who: Someone, path: string): Promise<{ readonly agent: Agent; readonly page: Answer }> {
  const agent = new Agent();
  const page = await prove(agent, await visit(agent, at(path)), who);
  expect([path, page.status, page.url]).toEqual([path, 200, at(path)]);
  return { agent, page };
}

const subjects: Readonly<Record<string, Subject>> = {
  'the account page': {
    routes: ['GET /idp/account'],
    async begin(who) {
      const { agent } = await own(who, '/account');
      return { agent, pages: ['/account'], forms: [], changed: async () => undefined };
    },
  },
  'the address': {
    routes: ['GET /idp/email', 'POST /idp/email'],
    async begin(who) {
      const { agent, page } = await own(who, '/email');
      const address = `${who.password}@attacker.test`;
      const changed = async () => mails.mails.filter(({ to }) => to === address).length;
      return { agent, pages: ['/email'], forms: [[page, { email: address }]], changed };
    },
  },
  'the profile': {
    routes: ['GET /idp/account/profile', 'POST /idp/account/profile'],
    async begin(who) {
      const { agent, page } = await own(who, '/account/profile');
      const changed = async () => (await service.idp.directory.accounts.findByOid(who.oid))?.person.givenName;
      return { agent, pages: ['/account/profile'], forms: [[page, { givenName: `Another than ${who.password}` }]], changed };
    },
  },
  'the password': {
    routes: ['GET /idp/account/password', 'POST /idp/account/password'],
    async begin(who) {
      const { agent, page } = await own(who, '/account/password');
      const fields = { current: who.password, password: `another password than ${who.password}` };
      const changed = async () => (await userOf(who))?.newPassword?.serial;
      return { agent, pages: ['/account/password'], forms: [[page, fields]], changed };
    },
  },
  'the list of sign-ins': {
    routes: ['GET /idp/account/sessions', 'POST /idp/account/sessions'],
    async begin(who) {
      const all = async () => (await service.idp.sessions.list({ tid: who.tid, userId: who.oid })).map(({ id }) => id);
      const before = await all();
      await own(who, '/account');
      const [elsewhere = ''] = (await all()).filter((id) => !before.includes(id));
      const { agent, page } = await own(who, '/account/sessions');
      const changed = async () => (await all()).includes(elsewhere);
      return { agent, pages: ['/account/sessions'], forms: [[page, { session: elsewhere }]], changed };
    },
  },
  'the recent sign-ins': {
    routes: ['GET /idp/account/sign-ins'],
    async begin(who) {
      const { agent } = await own(who, '/account/sign-ins');
      return { agent, pages: ['/account/sign-ins'], forms: [], changed: async () => undefined };
    },
  },
  'the download of the data': {
    isUnchanging: true,
    routes: ['GET /idp/account/data', 'POST /idp/account/data'],
    async begin(who) {
      const { agent, page } = await own(who, '/account/data');
      return { agent, pages: ['/account/data'], forms: [[page, {}]], changed: async () => undefined };
    },
  },
  factors: {
    isUnchanging: true,
    routes: ['GET /idp/factors', 'POST /idp/factors', 'GET /idp/factors/app', 'POST /idp/factors/app', 'POST /idp/factors/passkey'],
    async begin(who) {
      const { agent, page } = await own(who, '/factors');
      const passkey = { ...page, body: page.body.replace(/(<form[^>]*action=")[^"]*/, `$1${at('/factors/passkey')}`) };
      const app = { ...page, body: page.body.replace(/(<form[^>]*action=")[^"]*/, `$1${at('/factors/app')}`) };
      const forms = [
        [page, { add: 'codes' }],
        [passkey, { response: '{}' }],
        [app, { code: '123456' }],
      ] as const;
      return { agent, pages: ['/factors', '/factors/app'], forms, changed: async () => undefined };
    },
  },
  'identities at other providers': {
    routes: ['GET /idp/identities', 'POST /idp/identities'],
    async begin(who) {
      const { users } = service.idp.tenant(who.tid);
      await users.addIdentity(who.oid, { idp: 'social', subject: `of-${who.oid}` });
      const { agent, page } = await own(who, '/identities');
      const removed = /name="remove" value="([\w-]+)"/.exec(page.body)?.[1] ?? '';
      const changed = async () => (await userOf(who))?.externalIdentities.length;
      return { agent, pages: ['/identities'], forms: [[page, { removed }]], changed };
    },
  },
  'the list of linked accounts, and the end of a link': {
    routes: [
      'GET /idp/linked-accounts',
      'POST /idp/linked-accounts',
      'GET /idp/linked-accounts/link',
      'GET /idp/linked-accounts/unlink',
      'POST /idp/linked-accounts/unlink',
    ],
    async begin(who) {
      const child = await made('Globex');
      await service.idp.tenant(child.tid).linking.link(child.oid, { tid: who.tid, userId: who.oid });
      const { agent, page } = await own(who, '/linked-accounts');
      const unlink = await visit(agent, at(`/linked-accounts/unlink?unlink=${child.oid}`));
      return {
        agent,
        pages: ['/linked-accounts', '/linked-accounts/link', `/linked-accounts/unlink?unlink=${child.oid}`],
        forms: [
          [page, { step: 'link' }],
          [unlink, {}],
        ],
        changed: async () => (await userOf(child))?.parentUserId,
      };
    },
  },
  'the link of two accounts': {
    routes: ['GET /idp/linked-accounts/confirm', 'POST /idp/linked-accounts/confirm'],
    async begin(who) {
      const other = await made('Globex');
      const { agent, page } = await own(other, '/linked-accounts');
      const confirm = await prove(agent, await submit(agent, page, { step: 'link' }), who);
      expect(titleOf(confirm)).toBe('Link these accounts?');
      const { pathname, search } = new URL(confirm.url);
      return {
        agent,
        pages: [pathname.replace('/idp', '') + search],
        forms: [[confirm, { parent: other.oid }]],
        changed: async () => (await userOf(who))?.parentUserId,
      };
    },
  },
  'an invitation that is linked': {
    routes: ['GET /idp/invitations/confirm', 'POST /idp/invitations/confirm'],
    async begin(who) {
      const invited = await invite(service.idp, { link: true });
      const agent = new Agent();
      const confirm = await prove(agent, await submit(agent, await agent.get(invited.url), { step: 'sign-in' }), who);
      expect(titleOf(confirm)).toBe('Link these accounts?');
      const { pathname, search } = new URL(confirm.url);
      const { users } = service.idp.tenant(invited.tid);
      return {
        agent,
        pages: [pathname.replace('/idp', '') + search],
        forms: [[confirm, { step: 'link' }]],
        changed: async () => (await users.findByUserName(invited.userName))?.user.parentUserId,
      };
    },
  },
  'the connection of an identity': {
    routes: ['GET /idp/interaction/:uid/connection/link', 'POST /idp/interaction/:uid/connection/link'],
    async begin(who) {
      const agent = new Agent();
      const { confirm, page } = await connecting(agent, who);
      expect(titleOf(page)).toBe('Connect these accounts?');
      return {
        agent,
        pages: [confirm],
        forms: [[page, {}]],
        changed: async () => (await userOf(who))?.externalIdentities,
      };
    },
  },
  'requests of CIBA': {
    routes: ['GET /idp/ciba', 'GET /idp/ciba/requests/:id', 'POST /idp/ciba/requests/:id'],
    async begin(who) {
      const { request } = await asking.ask(who.userName);
      const path = `/ciba/requests/${request.id}`;
      const { agent, page } = await own(who, path);
      return {
        agent,
        pages: ['/ciba', path],
        denying: path,
        forms: [[page, { decision: 'approve' }]],
        changed: async () => (await asking.requests.read(request.id))?.state,
      };
    },
  },
  'the applications': {
    routes: ['GET /idp/account/applications', 'POST /idp/account/applications', 'GET /idp/account/applications/:name'],
    async begin(who) {
      await service.idp.directory.consents.allow(who.oid, 'third-party', ['openid']);
      const path = `/account/applications/${createHash('sha256').update('third-party').digest('base64url')}`;
      const { agent, page } = await own(who, path);
      const [, end = ''] = /name="end" value="([^"]+)"/.exec(page.body) ?? [];
      return {
        agent,
        pages: ['/account/applications', path],
        forms: [[page, { end }]],
        changed: async () => service.idp.directory.consents.find(who.oid),
      };
    },
  },
  'the consent for a client': {
    routes: ['POST /idp/interaction/:uid/consent'],
    async begin(who) {
      const { agent } = await own(who, '/account');
      const page = await visit(agent, url({ client_id: 'third-party' }));
      expect(page.body).toContain('value="allow"');
      return {
        agent,
        pages: [],
        forms: [[page, { decision: 'allow' }]],
        changed: async () => service.idp.directory.consents.get(who.oid, 'third-party'),
      };
    },
  },
  'the beginning of an impersonation': {
    routes: ['POST /idp/interaction/:uid/impersonate'],
    isOperator: true,
    async begin(who) {
      const target = await made();
      const agent = new Agent();
      const list = await prove(agent, await visit(agent, url({ acr_values: 'impersonate' })), who);
      const found = await agent.submit(list, { step: 'who', query: target.userName });
      const why = await agent.submit(found, { choose: target.oid });
      expect(why.body).toContain('name="reason"');
      return {
        agent,
        pages: [],
        forms: [
          [list, { step: 'who', query: target.userName }],
          [why, { step: 'start', reason: 'Ticket 4711' }],
        ],
        changed: async () => impersonated.filter((oid) => oid === target.oid).length,
      };
    },
  },
};

/** Signs in at the connection with an unknown identity, and then to the account that is to be connected. */
async function connecting(agent: Agent, who: Someone, by = prove) {
  upstream.person = { sub: `stranger-${randomUUID()}`, email: `${randomUUID()}@social.test` };
  const stranger = await visit(agent, await atUpstream(upstream, await press(agent, await visit(agent, url()), 'social')));
  const { fields } = formOf(stranger);
  const page = await by(agent, await submit(agent, stranger, { step: 'link' }), who);
  const uid = /interaction\/([^/?]+)/.exec(formOf(stranger).action)?.[1];
  return { stranger, page, confirm: `/interaction/${uid}/connection/link?stranger=${fields.stranger}` };
}

const withoutPerson: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['takes an access token of the admin API, or tells what the API is', /^\S+ \/idp\/api\/v1(\/|,|$)/],
  [
    'is a step of a sign-in that is under way: it proves, chooses or cancels, and gives nothing',
    /^\S+ \/idp\/interaction\/:uid(\/(method|account|accounts|create|identifier|password|organisation|cancel|restart|forgotten|connection\/account|connection\/again|connections\/:id|terms|rules))?$/,
  ],
  ['is the page of the requirement itself', /^POST \/idp\/interaction\/:uid\/factors\/(code|passkey|enrol|enrol-passkey|seen)$/],
  ['takes the answer of a sign-in up, which is judged then: tested below', /^GET \/idp\/[a-z-]+(\/[a-z-]+)?\/return$/],
  ['is of a link that was mailed: the link proves its bearer', /^\S+ \/idp\/(register|invitations|password|email|email\/stop)\/:token$/],
  ['ends an impersonation, or is a script: tested below', /^\S+ \/idp\/impersonation(\/banner\.js)?$/],
  ['begins a sign-in with another account', /^GET \/idp\/ciba\/requests\/:id\/sign-in$/],
  ['is between the service and a provider', /^\S+ \/idp\/connections\/:id\/(callback|jwks|signed-out)$/],
  [
    'is for programs: the state of the browser, scopes',
    /^\S+ (\/connect\/checksession|\/idp\/check-session\/client|\/connect\/scope\/introspect)$/,
  ],
  // The protocol's own routes. A provider of the tests has them at the paths of oidc-provider.
  ['begins or resumes a sign-in, which meets the requirement first', /^GET \/(connect\/authorize|auth)(\/:uid)?$/],
  [
    'authenticates a client, takes an access token, or is public',
    /^\S+ \/((connect\/)?(userinfo|me|token|revocation|introspect|par|request|ciba|jwks)|\.well-known\/.+)$/,
  ],
  ['signs the user out: tested below', /^\S+ \/(connect\/endsession|session\/end)(\/confirm|\/success)?$/],
];

test('MFA-HALF: every route is sorted', () => {
  const routes = new Set(recordedRoutes().flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`)));
  const asked = new Set(Object.values(subjects).flatMap((subject) => subject.routes));
  expect([...asked].filter((route) => !routes.has(route))).toEqual([]);
  const sorted = (route: string): number =>
    Number(asked.has(route)) + withoutPerson.filter(([, pattern]) => !asked.has(route) && pattern.test(route)).length;
  expect([...routes].filter((route) => !route.startsWith('HEAD ') && sorted(route) !== 1)).toEqual([]);
  expect(withoutPerson.filter(([, pattern]) => ![...routes].some((route) => pattern.test(route)))).toEqual([]);
});

const send = (agent: Agent, [page, fields]: Begun['forms'][number]): Promise<Answer> => agent.submit(page, fields);

const madeFor = async (isOperator = false): Promise<Someone> => {
  const { groups } = service.idp.tenant(personalTenant);
  return made('Personal', isOperator ? (await groups.create({ name: randomUUID(), permissionIds: [permission] })).id : undefined);
};

test.each(Object.entries(subjects))(
  '%s: pages and forms are good for a complete sign-in',
  async (_, { begin, isOperator, isUnchanging }) => {
    const { agent, pages, forms, changed } = await begin(await madeFor(isOperator));
    const before = await changed();
    for (const path of pages) expect([path, (await agent.get(at(path))).status]).toEqual([path, path.endsWith('/link') ? 303 : 200]);
    const last = forms.at(-1);
    if (last === undefined || isUnchanging) return;
    await agent.follow(await send(agent, last));
    await until(changed, (now) => JSON.stringify(now) !== JSON.stringify(before));
  },
);

describe.each(Object.entries(requirements))('MFA-HALF: with %s open', (_, requirement) => {
  test.each(Object.entries(subjects))('%s is not shown, and changes nothing', async (_name, { begin, isOperator }) => {
    const who = await madeFor(isOperator);
    await requirement.prepare(who);
    const { agent, pages, denying, forms, changed } = await begin(who);
    const before = await changed();
    await requirement.begin(agent, who);
    if (denying !== undefined) {
      const page = await agent.get(at(denying));
      expect([page.status, page.body.includes(who.userName), titleOf(page)]).toEqual([200, false, CHALLENGE]);
      expect(titleOf(await submit(agent, page, { decision: 'continue' }))).toBe(requirement.title);
    }
    for (const path of pages.filter((each) => each !== denying)) {
      const answer = await agent.get(at(path));
      expect([path, answer.status, answer.body.includes(who.userName)]).toEqual([path, 303, false]);
      expect([path, titleOf(await agent.follow(answer))]).toEqual([path, requirement.title]);
    }
    for (const form of forms) {
      const answer = await send(agent, form);
      expect([form[1], answer.status, answer.body.includes(who.userName)]).toEqual([form[1], 303, false]);
      expect([form[1], titleOf(await agent.follow(answer))]).toEqual([form[1], requirement.title]);
    }
    expect(await changed()).toEqual(before);
  });
});

describe('a browser in which a user with a factor proved the password alone', () => {
  const victim = async (): Promise<Someone> => {
    const who = await made();
    await requirements['a factor of the user']?.prepare(who);
    return who;
  };
  /** Returns a browser at the page that asks for the factor. */
  async function half(who: Someone, agent = new Agent()): Promise<Agent> {
    expect(titleOf(await byPassword(agent, await visit(agent, url()), who))).toBe(CHALLENGE);
    return agent;
  }

  test('MFA-HALF-1: no page of the person is shown', async () => {
    const agent = await half(await victim());
    for (const path of ['/account', '/linked-accounts', '/ciba', '/email', '/factors', '/identities'])
      expect([path, titleOf(await visit(agent, at(path)))]).toEqual([path, CHALLENGE]);
  });

  test('MFA-HALF-LINK: the account is linked to no other, in either order of the two sign-ins', async () => {
    const [vic, mal] = [await victim(), await made('Globex')];
    const first = await half(vic);
    expect(titleOf(await visit(first, at('/linked-accounts/link')))).toBe(CHALLENGE);
    const second = new Agent();
    const list = await prove(second, await visit(second, at('/linked-accounts')), mal);
    const asked = await submit(second, list, { step: 'link' });
    const link = new URL(asked.url).searchParams.get('link');
    expect(titleOf(await byPassword(second, asked, vic))).toBe(CHALLENGE);
    expect(titleOf(await visit(second, at(`/linked-accounts/confirm?link=${link}`)))).toBe(CHALLENGE);
    expect([(await userOf(vic))?.parentUserId, (await userOf(mal))?.parentUserId]).toEqual([undefined, undefined]);
  });

  test('MFA-HALF-CONN: no identity is recorded', async () => {
    const vic = await victim();
    const agent = new Agent();
    const { stranger, page, confirm } = await connecting(agent, vic, byPassword);
    expect([titleOf(page), titleOf(await visit(agent, at(confirm)))]).toEqual([CHALLENGE, CHALLENGE]);
    const { action, fields } = formOf(stranger);
    const post = await agent.post(action.replace(/\/connection\/.*/, '/connection/link'), { ...fields, oid: vic.oid });
    expect(titleOf(await agent.follow(post))).toBe(CHALLENGE);
    expect((await userOf(vic))?.externalIdentities ?? []).toEqual([]);
  });

  test('MFA-HALF-CIBA: no request is shown or approved, and the page leads to the factor and back', async () => {
    const vic = await victim();
    const { request } = await asking.ask(vic.userName, { bindingMessage: 'W4SCT' });
    const agent = await half(vic);
    const path = `/ciba/requests/${request.id}`;
    const page = await agent.get(at(path));
    for (const word of [vic.password, 'The desk', 'W4SCT', 'Personal'])
      expect([word, page.body.replaceAll('<wbr>', '').includes(word)]).toEqual([word, false]);
    expect(titleOf(await agent.follow(await agent.post(at(path), { decision: 'approve' })))).toBe(CHALLENGE);
    expect(titleOf(await submit(agent, page, { decision: 'approve' }))).toBe(CHALLENGE);
    expect((await asking.requests.read(request.id))?.state).toBe('pending');
    const shown = await confirmed(agent, await submit(agent, page, { decision: 'continue' }), vic);
    expect([shown.url, shown.body.includes('W4SCT')]).toEqual([expect.stringContaining(at(path)), true]);
  });

  test.each([
    ['deny', 'You denied this'],
    ['unrecognise', 'Thank you for telling us'],
  ])('MFA-HALF-CIBA: the request is denied: %s', async (decision, title) => {
    const vic = await victim();
    const { request } = await asking.ask(vic.userName);
    const agent = await half(vic);
    const path = at(`/ciba/requests/${request.id}`);
    const page = await agent.get(path);
    await agent.post(path, { decision });
    await agent.post(path, { ...formOf(page).fields, csrf: 'forged', decision });
    expect((await asking.requests.read(request.id))?.state).toBe('pending');
    const result = await submit(agent, page, { decision });
    expect([titleOf(result), result.body.includes(vic.password)]).toEqual([title, false]);
    expect((await asking.requests.read(request.id))?.state).toBe('denied');
  });

  test('MFA-HALF-CIBA: the request of somebody else has no such page', async () => {
    const { request } = await asking.ask((await victim()).userName);
    const agent = await half(await victim());
    expect(titleOf(await visit(agent, at(`/ciba/requests/${request.id}`)))).toBe(CHALLENGE);
    expect((await agent.get(at(`/ciba/requests/${request.id}`))).status).toBe(303);
  });

  describe('MFA-HALF-CHOICE: linked accounts', () => {
    const isShown = ({ body }: Answer, { password, oid }: Someone): boolean =>
      [password, oid].some((word) => body.replaceAll('<wbr>', '').includes(word));
    async function withChild() {
      const [vic, child] = [await victim(), await made('Globex')];
      await service.idp.tenant(child.tid).linking.link(child.oid, { tid: vic.tid, userId: vic.oid });
      return { vic, child, ofChild: { acr_values: `tenant:${child.tid}` } };
    }
    const accountOf = async (answer: Answer, verifier: string): Promise<unknown> => {
      const code = new URL(answer.location ?? '').searchParams.get('code') ?? '';
      return (await redeem(service.issuer, { client: 'web', code, verifier })).json;
    };

    test.each<[string, (ofChild: Record<string, string>) => Record<string, string>]>([
      ['the account chooser', () => ({ prompt: 'select_account' })],
      ['the account chooser for the tenant of one', (ofChild) => ({ prompt: 'select_account', ...ofChild })],
      ['a new sign-in to the tenant of one', (ofChild) => ({ prompt: 'login', ...ofChild })],
      ['the tenant of one', (ofChild) => ofChild],
    ])('are not shown by %s', async (_, asked) => {
      const { vic, child, ofChild } = await withChild();
      const agent = await half(vic);
      const page = await visit(agent, url(asked(ofChild)));
      expect([page.status, isShown(page, child), page.body.includes('have access to')]).toEqual([200, false, false]);
    });

    test('the chooser has the account itself, and those that the browser remembers', async () => {
      const { vic } = await withChild();
      const other = await made('Globex');
      const agent = new Agent();
      await prove(agent, await visit(agent, url()), other);
      await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
      await half(vic, agent);
      const page = await visit(agent, url({ prompt: 'select_account' }));
      expect([isShown(page, vic), isShown(page, other)]).toEqual([true, true]);
      expect(titleOf(await submit(agent, page, { choice: vic.oid }))).toBe(CHALLENGE);
    });

    test('are chosen among once the factor is proven, and it is not asked for again', async () => {
      const { vic, child, ofChild } = await withChild();
      const agent = await half(vic);
      const asked = await visit(agent, url(ofChild));
      expect(titleOf(asked)).toBe(CHALLENGE);
      const chooser = await confirmed(agent, asked, vic);
      expect(isShown(chooser, child)).toBe(true);
      const answer = await submit(agent, chooser, { choice: child.oid });
      expect(new URL(answer.location ?? 'http://nowhere').searchParams.has('code')).toBe(true);
      expect(isShown(await visit(agent, url({ prompt: 'select_account' })), vic)).toBe(true);
    });

    test('what was proven in a sign-in of a moment ago goes on with the account that is chosen', async () => {
      const { vic, child, ofChild } = await withChild();
      const { challenge, verifier } = createPkce();
      const first = new Agent();
      const of = (more: Record<string, string>): string => url({ code_challenge: challenge, ...more });
      const signedIn = await confirmed(
        first,
        await byPassword(first, await visit(first, of(ofChild)), { ...child, password: vic.password }),
        vic,
      );
      const { id_token: hint } = (await accountOf(signedIn, verifier)) as { id_token: string };
      const agent = new Agent();
      const challenged = await byPassword(agent, await visit(agent, of({ id_token_hint: hint })), vic);
      expect(titleOf(challenged)).toBe(CHALLENGE);
      const chooser = await confirmed(agent, challenged, vic);
      expect(isShown(chooser, child)).toBe(true);
      const { id_token: token } = (await accountOf(await submit(agent, chooser, { choice: child.oid }), verifier)) as { id_token: string };
      expect(decodeJwt(token)).toMatchObject({ oid: child.oid, amr: ['pwd', 'mfa'] });
    });

    test('a requirement of the tenant of one alone is asked after the choice', async () => {
      const [who, child] = [await made(), await made('Globex')];
      await service.idp.tenant(child.tid).linking.link(child.oid, { tid: who.tid, userId: who.oid });
      open.terms.add(child.oid);
      const { agent } = await own(who, '/account');
      const chooser = await visit(agent, url({ acr_values: `tenant:${child.tid}` }));
      expect(isShown(chooser, child)).toBe(true);
      expect(titleOf(await submit(agent, chooser, { choice: child.oid }))).toBe('terms');
    });

    test('prompt=none answers as ever', async () => {
      const { vic, ofChild } = await withChild();
      const answer = await (await half(vic)).get(url({ prompt: 'none', ...ofChild }));
      expect(answer.location).toContain('error=account_selection_required');
    });
  });

  test('MFA-HALF-EMAIL: no change of address begins', async () => {
    const vic = await victim();
    const agent = await half(vic);
    const sent = mails.mails.length;
    for (const answer of [await agent.get(at('/email')), await agent.post(at('/email'), { email: 'evil@attacker.test' })])
      expect(titleOf(await agent.follow(answer))).toBe(CHALLENGE);
    expect(mails.mails.slice(sent).filter(({ to }) => to === 'evil@attacker.test')).toEqual([]);
  });

  test('an invitation of somebody else says that somebody is signed in, and no name', async () => {
    const vic = await victim();
    const invited = await invite(service.idp);
    const page = await (await half(vic)).get(invited.url);
    expect(page.body).toContain('Somebody is signed in in this browser');
    expect(page.body).not.toContain(vic.password);
  });
});

describe.each(['terms', 'rules'] as const)('MFA-HALF-HOST: with the %s of the host open', (name) => {
  test('no page of the person is shown after the password', async () => {
    const who = await made();
    open[name].add(who.oid);
    const agent = new Agent();
    expect(titleOf(await prove(agent, await visit(agent, url()), who))).toBe(name);
    for (const path of ['/account', '/linked-accounts', '/ciba', '/email', '/factors', '/identities'])
      expect([path, titleOf(await visit(agent, at(path)))]).toEqual([path, name]);
  });

  test('the answer of a sign-in that was complete on the way signs nobody in any more', async () => {
    const who = await made();
    const agent = new Agent();
    let answer = await agent.submit(await submit(agent, await visit(agent, at('/account')), { identifier: who.userName }), {
      password: who.password,
    });
    while (answer.location?.includes('reference=') === false) answer = await agent.get(answer.location);
    open[name].add(who.oid);
    const returned = await agent.get(answer.location ?? '');
    expect([returned.status, returned.body.includes(who.userName)]).toEqual([403, false]);
  });

  test.each(['deny', 'unrecognise'])(
    'MFA-HALF-CIBA: a request is denied from the page of a complete sign-in, and that is confirmed: %s',
    async (decision) => {
      const who = await made();
      const { request } = await asking.ask(who.userName);
      const { agent, page } = await own(who, `/ciba/requests/${request.id}`);
      open[name].add(who.oid);
      const result = await submit(agent, page, { decision });
      expect([result.status, result.url, result.body.includes('Nobody was signed in')]).toEqual([200, page.url, true]);
      expect(result.body.includes(who.userName)).toBe(false);
      expect((await asking.requests.read(request.id))?.state).toBe('denied');
    },
  );

  test('the person signs out', async () => {
    const who = await made();
    const { agent } = await own(who, '/account');
    open[name].add(who.oid);
    await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    open[name].clear();
    expect((await visit(agent, at('/account'))).url).toContain('/interaction/');
  });

  test('an impersonation of the user ends', async () => {
    const [who, target] = [await madeFor(true), await made()];
    const agent = new Agent();
    const list = await prove(agent, await visit(agent, url({ acr_values: 'impersonate' })), who);
    const why = await agent.submit(await agent.submit(list, { step: 'who', query: target.userName }), { choose: target.oid });
    await agent.follow(await agent.submit(why, { step: 'start', reason: 'Ticket 4711' }));
    open[name].add(target.oid);
    expect((await agent.get(at('/account'))).status).toBe(403);
    const page = await agent.get(at('/impersonation'));
    await agent.follow(await agent.submit(page, {}));
    expect((await agent.get(at('/account'))).body).toContain(who.userName);
  });
});

test('MFA-HALF: a requirement that throws refuses, with 503', async () => {
  const who = await made();
  const { agent } = await own(who, '/account');
  open.failing.add(who.oid);
  const answer = await agent.get(at('/account'));
  expect([answer.status, answer.body.includes(who.userName)]).toEqual([503, false]);
});
