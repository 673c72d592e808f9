/**
 * B22: a browser that sends no cookies gets a page that says so, and not a page about a sign-in that took too long. The tests cover all
 * routes of pages and forms.
 */
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { invite, invitingSeed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, titleOf } from '../support/client/agent.js';
import { pathOf, useAllForms } from '../support/requests/all-forms.js';
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';
import { startIdp } from '../support/service/idp.js';
import { keepLog } from '../support/service/kept-log.js';
import { testKeys } from '../support/service/keys.js';

const TOLD = 'Your browser sends no cookies';

/** Browser that keeps no cookies. */
class Blocked extends Agent {
  readonly redirects: string[] = [];
  override async request(...args: Parameters<Agent['request']>): Promise<Answer> {
    this.cookies.clear();
    const answer = await super.request(...args);
    this.cookies.clear();
    if (answer.location !== undefined) this.redirects.push(answer.location);
    if (this.redirects.length > 12) throw new Error(`sent in circles: ${this.redirects.join('\n')}`);
    return answer;
  }
}

/** Names of the recorded routes, such as `GET /idp/email`. */
const routes = (): readonly string[] => recordedRoutes().flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`));
beforeAll(forgetRoutes);
const service = useAllForms();
const url = (issuer: string, parameters: Record<string, string> = {}): string =>
  authorizeUrl(issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });

/** Pages that need no cookie, or that the service cannot distinguish from an invalid link, each with the reason. */
const afterSignIn = 'comes after a sign-in, which a browser without cookies does not complete';
const afterForm = 'comes after a form, which a browser without cookies cannot send';
const mailed = 'a mailed link shows its form to any browser, and an unknown link has none';
const asked = 'refuses a request that is none; another one begins a sign-in';
const others: Readonly<Record<string, string>> = {
  'GET /idp/account/applications/return': afterSignIn,
  'GET /idp/account/return': afterSignIn,
  'GET /idp/account/data/return': afterSignIn,
  'GET /idp/account/password/return': afterSignIn,
  'GET /idp/account/profile/return': afterSignIn,
  'GET /idp/account/sessions/return': afterSignIn,
  'GET /idp/account/sign-ins/return': afterSignIn,
  'GET /idp/check-session/client': 'answers the script of the check-session frame',
  'GET /idp/ciba/return': afterSignIn,
  'GET /idp/connections/:id/callback': 'comes from a provider, to which a form of a sign-in leads',
  'GET /idp/connections/:id/signed-out': 'comes after a sign-out',
  'GET /idp/connections/return': afterSignIn,
  'GET /idp/email/:token': mailed,
  'GET /idp/email/return': afterSignIn,
  'GET /idp/email/stop/:token': mailed,
  'GET /idp/factors/return': afterSignIn,
  'GET /idp/identities/return': afterSignIn,
  'GET /idp/impersonation': 'says that nobody is impersonated',
  'GET /idp/invitations/:token': mailed,
  'GET /idp/invitations/confirm': afterForm,
  'GET /idp/invitations/return': afterSignIn,
  'GET /idp/linked-accounts/return': afterSignIn,
  'GET /idp/password/:token': mailed,
  'GET /idp/register/:token': mailed,
  'GET /idp/register/return': afterSignIn,
  'GET /idp/saml/init': asked,
  'GET /idp/saml/slo': asked,
  'GET /idp/saml/slo/done': 'comes after a sign-out',
  'GET /idp/saml/slo/next': 'comes after a sign-out',
  'GET /idp/saml/slo/run': 'comes after a sign-out',
  'GET /idp/saml/sso': asked,
  'GET /idp/saml/sso/answer': afterSignIn,
  'GET /idp/saml/t/:tid/init': asked,
  'GET /idp/saml/t/:tid/slo': asked,
  'GET /idp/saml/t/:tid/sso': asked,
};
/** Routes without pages. */
const noPages = /^GET (\/idp\/api\/|\/connect\/|\/\.well-known\/|.*\.js$|.*\/(metadata|jwks)$)/;

describe('a browser that sends no cookies', () => {
  test('is told so by the sign-in, and led nowhere in circles', async () => {
    const blocked = new Blocked();
    const page = await blocked.follow(await blocked.get(url(service.issuer)));
    expect([page.status, titleOf(page)]).toEqual([400, TOLD]);
    expect(page.body).toContain('Allow cookies for this site');
    const again = /<a class="button" href="([^"]+)"/.exec(page.body)?.[1] ?? '';
    blocked.redirects.length = 0;
    expect(titleOf(await blocked.follow(await blocked.get(again)))).toBe(TOLD);
    // With cookies, the same link begins the sign-in.
    const agent = new Agent();
    expect(titleOf(await agent.follow(await agent.get(again)))).toBe('Sign in to Web shop');
  });

  test('is told so for each route that shows a page', async () => {
    const { url: invitation } = await invite(service.idp);
    expect(titleOf(await new Blocked().get(invitation))).not.toBe(TOLD);
    const live = new Agent();
    const signInPage = await live.follow(await live.get(url(service.issuer)));
    const result: Record<string, string> = {};
    const shown = routes().filter((each) => each.startsWith('GET ') && !noPages.test(each));
    for (const name of shown.sort()) {
      const path = pathOf(name, signInPage);
      const blocked = new Blocked();
      const page = await blocked.follow(await blocked.get(service.issuer + path));
      result[name] = titleOf(page);
    }
    expect(Object.fromEntries(Object.entries(result).filter(([name, title]) => title !== TOLD && others[name] === undefined))).toEqual({});
    expect(Object.keys(others).filter((name) => !(name in result) || result[name] === TOLD)).toEqual([]);
  });

  test('is told so for each form', async () => {
    const live = new Agent();
    const page = await live.follow(await live.get(url(service.issuer)));
    const wrong: unknown[] = [];
    const forms = routes().filter((each) => each.startsWith('POST /idp/') && !/\/api\/|\/saml\/|\/callback$/.test(each));
    for (const name of [...forms, 'POST /connect/endsession/confirm']) {
      const path = pathOf(name, page);
      const answer = await new Blocked().post(service.issuer + path, formOf(page).fields);
      if (answer.status !== 403 || titleOf(answer) !== TOLD) wrong.push([name, answer.status, titleOf(answer)]);
    }
    expect(forms.length).toBeGreaterThan(30);
    expect(wrong).toEqual([]);
  });

  test.each([
    ['en', TOLD],
    ['nb', 'Nettleseren din sender ingen informasjonskapsler'],
    ['sv', 'Din webbläsare skickar inga kakor'],
    ['da', 'Din browser sender ingen cookies'],
    ['fi', 'Selaimesi ei lähetä evästeitä'],
    ['de', 'Ihr Browser sendet keine Cookies'],
  ])('in %s', async (language, title) => {
    const blocked = new Blocked({ 'accept-language': language });
    expect(titleOf(await blocked.follow(await blocked.get(url(service.issuer))))).toBe(title);
  });

  test('also where the application has to push its requests', async () => {
    const client = invitingSeed.clients.find(({ id }) => id === 'web') as unknown as { readonly metadata: object };
    const pushing = await startIdp({
      seed: {
        ...invitingSeed,
        clients: [{ ...client, id: 'pushing', metadata: { ...client.metadata, require_pushed_authorization_requests: true } }],
      } as never,
    });
    try {
      const { status, location } = await pushed(pushing.issuer);
      expect(status).toBe(201);
      const blocked = new Blocked();
      expect(titleOf(await blocked.follow(await blocked.get(location)))).toBe(TOLD);
      expect(blocked.redirects.length).toBeLessThan(4);
    } finally {
      await pushing.close();
    }
  });
});

async function pushed(issuer: string): Promise<{ status: number; location: string }> {
  const { searchParams } = new URL(url(issuer, { client_id: 'pushing' }));
  searchParams.set('client_secret', 'web-secret');
  const answer = await fetch(`${issuer}/connect/par`, { method: 'POST', body: searchParams });
  const { request_uri: uri = '' } = (await answer.json()) as { request_uri?: string };
  return {
    status: answer.status,
    location: `${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'pushing', request_uri: uri })}`,
  };
}

describe('a browser that sends cookies', () => {
  test('is told that the link is wrong, or that the sign-in is over', async () => {
    const agent = new Agent();
    await agent.follow(await agent.get(url(service.issuer)));
    const page = await agent.follow(await agent.get(`${service.issuer}/idp/interaction/${'a'.repeat(43)}`));
    expect(titleOf(page)).toBe('This link doesn’t work');
  });

  test('and a page of another site that posts a form is not what cookies are about', async () => {
    const answer = await new Blocked({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }).post(`${service.issuer}/idp/email`, {
      csrf: 'x',
    });
    expect(titleOf(answer)).not.toBe(TOLD);
  });
});

describe('an https issuer that browsers reach over http', () => {
  test.each([
    ['is logged once', {}, 1],
    ['is not logged where a proxy says that it ended TLS', { 'x-forwarded-proto': 'https' }, 0],
  ])('%s', async (_, headers, times) => {
    const { logger, logged } = keepLog();
    const idp = await createIdentityProvider({
      issuer: 'https://login.example.com',
      seed: invitingSeed as never,
      subjectSalt: 'salt of this test and no other',
      keys: { signing: testKeys },
      logger,
    });
    const { port } = (await idp.listen(0, '127.0.0.1')).address() as AddressInfo;
    const via = (address: string): string => address.replace('https://login.example.com', `http://127.0.0.1:${port}`);
    try {
      for (const time of [1, 2]) {
        const blocked = new Blocked(headers);
        let page = await blocked.get(via(url(idp.issuer)));
        while (page.location !== undefined) page = await blocked.get(via(new URL(page.location).href));
        expect([time, titleOf(page)]).toEqual([time, TOLD]);
      }
    } finally {
      await idp.close();
    }
    const lines = logged.filter((line) => JSON.stringify(line).includes('over http'));
    expect(lines).toHaveLength(times);
  });
});
