/** Plans of the OpenID Foundation's conformance suite: the service, the clients and the pages that they need, as data. */
import { KeyObject, randomUUID, X509Certificate } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { IdentityProviderOptions } from 'tenant-idp';
import { makeCertificate } from '../support/saml/keys/certificates.js';

/** URLs of both sides. */
export interface Sides {
  /** The issuer, as the suite reaches it. */
  readonly issuer: string;
  /** The suite, as browsers reach it. */
  readonly suite: string;
}

export interface Plan {
  /** Name on the command line, and the alias of the plan in `redirect_uris`. */
  readonly id: string;
  readonly planName: string;
  readonly variant: Readonly<Record<string, string>>;
  /** Options of the service, in addition to issuer and seed. */
  readonly options: Partial<IdentityProviderOptions>;
  /** Fields of the suite's form. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Clients of the seed. */
  readonly clients: readonly SuiteClient[];
  /** Whether each module has its own person, because the service limits how often a person is asked. */
  readonly isPersonPerModule?: boolean;
}

export interface SuiteClient {
  readonly id: string;
  readonly name: string;
  readonly secret?: string;
  readonly email: 'first';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly allowedScopes: readonly string[];
}

/** Number of people of the suite: one for browsers, and the others for modules of CIBA. */
export const PEOPLE = 60;
export const userNameOf = (index: number): string => `person${index}@suite.test`;

const scopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];
const people = Array.from({ length: PEOPLE }, (_, index) => ({
  givenName: 'Person',
  familyName: String(index),
  email: userNameOf(index),
  user: { userName: userNameOf(index), devPassword: 'person' },
}));

/** Returns the seed of a plan. */
export const seedOf = ({ clients }: Pick<Plan, 'clients'>): NonNullable<IdentityProviderOptions['seed']> =>
  ({ tenants: [{ name: 'Suite', persons: people }], clients }) as never;

/** Returns the steps of the suite's browser on the pages of a sign-in. */
const browserAt = (issuer: string) => [
  {
    match: `${issuer}/connect/authorize*`,
    tasks: [
      {
        task: 'Name',
        match: `${issuer}/idp/interaction/*`,
        optional: true,
        commands: [
          ['text', 'id', 'identifier', userNameOf(0), 'optional'],
          ['click', 'class', 'button', 'optional'],
        ],
      },
      {
        task: 'Password',
        match: `${issuer}/idp/interaction/*`,
        optional: true,
        commands: [
          ['text', 'id', 'password', 'person', 'optional'],
          ['click', 'class', 'button', 'optional'],
        ],
      },
    ],
  },
];

const urlsOf = ({ suite }: Sides, id: string) => ({
  redirect_uris: [`${suite}/test/a/${id}/callback`, `${suite}/test/a/${id}/callback?dummy1=lorem&dummy2=ipsum`],
  post_logout_redirect_uris: [`${suite}/test/a/${id}/post_logout_redirect`],
  backchannel_logout_uri: `${suite}/test/a/${id}/backchannel_logout`,
  frontchannel_logout_uri: `${suite}/test/a/${id}/frontchannel_logout`,
});

type ResponseType = 'code' | 'id_token' | 'id_token token' | 'code id_token' | 'code token' | 'code id_token token';

/** Returns a plan of OpenID Connect, whose clients have secrets. */
function connectPlan(
  sides: Sides,
  id: string,
  planName: string,
  responseTypes: readonly ResponseType[],
  variant: Record<string, string>,
): Plan {
  const clientOf = (name: string) => {
    const client = `${id}-${name}`;
    return { client_id: client, client_secret: `${client}-${randomUUID()}` };
  };
  const [client, client2, clientSecretPost] = [clientOf('first'), clientOf('second'), clientOf('post')];
  const isForCode = responseTypes.some((type) => type.includes('code'));
  const isForToken = responseTypes.some((type) => type !== 'code');
  return {
    id,
    planName,
    variant,
    options: { initialsAsPicture: false },
    config: {
      alias: id,
      description: `tenant-idp: ${id}`,
      server: { discoveryUrl: `${sides.issuer}/.well-known/openid-configuration` },
      client,
      client2,
      client_secret_post: clientSecretPost,
      browser: browserAt(sides.issuer),
    },
    clients: [client, client2, clientSecretPost].map(({ client_id: clientId, client_secret: secret }) => ({
      id: clientId,
      name: clientId,
      secret,
      email: 'first',
      metadata: {
        ...urlsOf(sides, id),
        response_types: [...responseTypes],
        grant_types: [...(isForCode ? ['authorization_code', 'refresh_token'] : []), ...(isForToken ? ['implicit'] : [])],
      },
      allowedScopes: scopes,
    })),
  };
}

const discovered = { server_metadata: 'discovery', client_registration: 'static_client' };
const hybrid: readonly ResponseType[] = ['code id_token', 'code token', 'code id_token token'];
const logout = { response_type: 'code', client_registration: 'static_client' };

const connectPlans = (sides: Sides): readonly Plan[] => [
  connectPlan(sides, 'config', 'oidcc-config-certification-test-plan', ['code'], {}),
  connectPlan(sides, 'basic', 'oidcc-basic-certification-test-plan', ['code'], discovered),
  connectPlan(sides, 'implicit', 'oidcc-implicit-certification-test-plan', ['id_token', 'id_token token'], discovered),
  connectPlan(sides, 'hybrid', 'oidcc-hybrid-certification-test-plan', hybrid, discovered),
  connectPlan(sides, 'formpost-basic', 'oidcc-formpost-basic-certification-test-plan', ['code'], discovered),
  connectPlan(sides, 'formpost-implicit', 'oidcc-formpost-implicit-certification-test-plan', ['id_token', 'id_token token'], discovered),
  connectPlan(sides, 'formpost-hybrid', 'oidcc-formpost-hybrid-certification-test-plan', hybrid, discovered),
  connectPlan(sides, 'rp-logout', 'oidcc-rp-initiated-logout-certification-test-plan', ['code'], logout),
  connectPlan(sides, 'back-channel', 'oidcc-backchannel-rp-initiated-logout-certification-test-plan', ['code'], logout),
  connectPlan(sides, 'front-channel', 'oidcc-frontchannel-rp-initiated-logout-certification-test-plan', ['code'], logout),
  connectPlan(sides, 'session', 'oidcc-session-management-certification-test-plan', ['code'], logout),
];

/** Makes a client that signs, with the two halves of its key pair. */
async function signingClient(id: string, alg: 'PS256' | 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const named = { alg, use: 'sig', kid: id };
  const [own, shown]: [JWK, JWK] = [
    { ...(await exportJWK(privateKey)), ...named },
    { ...(await exportJWK(publicKey)), ...named },
  ];
  return { id, forSuite: { client_id: id, scope: 'openid profile', jwks: { keys: [own] } }, jwks: { keys: [shown] } };
}

/** Makes a self-signed certificate of a client, for the form of the suite and for the client's registration. */
async function clientCertificate() {
  const { pem, der, privateKey } = await makeCertificate('P-256');
  const shown: JWK = { ...(new X509Certificate(pem).publicKey.export({ format: 'jwk' }) as JWK), kid: 'tls', x5c: [der] };
  return { forSuite: { cert: pem, key: KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }) }, shown };
}

/** The proxy that ends TLS passes the certificate in a header, as `$ssl_client_escaped_cert` of nginx has it. */
const mTLS: NonNullable<IdentityProviderOptions['features']> = {
  mTLS: {
    enabled: true,
    selfSignedTlsClientAuth: true,
    certificateBoundAccessTokens: true,
    getCertificate: (ctx) => decodeURIComponent(ctx.get('x-client-cert')) || undefined,
  },
};
const withCertificates = { token_endpoint_auth_method: 'self_signed_tls_client_auth', tls_client_certificate_bound_access_tokens: true };

interface FapiSettings {
  readonly id: string;
  readonly planName: string;
  readonly variant: Readonly<Record<string, string>>;
  readonly alg: 'PS256' | 'ES256';
  readonly options: Partial<IdentityProviderOptions>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly isPersonPerModule?: boolean;
}

/** Returns a plan of FAPI, whose clients sign. */
async function fapiPlan(
  sides: Sides,
  { id, planName, variant, alg, options, metadata, config = {}, ...more }: FapiSettings,
): Promise<Plan> {
  const [first, second] = await Promise.all([signingClient(`${id}-first`, alg), signingClient(`${id}-second`, alg)]);
  const certificates = options.features?.mTLS ? await Promise.all([clientCertificate(), clientCertificate()]) : [];
  return {
    ...more,
    id,
    planName,
    variant,
    options,
    config: {
      alias: id,
      description: `tenant-idp: ${id}`,
      server: { discoveryUrl: `${sides.issuer}/.well-known/openid-configuration` },
      client: first.forSuite,
      client2: second.forSuite,
      resource: { resourceUrl: `${sides.issuer}/connect/userinfo` },
      browser: browserAt(sides.issuer),
      ...Object.fromEntries(certificates.map(({ forSuite }, index) => [['mtls', 'mtls2'][index], forSuite])),
      ...config,
    },
    clients: [first, second].map(({ id: clientId, jwks: { keys } }, index) => ({
      id: clientId,
      name: clientId,
      email: 'first',
      metadata: {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [...keys, ...certificates.slice(index, index + 1).map(({ shown }) => shown)] },
        ...metadata,
      },
      allowedScopes: scopes,
    })),
  };
}

const fapi2: Partial<IdentityProviderOptions> = { fapi: '2.0' };
const fapi2Variant = {
  client_auth_type: 'private_key_jwt',
  sender_constrain: 'dpop',
  authorization_request_type: 'simple',
  openid: 'openid_connect',
  fapi_profile: 'plain_fapi',
};

export function fapiPlans(sides: Sides): Promise<readonly Plan[]> {
  const redirected = (id: string) => ({
    redirect_uris: urlsOf(sides, id).redirect_uris,
    grant_types: ['authorization_code', 'refresh_token'],
  });
  const signed = (id: string, mode: string): FapiSettings => ({
    id,
    planName: 'fapi2-message-signing-final-test-plan',
    variant: { ...fapi2Variant, fapi_request_method: 'signed_non_repudiation', fapi_response_mode: mode },
    alg: 'PS256',
    options: fapi2,
    metadata: { ...redirected(id), require_signed_request_object: true },
  });
  const ciba = (id: string, method: 'private_key_jwt' | 'mtls', mode: 'poll' | 'ping'): FapiSettings => ({
    id,
    planName: 'fapi-ciba-id1-test-plan',
    variant: { client_auth_type: method, fapi_ciba_profile: 'plain_fapi', ciba_mode: mode, client_registration: 'static_client' },
    alg: 'PS256',
    options: {
      assertionAudience: 'token-endpoint',
      ...(method === 'mtls' && { features: mTLS }),
      // A suite of your own may be at an address outside the Internet.
      ...(mode === 'ping' && { outgoing: { allowHosts: [new URL(sides.suite).host] } }),
    },
    metadata: {
      grant_types: ['urn:openid:params:grant-type:ciba', 'refresh_token'],
      backchannel_token_delivery_mode: mode,
      ...(mode === 'ping' && { backchannel_client_notification_endpoint: `${sides.suite}/test/a/${id}/ciba-notification-endpoint` }),
      backchannel_authentication_request_signing_alg: 'PS256',
      id_token_signed_response_alg: 'ES256',
      ...(method === 'mtls' ? withCertificates : { token_endpoint_auth_signing_alg: 'PS256' }),
    },
    config: { automated_ciba_approval_url: `${sides.issuer}/suite/ciba?auth_req_id={auth_req_id}&action={action}` },
    isPersonPerModule: true,
  });
  const plans: readonly FapiSettings[] = [
    {
      id: 'fapi2',
      planName: 'fapi2-security-profile-final-test-plan',
      variant: fapi2Variant,
      alg: 'PS256',
      options: fapi2,
      metadata: redirected('fapi2'),
    },
    signed('fapi2-signed', 'plain_response'),
    signed('fapi2-jarm', 'jarm'),
    {
      id: 'fapi2-mtls',
      planName: 'fapi2-security-profile-final-test-plan',
      variant: { ...fapi2Variant, client_auth_type: 'mtls', sender_constrain: 'mtls' },
      alg: 'PS256',
      options: { ...fapi2, features: mTLS },
      metadata: { ...redirected('fapi2-mtls'), ...withCertificates },
    },
    ciba('ciba', 'private_key_jwt', 'poll'),
    ciba('ciba-ping', 'private_key_jwt', 'ping'),
    ciba('ciba-mtls', 'mtls', 'poll'),
    ciba('ciba-ping-mtls', 'mtls', 'ping'),
  ];
  return Promise.all(plans.map((settings) => fapiPlan(sides, settings)));
}

export const allPlans = async (sides: Sides): Promise<readonly Plan[]> => [...connectPlans(sides), ...(await fapiPlans(sides))];

/** Returns the configuration of a plan for one of its modules. @param index of the module */
export function configFor({ config, isPersonPerModule }: Plan, index: number): Readonly<Record<string, unknown>> {
  if (!isPersonPerModule) return config;
  const hint = { hint_type: 'login_hint', hint_value: userNameOf(1 + (index % (PEOPLE - 1))) };
  const client = { ...(config.client as object), ...hint };
  const client2 = { ...(config.client2 as object), ...hint };
  return { ...config, client, client2 };
}
