/** A service provider by node-saml: the expense desk, for which SAML is all it speaks. */
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

/** Where what is. */
const placesOf = (origin: string) => ({
  entityId: `${origin}/saml/metadata`,
  home: `${origin}/saml`,
  acs: `${origin}/saml/acs`,
  logout: `${origin}/saml/slo`,
});

/** What the identity provider is told of it. */
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
  /** What came along with the response. */
  readonly relayState: string;
}

const random = () => randomBytes(32).toString('base64url');

export function createServiceProvider(issuer: string, origin: string, { privateKey, certificate }: Keys): Router {
  const places = placesOf(origin);
  // Browsers send a cookie to every port of a host.
  const sessionCookie = `expense_desk_${new URL(origin).port}`;
  const startedCookie = `${sessionCookie}_started`;
  const identityProvider = followMetadata(`${issuer}/idp/saml/metadata`);
  const sessions = new LRUCache<string, Profile>({ max: 1000, ttl: 12 * 60 * 60 * 1000 });
  const answered = new LRUCache<string, Answered>({ max: 1000, ttl: 60_000 });
  const router = new Router();
  const goTo = (ctx: Context, url: string) => {
    ctx.status = 303;
    ctx.redirect(url);
  };

  let known: { readonly of: unknown; readonly saml: SAML } | undefined;
  /** One, because it remembers which requests it made. */
  async function samlNow(): Promise<SAML> {
    const of = await identityProvider();
    if (known?.of === of) return known.saml;
    const saml = new SAML({
      issuer: places.entityId,
      callbackUrl: places.acs,
      logoutCallbackUrl: places.logout,
      entryPoint: of.signInUrl,
      logoutUrl: of.logoutUrl,
      idpIssuer: of.entityId,
      idpCert: [...of.certificates],
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
    known = { of, saml };
    return saml;
  }

  const signedIn = (ctx: Context): Profile | undefined => sessions.get(ctx.cookies.get(sessionCookie) ?? '');
  function endSession(ctx: Context): void {
    sessions.delete(ctx.cookies.get(sessionCookie) ?? '');
    ctx.cookies.set(sessionCookie, null, { overwrite: true });
  }

  router.get('/saml', (ctx) => {
    ctx.body = samlPage({ profile: signedIn(ctx), signedOut: 'signed-out' in ctx.query });
  });

  router.get('/saml/sign-in', async (ctx) => {
    const relayState = random();
    ctx.cookies.set(startedCookie, relayState, { httpOnly: true, sameSite: 'lax', overwrite: true });
    goTo(ctx, await (await samlNow()).getAuthorizeUrlAsync(relayState, undefined, {}));
  });

  /** Posted by a page of another site, so no cookie comes along: the browser is asked once more, by GET. */
  router.post('/saml/acs', bodyParser({ enableTypes: ['form'] }), async (ctx) => {
    const form = ctx.request.body as Record<string, string>;
    const { profile } = await (await samlNow()).validatePostResponseAsync(form);
    const handle = random();
    if (profile) answered.set(handle, { profile, relayState: form.RelayState ?? '' });
    goTo(ctx, `${places.home}/signed-in?${new URLSearchParams({ handle })}`);
  });

  router.get('/saml/signed-in', (ctx) => {
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
  });

  router.post('/saml/sign-out', async (ctx) => {
    const profile = signedIn(ctx);
    endSession(ctx);
    goTo(ctx, profile ? await (await samlNow()).getLogoutUrlAsync(profile, '', {}) : places.home);
  });

  /** The answer to our own sign-out, or somebody else's sign-out, which ours follows. */
  router.get('/saml/slo', async (ctx) => {
    const saml = await samlNow();
    const { profile } = await saml.validateRedirectAsync(ctx.query, ctx.querystring);
    endSession(ctx);
    // An answer is about nobody.
    if (!profile) return goTo(ctx, `${places.home}?signed-out`);
    goTo(ctx, await saml.getLogoutResponseUrlAsync(profile, String(ctx.query.RelayState ?? ''), {}, true));
  });
  return router;
}
