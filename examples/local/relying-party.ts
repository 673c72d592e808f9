/** The relying party as one Koa application: the flow, the page of the public client, and the API that both call. */
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { ClientError } from 'openid-client';
import { createBackOffice } from './back-office.js';
import type { Phones } from './call-centre/phones.js';
import { createCallCentre } from './call-centre/routes.js';
import { createFlow } from './flow.js';
import { createMailPages, type Mailbox } from './mailbox.js';
import { createOrdersApi } from './orders-api.js';
import { asProblem } from './problems.js';
import { spaScopes } from './seed.js';
import { aboutPage, aboutPaths } from './views/about.js';
import { backOfficeScript } from './views/back-office-script.js';
import { errorPage } from './views/error.js';
import { spaPage } from './views/spa.js';
import { spaScript } from './views/spa-script.js';
import { styleSheet } from './views/style.js';

export interface RelyingPartyOptions {
  readonly issuer: string;
  /** Origin of the relying party. */
  readonly origin: string;
  /** Mails of the identity provider. */
  readonly mailbox: Mailbox;
  /** Notifications of the identity provider. */
  readonly phones: Phones;
  /** Routes of the SAML service provider. */
  readonly serviceProvider?: Router;
}

export function createRelyingParty({ issuer, origin, mailbox, phones, serviceProvider }: RelyingPartyOptions): Koa {
  const app = new Koa();
  app.use(async (ctx, next) => {
    ctx.set({
      'Content-Security-Policy': [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        'img-src data:',
        `connect-src 'self' ${new URL(issuer).origin}`,
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    // Cookies and redirect URIs belong to one origin, so a browser on 127.0.0.1 is redirected first.
    const isPage = ctx.method === 'GET' && !ctx.path.startsWith('/api/');
    if (isPage && ctx.host !== new URL(origin).host) return ctx.redirect(origin + ctx.path + ctx.search);
    await next().catch((error: unknown) => showError(ctx, issuer, error));
  });

  const assets = new Router()
    .get(aboutPaths, (ctx) => {
      ctx.body = aboutPage(ctx.path);
    })
    .get('/spa', (ctx) => {
      ctx.body = spaPage({ issuer, clientId: 'spa', redirectUri: `${origin}/spa`, scope: spaScopes.join(' ') });
    })
    .get('/spa.js', (ctx) => {
      ctx.type = 'text/javascript';
      ctx.body = spaScript;
    })
    .get('/back-office.js', (ctx) => {
      ctx.type = 'text/javascript';
      ctx.body = backOfficeScript;
    })
    .get('/style.css', (ctx) => {
      ctx.type = 'text/css';
      ctx.body = styleSheet;
    });
  const routers = [
    createFlow(issuer, origin),
    createBackOffice(issuer),
    createMailPages(mailbox),
    createCallCentre(issuer, phones),
    createOrdersApi(issuer),
    ...(serviceProvider ? [serviceProvider] : []),
    assets,
  ];
  for (const router of routers) app.use(router.routes());
  app.use((ctx) => {
    ctx.status = 404;
    ctx.body = errorPage('Nothing is here', 'This address leads nowhere.');
  });
  return app;
}

function showError(ctx: Context, issuer: string, error: unknown): void {
  const problem = asProblem(error);
  if (problem) {
    ctx.status = 400;
    ctx.body = errorPage('The identity provider refused', problem.error_description ?? 'It did not say why.', problem.error);
  } else if (error instanceof ClientError) {
    ctx.status = 400;
    ctx.body = errorPage('This answer cannot be trusted', 'It is not what the identity provider was asked for.', error.message);
  } else if (error instanceof TypeError && error.cause instanceof Error) {
    ctx.status = 502;
    ctx.body = errorPage('The identity provider does not answer', `It should be at ${issuer}.`, error.cause.message);
  } else throw error;
}
