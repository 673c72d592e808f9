/** What is measured: for each row a script that one connection runs again and again. */
import { createHash, randomBytes } from 'node:crypto';
import { Agent, signIn } from '../test/support/agent.js';
import type { Connection } from './connection.js';
import { apiScope, authorizationOf, identityScopes, redirectUri, user, userScopes } from './world.js';

/** One pass, counted as one request. */
export type Script = () => Promise<void>;

export interface Row {
  readonly name: string;
  /** How many times as fast as oidc-provider on a plain adapter ours must be; 1 where nothing is said. */
  readonly goal?: number;
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

const authorizationRequest = (client: WebClient, scope: string) => ({
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

/** Signs in as a browser does. @returns the header with the cookies of the session. */
async function openSession(issuer: string, client: WebClient, scope: string): Promise<{ cookie: string }> {
  const agent = new Agent();
  await signIn(agent, issuer + authorizePath(client, scope, {}), user.userName, user.password);
  const cookies = [...agent.cookies].filter(([, { path }]) => path === '/').map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
  return { cookie: cookies.join('; ') };
}

/** @returns the code. */
async function authorize(connection: Connection, client: WebClient, scope: string, session: { cookie: string }): Promise<string> {
  const { headers } = await connection.get(authorizePath(client, scope, { prompt: 'none' }), session);
  const code = new URL(headers.location ?? redirectUri).searchParams.get('code');
  if (!code) throw new Error(`no code in ${headers.location}`);
  return code;
}

async function codeFlow(connection: Connection, client: WebClient, scope: string, session: { cookie: string }): Promise<Tokens> {
  const code = await authorize(connection, client, scope, session);
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const { body } = await connection.post('/connect/token', fields, { authorization: authorizationOf(client) });
  return JSON.parse(body) as Tokens;
}

/** Tokens of a sign-in of the connection's own. */
export async function obtainTokens(connection: Connection, issuer: string, client: WebClient, scope: string): Promise<Tokens> {
  return codeFlow(connection, client, scope, await openSession(issuer, client, scope));
}

const codeFlowRow = (client: WebClient, alg: string, goal: number): Row => ({
  name: `code flow with a session, ${alg}`,
  goal,
  async prepare(connection, issuer) {
    const session = await openSession(issuer, client, userScopes);
    return async () => {
      await codeFlow(connection, client, userScopes, session);
    };
  },
});

const refreshRow = (client: WebClient, alg: string, goal: number): Row => ({
  name: `refresh with rotation, ${alg}`,
  goal,
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
  goal: 3,
  prepare: async (connection) => () => connection.document(path),
});

/** @param hint `token_type_hint`. */
const introspectionRow = (name: string, hint: Readonly<Record<string, string>>): Row => ({
  name,
  async prepare(connection, issuer) {
    const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', `${userScopes} ${apiScope}`);
    return () => introspect(connection, { token, ...hint }, true);
  },
});

async function introspect(connection: Connection, fields: Readonly<Record<string, string>>, active: boolean): Promise<void> {
  const { body } = await connection.post('/connect/introspect', fields, { authorization: authorizationOf('orders') });
  if (!body.includes(`"active":${active}`)) throw new Error(`introspection answered ${body}`);
}

const jwtIntrospectionRow: Row = {
  name: 'JWT introspection ES256',
  goal: 1.2,
  async prepare(connection, issuer) {
    const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', `${userScopes} ${apiScope}`);
    const accept = 'application/token-introspection+jwt';
    return async () => {
      const { headers, body } = await connection.post(
        '/connect/introspect',
        { token },
        { accept, authorization: authorizationOf('orders') },
      );
      // An inactive token makes a JWT of half the length.
      if (!headers['content-type']?.startsWith(accept) || body.length < 500) throw new Error(`introspection answered ${body}`);
    };
  },
};

/** Beside the nearest that oidc-provider has, which is userinfo. @param conditional whether the caller has the claims already. */
const scopeIntrospectionRow = (name: string, conditional: boolean): Row => ({
  name,
  goal: 1.2,
  async prepare(connection, issuer) {
    const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', userScopes);
    const userinfo = () => connection.get('/connect/userinfo', { authorization: `Bearer ${token}` });
    const { sub } = JSON.parse((await userinfo()).body) as { sub: string };
    const { body: discovery } = await connection.get('/.well-known/openid-configuration');
    if (!discovery.includes('"scope_introspection_endpoint"'))
      return async () => {
        await userinfo();
      };
    const path = `/connect/scope/introspect?${new URLSearchParams({ sub, scope: identityScopes })}`;
    const authorization = authorizationOf('orders');
    const { headers } = await connection.get(path, { authorization });
    const condition = conditional ? { 'if-none-match': String(headers.etag) } : undefined;
    return async () => {
      const { body } = await connection.get(path, { authorization, ...condition });
      if ((body === '') !== conditional) throw new Error(`scope introspection answered '${body}'`);
    };
  },
});

async function clientCredentials(connection: Connection): Promise<string> {
  const fields = { grant_type: 'client_credentials', scope: apiScope };
  const { body } = await connection.post('/connect/token', fields, { authorization: authorizationOf('service') });
  return (JSON.parse(body) as Tokens).access_token;
}

export const rows: readonly Row[] = [
  {
    name: 'client credentials',
    prepare: async (connection) => async () => {
      await clientCredentials(connection);
    },
  },
  codeFlowRow('web-es256', 'ES256', 1.2),
  codeFlowRow('web-rs256', 'RS256', 1),
  refreshRow('web-es256', 'ES256', 1.2),
  refreshRow('web-rs256', 'RS256', 1),
  {
    name: 'authorization with a session',
    async prepare(connection, issuer) {
      const session = await openSession(issuer, 'web-es256', userScopes);
      return async () => {
        await authorize(connection, 'web-es256', userScopes, session);
      };
    },
  },
  {
    name: 'pushed authorization request',
    prepare: async (connection) => async () => {
      const fields = authorizationRequest('web-es256', userScopes);
      await connection.post('/connect/par', fields, { authorization: authorizationOf('web-es256') });
    },
  },
  introspectionRow('introspection', {}),
  introspectionRow('introspection with a hint', { token_type_hint: 'access_token' }),
  jwtIntrospectionRow,
  scopeIntrospectionRow('scope introspection', false),
  scopeIntrospectionRow('scope introspection, unchanged', true),
  {
    name: 'introspection, unknown token',
    prepare: async (connection) => () => introspect(connection, { token: randomBytes(32).toString('base64url') }, false),
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
  {
    name: 'client credentials, then revocation',
    prepare: async (connection) => async () => {
      const token = await clientCredentials(connection);
      await connection.post('/connect/revocation', { token }, { authorization: authorizationOf('service') });
    },
  },
  documentRow('discovery', '/.well-known/openid-configuration'),
  documentRow('key set', '/.well-known/openid-configuration/jwks'),
];
