/** Sign-in, refresh and sign-out of the relying party. The state, the nonce and PKCE are created here, and openid-client checks them. */
import Router from '@koa/router';
import type { Context } from 'koa';
import * as oidc from 'openid-client';
import { connect } from './connect.js';
import { asProblem, type Problem } from './problems.js';
import { acme, globex, supportPermission, webScopes } from './seed.js';
import { endSession, sessionOf, startSession } from './sessions.js';
import { accountPage } from './views/account.js';
import { errorPage } from './views/error.js';
import { homePage } from './views/home.js';

const tenants = [acme, globex];

interface RelyingParty {
  readonly issuer: string;
  /** Origin of the relying party. */
  readonly origin: string;
  readonly configuration: () => Promise<oidc.Configuration>;
}

/** @param origin of the relying party. */
export function createFlow(issuer: string, origin: string): Router {
  const party: RelyingParty = { issuer, origin, configuration: connect(issuer, 'web', 'web-secret') };
  const router = new Router();
  router.get('/', (ctx) => showHome(party, ctx));
  router.get('/sign-in', (ctx) => {
    const tenant = tenants.find(({ id }) => id === ctx.query.tenant);
    return startSignIn(party, ctx, tenant ? [`tenant:${tenant.id}`] : []);
  });
  router.get('/act-as', (ctx) => startSignIn(party, ctx, ['impersonate']));
  router.get('/callback', (ctx) => finishSignIn(party, ctx));
  router.post('/refresh', (ctx) => refreshTokens(party, ctx));
  router.post('/orders', (ctx) => loadOrders(party, ctx));
  router.post('/sign-out', (ctx) => signOut(party, ctx));
  router.get('/signed-out', (ctx) => {
    ctx.body = homePage({ tenants, signedOut: true });
  });
  return router;
}

function goTo(ctx: Context, url: URL | string): void {
  ctx.status = 303;
  ctx.redirect(String(url));
}

async function showHome({ issuer, origin, configuration }: RelyingParty, ctx: Context): Promise<void> {
  const signedIn = sessionOf(ctx)?.signedIn;
  if (!signedIn) {
    ctx.body = homePage({ tenants });
    return;
  }
  const config = await configuration();
  const { access_token: accessToken } = signedIn.tokens;
  const [userinfo, introspection] = await Promise.all([
    oidc.fetchUserInfo(config, accessToken, signedIn.claims.sub).catch(problemOf),
    oidc.tokenIntrospection(config, accessToken).catch(problemOf),
  ]);
  const { perm = [] } = userinfo as { readonly perm?: readonly string[] };
  ctx.body = accountPage({
    ...signedIn,
    userinfo,
    introspection,
    tenants,
    mayActAs: perm.includes(supportPermission),
    // The URL ends the impersonation. The operator then signs in here with their own account.
    endImpersonation: `${issuer}/idp/impersonation?${new URLSearchParams({ client_id: 'web', return_to: `${origin}/sign-in` })}`,
  });
}

/** Sends the browser to the identity provider. */
async function startSignIn({ origin, configuration }: RelyingParty, ctx: Context, acrValues: readonly string[]): Promise<void> {
  const session = sessionOf(ctx) ?? startSession(ctx);
  const [state, nonce, codeVerifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
  session.pending.set(state, { nonce, codeVerifier });
  const url = oidc.buildAuthorizationUrl(await configuration(), {
    redirect_uri: `${origin}/callback`,
    scope: webScopes.join(' '),
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
  });
  goTo(ctx, url);
}

async function finishSignIn({ origin, configuration }: RelyingParty, ctx: Context): Promise<void> {
  const expectedState = String(ctx.query.state);
  const pending = sessionOf(ctx)?.pending;
  const started = pending?.get(expectedState);
  pending?.delete(expectedState);
  if (!started) {
    ctx.status = 400;
    ctx.body = errorPage('This sign-in has ended', 'It was started in another browser, or has been completed already.');
    return;
  }
  const tokens = await oidc.authorizationCodeGrant(await configuration(), new URL(`${origin}/callback${ctx.search}`), {
    expectedState,
    expectedNonce: started.nonce,
    pkceCodeVerifier: started.codeVerifier,
    idTokenExpected: true,
  });
  startSession(ctx, { tokens, claims: tokens.claims() as oidc.IDToken, receivedAt: new Date(), refreshes: 0 });
  goTo(ctx, '/');
}

async function refreshTokens({ configuration }: RelyingParty, ctx: Context): Promise<void> {
  const session = sessionOf(ctx);
  if (session?.signedIn?.tokens.refresh_token) {
    const { tokens: before, claims, refreshes, orders } = session.signedIn;
    const tokens = await oidc.refreshTokenGrant(await configuration(), before.refresh_token as string);
    session.signedIn = {
      tokens: { ...before, ...tokens },
      claims: tokens.claims() ?? claims,
      receivedAt: new Date(),
      refreshes: refreshes + 1,
      ...(orders ? { orders } : {}),
    };
  }
  goTo(ctx, '/#tokens');
}

async function loadOrders({ origin }: RelyingParty, ctx: Context): Promise<void> {
  const session = sessionOf(ctx);
  if (session?.signedIn) {
    const { access_token: accessToken } = session.signedIn.tokens;
    const response = await fetch(`${origin}/api/orders`, { headers: { authorization: `Bearer ${accessToken}` } });
    const body: unknown = response.ok ? await response.json() : { error: response.headers.get('www-authenticate') };
    session.signedIn = { ...session.signedIn, orders: { status: response.status, body } };
  }
  goTo(ctx, '/#orders');
}

async function signOut({ origin, configuration }: RelyingParty, ctx: Context): Promise<void> {
  const idToken = sessionOf(ctx)?.signedIn?.tokens.id_token;
  endSession(ctx);
  const parameters = { post_logout_redirect_uri: `${origin}/signed-out`, ...(idToken ? { id_token_hint: idToken } : {}) };
  goTo(ctx, oidc.buildEndSessionUrl(await configuration(), parameters));
}

/** Returns the problem for a panel. */
function problemOf(error: unknown): Problem {
  const problem = asProblem(error);
  if (!problem) throw error;
  return problem;
}
