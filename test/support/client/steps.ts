/** Single steps of the flows, for tests that repeat, reorder or race them. */

import { redirectUri } from '../service/seed.js';
import { type Agent, type Answer, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from './agent.js';
import { jsonOf, send } from './send.js';

type Parameters = Record<string, string | undefined>;

export interface CodeInHand {
  readonly client: string;
  readonly code: string;
  readonly verifier: string;
}

/** Returns the parameters of the URL of a redirect to the client. */
export const responseOf = ({ location }: Pick<Answer, 'location'>): URLSearchParams =>
  new URLSearchParams(location === undefined ? '' : new URL(location).search);

/** Returns the members of a response except `session_state`, which differs each time. */
export function steadyMembersOf(answer: Pick<Answer, 'location'>): Record<string, string> {
  const { session_state: _, ...members } = Object.fromEntries(responseOf(answer));
  return members;
}

/** Returns a code for the agent, which signs in as Alice unless it is signed in. */
export async function obtainCode(issuer: string, agent: Agent, client = 'web', parameters: Parameters = {}): Promise<CodeInHand> {
  const { verifier, challenge } = createPkce();
  const answer = await signIn(
    agent,
    authorizeUrl(issuer, { client_id: client, code_challenge: challenge, code_challenge_method: 'S256', ...parameters }),
  );
  const code = responseOf(answer).get('code');
  if (!code) throw new Error(`no code: ${answer.location ?? answer.body.replace(/<style[\s\S]*?<\/style>/g, '')}`);
  return { client, code, verifier };
}

const secrets: Record<string, string> = { spa: '' };
const secretOf = (client: string): string => secrets[client] ?? `${client === 'third-party' ? 'third' : client}-secret`;

/** Returns the header that authenticates a client of the seed, or no header for the public client. */
export const authorizationOf = (client: string): Record<string, string> =>
  secretOf(client) === '' ? {} : { authorization: basic(client, secretOf(client)) };

export const redeem = (issuer: string, { client, code, verifier }: CodeInHand, more: Record<string, string> = {}) =>
  postForm(
    `${issuer}/connect/token`,
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      ...(secretOf(client) === '' ? { client_id: client } : {}),
      ...more,
    },
    authorizationOf(client),
  );

export const refresh = (issuer: string, token: string, client = 'web', more: Record<string, string> = {}) =>
  postForm(
    `${issuer}/connect/token`,
    { grant_type: 'refresh_token', refresh_token: token, ...(secretOf(client) === '' ? { client_id: client } : {}), ...more },
    authorizationOf(client),
  );

export const introspect = (issuer: string, token: string, caller = 'web') =>
  postForm(`${issuer}/connect/introspect`, { token }, authorizationOf(caller));

export const isActive = async (issuer: string, token: string, caller = 'web'): Promise<boolean> =>
  ((await introspect(issuer, token, caller)).json as Json).active === true;

export const revoke = (issuer: string, token: string, caller = 'web') =>
  postForm(`${issuer}/connect/revocation`, { token }, authorizationOf(caller));

export async function userinfo(issuer: string, token: string): Promise<{ status: number; headers: Headers; json: Json }> {
  const { status, headers, text } = await send(`${issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  return { status, headers, json: jsonOf(text) ?? text };
}
