import { createHash, randomBytes } from 'node:crypto';
import { type Cookies, cookieHeader, keepCookie } from '../../../lib/testing/cookies.js';
import { formOf } from '../../../lib/testing/pages.js';
import { redirectUri } from '../service/seed.js';
import { passwordsWithoutUserName } from './password-forms.js';
import { jsonOf, type Sending, send } from './send.js';

export { formOf, titleOf } from '../../../lib/testing/pages.js';

// biome-ignore lint/suspicious/noExplicitAny: whatever an endpoint answered
export type Json = any;

/** A page or redirect as a browser without JavaScript got it. */
export interface Answer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The absolute URL of a redirect. */
  readonly location: string | undefined;
}

/**
 * A browser without JavaScript: keeps cookies by path, follows nothing by itself, submits forms.
 *
 * The agent rejects a page on which a password has no user name, so that the rule holds for every page that any test opens.
 */
export class Agent {
  readonly cookies: Cookies = new Map();
  constructor(readonly headers: Record<string, string> = {}) {}

  async request(url: string, sending: Sending = {}): Promise<Answer> {
    const cookie = cookieHeader(this.cookies, url);
    const headers = {
      accept: 'text/html,*/*',
      ...this.headers,
      ...(cookie && { cookie }),
      ...sending.headers,
    };
    const sent = await send(url, { ...sending, headers });
    for (const line of sent.headers.getSetCookie()) keepCookie(this.cookies, line);
    const location = sent.headers.get('location');
    const unnamed = passwordsWithoutUserName(sent.text);
    if (unnamed.length > 0) throw new Error(`no user name for ${unnamed.join(' ')} on ${url}`);
    return {
      url,
      status: sent.status,
      headers: sent.headers,
      body: sent.text,
      location: location === null ? undefined : new URL(location, url).href,
    };
  }

  get(url: string): Promise<Answer> {
    return this.request(url);
  }

  post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  }

  /** Follows redirects until a page, or an address outside the origin. */
  async follow(answer: Answer): Promise<Answer> {
    const { origin } = new URL(answer.url);
    let current = answer;
    while (current.location?.startsWith(`${origin}/`)) current = await this.get(current.location);
    return current;
  }

  /** Submits the page's form with its own fields, and with these fields. */
  submit(page: Answer, fields: Record<string, string>): Promise<Answer> {
    const form = formOf(page);
    return this.post(form.action, { ...form.fields, ...fields });
  }
}

export const createPkce = () => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

/** Returns an authorization URL without the undefined parameters. */
export function authorizeUrl(issuer: string, parameters: Record<string, string | undefined> = {}): string {
  const all = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...parameters };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${issuer}/connect/authorize?${new URLSearchParams(given)}`;
}

/** Signs in on the page of an authorization request. Returns the redirect to the client, or the next page. */
export async function signIn(agent: Agent, url: string, userName = 'alice@acme.test', password = 'alice'): Promise<Answer> {
  const first = await agent.follow(await agent.get(url));
  if (first.location) return first;
  const second = await agent.submit(first, { identifier: userName });
  return agent.follow(await agent.submit(second, { password }));
}

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;

/** Posts a form to an OAuth endpoint. */
export async function postForm(
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; json: Json; text: string }> {
  const sent = await send(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  return { ...sent, json: jsonOf(sent.text) };
}

/** Signs in, redeems the code, and returns the token response. */
export async function obtainTokens(
  issuer: string,
  {
    agent = new Agent(),
    client = 'web',
    secret = 'web-secret',
    userName = 'alice@acme.test',
    password = 'alice',
    ...parameters
  }: { agent?: Agent; client?: string; secret?: string; userName?: string; password?: string; [parameter: string]: unknown } = {},
) {
  const pkce = createPkce();
  const url = authorizeUrl(issuer, {
    client_id: client,
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    ...(parameters as Record<string, string>),
  });
  const { location, body } = await signIn(agent, url, userName, password);
  if (!location) throw new Error(`no redirect to the client: ${body.replace(/<style[\s\S]*?<\/style>/g, '')}`);
  const code = new URL(location).searchParams.get('code');
  if (!code) throw new Error(`no code: ${location}`);
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
  const { json } = secret
    ? await postForm(`${issuer}/connect/token`, fields, { authorization: basic(client, secret) })
    : await postForm(`${issuer}/connect/token`, { ...fields, client_id: client });
  return { agent, code, verifier: pkce.verifier, callback: location, tokens: json };
}
