/** Browsers in which Alice impersonates Bob, through the extension of `impersonation.ts`. */
import { type Agent, type Answer, authorizeUrl, Agent as Browser, createPkce, type Json, postForm, signIn } from '../client/agent.js';
import { isSignInPage, membersOf } from '../client/authorization-response.js';
import { authorizationOf } from '../client/steps.js';
import { redirectUri } from '../service/seed.js';
import type { IdpInUse } from '../service/use-idp.js';

type Parameters = Record<string, string>;

interface ImpersonatedSession {
  readonly agent: Agent;
  /** Answer to the request that started the impersonation. */
  readonly response: Answer;
}

export function impersonationIn(service: IdpInUse) {
  const pkce = createPkce();
  const url = (parameters: Parameters = {}): string =>
    authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
  return {
    url,

    /** Returns the ids of a user of the seed. */
    async known(userName: string): Promise<{ readonly oid: string; readonly sub: string; readonly tid: string }> {
      const [account] = await service.idp.directory.accounts.candidates(userName);
      const { id = '', parentUserId = id } = account?.person.user ?? {};
      return { oid: id, sub: parentUserId, tid: account?.tenant.id ?? '' };
    },

    /** Signs Alice in, and starts her impersonation of Bob. */
    async act(parameters: Parameters = {}, agent: Agent = new Browser(), user = 'bob@globex.test'): Promise<ImpersonatedSession> {
      const asked = url({ acr_values: 'impersonate', ...parameters });
      const first = await agent.follow(await agent.get(asked));
      const page = isSignInPage(first) ? await signIn(agent, asked) : first;
      return { agent, response: await agent.follow(await agent.submit(page, { user })) };
    },

    /** Returns the answer to a request that shows no page. */
    silently: (agent: Agent, parameters: Parameters = {}): Promise<Answer> => agent.get(url({ prompt: 'none', ...parameters })),

    /** Returns the answer or the page to which a request leads. */
    ask: async (agent: Agent, parameters: Parameters = {}): Promise<Answer> => agent.follow(await agent.get(url(parameters))),

    redeem: (response: Answer, client = 'web', more: Parameters = {}): Promise<Json> =>
      postForm(
        `${service.issuer}/connect/token`,
        {
          grant_type: 'authorization_code',
          code: membersOf(response).code ?? '',
          redirect_uri: redirectUri,
          code_verifier: pkce.verifier,
          ...more,
        },
        authorizationOf(client),
      ),
  };
}
