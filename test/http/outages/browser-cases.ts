/** Requests of a browser: the authorization endpoint, the sign-in pages, sign-out. */
import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { Agent, type Answer, formOf, type Json, obtainTokens } from '../../support/client/agent.js';
import { responseOf, userinfo } from '../../support/client/steps.js';
import { postLogoutRedirectUri } from '../../support/service/seed.js';
import { type Case, expectCode, type FailingIdp, ofPage, passwordOf, tabOf } from './failing-idp.js';

/** Returns the case of a step on the sign-in pages. After the outage the step is retried and leads to the client. */
const step = (
  says: Case['says'],
  come: () => Promise<{ agent: Agent; during: () => Promise<Answer> }>,
  goOn: (agent: Agent, answer: Answer) => Promise<Answer> = (agent, answer) => agent.follow(answer),
): Case => ({
  says,
  async prepare() {
    const { agent, during } = await come();
    return {
      during: async () => ofPage(await during()),
      after: async () => expectCode(await goOn(agent, await during())),
    };
  },
});

/** Signs Carol in from the first page on. */
async function signInFrom(agent: Agent, answer: Answer): Promise<Answer> {
  const password = await agent.submit(await agent.follow(answer), { identifier: 'carol@acme.test' });
  return agent.follow(await agent.submit(password, passwordOf));
}

export function browserCases(idp: FailingIdp): Readonly<Record<string, Case>> {
  const { service, alice, request, expectSignedIn, push, urlOfPushed, atIdentifier, atPassword } = idp;

  /** Returns the case of an authorization request of a signed-in browser, which gets its code after the outage. */
  const authorize = (says: Case['says'], url: () => string | Promise<string>, after = expectSignedIn): Case => ({
    says,
    async prepare() {
      const [agent, target] = [tabOf(alice), await url()];
      return { during: async () => ofPage(await agent.get(target)), after: () => after(agent) };
    },
  });
  const atConsent = async () => {
    const { agent, page } = await atPassword({ client_id: 'third-party', prompt: 'consent' });
    return { agent, page: await agent.follow(await agent.submit(page, passwordOf)) };
  };
  /** Signs Carol in with a browser of her own. Returns the tokens that her sign-out will end. */
  const carol = async () => obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol' });
  const signOut = (tokens: Json) =>
    `${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: postLogoutRedirectUri })}`;

  return {
    'authorize, signed in': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () => request()),
    'authorize, prompt=none': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () => request({ prompt: 'none' })),
    'authorize, form_post': authorize(['form', 'form', 'form', 'form', 'form'], () => request({ response_mode: 'form_post' })),
    'authorize, a pairwise client': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () =>
      request({ client_id: 'pairwise' }),
    ),
    'authorize, pushed': authorize(['page', 'redirect', 'page', 'redirect', 'page'], async () => urlOfPushed(await push()), expectSignedIn),
    'authorize, sign in again': authorize(['redirect', 'redirect', 'redirect', 'redirect', 'redirect'], () => request({ prompt: 'login' })),
    'authorize, a client that nobody asked for lately': authorize(['page', 'ok', 'page', 'page', 'page'], () =>
      request({ client_id: `never-seen-${randomUUID()}` }),
    ),
    'authorize, not signed in': step(
      ['ok', 'redirect', 'redirect', 'ok', 'redirect'],
      async () => {
        const agent = new Agent();
        return { agent, during: () => agent.get(request()) };
      },
      signInFrom,
    ),
    'authorize, prompt=none, not signed in': {
      says: ['ok', 'ok', 'ok', 'ok', 'ok'],
      async prepare() {
        const during = () => new Agent().get(request({ prompt: 'none' }));
        const loginRequired = async () => expect(responseOf(await during()).get('error')).toBe('login_required');
        return { during: async () => ofPage(await during()), after: loginRequired };
      },
    },
    'resume after the password': step(['page', 'redirect', 'page', 'redirect', 'page'], async () => {
      const { agent, page } = await atPassword();
      const { location = '' } = await agent.submit(page, passwordOf);
      return { agent, during: () => agent.get(location) };
    }),
    'resume of a sign-in over another’s session': step(['page', 'redirect', 'page', 'redirect', 'page'], async () => {
      const agent = tabOf((await carol()).agent);
      const page = await agent.submit(await agent.follow(await agent.get(request({ prompt: 'login' }))), { identifier: 'carol@acme.test' });
      const { location = '' } = await agent.submit(page, passwordOf);
      return { agent, during: () => agent.get(location) };
    }),
    'resume that leads to consent': step(
      ['page', 'redirect', 'page', 'redirect', 'page'],
      async () => {
        const { agent, page } = await atPassword({ client_id: 'third-party', prompt: 'consent' });
        const { location = '' } = await agent.submit(page, passwordOf);
        return { agent, during: () => agent.get(location) };
      },
      async (agent, answer) => agent.follow(await agent.submit(await agent.follow(answer), { decision: 'allow' })),
    ),
    'the identifier page': step(
      ['page', 'ok', 'page', 'ok', 'page'],
      async () => {
        const { agent, page } = await atIdentifier();
        return { agent, during: () => agent.get(page.url) };
      },
      async (agent, answer) => {
        const password = await agent.submit(answer, { identifier: 'carol@acme.test' });
        return agent.follow(await agent.submit(password, passwordOf));
      },
    ),
    'the identifier, sent': step(
      ['page', 'ok', 'page', 'ok', 'page'],
      async () => {
        const { agent, page } = await atIdentifier();
        return { agent, during: () => agent.submit(page, { identifier: 'carol@acme.test' }) };
      },
      async (agent, answer) => agent.follow(await agent.submit(answer, passwordOf)),
    ),
    'the password, sent': step(['page', 'page', 'page', 'page', 'page'], async () => {
      const { agent, page } = await atPassword();
      return { agent, during: () => agent.submit(page, passwordOf) };
    }),
    'the consent page': step(
      ['page', 'ok', 'page', 'page', 'page'],
      async () => {
        const { agent, page } = await atConsent();
        return { agent, during: () => agent.get(page.url) };
      },
      async (agent, answer) => agent.follow(await agent.submit(answer, { decision: 'allow' })),
    ),
    'consent, given': step(['page', 'page', 'page', 'page', 'page'], async () => {
      const { agent, page } = await atConsent();
      return { agent, during: () => agent.submit(page, { decision: 'allow' }) };
    }),
    'starting again': step(
      ['ok', 'page', 'page', 'ok', 'page'],
      async () => {
        const { agent, page } = await atIdentifier();
        return { agent, during: () => agent.get(`${page.url}/restart`) };
      },
      signInFrom,
    ),
    'end session': {
      says: ['page', 'page', 'page', 'ok', 'page'],
      async prepare() {
        const { agent, tokens } = await carol();
        const during = () => agent.get(signOut(tokens));
        return {
          during: async () => ofPage(await during()),
          async after() {
            expect((await agent.follow(await during())).location).toBe(postLogoutRedirectUri);
            expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
          },
        };
      },
    },
    'end session, asking': {
      says: ['page', 'page', 'page', 'ok', 'page'],
      async prepare() {
        const { agent, tokens } = await carol();
        return {
          during: async () => ofPage(await agent.get(`${service.issuer}/connect/endsession`)),
          async after() {
            await expectSignedIn(agent);
            await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
            expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
          },
        };
      },
    },
    'end session, confirmed': {
      says: ['page', 'page', 'page', 'ok', 'page'],
      async prepare() {
        const { agent, tokens } = await carol();
        const { action, fields } = formOf(await agent.get(`${service.issuer}/connect/endsession`));
        const during = () => agent.post(action, { ...fields, logout: 'yes' });
        return {
          during: async () => ofPage(await during()),
          async after() {
            await agent.follow(await during());
            expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
            expect(responseOf(await agent.get(request({ prompt: 'none' }))).get('error')).toBe('login_required');
          },
        };
      },
    },
    'end session of one application': {
      says: ['page', 'page', 'page', 'ok', 'page'],
      async prepare() {
        const { agent, tokens } = await carol();
        const { action, fields } = formOf(await agent.get(`${service.issuer}/connect/endsession?client_id=web`));
        const during = () => agent.post(action, fields);
        return {
          during: async () => ofPage(await during()),
          async after() {
            await agent.follow(await during());
            expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
            await expectSignedIn(agent);
          },
        };
      },
    },
    'the signed-out page': step(
      ['ok', 'ok', 'ok', 'ok', 'ok'],
      async () => ({ agent: tabOf(alice), during: () => new Agent().get(`${service.issuer}/connect/endsession/success`) }),
      (agent) => agent.get(request({ prompt: 'none' })),
    ),
    'the signed-out page, signed in': step(
      ['page', 'ok', 'page', 'page', 'page'],
      async () => {
        const agent = tabOf(alice);
        return { agent, during: () => agent.get(`${service.issuer}/connect/endsession/success`) };
      },
      (agent) => agent.get(request({ prompt: 'none' })),
    ),
  };
}
