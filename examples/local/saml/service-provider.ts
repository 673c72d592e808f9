/** A service provider by node-saml: the expense desk, which supports only SAML. */
import { randomBytes } from 'node:crypto';
import Router from '@koa/router';
import { type Profile, SAML, ValidateInResponseTo } from '@node-saml/node-saml';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';
import { LRUCache } from 'lru-cache';
import { errorPage } from '../views/error.js';
import { samlPage } from '../views/saml.js';
import { followMetadata } from './identity-provider.js';
import type { Keys } from './keys.js';

/** Returns the URLs of the service provider. */
const placesOf = (origin: string) => ({
  entityId: `${origin}/saml/metadata`,
  home: `${origin}/saml`,
  acs: `${origin}/saml/acs`,
  logout: `${origin}/saml/slo`,
});

/** Returns the registration of the service provider at the identity provider. */
export const registrationOf = (origin: string, { certificate }: Keys) => {
  const { entityId, acs, logout } = placesOf(origin);
  return {
    id: 'expense-desk',
    name: 'Expense desk',
    entityId,
    assertionConsumerServices: [{ url: acs, index: 0 }],
    singleLogoutServices: [{ binding: 'redirect' as const, url: logout }],
    signingCertificates: [certificate.replace(/-----[A-Z ]+-----|\s/g, '')],
    requireSignedRequests: true,
    nameId: { format: 'persistent' as const },
    attributes: ['tid', 'sub', 'name', 'email', 'role', 'perm'].map((claim) => ({ name: claim, claim })),
  };
};

interface Answered {
  readonly profile: Profile;
  /** RelayState of the response. */
  readonly relayState: string;
}

const random = () => randomBytes(32).toString('base64url');

interface ServiceProvider {
  readonly places: ReturnType<typeof placesOf>;
  readonly sessionCookie: string;
  readonly startedCookie: string;
  readonly sessions: LRUCache<string, Profile>;
  readonly answered: LRUCache<string, Answered>;
  readonly saml: () => Promise<SAML>;
}

export function createServiceProvider(issuer: string, origin: string, keys: Keys): Router {
  const places = placesOf(origin);
  // Browsers send a cookie to every port of a host.
  const sessionCookie = `expense_desk_${new URL(origin).port}`;
  const desk: ServiceProvider = {
    places,
    sessionCookie,
    startedCookie: `${sessionCookie}_started`,
    sessions: new LRUCache({ max: 1000, ttl: 12 * 60 * 60 * 1000 }),
    answered: new LRUCache({ max: 1000, ttl: 60_000 }),
    saml: followIdentityProvider(issuer, places, keys),
  };
  const router = new Router();
  router.get('/saml', (ctx) => {
    ctx.body = samlPage({ profile: signedIn(desk, ctx), signedOut: 'signed-out' in ctx.query });
  });
  router.get('/saml/sign-in', (ctx) => startSignIn(desk, ctx));
  router.post('/saml/acs', bodyParser({ enableTypes: ['form'] }), (ctx) => readResponse(desk, ctx));
  router.get('/saml/signed-in', (ctx) => finishSignIn(desk, ctx));
  router.post('/saml/sign-out', (ctx) => signOut(desk, ctx));
  router.get('/saml/slo', (ctx) => finishLogout(desk, ctx));
  return router;
}

/** Returns the service provider of node-saml. The object stays the same while the metadata stay the same, because the object remembers its requests. */
function followIdentityProvider(issuer: string, places: ServiceProvider['places'], { privateKey, certificate }: Keys): () => Promise<SAML> {
  const identityProvider = followMetadata(`${issuer}/idp/saml/metadata`);
  let current: { readonly metadata: unknown; readonly saml: SAML } | undefined;
  return async () => {
    const metadata = await identityProvider();
    if (current?.metadata === metadata) return current.saml;
    const saml = new SAML({
      issuer: places.entityId,
      callbackUrl: places.acs,
      logoutCallbackUrl: places.logout,
      entryPoint: metadata.signInUrl,
      logoutUrl: metadata.logoutUrl,
      idpIssuer: metadata.entityId,
      idpCert: [...metadata.certificates],
      privateKey,
      publicCert: certificate,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      identifierFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      audience: places.entityId,
      wantAssertionsSigned: true,
      wantAuthnResponseSigned: false,
      disableRequestedAuthnContext: true,
      validateInResponseTo: ValidateInResponseTo.always,
    });
    current = { metadata, saml };
    return saml;
  };
}

function goTo(ctx: Context, url: string): void {
  ctx.status = 303;
  ctx.redirect(url);
}

const signedIn = ({ sessions, sessionCookie }: ServiceProvider, ctx: Context): Profile | undefined =>
  sessions.get(ctx.cookies.get(sessionCookie) ?? '');

function endSession({ sessions, sessionCookie }: ServiceProvider, ctx: Context): void {
  sessions.delete(ctx.cookies.get(sessionCookie) ?? '');
  ctx.cookies.set(sessionCookie, null, { overwrite: true });
}

async function startSignIn({ startedCookie, saml }: ServiceProvider, ctx: Context): Promise<void> {
  const relayState = random();
  ctx.cookies.set(startedCookie, relayState, { httpOnly: true, sameSite: 'lax', overwrite: true });
  goTo(ctx, await (await saml()).getAuthorizeUrlAsync(relayState, undefined, {}));
}

/**
 * Reads the response. A page of another site posts the response, and the browser sends no cookie with the post. The browser is therefore redirected to a
 * GET.
 */
async function readResponse({ places, answered, saml }: ServiceProvider, ctx: Context): Promise<void> {
  const form = ctx.request.body as Record<string, string>;
  const { profile } = await (await saml()).validatePostResponseAsync(form);
  const handle = random();
  if (profile) answered.set(handle, { profile, relayState: form.RelayState ?? '' });
  goTo(ctx, `${places.home}/signed-in?${new URLSearchParams({ handle })}`);
}

function finishSignIn({ places, sessionCookie, startedCookie, sessions, answered }: ServiceProvider, ctx: Context): void {
  const handle = String(ctx.query.handle);
  const answer = answered.get(handle);
  answered.delete(handle);
  if (!answer || answer.relayState !== ctx.cookies.get(startedCookie)) {
    ctx.status = 400;
    ctx.body = errorPage('This sign-in has ended', 'It was started in another browser, or has been completed already.');
    return;
  }
  const id = random();
  sessions.set(id, answer.profile);
  ctx.cookies.set(startedCookie, null, { overwrite: true });
  ctx.cookies.set(sessionCookie, id, { httpOnly: true, sameSite: 'lax', overwrite: true });
  goTo(ctx, places.home);
}

async function signOut(desk: ServiceProvider, ctx: Context): Promise<void> {
  const profile = signedIn(desk, ctx);
  endSession(desk, ctx);
  goTo(ctx, profile ? await (await desk.saml()).getLogoutUrlAsync(profile, '', {}) : desk.places.home);
}

/** Reads the answer to a sign-out of this service provider, or the sign-out request of another service provider. Ends the session in both cases. */
async function finishLogout(desk: ServiceProvider, ctx: Context): Promise<void> {
  const saml = await desk.saml();
  const { profile } = await saml.validateRedirectAsync(ctx.query, ctx.querystring);
  endSession(desk, ctx);
  // A response names no user.
  if (!profile) return goTo(ctx, `${desk.places.home}?signed-out`);
  goTo(ctx, await saml.getLogoutResponseUrlAsync(profile, String(ctx.query.RelayState ?? ''), {}, true));
}
