/** Requests of the scripts: a sign-in, tokens by each grant, introspection. */
import { createHash } from 'node:crypto';
import { Agent, signIn } from '../../test/support/client/agent.js';
import { apiScope, authorizationOf, redirectUri, user } from '../world.js';
import type { Connection } from './connection.js';

export type WebClient = 'web-es256' | 'web-rs256' | 'web-jwt-es256' | 'web-jwt-rs256';
type ServiceClient = 'service' | 'service-jwt-es256' | 'service-jwt-rs256';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

const verifier = 'a-verifier-of-fifty-characters-as-clients-make-them';
const challenge = createHash('sha256').update(verifier).digest('base64url');

export const authorizationRequest = (client: WebClient, scope: string) => ({
  client_id: client,
  response_type: 'code',
  redirect_uri: redirectUri,
  scope,
  state: 'a-state-of-some-length',
  nonce: 'a-nonce-of-some-length',
  code_challenge: challenge,
  code_challenge_method: 'S256',
});

const authorizePath = (client: WebClient, scope: string, prompt: Readonly<Record<string, string>>): string =>
  `/connect/authorize?${new URLSearchParams({ ...authorizationRequest(client, scope), ...prompt })}`;

/** Signs in as a browser would. @returns the header with the cookies of the session. */
export async function openSession(issuer: string, client: WebClient, scope: string): Promise<{ cookie: string }> {
  const agent = new Agent();
  await signIn(agent, issuer + authorizePath(client, scope, {}), user.userName, user.password);
  const cookies = [...agent.cookies].filter(([, { path }]) => path === '/').map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
  return { cookie: cookies.join('; ') };
}

/** @returns the code. */
export async function authorize(connection: Connection, client: WebClient, scope: string, session: { cookie: string }): Promise<string> {
  const { headers } = await connection.get(authorizePath(client, scope, { prompt: 'none' }), session);
  const code = new URL(headers.location ?? redirectUri).searchParams.get('code');
  if (!code) throw new Error(`no code in ${headers.location}`);
  return code;
}

export async function codeFlow(connection: Connection, client: WebClient, scope: string, session: { cookie: string }): Promise<Tokens> {
  const code = await authorize(connection, client, scope, session);
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const { body } = await connection.post('/connect/token', fields, { authorization: authorizationOf(client) });
  return JSON.parse(body) as Tokens;
}

/** Returns the tokens of a sign-in that only this connection uses. */
export async function obtainTokens(connection: Connection, issuer: string, client: WebClient, scope: string): Promise<Tokens> {
  return codeFlow(connection, client, scope, await openSession(issuer, client, scope));
}

export async function introspect(
  connection: Connection,
  fields: Readonly<Record<string, string>>,
  active: boolean,
  headers: Readonly<Record<string, string>> = { authorization: authorizationOf('orders') },
): Promise<void> {
  const { body } = await connection.post('/connect/introspect', fields, headers);
  if (!body.includes(`"active":${active}`)) throw new Error(`introspection answered ${body}`);
}

export async function clientCredentials(
  connection: Connection,
  client: ServiceClient = 'service',
  headers: Readonly<Record<string, string>> = { authorization: authorizationOf(client) },
): Promise<string> {
  const fields = { grant_type: 'client_credentials', scope: apiScope };
  const { body } = await connection.post('/connect/token', fields, headers);
  return (JSON.parse(body) as Tokens).access_token;
}
