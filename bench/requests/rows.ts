/** Rows of the comparison with oidc-provider. */
import { randomBytes } from 'node:crypto';
import { apiScope, authorizationOf, escapedAuthorizationOf, identityScopes, unusualHeadersOf, userScopes } from '../world.js';
import type { Connection } from './connection.js';
import { decoupledRows } from './decoupled.js';
import {
  authorizationRequest,
  authorize,
  clientCredentials,
  codeFlow,
  introspect,
  obtainTokens,
  openSession,
  type Tokens,
  type WebClient,
} from './requests.js';
import type { Row } from './row.js';

type Headers = Readonly<Record<string, string>>;

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

const refreshRow = (client: WebClient, alg: string, goal: number, headers: Headers = { authorization: authorizationOf(client) }): Row => ({
  name: `refresh with rotation, ${alg}`,
  goal,
  async prepare(connection, issuer) {
    let { refresh_token: token } = await obtainTokens(connection, issuer, client, userScopes);
    return async () => {
      const fields = { grant_type: 'refresh_token', refresh_token: token };
      const { body } = await connection.post('/connect/token', fields, headers);
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
const introspectionRow = (
  name: string,
  hint: Readonly<Record<string, string>>,
  headers: Headers = { authorization: authorizationOf('orders') },
): Row => ({
  name,
  async prepare(connection, issuer) {
    const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', `${userScopes} ${apiScope}`);
    return () => introspect(connection, { token, ...hint }, true, headers);
  },
});

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
      // A response about an inactive token is a JWT of half the length.
      if (!headers['content-type']?.startsWith(accept) || body.length < 500) throw new Error(`introspection answered ${body}`);
    };
  },
};

/** Compares scope introspection with userinfo, the nearest feature of oidc-provider. @param conditional whether the client already has the claims. */
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

/** Returns three rows of JWT access tokens. Each token is checked once. */
const jwtRows = (alg: 'ES256' | 'RS256'): readonly Row[] => {
  const suffix = alg === 'ES256' ? 'es256' : 'rs256';
  const rowsOfReferences = [codeFlowRow(`web-jwt-${suffix}`, alg, 1), refreshRow(`web-jwt-${suffix}`, alg, 1)];
  return [
    {
      name: `client credentials, JWT ${alg}`,
      ofJwts: true,
      async prepare(connection) {
        const token = await clientCredentials(connection, `service-jwt-${suffix}`);
        if (token.split('.').length !== 3) throw new Error(`not a JWT: ${token}`);
        return async () => {
          await clientCredentials(connection, `service-jwt-${suffix}`);
        };
      },
    },
    ...rowsOfReferences.map((row) => ({ ...row, name: `${row.name}, JWT access token`, ofJwts: true })),
  ];
};

/** Requests that this library passes to oidc-provider, because a part of them is unusual. */
const providerDoorRows: readonly Row[] = [
  {
    name: 'client credentials',
    prepare: async (connection: Connection) => async () => {
      await clientCredentials(connection, 'service', unusualHeadersOf('service'));
    },
  },
  refreshRow('web-es256', 'ES256', 1, unusualHeadersOf('web-es256')),
  introspectionRow('introspection', {}, unusualHeadersOf('orders')),
].map((row) => ({ ...row, name: `${row.name}, by oidc-provider` }));

export const rows: readonly Row[] = [
  {
    name: 'client credentials',
    prepare: async (connection) => async () => {
      await clientCredentials(connection);
    },
  },
  {
    name: 'client credentials, escaped secret',
    prepare: async (connection) => async () => {
      await clientCredentials(connection, 'service', { authorization: escapedAuthorizationOf('service') });
    },
  },
  codeFlowRow('web-es256', 'ES256', 1.2),
  codeFlowRow('web-rs256', 'RS256', 1),
  refreshRow('web-es256', 'ES256', 1.2),
  refreshRow('web-rs256', 'RS256', 1),
  {
    name: 'refresh, revoked token',
    async prepare(connection, issuer) {
      const { refresh_token: token } = await obtainTokens(connection, issuer, 'web-es256', userScopes);
      const headers = { authorization: authorizationOf('web-es256') };
      await connection.post('/connect/revocation', { token }, headers);
      const fields = { grant_type: 'refresh_token', refresh_token: token };
      return () => connection.refused('invalid_grant', '/connect/token', fields, headers);
    },
  },
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
  ...jwtRows('ES256'),
  ...jwtRows('RS256'),
  ...providerDoorRows,
  ...decoupledRows,
  documentRow('discovery', '/.well-known/openid-configuration'),
  documentRow('key set', '/.well-known/openid-configuration/jwks'),
];
