import { decodeJwt } from 'jose';
import { postLogoutRedirectUri, redirectUri, testSeed } from '../service/seed.js';
import { Agent, authorizeUrl, basic, createPkce, formOf, type Json, postForm } from './agent.js';

/** Part of {@link testSeed} that a journey uses, with one password to hash. */
export const journeySeed = {
  permissions: testSeed.permissions,
  tenants: testSeed.tenants.slice(0, 1).map((tenant) => ({ ...tenant, persons: tenant.persons.slice(0, 1) })),
  clients: testSeed.clients.filter(({ id }) => id === 'web' || id === 'service'),
  apiResources: testSeed.apiResources,
};

export interface JourneyOptions {
  /** Returns the URL to call for a URL of the issuer, if a proxy is in front. */
  readonly via?: (url: string) => string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Journey {
  readonly discovery: Json;
  /** The sign-in page. */
  readonly page: { readonly body: string; readonly headers: Headers };
  readonly tokens: Json;
  readonly idToken: Json;
  readonly userinfo: Json;
  readonly refreshed: Json;
  /** Introspection of the refreshed access token by its client. */
  readonly introspection: Json;
  /** Status of userinfo with the access token after the user signed out. */
  readonly statusAfterSignOut: number;
  /** Lines of every `Set-Cookie` the browser got. */
  readonly setCookies: readonly string[];
}

/** Runs the requests that a host has to pass on: discovery, sign-in, tokens, userinfo, refresh and sign-out. */
export async function journey(
  issuer: string,
  agent = new Agent(),
  { via = (url) => url, headers = {} }: JourneyOptions = {},
): Promise<Journey> {
  const setCookies: string[] = [];
  const noted = async (answering: ReturnType<Agent['request']>) => {
    const answer = await answering;
    setCookies.push(...answer.headers.getSetCookie());
    return answer;
  };
  const follow = async (start: Awaited<ReturnType<Agent['request']>>) => {
    let answer = start;
    while ([issuer, via(issuer)].some((base) => answer.location?.startsWith(`${base}/`)))
      answer = await noted(agent.get(via(answer.location as string)));
    return answer;
  };
  const submit = async (page: { body: string; url: string }, more: Record<string, string>) => {
    const { action, fields } = formOf(page);
    return follow(await noted(agent.post(via(action), { ...fields, ...more })));
  };
  const client = { authorization: basic('web', 'web-secret'), ...headers };

  const discovery = (await (await fetch(via(`${issuer}/.well-known/openid-configuration`), { headers })).json()) as Json;
  const { verifier, challenge } = createPkce();
  const url = authorizeUrl(issuer, {
    scope: 'openid profile offline_access',
    state: 'st',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const page = await follow(await noted(agent.get(via(url))));
  const password = await submit(page, { identifier: 'alice@acme.test' });
  const { location, body } = await submit(password, { password: 'alice' });
  const code = location && new URL(location).searchParams.get('code');
  if (!code) throw new Error(`no code: ${location ?? body.replace(/<style[\s\S]*?<\/style>/g, '')}`);

  const tokenUrl = via(discovery.token_endpoint);
  const bought = await postForm(
    tokenUrl,
    { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
    client,
  );
  const tokens = bought.json;
  const userinfoAt = async (token: string) =>
    fetch(via(discovery.userinfo_endpoint), { headers: { ...headers, authorization: `Bearer ${token}` } });
  const userinfo = (await (await userinfoAt(tokens.access_token)).json()) as Json;
  const refreshed = await postForm(tokenUrl, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, client);
  const introspection = await postForm(via(discovery.introspection_endpoint), { token: refreshed.json.access_token }, client);

  const signOut = `${discovery.end_session_endpoint}?${new URLSearchParams({
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: postLogoutRedirectUri,
    state: 'bye',
  })}`;
  const signedOut = await follow(await noted(agent.get(via(signOut))));
  if (signedOut.location !== `${postLogoutRedirectUri}?state=bye`) throw new Error(`not signed out: ${signedOut.status} ${signedOut.body}`);
  const after = await userinfoAt(refreshed.json.access_token);
  return {
    discovery,
    page,
    tokens,
    idToken: decodeJwt(tokens.id_token),
    userinfo,
    refreshed: refreshed.json,
    introspection: introspection.json,
    statusAfterSignOut: after.status,
    setCookies,
  };
}

/** Returns the expected result of a whole {@link journey} under any host. */
export const wholeJourney = (issuer: string) => ({
  discovery: { issuer, token_endpoint: `${issuer}/connect/token` },
  tokens: { token_type: 'Bearer' },
  idToken: { iss: issuer, aud: 'web' },
  userinfo: { name: 'Alice Adams' },
  refreshed: { token_type: 'Bearer' },
  introspection: { active: true, iss: issuer, client_id: 'web' },
  statusAfterSignOut: 401,
});
