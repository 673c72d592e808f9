/** Requests of the scripts: a sign-in, tokens by each grant, introspection. */
import { createHash } from 'node:crypto';
import { Agent, signIn } from '../../test/support/client/agent.js';
import { apiScope, redirectUri, user } from '../world.js';
import { type Application, bySecret } from './applications.js';
import type { Connection, Reply } from './connection.js';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

const verifier = 'a-verifier-of-fifty-characters-as-clients-make-them';
const challenge = createHash('sha256').update(verifier).digest('base64url');

export const authorizationRequest = (client: string, scope: string) => ({
  client_id: client,
  response_type: 'code',
  redirect_uri: redirectUri,
  scope,
  state: 'a-state-of-some-length',
  nonce: 'a-nonce-of-some-length',
  code_challenge: challenge,
  code_challenge_method: 'S256',
});

const authorizePath = (client: string, scope: string, prompt: Readonly<Record<string, string>>): string =>
  `/connect/authorize?${new URLSearchParams({ ...authorizationRequest(client, scope), ...prompt })}`;

/** Signs in as a browser would. @returns the header with the cookies of the session. */
export async function openSession({ issuer }: Connection, client: string, scope: string): Promise<{ cookie: string }> {
  const agent = new Agent();
  await signIn(agent, issuer + authorizePath(client, scope, {}), user.userName, user.password);
  const cookies = [...agent.cookies].filter(([, { path }]) => path === '/').map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
  return { cookie: cookies.join('; ') };
}

/** @returns the code. */
export async function authorize(connection: Connection, client: string, scope: string, session: { cookie: string }): Promise<string> {
  const { headers } = await connection.get(authorizePath(client, scope, { prompt: 'none' }), session);
  const code = new URL(headers.location ?? redirectUri).searchParams.get('code');
  if (!code) throw new Error(`no code in ${headers.location}`);
  return code;
}

/** Posts a form as an application that authenticates. */
export const postAs = (
  connection: Connection,
  application: Application,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<Reply> => connection.post(path, { ...fields, ...application.fields(connection.issuer) }, application.headers);

/** @returns the tokens of a grant. */
export async function redeem(connection: Connection, application: Application, fields: Readonly<Record<string, string>>): Promise<Tokens> {
  return JSON.parse((await postAs(connection, application, '/connect/token', fields)).body) as Tokens;
}

export async function codeFlow(
  connection: Connection,
  application: Application,
  scope: string,
  session: { cookie: string },
): Promise<Tokens> {
  const code = await authorize(connection, application.id, scope, session);
  return redeem(connection, application, { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier });
}

/** Returns the tokens of a sign-in that only this connection uses. */
export async function obtainTokens(connection: Connection, application: Application, scope: string): Promise<Tokens> {
  return codeFlow(connection, application, scope, await openSession(connection, application.id, scope));
}

export async function introspect(
  connection: Connection,
  fields: Readonly<Record<string, string>>,
  active: boolean,
  application: Application = bySecret('orders'),
): Promise<void> {
  const { body } = await postAs(connection, application, '/connect/introspect', fields);
  if (!body.includes(`"active":${active}`)) throw new Error(`introspection answered ${body}`);
}

/** @returns the access token. */
export const clientCredentials = async (connection: Connection, application: Application): Promise<string> =>
  (await redeem(connection, application, { grant_type: 'client_credentials', scope: apiScope })).access_token;
