/** Pages on which users answer requests to sign in on another device, and browsers for these pages. */
import { afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { Agent, type Answer, authorizeUrl, createPkce } from '../client/agent.js';
import { testSeed } from '../service/seed.js';
import { useIdp } from '../service/use-idp.js';
import { backToPresent } from '../time/clock.js';
import { until } from '../time/until.js';
import { askedPeople, cibaClient, createAsking } from './ciba.js';
import { submit } from './factors.js';
import { actAs } from './impersonation.js';
import { type Upstream, upstreamMethod } from './upstream-method.js';

const names = Array.from({ length: 15 }, (_, index) => `person${index}`);
const [acme, globex] = testSeed.tenants;
const pkce = createPkce();
export const nameOf = (userName: string): string => userName.split('@')[0] as string;

/** Starts a service for the tests of a file. Each test has a user without earlier requests, and a browser. */
export function useCibaPages() {
  const upstream: Upstream = { subject: 'at-eid', seen: [] };
  const asking = createAsking(() => service.idp);
  const service = useIdp({
    extensions: [asking.extension, actAs({ lasts: 600_000 }), upstreamMethod('eid', upstream)],
    seed: {
      ...testSeed,
      tenants: [
        {
          ...acme,
          persons: [
            ...(acme?.persons ?? []),
            ...askedPeople('acme.test', names),
            {
              givenName: 'Eva',
              familyName: 'E',
              email: 'eva@acme.test',
              user: { userName: 'eva@acme.test', devPassword: 'eva', externalIdentities: [{ idp: 'eid', subject: 'at-eid' }] },
            },
          ],
        },
        globex,
        { name: 'Initech', signIn: { requireMfa: true }, persons: askedPeople('initech.test', ['ida']) },
      ],
      clients: [
        ...testSeed.clients,
        cibaClient('desk'),
        cibaClient('kiosk', { requireConsent: true }),
        cibaClient('gone', { allowedTenants: ['Acme'] }),
      ],
    } as never,
  });

  const heard: IdpEvent[] = [];
  beforeAll(() => {
    for (const type of ['Requested', 'Approved', 'Denied'] as const)
      service.idp.directory.events.on(`BackchannelAuthentication${type}`, async (event) => void heard.push(event));
  });

  let next = 0;
  let me: string;
  let agent: Agent;
  beforeEach(() => {
    me = `${names[next++]}@acme.test`;
    agent = new Agent();
  });
  afterEach(backToPresent);

  /** Signs in on the page to which the browser was redirected. */
  const signInOn = async (browser: Agent, page: Answer, userName: string): Promise<Answer> =>
    submit(browser, await submit(browser, page, { identifier: userName }), { password: nameOf(userName) });
  const inbox = (): string => `${service.issuer}/idp/ciba`;
  return {
    service,
    asking,
    upstream,
    get me() {
      return me;
    },
    get agent() {
      return agent;
    },
    inbox,
    pageOf: (id: string): string => `${inbox()}/requests/${id}`,
    authorize: (parameters: Record<string, string> = {}): string =>
      authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters }),
    signInOn,
    /** Opens a URL, and signs in if the URL requires a sign-in. */
    async open(url: string, userName = me, browser = agent): Promise<Answer> {
      const page = await browser.follow(await browser.get(url));
      return page.url.includes('/interaction/') ? signInOn(browser, page, userName) : page;
    },
    press: (page: Answer, decision: string, browser = agent): Promise<Answer> => submit(browser, page, { decision }),
    stateOf: async (id: string) => (await asking.requests.read(id))?.state,
    /** Returns the events of a request after its decision. */
    eventsAbout: (id: string): Promise<readonly IdpEvent[]> =>
      until(
        () => heard.filter(({ data }) => (data as { RequestId?: string }).RequestId === id),
        (found) => found.length > 1,
      ),
  };
}
