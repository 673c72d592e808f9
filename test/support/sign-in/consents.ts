/** Users who consent to scopes of a client, and the codes and tokens that the client gets. */
import { Agent, type Answer, authorizeUrl, createPkce, type Json, signIn } from '../client/agent.js';
import { type CodeInHand, redeem, responseOf } from '../client/steps.js';

export interface Allowing {
  readonly agent?: Agent;
  readonly client?: string;
  readonly userName?: string;
  readonly password?: string;
  readonly scope?: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface Allowed {
  readonly agent: Agent;
  readonly code: CodeInHand;
}

export const isQuestion = ({ status, body }: Answer): boolean => status === 200 && body.includes('name="decision"');

/** Signs a user in to a client, and allows the scopes that the client requests. */
export async function allow(
  issuer: string,
  {
    agent = new Agent(),
    client = 'third-party',
    userName = 'alice@acme.test',
    password = 'alice',
    scope = 'openid email offline_access',
    parameters = {},
  }: Allowing = {},
): Promise<Allowed> {
  const { verifier, challenge } = createPkce();
  const url = authorizeUrl(issuer, {
    client_id: client,
    scope,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...parameters,
  });
  const first = await agent.follow(await agent.get(url));
  const page = isQuestion(first) ? first : await signIn(agent, url, userName, password);
  const answer = isQuestion(page) ? await agent.follow(await agent.submit(page, { decision: 'allow' })) : page;
  const code = responseOf(answer).get('code');
  if (!code) throw new Error(`no code: ${answer.location ?? answer.body.replace(/<style[\s\S]*?<\/style>/g, '')}`);
  return { agent, code: { client, code, verifier } };
}

/** Does the same as {@link allow}, and redeems the code for tokens. */
export async function allowedTokens(issuer: string, allowing: Allowing = {}): Promise<{ readonly agent: Agent; readonly tokens: Json }> {
  const { agent, code } = await allow(issuer, allowing);
  return { agent, tokens: (await redeem(issuer, code)).json };
}

/** Returns the error of an authorization without a page; undefined if the client got a code. */
export async function silentError(issuer: string, agent: Agent, client: string, scope = 'openid'): Promise<string | undefined> {
  const { challenge } = createPkce();
  const url = authorizeUrl(issuer, {
    client_id: client,
    prompt: 'none',
    scope,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const response = responseOf(await agent.get(url));
  return response.has('code') ? undefined : (response.get('error') ?? 'no response');
}
