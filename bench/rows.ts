/** What is measured: for each row a script that one connection runs again and again. */
import { createHash } from 'node:crypto';
import { Agent, signIn } from '../test/support/agent.js';
import type { Connection } from './connection.js';
import { apiScope, authorizationOf, redirectUri, user, userScopes } from './world.js';

/** One pass, counted as one request. */
export type Script = () => Promise<void>;

export interface Row {
  readonly name: string;
  /** What a script of its own needs is got here, before anything is counted. */
  prepare(connection: Connection, issuer: string): Promise<Script>;
}

type WebClient = 'web-es256' | 'web-rs256';

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

const verifier = 'a-verifier-of-fifty-characters-as-clients-make-them';
const challenge = createHash('sha256').update(verifier).digest('base64url');

const authorizePath = (client: WebClient, scope: string, prompt: Readonly<Record<string, string>>): string =>
  `/connect/authorize?${new URLSearchParams({
    client_id: client,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
    state: 'a-state-of-some-length',
    nonce: 'a-nonce-of-some-length',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...prompt,
  })}`;

/** Signs in as a browser does. @returns the header with the cookies of the session. */
async function openSession(issuer: string, client: WebClient, scope: string): Promise<{ cookie: string }> {
  const agent = new Agent();
  await signIn(agent, issuer + authorizePath(client, scope, {}), user.userName, user.password);
  const cookies = [...agent.cookies].filter(([, { path }]) => path === '/').map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
  return { cookie: cookies.join('; ') };
}

async function codeFlow(connection: Connection, client: WebClient, scope: string, session: { cookie: string }): Promise<Tokens> {
  const { headers } = await connection.get(authorizePath(client, scope, { prompt: 'none' }), session);
  const code = new URL(headers.location ?? redirectUri).searchParams.get('code');
  if (!code) throw new Error(`no code in ${headers.location}`);
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const { body } = await connection.post('/connect/token', fields, { authorization: authorizationOf(client) });
  return JSON.parse(body) as Tokens;
}

/** Tokens of a sign-in of the connection's own. */
export async function obtainTokens(connection: Connection, issuer: string, client: WebClient, scope: string): Promise<Tokens> {
  return codeFlow(connection, client, scope, await openSession(issuer, client, scope));
}

const codeFlowRow = (client: WebClient, alg: string): Row => ({
  name: `code flow with a session, ${alg}`,
  async prepare(connection, issuer) {
    const session = await openSession(issuer, client, userScopes);
    return async () => {
      await codeFlow(connection, client, userScopes, session);
    };
  },
});

const refreshRow = (client: WebClient, alg: string): Row => ({
  name: `refresh with rotation, ${alg}`,
  async prepare(connection, issuer) {
    let { refresh_token: token } = await obtainTokens(connection, issuer, client, userScopes);
    return async () => {
      const fields = { grant_type: 'refresh_token', refresh_token: token };
      const { body } = await connection.post('/connect/token', fields, { authorization: authorizationOf(client) });
      const { refresh_token: next } = JSON.parse(body) as Tokens;
      if (!next || next === token) throw new Error('the refresh token was not rotated');
      token = next;
    };
  },
});

const documentRow = (name: string, path: string): Row => ({
  name,
  prepare: async (connection) => async () => {
    await connection.get(path);
  },
});

export const rows: readonly Row[] = [
  {
    name: 'client_credentials',
    prepare: async (connection) => async () => {
      await connection.post(
        '/connect/token',
        { grant_type: 'client_credentials', scope: apiScope },
        { authorization: authorizationOf('service') },
      );
    },
  },
  codeFlowRow('web-es256', 'ES256'),
  codeFlowRow('web-rs256', 'RS256'),
  refreshRow('web-es256', 'ES256'),
  refreshRow('web-rs256', 'RS256'),
  {
    name: 'introspection',
    async prepare(connection, issuer) {
      const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', `${userScopes} ${apiScope}`);
      return async () => {
        const { body } = await connection.post('/connect/introspect', { token }, { authorization: authorizationOf('orders') });
        if (!body.includes('"active":true')) throw new Error(`introspection answered ${body}`);
      };
    },
  },
  {
    name: 'userinfo',
    async prepare(connection, issuer) {
      const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', userScopes);
      return async () => {
        await connection.get('/connect/userinfo', { authorization: `Bearer ${token}` });
      };
    },
  },
  documentRow('discovery', '/.well-known/openid-configuration'),
  documentRow('key set', '/.well-known/openid-configuration/jwks'),
];
