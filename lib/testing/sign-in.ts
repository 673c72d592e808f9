/** Sign-ins of a host's tests: over HTTP, by the pages, as a browser without JavaScript. */
import { createHash, randomBytes } from 'node:crypto';
import { type Cookies, cookieHeader, keepCookie } from './cookies.js';
import { formOf, problemsOf, type ReadPage, titleOf } from './pages.js';

/** The client and the user of a sign-in. */
export interface TestSignIn {
  readonly client: {
    readonly id: string;
    /** Secret of the client. Absent for a public client. */
    readonly secret?: string;
    /** A registered redirect URI. No program has to answer at this URI. @default the first redirect URI of the client */
    readonly redirectUri?: string;
  };
  readonly user: { readonly userName: string; readonly password: string };
  /** Scopes with spaces between them. @default 'openid' */
  readonly scope?: string;
  /** Other parameters of the authorization request, such as `acr_values`. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Answer of the token endpoint. @see RFC 6749 §5.1 */
export interface TestTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope?: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
}

/** The part of an identity provider that a sign-in uses. */
export interface SignInTarget {
  readonly issuer: string;
  readonly directory: {
    readonly clients: { get(id: string): Promise<{ readonly metadata: Readonly<Record<string, unknown>> } | undefined> };
  };
}

interface Answer extends ReadPage {
  readonly status: number;
  readonly location: string | undefined;
}

/** Maximum pages of a sign-in: user name, password and consent take three. */
const MOST_PAGES = 6;
/** Maximum redirects between two pages. */
const MOST_REDIRECTS = 10;

/**
 * Signs a user in to a client, by the code flow with PKCE, and returns the tokens. The service has to answer at its issuer. A page that asks for consent is
 * allowed.
 * @throws Error that names the page or the error that came instead
 * @example
 * ```ts
 * import { createIdentityProvider } from 'tenant-idp';
 * import { signIn } from 'tenant-idp/testing';
 *
 * const user = { userName: 'alice', password: 'a long password' };
 * const person = { givenName: 'Alice', user: { userName: user.userName, devPassword: user.password } };
 * const metadata = { redirect_uris: ['http://localhost/callback'] };
 * const client = { id: 'shop', name: 'Shop', secret: 'shop-secret', metadata, allowedScopes: ['openid'] };
 * const seed = { tenants: [{ name: 'Acme', persons: [person] }], clients: [client] };
 * const idp = await createIdentityProvider({ issuer: 'http://127.0.0.1:3000', seed });
 * await idp.listen(3000);
 * const tokens = await signIn(idp, { client, user });
 * console.log(tokens.access_token);
 * ```
 */
export async function signIn(idp: SignInTarget, { client, user, scope = 'openid', parameters }: TestSignIn): Promise<TestTokens> {
  const { metadata } = (await idp.directory.clients.get(client.id)) ?? {};
  if (!metadata) throw new Error(`There is no client ${client.id}. Create it before the sign-in.`);
  const [redirectUri = client.redirectUri] = client.redirectUri ? [] : (metadata.redirect_uris as readonly string[]);
  if (redirectUri === undefined)
    throw new Error(`The client ${client.id} has no redirect URI, so nobody can sign in to it. Add one to redirect_uris.`);
  const discovered = await fetch(`${idp.issuer}/.well-known/openid-configuration`);
  const endpoints = (await discovered.json()) as { readonly authorization_endpoint: string; readonly token_endpoint: string };

  const verifier = randomBytes(32).toString('base64url');
  const request = new URLSearchParams({
    client_id: client.id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(scope.split(' ').includes('offline_access') && { prompt: 'consent' }),
    ...parameters,
  });
  const code = await codeOf(`${endpoints.authorization_endpoint}?${request}`, redirectUri, user);
  return redeem(endpoints.token_endpoint, { client, method: metadata.token_endpoint_auth_method, code, redirectUri, verifier });
}

/** Follows the pages up to the redirect to the client. */
async function codeOf(url: string, redirectUri: string, { userName, password }: TestSignIn['user']): Promise<string> {
  const browser = createBrowser(redirectUri);
  const given = { identifier: userName, password, decision: 'allow' };
  let answer = await browser.open(url);
  let asked = '';
  for (let page = 0; !answer.location && page < MOST_PAGES; page += 1) {
    const { action, fields } = hasForm(answer) ? formOf(answer) : { action: '', fields: {} };
    const typed = Object.entries(given).filter(([name]) => name in fields || (name === 'decision' && asksConsent(answer)));
    const names = typed.map(([name]) => name).join();
    // If the page shows the same form again, the page refused the input.
    if (names === '' || names === asked) break;
    asked = names;
    answer = await browser.submit(action, { ...fields, ...Object.fromEntries(typed) });
  }
  if (!answer.location) throw new Error(refusalOf(answer));
  const response = new URL(answer.location).searchParams;
  const code = response.get('code');
  if (code !== null) return code;
  throw new Error(
    `The client got no code: ${[response.get('error'), response.get('error_description')].filter(Boolean).join(', ') || answer.location}`,
  );
}

const hasForm = ({ body }: Answer): boolean => /<form\b/.test(body);
const asksConsent = ({ body }: Answer): boolean => /name="decision" value="allow"/.test(body);

const refusalOf = (answer: Answer): string => {
  const said = [titleOf(answer), ...problemsOf(answer)].filter(Boolean).join(': ');
  return `The sign-in stopped at ${new URL(answer.url).pathname}, which answered ${answer.status}: ${said || answer.body.slice(0, 300)}`;
};

/** Keeps cookies, and follows redirects up to the redirect URI of the client. */
function createBrowser(redirectUri: string) {
  const cookies: Cookies = new Map();
  async function send(url: string, init: RequestInit = {}): Promise<Answer> {
    const cookie = cookieHeader(cookies, url);
    const headers = { accept: 'text/html', ...(cookie && { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) keepCookie(cookies, line);
    const location = response.headers.get('location');
    return {
      url,
      status: response.status,
      body: await response.text(),
      location: location === null ? undefined : new URL(location, url).href,
    };
  }
  async function follow(answer: Answer): Promise<Answer> {
    let current = answer;
    for (let redirects = 0; current.location && !current.location.startsWith(redirectUri); redirects += 1) {
      if (redirects === MOST_REDIRECTS)
        throw new Error(
          `The sign-in redirected ${MOST_REDIRECTS} times, at last to ${current.location}. Check the redirect URI of the client.`,
        );
      current = await send(current.location);
    }
    return current;
  }
  return {
    open: async (url: string) => follow(await send(url)),
    submit: async (url: string, fields: Record<string, string>) =>
      follow(await send(url, { method: 'POST', body: new URLSearchParams(fields) })),
  };
}

interface Redemption {
  readonly client: TestSignIn['client'];
  readonly method: unknown;
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

async function redeem(url: string, { client: { id, secret }, method, code, redirectUri, verifier }: Redemption): Promise<TestTokens> {
  const isBasic = secret !== undefined && method !== 'client_secret_post';
  const pair = `${encodeURIComponent(id)}:${encodeURIComponent(secret ?? '')}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: isBasic ? { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } : {},
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      ...(!isBasic && { client_id: id }),
      ...(!isBasic && secret !== undefined && { client_secret: secret }),
    }),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as TestTokens;
  throw new Error(`The token endpoint answered ${response.status}: ${text}`);
}
