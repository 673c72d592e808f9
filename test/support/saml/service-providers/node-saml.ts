/** A service provider on a free port, with a session for each browser. @node-saml/node-saml reads and writes its messages. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Profile, SAML, type SamlConfig, ValidateInResponseTo } from '@node-saml/node-saml';
import { signSamlPost } from '@node-saml/node-saml/lib/saml-post-signing.js';
import { type TestKey, testKeyOf } from '../keys/test-keys.js';

export type Binding = 'redirect' | 'post';

/** Identity provider, as its metadata describes it. */
export interface IdpDescription {
  readonly entityId: string;
  readonly ssoUrl: string;
  readonly sloUrl: string;
  /** Certificates as PEM. */
  readonly certificates: readonly string[];
}

export interface ServiceProviderOptions {
  /** @default a URL of its own */
  readonly entityId?: string;
  /** Host of its URLs. `localhost` is another site than the identity provider. @default 127.0.0.1 */
  readonly host?: 'localhost';
  /** Binding of its messages. @default redirect */
  readonly binding?: Binding;
  /** Options of the library: `forceAuthn`, `authnContext`, `decryptionPvk` … */
  readonly saml?: Partial<SamlConfig>;
  /** Answer to a logout request. @default answer */
  readonly onLogout?: 'answer' | 'fail' | 'stay-silent';
}

export interface TestServiceProvider {
  readonly entityId: string;
  readonly url: string;
  readonly acsUrl: string;
  readonly sloUrl: string;
  readonly key: TestKey;
  /** URL that sends the browser to the identity provider. The query may have `relayState` and `binding`. */
  readonly loginUrl: string;
  /** URL that signs the browser out everywhere. */
  readonly logoutUrl: string;
  /** The service provider of the library. */
  readonly saml: SAML;
  /** Answer to later logout requests. */
  onLogout: NonNullable<ServiceProviderOptions['onLogout']>;
  /** Signed-in users, by browser. */
  readonly sessions: ReadonlyMap<string, Profile>;
  /** Responses at its consumer service, each as a form. */
  readonly responses: readonly Readonly<Record<string, string>>[];
  /** Statuses in the answers to the logouts that the service provider began. */
  readonly loggedOut: readonly (readonly string[])[];
  /** Metadata as the library writes it. */
  metadata(): string;
  /** Returns the registration that an administrator sends. */
  registration(): Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

const POST_FORM = (action: string, fields: Readonly<Record<string, string>>): string =>
  `<!doctype html><body onload="document.forms[0].submit()"><form method="post" action="${escaped(action)}">${Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join('')}<button>Go on</button></form></body>`;

const escaped = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(`"`, '&quot;');

/** Codes of a response, the outer first, without their prefix. */
export const statusCodesOf = (xml: string): readonly string[] =>
  [...xml.matchAll(/StatusCode\b[^>]*?Value="([^"]*)"/g)].map(([, code = '']) => code.replace(/^.*:/, ''));

export async function startServiceProvider(idp: IdpDescription, options: ServiceProviderOptions = {}): Promise<TestServiceProvider> {
  const { binding: ownBinding = 'redirect', host = '127.0.0.1', saml: more = {} } = options;
  const key = await testKeyOf('service provider');
  const sessions = new Map<string, Profile>();
  const responses: Record<string, string>[] = [];
  const loggedOut: (readonly string[])[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(403, { 'content-type': 'text/plain' }).end(`refused: ${(error as Error).message}`);
    });
  });
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://${host}:${port}`;
  const cookie = `sp-${port}`;
  const entityId = options.entityId ?? `${url}/metadata`;
  const saml = new SAML({
    issuer: entityId,
    callbackUrl: `${url}/acs`,
    logoutCallbackUrl: `${url}/slo`,
    entryPoint: idp.ssoUrl,
    logoutUrl: idp.sloUrl,
    idpCert: [...idp.certificates],
    idpIssuer: idp.entityId,
    privateKey: key.key,
    publicCert: key.certificate,
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
    identifierFormat: null,
    wantAuthnResponseSigned: false,
    wantAssertionsSigned: true,
    audience: entityId,
    validateInResponseTo: ValidateInResponseTo.ifPresent,
    skipRequestCompression: false,
    ...more,
  });

  const browserOf = ({ headers }: IncomingMessage): string | undefined => new RegExp(`${cookie}=([^;]+)`).exec(headers.cookie ?? '')?.[1];
  const page = (response: ServerResponse, body: string, headers: Record<string, string> = {}): void =>
    void response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(body);
  const redirect = (response: ServerResponse, location: string): void => void response.writeHead(302, { location }).end();

  async function login(parameters: URLSearchParams, response: ServerResponse): Promise<void> {
    const relayState = parameters.get('relayState') ?? '';
    if ((parameters.get('binding') ?? ownBinding) === 'redirect')
      return redirect(response, await saml.getAuthorizeUrlAsync(relayState, undefined, {}));
    const fields = (await plain.getAuthorizeMessageAsync(relayState)) as Record<string, string>;
    page(response, POST_FORM(idp.ssoUrl, fields));
  }

  // Messages by POST are not compressed. @see SAML Bindings §3.5.4
  const plain = new SAML({
    ...saml.options,
    skipRequestCompression: true,
    authnRequestBinding: 'HTTP-POST',
    cacheProvider: saml.cacheProvider,
  });

  const posted = (xml: string, element: string): string =>
    Buffer.from(
      signSamlPost(xml, `/*[local-name(.)="${element}"]`, {
        privateKey: key.key,
        signatureAlgorithm: 'sha256',
        digestAlgorithm: 'sha256',
      }),
    ).toString('base64');

  async function logout(request: IncomingMessage, parameters: URLSearchParams, response: ServerResponse): Promise<void> {
    const browser = browserOf(request) ?? '';
    const profile = sessions.get(browser);
    if (!profile) return page(response, 'nobody is signed in');
    sessions.delete(browser);
    const relayState = parameters.get('relayState') ?? '';
    if ((parameters.get('binding') ?? ownBinding) === 'redirect')
      return redirect(response, await saml.getLogoutUrlAsync(profile, relayState, {}));
    const xml = await saml._generateLogoutRequest(profile);
    page(
      response,
      POST_FORM(idp.sloUrl, { SAMLRequest: posted(xml, 'LogoutRequest'), ...(relayState === '' ? {} : { RelayState: relayState }) }),
    );
  }

  async function asked(parameters: Record<string, string>, query: string | undefined, response: ServerResponse): Promise<void> {
    const { profile } =
      query === undefined ? await saml.validatePostRequestAsync(parameters) : await saml.validateRedirectAsync(parameters, query);
    const ended = [...sessions].filter(
      ([, { nameID, sessionIndex }]) => nameID === profile?.nameID && sessionIndex === profile.sessionIndex,
    );
    const { onLogout } = served;
    if (onLogout === 'stay-silent') return page(response, 'nothing happens here');
    if (onLogout === 'answer') for (const [browser] of ended) sessions.delete(browser);
    const isDone = onLogout === 'answer';
    const relayState = parameters.RelayState ?? '';
    if (!profile) throw new Error('no request');
    if (query !== undefined) return redirect(response, await saml.getLogoutResponseUrlAsync(profile, relayState, {}, isDone));
    const xml = saml._generateLogoutResponse(profile, isDone);
    page(
      response,
      POST_FORM(idp.sloUrl, { SAMLResponse: posted(xml, 'LogoutResponse'), ...(relayState === '' ? {} : { RelayState: relayState }) }),
    );
  }

  async function answered(parameters: Record<string, string>, query: string | undefined, response: ServerResponse): Promise<void> {
    const bytes = Buffer.from(parameters.SAMLResponse ?? '', 'base64');
    const { inflateRawSync } = await import('node:zlib');
    const xml = query === undefined ? bytes.toString() : inflateRawSync(bytes).toString();
    loggedOut.push(statusCodesOf(xml));
    if (query === undefined) await saml.validatePostResponseAsync(parameters);
    else await saml.validateRedirectAsync(parameters, query);
    page(response, `<h1>signed out</h1><p>${escaped(parameters.RelayState ?? '')}</p>`);
  }

  async function consume(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fields = Object.fromEntries(new URLSearchParams(await text(request)));
    responses.push(fields);
    const { profile } = await saml.validatePostResponseAsync(fields);
    if (!profile) throw new Error('nobody');
    const browser = browserOf(request) ?? randomUUID();
    sessions.set(browser, profile);
    const body = `<h1>signed in as ${escaped(profile.nameID)}</h1><p>${escaped(fields.RelayState ?? '')}</p>`;
    page(response, body, { 'set-cookie': `${cookie}=${browser}; Path=/` });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams, search } = new URL(request.url ?? '/', url);
    if (pathname === '/login') return login(searchParams, response);
    if (pathname === '/logout') return logout(request, searchParams, response);
    if (pathname === '/acs' && request.method === 'POST') return consume(request, response);
    if (pathname === '/metadata') return page(response, served.metadata(), { 'content-type': 'application/samlmetadata+xml' });
    if (pathname === '/slo') {
      const isPost = request.method === 'POST';
      const parameters = Object.fromEntries(isPost ? new URLSearchParams(await text(request)) : searchParams);
      const query = isPost ? undefined : search.slice(1);
      return parameters.SAMLRequest === undefined ? answered(parameters, query, response) : asked(parameters, query, response);
    }
    const here = sessions.get(browserOf(request) ?? '');
    page(response, here ? `<h1>${escaped(here.nameID)}</h1>` : '<h1>nobody</h1>');
  }

  const served: TestServiceProvider = {
    entityId,
    url,
    acsUrl: `${url}/acs`,
    sloUrl: `${url}/slo`,
    loginUrl: `${url}/login`,
    logoutUrl: `${url}/logout`,
    key,
    saml,
    onLogout: options.onLogout ?? 'answer',
    sessions,
    responses,
    loggedOut,
    metadata: () => saml.generateServiceProviderMetadata(null, key.certificate),
    registration: () => ({
      name: `Application ${port}`,
      entityId,
      assertionConsumerServices: [{ url: `${url}/acs`, index: 0, isDefault: true }],
      singleLogoutServices: [{ binding: ownBinding, url: `${url}/slo` }],
      signingCertificates: [key.der],
      requireSignedRequests: true,
    }),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return served;
}
