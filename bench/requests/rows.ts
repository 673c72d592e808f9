/** Rows of the comparison with oidc-provider. */
import { randomBytes } from 'node:crypto';
import { apiScope, identityScopes, userScopes } from '../world.js';
import {
  type Application,
  byEscapedSecret,
  byPrivateKey,
  bySecret,
  byUnusualRequest,
  inBrowser,
  publicApplication,
} from './applications.js';
import { decoupledRows } from './decoupled.js';
import {
  authorizationRequest,
  authorize,
  clientCredentials,
  codeFlow,
  introspect,
  obtainTokens,
  openSession,
  postAs,
  redeem,
} from './requests.js';
import type { Row } from './row.js';

type Headers = Readonly<Record<string, string>>;

const web = bySecret('web-es256');

/** @param variant an algorithm, or a way to authenticate */
const codeFlowRow = (application: Application, variant: string, goal: number): Row => ({
  name: `code flow with a session, ${variant}`,
  goal,
  async prepare(connection) {
    const session = await openSession(connection, application.id, userScopes);
    return async () => {
      await codeFlow(connection, application, userScopes, session);
    };
  },
});

const refreshRow = (application: Application, variant: string, goal: number): Row => ({
  name: `refresh with rotation, ${variant}`,
  goal,
  async prepare(connection) {
    let { refresh_token: token } = await obtainTokens(connection, application, userScopes);
    return async () => {
      const { refresh_token: next } = await redeem(connection, application, { grant_type: 'refresh_token', refresh_token: token });
      if (!next || next === token) throw new Error('the refresh token was not rotated');
      token = next;
    };
  },
});

const clientCredentialsRow = (name: string, application: Application, goal: number): Row => ({
  name,
  goal,
  prepare: async (connection) => async () => {
    await clientCredentials(connection, application);
  },
});

const userinfoRow = (name: string, application: Application, goal: number): Row => ({
  name,
  goal,
  async prepare(connection) {
    const { access_token: token } = await obtainTokens(connection, application, userScopes);
    return async () => {
      await connection.get('/connect/userinfo', { ...application.headers, authorization: `Bearer ${token}` });
    };
  },
});

const documentRow = (name: string, path: string): Row => ({
  name,
  goal: 3,
  prepare: async (connection) => () => connection.document(path),
});

interface IntrospectionOptions {
  readonly by?: Application;
  /** `token_type_hint`. */
  readonly hint?: Headers;
}

const introspectionRow = (name: string, goal: number, { by = bySecret('orders'), hint = {} }: IntrospectionOptions = {}): Row => ({
  name,
  goal,
  async prepare(connection) {
    const { access_token: token } = await obtainTokens(connection, web, `${userScopes} ${apiScope}`);
    return () => introspect(connection, { token, ...hint }, true, by);
  },
});

const jwtIntrospectionRow: Row = {
  name: 'JWT introspection ES256',
  goal: 1.2,
  async prepare(connection) {
    const { access_token: token } = await obtainTokens(connection, web, `${userScopes} ${apiScope}`);
    const accept = 'application/token-introspection+jwt';
    const orders = bySecret('orders');
    const application = { ...orders, headers: { ...orders.headers, accept } };
    return async () => {
      const { headers, body } = await postAs(connection, application, '/connect/introspect', { token });
      // A response about an inactive token is a JWT of half the length.
      if (!headers['content-type']?.startsWith(accept) || body.length < 500) throw new Error(`introspection answered ${body}`);
    };
  },
};

/** Compares scope introspection with userinfo, the nearest feature of oidc-provider. @param conditional whether the client already has the claims. */
const scopeIntrospectionRow = (name: string, conditional: boolean): Row => ({
  name,
  goal: 1.2,
  async prepare(connection) {
    const { access_token: token } = await obtainTokens(connection, web, userScopes);
    const userinfo = () => connection.get('/connect/userinfo', { authorization: `Bearer ${token}` });
    const { sub } = JSON.parse((await userinfo()).body) as { sub: string };
    const { body: discovery } = await connection.get('/.well-known/openid-configuration');
    if (!discovery.includes('"scope_introspection_endpoint"'))
      return async () => {
        await userinfo();
      };
    const path = `/connect/scope/introspect?${new URLSearchParams({ sub, scope: identityScopes })}`;
    const { headers: authentication } = bySecret('orders');
    const { headers } = await connection.get(path, authentication);
    const condition = conditional ? { 'if-none-match': String(headers.etag) } : undefined;
    return async () => {
      const { body } = await connection.get(path, { ...authentication, ...condition });
      if ((body === '') !== conditional) throw new Error(`scope introspection answered '${body}'`);
    };
  },
});

/** Returns three rows of JWT access tokens. Each token is checked once. */
const jwtRows = (alg: 'ES256' | 'RS256'): readonly Row[] => {
  const suffix = alg === 'ES256' ? 'es256' : 'rs256';
  const application = bySecret(`web-jwt-${suffix}`);
  const service = bySecret(`service-jwt-${suffix}`);
  const rowsOfReferences = [codeFlowRow(application, alg, 1), refreshRow(application, alg, 1)];
  return [
    {
      name: `client credentials, JWT ${alg}`,
      ofJwts: true,
      async prepare(connection) {
        const token = await clientCredentials(connection, service);
        if (token.split('.').length !== 3) throw new Error(`not a JWT: ${token}`);
        return async () => {
          await clientCredentials(connection, service);
        };
      },
    },
    ...rowsOfReferences.map((row) => ({ ...row, name: `${row.name}, JWT access token`, ofJwts: true })),
  ];
};

/** Requests that this library passes to oidc-provider, because a part of them is unusual. */
const providerDoorRows: readonly Row[] = [
  clientCredentialsRow('client credentials', byUnusualRequest('service'), 1),
  refreshRow(byUnusualRequest('web-es256'), 'ES256', 1),
  introspectionRow('introspection', 1, { by: byUnusualRequest('orders') }),
].map((row) => ({ ...row, name: `${row.name}, by oidc-provider` }));

/** Requests of clients without a shared secret, and requests of browsers. */
const secretlessRows: readonly Row[] = [
  clientCredentialsRow('client credentials, private_key_jwt', byPrivateKey('service-private-key'), 1.3),
  codeFlowRow(byPrivateKey('web-private-key'), 'private_key_jwt', 1.3),
  codeFlowRow(publicApplication, 'public client', 1.6),
  refreshRow(publicApplication, 'public client', 1.6),
  codeFlowRow(inBrowser(publicApplication), 'public client, Origin', 1.6),
  refreshRow(inBrowser(publicApplication), 'public client, Origin', 1.6),
  introspectionRow('introspection, Origin', 1, { by: inBrowser(web) }),
  userinfoRow('userinfo, public client, Origin', inBrowser(publicApplication), 1),
];

export const rows: readonly Row[] = [
  clientCredentialsRow('client credentials', bySecret('service'), 2),
  clientCredentialsRow('client credentials, escaped secret', byEscapedSecret('service'), 1),
  codeFlowRow(web, 'ES256', 2),
  codeFlowRow(bySecret('web-rs256'), 'RS256', 1),
  refreshRow(web, 'ES256', 2),
  refreshRow(bySecret('web-rs256'), 'RS256', 1),
  {
    name: 'refresh, revoked token',
    async prepare(connection) {
      const { refresh_token: token } = await obtainTokens(connection, web, userScopes);
      await postAs(connection, web, '/connect/revocation', { token });
      const fields = { grant_type: 'refresh_token', refresh_token: token };
      return () => connection.refused('invalid_grant', '/connect/token', fields, web.headers);
    },
  },
  {
    name: 'authorization with a session',
    goal: 1.8,
    async prepare(connection) {
      const session = await openSession(connection, web.id, userScopes);
      return async () => {
        await authorize(connection, web.id, userScopes, session);
      };
    },
  },
  {
    name: 'pushed authorization request',
    goal: 1.5,
    prepare: async (connection) => async () => {
      await postAs(connection, web, '/connect/par', authorizationRequest(web.id, userScopes));
    },
  },
  introspectionRow('introspection', 2.8),
  introspectionRow('introspection with a hint', 1, { hint: { token_type_hint: 'access_token' } }),
  jwtIntrospectionRow,
  scopeIntrospectionRow('scope introspection', false),
  scopeIntrospectionRow('scope introspection, unchanged', true),
  {
    name: 'introspection, unknown token',
    prepare: async (connection) => () => introspect(connection, { token: randomBytes(32).toString('base64url') }, false),
  },
  userinfoRow('userinfo', web, 3),
  {
    name: 'client credentials, then revocation',
    prepare: async (connection) => async () => {
      const service = bySecret('service');
      await postAs(connection, service, '/connect/revocation', { token: await clientCredentials(connection, service) });
    },
  },
  ...secretlessRows,
  ...jwtRows('ES256'),
  ...jwtRows('RS256'),
  ...providerDoorRows,
  ...decoupledRows,
  documentRow('discovery', '/.well-known/openid-configuration'),
  documentRow('key set', '/.well-known/openid-configuration/jwks'),
];
